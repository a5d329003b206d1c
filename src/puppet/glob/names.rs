//! Compares names with the parts of a pattern, as Ruby's `fnmatch` does.

/// Compares names with patterns until a limit of work is reached.
pub(super) struct Comparison {
    /// The number of characters that may still be compared.
    pub(super) left: usize,
}

impl Comparison {
    /// Matches one name as Ruby's `fnmatch` does. Returns false if there is no work left.
    pub(super) fn matches(&mut self, pattern: &[char], name: &str) -> bool {
        let name: Vec<char> = name.chars().collect();
        let literal_dot = pattern.first() == Some(&'.') || pattern.starts_with(&['\\', '.']);
        if name.first() == Some(&'.') && !literal_dot {
            return false;
        }
        // The classic two-pointer match: a `*` remembers where to come back to.
        let (mut p, mut n, mut back) = (0, 0, None);
        loop {
            if self.left == 0 {
                return false;
            }
            self.left -= 1;
            if p < pattern.len() && pattern[p] == '*' {
                back = Some((p + 1, n));
                p += 1;
                continue;
            }
            if n == name.len() {
                // The rest after a `*` would match even less of the name if it began later.
                return p == pattern.len();
            }
            if let Some(length) = self.match_one(&pattern[p..], name[n]) {
                p += length;
                n += 1;
            } else {
                let Some((at, from)) = back else { return false };
                back = Some((at, from + 1));
                p = at;
                n = from + 1;
            }
        }
    }

    /// Returns the length of the part of `pattern` that the character uses up, or `None` if it does not match.
    fn match_one(&mut self, pattern: &[char], c: char) -> Option<usize> {
        match pattern.first()? {
            '?' => Some(1),
            '[' => self.match_set(pattern, c),
            '\\' if pattern.len() > 1 => (pattern[1] == c).then_some(2),
            other => (*other == c).then_some(1),
        }
    }

    fn match_set(&mut self, pattern: &[char], c: char) -> Option<usize> {
        let mut at = 1;
        let negated = matches!(pattern.get(at), Some('!' | '^'));
        at += usize::from(negated);
        let mut matched = false;
        while *pattern.get(at)? != ']' {
            self.left = self.left.saturating_sub(1);
            let low = set_char(pattern, &mut at)?;
            let high = if pattern.get(at) == Some(&'-') && pattern.get(at + 1).is_some_and(|c| *c != ']') {
                at += 1;
                set_char(pattern, &mut at)?
            } else {
                low
            };
            matched |= (low..=high).contains(&c);
        }
        (matched != negated).then_some(at + 1)
    }
}

fn set_char(pattern: &[char], at: &mut usize) -> Option<char> {
    if pattern.get(*at) == Some(&'\\') && *at + 1 < pattern.len() {
        *at += 1;
    }
    let c = pattern.get(*at).copied();
    *at += 1;
    c
}

#[cfg(test)]
mod tests {
    use super::Comparison;

    #[test]
    fn stars_match_as_much_as_there_is() {
        let matches = |pattern: &str, name: &str| {
            let pattern: Vec<char> = pattern.chars().collect();
            Comparison { left: 1000 }.matches(&pattern, name)
        };
        for (pattern, name) in [("*", ""), ("*", "ab"), ("a*b", "ab"), ("a*b*", "aabb"), ("*ab", "aab"), ("?*", "a")] {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [("?*", ""), ("*a", "ab"), ("*ab?", "ab"), ("a*bc", "abb"), ("*", ".a")] {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
        assert!(!Comparison { left: 3 }.matches(&['*'; 10], "abc"));
    }
}
