//! Managers of git's hooks, which run hierad as docs/hooks.md has it. Each is the real one.

use std::process::Command;
use std::sync::OnceLock;

use super::{pushed, remote};
use crate::support::Sandbox;

/// The page with a snippet for each manager.
const PAGE: &str = include_str!("../../../docs/hooks.md");

/// Returns the snippet for a file.
fn snippet(file: &str) -> &'static str {
    let (_, after) = PAGE.split_once(&format!(", in `{file}`")).unwrap();
    let (_, block) = after.split_once("```").unwrap();
    block.split_once('\n').unwrap().1.split_once("```").unwrap().0
}

/// Returns the folders of the managers' programs.
fn programs() -> &'static str {
    static PROGRAMS: OnceLock<String> = OnceLock::new();
    PROGRAMS.get_or_init(|| {
        let install = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/managers/install")).output().unwrap();
        assert!(install.status.success(), "{}", String::from_utf8_lossy(&install.stderr));
        String::from_utf8(install.stdout).unwrap().trim_end().to_owned()
    })
}

/// Pushes by a manager, which `set_up` installs for the files of its snippets.
fn check(files: &[&str], set_up: &str) {
    let (site, programs) = (pushed(), programs());
    site.hierad("hooks remove").ok();
    let shell = |script: &str| site.shell(&format!("PATH={programs}:$PATH HOME=$PWD/../home\n{script}"));
    for file in files {
        site.write(file, snippet(file));
    }
    shell(set_up).ok();
    site.git(["add", "--all"]);
    site.git(["commit", "--quiet", "--no-verify", "--message", "hooks"]);
    shell("git push --quiet --no-verify origin main").ok();
    let refused = |branch: &str, words: &[&str]| {
        let refused = shell(&format!("git -c hierad.prePush=changes push --quiet origin {branch} 2>&1"));
        assert!(refused.status == 1 && words.iter().all(|word| refused.out.contains(word)), "{refused:#?}");
    };
    let words = ["changed  port: 80 -> 81", "the push is refused, as it changes 1 key"];
    site.files("-- data/roles/web.yaml\nport: 81\n");
    site.commit("port 81");
    refused("main", &words);
    // Of another branch than the one that is checked out.
    site.git(["branch", "other"]);
    site.git(["reset", "--quiet", "--hard", "HEAD~1"]);
    refused("other", &words);
    // A commit that only deletes a file.
    site.git(["rm", "--quiet", "data/roles/web.yaml"]);
    site.git(["commit", "--quiet", "--no-verify", "--message", "no port"]);
    refused("main", &["removed  port: 80", words[1]]);
    let before = remote(&site, "main");
    let shown = shell("git push --quiet origin main 2>&1");
    assert!(shown.status == 0 && shown.out.contains("removed  port: 80"), "{shown:#?}");
    assert_ne!(remote(&site, "main"), before);
}

#[test]
#[ignore = "needs pip and npm"]
fn lefthook_checks_a_push() {
    let script = ".lefthook/pre-push/hierad.sh";
    check(&["lefthook.yml", script], &format!("chmod 755 {script}; lefthook install"));
}

#[test]
#[ignore = "needs pip and npm"]
fn pre_commit_and_prek_check_a_push() {
    for manager in ["pre-commit", "prek"] {
        check(&[".pre-commit-config.yaml"], &format!("{manager} install --hook-type pre-push"));
    }
}

#[test]
#[ignore = "needs pip and npm"]
fn husky_checks_a_push() {
    check(&[".husky/pre-push"], "echo '{}' > package.json; husky");
}

#[test]
fn generated_folders_of_husky_are_left_alone() {
    let site = Sandbox::new();
    site.sh("mkdir -p .husky/_ && git config core.hooksPath .husky/_");
    let listing = site.listing(".husky/_");
    for hooks in ["", " pre-push", " --gate"] {
        let refused = site.hierad(&format!("hooks install{hooks}"));
        refused.fails(&["is made by husky, which replaces it", ".husky/pre-push: hierad hooks run pre-push \"$@\""]);
    }
    assert_eq!(site.listing(".husky/_"), listing);
    // Other folders of that name are nobody's.
    site.sh("mkdir -p hooks/_ && git config core.hooksPath hooks/_");
    site.hierad("hooks install").ok();
}
