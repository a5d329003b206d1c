//! The pages and their fenced blocks.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The languages of blocks. All but `text` and `python` are tested.
const LANGUAGES: [&str; 8] = ["console", "sh", "yaml", "json", "jq", "sql", "text", "python"];

/// The most columns of a line.
const COLUMNS: usize = 140;

/// The root of the project.
pub(super) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A fenced block of a page.
#[derive(Debug)]
pub(super) struct Block {
    /// The line of the fence, counted from 1.
    pub(super) line: usize,
    /// The language that the fence names.
    pub(super) language: String,
    /// The columns before each of its lines, as in a list.
    pub(super) indent: usize,
    /// Its lines, without the indent.
    pub(super) text: String,
    /// The comments since the block before, such as `site: NAME` or `as: KIND`.
    pub(super) comments: Vec<(String, String)>,
}

impl Block {
    /// Returns what the last comment of this name says.
    pub(super) fn comment(&self, name: &str) -> Option<&str> {
        self.comments.iter().rev().find(|(key, _)| key == name).map(|(_, value)| &**value)
    }
}

/// Returns the paths of all pages with their text, relative to the root.
pub(super) fn pages() -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut pending = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs"].map(|name| root().join(name)).to_vec();
    while let Some(path) = pending.pop() {
        if path.is_dir() {
            pending.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|extension| extension == "md") {
            let name = path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
            let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
            found.insert(name, text);
        }
    }
    found
}

/// Returns the text of a page.
pub(super) fn page(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Returns the fenced blocks of a page.
pub(super) fn blocks(text: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut comments = Vec::new();
    let mut open: Option<Block> = None;
    for (number, line) in (1..).zip(text.lines()) {
        let trimmed = line.trim_start();
        if let Some(block) = &mut open {
            if trimmed.starts_with("```") {
                blocks.extend(open.take());
            } else {
                block.text.push_str(line.get(block.indent..).unwrap_or_default());
                block.text.push('\n');
            }
        } else if let Some(language) = trimmed.strip_prefix("```") {
            let (language, comments) = (language.trim().to_owned(), std::mem::take(&mut comments));
            let indent = line.len() - trimmed.len();
            open = Some(Block { line: number, language, indent, text: String::new(), comments });
        } else if let Some(comment) = trimmed.strip_prefix("<!-- ").and_then(|rest| rest.strip_suffix(" -->")) {
            let (name, value) = comment.split_once(": ").unwrap_or((comment, ""));
            comments.push((name.to_owned(), value.to_owned()));
        }
    }
    assert!(open.is_none(), "a block never ends: {open:?}");
    blocks
}

/// Fails with what is wrong, if anything.
#[track_caller]
pub(super) fn none(wrong: &[String]) {
    assert!(wrong.is_empty(), "{} faults\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_block_is_of_a_language_that_is_tested() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for (path, text) in pages() {
        for block in blocks(&text) {
            count += 1;
            if !LANGUAGES.contains(&&*block.language) {
                wrong.push(format!("{path}:{}: no test knows a block of {:?}", block.line, block.language));
            }
            for (name, _) in &block.comments {
                if !["site", "as", "prints"].contains(&&**name) {
                    wrong.push(format!("{path}:{}: no test knows the comment {name:?}", block.line));
                }
            }
        }
    }
    none(&wrong);
    assert!(count > 40, "{count} blocks");
}

/// Returns the numbers of lines that are too wide. Those that a program prints may be.
fn wide(text: &str) -> Vec<usize> {
    let is_printed = |block: &&Block| ["console", "json"].contains(&&*block.language);
    let blocks = blocks(text);
    let printed =
        blocks.iter().filter(is_printed).flat_map(|block| block.line..=block.line + block.text.lines().count());
    let printed: BTreeSet<usize> = printed.collect();
    let is_wide = |(number, line): &(usize, &str)| line.chars().count() > COLUMNS && !printed.contains(number);
    (1..).zip(text.lines()).filter(is_wide).map(|(number, _)| number).collect()
}

#[test]
fn lines_are_not_wide() {
    let pages = pages().into_iter().chain([("SECURITY.md".to_owned(), page("SECURITY.md"))]);
    let wide = pages.filter(|(path, _)| path != "CHANGELOG.md").flat_map(|(path, text)| {
        wide(&text).into_iter().map(move |number| format!("{path}:{number}: more than {COLUMNS} columns"))
    });
    none(&wide.collect::<Vec<_>>());
}

#[test]
fn wide_lines_are_seen_but_where_a_program_prints_them() {
    let line = "x ".repeat(COLUMNS / 2);
    let text = format!("{line}\n{line}x\n```console\n{line}x\n```\n| {line} |\n```yaml\n{line}x\n```\n");
    assert_eq!(wide(&text), [2, 6, 8]);
}

#[test]
fn readme_stays_short() {
    let lines = page("README.md").lines().count();
    assert!(lines <= 150, "README.md has {lines} lines");
}

#[test]
fn blocks_are_found_with_their_comments() {
    let text = "a\n<!-- site: demo -->\n\n```console\n$ x\n```\n- b\n\n  ```yaml\n  a:\n    b\n  ```\n";
    let found = blocks(text);
    let summary: Vec<_> = found.iter().map(|block| (block.line, &*block.language, &*block.text)).collect();
    assert_eq!(summary, [(4, "console", "$ x\n"), (9, "yaml", "a:\n  b\n")]);
    assert_eq!((found[0].comment("site"), found[1].comment("site")), (Some("demo"), None));
}
