//! Attacks by name, each with its refusal.

use std::fmt::Write;

use hierad::puppet::document::FaultKind;
use hierad::puppet::{hocon, json};

use super::repositories::{honest, honest_with, run, site};
use crate::support::extent::full_or;
use crate::support::{Sandbox, work};

#[test]
fn hocon_that_refers_to_itself_line_by_line_is_an_error() {
    work::here(hocon_that_refers_to_itself);
}

fn hocon_that_refers_to_itself() {
    for line in ["a += 1\n", "a = ${?a} {k1: 1}\n", "a = ${?a} [1]\n"] {
        for lines in full_or(&[100, 1000, 8000][..], &[100]) {
            let parsed = hocon::parse(format!("z = 1\n{}", line.repeat(*lines)).as_bytes());
            let fault = parsed.fault.unwrap_or_else(|| panic!("{line}"));
            assert!(matches!(fault.kind, FaultKind::Limit | FaultKind::Outside), "{line}: {fault:?}");
        }
    }
    let merged =
        (0..full_or(8000, 2000)).fold(String::new(), |text, n| text + &format!("a {{k{n} = ${{?a.k{}}}}}\n", n + 1));
    assert!(hocon::parse(merged.as_bytes()).fault.is_some());
    // As many as the gem itself is done with in some seconds.
    let few = hocon::parse("a += 1\n".repeat(10).as_bytes());
    assert_eq!(json::compact(&few.value), "{\"a\":[1,1,1,1,1,1,1,1,1,1]}");
}

/// Makes a commit whose tree has `hostile`, below which each of forty trees names the next one twice. Short names are
/// the hardest for hierad, as they count least; long ones are used where the program is not optimised.
pub(crate) fn doubling_trees(site: &Sandbox) -> String {
    let name = "n".repeat(full_or(1, 250));
    let script = format!(
        "blob=$(printf 'evil: 1\\n' | git hash-object -w --stdin); tree=$(printf '100644 blob %s\\tf.yaml\\n' $blob | git mktree); \
         for i in $(seq 40); do tree=$(printf '040000 tree %s\\t{name}a\\n040000 tree %s\\t{name}b\\n' $tree $tree | git mktree); done; \
         (git ls-tree HEAD; printf '040000 tree %s\\thostile\\n' $tree) | git mktree"
    );
    let tree = site.sh(&script);
    let commit = site.git(["commit-tree", "-p", "HEAD", "-m", "hostile", tree.trim()]);
    site.git(["update-ref", "refs/heads/main", commit.trim()]);
    commit
}

#[test]
fn trees_that_name_the_next_one_twice_are_refused() {
    let site = site();
    doubling_trees(&site);
    for arguments in ["render --format ndjson", "diff HEAD~1 HEAD", "check"] {
        run(&site, arguments).is(1).says(&["more entries than hierad reads", "hostile/"]);
    }
    // A lookup reads no more of the tree than it needs.
    let printed = run(&site, "lookup honest --node good");
    assert_eq!(printed.ok(), "--- 2\n");
}

#[test]
fn files_are_judged_by_their_size_before_they_are_read() {
    let site = site();
    let before = honest(&site);
    // It is small in git.
    site.sh("head -c 700000000 /dev/zero | git hash-object -w --stdin > ../id; git update-index --add --cacheinfo 100644,$(cat ../id),data/nodes/bad.yaml; git commit -qm big");
    assert_eq!(honest(&site), before);
    let printed = run(&site, "render --format ndjson");
    assert!(
        printed.out.contains(
            "unknown to hierad: data/nodes/bad.yaml: the file has 700000000 bytes, and 67108864 at most are read"
        ),
        "{printed:?}"
    );
    // So are those of the work tree, and of links.
    site.sh("git reset -q --hard HEAD~1; truncate -s 4G data/nodes/bad.yaml");
    let printed = run(&site, "diff --format json HEAD .");
    assert!(printed.out.contains("the file has 4294967296 bytes"), "{printed:?}");
    site.sh("rm data/nodes/bad.yaml; git update-index --add --cacheinfo 120000,$(cat ../id),data/nodes/bad.yaml; git commit -qm link");
    assert_eq!(honest(&site), before);
    // The limit is a setting.
    std::fs::write(site.beside("small.yaml"), "limits: {file: 10}\n").unwrap();
    let config = site.beside("small.yaml").display().to_string();
    run(&site, &format!("render --format ndjson --config {config}")).is(1).says(&["10 at most are read"]);
}

