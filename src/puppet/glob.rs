//! `glob` and `globs`: Ruby's `Dir.glob` over a tree, in its order.
//!
//! Folders are walked depth first with their names sorted. `**/` goes through folders that are neither hidden nor
//! links; only a dot matches a leading dot. Braces are expanded, with everything after them, when the walk reaches
//! them; after a `**/` they are compared with each name, and are lost below anything but a folder. Work is limited,
//! so that no pattern runs forever: see [`GlobError`].
//!
//! Source: Ruby's `dir.c` (`ruby_brace_expand`, `glob_helper`).

mod names;

use std::collections::BTreeSet;

use self::names::Comparison;

use crate::tree::{Astray, Entry, FileTree, Target, TreeError, below, child, follow_counted, is_link};

/// The maximum length of a pattern: no operating system has longer paths.
const LENGTH_LIMIT: usize = 4096;

/// The maximum number of patterns that braces may stand for.
const BRACES_LIMIT: usize = 10_000;

/// The maximum work for one pattern: names in folders, once for each part of the pattern that they are compared with,
/// names in links, and the paths that are followed.
const WORK_LIMIT: usize = 1_000_000;

/// The maximum work for all patterns of a hierarchy, which have equal shares of it, and for all paths of profiles.
pub const SHARED_LIMIT: usize = 10_000_000;

/// The maximum length, in bytes, of a file's name on Linux.
const NAME_LIMIT: usize = 255;

/// The number of bytes of a path, or of compared characters, that count as one name.
const BYTES_A_NAME: usize = 16;

/// The walk moves to a larger stack when less than this is left.
const SPARE_STACK: usize = 128 << 10;
const MORE_STACK: usize = 2 << 20;

/// A failure to find the files of a pattern.
#[derive(Debug, Clone, thiserror::Error)]
pub enum GlobError {
    /// The tree cannot be read.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// The pattern asks for too much.
    #[error("the pattern {pattern:.80} {problem}")]
    TooMuch {
        /// The pattern.
        pattern: String,
        /// A description of the excess.
        problem: String,
    },
    /// Ruby fails, in these words.
    #[error("{0}")]
    Ruby(String),
}

/// One part of a pattern between slashes.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Part {
    /// The text as written.
    text: String,
    kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    /// `**/`
    Recursive,
    /// A name without wildcards. An empty one, between two slashes, is not the name of any entry.
    Plain(String),
    /// A name with wildcards.
    Magic(Vec<char>),
    /// A name with braces, as the names that it stands for.
    Braces(Vec<Vec<char>>),
}

/// Returns the paths in `tree` that `pattern` matches, files and links that are not folders, in the order of
/// `Dir.glob`.
pub fn glob(tree: &dyn FileTree, pattern: &str) -> Result<Vec<String>, GlobError> {
    Ok(Walk::new(tree, WORK_LIMIT).all(pattern)?.paths)
}

/// Returns the same as [`glob`] for one of `patterns` patterns, each of which has an equal share of the work.
pub fn glob_of_many(tree: &dyn FileTree, pattern: &str, patterns: usize) -> Result<Found, GlobError> {
    Walk::new(tree, WORK_LIMIT.min(SHARED_LIMIT / patterns.max(1))).all(pattern)
}

/// Returns the same as [`glob`] for one of several patterns, whose total work is bounded by the initial value of
/// `left`.
pub fn glob_within(tree: &dyn FileTree, pattern: &str, left: &mut usize) -> Result<Vec<String>, GlobError> {
    let mut walk = Walk::new(tree, WORK_LIMIT.min(*left));
    let found = walk.all(pattern);
    *left = left.saturating_sub(walk.work);
    Ok(found?.paths)
}

/// Returns the folders in `tree` that `pattern` matches.
pub fn glob_folders(tree: &dyn FileTree, pattern: &str) -> Result<Found, GlobError> {
    Walk { finds_folders: true, ..Walk::new(tree, WORK_LIMIT) }.all(pattern)
}

/// Returns true if a path has characters that make it a pattern.
pub fn is_pattern(path: &str) -> bool {
    path.contains(['*', '?', '[', '{'])
}

/// The result of a walk.
#[derive(Debug, Default)]
pub struct Found {
    /// The paths that match.
    pub paths: Vec<String>,
    /// The reasons why more may match: the places where the walk leads out of the tree, or to nothing in it.
    pub outside: BTreeSet<Astray>,
}

struct Walk<'t> {
    tree: &'t dyn FileTree,
    finds_folders: bool,
    work: usize,
    limit: usize,
    has_too_many_braces: bool,
    found: Found,
}

