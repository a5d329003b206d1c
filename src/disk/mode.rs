//! The permissions of files that are written for the user.

use std::fs::{DirBuilder, File, Metadata};
use std::io;
use std::path::Path;
use std::str::FromStr;

use super::named::check_output;

/// The permissions of a file: for its owner alone, unless others are let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileMode(u32);

/// A text that is not a file mode.
#[derive(Debug, thiserror::Error)]
#[error(
    "'{0}' is not a valid file mode: use an octal number such as 0640 that lets the owner read and write, and \
         nobody execute"
)]
pub struct ModeError(String);

impl FileMode {
    /// For the owner only.
    pub const PRIVATE: FileMode = FileMode(0o600);

    /// Executable by everybody.
    pub const PROGRAM: FileMode = FileMode(0o755);

    /// Creates a folder and its missing ancestors, open to everybody who may read files with this mode, whatever the
    /// umask of the process. Leaves existing folders alone. Fails as [`check_output`] does.
    pub fn create_folder(self, folder: &Path) -> io::Result<()> {
        check_output(folder)?;
        let is_missing = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.exists();
        let missing: Vec<&Path> = folder.ancestors().take_while(is_missing).collect();
        let mut builder = DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, self.folder_permissions());
        builder.create(folder)?;
        missing.into_iter().try_for_each(|created| self.set_folder_permissions(created))
    }

    /// Returns the permissions of a folder for everybody who may read files with this mode.
    #[cfg(unix)]
    fn folder_permissions(self) -> u32 {
        0o100 | self.0 | (self.0 & 0o444) >> 2
    }

    #[cfg(unix)]
    fn set_folder_permissions(self, folder: &Path) -> io::Result<()> {
        std::fs::set_permissions(folder, std::os::unix::fs::PermissionsExt::from_mode(self.folder_permissions()))
    }

    /// Creates a file that must not exist yet. It is private to its owner until its mode is [given](FileMode::give).
    pub fn create_new(path: &Path) -> io::Result<File> {
        let mut options = File::options();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, FileMode::PRIVATE.0);
        options.open(path)
    }

    /// Gives a file this mode, whatever the umask of the process.
    #[cfg(unix)]
    pub fn give(self, file: &File) -> io::Result<()> {
        file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(self.0))
    }

    /// Returns the mode of a file.
    #[cfg(unix)]
    pub fn of(metadata: &Metadata) -> FileMode {
        FileMode(std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o7777)
    }

    /// Returns true if a file has this mode.
    #[cfg(unix)]
    pub fn is_of(self, metadata: &Metadata) -> bool {
        FileMode::of(metadata) == self
    }

    /// There are no such permissions here.
    #[cfg(not(unix))]
    pub fn of(_: &Metadata) -> FileMode {
        FileMode::PRIVATE
    }

    /// There are no such permissions here.
    #[cfg(not(unix))]
    pub fn give(self, _: &File) -> io::Result<()> {
        Ok(())
    }

    #[cfg(not(unix))]
    #[expect(clippy::unused_self, reason = "there are no such permissions here")]
    fn set_folder_permissions(self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    /// There are no such permissions here.
    #[cfg(not(unix))]
    pub fn is_of(self, _: &Metadata) -> bool {
        true
    }
}

impl FromStr for FileMode {
    type Err = ModeError;

    fn from_str(text: &str) -> Result<FileMode, ModeError> {
        let is_octal = !text.is_empty() && text.bytes().all(|digit| matches!(digit, b'0'..=b'7'));
        let mode = u32::from_str_radix(text, 8).ok().filter(|mode| is_octal && mode & !0o066 == 0o600);
        mode.map(FileMode).ok_or_else(|| ModeError(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn no_folder_is_made_through_a_link_of_a_work_tree() {
        let folder = tempfile::tempdir().unwrap();
        let tree = folder.path().join("tree");
        for name in ["tree/.git", "tree/sub", "other"] {
            std::fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        for (name, target) in [("out", "../other"), ("new", "../other/new"), ("git", ".git"), ("in", "sub")] {
            std::os::unix::fs::symlink(target, tree.join(name)).unwrap();
        }
        crate::disk::look_at(&tree);
        for name in ["out", "out/a/b", "new", "new/a", "git/hooks", "in"] {
            assert!(FileMode::PRIVATE.create_folder(&tree.join(name)).is_err(), "{name}");
        }
        for name in ["sub", "a/b", "in/a", ".git/a", "../other/a"] {
            assert!(FileMode::PRIVATE.create_folder(&tree.join(name)).is_ok(), "{name}");
        }
    }

    #[test]
    fn modes_are_octal_and_sensible() {
        for (text, mode) in [("0600", 0o600), ("640", 0o640), ("0644", 0o644), ("000664", 0o664)] {
            assert_eq!(text.parse::<FileMode>().unwrap(), FileMode(mode));
        }
        for text in ["", "0", "0400", "0700", "0755", "4600", "0o640", "+640", "-640", "0888", "7777777777777"] {
            assert!(text.parse::<FileMode>().is_err(), "{text}");
        }
    }
}
