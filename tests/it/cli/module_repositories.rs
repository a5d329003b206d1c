//! The repositories of modules, which are read as the modules that they are.

use crate::support::Sandbox;
use crate::support::twin::{beside, commit, report};

const METADATA: &str =
    r#"{"name":"acme-ntp","version":"1.0.0","author":"a","license":"x","summary":"s","source":"s","dependencies":[]}"#;

const MODULE: &str = "-- hiera.yaml
version: 5
hierarchy:
  - {name: os, path: 'os/%{facts.kernel}.yaml'}
  - {name: common, path: common.yaml}
-- data/common.yaml
ntp::servers: [a]
ntp::h: {b: 1}
other::x: 1
lookup_options: {ntp::h: {merge: deep}, other::x: {merge: deep}}
-- data/os/Linux.yaml
ntp::service: ntp
ntp::h: {a: 1}
";

/// The repository of a module, with its profiles beside it.
fn site(metadata: &str) -> Sandbox {
    let site =
        Sandbox::of(&format!("-- .git/hierad.yaml\nprofiles: ../../nodes\n{MODULE}-- metadata.json\n{metadata}\n"));
    site.sh("mkdir ../nodes; echo '{\"name\": \"n1\", \"facts\": {\"kernel\": \"Linux\"}}' >../nodes/n1.json");
    site
}

/// Makes `twin`: a control repository with the module of both commits, and the same profiles.
fn make_twin(site: &Sandbox) {
    site.sh("git init --quiet --initial-branch=main ../twin; cp .git/hierad.yaml ../twin/.git
        printf 'version: 5\\nhierarchy: []\\n' >../twin/hiera.yaml
        for revision in HEAD~1 HEAD; do
            rm -rf ../twin/modules; mkdir -p ../twin/modules/ntp; git archive $revision | tar -x -C ../twin/modules/ntp
            (cd ../twin; git add --all; git commit --quiet --allow-empty --message 'a commit')
        done");
}

#[test]
fn a_module_by_itself_is_read_as_in_an_environment() {
    for (what, metadata, script) in [
        (
            "a default hierarchy",
            METADATA,
            "printf 'default_hierarchy: [{name: d, path: d.yaml}]\\n' >>hiera.yaml; put data/d.yaml 'ntp::z: 1\\n'",
        ),
        ("an option of its own", METADATA, "put data/common.yaml 'ntp::h: {b: 1}\\nother::x: 1\\n'"),
        ("a key of others", METADATA, "printf 'other::y: 1\\nplain: 2\\n' >>data/common.yaml"),
        (
            "an option for others",
            METADATA,
            "put data/d.yaml 'x: 1'; sed -i 's/other::x: {merge/plain: {merge/' data/common.yaml",
        ),
        ("another level", METADATA, "sed -i s/facts.kernel/facts.none/ hiera.yaml"),
        ("a slash", &METADATA.replace("acme-ntp", "acme/ntp"), "put data/os/Linux.yaml 'ntp::service: other\\n'"),
        (
            "a datadir",
            METADATA,
            "printf 'defaults: {datadir: values, data_hash: yaml_data}\\n' >>hiera.yaml; mkdir values; cp data/common.yaml values",
        ),
        ("a link", METADATA, "ln -sf ../common.yaml data/os/Linux.yaml"),
        (
            "fixtures",
            METADATA,
            "put .fixtures.yml 'fixtures: {symlinks: {ntp: \"#{source_dir}\"}}'; put data/os/Linux.yaml 'ntp::h: {}\\n'",
        ),
    ] {
        let site = site(metadata);
        commit(&site, script);
        make_twin(&site);
        for revision in ["HEAD~1", "HEAD"] {
            let words = format!("render {revision} --format ndjson --allow-blind");
            let [own, twin] =
                ["repository", "twin"].map(|folder| beside(&site, folder, &words).out.replace("modules/ntp/", ""));
            assert_eq!(own, twin, "{what}: {revision}");
        }
        let reports =
            ["repository", "twin"].map(|folder| report(&beside(&site, folder, "diff --format json --allow-blind")));
        let [own, twin] = reports.each_ref().map(|report| (&report["keys"], &report["nodes"]));
        assert_eq!(own, twin, "{what}: {reports:#?}");
        let checked = beside(&site, "repository", "check");
        assert!(
            checked.out.contains("this is the repository of a module: only keys that begin with 'ntp::'"),
            "{checked:#?}"
        );
        assert!(!checked.out.contains("no-hiera-yaml"), "{checked:#?}");
    }
}

#[test]
fn an_environment_with_metadata_is_one() {
    for script in [
        "put environment.conf 'manifest = site.pp\\n'",
        "put Puppetfile '# none'",
        "put modules/x/README.md x",
        "sed -i s/acme-ntp/control/ metadata.json",
        "sed -i s/acme-ntp/acme-Control/ metadata.json",
        "echo '[]' >metadata.json",
        "echo 'modulepath: site' >>.git/hierad.yaml",
        "git mv hiera.yaml hiera-own.yaml; echo 'hiera_config: hiera-own.yaml' >>.git/hierad.yaml",
    ] {
        let site = site(METADATA);
        commit(&site, script);
        let found = site.hierad("lookup other::x --node n1");
        assert_eq!((found.status, found.out.trim_end()), (0, "--- 1"), "{script}: {found:#?}");
    }
}

#[test]
fn fixtures_that_name_the_repository_itself_name_no_absent_module() {
    for (fixtures, is_absent) in [
        ("symlinks: {ntp: '#{source_dir}'}", false),
        ("symlinks: {ntp: '#{source_dir}/'}", false),
        ("symlinks: {'../acceptance/rsync_shares/ntp': '#{source_dir}/x'}", false),
        ("repositories: {acme-ntp: {repo: x}}", false),
        ("forge_modules: {ntp: acme/ntp}", false),
        ("symlinks: {other: '#{source_dir}/../other'}", true),
        ("repositories: {other: x}", true),
    ] {
        let site = site(METADATA);
        site.write(".fixtures.yml", format!("fixtures: {{{fixtures}}}\n"));
        commit(&site, "sed -i 's/, other::x: {merge: deep}//' data/common.yaml");
        commit(&site, "sed -i 's/name: os/name: system/' hiera.yaml");
        let lookup = site.hierad("lookup other::x --node n1");
        assert_eq!(lookup.err.contains("module other is not in the modulepath"), is_absent, "{fixtures}: {lookup:#?}");
        site.hierad("diff --exit-code").is(0);
    }
}
