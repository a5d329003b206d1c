//! Random numbers and values from a seed.

use hierad::value::{Hash, Value};

/// A small generator (xorshift64*).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    /// A number below `n`.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.next() % n as u64).unwrap()
    }

    pub(crate) fn pick<'t, T>(&mut self, of: &'t [T]) -> &'t T {
        &of[self.below(of.len())]
    }

    /// A value of few distinct parts, so that two of them have something in common.
    pub(crate) fn value(&mut self, depth: usize) -> Value {
        match self.below(if depth == 0 { 6 } else { 10 }) {
            0 => Value::Undef,
            1 => Value::from(self.below(2) == 0),
            2 => Value::Integer(i64::try_from(self.below(3)).unwrap()),
            3 => Value::Float([0.0, 1.0, 1e300][self.below(3)]),
            4 => Value::Symbol((*self.pick(&["a", "default"])).into()),
            5 => Value::from(*self.pick(&TEXTS)),
            6 | 7 => (0..self.below(6)).map(|_| self.value(depth - 1)).collect(),
            _ => {
                let keys = ["name", "id", "a", "b.c", "`|<@x>"];
                let entries = (0..self.below(5)).map(|_| (Value::from(*self.pick(&keys)), self.value(depth - 1)));
                Value::hash(entries.collect::<Vec<_>>().into_iter().collect::<Hash>())
            }
        }
    }

    /// `value` with something changed somewhere.
    pub(crate) fn variant(&mut self, value: &Value) -> Value {
        match value {
            Value::Array(items) if !items.is_empty() => {
                let mut items = items.to_vec();
                let (a, b) = (self.below(items.len()), self.below(items.len()));
                match self.below(5) {
                    0 => items.swap(a, b),
                    1 => _ = items.remove(a),
                    2 => items.insert(a, self.value(1)),
                    3 => items.reverse(),
                    _ => items[a] = self.variant(&items[a].clone()),
                }
                Value::array(items)
            }
            Value::Hash(hash) if !hash.is_empty() => {
                let mut entries: Vec<(Value, Value)> = hash.iter().map(|(k, v)| (k.clone(), v.clone())).collect();
                let (a, b) = (self.below(entries.len()), self.below(entries.len()));
                match self.below(4) {
                    0 => entries.swap(a, b),
                    1 => _ = entries.remove(a),
                    2 => entries.insert(a, (Value::from("new"), self.value(1))),
                    _ => entries[a].1 = self.variant(&entries[a].1.clone()),
                }
                Value::hash(entries.into_iter().collect())
            }
            _ => self.value(2),
        }
    }
}

const TEXTS: [&str; 8] =
    ["x", "y", "two\nlines", "two\nlines\n", "```\n</details>\n```", "a|b @team <b>", "\u{1b}[31mred\u{7}", "日本語"];
