//! Standing blind spots, which a commit has not made, and the lines of files that no known node reads.

use serde_json::{Value as Json, json};

use crate::support::Sandbox;
use crate::support::terminal::SITE;

/// A hierarchy with a level outside of the repository, and one whose variable no profile sets.
const OUTSIDE: &str = "-- hiera.yaml
version: 5
hierarchy:
  - {name: Node, path: 'nodes/%{trusted.certname}.yaml'}
  - {name: Private, path: common.yaml, datadir: /etc/puppet/private}
  - {name: Lab, path: 'labs/%{lab}.yaml'}
  - {name: Role, path: 'roles/%{role}.yaml'}
  - {name: Common, path: common.yaml}
";

/// A site with files before a commit, and those that it changes.
fn site(before: &str, after: &str) -> Sandbox {
    let site = Sandbox::of(&format!("{SITE}{before}"));
    site.files(after);
    site.commit("second");
    site
}

fn report(site: &Sandbox) -> Json {
    site.hierad("diff --format json").json()
}

fn comment(site: &Sandbox) -> String {
    site.hierad("diff --format markdown").ok().to_owned()
}

#[test]
fn a_level_outside_is_standing_but_in_the_commit_that_adds_it() {
    let standing = site(OUTSIDE, "-- data/common.yaml\nmotd: bye\nntp: [a, b]\n");
    let spot = &report(&standing)["blind_spots"][0];
    assert_eq!((&spot["code"], &spot["standing"]), (&json!("outside-repository"), &json!(true)));
    let yaml = "datadirs: {\"/etc/puppet/private\": none}";
    assert_eq!(spot["remedy"], json!({"text": "add to hierad.yaml", "yaml": yaml}));
    assert_eq!(spot["fix"], format!("add to hierad.yaml: {yaml}"));
    let told = comment(&standing);
    assert!(told.starts_with("### 1 key changes on both nodes\n"), "{told}");
    let fold = "\n<details><summary>1 standing blind spot: unseen with or without this commit</summary>\n";
    assert!(told.find(fold) > told.find("| who |"), "{told}");
    assert!(told.contains(&format!("  ```\n  {yaml}\n  ```\n")), "{told}");
    let before = "\n&#39;Private' cannot be seen and counts before the new value of 1 key\n";
    assert!(told.contains(before), "{told}");
    let text = standing.hierad("diff").ok().to_owned();
    assert!(text.contains("'Private' cannot be seen and counts before the new value of 1 key"), "{text}");
    let own = site(OUTSIDE, "-- data/nodes/web01.yaml\nmotd: own\n");
    assert!(!comment(&own).contains("counts before"), "the level of the node counts before that");
    let new = site("", &format!("{OUTSIDE}-- data/common.yaml\nmotd: bye\nntp: [a, b]\n"));
    assert_eq!(report(&new)["blind_spots"][0].get("standing"), None);
    let told = comment(&new);
    let head = "### 1 key changes on both nodes; 1 blind spot: 1 level is outside of this repository on all 2 nodes\n";
    assert!(told.starts_with(head) && !told.contains("standing"), "{told}");
}

#[test]
fn standing_blind_spots_alone_are_no_doubt_about_the_commit() {
    let site = site(OUTSIDE, "-- data/common.yaml\n# hi\nmotd: hello\nntp: [a, b]\n");
    assert_eq!(report(&site)["verdict"], "no_change_seen");
    assert!(comment(&site).starts_with("### no change seen (1 standing blind spot)\n"));
    site.hierad("diff --exit-code").is(3);
}

