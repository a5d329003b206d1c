//! `hierad init`: from a repository that hierad has never seen to the report of its last change.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::inventory::server::{PuppetDb, node};
use crate::support::Sandbox;

const HERE: &str = "
-- hiera.yaml
version: 5
hierarchy:
- {name: role, path: 'roles/%{facts.role}.yaml'}
- {name: all, path: all.yaml}
-- data/all.yaml
motd: hello
-- profiles/web01.yaml
name: web01
facts: {role: web}
";

/// A repository whose last commit but one changes something.
fn site(text: &str) -> Sandbox {
    let site = Sandbox::of(text);
    let data = if site.root().join("data").exists() { "data" } else { "hieradata" };
    site.write(&format!("{data}/all.yaml"), "motd: welcome\n");
    site.commit("a new greeting");
    site.write("README", "nothing of Hiera\n");
    site.commit("a file to read");
    site
}

/// Runs `init` on a machine where Puppet's configuration is in this folder.
fn init(site: &Sandbox, arguments: &str) -> crate::support::terminal::Printed {
    std::fs::create_dir_all(site.beside("puppet")).unwrap();
    let folder = site.beside("puppet");
    site.hierad(&format!("init --puppet-config {} {arguments}", folder.display()))
}

#[test]
fn a_repository_with_profiles_is_set_up_in_one_step() {
    let site = site(HERE);
    let printed = init(&site, "--no-verify");
    let text = printed.ok();
    for words in [
        "hiera.yaml  hiera.yaml: version 5, 2 levels\n",
        "datadir     all are where hiera.yaml says\n",
        "nodes       profiles: profiles (guessed by the first files)\n",
        "nodes       1 node, 1 key with data\n",
        "last change hierad diff ",
        "1 key changes on the only node",
        "motd: \"hello\" -> \"welcome\"",
    ] {
        assert!(text.contains(words), "{words:?}: {text}");
    }
    let settings = std::fs::read_to_string(site.root().join("hierad.yaml")).unwrap();
    assert!(settings.ends_with("\n# The nodes.\nprofiles:\n  - \"profiles\"\n"), "{settings}");
    site.hierad("diff HEAD~2 HEAD").is(0);
    init(&site, "")
        .is(1)
        .says(&["hierad.yaml is there already, so nothing is written: edit it, such as the line 'profiles'"]);
    init(&site, "--force --no-verify").is(0);
}

const ELSEWHERE: &str = "
-- modules/master/files/production.hiera.yaml
version: 5
defaults: {datadir: /etc/puppet/hieradata, data_hash: yaml_data}
hierarchy:
- {name: role, path: 'roles/%{facts.role}.yaml'}
- {name: private, path: all.yaml, datadir: /etc/puppet/private/hieradata}
- {name: all, path: all.yaml}
-- modules/ntp/hiera.yaml
version: 5
hierarchy:
- {name: all, path: all.yaml}
-- hieradata/all.yaml
motd: hello
";

fn server() -> PuppetDb {
    PuppetDb::with(vec![node("web01", "production", json!({"role": "web"}), &json!({}))])
}

#[test]
fn hiera_yaml_and_data_elsewhere_are_found() {
    let (site, server) = (site(ELSEWHERE), server());
    let printed = init(&site, &format!("--no-verify --puppetdb {}", server.url));
    let text = printed.ok();
    for words in [
        "hiera.yaml  modules/master/files/production.hiera.yaml: version 5, 3 levels, the global layer's, as a module installs it (guessed)\n",
        "datadir     /etc/puppet/hieradata is hieradata here, with 1 file (guessed)\n",
        "datadir     /etc/puppet/private/hieradata is not in this repository: taken as empty\n",
        "motd: \"hello\" -> \"welcome\"",
    ] {
        assert!(text.contains(words), "{words:?}: {text}");
    }
    let own = site.root().join(".git/hierad.yaml");
    assert_eq!(std::fs::metadata(&own).unwrap().permissions().mode() & 0o777, 0o600);
    let shown = std::fs::read_to_string(own).unwrap();
    assert!(shown.contains(&format!("puppetdb:\n      url: \"{}\"\n", server.url)), "{shown}");
    let shared = std::fs::read_to_string(site.root().join("hierad.yaml")).unwrap();
    assert!(!shared.contains(&server.url) && shared.contains("\"/etc/puppet/private/hieradata\": none\n"), "{shared}");
    let global = "global_hiera_config: {path: \"modules/master/files/production.hiera.yaml\"}\n";
    assert!(shared.contains(global), "{shared}");
    // Nothing more is needed.
    assert!(site.hierad("diff HEAD~2 HEAD").ok().contains("motd"));
}

