//! Files that git converts at a checkout: Puppet reads what a checkout has, and not what the repository holds.

use crate::support::Sandbox;

/// A site with a file that one of two nodes reads.
const SITE: &str = "-- hiera.yaml\nversion: 5\nhierarchy:\n\
    \x20 - {name: all, paths: ['sub/%{trusted.certname}.yaml', common.yaml]}\n\
    -- data/sub/n1.yaml\nv: stored\n-- data/common.yaml\nv: common\nc: common\n\
    -- hierad.yaml\nprofiles: [profiles]\npuppet: 7\n-- profiles/n.yaml\n---\n{name: n1}\n---\n{name: n2}\n";

const POINTER: &str = "version https://git-lfs.github.com/spec/v1\noid sha256:da0d\nsize 7\n";

fn site(files: &str) -> Sandbox {
    let site = Sandbox::of(&format!("{SITE}{files}"));
    // Some of these programs are nowhere.
    site.commit("more");
    site
}

#[test]
fn keys_that_reach_a_converted_file_are_unknown() {
    for (files, words) in [
        ("-- .gitattributes\ndata/sub/n1.yaml filter=hide\n", "(filter=hide)"),
        ("-- data/sub/.gitattributes\n*.yaml filter=hide diff=hide\n", "(filter=hide)"),
        ("-- .gitattributes\n[attr]hidden filter=hide -text\nn1.yaml hidden\n", "(filter=hide)"),
        (
            "-- .gitattributes\n* -filter\nsub/ filter=x\ndata/sub/* working-tree-encoding=ISO-8859-1\n",
            "(working-tree-encoding=ISO-8859-1)",
        ),
        ("-- .gitattributes\nn1.yaml ident filter=hide\n-- data/sub/n1.yaml\nv: 'of $Id$'\n", "(filter=hide)"),
        (
            &format!("-- .gitattributes\n*.yaml ident\n-- data/sub/n1.yaml\nv: '{}'\n", "$Id$".repeat(1001)),
            "(ident=set)",
        ),
        (&format!("-- data/sub/n1.yaml\n{POINTER}"), "a pointer of Git LFS"),
        ("-- data/sub/n1.yaml\n\0GITCRYPT\0\u{1}\u{2}\n", "git-crypt has encrypted the file"),
    ] {
        let site = site(files);
        for key in ["v", "c"] {
            let said = site.hierad(&format!("lookup {key} --node n1"));
            said.fails(&["unknown to hierad: data/sub/n1.yaml: ", words, "a checkout has another content"]);
        }
        assert_eq!(site.hierad("lookup v --node n2").ok(), "--- common\n", "{files}");
        let rendered = site.hierad("render --allow-blind --format ndjson --output -").out;
        let known = "{\"node\":\"n2\",\"values\":{\"c\":\"common\",\"v\":\"common\"}";
        assert!(rendered.contains(known) && rendered.matches("common\"").count() == 2, "{rendered}");
        let check = site.hierad("check").out;
        assert!(check.contains("a checkout has another content") && !check.contains("correct the file"), "{check}");
        // Both sides are unknown alike.
        let said = site.hierad("diff HEAD .").out;
        assert!(said.contains("no effective change"), "{files}: {said}");
    }
}

/// Texts with places for the id of a file, and with what is none.
const IDS: [&str; 20] = [
    "of $Id$",
    "$Id$ and $Id$",
    "$$Id$Id$",
    "$Ideal$Id$",
    "$I$Id$",
    "$Id",
    "$id$ $ID$",
    "$\u{e9}$Id$",
    "$Id:$",
    "$Id: 0123 $",
    "$Id: 0123$",
    "$Id:0123 $",
    "$Id: x.yaml,v 1.2 2004/05/06 someone $",
    "$Id: x.yaml,v 1.2 $Id$",
    "$Id:  $",
    "$Id:  0123 $",
    "$Id: 0123 and no end",
    "$Id: 0123\n\n  45 $Id: 6 $",
    "$Id$Id: 7 $",
    "$Revision$",
];

