//! The commands `log`, `blame` and `bisect` as people call them.

use serde_json::Value as Json;

use crate::support::Sandbox;
use crate::support::keys::{encrypted, key_file};
use crate::support::report::read;

const START: &str = "-- hiera.yaml\nversion: 5\nhierarchy:\n- {name: Node, path: 'nodes/%{trusted.certname}.yaml'}\n\
                     - {name: Common, path: common.yaml}\n-- data/common.yaml\nport: 80\nlist: [one, two]\nother: x\n";

/// A repository in which `port` becomes 81, 80 and 82 again, and nodes `a` and `b`.
pub(super) fn site() -> Sandbox {
    let site = Sandbox::of(START);
    for name in ["a", "b"] {
        std::fs::create_dir_all(site.beside("nodes")).unwrap();
        std::fs::write(site.beside("nodes").join(format!("{name}.yaml")), format!("name: {name}\n")).unwrap();
    }
    site.settings("profiles: ../nodes\n");
    let commits = [
        ("port 81", "data/common.yaml", "port: 81\nlist: [one, two]\nother: x\n"),
        ("nothing", "README", "text\n"),
        ("port 80 and other", "data/common.yaml", "port: 80\nlist: [zero, one, two]\nother: secret word\n"),
        ("b has its own", "data/nodes/b.yaml", "port: 80\nown: {k: [1, 2]}\n"),
        ("port 82", "data/common.yaml", "port: 82\nlist: [zero, one, two]\nother: secret word\n"),
    ];
    for (message, path, content) in commits {
        site.write(path, content);
        site.commit(message);
    }
    site
}

