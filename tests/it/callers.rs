//! Levels and data that depend on the caller: Puppet looks parameters up in the scope of their class, `puppet lookup`
//! and hierad in the top scope.

use crate::support::Sandbox;

fn site(level: &str, files: &str) -> Sandbox {
    let site = Sandbox::of(&format!(
        "-- hiera.yaml\nversion: 5\nhierarchy:\n  - {{name: asked, path: '{level}'}}\n  - {{name: common, path: common.yaml}}\n\
         -- data/common.yaml\nfoo::x: common\nother: 1\n-- data/modules/foo.yaml\nfoo::x: of the module\n\
         -- hierad.yaml\nprofiles: [profiles]\npuppet: 7\n-- profiles/n.yaml\n{{name: n1}}\n{files}"
    ));
    site.commit("more");
    site
}

const LEVELS: [(&str, &str); 5] = [
    ("modules/%{module_name}.yaml", "module_name"),
    ("modules/%{caller_module_name}.yaml", "caller_module_name"),
    ("modules/%{title}.yaml", "title"),
    ("%{facts.none}modules/%{name}.yaml", "name"),
    ("modules/%{::foo::y}.yaml", "foo::y"),
];

#[test]
fn levels_by_who_asks_are_told() {
    for (level, name) in LEVELS {
        let site = site(level, "");
        let check = site.hierad("check").out;
        let words = format!(
            "warning: the variable '{name}' depends on the caller: '{level}' is resolved for the top \
                             scope"
        );
        assert!(check.contains(&words) && !check.contains("unreached-file"), "{level}: {check}");
        // The file that only classes read, and a key that it has for them.
        for files in ["-- data/modules/foo.yaml\nfoo::x: another\n", "-- data/common.yaml\nfoo::x: another\nother: 1\n"]
        {
            site.files(files);
            site.commit("another");
            let report = site.hierad("diff --format json").json();
            let told = |spot: &&serde_json::Value| {
                spot["code"] == "undefined-variable"
                    && spot["headline"] == format!("the variable '{name}' depends on the caller")
            };
            let spots = report["blind_spots"].as_array().unwrap();
            assert_eq!(spots.iter().filter(told).count(), 1, "{level}: {report}");
            assert!(!spots.iter().any(|spot| spot["code"] == "unreached-file"), "{level}: {report}");
        }
        // No class gets this key by that file.
        site.files("-- data/common.yaml\nfoo::x: another\nother: 2\n");
        site.commit("another");
        assert!(!site.hierad("diff").out.contains("who asks"), "{level}");
        // Where it is accepted, outside of the tree.
        let settings = format!("accept: {{undefined-variable: ['{name}', facts.none]}}\n");
        site.files(&format!("-- ../h.yaml\nprofiles: [repository/profiles]\npuppet: 7\n{settings}"));
        let check = site.hierad("check --config ../h.yaml").out;
        assert!(!check.contains("who asks") && check.contains("0 errors"), "{level}: {check}");
    }
}

#[test]
fn data_by_who_asks_are_told_when_they_change() {
    for (value, name) in [
        ("'/etc/%{module_name}'", "module_name"),
        ("['%{title}']", "title"),
        ("{a: {b: '%{::caller_module_name}'}}", "caller_module_name"),
        ("'%{name}'", "name"),
    ] {
        let site = site("nodes/%{trusted.certname}.yaml", "-- data/common.yaml\nfoo::x: 1\nother: 1\n");
        site.files(&format!("-- data/common.yaml\nfoo::x: {value}\nother: 1\n"));
        site.commit("another");
        let said = site.hierad("diff").out;
        assert!(said.contains(&format!("the variable '{name}' depends on the caller")), "{value}: {said}");
        site.files(&format!("-- data/common.yaml\nfoo::x: {value}\nother: 2\n"));
        site.commit("another");
        let said = site.hierad("diff").out;
        assert!(!said.contains("who asks") && said.contains("changed  other: 1 -> 2"), "{value}: {said}");
    }
    for value in ["'%{facts.name}'", "'%{trusted.certname}'", "'module_name'"] {
        let site = site("nodes/%{trusted.certname}.yaml", "");
        site.files(&format!("-- data/common.yaml\nfoo::x: {value}\nother: 1\n"));
        site.commit("another");
        assert!(!site.hierad("diff").out.contains("who asks"), "{value}");
        assert!(!site.hierad("check").out.contains("who asks"), "{value}");
    }
}

/// As Puppet 7 and 8 give them to a class `foo` by a global layer of version 3; `puppet lookup` and `hiera` have none.
const OF_HIERA3: [&str; 3] = ["calling_module", "calling_class", "calling_class_path"];

#[test]
fn levels_of_hiera_3_by_who_asks_are_told() {
    for name in OF_HIERA3 {
        let site = Sandbox::of(&format!(
            "-- hiera.yaml\n---\n:backends: yaml\n:yaml:\n  :datadir: data\n:hierarchy:\n  - 'modules/%{{{name}}}'\n  \
             - common\n-- data/common.yaml\nfoo::x: common\nother: 1\n-- data/modules/foo.yaml\nfoo::x: of the module\n\
             -- hierad.yaml\nprofiles: [profiles]\nhiera: 3\n-- profiles/n.yaml\n{{name: n1}}\n"
        ));
        let words = format!("the variable '{name}' depends on the caller");
        let check = site.hierad("check").out;
        assert!(check.contains(&words) && !check.contains("unreached-file"), "{check}");
        for (files, is_told) in [
            ("-- data/modules/foo.yaml\nfoo::x: another\n", true),
            ("-- data/modules/foo.yaml\nfoo::x: another\nfoo::y: 1\n", true),
            ("-- data/common.yaml\nfoo::x: another\nother: 1\n", true),
            ("-- data/common.yaml\nfoo::x: another\nother: 2\n", false),
            ("-- data/modules/foo.yaml\nfoo::x: \"%{hiera('other')}\"\n", true),
            ("-- data/common.yaml\nfoo::x: another\nother: 3\n", true),
            ("-- README\nx\n", false),
        ] {
            site.files(files);
            site.commit("another");
            let said = site.hierad("diff").out;
            assert_eq!(said.contains(&words), is_told, "{files}: {said}");
            assert!(!said.contains("no known node's hierarchy"), "{files}: {said}");
        }
    }
}

#[test]
fn levels_of_hiera_5_have_no_variables_of_hiera_3() {
    for name in OF_HIERA3 {
        let site = site(&format!("modules/%{{{name}}}.yaml"), "");
        assert!(!site.hierad("check").out.contains("who asks"), "{name}");
    }
}
