//! The table of a comment: files that come or go, lists, keys that change alike, and values from elsewhere.

use crate::support::Sandbox;
use crate::support::terminal::SITE;

/// Returns the comment on a commit that runs `commands` in the site with the files `before`.
fn comment(before: &str, commands: &str) -> String {
    let site = Sandbox::of(&format!("{SITE}{before}"));
    site.sh(commands);
    site.commit("second");
    site.hierad("diff --format markdown").ok().to_owned()
}

/// Returns the rows of the table.
fn rows(comment: &str) -> Vec<&str> {
    comment
        .lines()
        .skip_while(|line| *line != "|---|---|---|")
        .skip(1)
        .take_while(|line| line.starts_with('|'))
        .collect()
}

#[test]
fn files_that_come_and_go_are_called_so() {
    let told = comment("-- data/nodes/web01.yaml\nport: 8080\n", "git rm -q data/nodes/web01.yaml");
    assert!(told.contains("· 1 deleted file, 1 changed line, with an effect\n"), "{told}");
    assert_eq!(rows(&told), ["| `web01` | `port`: `8080` → `80` | `data/nodes/web01.yaml:1` (deleted) |"]);
    let told =
        comment("", "mkdir data/nodes; echo 'port: 8080' > data/nodes/web01.yaml; echo '# -' >> data/common.yaml");
    assert!(told.contains("· 2 files (1 new), 2 changed lines, "), "{told}");
    assert_eq!(rows(&told), ["| `web01` | `port`: `80` → `8080` | `data/nodes/web01.yaml:1` (new file) |"]);
}

#[test]
fn the_file_that_takes_over_is_named() {
    let told = comment("-- data/nodes/web01.yaml\nport: 8080\n", "git rm -q data/nodes/web01.yaml");
    assert!(told.contains("@@ port @@ data/nodes/web01.yaml:1 -> data/roles/web.yaml:1\n"), "{told}");
}

#[test]
fn rows_tell_what_lists_and_hashes_lose_and_gain() {
    let before = "-- data/nodes/web01.yaml\nntp: [a, b, c]\nusers: {eve: 1, bob: 2, al: 3}\n";
    let after = "printf 'ntp: [d, b]\\nusers: {bob: 3, joe: 1, ann: 2, sue: 3}\\n' > data/nodes/web01.yaml";
    let told = comment(before, after);
    let [row] = rows(&told)[..] else { panic!("{told}") };
    assert!(row.contains("`users`: loses `.eve`, `.al`; gains `.joe`, `.ann` and 1 more; 1 other difference"), "{row}");
    assert!(row.contains("`ntp`: loses <code>&#34;c&#34;</code>; 1 other difference"), "{row}");
}

#[test]
fn keys_that_change_alike_have_a_line_each() {
    let told = comment("", "printf 'a::x: 1\\n# one\\na::y: 1\\na::z: 1\\n' >> data/common.yaml");
    assert!(told.contains("`a::x` `:3`, `a::y` `:5`, `a::z` `:6`\n"), "{told}");
}

#[test]
fn added_keys_that_fail_are_not_said_to_fail_now() {
    let told = comment("", "printf 'x: \"%%{none(1)}\"\ny: \"%%{none(1)}\"\n' >> data/common.yaml");
    assert!(rows(&told)[0].contains("**2 added keys fail**"), "{told}");
    let told = comment("-- data/common.yaml\nx: 1\ny: 1\n", "sed -i 's/1/\"%{none(1)}\"/' data/common.yaml");
    assert!(rows(&told)[0].contains("**2 keys fail**"), "{told}");
}