#[test]
fn variables_that_were_never_set_are_standing() {
    let lab = "-- data/labs/x.yaml\nmotd: x\n";
    let site = site(&format!("{OUTSIDE}{lab}"), "-- data/labs/x.yaml\nmotd: y\n");
    let found = report(&site);
    let of = |code: &str| found["blind_spots"].as_array().unwrap().iter().find(|spot| spot["code"] == code).cloned();
    let spot = of("undefined-variable").unwrap();
    assert_eq!(spot["standing"], true);
    let message =
        "all 2 nodes lack the variable 'lab' in their profiles, so it is not known if they read 'data/labs/x.yaml'";
    assert_eq!(spot["message"], message);
    // The commit is in doubt for the file that it changes.
    assert_eq!(of("unreached-file").unwrap().get("standing"), None);
    assert_eq!(found["headline"], "no change seen, but: no known node reads data/labs/x.yaml");
}

/// The blind spots for variables that profiles lack.
fn undefined(report: &Json) -> Vec<&Json> {
    let spots = report["blind_spots"].as_array().unwrap().iter();
    spots.filter(|spot| spot["code"] == "undefined-variable").collect()
}

#[test]
fn levels_by_variables_that_no_profile_has_may_count_before_what_changes() {
    let of = |level: &str, files: &str| {
        let hiera = format!(
            "-- hiera.yaml\nversion: 5\nhierarchy:\n  - {{name: Unknown, {level}}}\n  - {{name: Common, path: common.yaml}}\n"
        );
        site(&format!("{hiera}-- data/x/y.yaml\nmotd: y\n{files}"), "-- data/common.yaml\nmotd: bye\nntp: [a, b]\n")
    };
    for (level, files, by) in [
        ("path: 'x/%{location}.yaml'", "", ""),
        ("path: 'x/%{trusted.extensions.pp_role}.yaml'", "", ""),
        ("path: 'x/%{::osfamily}.yaml'", "", ""),
        ("paths: [none.yaml, 'x/%{kind}.yaml']", "", ""),
        ("mapped_paths: [kinds, kind, 'x/%{kind}.yaml']", "", ""),
        // The other node has it, and manifests set it.
        (
            "path: 'x/%{kind}.yaml'",
            "-- manifests/site.pp\nnode /^web/ { $kind = 'y' }\n-- profiles/db01.yaml\n{name: db01, variables: {kind: z}}\n",
            "'manifests/site.pp'",
        ),
        (
            "path: 'x/%{kind}.yaml'",
            "-- manifests/site.pp\nif $trusted['certname'] =~ /^(.)/ { $kind = $1 }\n",
            "'manifests/site.pp'",
        ),
    ] {
        let site = of(level, files);
        let report = report(&site);
        let spots = undefined(&report);
        assert!(
            spots.len() == 1 && spots[0]["standing"] == true && report["verdict"] == "changes",
            "{level}: {report}"
        );
        let message = spots[0]["message"].as_str().unwrap();
        assert!(message.contains("'data/x/y.yaml'"), "{message}");
        assert_eq!(
            message.contains(&format!(", and {by} may set it, so it is not known")),
            !by.is_empty(),
            "{message}"
        );
        let text = site.hierad("diff").ok().to_owned();
        assert!(text.contains("'Unknown' cannot be seen and counts before the new value of 1 key"), "{text}");
    }
    for (level, files) in [
        // No file that the level may read has the key.
        ("path: 'x/%{location}.yaml'", "-- data/x/y.yaml\nntp: [c]\n"),
        ("path: 'z/%{location}.yaml'", ""),
        // A node has it, and the other none, as facts that only some nodes have.
        ("path: 'x/%{kind}.yaml'", "-- profiles/db01.yaml\n{name: db01, variables: {kind: z}}\n"),
        ("path: 'x/%{kind}.yaml'", "-- hierad.yaml\nprofiles: [profiles]\naccept: {undefined-variable: [kind]}\n"),
        // What is derived is known.
        ("path: 'x/%{kind}.yaml'", "-- manifests/site.pp\n$kind = split($trusted['certname'], '0')[0]\n"),
    ] {
        let report = report(&of(level, files));
        assert_eq!(undefined(&report), Vec::<&Json>::new(), "{level}, {files}: {report}");
    }
}