const ROLES: &str = "
-- hiera.yaml
version: 5
hierarchy:
- {name: role, path: 'roles/%{::_role}.yaml'}
- {name: all, path: all.yaml}
-- data/roles/web/front.yaml
motd: a web server
-- data/all.yaml
greeting: hello
-- manifests/site.pp
node /^web/ { role(web::front) }
";

#[test]
fn a_manifest_says_the_variables_that_levels_go_by() {
    let (site, server) = (site(ROLES), server());
    let printed = init(&site, &format!("--no-verify --puppetdb {}", server.url));
    let words = "variables   node blocks of manifests/site.pp: role($_role), with '/' for '::' (guessed: 1 of 1 have data files)\n";
    assert!(printed.ok().contains(words), "{printed:?}");
    assert!(site.hierad("lookup motd --node web01").ok().contains("a web server"));
    // All that was fetched stays what it is when more of it is read than was wanted at first.
    assert!(site.hierad("nodes fetch --all-facts --output -").ok().contains("\"_role\":\"web/front\""));
    // Profiles in files have their variables already.
    site.write("profiles/web01.yaml", "name: web01\nvariables: {_role: web/front}\n");
    let printed = init(&site, "--no-verify --force --profiles profiles");
    assert!(!printed.ok().contains("variables  "), "{printed:?}");
}

#[test]
fn commits_that_cannot_be_seen_are_not_passed_over() {
    let unknown = "-- hiera.yaml\nversion: 5\nhierarchy:\n- {name: vault, lookup_key: site::vault}\n- {name: all, path: all.yaml}\n";
    let site = site(&(HERE.to_owned() + unknown));
    let text = init(&site, "--no-verify").ok().to_owned();
    let words = ["last change hierad diff ", "no change seen, but: every key fails", "site::vault"];
    assert!(words.iter().all(|words| text.contains(words)), "{text}");
    // Here one file of several cannot be read, so it is not known whether the last commits change something.
    site.files("-- hiera.yaml\nversion: 5\nhierarchy:\n- {name: role, path: 'roles/%{facts.nosuch}.yaml'}\n- {name: all, path: all.yaml}\n");
    site.sh("git add --all && git commit --quiet --amend --message seen && git checkout --quiet --orphan one && git commit --quiet --message one");
    site.files("-- data/roles/web.yaml\nmotd: a web server\n");
    site.commit("a file that no known node reads");
    let text = init(&site, "--no-verify --force").ok().to_owned();
    assert!(text.contains("last change not in the last commit, as far as can be seen: try "), "{text}");
}

#[test]
fn variables_that_a_manifest_looks_up_are_found() {
    let looked_up = "$role = lookup('site::role')\n-- data/nodes/web01.yaml\nsite::role: web/front\n-- profiles/web01.yaml\nname: web01\nfacts: {kernel: Linux}\n";
    let text = ROLES.replace("node /^web/ { role(web::front) }\n", looked_up);
    let text = text.replace("- {name: role", "- {name: node, path: 'nodes/%{trusted.certname}.yaml'}\n- {name: role");
    let site = site(&text);
    let text = init(&site, "--no-verify").ok().to_owned();
    assert!(!text.contains("variables  "), "no level goes by $role: {text}");
    site.write("manifests/site.pp", "$_role = lookup('site::role')\n");
    site.commit("the role");
    let printed = init(&site, "--no-verify --force");
    assert!(printed.ok().contains("variables   manifests/site.pp looks up $_role by 'site::role'\n"), "{printed:?}");
    assert!(site.hierad("lookup motd --node web01").ok().contains("a web server"));
}