#[test]
fn the_id_of_a_file_is_put_where_a_checkout_has_it() {
    let (site, plain) = (site(""), site(""));
    let mut with_id = 0;
    for text in IDS {
        site.git(["rm", "--quiet", "--ignore-unmatch", ".gitattributes"]);
        site.write("data/sub/n1.yaml", format!("v: '{text}'\n"));
        site.commit("stored as it is");
        for attribute in ["ident", "-text ident=set", "ident=x", "ident -ident", "text ident"] {
            site.write(".gitattributes", format!("*.yaml {attribute}\n"));
            site.git(["add", ".gitattributes"]);
            site.git(["commit", "--quiet", "--message", "another attribute"]);
            let [stored, checked_out] =
                ["-p", "--filters"].map(|how| site.git(["cat-file", how, "HEAD:data/sub/n1.yaml"]));
            plain.write("data/sub/n1.yaml", &checked_out);
            let expected = plain.hierad("lookup v --node n1 --rev .").ok().to_owned();
            assert_eq!(site.hierad("lookup v --node n1").ok(), expected, "{attribute} {text}");
            with_id += usize::from(stored != checked_out);
        }
    }
    assert!((20..40).contains(&with_id), "{with_id}");
}

#[test]
fn whatever_changes_in_a_file_changes_its_id() {
    for text in IDS {
        let site = site(&format!("-- .gitattributes\n*.yaml ident\n-- data/sub/n1.yaml\nv: '{text}'\nw: 1\n"));
        let checked_out = site.git(["cat-file", "--filters", "HEAD:data/sub/n1.yaml"]) + "\n";
        let has_id = checked_out.trim_end() != site.git(["cat-file", "-p", "HEAD:data/sub/n1.yaml"]);
        site.write("data/sub/n1.yaml", &checked_out);
        site.hierad("diff HEAD . --exit-code").is(0);
        // What is edited on disk has the former id still, which git takes out.
        site.write("data/sub/n1.yaml", checked_out.replace("w: 1", "w: 2"));
        let seen = site.hierad("diff HEAD . --format json").json();
        site.commit("another value");
        let said = site.hierad("diff --format json").json();
        assert_eq!(said["keys"], seen["keys"], "{text}");
        assert_eq!(said["keys"]["changed"], 1 + usize::from(has_id), "{text}: {said}");
        assert_eq!(said["blind_spots"].as_array().map(Vec::len), Some(0), "{text}: {said}");
        let stored = site.git(["cat-file", "-p", "HEAD:data/sub/n1.yaml"]);
        site.write("data/sub/n1.yaml", format!("# $Id$ in a comment\n{stored}\n"));
        site.commit("a comment");
        let said = site.hierad("diff --format json").json();
        assert_eq!(said["keys"]["changed"], usize::from(has_id), "{text}: {said}");
        assert_eq!(said["blind_spots"].as_array().map(Vec::len), Some(0), "{text}: {said}");
    }
}

#[test]
fn files_that_a_checkout_has_alike_are_read() {
    for files in [
        "-- .gitattributes\n*.yaml ident\n-- data/sub/n1.yaml\n# $Id$\nv: stored\n",
        "-- .gitattributes\n*.yaml text eol=crlf\n*.sh filter=x\n",
        "-- .gitattributes\n*.yaml export-subst\ndata export-ignore\n",
        "-- .gitattributes\n* filter=hide\n*.yaml -filter\n",
        "-- .gitattributes\nother/*.yaml filter=hide\n",
        "-- data/sub/n1.yaml\nversion: https://git-lfs.github.com/spec/v1\nv: stored\n",
    ] {
        let site = site(files);
        assert_eq!(site.hierad("lookup v --node n1").ok(), "--- stored\n", "{files}");
        assert!(site.hierad("diff HEAD .").out.contains("no effective change"), "{files}");
    }
}