#[test]
fn data_by_variables_that_changed_manifests_set_are_told() {
    let of = |value: &str, before: &str, after: &str| {
        let data = format!("-- data/common.yaml\nmotd: \"{value}\"\nntp: [a, b]\n-- manifests/site.pp\n{before}\n");
        report(&site(&data, &format!("-- manifests/site.pp\n{after}\n")))
    };
    for value in ["%{location}", "%{::location}", "x %{location.city}"] {
        let told = of(value, "if $x { $location = 'osl' }", "if $x { $location = 'fra' }");
        assert_eq!((undefined(&told).len(), &told["verdict"]), (1, &json!("no_change_seen")), "{value}: {told}");
    }
    for (value, before, after) in [
        ("%{other}", "if $x { $location = 'osl' }", "if $x { $location = 'fra' }"),
        ("%{facts.location}", "if $x { $facts = 'osl' }", "if $x { $facts = 'fra' }"),
        ("%{location}", "if $x { $location = 'osl' }", "if $x { $location = 'osl' }"),
    ] {
        let told = of(value, before, after);
        assert_eq!(undefined(&told), Vec::<&Json>::new(), "{value}: {told}");
    }
}

#[test]
fn lines_that_no_known_node_reads_are_shown() {
    let unread = "-- data/roles/mail.yaml\nport: 25\nmotd: a\n";
    let site = site(unread, "-- data/roles/mail.yaml\nport: 587\nmotd: a\n-- data/roles/post.yaml\nport: 587\n");
    let told = comment(&site);
    let expected = "\n**3 changed lines in 2 files that no known node reads**\n\n```diff\n\
                    @@ data/roles/mail.yaml:1 @@\n- port: 25\n+ port: 587\n\
                    @@ data/roles/post.yaml:1 (new file) @@\n+ port: 587\n```\n";
    assert!(told.contains(expected), "{told}");
    let lines = &report(&site)["lines"];
    assert_eq!((&lines[0]["text"], &lines[1]["text"]), (&json!(["port: 25"]), &json!(["port: 587"])));
    let text = site.hierad("diff").ok().to_owned();
    let shown = "  data/roles/mail.yaml:1  no known node reads the file\n    - port: 25\n    + port: 587\n";
    assert!(text.contains(shown), "{text}");
    let page = site.hierad("diff --format html").ok().to_owned();
    assert!(page.contains("- port: 25\n+ port: 587"), "{page}");
}

#[test]
fn equal_lines_of_several_files_are_shown_once() {
    let of = |port: u32| [1, 2, 3].map(|role| format!("-- data/roles/r{role}.yaml\nport: {port}\n")).concat();
    let told = comment(&site(&of(25), &of(587)));
    let expected = "\n**6 changed lines in 3 files that no known node reads**\n\n```diff\n\
                    @@ data/roles/r1.yaml:1 and 2 more places @@\n- port: 25\n+ port: 587\n```\n";
    assert!(told.contains(expected), "{told}");
}

#[test]
fn lines_with_values_that_may_be_secret_are_not_shown() {
    let options = "-- data/common.yaml
motd: hello
lookup_options:
  db_password: {convert_to: Sensitive}
  '^.*_token$': {convert_to: Sensitive}
";
    let of = |text: &str| {
        format!(
            "-- data/roles/mail.yaml
db_password: {text}1
api_token: {text}2
own: {text}3
key: ENC[PKCS7,{text}]
nested: {{a: ['ENC[PKCS7,x]', {text}4]}}
lookup_options:
  own: {{convert_to: 'My::Alias'}}
plain: {text}5
"
        )
    };
    let site = site(&format!("{options}{}", of("hunter")), &of("mellon"));
    for format in ["text", "markdown", "html", "json", "github", "sarif"] {
        let printed = site.hierad(&format!("diff --full --format {format}")).ok().to_owned();
        for secret in ["hunter1", "mellon2", "hunter3", "mellon]", "hunter4"] {
            assert!(!printed.contains(secret), "{secret}: {printed}");
        }
        assert!(printed.contains("db_password") || matches!(format, "github" | "sarif"), "{printed}");
        assert!(printed.contains("plain: mellon5") || matches!(format, "github" | "sarif"), "{printed}");
    }
}

