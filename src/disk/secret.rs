//! Reads secrets from files: tokens, passwords, keys.
//!
//! Anybody who can write or replace such a file chooses the secret. So only its owner may: the user that runs
//! hierad, or root.

use std::fs::Metadata;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

use super::named::check_named;
use super::regular::open_regular;
use super::way::{Step, Way};

/// A secret, which is wiped from memory when it is dropped.
pub type Secret = Zeroizing<Vec<u8>>;

/// A secret that cannot be read, or is refused.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The file is empty.
    #[error("the file {} is empty", .0.display())]
    Empty(PathBuf),
    /// The file is too large for a secret.
    #[error("the file {} is too large for a secret: the limit is {MAX_SIZE} bytes", .0.display())]
    TooLarge(PathBuf),
    /// Others can write the file.
    #[error("others can write the file {path} and choose the secret in it: run `chmod go-w {path}`", path = .0.display())]
    Writable(PathBuf),
    /// The file, or a folder or link on the way to it, belongs to somebody else.
    #[error(
        "{place} belongs to another user, who can choose the secret in {path}: give it to the user that runs hierad, or to root, with `chown`",
        place = .place.display(), path = .path.display()
    )]
    Foreign {
        /// The file as it is named.
        path: PathBuf,
        /// The file, folder or link of another user.
        place: PathBuf,
    },
    /// Others can put a different file in its place.
    #[error(
        "others can write the folder {place} and put another secret in the place of {path}: run `chmod go-w {place}`",
        place = .place.display(), path = .path.display()
    )]
    Replaceable {
        /// The file as it is named.
        path: PathBuf,
        /// The folder.
        place: PathBuf,
    },
    /// The token can be guessed.
    #[error(
        "the token in the file {} has fewer than {SHORTEST_TOKEN} characters, so it can be guessed: generate one with \
         `openssl rand -hex 32`",
        .0.display()
    )]
    Short(PathBuf),
}

/// The minimum length of a token, in characters.
const SHORTEST_TOKEN: usize = 16;

/// The maximum size of a secret, in bytes.
const MAX_SIZE: u64 = 1 << 20;

/// Reads a secret by which others prove who they are, such as a token. It must not be short.
pub fn read_token(path: &Path) -> Result<Secret, SecretError> {
    let token = read_secret(path)?;
    let is_long = String::from_utf8_lossy(&token).chars().count() >= SHORTEST_TOKEN;
    if is_long { Ok(token) } else { Err(SecretError::Short(path.into())) }
}

/// Reads the secret in a file, without white space at its end. Others must be able neither to write the file nor to
/// replace it. If others can read it, there is only a warning in the log: containers mount secrets like that.
pub fn read_secret(path: &Path) -> Result<Secret, SecretError> {
    check_path_steps(path)?;
    read(path, owner::is_own)
}

/// Reads a key by which hierad proves its identity, such as that of a certificate. It may belong to another user, as
/// Puppet's do: replacing it gains nothing.
pub fn read_key(path: &Path) -> Result<Secret, SecretError> {
    read(path, |_| true)
}

fn read(path: &Path, is_own: impl Fn(&Metadata) -> bool) -> Result<Secret, SecretError> {
    let failed = |source| SecretError::Read { path: path.into(), source };
    check_named(path).map_err(failed)?;
    let file = open_regular(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if !is_own(&metadata) {
        return Err(SecretError::Foreign { path: path.into(), place: path.into() });
    }
    let mode = owner::mode(&metadata);
    if mode & 0o022 != 0 {
        return Err(SecretError::Writable(path.into()));
    }
    if metadata.len() > MAX_SIZE {
        return Err(SecretError::TooLarge(path.into()));
    }
    // Reserves room for all of it: if the buffer grew, the old copy would not be wiped.
    let mut content = Zeroizing::new(Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or_default() + 1));
    file.take(MAX_SIZE).read_to_end(&mut content).map_err(failed)?;
    if content.trim_ascii_end().is_empty() {
        return Err(SecretError::Empty(path.into()));
    }
    if mode & 0o004 != 0 {
        let path = path.display();
        tracing::warn!("everybody on this machine can read the secret in {path}: run `chmod o-r {path}`");
    }
    Ok(Zeroizing::new(content.trim_ascii_end().to_vec()))
}

