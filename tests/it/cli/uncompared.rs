//! Things beside the compared data that an answer may depend on: a commit that changes them is not called harmless.

use serde_json::Value as Json;

use crate::support::Sandbox;
use crate::support::terminal::SITE;

/// A commit on a site as shell commands: what there is before, what the commit does, and a name that the blind spot
/// tells.
type Case<'a> = (&'a str, &'a str, &'a str);

/// Makes the two commits of a case.
fn site(before: &str, after: &str) -> Sandbox {
    let site = Sandbox::of(SITE);
    // A submodule has a folder in the work tree; its commit is in no repository here.
    let helper = "sub() { mkdir -p $1; git update-index --add --cacheinfo 160000,1111111111111111111111111111111111111111,$1; }\n\
        mod() { mkdir -p $1/data; printf 'version: 5\\nhierarchy:\\n  - {name: c, path: c.yaml}\\n' >$1/hiera.yaml; echo '{}' >$1/data/c.yaml; }\n";
    for script in [before, after] {
        site.sh(&format!("{helper}{script}"));
        site.commit("commit");
    }
    site
}

/// The blind spots of a site's last commit that have a code.
fn spots(site: &Sandbox, code: &str) -> Vec<Json> {
    let report = site.hierad("diff --format json").json();
    let spots = report["blind_spots"].as_array().unwrap().iter();
    spots.filter(|spot| spot["code"] == code && spot.get("standing").is_none()).cloned().collect()
}

