//! Folders: files that appear whole or not at all.

use std::fs;
use std::path::Path;

use hierad::delivery::{Folder, Parcel, Target};
use hierad::disk::FileMode;

use super::{deliver, job, parcel, refused};

fn put(folder: &Path, parcel: &Parcel) -> Result<(), String> {
    deliver(Target::Folder(Folder::new(folder.to_owned(), FileMode::PRIVATE)), parcel)
}

fn names(folder: &Path) -> Vec<String> {
    let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
    let mut names: Vec<String> = fs::read_dir(folder).unwrap().map(name).collect();
    names.sort();
    names
}

#[test]
fn a_repeated_report_is_one_file() {
    let base = tempfile::tempdir().unwrap();
    let folder = base.path().join("a/b");
    for _ in 0..2 {
        put(&folder, &parcel(b"{}\n")).unwrap();
        assert_eq!(names(&folder), ["0000000007-00112233445566778899aabbccddeeff.json"]);
        assert_eq!(fs::read(folder.join(&names(&folder)[0])).unwrap(), b"{}\n");
    }
}

#[test]
fn daemons_can_share_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for daemon in 0..4 {
            let folder = folder.path();
            scope.spawn(move || {
                for number in 0..25 {
                    let id = format!("{daemon:032x}");
                    put(folder, &Parcel { job: job(number, &id), ..parcel(id.as_bytes()) }).unwrap();
                }
            });
        }
    });
    let names = names(folder.path());
    assert_eq!(names.len(), 100);
    for name in names {
        let content = fs::read_to_string(folder.path().join(&name)).unwrap();
        assert!(name.ends_with(&format!("-{content}.json")), "{name}");
    }
}

#[test]
fn abandoned_temporary_files_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let old = std::time::SystemTime::now() - std::time::Duration::from_mins(61);
    for name in [".hierad-aZ09bc", ".hierad-notes", ".hierad-ab-cde", "hierad-abcdef", ".hierad-young1"] {
        let file = fs::File::create(path(name)).unwrap();
        if !name.contains("young") {
            file.set_modified(old).unwrap();
        }
    }
    fs::create_dir(path(".hierad-folder")).unwrap();
    fs::File::open(path(".hierad-folder")).unwrap().set_modified(old).unwrap();
    put(folder.path(), &parcel(b"{}\n")).unwrap();
    let report = "0000000007-00112233445566778899aabbccddeeff.json";
    let kept = [".hierad-ab-cde", ".hierad-folder", ".hierad-notes", ".hierad-young1", report, "hierad-abcdef"];
    assert_eq!(names(folder.path()), kept);
}

#[test]
fn unwritable_folders_are_reported() {
    let base = tempfile::tempdir().unwrap();
    let file = base.path().join("file");
    fs::write(&file, "").unwrap();
    let error = refused(put(&file, &parcel(b"{}\n")), &["cannot write to "]);
    assert!(error.contains(file.to_str().unwrap()), "{error}");
    let error = refused(put(Path::new("/proc/hierad"), &parcel(b"{}\n")), &["cannot write to /proc/hierad"]);
    assert!(!error.contains(".hierad-"), "{error}");
}