/// Fails if others can make the path lead to a different file: by a folder on the way that they can write, or by a
/// link of theirs. In a folder with the sticky bit, such as `/tmp`, nobody can replace the files of others.
fn check_path_steps(path: &Path) -> Result<(), SecretError> {
    let failed = |source| SecretError::Read { path: path.into(), source };
    for step in Way::of(path).map_err(failed)? {
        let Step { folder: place, entry: at } = step.map_err(failed)?;
        let folder = place.symlink_metadata().map_err(failed)?;
        if !owner::is_own(&folder) {
            return Err(SecretError::Foreign { path: path.into(), place });
        }
        let is_open = owner::is_open(&place, &folder);
        if is_open && !owner::is_sticky(&folder) {
            return Err(SecretError::Replaceable { path: path.into(), place });
        }
        if is_open && !owner::is_own(&at.symlink_metadata().map_err(failed)?) {
            return Err(SecretError::Foreign { path: path.into(), place: at });
        }
    }
    Ok(())
}

#[cfg(unix)]
mod owner {
    use std::fs::Metadata;
    use std::os::unix::fs::MetadataExt;
    use std::path::Path;

    pub(super) fn mode(metadata: &Metadata) -> u32 {
        metadata.mode()
    }

    /// Returns true for an owner that is the user of this process, or root.
    pub(super) fn is_own(metadata: &Metadata) -> bool {
        metadata.uid() == 0 || metadata.uid() == rustix::process::geteuid().as_raw()
    }

    /// Returns true for a folder that others can write. A group with the same number as the owner is taken to be
    /// private: where each user has a group, folders are often open to it. With an access control list, the group
    /// bits are the most that the list allows to any user or group.
    pub(super) fn is_open(path: &Path, folder: &Metadata) -> bool {
        let is_private = folder.gid() == folder.uid();
        folder.mode() & 0o002 != 0 || folder.mode() & 0o020 != 0 && (!is_private || has_access_list(path))
    }

    /// Returns true unless the folder is known to have no access control list.
    #[cfg(target_os = "linux")]
    fn has_access_list(path: &Path) -> bool {
        use rustix::io::Errno;

        let found = rustix::fs::getxattr(path, "system.posix_acl_access", &mut [0_u8; 0][..]);
        !matches!(found, Err(Errno::NODATA | Errno::OPNOTSUPP))
    }

    #[cfg(not(target_os = "linux"))]
    fn has_access_list(_: &Path) -> bool {
        false
    }

    pub(super) fn is_sticky(folder: &Metadata) -> bool {
        folder.mode() & 0o1000 != 0
    }
}

/// There are no such permissions here.
#[cfg(not(unix))]
mod owner {
    use std::fs::Metadata;
    use std::path::Path;

    pub(super) fn mode(_: &Metadata) -> u32 {
        0
    }

    pub(super) fn is_own(_: &Metadata) -> bool {
        true
    }

    pub(super) fn is_open(_: &Path, _: &Metadata) -> bool {
        false
    }