#[track_caller]
fn are_told(code: &str, cases: &[Case<'_>]) {
    for (before, after, name) in cases {
        let site = site(before, after);
        let found = spots(&site, code);
        let names = |spot: &Json| spot["files"].as_array().is_some_and(|files| files.iter().any(|file| file == name));
        assert!(found.iter().any(names), "{before} / {after}: no {name} in {found:#?}");
        site.hierad("diff --exit-code").is(3);
    }
}

/// Checks that no change is seen, or nothing can be read, for the sake of a file.
#[track_caller]
fn are_no_calm(cases: &[Case<'_>]) {
    for (before, after, name) in cases {
        let printed = site(before, after).hierad("diff --exit-code");
        let is_told = printed.status != 0 && printed.out.contains(name);
        assert!(is_told, "{before} / {after}: no {name} in {printed:#?}");
    }
}

#[track_caller]
fn are_calm(cases: &[[&str; 2]]) {
    for [before, after] in cases {
        let printed = site(before, after).hierad("diff --exit-code");
        assert_eq!(printed.status, 0, "{before} / {after}: {printed:#?}");
    }
}

#[test]
fn modules_that_are_found_outside_of_the_repository_are_told() {
    let path = "path() { echo \"modulepath = $1\" >environment.conf; }; ";
    let at = |script: &str| format!("{path}{script}");
    are_told(
        "outside-repository",
        &[
            ("mkdir modules; touch modules/k", "ln -s /srv/mm modules/mm", "modules/mm"),
            ("mkdir modules; ln -s /srv/a modules/mm", "ln -sfn /srv/b modules/mm", "modules/mm"),
            ("mkdir modules; ln -s /srv/a modules/mm", "rm modules/mm", "modules/mm"),
            ("sub v; mkdir modules; touch modules/k", "ln -s ../v modules/s", "modules/s"),
            ("sub v; mkdir modules w; touch w/k; ln -s ../v modules/s", "ln -sfn ../w modules/s", "modules/s"),
            ("sub v; mod v2/s; ln -s v2 modules", "rm modules; ln -s v modules", "modules"),
            ("sub v2/s", &at("path v2"), "v2/s"),
            ("sub v2", &at("path 'v*'"), "v*"),
            ("sub v2", &at("path v2:modules"), "v2"),
            ("touch k", &at("path /srv/modules:modules"), "/srv/modules"),
            ("touch k", &at("path ../modules:modules"), "../modules"),
            (&at("path modules:/srv/m"), &at("path /srv/m:modules"), "/srv/m"),
            (&at("path modules"), &at("path 'modules:$basemodulepath'"), "$basemodulepath"),
            // An empty module stands before one that is elsewhere.
            (&at("path modules:v2; sub v2/s; mkdir -p modules/s; touch modules/s/k"), "rm -r modules/s", "v2/s"),
        ],
    );
    are_calm(&[
        ["touch k", &at("path 'modules:$basemodulepath'")],
        ["touch k", &at("path modules")],
        ["ln -s /srv/m modules; touch k", "echo x >k"],
        [&at("path modules:/srv/m"), &at("path ./modules:/srv/m")],
        ["mod v; mkdir modules; touch modules/k", "ln -s ../v modules/s"],
        ["mkdir -p modules v; touch v/k; ln -s ../v modules/s", "rm modules/s; mkdir modules/s; touch modules/s/k"],
        [
            &at("path 'modules:$basemodulepath'; mkdir -p site/x; touch site/x/k"),
            &at("path 'modules:site:$basemodulepath'"),
        ],
    ]);
}

#[test]
fn files_of_modules_that_cannot_be_read_are_told_once_they_count() {
    // Deeper than hierad reads, and not too deep for Puppet.
    let deep = "deep() { { printf 'm::x: '; printf '[%.0s' $(seq 800); printf ']%.0s' $(seq 800); echo; } >$1; }; ";
    let at = |script: &str| format!("{deep}mod modules/m; {script}");
    let file = "modules/m/data/c.yaml";
    are_told(
        "unlisted-keys",
        &[
            (
                &at(&format!("deep {file}; mv modules m2")),
                "echo 'modulepath = m2' >environment.conf",
                "m2/m/data/c.yaml",
            ),
            (
                &at("deep modules/m/data/d.yaml"),
                "sed -i s/c.yaml/d.yaml/ modules/m/hiera.yaml",
                "modules/m/data/d.yaml",
            ),
            (
                &at("mkdir modules/m/o; deep modules/m/o/c.yaml"),
                "sed -i 's/path: c.yaml/path: c.yaml, datadir: o/' modules/m/hiera.yaml",
                "modules/m/o/c.yaml",
            ),
            (&at(&format!("deep {file}; mv modules/m/hiera.yaml h")), "mv h modules/m/hiera.yaml", file),
            (&at(&format!("deep {file}")), "rm modules/m/hiera.yaml", file),
            (
                &at("cp -r modules/m v; mv modules/m k; deep k/data/c.yaml; ln -s ../v modules/m"),
                "ln -sfn ../k modules/m",
                file,
            ),
            (
                &at(&format!("deep {file}; mv modules/m v; ln -s ../v modules/m")),
                "mv modules/m modules/n",
                "modules/n/data/c.yaml",
            ),
            (
                &at("deep modules/m/data/t; rm modules/m/data/c.yaml; ln -s t modules/m/data/c.yaml"),
                &format!("{deep}echo '[1, 2]' >>modules/m/data/t"),
                file,
            ),
            // The options of its keys change.
            (
                &at(&format!("deep {file}")),
                "printf 'lookup_options: {\"^m::.*\": {merge: deep}}\n' >>data/common.yaml",
                file,
            ),
        ],
    );
    are_calm(&[
        [&at(&format!("deep {file}")), "echo x >README"],
        [&at(&format!("deep {file}; mod modules/n")), "echo '# x' >>modules/n/data/c.yaml"],
        [&at("deep modules/m/data/d.yaml"), "echo '# x' >>modules/m/data/c.yaml"],
        [&at("mv modules m2"), "echo 'modulepath = m2' >environment.conf"],
    ]);
}

#[test]
fn files_that_git_converts_are_told_when_they_change() {
    let with = |lines: &str, script: &str| {
        format!("printf '{lines}' >.gitattributes; printf 'a: \"$Id$\"\\n' >data/common.yaml; {script}")
    };
    let hocon = "printf 'version: 5\\nhierarchy:\\n  - {name: c, path: c.conf, data_hash: hocon_data}\\n' >hiera.yaml; \
        printf 'a = \"\"\"x\\ny\"\"\"\\n' >data/c.conf; ";
    let touch = "echo '# x' >>data/common.yaml";
    let file = "data/common.yaml";
    are_no_calm(&[
        (&with("*.yaml ident\\n", ""), touch, file),
        (&with("[attr]m ident\\n[attr]n m\\n/data/** n\\n", ""), touch, file),
        (&with("/data/*.yaml filter=x\\n", ""), touch, file),
        (&with("\"data/common.yaml\" working-tree-encoding=ISO-8859-1\\n", ""), touch, file),
        (
            &with("*.yaml ident\\n", "mkdir x; echo '*.yaml -ident' >x/.gitattributes"),
            "git mv data/common.yaml x; echo '{}' >data/k.yaml; ln -s ../x/common.yaml data/common.yaml",
            file,
        ),
        (&with("[attr]m ident\\n", ""), "echo '*.yaml m' >>.gitattributes", file),
        (
            &with("", "rm .gitattributes; echo '*.yaml ident' >attrs; ln -s attrs .gitattributes"),
            "rm .gitattributes; cp attrs .gitattributes",
            file,
        ),
        (hocon, "echo '*.conf text eol=crlf' >.gitattributes", "data/c.conf"),
        (&format!("{hocon}echo '* text=auto eol=crlf' >.gitattributes"), "echo '# x' >>data/c.conf", "data/c.conf"),
        (&with("*.yaml ident\\n", "cp data/common.yaml data/c.yml"), "sed -i s/common.yaml/c.yml/ hiera.yaml", file),
    ]);
    are_calm(&[
        [&with("*.yaml ident\\n", "echo 'a: 1' >data/common.yaml"), touch],
        [&with("*.bin filter=lfs\\n*.yaml text=auto eol=crlf\\n", ""), touch],
        [&with("data/* filter=x\\ndata/* -filter\\n", ""), touch],
        [&with("", "rm .gitattributes; echo '*.yaml ident' >attrs; ln -s attrs .gitattributes"), touch],
        [hocon, "echo '* text=auto eol=lf' >.gitattributes"],
        [&format!("{hocon}printf '*.conf eol=crlf\\ndata/** binary\\n' >.gitattributes"), "echo '# x' >>data/c.conf"],
        [&with("[attr]m diff\\n", ""), "echo '*.yaml m' >>.gitattributes"],
    ]);
}

#[test]
fn puppetfiles_that_are_programs_are_told() {
    let file = |text: &str| format!("cat >Puppetfile <<'E'\n{text}\nE\n");
    let bump = |text: &str| [file(text), file(&text.replace('1', "2"))];
    for text in [
        "V = '1'\nmod 'a-x', V",
        "{'a-x' => '1'}.each do |n, v|\n  mod n, v\nend",
        "moduledir 'm1'\nmod 'a-x', '3'",
        "if true then mod 'a-x', '1' end",
        "self.mod 'a-x', '1'",
        "mod'a-x', '1'",
        "mod %q(a-x), '1'",
        "mod 'a-x', '1  3'",
        "mod \"a-#{'x'}\",\n  # the version\n  '1'",
        "mod 'a-x', '1'\nmod 'a-x', '3'",
        "mod 'b', '3'; mod 'a-x', '1'",
        "eval <<R\nmod 'a-x', '1'\nR",
    ] {
        let [before, after] = bump(text);
        are_told("other-version", &[(&before, &after, "Puppetfile")]);
    }
    let module = file("mod 'a-x', '1'");
    let at = |script: &str| {
        format!(
            "{module}mkdir -p site/x; touch site/x/k; path() {{ echo \"modulepath = $1\" >environment.conf; }}; {script}"
        )
    };
    let other = file("mod 'a-x', '2'");
    let read = file("instance_eval(File.read('Puppetfile.common'))");
    are_told(
        "other-version",
        &[
            (
                &format!("{read}echo \"mod 'a-x', '1'\" >Puppetfile.common"),
                "echo \"mod 'a-x', '2'\" >Puppetfile.common",
                "Puppetfile.common",
            ),
            (
                &format!("{}mkdir lib; touch lib/x.rb", file("Dir['lib/*.rb'].each { |f| load f }")),
                "echo 1 >lib/x.rb",
                "lib/x.rb",
            ),
            (&at("path modules:site"), &other, "Puppetfile"),
            (&at("path modules:site"), "echo 'modulepath = site' >environment.conf", "Puppetfile"),
            (&at("path modules:site"), "echo 'modulepath = site:modules' >environment.conf", "Puppetfile"),
            (&at("path site:modules; mv site/x site/y"), "mv site/y site/x", "Puppetfile"),
            (
                &at(
                    "mkdir cfg; git mv hiera.yaml cfg; echo 'hiera_config: cfg/hiera.yaml' >>hierad.yaml; sed -i 's/^hierarchy/defaults: {datadir: ..\\/data, data_hash: yaml_data}\\nhierarchy/' cfg/hiera.yaml",
                ),
                &other,
                "Puppetfile",
            ),
        ],
    );
    let each = "[1].each do |n|\n  puts n\nend\n";
    are_calm(&[
        [&at("path site:modules"), &other],
        [&at("path modules:site"), "echo x >README"],
        [&module, &file("# new\nmod   'a-x',\n    '1'\n")],
        [&file(&format!("{each}mod 'a-x', '1'")), &file(&format!("# a program\n{each}mod 'a-x', '1'"))],
        [&format!("{}mkdir lib; touch lib/x.rb", file("Dir['pf/*.rb'].each { |f| load f }")), "echo 1 >lib/x.rb"],
        [&format!("{}mkdir -p modules/own", file("moduledir 'modules'")), "echo 1 >modules/own/x.rb"],
        [&format!("{}mkdir lib", file("Dir['lib/*.rb'].each { |f| load f }")), "echo 'class a {}' >lib/x.pp"],
    ]);
}

#[test]
fn programs_and_keys_that_decide_values_are_told() {
    let alias = |kind: &str| format!("mkdir -p modules/m/types; echo 'type M::T = {kind}' >modules/m/types/t.pp; ");
    let options =
        |to: &str| format!("printf 'lookup_options: {{port: {{convert_to: \"{to}\"}}}}\\n' >>data/common.yaml; ");
    let function = |folder: &str, value: u32| {
        format!("mkdir -p {folder}; echo 'function m::d($o, $c) {{ {{a => {value}}} }}' >{folder}/d.pp; ")
    };
    let level =
        "mod modules/m; printf 'version: 5\\nhierarchy: [{name: c, data_hash: \"m::d\"}]\\n' >modules/m/hiera.yaml; ";
    let file = "modules/m/types/t.pp";
    let at = |first: &str, second: &str| format!("{first}{second}");
    are_told(
        "unlisted-keys",
        &[
            (&at(&alias("Integer"), &options("M::T")), &alias("Float"), file),
            (&at(&alias("Integer"), &options("Array[M::T]")), &alias("Float"), file),
            (
                &at(&alias("M::U"), &options("M::V")),
                "echo 'type M::U = Float' >modules/m/types/u.pp",
                "modules/m/types/u.pp",
            ),
            (
                &at(level, &function("modules/m/functions", 1)),
                &function("modules/m/functions", 2),
                "modules/m/functions/d.pp",
            ),
            (&at(level, &function("functions", 1)), &function("functions", 2), "functions/d.pp"),
            (
                level,
                "mkdir -p modules/m/lib/puppet/functions/m; touch modules/m/lib/puppet/functions/m/d.rb",
                "modules/m/lib/puppet/functions/m/d.rb",
            ),
        ],
    );
    are_calm(&[
        [&at(&alias("Integer"), &options("Integer")), &alias("Float")],
        [&function("modules/m/functions", 1), &function("modules/m/functions", 2)],
        [&at(level, &function("spec/functions", 1)), &function("spec/functions", 2)],
    ]);
    let keys = |private: &str| {
        format!(
            "printf 'version: 5\\nhierarchy:\\n  - {{name: c, path: common.yaml, lookup_key: eyaml_lookup_key, \
            options: {{pkcs7_private_key: {private}, pkcs7_public_key: /etc/k/public.pem}}}}\\n' >hiera.yaml; "
        )
    };
    for (before, after) in [
        (keys("/etc/k/a.pem"), keys("/etc/k/b.pem")),
        (at(&keys("/etc/k/a.pem"), "mkdir k; echo 1 >k/a.pem"), "echo 2 >k/a.pem".to_owned()),
        (keys("keys/a.pem"), keys("other/a.pem")),
        (at(&keys("keys/a.pem"), "mkdir keys; echo 1 >keys/a.pem"), "rm keys/a.pem".to_owned()),
        (at(&keys("keys/a.pem"), "touch k"), "mkdir keys; echo 1 >keys/a.pem".to_owned()),
    ] {
        let site = site(&before, &after);
        assert_eq!(spots(&site, "eyaml-key-not-allowed").len(), 1, "{before} / {after}");
        site.hierad("diff --exit-code").is(3);
    }
    are_calm(&[[&keys("keys/a.pem"), "mkdir keys; echo 1 >keys/b.pem"]]);
}

#[test]
fn links_that_only_unknown_nodes_read_are_told_when_they_are_led_elsewhere() {
    let two = "mkdir -p r1 r2; echo 'z: 5' >r1/n2.yaml; echo 'z: 6' >r2/n2.yaml; rm -rf data/nodes; ";
    let at = |script: &str| format!("{two}{script}");
    let file = "data/nodes/n2.yaml";
    are_told(
        "unreached-file",
        &[
            (&at("ln -s ../r1 data/nodes"), "ln -sfn ../r2 data/nodes", file),
            (&at("ln -s ../cur data/nodes; ln -s r1 cur"), "ln -sfn r2 cur", file),
            (&at("ln -s ../r1 data/nodes"), "rm data/nodes", file),
            (&at("touch k"), "ln -s ../r1 data/nodes", file),
            (
                &at("mkdir data/nodes; ln -s ../../r1/n2.yaml data/nodes/n2.yaml"),
                "ln -sfn ../../r2/n2.yaml data/nodes/n2.yaml",
                file,
            ),
            (&at("mv data dd; ln -s dd data; ln -s ../r1 dd/nodes"), "echo 'z: 7' >r1/n2.yaml", "r1/n2.yaml"),
            (&at("mv data dd; ln -s dd data; ln -s ../r1 dd/nodes"), "ln -sfn ../r2 dd/nodes", file),
        ],
    );
    are_calm(&[
        [&at("cp r1/n2.yaml r2; ln -s ../r1 data/nodes"), "ln -sfn ../r2 data/nodes"],
        [&at("mkdir other; ln -s ../r1 other/x"), "ln -sfn ../r2 other/x"],
        [&at("mkdir other; ln -s ../other other/loop"), "ln -sfn ../r2 other/loop"],
    ]);
}

#[test]
fn links_by_which_changed_files_have_too_many_names_are_an_error() {
    // Each link leads to the folder itself by another name, so that the names are all ways through all links.
    let site = Sandbox::of(SITE);
    site.sh("mkdir d; touch d/x; for i in $(seq 60); do ln -s ../d d/l$i; done");
    site.commit("links");
    site.sh("echo 1 >d/x");
    site.commit("second");
    site.hierad("diff").fails(&["links lead there by more names than are followed"]);
    // Some are followed.
    site.sh("rm d/l1? d/l2? d/l3? d/l4? d/l5? d/l60 d/l[4-9]");
    site.commit("third");
    site.sh("echo 2 >d/x");
    site.commit("fourth");
    site.hierad("diff --exit-code").is(0);
}
