//! `backends:` in the settings: functions of others, as commands and as files of values.

use crate::support::Sandbox;
use crate::support::terminal::{SITE, hierad, run};

/// Answers with what it was asked for.
const ECHO: &str = r#"#!/bin/sh
while read -r line; do
    echo "$line" >> asked
    case $line in
        *'"key":"broken"'*) echo nonsense ;;
        *'"key":"refused"'*) echo '{"error": "permission denied"}' ;;
        *'"key":"motd"'*) echo '{"value": "by command %{role}"}' ;;
        *'"key":["user","name"]'*) echo '{"value": "dug"}' ;;
        *'"key":null'*) echo '{"value": {"motd": "hash for %{role}", "extra": 1}}' ;;
        *) echo '{"not_found": true}' ;;
    esac
done
"#;

fn site(level: &str, backend: &str) -> Sandbox {
    let site = Sandbox::of(SITE);
    site.write(
        "hiera.yaml",
        format!("version: 5\nhierarchy:\n- {{name: V, {level}}}\n- {{name: C, path: common.yaml}}\n"),
    );
    site.write(
        "data/common.yaml",
        "motd: common\nbroken: common\nrefused: common\nplain: common\nuser: {name: n, uid: 0}\n",
    );
    site.write("answer", ECHO);
    site.sh("chmod +x answer");
    let settings = format!("profiles: [profiles]\nbackends:\n  vault: {backend}\n");
    // Files of values inside of the tree need no trust.
    if backend.contains("command") {
        site.settings(settings);
    } else {
        site.write("hierad.yaml", settings);
    }
    site
}

fn lookup(site: &Sandbox, key: &str) -> String {
    let printed = site.hierad(&format!("lookup {key} --node web01 --rev . --render-as s"));
    if printed.status == 0 { printed.out.trim_end().to_owned() } else { printed.err }
}

#[test]
fn commands_do_not_have_the_tokens_of_forges() {
    let site = site("lookup_key: vault", "{command: [./answer]}");
    site.write("answer", ECHO.replacen('\n', "\nenv | grep -o '^.*=.*TOPSECRET' | sort > tokens\n", 1));
    site.hierad("trust").ok();
    let mut command = hierad(site.root());
    for name in [
        "CI_DEPENDENCY_PROXY_PASSWORD",
        "CI_JOB_JWT_V2",
        "CI_JOB_TOKEN",
        "CIRCLE_OIDC_TOKEN",
        "GITHUB_TOKEN",
        "HIERAD_GITLAB_TOKEN",
        "GH_PAT",
        "AZURE_CLIENT_SECRET",
        "VAULT_TOKEN",
    ] {
        command.env(name, "TOPSECRET");
    }
    command.env("CI_REPOSITORY_URL", "https://gitlab-ci-token:TOPSECRET@gitlab.example.com/a/b.git");
    command.env("GIT_CONFIG_COUNT", "1").env("GIT_CONFIG_KEY_0", "http.extraheader");
    command.env("GIT_CONFIG_VALUE_0", "AUTHORIZATION: TOPSECRET");
    run(command.args(["lookup", "motd", "--node", "web01", "--rev", "."])).ok();
    let has = std::fs::read_to_string(site.root().join("tokens")).unwrap();
    assert_eq!(has, "AZURE_CLIENT_SECRET=TOPSECRET\nVAULT_TOKEN=TOPSECRET\n");
}

#[test]
fn lookup_key_answers_are_not_interpolated() {
    let site =
        site("lookup_key: vault, options: {at: 'x/%{role}'}", "{command: [./answer], scope: [role, facts.os.family]}");
    assert_eq!(lookup(&site, "motd"), "by command %{role}");
    assert_eq!(lookup(&site, "plain"), "common");
    assert!(lookup(&site, "refused").contains("the command for the function 'vault' says: permission denied"));
    assert!(lookup(&site, "broken").contains("the command for the function 'vault' gave an invalid answer"));
    assert!(lookup(&site, "broken").contains("unknown to hierad"));
    let asked = std::fs::read_to_string(site.root().join("asked")).unwrap();
    let first = asked.lines().find(|line| line.contains("motd")).unwrap();
    let request: serde_json::Value = serde_json::from_str(first).unwrap();
    let role = request["scope"]["role"].clone();
    assert!(role.is_string() && request["options"]["at"] == format!("x/{}", role.as_str().unwrap()), "{request}");
    for (name, expected) in [("function", "vault"), ("kind", "lookup_key"), ("key", "motd"), ("level", "V")] {
        assert_eq!(request[name], expected, "{request}");
    }
    assert!(request["location"].is_null() && request["scope"].as_object().unwrap().len() == 2, "{request}");
}

#[test]
fn data_hash_answers_are_interpolated() {
    let site = site("data_hash: vault", "{command: [./answer], scope: [role]}");
    assert!(lookup(&site, "motd").starts_with("hash for ") && !lookup(&site, "motd").contains('%'));
    assert_eq!(lookup(&site, "extra"), "1");
    assert_eq!(lookup(&site, "plain"), "common");
}

#[test]
fn data_dig_is_asked_for_dotted_keys() {
    let site = site("data_dig: vault", "{command: [./answer]}");
    assert_eq!(lookup(&site, "user.name"), "dug");
    assert_eq!(lookup(&site, "user.uid"), "0");
}

