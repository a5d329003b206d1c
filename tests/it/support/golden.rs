//! Expected results in files, rewritten when `HIERAD_UPDATE_GOLDEN=1` asks for it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The folder `tests/golden/NAME`.
pub(crate) fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

/// The folders in a folder, sorted.
pub(crate) fn cases(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut cases: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect();
    cases.sort();
    assert!(!cases.is_empty(), "{} has no cases", folder.display());
    cases
}

/// Compares results with files, and tells of all that differ at once.
#[derive(Default)]
pub(crate) struct Golden {
    checked: BTreeSet<PathBuf>,
    wrong: Vec<String>,
}

/// Returns true if files are to be written as they are now.
fn is_update() -> bool {
    std::env::var_os("HIERAD_UPDATE_GOLDEN").is_some_and(|value| value == "1")
}

impl Golden {
    /// Compares `actual` with the file, or rewrites the file.
    pub(crate) fn check(&mut self, file: &Path, actual: &str) {
        self.checked.insert(file.to_owned());
        if is_update() {
            fs::write(file, actual).unwrap();
            return;
        }
        let expected = fs::read_to_string(file).unwrap_or_default();
        if expected != actual {
            let diff = similar::TextDiff::from_lines(&expected, actual);
            self.wrong.push(format!("{}\n{}", file.display(), diff.unified_diff()));
        }
    }

    /// Finds the files of a folder that nothing was compared with, or removes them.
    pub(crate) fn is_all_of(&mut self, folder: &Path) {
        let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        for file in files.filter(|file| !self.checked.contains(file)).collect::<Vec<_>>() {
            if is_update() {
                fs::remove_file(file).unwrap();
            } else {
                self.wrong.push(format!("{}: nothing is compared with it", file.display()));
            }
        }
    }

    /// Fails if anything differed.
    pub(crate) fn finish(self) {
        assert!(
            self.wrong.is_empty(),
            "{}\n{} files differ; HIERAD_UPDATE_GOLDEN=1 rewrites them",
            self.wrong.join("\n"),
            self.wrong.len()
        );
    }
}