#[test]
fn files_are_judged_by_their_memory_before_they_are_parsed() {
    let site = site();
    let before = honest(&site);
    std::fs::write(site.beside("small.yaml"), "limits: {memory: 512MiB}\n").unwrap();
    let config = site.beside("small.yaml").display().to_string();
    let files = [
        ("yaml", format!("evil: [{}]\n", "1,".repeat(1_000_000))),
        ("json", format!("{{\"evil\": [{}1]}}", "[],".repeat(1_000_000))),
        ("conf", "evil = [\"a\"\"b\"]\n".repeat(100_000)),
    ];
    for (extension, content) in files {
        let path = format!("data/nodes/bad.{extension}");
        site.write(&path, &content);
        site.sh("git add -A; git commit -qm tiny");
        let printed = run(&site, &format!("render --format ndjson --config {config}"));
        let said = format!("unknown to hierad: {path}: the file may take ");
        assert!(printed.out.contains(&said) && printed.out.contains("and files at most 128 MiB"), "{printed:?}");
        assert_eq!(honest_with(&site, &format!("--config {config}")), before, "{extension}");
        site.sh("git rm -qf data/nodes/bad.*; git commit -qm none");
    }
}

#[test]
fn a_large_hierarchy_is_not_parsed() {
    let site = site();
    site.sh("(cat hiera.yaml; yes '#' | head -c 8388608) > ../long; mv ../long hiera.yaml; git commit -qam long");
    run(&site, "render --format ndjson").is(1).says(&["hiera.yaml", "8388608 at most are read of its kind"]);
}

#[test]
fn paths_of_many_variables_are_told_in_short() {
    let many: Vec<String> = (0..300).map(|n| format!("%{{variable_{n}}}/")).collect();
    let many = many.concat();
    let few = "%{unset}/x.yaml";
    for (level, is_told) in [
        ("path: '@'", true),
        ("paths: ['@', '@y']", false),
        ("glob: '@'", true),
        ("globs: ['@', 'a@']", false),
        ("datadir: '@', path: common.yaml", false),
        ("uri: 'https://x/@', data_hash: other", false),
    ] {
        for path in [&*many, few] {
            let site = site();
            let hierarchy =
                format!("hierarchy: [{{name: odd, {}}}, {{name: c, path: common.yaml}}]", level.replace('@', path));
            site.write("hiera.yaml", format!("version: 5\n{hierarchy}\n"));
            site.commit("a hierarchy");
            let printed = run(&site, "check --format json");
            assert!(printed.out.len() + printed.err.len() < 400_000, "{level}: {}", printed.out.len());
            // What is short is told in whole.
            let whole = format!("'{few}' is resolved with an empty text in its place");
            assert_eq!(
                printed.out.contains(&whole),
                is_told && path == few && level.contains("'@'"),
                "{level}: {printed:?}"
            );
        }
    }
}

/// Keys that each take about as many steps as one may, or, where the program is not optimised, the part of that which
/// the limits of the run are of hierad's own.
fn costly_keys(count: usize) -> String {
    let mut data = String::from("evil_a: [x]\n");
    let last = full_or('r', 'n');
    ('b'..=last).zip('a'..).for_each(|(key, before)| {
        let item = format!("\"%{{alias('evil_{before}')}}\"");
        _ = writeln!(data, "evil_{key}: [{item}, {item}]");
    });
    (0..count).for_each(|n| _ = writeln!(data, "evil{n}: \"%{{alias('evil_{last}')}}\""));
    data
}

#[test]
fn costly_keys_leave_cheap_ones_their_answers() {
    let site = site();
    let before = honest(&site);
    let common = std::fs::read_to_string(site.root().join("data/common.yaml")).unwrap();
    site.write("data/common.yaml", common + &costly_keys(60));
    site.commit("hostile");
    let steps = full_or(2_000_000, 2_000_000 / 16);
    std::fs::write(site.beside("limits.yaml"), format!("limits: {{steps: {steps}}}\n")).unwrap();
    let config = format!("--config {}", site.beside("limits.yaml").display());
    let printed = run(&site, &format!("render --format ndjson {config}"));
    assert!(printed.out.contains("the budget of the run is used up"), "{:.1000}", printed.out);
    let threads = |count: usize| run(&site, &format!("render --format ndjson {config} --threads {count}")).out;
    assert_eq!(threads(1), threads(4));
    let verdict = run(&site, &format!("diff --format json {config} HEAD~1 HEAD"));
    assert_ne!(verdict.json()["verdict"], "no_change");
    let with_limits = honest_with(&site, &config);
    assert_eq!(with_limits, before);
}

#[test]
fn thousands_of_costly_keys_end_soon() {
    let site = site();
    let common = std::fs::read_to_string(site.root().join("data/common.yaml")).unwrap();
    site.write("data/common.yaml", common + &costly_keys(full_or(5000, 500)));
    site.commit("hostile");
    // All together, they may take as much as ten of them would.
    let printed = run(&site, "render --format ndjson --node good");
    assert!(printed.out.contains("\"honest\":2,"), "{:.1000}", printed.out);
    assert!(printed.out.contains("the budget of the run is used up"), "{:.1000}", printed.out);
}

