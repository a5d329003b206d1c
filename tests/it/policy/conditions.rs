//! The conditions of rules: each fires on one change, and not on another.

use super::{hits, site};

/// A condition, a change that hits it with what is found, and one that does not.
struct Case {
    rule: &'static str,
    fires: (&'static str, &'static str),
    rests: &'static str,
}

#[track_caller]
fn check(cases: &[Case]) {
    for Case { rule, fires: (files, found), rests } in cases {
        let policies = format!("policies:\n  - {{name: it, level: warning, message: look, {rule}}}\n");
        assert_eq!(hits(&site(&policies, files)), [format!("it | hit | warning | {found}")], "{rule} on {files}");
        assert_eq!(hits(&site(&policies, rests)), [""; 0], "{rule} on {rests}");
    }
}

/// The common data with one line in place of another.
macro_rules! data {
    ($($line:literal),*) => { concat!("-- data/common.yaml\n", $($line, "\n",)*
        "port: 1\nlookup_options: {db::password: {convert_to: Sensitive}}\n") };
}

const MOTD: &str = data!(
    "motd: bye",
    "ntp: [a, b]",
    "token: abc",
    "db::password: hunter2",
    "sshd::config: {Port: 22, PermitRootLogin: 'no'}"
);
const NO_MOTD: &str =
    data!("ntp: [a, b]", "token: abc", "db::password: hunter2", "sshd::config: {Port: 22, PermitRootLogin: 'no'}");
const NEW: &str = data!(
    "new: 1",
    "motd: hello",
    "ntp: [a, b]",
    "token: abc",
    "db::password: hunter2",
    "sshd::config: {Port: 22, PermitRootLogin: 'no'}"
);
const ORDER: &str = data!(
    "motd: hello",
    "ntp: [b, a]",
    "token: abc",
    "db::password: hunter2",
    "sshd::config: {Port: 22, PermitRootLogin: 'no'}"
);
const NTP: &str = data!(
    "motd: hello",
    "ntp: [a, b, c]",
    "token: abc",
    "db::password: hunter2",
    "sshd::config: {Port: 22, PermitRootLogin: 'no'}"
);
const LESS_NTP: &str = data!(
    "motd: hello",
    "ntp: [a]",
    "token: abc",
    "db::password: hunter2",
    "sshd::config: {Port: 22, PermitRootLogin: 'no'}"
);
const ROOT: &str = data!(
    "motd: hello",
    "ntp: [a, b]",
    "token: abc",
    "db::password: hunter2",
    "sshd::config: {Port: 22, PermitRootLogin: 'yes'}"
);
const PORT: &str = data!(
    "motd: hello",
    "ntp: [a, b]",
    "token: abc",
    "db::password: hunter2",
    "sshd::config: {Port: '22', PermitRootLogin: 'no'}"
);
const NO_SSHD: &str = data!("motd: hello", "ntp: [a, b]", "token: abc", "db::password: hunter2");
const PASSWORD: &str = data!(
    "motd: hello",
    "ntp: [a, b]",
    "token: abc",
    "db::password: hunter3",
    "sshd::config: {Port: 22, PermitRootLogin: 'no'}"
);
const TOKEN: &str = data!(
    "motd: hello",
    "ntp: [a, b]",
    "token: xyz",
    "db::password: hunter2",
    "sshd::config: {Port: 22, PermitRootLogin: 'no'}"
);
const FAILS: &str = data!(
    "motd: '%{nothing}'",
    "ntp: [a, b]",
    "token: abc",
    "db::password: hunter2",
    "sshd::config: {Port: 22, PermitRootLogin: 'no'}"
);
const WEB: &str = "-- data/roles/web.yaml\nport: 81\n";
const DB: &str = "-- data/roles/db.yaml\nport: 5433\n";
const BOTH: &str = "-- data/roles/web.yaml\nport: 81\n-- data/roles/db.yaml\nport: 5433\n";
const COMMENT: &str = "-- data/roles/web.yaml\n# the port\nport: 80\n";
const UNREACHED: &str = "-- data/roles/mail.yaml\nport: 25\n";
const ALL: &str = "on both nodes";