#[test]
fn factsets_are_nodes_by_the_names_of_their_files() {
    let site = site(HERE);
    site.sh("rm -r profiles");
    for system in ["debian-12-x86_64", "ubuntu-22.04-x86_64"] {
        let facts = format!("{{\"name\": \"foo.example.com\", \"values\": {{\"role\": \"{system}\"}}}}\n");
        site.write(&format!("spec/factsets/{system}.json"), facts);
    }
    let printed = init(&site, "--no-verify");
    let words = "nodes       spec/factsets: factsets, each a node called as its file (guessed by the first files)\n";
    assert!(printed.ok().contains(words) && printed.out.contains("2 nodes"), "{printed:?}");
    assert!(site.hierad("nodes").ok().contains("ubuntu-22.04-x86_64"));
    let report = site.hierad("diff HEAD~2 HEAD");
    assert!(report.ok().starts_with("1 key changes on both nodes\n"), "{report:#?}");
}

#[test]
fn puppet_on_the_machine_says_where_its_nodes_are() {
    let (site, server) = (site(ELSEWHERE), server());
    std::fs::create_dir_all(site.beside("puppet")).unwrap();
    std::fs::write(site.beside("puppet/puppetdb.conf"), format!("[main]\nserver_urls = {}\n", server.url)).unwrap();
    let enc = site.beside("enc");
    std::fs::write(&enc, "#!/bin/sh\necho 'parameters: {site: berlin}'\n").unwrap();
    std::fs::set_permissions(&enc, std::fs::Permissions::from_mode(0o755)).unwrap();
    let text = format!("[server]\nnode_terminus = exec\nexternal_nodes = {}\n", enc.display());
    std::fs::write(site.beside("puppet/puppet.conf"), text).unwrap();
    let printed = init(&site, "--no-verify");
    let text = printed.ok();
    assert!(text.contains(&format!("nodes       PuppetDB at {}, which Puppet on this machine uses\n", server.url)));
    assert!(
        text.contains("nodes       the node classifier ") && text.contains(", which puppet.conf names\n"),
        "{text}"
    );
    assert!(site.hierad("nodes show web01").ok().contains("berlin"));
}

