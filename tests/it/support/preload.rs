//! Libraries in C that programs load before their own, so that they see another machine.

use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

/// A compiled library, which goes with its folder.
pub(crate) struct Library {
    folder: TempDir,
}

impl Library {
    /// Compiles a library, or returns `None` where there is no C compiler.
    pub(crate) fn of(source: &str) -> Option<Library> {
        let library = Library { folder: TempDir::new().unwrap() };
        let file = library.folder.path().join("library.c");
        std::fs::write(&file, source).unwrap();
        let mut command = Command::new("cc");
        let compiled = command.args(["-shared", "-fPIC", "-o"]).arg(library.path()).arg(file).arg("-ldl").status();
        compiled.is_ok_and(|status| status.success()).then_some(library)
    }

    /// The file for `LD_PRELOAD`.
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("library.so")
    }
}