#[test]
fn names_of_keys_and_nodes() {
    check(&[
        Case { rule: "keys: 'mo*'", fires: (MOTD, "1 key on both nodes"), rests: WEB },
        Case { rule: "keys: 're:^po'", fires: (WEB, "1 key on 1 of 2 nodes"), rests: MOTD },
        Case { rule: "keys: [x, 'sshd::config.Permit*']", fires: (ROOT, "1 key on both nodes"), rests: PORT },
        Case { rule: "keys: sshd::config", fires: (NO_SSHD, "1 key on both nodes"), rests: MOTD },
        Case { rule: "keys: sshd::config.Port", fires: (NO_SSHD, "1 key on both nodes"), rests: ROOT },
        Case { rule: "nodes: 'web*'", fires: (WEB, "1 key on 1 of 2 nodes"), rests: DB },
        Case { rule: "nodes: web01, keys: port", fires: (BOTH, "1 key on 1 of 2 nodes"), rests: MOTD },
        Case { rule: "kinds: []", fires: (MOTD, "1 key on both nodes"), rests: COMMENT },
    ]);
}

#[test]
fn kinds_of_change() {
    let one = "1 key on both nodes";
    check(&[
        Case { rule: "kinds: added", fires: (NEW, one), rests: MOTD },
        Case { rule: "kinds: removed", fires: (NO_MOTD, one), rests: LESS_NTP },
        Case { rule: "kinds: [added, changed]", fires: (MOTD, one), rests: NO_MOTD },
        Case { rule: "kinds: reordered", fires: (ORDER, one), rests: NTP },
        Case { rule: "kinds: entry-added", fires: (NTP, one), rests: NEW },
        Case { rule: "kinds: entry-removed", fires: (LESS_NTP, one), rests: NO_MOTD },
        Case { rule: "kinds: type", fires: (PORT, one), rests: ROOT },
        Case { rule: "kinds: secret", fires: (PASSWORD, one), rests: TOKEN },
        Case { rule: "kinds: error", fires: (FAILS, one), rests: MOTD },
    ]);
}

#[test]
fn keys_that_recover() {
    let site = site("policies:\n  - {name: it, level: warning, message: look, kinds: recovered}\n", FAILS);
    assert_eq!(hits(&site), [""; 0]);
    site.files(MOTD);
    site.commit("mended");
    assert_eq!(hits(&site), ["it | hit | warning | 1 key on both nodes"]);
}

#[test]
fn values_that_cannot_be_known() {
    let level = "-- hiera.yaml
version: 5
hierarchy:
  - {name: Unknown, lookup_key: nobody_knows}
  - {name: Common, path: common.yaml}
";
    let rule = "policies:\n  - {name: it, level: warning, message: look, kinds: unknown, keys: motd}\n";
    let policies = &*format!("{rule}backends: {{nobody_knows: {{command: ['false']}}}}\n");
    assert_eq!(hits(&site(policies, level)), ["it | hit | warning | 1 key on both nodes"]);
    assert_eq!(hits(&site(policies, FAILS)), [""; 0]);
}

#[test]
fn values_before_and_after() {
    let one = "1 key on both nodes";
    check(&[
        Case { rule: "after: {equals: bye}", fires: (MOTD, one), rests: NO_MOTD },
        Case { rule: "after: {equals: [a]}", fires: (LESS_NTP, one), rests: NTP },
        Case { rule: "before: {matches: 'h*o'}", fires: (MOTD, one), rests: TOKEN },
        Case { rule: "after: {matches: ['x', 're:^ye']}", fires: (ROOT, one), rests: PORT },
        Case { rule: "before: {type: Integer}, after: {type: String}", fires: (PORT, one), rests: MOTD },
        Case { rule: "before: {type: Numeric}", fires: (WEB, "1 key on 1 of 2 nodes"), rests: MOTD },
        // What comes or goes as a whole is looked into.
        Case { rule: "before: {equals: 22}", fires: (NO_SSHD, one), rests: ROOT },
        // The value as Puppet reads it: `'no'` is a text, and `no` is false.
        Case { rule: "before: {equals: 'no'}", fires: (ROOT, one), rests: PORT },
        Case { rule: "before: {equals: 80}", fires: (WEB, "1 key on 1 of 2 nodes"), rests: DB },
    ]);
    assert_eq!(hits(&site("policies: [{name: it, level: note, message: m, before: {equals: no}}]\n", ROOT)), [""; 0]);
}

