//! A new version of a data file is what is parsed from nothing, whatever the one before it was.
//!
//! The input is four texts with a zero byte between them: the start of both versions, what follows in the one, what
//! follows in the other, and their end.
#![no_main]

use hierad::hiera::backend::{DataFile, Format};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let mut parts = input.splitn(4, |byte| *byte == 0);
    let [start, before, after, end] = std::array::from_fn(|_| parts.next().unwrap_or_default());
    let (former, content) = ([start, before, end].concat(), [start, after, end].concat());
    let file = DataFile::parse(&former, Format::Yaml);
    file.mentions();
    assert_eq!(shown(&file.version(&content, &former)), shown(&DataFile::parse(&content, Format::Yaml)));
});

/// All that is known of a file, in text.
fn shown(file: &DataFile) -> String {
    _ = (file.keys(), file.mentions(), file.concerns_all_keys());
    format!("{file:?}")
}
