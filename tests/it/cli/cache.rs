//! What is kept between runs: it makes no difference but of time.

use std::fs;

use crate::support::Sandbox;
use crate::support::terminal::SITE;

fn kept(site: &Sandbox) -> std::path::PathBuf {
    site.root().join(".git/hierad/cache")
}

#[test]
fn a_second_run_says_the_same_whatever_is_in_the_cache() {
    let site = Sandbox::of(SITE);
    site.files("-- data/common.yaml\nmotd: changed\nport: 80\n");
    site.commit("change");
    let first = site.hierad("diff --no-cache").ok().to_owned();
    assert!(!kept(&site).exists(), "--no-cache keeps nothing");
    assert_eq!(site.hierad("diff").ok(), first);
    let whole = fs::read(kept(&site)).unwrap();
    assert_eq!(site.hierad("diff").ok(), first);
    assert_eq!(fs::read(kept(&site)).unwrap(), whole, "nothing new, nothing written");
    for broken in [&whole[..whole.len() / 2], b"", b"hierad cache 1 of another program\n"] {
        fs::write(kept(&site), broken).unwrap();
        assert_eq!(site.hierad("diff").ok(), first);
        assert_eq!(fs::read(kept(&site)).unwrap(), whole, "it is made anew");
    }
    assert_eq!(site.hierad("diff --cache-size 0").ok(), first);
}

#[test]
fn a_cache_that_cannot_be_written_is_no_failure() {
    let site = Sandbox::of(SITE);
    fs::write(site.root().join(".git/hierad"), "in the way").unwrap();
    site.hierad("render").ok();
}