#[test]
fn details_of_a_comment_say_more_than_its_table() {
    let short = comment(&site("", "-- data/roles/web.yaml\nport: 8080\n"));
    assert!(short.contains("| `web01` | `port`: `80` → `8080` | `data/roles/web.yaml:1` |"), "{short}");
    assert!(!short.contains("<details"), "{short}");
    let long = "x".repeat(120);
    let long = comment(&site("", &format!("-- data/roles/web.yaml\nport: {long}\n")));
    assert!(long.contains("<details open><summary><code>web01</code>: 1 key</summary>"), "{long}");
}

#[test]
fn standing_blind_spots_are_one_line_beside_changes() {
    let heading = "standing blind spot: unseen with or without this commit";
    let yaml = "datadirs: {\"/etc/puppet/private\": none}";
    let site = site(OUTSIDE, "-- data/common.yaml\nmotd: bye\nntp: [a, b]\n");
    let text = site.hierad("diff").ok().to_owned();
    let folded: Vec<&str> = text.lines().filter(|line| line.contains(heading)).collect();
    assert_eq!(folded, [format!("1 {heading} (`hierad check` and --full show all)")]);
    assert!(!text.contains(yaml), "{text}");
    for command in ["diff --full", "diff --format markdown", "diff --format json --full", "check"] {
        let printed = site.hierad(command).out;
        assert!(printed.contains("/etc/puppet/private"), "{command}: {printed}");
    }
    // A hook folds them, changes or none.
    site.files("-- data/common.yaml\n# More.\nmotd: bye\nntp: [a, b]\n");
    site.commit("third");
    site.git(["config", "hierad.postCommit", "print"]);
    let calm = site.hierad("hooks run post-commit");
    assert!(calm.out.contains(heading) && !calm.out.contains(yaml), "{calm:?}");
    // The report of the commit that makes one shows it.
    let new = self::site("", &format!("{OUTSIDE}-- data/common.yaml\nmotd: bye\nntp: [a, b]\n"));
    assert!(new.hierad("diff").ok().contains(yaml));
}

#[test]
fn a_filter_says_how_many_nodes_it_leaves() {
    let site = site("", "-- data/roles/web.yaml\nport: 81\n-- data/roles/db.yaml\nport: 5433\n");
    for (arguments, headline) in [
        ("", "1 key changes on both nodes"),
        (
            "--node db01",
            "1 key changes on the only node (of 2 nodes, 1 asked for; 1 key that the filter hides changes on 1 of 2 nodes)",
        ),
        ("--node *", "1 key changes on both nodes"),
        ("--key port", "1 key changes on both nodes"),
        ("--key motd", "no change seen, but: 1 key that the filter hides changes on all 2 nodes"),
        (
            "--node db01 --key motd",
            "no change seen (of 2 nodes, 1 asked for), but: 1 key that the filter hides changes on all 2 nodes",
        ),
    ] {
        let report = site.hierad(&format!("diff --format json {arguments}")).json();
        assert_eq!(report["headline"], headline, "{arguments}");
        // In a pipe it is one line.
        let text = site.hierad(&format!("diff {arguments}")).ok().to_owned();
        assert_eq!(text.lines().next(), Some(headline));
        assert!(!text.contains("1 blind spot"), "{text}");
    }
    site.files("-- data/common.yaml\n# More.\nmotd: hello\nntp: [a, b]\n");
    site.commit("third");
    let report = site.hierad("diff --format json --node db01").json();
    assert_eq!(report["headline"], "no effective change (of 2 nodes, 1 asked for; 3 keys compared)");
}