impl<'t> Walk<'t> {
    fn new(tree: &'t dyn FileTree, limit: usize) -> Walk<'t> {
        Walk { tree, finds_folders: false, work: 0, limit, has_too_many_braces: false, found: Found::default() }
    }

    fn all(&mut self, pattern: &str) -> Result<Found, GlobError> {
        let too_much = |problem: String| GlobError::TooMuch { pattern: pattern.to_owned(), problem };
        if pattern.len() > LENGTH_LIMIT {
            return Err(too_much(format!("is longer than {LENGTH_LIMIT} bytes")));
        }
        let root = self.tree.root();
        if let Some(inner) = below(root, pattern) {
            self.below(root, &[inner.to_owned()], true)?;
        } else {
            let expanded = expand_braces(pattern);
            self.has_too_many_braces = expanded.is_none();
            let expanded = expanded.unwrap_or_default();
            let inner = expanded.iter().filter_map(|expanded| below(root, expanded).map(str::to_owned));
            self.below(root, &inner.collect::<Vec<String>>(), true)?;
        }
        if self.has_too_many_braces {
            return Err(too_much(format!("stands for more than {BRACES_LIMIT} others")));
        }
        if self.work > self.limit {
            return Err(too_much(format!("leads to more than {} files or comparisons of names", self.limit)));
        }
        Ok(std::mem::take(&mut self.found))
    }

    /// Finds what each of `patterns` matches below `path`; `is_first` is as for [`Walk::visit`].
    fn below(&mut self, path: &str, patterns: &[String], is_first: bool) -> Result<(), GlobError> {
        for pattern in patterns {
            // A slash at the end asks for folders only, but the way to them may fail.
            let found_before = (!self.finds_folders && pattern.ends_with('/')).then(|| std::mem::take(&mut self.found));
            match parse(pattern) {
                Some(parts) => self.visit(path, &[&parts], is_first)?,
                None => self.has_too_many_braces = true,
            }
            self.found = found_before.unwrap_or_else(|| std::mem::take(&mut self.found));
        }
        Ok(())
    }

    /// Visits `path`; `patterns` are the parts that are left to match below it. `is_first` is true if no name on the
    /// way was compared with wildcards.
    fn visit(&mut self, path: &str, patterns: &[&[Part]], is_first: bool) -> Result<(), GlobError> {
        // A pattern of many `./` nests as deep as it is long.
        stacker::maybe_grow(SPARE_STACK, MORE_STACK, || self.visit_here(path, patterns, is_first))
    }

    fn visit_here(&mut self, path: &str, patterns: &[&[Part]], is_first: bool) -> Result<(), GlobError> {
        self.work += 1 + path.len() / BYTES_A_NAME;
        if self.work > self.limit || self.has_too_many_braces {
            return Ok(());
        }
        if expands_braces(patterns) {
            let pattern: Vec<&str> = patterns[0].iter().map(|part| part.text.as_str()).collect();
            match expand_braces(&pattern.join("/")) {
                Some(expanded) => {
                    self.work += expanded.len();
                    return self.below(path, &expanded, is_first);
                }
                None => self.has_too_many_braces = true,
            }
        }
        // Names in links are part of the work.
        let target = follow_counted(self.tree, path, &mut self.work)?;
        let exists = match &target {
            Target::Folder(_) | Target::File(..) => true,
            // Such a link exists, and reading it fails. Whether the target of one that leaves the tree exists is
            // unknown.
            Target::Dangling(_) | Target::Loop(_) => is_link(self.tree, path, &mut self.work)?,
            Target::Absent | Target::Outside(_) => false,
        };
        let matches_here = patterns.iter().copied().any(is_end);
        if matches_here && exists && matches!(target, Target::Folder(_)) == self.finds_folders {
            self.found.paths.push(path.to_owned());
        }
        let is_listed = patterns.iter().any(|p| matches!(kind(p), Some(Kind::Recursive | Kind::Magic(_))));
        // Folders that do not exist are skipped, but listing an impossible path fails, and names below it may be
        // tried.
        let obstacle = match &target {
            Target::Loop(_) => Some("Too many levels of symbolic links"),
            Target::Absent if has_long_name(path) => Some("File name too long"),
            _ => None,
        };
        if let Some(obstacle) = obstacle {
            return match is_listed {
                true if matches_here => Ok(()),
                true => Err(GlobError::Ruby(format!("{obstacle} - {path}"))),
                false => self.visit_plain(path, patterns, is_first),
            };
        }
        let folder = match target {
            Target::Folder(folder) => folder,
            Target::Dangling(_) if exists => return Ok(()),
            Target::Dangling(why) | Target::Outside(why) => {
                self.found.outside.insert(why);
                return Ok(());
            }
            Target::File(..) | Target::Absent | Target::Loop(_) => return Ok(()),
        };
        if is_listed {
            self.visit_entries((path, &folder), patterns, is_first)
        } else {
            self.visit_plain(path, patterns, is_first)
        }
    }

    /// Visits the entries of a folder, which is at `path` by the names in the pattern.
    fn visit_entries(
        &mut self,
        (path, folder): (&str, &str),
        patterns: &[&[Part]],
        is_first: bool,
    ) -> Result<(), GlobError> {
        let entries = self.entries(folder, patterns, is_first)?;
        self.work += entries.len();
        for (name, entry) in entries {
            let mut next = self.steps(patterns, &name, &entry);
            // All are tails of one pattern: those of the same length are equal.
            next.sort_by_key(|p| std::cmp::Reverse(p.len()));
            next.dedup_by_key(|p| p.len());
            if !next.is_empty() {
                self.visit(&child(path, &name), &next, false)?;
            }
        }
        Ok(())
    }

    /// Returns the patterns that are left of `patterns` below the entry `name`.
    fn steps<'p>(&mut self, patterns: &[&'p [Part]], name: &str, entry: &Entry) -> Vec<&'p [Part]> {
        // Using up everything that is left exceeds the limit.
        let left = self.limit.saturating_sub(self.work) + 1;
        let mut comparison = Comparison { left: left.saturating_mul(BYTES_A_NAME) };
        let before = comparison.left;
        let next = patterns.iter().flat_map(|p| step(p, name, entry, &mut comparison)).collect();
        self.work += patterns.len() - 1 + (before - comparison.left).div_ceil(BYTES_A_NAME);
        next
    }

    /// Returns the entries of a folder. The first folder that is listed is an entry of itself, unless the walk would
    /// then never end.
    fn entries(&self, folder: &str, patterns: &[&[Part]], is_first: bool) -> Result<Vec<(String, Entry)>, TreeError> {
        let mut entries = self.tree.list(folder)?;
        if is_first && !patterns.iter().any(|p| kind(p) == Some(&Kind::Recursive)) {
            entries.insert(0, (".".to_owned(), Entry::Folder));
        }
        Ok(entries)
    }

    /// Visits names without wildcards, which need no listing.
    fn visit_plain(&mut self, path: &str, patterns: &[&[Part]], is_first: bool) -> Result<(), GlobError> {
        let mut names: Vec<&str> = Vec::new();
        for pattern in patterns {
            if let Some(Kind::Plain(name)) = kind(pattern)
                && !names.contains(&name.as_str())
            {
                names.push(name);
            }
        }
        for name in names {
            let matches = |p: &&[Part]| matches!(kind(p), Some(Kind::Plain(n)) if n == name);
            let next: Vec<&[Part]> = patterns.iter().filter(|p| matches(p)).map(|p| &p[1..]).collect();
            let path = if name.is_empty() { path.to_owned() } else { child(path, name) };
            self.visit(&path, &next, is_first)?;
        }
        Ok(())
    }
}