#[test]
fn nothing_is_written_by_a_dry_run() {
    let site = site(ELSEWHERE);
    let shown = init(&site, "--dry-run --puppetdb https://puppetdb.example.com --query 'x=1' --cert a --key b");
    let text = shown.ok();
    for words in [
        "global_hiera_config: {path: \"modules/master/files/production.hiera.yaml\"",
        "\n      cert: \"$BASE/repository/a\"",
        "query: \"'x=1'\"",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let written = ["hierad.yaml", ".git/hierad.yaml"].map(|path| site.root().join(path).exists());
    assert_eq!(written, [false, false]);
    init(&Sandbox::of("\n-- a.yaml\na: 1\n"), "")
        .fails(&["no hiera.yaml is in the last commit", "--global-hiera-config FILE"]);
    let broken = init(&Sandbox::of("\n-- hiera.yaml\nversion: 5\nhierarchy: 1\n"), "");
    broken.is(1).says(&["no hiera.yaml is in"]);
    assert!(broken.out.starts_with("refused     "), "{}", broken.out);
}

#[test]
fn what_does_not_work_is_undone() {
    let site = site(ELSEWHERE);
    for (flags, words) in [
        ("--puppetdb http://127.0.0.1:1", "there is no answer from"),
        ("--puppetdb nonsense", "this is not a valid address"),
    ] {
        let printed = init(&site, flags);
        printed.is(1).says(&[words]);
        assert!(printed.out.contains("undone      the settings are unchanged"), "{}", printed.out);
        let written = ["hierad.yaml", ".git/hierad.yaml"].map(|path| site.root().join(path).exists());
        assert_eq!(written, [false, false], "{flags}");
    }
    // What was there before is there again.
    site.write(".git/hierad.yaml", "puppet: 7\n");
    init(&site, "--force --puppetdb nonsense").is(1);
    assert_eq!(std::fs::read_to_string(site.root().join(".git/hierad.yaml")).unwrap(), "puppet: 7\n");
}

#[test]
fn profiles_that_are_not_there_are_told_first() {
    let site = site(ELSEWHERE);
    for flags in ["", "--dry-run "] {
        let printed = init(&site, &format!("{flags}--no-verify --profiles ../no-such-folder"));
        printed.fails(&["no node profiles at ../no-such-folder: there is no such file or folder"]);
    }
}

#[test]
fn of_several_hiera_yaml_the_likeliest_is_taken_and_the_others_are_named() {
    let text = ELSEWHERE.replace("-- modules/ntp/hiera.yaml", "-- puppet/hiera.yaml");
    let site = site(&text);
    let printed = init(&site, "--dry-run --profiles /");
    let words = "hiera.yaml  puppet/hiera.yaml: version 5, 1 level (guessed: others are \
                 modules/master/files/production.hiera.yaml; --hiera-config takes one of them)\n";
    assert!(printed.ok().contains(words), "{}", printed.out);
    let path = "modules/master/files/production.hiera.yaml";
    let printed = init(&site, &format!("--dry-run --profiles / --hiera-config {path}"));
    assert!(printed.ok().contains(&format!("hiera_config: \"{path}\"")), "{}", printed.out);
}

#[test]
fn functions_in_ruby_are_proposed_where_puppet_is() {
    let own = "-- hiera.yaml\nversion: 5\nhierarchy:\n- {name: own, lookup_key: 'site::own', path: own}\n- {name: all, path: all.yaml}\n\
               -- modules/site/lib/puppet/functions/site/own.rb\nx\n";
    let site = site(&(HERE.to_owned() + own));
    let programs = site.beside("bin");
    std::fs::create_dir_all(&programs).unwrap();
    std::fs::write(programs.join("puppet"), "#!/bin/sh\n").unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    let folder = site.beside("none");
    std::fs::create_dir_all(&folder).unwrap();
    let init = |more: &[&str]| {
        let mut command = crate::support::terminal::hierad(site.root());
        command.env("PATH", format!("{}:{path}", programs.display()));
        command.args(["init", "--no-verify", "--puppet-config", folder.to_str().unwrap()]).args(more);
        site.masked(&mut command)
    };
    let printed = init(&[]);
    let words = "functions   site::own in Ruby: Puppet on this machine could run them: --run-code, or the lines in .git/hierad.yaml\n";
    assert!(printed.ok().contains(words), "{printed:?}");
    let settings = std::fs::read_to_string(site.root().join(".git/hierad.yaml")).unwrap();
    assert!(settings.ends_with("\n# backends:\n#   \"site::own\": {puppet: true, reads: path}\n"), "{settings}");
    // Without the signs of comments, they are settings.
    let lines = settings.lines().skip_while(|line| *line != "# backends:").map(|line| line[2..].to_owned() + "\n");
    site.write(".git/hierad.yaml", lines.collect::<String>());
    assert!(!site.hierad("lookup motd --node web01").err.contains(".git/hierad.yaml"));
    // As they are with this flag.
    let printed = init(&["--run-code", "--force"]);
    assert!(
        printed.out.contains(
            "functions   site::own in Ruby: Puppet on this machine runs them, with the code of the default branch\n"
        ),
        "{printed:?}"
    );
    let settings = std::fs::read_to_string(site.root().join(".git/hierad.yaml")).unwrap();
    assert!(settings.ends_with("\nbackends:\n  \"site::own\": {puppet: true, reads: path}\n"), "{settings}");
    // A clone that does not know the default branch of its origin may have only one that it can be.
    for (branches, words) in [
        (&["topic"][..], "the code of origin/topic (guessed)\n"),
        (&["main", "topic"], "the code of origin/main (guessed)\n"),
        (&["main", "production"], "the code of the default branch\n"),
    ] {
        for branch in ["topic", "main", "production"] {
            site.git(["update-ref", "-d", &format!("refs/remotes/origin/{branch}")]);
        }
        for branch in branches {
            site.git(["update-ref", &format!("refs/remotes/origin/{branch}"), "HEAD"]);
        }
        let printed = init(&["--run-code", "--force"]);
        assert!(printed.out.contains(words), "{words}: {printed:?}");
    }
}

/// A function that the repository does not have is named with the line that says what it finds, and nothing is guessed:
/// whoever has the function knows.
#[test]
fn functions_that_nothing_here_has_are_told_with_their_remedy() {
    let site = site(concat!(
        "-- hiera.yaml\nversion: 5\nhierarchy:\n- {name: Common, path: common.yaml}\n",
        "-- modules/vault/hiera.yaml\nversion: 5\nhierarchy:\n- {name: Vault, lookup_key: hiera_vault}\n",
        "-- data/common.yaml\nworker: {engine: simple, token: \"%{lookup('vault::token')}\"}\nother: 1\n",
        "-- profiles/web01.yaml\nname: web01\nfacts: {role: web}\n",
    ));
    let told = init(&site, "--no-verify").ok().to_owned();
    let spot = told.lines().find(|line| line.starts_with("blind spot  1 key fails on ")).unwrap_or(&told);
    for words in ["function named 'hiera_vault'", "; declare in hierad.yaml what the function finds: backends: "] {
        assert!(spot.contains(words), "{spot}");
    }
    let settings = std::fs::read_to_string(site.root().join("hierad.yaml")).unwrap();
    assert!(!settings.contains("backends"), "{settings}");
}

/// Returns the file of guessed nodes.
fn guesses(site: &Sandbox) -> String {
    std::fs::read_to_string(site.root().join(".git/hierad-guessed-nodes.yaml")).unwrap_or_default()
}

#[test]
fn nodes_are_guessed_from_the_names_of_data_files() {
    let of_name = r#"{"name":"web01.example.com","guessed":true,"facts":{"fqdn":"web01.example.com","hostname":"web01","domain":"example.com","networking":{"fqdn":"web01.example.com","hostname":"web01","domain":"example.com"}}"#;
    for (path, file, node) in [
        ("nodes/%{trusted.certname}.yaml", "nodes/web01.example.com.yaml", format!("{of_name}}}")),
        ("nodes/%{::fqdn}.yaml", "nodes/web01.example.com.yaml", format!("{of_name}}}")),
        ("%{facts.networking.fqdn}.yaml", "web01.example.com.yaml", format!("{of_name}}}")),
        (
            "%{facts.site}/%{trusted.certname}.yaml",
            "oslo/web01.example.com.yaml",
            r#""name":"web01.example.com","site":"oslo""#.to_owned(),
        ),
        (
            "%{role}/%{clientcert}.yaml",
            "web/front/web01.example.com.yaml",
            format!(r#"{of_name},"variables":{{"role":"web/front"}}}}"#),
        ),
        ("hosts/%{hostname}.yaml", "hosts/web01.yaml", r#"{"name":"web01","guessed":true"#.to_owned()),
        ("os/%{facts.os.family}.yaml", "os/Debian.yaml", r#""name":"guess-debian""#.to_owned()),
        ("roles/%{::_role}.yaml", "roles/web/front.yaml", r#""name":"guess-web-front""#.to_owned()),
        ("%{trusted.extensions.pp_role}.yaml", "web.yaml", r#""trusted":{"extensions":{"pp_role":"web"}}"#.to_owned()),
    ] {
        let hiera = format!(
            "\n-- hiera.yaml\nversion: 5\nhierarchy:\n- {{name: own, path: '{path}'}}\n- {{name: all, path: all.yaml}}\n"
        );
        let site = Sandbox::of(&format!("{hiera}-- data/{file}\nport: 80\n-- data/all.yaml\nmotd: hello\n"));
        site.write(&format!("data/{file}"), "port: 81\n");
        site.commit("another port");
        let printed = init(&site, "--no-verify");
        let told = "1 key changes on the only node; 1 blind spot: the node is guessed";
        assert!(printed.ok().contains(told), "{path}: {}", printed.out);
        assert!(has_all(&guesses(&site), &node), "{path}: {} {node}", guesses(&site));
        site.hierad("diff --exit-code").is(2);
        assert!(site.hierad("check --severity note").out.contains("1 node"), "{path}");
    }
}

#[test]
fn nodes_of_each_environment_are_guessed() {
    let hiera = "version: 5\nhierarchy:\n- {name: n, path: 'nodes/%{trusted.certname}.yaml'}\n- {name: r, path: 'roles/%{role}.yaml'}\n- {name: all, path: all.yaml}\n";
    for (file, node) in [
        ("nodes/web01.example.com.yaml", "web01.example.com"),
        ("roles/web.yaml", "guess-dev-web"),
        ("all.yaml", "guess-dev"),
    ] {
        let of = |name: &str, file: &str| {
            let folder = format!("environments/{name}");
            format!("-- {folder}/hiera.yaml\n{hiera}-- {folder}/data/{file}\nport: 80\n")
        };
        let production = of("production", "nodes/db01.example.com.yaml");
        let site =
            Sandbox::of(&format!("\n{production}{}{}", of("dev", file), of("stage", "nodes/db01.example.com.yaml")));
        site.write(&format!("environments/dev/data/{file}"), "port: 81\n");
        site.commit("another port");
        let printed = init(&site, "--no-verify");
        let told = "1 key changes on 1 of 3 nodes; 1 blind spot: all 3 nodes are guessed";
        assert!(printed.ok().contains(told), "{file}: {}", printed.out);
        let of_dev = format!(r#""name":"{node}","guessed":true"#);
        assert!(has_all(&guesses(&site), &of_dev), "{file}: {}", guesses(&site));
        // A node is in one environment; the other one has a node that nothing is called as.
        for (name, environment) in [("db01.example.com", "production"), ("guess-stage", "stage")] {
            let line = guesses(&site).lines().find(|line| line.contains(name)).map(str::to_owned).unwrap_or_default();
            assert!(line.contains(&format!(r#""environment":"{environment}""#)), "{file}: {line}");
        }
    }
}

/// Returns true if a text has the parts of another one, which commas divide.
fn has_all(text: &str, parts: &str) -> bool {
    parts.trim_matches(['{', '}']).split(',').all(|part| text.contains(part.trim_matches(['{', '}'])))
}

#[test]
fn guesses_are_marked_until_facts_are_known() {
    let levels = "- {name: node, path: 'nodes/%{trusted.certname}.yaml'}\n- {name: all, path: all.yaml}\n";
    let site = site(&format!(
        "\n-- hiera.yaml\nversion: 5\nhierarchy:\n{levels}-- data/all.yaml\nmotd: hello\n-- data/nodes/a.yaml\na: 1\n-- data/nodes/b.yaml\na: 2\n"
    ));
    init(&site, "--no-verify").is(0);
    let diff = |arguments: &str| site.hierad(&format!("diff HEAD~2 HEAD~1 {arguments}"));
    let report = diff("--format json").json();
    let spot = &report["blind_spots"][0];
    let told =
        "all 2 nodes are guessed from the names of data files: there may be others, with other facts and other values";
    assert_eq!((&spot["code"], &spot["message"]), (&json!("guessed-profile"), &json!(told)), "{report:#}");
    for format in ["text", "markdown", "html"] {
        let printed = diff(&format!("--format {format}"));
        assert!(printed.ok().contains("all 2 nodes are guessed"), "{format}: {}", printed.out);
    }
    assert!(site.hierad("render --format ndjson").err.contains("are guessed"));
    // A commit that touches nothing of Hiera is harmless on any node.
    assert_eq!(site.hierad("diff --format json").json()["verdict"], "no_change");
    // Facts of one, then of both.
    std::fs::write(site.beside("a.json"), r#"{"name": "a", "facts": {"kernel": "Linux"}}"#).unwrap();
    std::fs::write(site.beside("b.json"), r#"{"name": "b", "facts": {"kernel": "Linux"}}"#).unwrap();
    let own = site.root().join(".git/hierad.yaml");
    let settings = std::fs::read_to_string(&own).unwrap();
    let with = |names: &[&str]| {
        let entries = names.iter().map(|name| format!("  - {}\n", site.beside(name).display()));
        std::fs::write(&own, settings.clone() + &entries.collect::<String>()).unwrap();
    };
    with(&["a.json"]);
    assert!(diff("").ok().contains("1 of 2 nodes are guessed") || diff("").ok().contains("1 of 2 nodes is guessed"));
    with(&["a.json", "b.json"]);
    assert!(!diff("").ok().contains("guessed"));
}

#[test]
fn a_repository_of_data_alone_takes_the_hiera_yaml_of_the_server() {
    let old = ":backends: [yaml]\n:yaml:\n  :datadir: /etc/puppet/environments/%{environment}/hieradata\n:hierarchy:\n  - nodes/%{fqdn}\n  - all\n";
    let new = "version: 5\ndefaults: {datadir: '/etc/puppet/environments/%{environment}/hieradata', data_hash: yaml_data}\nhierarchy: [{name: all, paths: ['nodes/%{fqdn}.yaml', all.yaml]}]\n";
    let above = ":backends: [yaml]\n:yaml:\n  :datadir: /etc/puppet\n:hierarchy:\n  - environments/%{environment}/hieradata/nodes/%{fqdn}\n  - environments/%{environment}/hieradata/all\n";
    let own = "version: 5\ndefaults: {datadir: /etc/puppet/environments, data_hash: yaml_data}\nhierarchy: [{name: all, paths: ['%{::environment}/hieradata/nodes/%{fqdn}.yaml', '%{::environment}/hieradata/all.yaml']}]\n";
    for config in [old, new, above, own] {
        for is_flag in [true, false] {
            let site = site("\n-- hieradata/all.yaml\nmotd: hello\n-- hieradata/nodes/web01.example.com.yaml\na: 1\n");
            std::fs::create_dir_all(site.beside("puppet")).unwrap();
            let file = site.beside(if is_flag { "hiera.yaml" } else { "puppet/hiera.yaml" });
            std::fs::write(&file, config).unwrap();
            let flag = if is_flag { format!("--global-hiera-config {}", file.display()) } else { String::new() };
            let printed = init(&site, &format!("--no-verify {flag}"));
            assert!(printed.ok().contains("motd: \"hello\" -> \"welcome\""), "{config}: {}", printed.out);
            // Nothing more is needed.
            assert!(site.hierad("diff HEAD~2 HEAD~1").ok().contains("motd"), "{config}");
            assert!(guesses(&site).contains("web01.example.com"), "{config}");
        }
    }
    let site = site("\n-- hieradata/all.yaml\nmotd: hello\n");
    init(&site, "--global-hiera-config /no/where").fails(&["cannot read /no/where"]);
    std::fs::write(site.beside("none.yaml"), "a: 1\n").unwrap();
    init(&site, &format!("--global-hiera-config {}", site.beside("none.yaml").display())).is(1);
}

#[test]
fn data_of_the_work_tree_that_is_in_no_commit_is_found() {
    let levels = "- {name: all, paths: [secrets/all.yaml, 'private/%{trusted.certname}.yaml', all.yaml]}\n";
    let text = format!(
        "\n-- hiera.yaml\nversion: 5\nhierarchy:\n{levels}-- data/all.yaml\nmotd: hello\n-- .gitignore\n/data/secrets/\n.modules\n"
    );
    let site = Sandbox::of(&text);
    std::os::unix::fs::symlink("../.modules/private", site.root().join("data/private")).unwrap();
    site.write("data/all.yaml", "motd: welcome\n");
    site.commit("a link");
    site.write("data/secrets/all.yaml", "key: secret\n");
    site.write(".modules/private/web01.yaml", "key: own\n");
    site.write("data/new/all.yaml", "key: not committed yet\n");
    let printed = init(&site, "--no-verify --profiles /dev/null --dry-run");
    let real = site.root().canonicalize().unwrap();
    for place in [
        format!("  \"data/private\": \"{}/.modules/private\" # in no commit\n", real.display()),
        format!("  \"data/secrets\": \"{}/data/secrets\" # in no commit\n", real.display()),
    ] {
        assert!(
            printed.ok().contains(&place)
                || printed.ok().contains(&place.replace(&*real.to_string_lossy(), "$BASE/repository")),
            "{place}: {}",
            printed.out
        );
    }
    assert!(!printed.out.contains("data/new"));
    site.write("profiles/web01.yaml", "name: web01\nfacts: {kernel: Linux}\n");
    init(&site, "--no-verify").is(0);
    assert_eq!(site.hierad("lookup key --node web01").ok(), "--- secret\n");
    assert_eq!(site.hierad("diff --format json").json()["blind_spots"], json!([]));
}

#[test]
fn no_link_of_a_commit_names_a_folder_of_the_machine() {
    let levels = "{name: all, paths: [a/in/all.yaml, 'b/%{trusted.certname}.yaml', all.yaml]}";
    for (what, ignored, link, to) in [
        ("a folder", "", "data/a", "OUT"),
        ("a folder of nodes", "", "data/b", "OUT"),
        ("one that is ignored", "/data/b", "data/b", "OUT"),
        ("one above what is ignored", "/data/a/in", "data/a", "OUT"),
        ("by way of the tree", "", "data/b", "../way/in"),
        ("the git directory", "", "data/b", "../.git/info"),
    ] {
        let config = format!("\n-- hiera.yaml\nversion: 5\nhierarchy:\n- {levels}\n-- data/all.yaml\nmotd: hello\n");
        let site = Sandbox::of(&format!("{config}-- profiles/web01.yaml\n{{name: web01}}\n"));
        let out = site.beside("out");
        std::fs::create_dir_all(out.join("in")).unwrap();
        std::fs::write(out.join("in/all.yaml"), "key: of the machine\n").unwrap();
        std::fs::write(out.join("web01.yaml"), "key: of the machine\n").unwrap();
        std::os::unix::fs::symlink(&out, site.root().join("way")).unwrap();
        std::os::unix::fs::symlink(to.replace("OUT", &out.to_string_lossy()), site.root().join(link)).unwrap();
        site.sh("git add -A");
        site.write(".gitignore", format!("{ignored}\n"));
        site.commit("a link");
        let printed = init(&site, "--no-verify");
        assert!(!printed.ok().contains("is in no commit, and on this machine"), "{what}: {}", printed.out);
        assert!(!site.hierad("lookup key --node web01").out.contains("of the machine"), "{what}");
        // One that the user has made is no commit's.
        site.sh(&format!("git rm -q --cached {link}; echo /{link} >.gitignore; rm -f .git/hierad.yaml hierad.yaml"));
        site.commit("no link");
        if to == "OUT" {
            assert!(
                init(&site, "--no-verify --dry-run").ok().contains("is in no commit, and on this machine"),
                "{what}"
            );
        }
    }
}

#[test]
fn a_folder_of_facts_that_is_named_is_read_as_what_it_has() {
    let site = site(HERE);
    for os in ["debian", "redhat"] {
        let facts = format!(r#"{{"name": "one", "values": {{"role": "web", "os": "{os}"}}}}"#);
        std::fs::create_dir_all(site.beside("facts")).unwrap();
        std::fs::write(site.beside("facts").join(format!("{os}.json")), facts).unwrap();
    }
    let printed = init(&site, &format!("--no-verify --profiles {}", site.beside("facts").display()));
    assert!(printed.ok().contains("nodes       2 nodes, 1 key with data"), "{}", printed.out);
    assert_eq!(site.hierad("nodes").ok().lines().filter(|line| line.starts_with("debian")).count(), 1);
}

#[test]
fn the_first_commit_has_nothing_before_it() {
    let site = Sandbox::of(HERE);
    let printed = init(&site, "--no-verify");
    let words = "last change there is none yet: the first commit has nothing before it\n";
    assert!(printed.ok().contains(words), "{}", printed.out);
}

#[test]
fn the_clones_of_modules_are_found_where_a_puppetfile_brings_some() {
    for (settings, puppetfile, is_found) in [
        ("cachedir: 'BASE/cache'\n", "mod 'ntp', git: 'x', tag: 'v1'\n", true),
        ("---\n:cachedir: BASE/cache\n:sources: {}\n", "mod 'acme-ntp', '1'\n", true),
        ("cachedir: BASE/none\n", "mod 'acme-ntp', '1'\n", false),
        ("cachedir: cache\n", "mod 'acme-ntp', '1'\n", false),
        ("cachedir: BASE/cache\n", "forge 'x'\n", false),
    ] {
        let site = site(&format!("{HERE}-- Puppetfile\n{puppetfile}"));
        let base = site.beside("");
        std::fs::create_dir_all(site.beside("cache")).unwrap();
        std::fs::create_dir_all(site.beside("r10k")).unwrap();
        let settings = settings.replace("BASE", base.to_str().unwrap().trim_end_matches('/'));
        std::fs::write(site.beside("r10k/r10k.yaml"), settings).unwrap();
        let printed = init(&site, "--dry-run --no-verify");
        assert_eq!(printed.ok().contains("module_clones: \"$BASE/cache\""), is_found, "{printed:#?}");
    }
}
