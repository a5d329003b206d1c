//! The cache between runs: it makes no difference but of time.

use std::fs::{self, File};

use crate::support::Sandbox;
use crate::support::terminal::SITE;

fn kept(site: &Sandbox) -> std::path::PathBuf {
    site.root().join(".git/hierad/cache")
}

#[test]
fn output_is_the_same_with_any_cache() {
    let site = Sandbox::of(SITE);
    site.files("-- data/common.yaml\nmotd: changed\nport: 80\n");
    site.commit("change");
    site.settle();
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
fn unwritable_caches_are_ignored() {
    let site = Sandbox::of(SITE);
    fs::write(site.root().join(".git/hierad"), "in the way").unwrap();
    site.hierad("render").ok();
}

#[test]
fn profiles_cached_by_another_path_are_used() {
    let site = Sandbox::of(
        "
-- hiera.yaml
version: 5
hierarchy: [{name: Common, path: common.yaml}]
-- data/common.yaml
k: 0
v: 'in %{facts.via}'
-- sub/file
words
-- nodes.ndjson
{\"name\": \"n\", \"facts\": {\"dc\": \"east\", \"via\": \"%{facts.dc}\"}}
",
    );
    site.files("-- data/common.yaml\nk: 0\nv: 'at %{facts.via}'\n");
    site.commit("second");
    site.settle();
    // Not all that the others read is kept here: facts.dc is wanted by no one.
    site.hierad("--profiles nodes.ndjson render --key k").ok();
    let diff = site.hierad_in("sub", "--profiles ../nodes.ndjson diff");
    assert!(diff.ok().contains("\"in east\" -> \"at east\""), "{diff:?}");
    let render = site.hierad_in("sub", "--profiles ./../nodes.ndjson render --format ndjson");
    assert_eq!(render.ok(), "{\"node\":\"n\",\"values\":{\"k\":0,\"v\":\"at east\"},\"errors\":{}}\n");
}

#[test]
#[cfg(unix)]
fn changed_files_of_equal_size_and_time_are_read() {
    let site = Sandbox::of(SITE);
    let path = site.root().join("profiles/web01.yaml");
    site.settle();
    assert!(site.hierad("lookup port --node web01 --render-as s").ok().contains("80"));
    let modified = fs::metadata(&path).unwrap().modified().unwrap();
    let text = fs::read_to_string(&path).unwrap().replace("{role: web}", "{role: db }");
    fs::write(&path, text).unwrap();
    File::options().append(true).open(&path).unwrap().set_modified(modified).unwrap();
    site.settle();
    assert!(site.hierad("lookup port --node web01 --render-as s").ok().contains("5432"));
}