/// Returns the kind of the first part of a pattern.
fn kind(pattern: &[Part]) -> Option<&Kind> {
    pattern.first().map(|part| &part.kind)
}

/// Returns true if a pattern matches the place that was reached: at its end, or with a last `**/`.
fn is_end(pattern: &[Part]) -> bool {
    matches!(pattern, [] | [Part { kind: Kind::Recursive, .. }])
}

fn has_long_name(path: &str) -> bool {
    path.split('/').any(|name| name.len() > NAME_LIMIT)
}

/// Returns true if braces are expanded here: not if an earlier pattern goes through all folders.
fn expands_braces(patterns: &[&[Part]]) -> bool {
    let before = patterns.iter().take_while(|pattern| kind(pattern) != Some(&Kind::Recursive));
    before.into_iter().any(|pattern| matches!(kind(pattern), Some(Kind::Braces(_))))
}

/// Returns the patterns that are left of `pattern` below the entry `name`: none, one or two.
fn step<'p>(pattern: &'p [Part], name: &str, entry: &Entry, comparison: &mut Comparison) -> Vec<&'p [Part]> {
    let mut next = Vec::new();
    let mut pattern = pattern;
    if kind(pattern) == Some(&Kind::Recursive) {
        if *entry == Entry::Folder && !name.starts_with('.') {
            next.push(pattern);
        }
        pattern = &pattern[1..];
    }
    let matched = match kind(pattern) {
        Some(Kind::Plain(plain)) => plain == name,
        Some(Kind::Magic(magic)) => comparison.matches(magic, name),
        Some(Kind::Braces(names)) => names.iter().any(|magic| comparison.matches(magic, name)),
        Some(Kind::Recursive) | None => false,
    };
    if matched {
        next.push(&pattern[1..]);
    }
    next
}