#[test]
fn numbers_that_are_exceeded() {
    check(&[
        Case { rule: "more_than: {nodes: 1}", fires: (MOTD, "1 key on both nodes"), rests: WEB },
        Case { rule: "more_than: {nodes: 50%}", fires: (MOTD, "1 key on both nodes"), rests: WEB },
        // A share is of the nodes that the rule is about.
        Case { rule: "nodes: 'web*', more_than: {nodes: 50%}", fires: (WEB, "1 key on 1 of 2 nodes"), rests: DB },
        Case { rule: "more_than: {keys: 1}", fires: (NO_SSHD_AND_MOTD, "2 keys on both nodes"), rests: MOTD },
        Case { rule: "more_than: {keys: 20%}", fires: (NO_SSHD_AND_MOTD, "2 keys on both nodes"), rests: MOTD },
        Case { rule: "more_than: {groups: 1}", fires: (BOTH, "1 key on both nodes"), rests: MOTD },
        Case { rule: "more_than: {nodes: 1, keys: 1}", fires: (NO_SSHD_AND_MOTD, "2 keys on both nodes"), rests: BOTH },
    ]);
    assert!(ALL.contains("both"));
}

const NO_SSHD_AND_MOTD: &str = data!("motd: bye", "ntp: [a, b]", "token: abc", "db::password: hunter2");

#[test]
fn secrets_in_clear_text() {
    let unsealed = "-- data/common.yaml
motd: hello
ntp: [a, b]
token: abc
db::password: hunter2
sshd::config: {Port: 22, PermitRootLogin: 'no'}
port: 1
";
    let clear = "kinds: clear-secret";
    let one = "1 key on both nodes";
    check(&[
        Case { rule: clear, fires: (unsealed, one), rests: PASSWORD },
        Case { rule: "kinds: secret", fires: (unsealed, one), rests: MOTD },
        Case { rule: clear, fires: (TOKEN, one), rests: MOTD },
        Case {
            rule: clear,
            fires: ("-- data/roles/web.yaml\nport: 80\nx::users: {ann: {password: s3cret}}\n", "1 key on 1 of 2 nodes"),
            rests: "-- data/roles/web.yaml\nport: 80\nx::users: {ann: {password: '$6$salt$digest', password_file: /x}}\n",
        },
        Case {
            rule: clear,
            fires: (
                "-- data/roles/web.yaml\nport: 80\nx: \"-----BEGIN RSA PRIVATE KEY-----\\nMII\"\n",
                "1 key on 1 of 2 nodes",
            ),
            rests: "-- data/roles/web.yaml\nport: 80\nx: \"-----BEGIN CERTIFICATE-----\\nMII\"\n",
        },
    ]);
}

#[test]
fn any_new_error() {
    check(&[Case {
        rule: "kinds: error",
        fires: ("-- data/roles/mail.yaml\na: [\n-- data/roles/web.yaml\na: [\n", "6 keys on 1 of 2 nodes"),
        rests: MOTD,
    }]);
    // A file that no node reads, or a revision that nothing can be read of, breaks no single key.
    let policies = "policies:\n  - {name: it, level: failure, message: m, kinds: error}\n";
    let found = hits(&site(policies, "-- hiera.yaml\nversion: 5\nhierarchy: [{name: x, path: nowhere.yaml}]\n"));
    assert_eq!(found, ["it | hit | failure | nothing can be read any more"]);
}

