//! The dice: a seeded sequence of choices.

/// A sequence of choices that a seed determines.
pub(crate) struct Random {
    dice: fastrand::Rng,
    /// True if there are large integers. Then nothing is converted to a collection, since Puppet counts up to an
    /// integer to make an array of it.
    pub(crate) large: bool,
}

impl Random {
    /// The sequence of `seed`. Neighbouring seeds share nothing.
    pub(crate) fn new(seed: u64) -> Random {
        let mut dice = fastrand::Rng::with_seed(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31));
        let large = dice.u32(0..100) < 20;
        Random { dice, large }
    }

    /// True in `percent` of a hundred cases.
    pub(crate) fn percent(&mut self, percent: u32) -> bool {
        self.dice.u32(0..100) < percent
    }

    /// True in `share` of a thousand cases.
    pub(crate) fn permille(&mut self, share: u32) -> bool {
        self.dice.u32(0..1000) < share
    }

    /// A number from `low` to `high`, both included.
    pub(crate) fn between(&mut self, low: u32, high: u32) -> u32 {
        self.dice.u32(low..=high)
    }

    /// As many as [`Random::between`] says.
    pub(crate) fn times(&mut self, low: u32, high: u32) -> std::ops::Range<u32> {
        0..self.between(low, high)
    }

    /// One of `items`, which is not empty.
    pub(crate) fn pick<'a, T: ?Sized>(&mut self, items: &[&'a T]) -> &'a T {
        items[self.index(items.len())]
    }

    /// A copy of one of `items`, which is not empty.
    pub(crate) fn one<T: Clone>(&mut self, items: &[T]) -> T {
        items[self.index(items.len())].clone()
    }

    /// An index below `len`.
    pub(crate) fn index(&mut self, len: usize) -> usize {
        let len = u32::try_from(len).unwrap_or(u32::MAX);
        self.dice.u32(0..len) as usize
    }

    /// The position of one of `weights`, each as likely as it is heavy.
    pub(crate) fn weighted(&mut self, weights: &[u32]) -> usize {
        let mut left = self.dice.u32(0..weights.iter().sum());
        for (position, weight) in weights.iter().enumerate() {
            if left < *weight {
                return position;
            }
            left -= weight;
        }
        0
    }

    /// `items` in another order.
    pub(crate) fn shuffled<T: Clone>(&mut self, items: &[T]) -> Vec<T> {
        let mut items = items.to_vec();
        for last in (1..items.len()).rev() {
            items.swap(last, self.index(last + 1));
        }
        items
    }
}