#[test]
fn requests_without_node_data_are_made_once() {
    let site = site("lookup_key: vault", "{command: [./answer]}");
    let rendered = site.hierad("render . --format ndjson --threads 2");
    assert!(rendered.ok().lines().count() > 1, "{rendered:?}");
    for line in rendered.out.lines() {
        let node: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(node["values"]["motd"], "by command %{role}");
        assert_eq!(node["values"]["plain"], "common");
        assert!(node["errors"]["broken"].as_str().unwrap().contains("gave an invalid answer"), "{node}");
    }
    let asked = std::fs::read_to_string(site.root().join("asked")).unwrap();
    assert_eq!(asked.lines().filter(|line| line.contains("\"key\":\"plain\"")).count(), 1, "{asked}");
}

#[test]
fn requests_differ_by_the_node_data_in_them() {
    let site = site("lookup_key: vault", "{command: [./answer], scope: [trusted.certname]}");
    let nodes = site.hierad("render . --format ndjson").ok().lines().count();
    let asked = std::fs::read_to_string(site.root().join("asked")).unwrap();
    assert_eq!(asked.lines().filter(|line| line.contains("\"key\":\"plain\"")).count(), nodes, "{asked}");
}

#[test]
fn a_command_is_told_any_number_of_variables() {
    let names: Vec<String> = (0..40).map(|number| format!("facts.of.no.data.{number}")).collect();
    let site = site("lookup_key: vault", &format!("{{command: [./answer], scope: [{}]}}", names.join(", ")));
    let rendered = site.hierad("render . --format ndjson").ok().to_owned();
    assert!(rendered.lines().all(|node| node.contains("\"motd\":\"by command")), "{rendered}");
}

#[test]
fn timeouts_fail_only_their_keys() {
    let site = site("lookup_key: vault", "{command: [sleep, '60'], timeout: 0.2}");
    assert!(lookup(&site, "motd").contains("the command for the function 'vault' gave no answer within 0.2 s"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_late_command_ends_with_what_it_has_started() {
    let site = site("lookup_key: vault", "{command: [./daemon], timeout: 2}");
    let script = "#!/bin/sh\nsetsid -f sh -c 'while echo >>ticks; do sleep 0.05; done' </dev/null >/dev/null 2>&1\nexec sleep 60\n";
    site.write("daemon", script);
    site.sh("chmod +x daemon");
    site.hierad("trust").ok();
    assert!(lookup(&site, "motd").contains("gave no answer within 2 s"));
    let ticks = || std::fs::metadata(site.root().join("ticks")).unwrap().len();
    let end = std::time::Instant::now() + std::time::Duration::from_mins(1);
    loop {
        let before = ticks();
        std::thread::sleep(std::time::Duration::from_millis(500));
        if ticks() == before {
            break;
        }
        assert!(std::time::Instant::now() < end, "it goes on");
    }
}

#[test]
fn commands_end_before_the_program() {
    let site = site("lookup_key: vault", "{command: [./stays]}");
    site.write(
        "stays",
        "#!/bin/sh\necho $$ >> started\nwhile read -r line; do echo '{\"not_found\": true}'; done\nexec sleep 60\n",
    );
    site.sh("chmod +x stays");
    site.hierad("trust").ok();
    site.commit("a command that does not end by itself");
    for command in ["diff HEAD~1 HEAD", "render HEAD --format ndjson", "lookup motd --node web01"] {
        _ = std::fs::remove_file(site.root().join("started"));
        site.hierad(command).ok();
        let still = site.sh("for pid in $(cat started); do if kill -0 $pid 2>&-; then echo $pid; fi; done");
        assert!(site.root().join("started").exists() && still.is_empty(), "{command}: {still}");
    }
}

#[test]
fn declared_values_stand_for_a_function() {
    for (level, expected) in [
        ("data_hash: vault", ["role web", "v", "no data"]),
        ("lookup_key: vault", ["role %{trusted.certname}", "v", "no data"]),
        ("data_dig: vault", ["role %{trusted.certname}", "v", "0"]),
    ] {
        let site = site(level, "{values: values.yaml}");
        site.write("values.yaml", "motd: 'role %{trusted.certname}'\nuser: {name: v}\n");
        let found = ["motd", "user.name", "user.uid"].map(|key| lookup(&site, key));
        assert_eq!(found[0].replace("web01.example.com", "web").replace("web01", "web"), expected[0], "{level}");
        assert_eq!(found[1], expected[1], "{level}");
        assert!(found[2].contains(expected[2]), "{level}: {found:?}");
    }
}

#[test]
fn faulty_declarations_are_named_with_lines() {
    let site = Sandbox::of(SITE);
    for (backend, expected) in [
        ("command: []", "2: backend 'b': 'command' needs a program"),
        ("command: 1", "2: backends.b.command: invalid type: integer `1`, expected a text or a list of texts"),
        ("command: [x], timeout: 0", "2: backend 'b': 'timeout' must be a number of seconds up to 3600, not 0"),
        ("command: [x], timeout: soon", "2: backends.b.timeout: invalid type: string"),
        ("command: [x], scope: [a.]", "2: backend 'b': 'scope' has 'a.', which is not the name of a variable"),
        ("not_found: true, timeout: 1", "2: backend 'b' has no 'command' or 'puppet', so"),
        ("not_found: true, command: [x]", "2: backend 'b' needs one of"),
    ] {
        site.write(".git/hierad.yaml", format!("backends:\n  b: {{{backend}}}\n"));
        site.hierad("diff").fails(&[&format!("hierad: $BASE/repository/.git/hierad.yaml:{expected}")]);
    }
}