/// Expands the first brace with alternatives, then those of the results, in order. Returns `None` if there are too
/// many.
fn expand_braces(pattern: &str) -> Option<Vec<String>> {
    let mut results = Vec::new();
    let mut pending = vec![pattern.to_owned()];
    while let Some(pattern) = pending.pop() {
        if results.len() + pending.len() >= BRACES_LIMIT {
            return None;
        }
        match first_brace(&pattern) {
            Some((open, commas, close)) => {
                let mut cuts = vec![open];
                cuts.extend(commas);
                cuts.push(close);
                let alternatives = cuts
                    .windows(2)
                    .map(|w| format!("{}{}{}", &pattern[..open], &pattern[w[0] + 1..w[1]], &pattern[close + 1..]));
                pending.extend(alternatives.collect::<Vec<_>>().into_iter().rev());
            }
            // A brace that is not closed matches nothing.
            None if has_braces(&pattern) => {}
            None => results.push(pattern),
        }
    }
    Some(results)
}

/// Returns the positions of the first outer `{`, its commas and its `}`.
fn first_brace(pattern: &str) -> Option<(usize, Vec<usize>, usize)> {
    let (mut open, mut depth, mut commas) = (None, 0, Vec::new());
    let mut chars = pattern.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => _ = chars.next(),
            '{' => {
                depth += 1;
                open.get_or_insert(at);
            }
            ',' if depth == 1 => commas.push(at),
            '}' if depth > 0 => {
                depth -= 1;
                if depth == 0 {
                    return Some((open?, commas, at));
                }
            }
            _ => {}
        }
    }
    None
}

/// Returns the parts of a pattern, or `None` if braces stand for too many names.
fn parse(pattern: &str) -> Option<Vec<Part>> {
    let mut parts: Vec<Part> = Vec::new();
    let mut names = names(pattern).into_iter().peekable();
    while let Some(name) = names.next() {
        let is_behind_recursive = self::kind(&parts[parts.len().saturating_sub(1)..]) == Some(&Kind::Recursive);
        if name.is_empty() && (is_behind_recursive || names.peek().is_none()) {
            continue;
        }
        let name = without_open_escape(name);
        let kind = if name == "**" && names.peek().is_some() {
            Kind::Recursive
        } else if has_braces(name) {
            Kind::Braces(expand_braces(name)?.iter().map(|name| name.chars().collect()).collect())
        } else if has_any(name, &['*', '?', '[']) {
            Kind::Magic(name.chars().collect())
        } else {
            Kind::Plain(unescape(name))
        };
        if kind != Kind::Recursive || !is_behind_recursive {
            parts.push(Part { text: name.to_owned(), kind });
        }
    }
    if let Some(last) = parts.last_mut().filter(|_| pattern.ends_with('/')) {
        last.text.push('/');
    }
    Some(parts)
}

/// Splits a pattern at slashes outside braces and brackets.
fn names(pattern: &str) -> Vec<&str> {
    let (mut names, mut start, mut is_open) = (Vec::new(), 0, false);
    let mut characters = pattern.char_indices();
    while let Some((at, c)) = characters.next() {
        match c {
            '[' | '{' => is_open = true,
            ']' | '}' => is_open = false,
            '/' if !is_open => {
                names.push(&pattern[start..at]);
                start = at + 1;
            }
            '\\' => _ = characters.next(),
            _ => {}
        }
    }
    names.push(&pattern[start..]);
    names
}

fn has_braces(name: &str) -> bool {
    has_any(name, &['{'])
}

/// Returns true if a name has one of the characters, not escaped by a backslash.
fn has_any(name: &str, wanted: &[char]) -> bool {
    let mut characters = name.chars();
    while let Some(c) = characters.next() {
        match c {
            '\\' => _ = characters.next(),
            c if wanted.contains(&c) => return true,
            _ => {}
        }
    }
    false
}

/// Returns a name without a backslash at its end that escapes nothing: Ruby ignores it.
fn without_open_escape(name: &str) -> &str {
    let backslashes = name.len() - name.trim_end_matches('\\').len();
    &name[..name.len() - backslashes % 2]
}

