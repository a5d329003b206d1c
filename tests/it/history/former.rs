//! Parts of values are followed back through changes to the same parts.

use hierad::diff::{Diff, Former, former, innermost, leaves};
use hierad::value::{Value, ValuePath};

use crate::support::extent::full_or;
use crate::support::random::Random;

#[test]
fn a_part_that_was_there_before_was_the_same() {
    let mut random = Random::new(7);
    let (mut kept, mut changed) = (0, 0);
    for _ in 0..full_or(200_000, 5_000) {
        let before = random.value(4);
        let after = random.variant(&before);
        let found = leaves(Diff::new(Some(&before), Some(&after)));
        innermost(&after, &ValuePath::default(), &mut |path, part| {
            let is_empty = matches!(part, Value::Array(_) | Value::Hash(_));
            match former(&found, path, is_empty) {
                Former::At(was) => {
                    assert_eq!(was.value_in(&before), Some(part), "{was} -> {path}: {before:?} -> {after:?}");
                    kept += 1;
                }
                Former::Changed => changed += 1,
            }
        });
        // Without a change, everything was where it is.
        innermost(&after, &ValuePath::default(), &mut |path, _| {
            assert_eq!(former(&[], path, false), Former::At(path.clone()));
        });
    }
    assert!(kept > 1_000 && changed > 1_000, "{kept} kept, {changed} changed");
}