    pub(super) fn is_sticky(_: &Metadata) -> bool {
        false
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    use super::*;

    struct Place(tempfile::TempDir);

    impl Place {
        fn at(&self, path: &str) -> PathBuf {
            self.0.path().join(path)
        }

        /// Makes a file with a secret, and its folder.
        fn secret(&self, path: &str) -> PathBuf {
            let path = self.at(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "open sesame, open\n").unwrap();
            mode(&path, 0o600);
            path
        }
    }

    fn mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    fn is_taken(path: &Path) -> bool {
        read_secret(path).is_ok()
    }

    #[test]
    fn nobody_else_can_choose_a_secret() {
        let place = Place(tempfile::tempdir().unwrap());
        let own = place.secret("own/token");
        assert_eq!(&**read_secret(&own).unwrap(), b"open sesame, open");
        symlink("own", place.at("folder")).unwrap();
        symlink("../folder/./token", place.at("own/link")).unwrap();
        symlink(place.at("own/link"), place.at("far")).unwrap();
        for honest in ["folder/token", "own/link", "far", "own/../folder/link"] {
            assert!(is_taken(&place.at(honest)), "{honest}");
        }
        for bits in [0o602, 0o620, 0o666] {
            mode(&own, bits);
            assert!(matches!(read_secret(&own), Err(SecretError::Writable(_))), "{bits:o}");
        }
        mode(&own, 0o640);
        assert!(is_taken(&own));
        // A folder that all can write, at any height, and a link into one.
        let open = place.secret("open/deep/token");
        symlink("open/deep/token", place.at("into")).unwrap();
        mode(&place.at("open"), 0o777);
        for path in [&open, &place.at("into"), &place.at("open/deep/../../open/deep/token")] {
            assert!(matches!(read_secret(path), Err(SecretError::Replaceable { .. })), "{}", path.display());
        }
        assert!(read_key(&open).is_ok());
        // With the sticky bit, one's own files stay.
        mode(&place.at("open"), 0o1777);
        assert!(is_taken(&open) && is_taken(&place.at("into")));
    }

    #[test]
    fn the_group_of_a_user_is_his_own() {
        use std::os::unix::fs::MetadataExt;
        let place = Place(tempfile::tempdir().unwrap());
        let token = place.secret("folder/token");
        let metadata = fs::metadata(place.at("folder")).unwrap();
        mode(&place.at("folder"), 0o770);
        assert_eq!(is_taken(&token), metadata.uid() == metadata.gid());
    }

    /// Gives a file or folder an access control list: entries of a kind, rights and a number.
    #[cfg(target_os = "linux")]
    fn set_access_list(path: &Path, entries: &[(u16, u16, u32)]) -> bool {
        let entry = |&(kind, rights, id): &(u16, u16, u32)| {
            [&kind.to_le_bytes()[..], &rights.to_le_bytes(), &id.to_le_bytes()].concat()
        };
        let value = [2_u32.to_le_bytes().to_vec(), entries.iter().flat_map(entry).collect()].concat();
        let flags = rustix::fs::XattrFlags::empty();
        rustix::fs::setxattr(path, "system.posix_acl_access", &value, flags).is_ok()
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn lists_that_let_others_write_count() {
        let place = Place(tempfile::tempdir().unwrap());
        let none = u32::MAX;
        let user_list = |named_entry: (u16, u16, u32), mask: u16| {
            [(1, 7, none), named_entry, (4, 5, none), (16, mask, none), (32, 5, none)]
        };
        let group_list = |named_entry: (u16, u16, u32), mask: u16| {
            [(1, 7, none), (4, 5, none), named_entry, (16, mask, none), (32, 5, none)]
        };
        let probe = place.secret("probe/token");
        if !set_access_list(probe.parent().unwrap(), &user_list((2, 7, 1234), 7)) {
            return; // there are no such lists here
        }
        let hostile = [
            user_list((2, 7, 1234), 7),
            user_list((2, 2, 1234), 3),
            user_list((2, 7, none - 1), 7),
            group_list((8, 7, 1234), 7),
            group_list((8, 2, 1234), 2),
        ];
        for (number, entries) in hostile.iter().enumerate() {
            let token = place.secret(&format!("{number}/deep/token"));
            let folder = place.at(&number.to_string());
            assert!(is_taken(&token) && set_access_list(&folder, entries));
            assert!(matches!(read_secret(&token), Err(SecretError::Replaceable { .. })), "{entries:?}");
            mode(&folder, 0o1775);
            assert!(is_taken(&token), "with the sticky bit, what is one's own stays");
            assert!(set_access_list(&token, entries), "{entries:?}");
            assert!(matches!(read_secret(&token), Err(SecretError::Writable(_))), "{entries:?}");
        }
        // A list that lets others read only, and one whose mask keeps them from writing.
        for (number, entries) in [user_list((2, 5, 1234), 5), user_list((2, 7, 1234), 5)].iter().enumerate() {
            let token = place.secret(&format!("honest{number}/token"));
            assert!(set_access_list(token.parent().unwrap(), entries) && is_taken(&token), "{entries:?}");
        }
    }

    #[test]
    fn what_belongs_to_others_is_not_taken() {
        if !rustix::process::geteuid().is_root() {
            return; // only root can give files away
        }
        let place = Place(tempfile::tempdir().unwrap());
        let give = |path: &str| chown(place.at(path), Some(1234), None).unwrap();
        let foreign = |path: &Path| matches!(read_secret(path), Err(SecretError::Foreign { .. }));
        let file = place.secret("a/token");
        give("a/token");
        assert!(foreign(&file) && read_key(&file).is_ok());
        let folder = place.secret("b/token");
        give("b");
        assert!(foreign(&folder));
        let above = place.secret("c/deep/token");
        give("c");
        assert!(foreign(&above));
        // A link of another user in a folder such as /tmp.
        let own = place.secret("own/token");
        fs::create_dir(place.at("d")).unwrap();
        mode(&place.at("d"), 0o1777);
        symlink(&own, place.at("d/link")).unwrap();
        assert!(is_taken(&place.at("d/link")));
        std::os::unix::fs::lchown(place.at("d/link"), Some(1234), None).unwrap();
        assert!(foreign(&place.at("d/link")));
    }

    #[test]
    fn a_secret_is_a_small_regular_file() {
        let place = Place(tempfile::tempdir().unwrap());
        let pipe = place.at("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        symlink("loop", place.at("loop")).unwrap();
        let large = place.secret("large");
        fs::write(&large, vec![b'x'; usize::try_from(MAX_SIZE).unwrap() + 1]).unwrap();
        let empty = place.secret("empty");
        fs::write(&empty, " \n").unwrap();
        for path in [&*pipe, &place.at("loop"), &large, &empty, Path::new("/dev/zero"), place.0.path(), Path::new("")] {
            assert!(!is_taken(path), "{}", path.display());
        }
    }
}