fn unescape(name: &str) -> String {
    let mut out = String::new();
    let mut chars = name.chars();
    while let Some(c) = chars.next() {
        out.extend(if c == '\\' { chars.next() } else { Some(c) });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::MemoryTree;

    fn tree() -> MemoryTree {
        MemoryTree::from_fixture("-- d/a.yaml\n-- d/b.yaml\n-- d/sub/c.yaml\n-- d/again -> .\n-- d/more -> .\n")
    }

    #[test]
    fn every_end_of_a_pattern_counts_once() {
        let found = glob(&tree(), "d/**/*/**/?.yaml").unwrap();
        let linked = ["d/again/a.yaml", "d/again/b.yaml", "d/again/sub/c.yaml"];
        assert_eq!(found[..3], linked);
        assert_eq!(found[3..], ["d/more/a.yaml", "d/more/b.yaml", "d/more/sub/c.yaml", "d/sub/c.yaml"]);
    }

    #[test]
    fn a_pattern_without_end_is_refused() {
        let refused = |pattern: &str, why: &str| {
            let error = glob(&tree(), pattern).unwrap_err().to_string();
            assert!(error.contains(why), "{pattern:.50}: {error}");
        };
        refused(&"{a,b}".repeat(60), "stands for more than");
        refused(&format!("{}*", "{,}".repeat(1000)), "stands for more than");
        refused(&"./".repeat(3000), "is longer");
        refused(&format!("d/{}*.yaml", "*/".repeat(40)), "leads to more than");
        assert!(
            glob_of_many(&tree(), "d/*.yaml", 1000).is_ok() && glob_of_many(&tree(), "d/*.yaml", 10_000_000).is_err()
        );
        assert_eq!(glob(&tree(), &("**/".repeat(1000) + "c*")).unwrap(), ["d/sub/c.yaml"]);
        assert_eq!(glob(&tree(), &("./".repeat(1000) + "d/c*")).unwrap(), Vec::<String>::new());
    }

    #[test]
    fn names_are_compared_within_a_limit() {
        let mut tree = MemoryTree::new();
        (0..1000).for_each(|n| tree.add(&format!("d/{}{n}", "a".repeat(240)), b""));
        let set = format!("[{}]", "a".repeat(1000));
        let sets = glob(&tree, &format!("d/*{set}*{set}*{set}b")).unwrap_err().to_string();
        assert!(sets.contains("leads to more than"), "{sets}");
        // Below each folder, as many tails of the pattern may be left as there are folders above.
        (0..6000).for_each(|n| tree.add(&format!("e/{}{n}", "a/".repeat(250)), b""));
        let deep = glob(&tree, &format!("e/{}", "**/a/".repeat(800) + "b*")).unwrap_err().to_string();
        assert!(deep.contains("leads to more than"), "{deep}");
        assert_eq!(glob(&tree, &format!("d/{}7", "a*".repeat(100))).unwrap().len(), 100);
        assert_eq!(glob(&tree, "d/**/**/**/*9").unwrap().len(), 100);
    }

    #[test]
    fn names_in_links_are_part_of_the_limit() {
        let site = |target: &str| {
            let mut tree = MemoryTree::new();
            tree.add("l/x.yaml", b"");
            for name in ["l/a", "l/b"] {
                tree.insert(name, Entry::Link(target.to_owned()));
            }
            tree
        };
        let long = ["../l/".repeat(800) + ".", "../l/".repeat(10), "./".repeat(2000), "../l/none/".into()];
        for target in &long {
            for pattern in ["/?".repeat(17), "/{a,b}".repeat(17), "/[ab]".repeat(17), "/*".repeat(30)] {
                let tree = site(target);
                let mut walk = Walk::new(&tree, WORK_LIMIT);
                walk.below("", &[format!("l{pattern}/x.yaml")], true).unwrap();
                // No step costs more than the links of one path.
                assert!(walk.work < WORK_LIMIT + 40_000, "{target:.20} {pattern}: {}", walk.work);
            }
        }
        let cost = |target: &str| {
            let tree = site(target);
            let mut walk = Walk::new(&tree, WORK_LIMIT);
            walk.below("", &["l/?/?/x.yaml".into()], true).unwrap();
            (walk.work, walk.found.paths.len())
        };
        // A path for each way through the links.
        let (short, found) = cost("../l");
        assert_eq!((found, cost(&long[0]).1), (4, 4));
        assert!(short < 300 && cost(&long[0]).0 > 10_000, "{short}");
    }

    #[test]
    fn a_slash_at_the_end_asks_for_folders() {
        assert_eq!(glob(&tree(), "d/*/").unwrap(), Vec::<String>::new());
        assert_eq!(glob_folders(&tree(), "d/{sub,a.yaml}/").unwrap().paths, ["d/sub"]);
    }
}