#[test]
fn lines_without_effect() {
    let shadowed = "-- data/common.yaml
motd: hello
ntp: [a, b]
token: abc
db::password: hunter2
sshd::config: {Port: 22, PermitRootLogin: 'no'}
port: 2
lookup_options: {db::password: {convert_to: Sensitive}}
";
    let found = "2 changed lines: data/common.yaml:6, data/common.yaml:6";
    check(&[
        Case { rule: "lines: no-effect", fires: (shadowed, found), rests: COMMENT },
        Case { rule: "lines: [unused, shadowed]", fires: (shadowed, found), rests: MOTD },
        Case { rule: "lines: no-effect, files: data/common.yaml", fires: (shadowed, found), rests: WEB },
        Case { rule: "lines: equal", fires: (COMMENT, "1 changed line: data/roles/web.yaml:1"), rests: shadowed },
        Case {
            rule: "lines: unreached",
            fires: (UNREACHED, "1 changed line: data/roles/mail.yaml:1"),
            rests: shadowed,
        },
    ]);
}

#[test]
fn blind_spots_by_code() {
    let found = "1 blind spot: no known node reads data/roles/mail.yaml";
    check(&[
        Case { rule: "blind_spots: any", fires: (UNREACHED, found), rests: MOTD },
        Case {
            rule: "blind_spots: unreached-file",
            fires: (UNREACHED, found),
            rests: "-- hiera.yaml\nversion: 5\nhierarchy: [{name: C, path: 'common.yaml'}, {name: X, path: x, datadir: /opt}]\n",
        },
        Case {
            rule: "blind_spots: any, files: '*mail*'",
            fires: (UNREACHED, found),
            rests: "-- data/roles/dns.yaml\nport: 53\n",
        },
    ]);
}

#[test]
fn values_of_each_node() {
    let names = "-- data/common.yaml\nmotd: 'I am %{trusted.certname}'\n";
    let policies = "policies:\n  - {name: it, level: note, message: m, keys: motd, after: {matches: '*web01'}}\n";
    assert_eq!(hits(&site(policies, names)), ["it | hit | note | 1 key on 1 of 2 nodes"]);
}

/// The data of `sshd::config`, with lines that follow it.
macro_rules! sshd {
    ($value:literal $(, $line:literal)*) => {
        concat!("-- data/common.yaml\nmotd: hello\nntp: [a, b]\ntoken: abc\ndb::password: hunter2\nport: 1\n",
        "sshd::config: ", $value, "\n", $($line, "\n",)*)
    };
}

#[test]
fn what_cannot_be_looked_at_is_not_judged_and_told() {
    let rule = "keys: sshd::config.PermitRootLogin, after: {matches: 'yes'}";
    let policies = |rule: &str| format!("policies:\n  - {{name: it, level: failure, message: look, {rule}}}\n");
    let told = ["it | hit | failure | 1 key on both nodes; 1 key not judged: secret, unknown or not text"];
    let sensitive = "lookup_options: {sshd::config: {convert_to: Sensitive}}";
    let eyaml = "-- hiera.yaml\nversion: 5\nhierarchy: [{name: E, path: common.yaml, lookup_key: eyaml_lookup_key}]\n";
    let unknown =
        "-- hiera.yaml\nversion: 5\nhierarchy: [{name: U, lookup_key: nobody_knows}, {name: C, path: common.yaml}]\n";
    let block = sshd!("{Port: 22, PermitRootLogin: 'ENC[PKCS7,MIIBeQ==]'}");
    let whole = sshd!("{Port: 22, PermitRootLogin: 'yes'}", "lookup_options: {sshd::config: {convert_to: Sensitive}}");
    for (name, rule, files) in [
        ("a block that nobody can open", rule, format!("{eyaml}{block}")),
        ("a block, by its value", "keys: sshd::config, after: {equals: 'yes'}", format!("{eyaml}{block}")),
        (
            "a block, by its type",
            "keys: sshd::config.PermitRootLogin, after: {type: Boolean}",
            format!("{eyaml}{block}"),
        ),
        (
            "a block, within a value",
            "keys: sshd::config, after: {equals: {Port: 22, PermitRootLogin: 'yes'}}",
            format!("{eyaml}{block}"),
        ),
        ("sensitive as a whole", rule, whole.to_owned()),
        ("sensitive, without a condition", "keys: sshd::config.PermitRootLogin", whole.to_owned()),
        ("of a variable that profiles lack", rule, sshd!("{Port: 22, PermitRootLogin: '%{nope}'}").to_owned()),
        ("of a function that nobody knows", rule, format!("{unknown}{}", sshd!("{Port: 22, PermitRootLogin: 'yes'}"))),
    ] {
        let found = hits(&site(&policies(rule), &files));
        assert_eq!(found, told, "{name}");
    }
    // What is known, or is not meant, or stays, is no concern.
    for (name, rule, files) in [
        ("another key", "keys: motd, after: {matches: 'yes'}", whole.to_owned()),
        ("a clear value", rule, sshd!("{Port: 23, PermitRootLogin: 'no'}").to_owned()),
    ] {
        assert_eq!(hits(&site(&policies(rule), &files)), [""; 0], "{name}");
    }
    // A waiver covers what it names.
    let waiver = "waivers: [{policy: it, keys: sshd::config, reason: known, expires: 2999-01-31}]\n";
    let found = hits(&site(&format!("{}{waiver}", policies(rule)), whole));
    assert_eq!(found, [told[0].replace(" hit ", " waived ")]);
    assert!(whole.contains(sensitive));
}