#[test]
fn deep_merges_of_many_levels_are_part_of_the_budget() {
    let site = site();
    let entries = |from: usize| (0..2000).fold(String::new(), |text, n| text + &format!("k{}: 1, ", from + n));
    let mut levels = String::from("version: 5\nhierarchy:\n");
    for n in 0..full_or(200, 40) {
        _ = writeln!(levels, "- {{name: l{n}, path: {n}.yaml}}");
        site.write(&format!("modules/evil/data/{n}.yaml"), format!("evil::a: {{{}}}\n", entries(n * 2000)));
    }
    levels.push_str("- {name: c, path: common.yaml}\n");
    site.write("modules/evil/hiera.yaml", levels);
    site.write("modules/evil/data/common.yaml", "lookup_options: {'evil::a': {merge: deep}}\n");
    site.commit("hostile");
    let printed = run(&site, "render --format ndjson --node good");
    let said = full_or("steps of interpolation and merging", "the budget of the run is used up");
    assert!(printed.out.contains(said), "{:.1000}", printed.out);
    assert!(printed.out.contains("\"honest\":2"), "{:.1000}", printed.out);
}

#[test]
fn a_run_has_an_end_in_time_and_memory() {
    let site = site();
    let common = std::fs::read_to_string(site.root().join("data/common.yaml")).unwrap();
    site.write("data/common.yaml", common + &costly_keys(200));
    site.commit("hostile");
    std::fs::write(site.beside("limits.yaml"), "limits: {time: 0.001}\n").unwrap();
    let config = format!("--config {}", site.beside("limits.yaml").display());
    let printed = run(&site, &format!("render --format ndjson {config}"));
    assert!(printed.out.contains("the run takes more than 0.001 seconds"), "{:.1000}", printed.out);
    std::fs::write(site.beside("limits.yaml"), "limits: {memory: 1MiB}\n").unwrap();
    let printed = run(&site, &format!("render --format ndjson {config}"));
    if cfg!(target_os = "linux") {
        assert!(printed.out.contains("hierad uses nearly all of its 1 MiB of memory"), "{:.1000}", printed.out);
    }
}

#[test]
fn copies_that_substitutions_make_are_part_of_the_text() {
    let times = |text: &str, count: usize| vec![text; count].join(",");
    let lines = |count: usize, line: &dyn Fn(usize) -> String| (0..count).map(line).collect::<Vec<_>>().concat();
    let keys = |count: usize, value: &str| lines(count, &|n| format!("k{n}:{value}\n"));
    let long = format!("a = {{{}:1}}\n", "k".repeat(1_000_000));
    let objects = format!("a = {{{}}}\n", keys(2000, "1"));
    let list = format!("a = [{}]\n", times("1", 2000));
    for hostile in [
        format!("{long}b = [{}]", times("${a}", 300)),
        format!("{long}b = {{{}}}", keys(300, "${a}")),
        format!("{long}b = ${{a}}\nc = [{}]", times("[${b}]", 300)),
        format!("{long}b = [{}]", times("${a} {x: 1}", 300)),
        format!("x.{long}b = [{}]", times("${x}", 300)),
        format!("{objects}b = [{}]", times("${a}", 2000)),
        format!("{objects}b = [{}]", times("${a} {x: 1}", 500)),
        format!("{list}b = [{}]", times("${a}", 2000)),
        format!("{list}b = {{{}}}", keys(2000, "${a}")),
        format!("a = {{{}}}\nx = 1\nb = [{}]", keys(50, "${x}"), times("${a}", 10_000)),
    ] {
        let parsed = hocon::parse(hostile.as_bytes());
        let fault = parsed.fault.unwrap_or_else(|| panic!("{hostile:.100}"));
        assert_eq!(fault.kind, FaultKind::Limit, "{hostile:.100}: {fault:?}");
        assert!(
            ["the key b", "the key c"].iter().any(|key| fault.text.contains(key)),
            "{hostile:.100}: {}",
            fault.text
        );
    }
    // As much as people write: defaults for many services, many keys, long keys, keys of many parts.
    for honest in [
        format!("a = {{{}}}\n{}", keys(50, "[x, y]"), lines(500, &|n| format!("s{n} = ${{a}} {{port: {n}}}\n"))),
        keys(full_or(1_000_000, 100_000), "{a: [1]}"),
        lines(full_or(500_000, 100_000), &|n| format!("a{n}.b.c.d.e = 1\n")),
        format!("{}:1\n{}:2\n", "k".repeat(5_000_000), "l".repeat(5_000_000)),
    ] {
        let parsed = hocon::parse(honest.as_bytes());
        assert!(parsed.fault.is_none(), "{honest:.100}: {:?}", parsed.fault);
    }
}