#[test]
fn a_clean_checkout_of_converted_files_is_no_change() {
    let site = Sandbox::of(SITE);
    site.git(["config", "filter.hide.clean", "tr a-z n-za-m"]);
    site.git(["config", "filter.hide.smudge", "tr a-z n-za-m"]);
    site.git(["config", "filter.hide.required", "true"]);
    site.files("-- .gitattributes\ndata/sub/n1.yaml filter=hide\n-- data/sub/n1.yaml\nv: hunter\n");
    site.commit("hidden");
    assert!(site.git(["cat-file", "-p", "HEAD:data/sub/n1.yaml"]).contains("uhagre"));
    let said = site.hierad("diff HEAD . --format json").json();
    assert_eq!(
        (&said["verdict"], said["blind_spots"].as_array().map(Vec::len)),
        (&"no_change".into(), Some(0)),
        "{said}"
    );
    // One that is edited is told.
    site.write("data/sub/n1.yaml", "v: hunter2\n");
    let said = site.hierad("diff HEAD .").out;
    assert!(said.contains("no change seen, but: git converts data/sub/n1.yaml as .gitattributes says"), "{said}");
    // From when attributes say so, a file is unknown although its content stays.
    let site = self::site("");
    site.files("-- .gitattributes\ndata/*/n1.yaml filter=hide\n");
    site.commit("hidden");
    let said = site.hierad("diff").out;
    assert!(
        said.contains("no change seen, but: .gitattributes changes, which controls how git converts files"),
        "{said}"
    );
    site.hierad("lookup v --node n1").fails(&["unknown to hierad: data/sub/n1.yaml: "]);
    assert_eq!(site.hierad("lookup v --node n1 --rev HEAD~1").ok(), "--- stored\n");
}

#[test]
fn changes_of_what_a_converted_hiera_yaml_reads_are_no_calm() {
    const LAYER: &str = "version: 5\nhierarchy: [{name: c, path: c.yaml}]\n";
    for (settings, folder, attributes, status) in [
        ("", "modules/m", "-- .gitattributes\nmodules/*/hiera.yaml filter=hide\n", 3),
        ("", "modules/m", "-- modules/m/.gitattributes\nhiera.yaml working-tree-encoding=ISO-8859-1\n", 3),
        ("", "site/m", "-- environment.conf\nmodulepath = site\n-- .gitattributes\nsite/m/hiera.yaml filter=hide\n", 3),
        ("", "modules/m", "-- .gitattributes\nmodules/*/other.yaml filter=hide\n", 2),
        (
            "hiera_config: 'environments/%{environment}/hiera.yaml'\n",
            "environments/production/modules/m",
            "-- environments/production/hiera.yaml\nversion: 5\nhierarchy: [{name: c, path: c.yaml}]\n-- environments/production/data/c.yaml\na: 1\n-- .gitattributes\nenvironments/production/modules/m/hiera.yaml filter=hide\n",
            3,
        ),
        (
            "hiera_config: 'environments/%{environment}/hiera.yaml'\n",
            "environments/production",
            "-- environments/other/hiera.yaml\nversion: 5\nhierarchy: [{name: c, path: c.yaml}]\n-- environments/other/data/c.yaml\na: 1\n-- profiles/o.yaml\n{name: o, environment: other}\n-- .gitattributes\nenvironments/production/hiera.yaml filter=hide\n",
            3,
        ),
    ] {
        let site = site(&format!("-- {folder}/hiera.yaml\n{LAYER}-- {folder}/data/c.yaml\nm::x: 1\n{attributes}"));
        site.settings(format!("profiles: [profiles]\npuppet: 7\n{settings}"));
        site.commit("before");
        site.files(&format!("-- {folder}/data/c.yaml\nm::x: 2\n"));
        site.commit("after");
        let printed = site.hierad("diff --exit-code");
        assert_eq!(printed.status, status, "{folder} {attributes}: {printed:#?}");
        site.files("-- README.md\nwords\n");
        site.commit("words");
        site.hierad("diff --exit-code").is(0);
    }
}
