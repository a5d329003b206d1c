//! No hiera.yaml of version 4 makes loading an environment or a lookup in it panic or go on without end.
#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};

fuzz_target!(|content: &[u8]| -> Corpus {
    if hierad_fuzz::hiera_yaml(4, content) { Corpus::Keep } else { Corpus::Reject }
});
