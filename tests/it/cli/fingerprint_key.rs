//! The key of fingerprints where a home lies in a work tree of git.

use std::path::Path;

use crate::support::Sandbox;
use crate::support::terminal::{Printed, SITE, hierad};

/// The place of the key in a home.
const KEY: &str = ".local/share/hierad/fingerprint.key";

/// The words by which a key is refused.
const REFUSED: &str = "whoever made the commit may know it";

/// A repository whose commit has a key that its author knows, in places where hierad looks for one.
fn site() -> Sandbox {
    let site = Sandbox::of(SITE);
    site.files("-- data/common.yaml\nmotd: hello\nlookup_options: {motd: {convert_to: Sensitive}}\n");
    for place in [KEY, "deep/.local/share/hierad/fingerprint.key", "hierad/fingerprint.key", "keys/fingerprint.key"] {
        site.write_secret(place, &format!("{}\n", "5".repeat(64)));
    }
    site.sh(
        "mkdir -p linked/.local/share file/.local/share/hierad; ln -s ../../../hierad linked/.local/share/hierad; \
        ln -s ../../../../keys/fingerprint.key file/.local/share/hierad/fingerprint.key",
    );
    site.sh("echo keys >.gitignore; git add -A; git commit -qm 'a key'");
    site
}

fn render(command: &mut std::process::Command, site: &Sandbox, home: &Path, data: &Path) -> Printed {
    command.args(["--profiles"]).arg(site.root().join("profiles")).args(["render", "main", "--format", "ndjson"]);
    site.masked(command.env("HOME", home).env("XDG_DATA_HOME", data))
}

#[test]
fn a_key_that_git_tracks_is_not_taken() {
    let site = site();
    site.sh("git worktree add -q ../linked-tree -b linked; git clone -q --mirror . ../mirror.git; git clone -q . ../clone; \
        chmod 600 ../*/.local/share/hierad/* ../*/hierad/*; ln -s repository/deep ../home-link; mkdir ../own ../empty; cp -r ../clone ../conflict; cp -r ../clone ../broken");
    site.sh("cd ../conflict && git checkout -q -b a && git rm -q --cached .local/share/hierad/fingerprint.key && git commit -qm gone && \
        git checkout -q -f -b b main && echo x >>.local/share/hierad/fingerprint.key && git commit -qam other && ! git merge -q a >&2 && \
        git show main:.local/share/hierad/fingerprint.key >.local/share/hierad/fingerprint.key && chmod 600 .local/share/hierad/*");
    site.sh("cd ../broken && echo nonsense >.git/index");
    let (root, at) = (site.root(), |name: &str| site.beside(name));
    let known = render(hierad(root).env("HIERAD_FINGERPRINT_KEY", "5".repeat(64)), &site, root, root);
    let known = known.ok();
    assert!(known.contains("hmac-sha256:"));
    // The place that is read, and the home.
    let (linked, mirror, own) = (at("linked-tree"), at("mirror.git"), at("own"));
    let mut taken = Vec::new();
    for (read, home) in [
        (&*linked, root.to_owned()),
        (root, linked.clone()),
        (&*mirror, root.to_owned()),
        (&*mirror, at("clone")),
        (root, at("clone")),
        (&*linked, root.join("deep")),
        (&*linked, at("home-link")),
        (&*mirror, root.join("linked")),
        (&*mirror, root.join("file")),
        (&*mirror, at("conflict")),
        (&*mirror, at("broken")),
    ] {
        let printed = render(&mut hierad(read), &site, &home, Path::new(""));
        if printed.ok() == known || !printed.err.contains(REFUSED) {
            taken.push((read.to_owned(), home));
        }
    }
    assert!(taken.is_empty(), "{taken:#?}");
    let printed = render(&mut hierad(&mirror), &site, &own, root);
    printed.is(0).says(&[REFUSED]);
    site.git(["config", "core.bare", "true"]);
    render(&mut hierad(root), &site, root, Path::new("")).is(0).says(&[REFUSED]);
}

#[test]
fn a_key_of_ones_own_is_taken_in_a_home_that_git_tracks() {
    let site = site();
    let root = site.root();
    // What people keep of their home in git; one leaves the key out by a pattern, one has its data elsewhere.
    site.sh("mkdir -p ../plain ../dotfiles ../ignoring ../stow/files ../elsewhere; cd ..; \
        for home in dotfiles ignoring stow/files; do git -C $home init -q; echo a >$home/.profile; done; \
        echo .local >ignoring/.gitignore; mkdir stow/.local; ln -s ../files/data stow/.local/share; mkdir stow/files/data; \
        for home in dotfiles ignoring stow/files; do git -C $home add -A; git -C $home commit -qm home; done");
    for home in ["plain", "dotfiles", "ignoring", "stow"] {
        let home = site.beside(home);
        let [first, second] = [0, 1].map(|_| render(&mut hierad(root), &site, &home, Path::new("")));
        assert!(first.ok().contains("hmac-sha256:") && first.err.is_empty(), "{first:?}");
        assert_eq!(first.out, second.ok(), "{}", home.display());
        assert!(home.join(KEY).exists());
        let key = std::fs::read_to_string(home.join(KEY)).unwrap();
        let known = render(hierad(root).env("HIERAD_FINGERPRINT_KEY", key), &site, &home, Path::new(""));
        assert_eq!(known.ok(), first.out);
    }
    // A file that is named is the user's own business, unless it is in the work tree that is read.
    site.sh("git clone -q . ../clone; chmod 600 ../clone/hierad/fingerprint.key");
    let key = site.beside("clone/hierad/fingerprint.key");
    let named = render(hierad(root).arg("--fingerprint-key").arg(key), &site, root, Path::new(""));
    let known = render(hierad(root).env("HIERAD_FINGERPRINT_KEY", "5".repeat(64)), &site, root, Path::new(""));
    assert_eq!(named.ok(), known.ok());
}
