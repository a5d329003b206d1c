//! No hierad.yaml makes its reading or its checks panic or go on without end, whether it is trusted or of a tree; a
//! file of a tree has nothing that only trusted ones may say.
#![no_main]

use std::path::Path;
use std::sync::LazyLock;

use hierad::app::settings::{Judgement, Settings};
use hierad::settings::{Origin, SettingsFile, TreeFolder, judging};
use libfuzzer_sys::fuzz_target;
use tempfile::TempDir;

/// The tree: nothing that is named is there.
static TREE: LazyLock<TempDir> = LazyLock::new(|| TempDir::new().expect("a folder"));

fuzz_target!(|content: &[u8]| {
    _ = judging(content);
    let root = TREE.path().to_owned();
    let of = |origin| SettingsFile::new(&TREE.path().join("hierad.yaml"), Ok(content.to_vec()), origin);
    if let Ok(trusted) = of(Origin::Trusted) {
        _ = trusted.commands();
        _ = Judgement::read(&trusted);
    }
    let Ok(file) = of(Origin::Tree(TreeFolder { root, folder: Path::new("").to_owned() })) else { return };
    _ = file.privileges();
    _ = file.reading();
    _ = Judgement::read(&file);
    if let Ok(combined) = Settings::combine(&[file]) {
        let settings = combined.settings;
        assert!(settings.backends.bridges.is_empty() && settings.accept.is_none() && settings.policies.is_none());
        assert!(settings.fingerprint_key.is_none() && settings.basemodulepath.is_empty());
    }
});