#[test]
fn what_is_no_text_passes_no_test_of_a_text() {
    let policies = |test: &str| {
        format!("policies:\n  - {{name: it, level: failure, message: look, keys: port, after: {{matches: {test}}}}}\n")
    };
    let files = |value: &str, to: &str| {
        let convert = if to.is_empty() { String::new() } else { format!(", port: {{convert_to: {to}}}") };
        format!("-- data/roles/web.yaml\nport: {value}\nlookup_options: {{x: {{merge: first}}{convert}}}\n")
    };
    let unknown = "it | hit | failure | 1 key on 1 of 2 nodes; 1 key not judged: secret, unknown or not text";
    let known = "it | hit | failure | 1 key on 1 of 2 nodes";
    for (value, to, found) in [
        ("'22'", "URI", unknown),
        ("'MjI='", "Binary", unknown),
        ("!binary 'gDIy'", "", unknown),
        ("'22'", "Timespan", unknown),
        ("'22.0.0'", "SemVer", unknown),
        ("'22'", "Regexp", unknown),
        ("['22']", "'Array[URI]'", unknown),
        ("'22'", "Integer", known),
        ("['22']", "", known),
        ("{a: '22'}", "", known),
        ("'23'", "", ""),
        ("['23']", "", ""),
        ("true", "", ""),
    ] {
        let site = site(&policies("'22'"), &files(value, to));
        let found: Vec<&str> = Some(found).into_iter().filter(|found| !found.is_empty()).collect();
        assert_eq!(hits(&site), found, "{value}, {to}");
    }
}

#[test]
fn added_keys_make_no_share_smaller() {
    let added = (0..40).fold(String::new(), |text, n| text + &format!("z{n}: 1\n"));
    let policies = |rule: &str| format!("policies:\n  - {{name: it, level: failure, message: m, {rule}}}\n");
    for (name, rule, files) in [
        ("in the same file", "kinds: removed, more_than: {keys: 10%}", format!("{NO_SSHD_AND_MOTD}{added}")),
        (
            "where no node sees them",
            "kinds: removed, more_than: {keys: 10%}",
            format!("{NO_SSHD}-- data/roles/none.yaml\n{added}"),
        ),
        ("on one node", "kinds: removed, more_than: {keys: 10%}", format!("{NO_SSHD}-- data/nodes/db01.yaml\n{added}")),
        ("with a glob of keys", "keys: 's*', more_than: {keys: 10%}", format!("{NO_SSHD}{added}")),
        ("added ones alone", "kinds: added, more_than: {keys: 100%}", format!("{NO_MOTD}{added}")),
    ] {
        assert!(hits(&site(&policies(rule), &files))[0].starts_with("it | hit | failure | "), "{name}");
    }
    let few = policies("kinds: changed, more_than: {keys: 25%}");
    assert_eq!(hits(&site(&few, &format!("{MOTD}{added}"))), [""; 0]);
}
