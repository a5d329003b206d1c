//! `hierad lookup`: the flags, the exit status and the forms of `puppet lookup`.

use crate::support::Sandbox;
use crate::support::terminal::SITE;

fn site() -> Sandbox {
    let site = Sandbox::of(SITE);
    site.files(
        "
-- data/nodes/web01.yaml
packages: [vim, curl, vim]
user: {name: web, groups: [adm], shell: {path: /bin/sh}}
list: [{id: 1, a: x}]
family: '%{facts.os.family}'
broken: '%{nope}'
-- data/common.yaml
motd: hello
packages: [git, vim]
user: {name: root, uid: 0, groups: [wheel]}
list: [{id: 1, b: y}]
nothing: ~
yes_text: 'yes'
where: '%{environment} %{trusted.certname}'
lookup_options:
  packages: {merge: unique}
-- facts.yaml
os: {family: Suse}
extra: 1
-- facts.json
{\"os\": {\"family\": \"Json\"}}
-- facts
os: {family: NoExtension}
",
    );
    site.commit("more");
    site
}

#[test]
fn values_as_puppet_lookup_prints_them() {
    let site = site();
    for (arguments, expected) in [
        ("motd", "--- hello\n"),
        ("packages", "---\n- vim\n- curl\n- git\n"),
        ("nope motd", "--- hello\n"),
        ("motd packages", "--- hello\n"),
        ("user.name", "--- web\n"),
        ("user.shell.path", "--- \"/bin/sh\"\n"),
        ("packages.1", "--- curl\n"),
        ("list.0.a", "--- x\n"),
        ("'user'", "---\nname: web\ngroups:\n- adm\nshell:\n  path: \"/bin/sh\"\n"),
        ("nothing", "---\n"),
        ("yes_text", "--- 'yes'\n"),
        ("motd --render-as s", "hello\n"),
        ("motd --render-as json", "\"hello\"\n"),
        ("packages --render-as s", "[\"vim\", \"curl\", \"git\"]\n"),
        ("packages --render-as json", "[\"vim\",\"curl\",\"git\"]\n"),
        ("user --render-as json", r#"{"name":"web","groups":["adm"],"shell":{"path":"/bin/sh"}}"#),
        ("packages --merge first", "---\n- vim\n- curl\n- vim\n"),
        ("packages --merge=unique", "---\n- vim\n- curl\n- git\n"),
        ("user --merge hash --render-as json", r#"{"name":"web","uid":0,"groups":["adm"],"shell":{"path":"/bin/sh"}}"#),
        ("packages --merge deep --sort-merged-arrays --render-as json", r#"["curl","git","vim"]"#),
        ("list --merge deep --merge-hash-arrays --render-as json", r#"[{"id":1,"b":"y","a":"x"}]"#),
        ("where", "--- production web01\n"),
        ("where --environment test", "--- test web01\n"),
        ("family", "--- Debian\n"),
        ("family --facts facts.yaml", "--- Suse\n"),
        ("family --facts facts.json", "--- Json\n"),
        ("family --facts facts", "--- NoExtension\n"),
        ("nope --default other", "--- other\n"),
        ("motd --default other", "--- hello\n"),
        ("nope --default x --render-as json", "\"x\"\n"),
        ("port --node db01", "--- 5432\n"),
        ("packages --rev HEAD~1 --default none", "--- none\n"),
        ("motd --type String[5]", "--- hello\n"),
        (
            "user --type Struct[{name=>Enum[web],groups=>Array[String],shell=>Hash}] --render-as json --merge first",
            r#"{"name":"web","groups":["adm"],"shell":{"path":"/bin/sh"}}"#,
        ),
        ("nope --default x --type Enum[x]", "--- x\n"),
    ] {
        let node = if arguments.contains("--node") { "" } else { "--node web01" };
        let printed = site.hierad(&format!("lookup {node} {arguments}").replace('\'', ""));
        if arguments.contains("--render-as") {
            assert_eq!(printed.ok().trim_end(), expected.trim_end(), "lookup {arguments}");
        } else {
            assert!(printed.ok().starts_with("---"), "lookup {arguments}: {printed:?}");
            let yaml = |text: &str| serde_yaml::from_str::<serde_yaml::Value>(text).unwrap();
            assert_eq!(yaml(&printed.out), yaml(expected), "lookup {arguments}");
        }
        assert_eq!(printed.err, "", "lookup {arguments}");
    }
}

#[test]
fn knock_outs_apply_to_merged_arrays() {
    let site = site();
    site.files("-- data/nodes/web01.yaml\nuser: {groups: [--wheel, adm]}\n");
    let printed =
        site.hierad("lookup --node web01 user.groups --rev . --merge deep --knock-out-prefix=-- --render-as json");
    // A dotted key is merged as a whole first, then dug into.
    assert_eq!(printed.ok(), "[\"adm\"]\n");
}

#[test]
fn missing_values_have_a_message_and_status() {
    let site = site();
    for (arguments, words) in [
        ("nope --node web01", "no data for 'nope' on web01"),
        ("nope nada --node web01", "no data for 'nope', 'nada' on web01"),
        ("broken --node web01", "lookup of 'broken' failed: "),
        ("user.nope --node web01", "no data for 'user.nope'"),
        ("motd", "name the node with --node"),
        ("motd --node web", "there is no profile of node 'web' among the 2 there are; did you mean web01?"),
        ("motd --node db3", "there is no profile of node 'db3' among the 2 there are; did you mean db01?"),
        ("motd --node host", "there is no profile of node 'host', only of db01, web01"),
        ("", "No keys were given to lookup."),
        ("--node web01 motd --sort-merged-arrays", "are only available with '--merge deep'"),
        ("--node web01 motd --merge hash --merge-hash-arrays", "are only available with '--merge deep'"),
        ("--node web01 motd --merge unique --knock-out-prefix=--", "are only available with '--merge deep'"),
        ("--node web01 motd --merge nope", "The --merge option only accepts 'first', 'hash', 'unique', or 'deep'"),
        ("--node web01 motd --render-as msgpack", "--render-as msgpack is not supported"),
        ("--node web01 motd --render-as toml", "Unknown rendering format 'toml'"),
        ("--node web01 motd --type Integer", "Found value has wrong type, expects an Integer value, got String"),
        (
            "--node web01 nope motd --type Enum[a]",
            "Found value has wrong type, expects a match for Enum['a'], got 'hello'",
        ),
        ("--node web01 nope --default x --type Integer", "Default value has wrong type, expects an Integer value"),
        ("--node web01 motd --explain --type Integer", "Found value has wrong type"),
        ("--node web01 motd --type Integer[", "--type: Syntax error at end of input"),
        ("--node web01 motd --type Foo::Bar", "private method `load' called for Scope(Class[main])"),
        ("--node web01 motd --compile", "never compiles a catalog"),
        ("--node web01 motd --facts nofile", "cannot read nofile"),
        ("--node web01 motd --rev nosuch", "unknown revision 'nosuch'"),
    ] {
        site.hierad(&format!("lookup {arguments}")).fails(&[words]);
    }
    let explained = site.hierad("lookup nope --node web01 --explain");
    assert!(explained.ok().ends_with("Function lookup() did not find a value for the name 'nope'\n"), "{explained:#?}");
}

#[test]
fn facts_stand_in_for_a_profile() {
    let site = site();
    let lookup = |arguments: &str| site.hierad(&format!("--config none.yaml lookup {arguments}"));
    site.write("none.yaml", "# no profiles\n");
    lookup("motd").fails(&["--node", "--facts", "--profiles"]);
    lookup("motd --node x").fails(&["there are no node profiles", "--facts FILE"]);
    assert_eq!(lookup("motd --node x --facts facts.yaml").ok(), "--- hello\n");
    site.write("node.json", r#"{"name": "web01", "values": {"os": {"family": "Cache"}}}"#);
    assert_eq!(lookup("family --facts node.json").ok(), "--- Cache\n");
}

#[test]
fn explanations_name_levels_files_and_lines() {
    let site = site();
    let explained = site.hierad("lookup --node web01 packages --explain");
    for line in [
        "Searching for \"packages\"",
        "Merge strategy unique",
        "Hierarchy entry \"Node\"",
        "Path \"data/nodes/web01.yaml\"",
        "Original path: \"nodes/%{trusted.certname}.yaml\"",
        "Path \"data/roles/web.yaml\"",
        "No such key: \"packages\"",
        "packages[2]  data/common.yaml:2 (Common)",
    ] {
        assert!(explained.ok().contains(line), "no {line:?} in {explained:#?}");
    }
    let answer = site.hierad("lookup --node web01 packages");
    let first = format!("{}Where it comes from\n", answer.ok());
    assert!(explained.out.starts_with(&first), "no {first:?} in front of {explained:#?}");
    let options = site.hierad("lookup --node web01 packages --explain-options");
    assert!(options.ok().contains("Found key: \"lookup_options\""), "{options:#?}");
    assert!(!options.out.contains("Searching for \"packages\""), "{options:#?}");
    let failed = site.hierad("lookup --node web01 broken --explain");
    let error = failed.ok().lines().last().unwrap_or_default();
    assert!(site.hierad("lookup --node web01 broken").err.contains(error), "{failed:#?}");
}