/// The subjects of the commits that `arguments` list, in order.
fn subjects(site: &Sandbox, arguments: &str) -> Vec<String> {
    let printed = site.hierad(&format!("log --format ndjson {arguments}"));
    let lines = printed.ok().lines();
    lines.map(|line| read(line)["after"]["summary"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn commits_are_chosen_as_in_git() {
    let site = site();
    assert_eq!(subjects(&site, ""), ["port 82", "b has its own", "port 80 and other", "port 81", "first"]);
    assert_eq!(subjects(&site, "port"), ["port 82", "port 80 and other", "port 81", "first"]);
    assert_eq!(subjects(&site, "port --node b"), ["port 80 and other", "port 81", "first"]);
    assert_eq!(subjects(&site, "port -n 2 --reverse"), ["port 80 and other", "port 82"], "the newest two");
    assert_eq!(subjects(&site, "port HEAD~4..HEAD~1"), ["port 80 and other"]);
    assert_eq!(subjects(&site, "port --rev HEAD~3"), ["port 81", "first"]);
    assert_eq!(subjects(&site, "p* HEAD~2.."), ["port 82"]);
    assert_eq!(subjects(&site, "re:^o"), ["b has its own", "port 80 and other", "first"]);
    assert_eq!(subjects(&site, "--author Ada -n 1"), ["port 82"]);
    assert_eq!(subjects(&site, "--author Bob"), [""; 0]);
    assert_eq!(subjects(&site, "--until 1970-01-02"), [""; 0]);
    assert_eq!(subjects(&site, "--since 2000-01-01 -n 2"), ["port 82", "b has its own"]);
    assert_eq!(subjects(&site, "-S secret"), ["port 80 and other"]);
    assert_eq!(subjects(&site, "-S zero list"), ["port 80 and other"]);
    assert_eq!(subjects(&site, "-S 8"), ["first"], "80 becomes 81: there is an 8 in both");
    assert_eq!(subjects(&site, "-G ^82$"), ["port 82"]);
    assert_eq!(subjects(&site, "-G ^own"), ["b has its own"], "the name of a key");
}

#[test]
fn entries_say_what_else_changes() {
    let site = site();
    let printed = site.hierad("log port --format json");
    let entries: Vec<Json> = serde_json::from_str::<Vec<Json>>(printed.ok()).unwrap();
    let others = |entry: &Json| entry["other_keys"].as_u64().unwrap_or(0);
    assert_eq!(entries.iter().map(others).collect::<Vec<_>>(), [0, 2, 0, 2]);
    assert_eq!(entries[0]["lines"].as_array().unwrap().len(), 2);
    let printed = site.hierad("log port --oneline");
    assert!(printed.ok().contains("port 82 (port: 80 -> 82 on 1 of 2 nodes)"), "{printed:?}");
    let printed = site.hierad("log port -n 2");
    for words in ["and 2 other keys", "changed  port: 81 -> 80  data/common.yaml:1"] {
        assert!(printed.ok().contains(words), "{printed:?}");
    }
}

#[test]
fn a_value_is_blamed_on_the_commit_that_made_it() {
    let site = site();
    let blamed = |arguments: &str| -> Vec<String> {
        let printed = site.hierad(&format!("blame --format ndjson {arguments}"));
        let row = |line: &str| {
            let row: Json = serde_json::from_str(line).unwrap();
            let boundary = if row["boundary"] == true { "^" } else { "" };
            let text = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
            format!("{boundary}{}: {} {}:{}", text("path"), text("summary"), text("file"), row["line"])
        };
        printed.ok().lines().map(row).collect()
    };
    assert_eq!(
        blamed("--node b"),
        [
            "list[0]: port 80 and other data/common.yaml:2",
            "^list[1]: first data/common.yaml:2",
            "^list[2]: first data/common.yaml:2",
            "other: port 80 and other data/common.yaml:3",
            "own.k[0]: b has its own data/nodes/b.yaml:2",
            "own.k[1]: b has its own data/nodes/b.yaml:2",
            "port: port 80 and other data/nodes/b.yaml:1",
        ]
    );
    assert_eq!(blamed("port"), ["port: port 82 data/common.yaml:1", "port: port 80 and other data/nodes/b.yaml:1"]);
    assert_eq!(blamed("port HEAD~1.. --node b"), ["^port: port 82 data/nodes/b.yaml:1"]);
    let printed = site.hierad("blame port --porcelain");
    for words in ["author Ada\n", "\tport: 82\n", "filename data/nodes/b.yaml\nline 1\n"] {
        assert!(printed.ok().contains(words), "{printed:?}");
    }
    site.hierad("blame por").fails(&["no key matches", "port"]);
}

#[test]
fn all_transitions_are_found() {
    let site = site();
    let found = |arguments: &str, status: i32| -> Vec<String> {
        let printed = site.hierad(&format!("bisect {arguments} --format json"));
        let answer: Json = serde_json::from_str(&printed.is(status).out).unwrap();
        let summary = |one: &Json| format!("{} {}", one["holds"], one["summary"].as_str().unwrap());
        answer["transitions"].as_array().unwrap().iter().map(summary).collect()
    };
    assert_eq!(
        found("port --node a --is 80", 0),
        ["false port 82", "true port 80 and other", "false port 81", "true first"]
    );
    assert_eq!(found("port --node b --is 80", 0), ["true port 80 and other", "false port 81", "true first"]);
    assert_eq!(found("port --node a --is '80'", 1), [""; 0], "a text is no number");
    assert_eq!(found("port --node a --type Integer HEAD~3..", 1), [""; 0]);
    assert_eq!(found("own --node b --type Hash", 0), ["true b has its own"]);
    assert_eq!(found("own.k --node b --is [1,2]", 0), ["true b has its own"]);
    assert_eq!(found("list.0 --node a --is one", 0), ["false port 80 and other", "true first"]);
    site.hierad("bisect nokey --node a --error").fails(&["no key matches"]);
    site.hierad("bisect p* --node a --error").fails(&["name the key itself"]);
    site.hierad("bisect port --node a --is 1 HEAD..HEAD~2").fails(&["no commit in that range"]);
    site.hierad("bisect port --node a").fails(&["--is"]);
    site.hierad("bisect port --node c --is 1").fails(&["no node matches"]);
    site.hierad("bisect port --node a --is [1").fails(&["is not YAML"]);
}

#[test]
fn wrong_questions_are_told() {
    let site = site();
    site.hierad("log prot").fails(&["no key matches", "did you mean port?"]);
    site.hierad("log port --node c").fails(&["no node matches --node 'c'"]);
    site.hierad("log A..B C..D").fails(&["two ranges"]);
    site.hierad("log A...B").fails(&["write A..B"]);
    site.hierad("log nowhere..HEAD").fails(&["nowhere"]);
    site.hierad("log -G '['").fails(&["-G"]);
    assert_eq!(site.hierad("log port HEAD~1..HEAD").is(0).err.trim(), "");
    assert_eq!(site.hierad("log other HEAD~1..HEAD").is(0).err.trim(), "hierad: no commit changes that");
    assert_eq!(site.hierad("log port HEAD~1..HEAD~2").is(0).err.trim(), "hierad: there is no such commit");
    site.hierad("log HEAD~1").fails(&["HEAD~1 is a revision and no key", "--rev HEAD~1"]);
    site.hierad("log port HEAD~1..HEAD --rev HEAD~1").fails(&["already names the last commit"]);
}

#[test]
fn a_shallow_clone_has_a_history_up_to_its_end() {
    let site = site();
    let clone = site.beside("shallow");
    let from = format!("file://{}", site.root().display());
    site.git(["clone", "--quiet", "--depth", "3", &from, clone.to_str().unwrap()]);
    let printed = site.hierad_in("../shallow", "log --oneline port --profiles ../nodes");
    assert_eq!(printed.ok().lines().count(), 1, "{printed:?}");
    printed.says(&["the clone is shallow"]);
    for question in ["blame list --node a", "bisect port --node a --is 80"] {
        site.hierad_in("../shallow", &format!("{question} --profiles ../nodes")).says(&["the clone is shallow"]);
    }
}

#[test]
fn what_cannot_be_seen_is_told() {
    let site = site();
    let told = |arguments: &str| site.hierad(arguments).err.contains("not all can be seen");
    assert!(!told("blame port") && !told("bisect port --node a --is 81"));
    site.write(
        "hiera.yaml",
        "version: 5\nhierarchy:\n- {name: Elsewhere, datadir: /srv/elsewhere, path: x.yaml}\n\
         - {name: Node, path: 'nodes/%{trusted.certname}.yaml'}\n- {name: Common, path: common.yaml}\n",
    );
    site.commit("a level outside of the repository");
    site.hierad("blame port").says(&["not all can be seen", "`hierad check` tells more"]);
    site.hierad("bisect port --node a --is 81").says(&["not all can be seen"]);
    site.hierad("log port --oneline").says(&["not all can be seen"]);
    site.hierad("log port HEAD~1..").says(&["no commit changes that", "not all can be seen"]);
}

#[test]
fn a_history_until_a_date_ends_there() {
    let site = site();
    for (year, port) in [(2030, 90), (2031, 91)] {
        site.write("data/common.yaml", format!("port: {port}\n"));
        site.sh(&format!(
            "git add --all; GIT_COMMITTER_DATE={year}-06-01T12:00:00Z git commit --quiet --message 'of {year}'"
        ));
    }
    assert_eq!(subjects(&site, "port --until 2030-12-31 -n1"), ["of 2030"]);
    assert_eq!(subjects(&site, "port --since 2031-01-01"), ["of 2031"]);
    let printed = site.hierad("bisect port --node a --is 90 --until 2030-12-31");
    assert!(printed.ok().contains("port on a is 90 since"), "{printed:?}");
    let printed = site.hierad("blame port --node a --until 2030-12-31");
    assert!(printed.ok().contains("port: 90"), "{printed:?}");
}

#[test]
fn values_are_as_of_a_date() {
    let site = site();
    for (year, port) in [(2030, 90), (2031, 91)] {
        site.write("data/common.yaml", format!("port: {port}\n"));
        site.write("data/nodes/b.yaml", format!("port: {}\n", port + 100));
        site.sh(&format!(
            "git add --all; GIT_COMMITTER_DATE={year}-06-01T12:00:00Z git commit --quiet --message 'of {year}'"
        ));
    }
    let said = &["hierad: as of 2030-12-31T00:00:00Z: commit ", "with the facts of today: none of then are kept"];
    let printed = site.hierad("lookup port --node a --as-of 2030-12-31T00:00Z");
    assert_eq!(printed.says(said).ok(), "--- 90\n");
    let printed = site.hierad("render --node a --format ndjson --as-of 2030-12-31T00:00Z");
    assert_eq!(read(printed.says(said).ok())["values"]["port"], 90);
    let printed = site.hierad("compare --node a --node b --format json --as-of 2030-12-31T00:00Z");
    let compared = printed.says(said).json();
    let sides = ["before", "after"].map(|side| &compared["changes"][0][side]["value"]);
    assert_eq!((sides, &compared["after"]["summary"]), ([&90.into(), &190.into()], &"of 2030".into()));
    site.hierad("lookup port --node a --as-of 2020-01-01").fails(&["no commit of HEAD is as old as '2020-01-01'"]);
    site.hierad("lookup port --node a --rev . --as-of 2020-01-01").fails(&["name a commit or a branch"]);
}

#[test]
fn what_a_failing_value_hides_is_told() {
    let site = site();
    let data = |port: &str, other: &str| format!("port: ['%{{nothing(1)}}', {port}]\nlist: []\nother: {other}\n");
    for (port, other) in [("80", "x"), ("81", "x"), ("81", "y")] {
        site.write("data/common.yaml", data(port, other));
        site.commit("port fails");
    }
    let masked = |arguments: &str| site.hierad(arguments).err.contains("may change values that fail before and after");
    assert!(subjects(&site, "port HEAD~2..HEAD~1").is_empty(), "the error is the same");
    assert!(masked("log port HEAD~2..HEAD~1"));
    assert!(!masked("log other") && !masked("log port HEAD~1..") && !masked("log port HEAD~3..HEAD~2"));
    site.write("data/common.yaml", "port: [\n");
    site.commit("broken");
    site.write("data/common.yaml", "port: [\n# still\n");
    site.commit("broken in the same way");
    for _ in 0..2 {
        site.hierad("log HEAD~1..").says(&["1 commit may change values that fail before and after, such as"]);
        site.hierad("log port HEAD~1..").says(&["1 commit may change values that fail before and after, such as"]);
        site.hierad("log --oneline").ok();
    }
}

/// Says what `log` prints by the index, after it has been written, and what it prints without one.
fn by_index(site: &Sandbox, change: impl FnOnce()) -> [String; 2] {
    let log = |option: &str| {
        let key = "5a".repeat(32);
        site.hierad(&format!("--fingerprint-key {key} log {option}")).ok().to_owned()
    };
    log("");
    change();
    ["", "--no-cache"].map(log)
}

#[test]
fn what_exceeds_a_budget_in_a_whole_history_counts_alone() {
    let site = site();
    let keys = |number: usize| {
        let key = |at: usize| format!("k{at}: \"{number} %{{lookup('list')}} %{{lookup('other')}}\"\n");
        format!("list: [one, two]\nother: x\n{}", (0..100).map(key).collect::<String>())
    };
    for number in 0..3 {
        site.write("data/common.yaml", keys(number));
        site.commit("all keys");
    }
    site.settings("profiles: ../nodes\nlimits: {steps: 40000}\n");
    assert!(site.hierad("diff HEAD~1 HEAD").ok().contains("the budget of the run is used up"));
    for key in ["k0", "k7", "k99"] {
        site.hierad("log --oneline").ok();
        let [by_index, without] = ["", "--no-cache"].map(|option| subjects(&site, &format!("{key} {option}")));
        assert_eq!((without.len(), by_index), (3, without), "{key}");
    }
}

#[test]
fn facts_that_only_computed_variables_read_are_not_forgotten() {
    let site = site();
    let profile = |zone: &str| {
        std::fs::write(site.beside("nodes").join("a.yaml"), format!("name: a\nfacts: {{zone: {zone}}}\n")).unwrap();
    };
    profile("x");
    site.files(
        "-- manifests/site.pp\n$place = \"in-${facts['zone']}\"\n-- hiera.yaml\nversion: 5\nhierarchy:\n\
         - {name: Place, path: '%{place}.yaml'}\n- {name: Common, path: common.yaml}\n\
         -- data/in-x.yaml\nport: 90\n-- data/in-y.yaml\nport: 91\n",
    );
    site.commit("places");
    // The last commit refers to none of this any more.
    site.files("-- manifests/site.pp\n\n-- hiera.yaml\nversion: 5\nhierarchy: [{name: Common, path: common.yaml}]\n");
    site.commit("no places");
    let [by_index, without] = by_index(&site, || profile("y"));
    assert!(without.contains("82 -> 91"), "{without}");
    assert_eq!(by_index, without);
}

#[test]
fn a_key_of_secrets_that_comes_later_counts() {
    let site = site();
    let base = site.beside("").display().to_string();
    let key = |of: &str, name: &str| std::fs::copy(key_file(of), site.beside(name)).unwrap();
    // Whatever there is to decrypt, this fails in the same words.
    key("junk.pem", "key.pem");
    key("default.pub.pem", "pub.pem");
    site.settings("profiles: ../nodes\neyaml: {allowed_keys: ['/**']}\n");
    let options = format!("{{pkcs7_private_key: {base}/key.pem, pkcs7_public_key: {base}/pub.pem}}");
    site.write(
        "hiera.yaml",
        format!(
            "version: 5\nhierarchy:\n- {{name: Common, lookup_key: eyaml_lookup_key, path: common.yaml, options: {options}}}\n"
        ),
    );
    let word = encrypted("word", 1);
    for number in 1..4 {
        site.write("data/common.yaml", format!("port:\n  word: {word}\n  number: {number}\n"));
        site.commit("a number beside a word that fails");
    }
    let [by_index, without] = by_index(&site, || {
        key("default.key.pem", "key.pem");
    });
    assert!(without.contains("port.number: 2 -> 3"), "{without}");
    assert_eq!(by_index, without);
}
