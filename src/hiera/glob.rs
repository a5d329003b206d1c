//! `glob` and `globs`: Ruby's `Dir.glob` over a tree, in its order.
//!
//! Source: Ruby's `dir.c` (`ruby_brace_expand`, `glob_helper`): braces are expanded first; then folders are walked depth
//! first with their names sorted; `**/` goes through folders that are not hidden and not links; a leading dot needs a dot.

use crate::tree::{Entry, FileTree, Target, TreeError, child, follow};

/// The most files that one pattern may name.
const LIMIT: usize = 100_000;

/// One part of a pattern between slashes.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    /// `**/`
    Recursive,
    /// A name without wildcards.
    Plain(String),
    /// A name with wildcards.
    Magic(Vec<char>),
}

/// The paths in `tree` that `pattern` matches, files and links that are no folders, in the order of `Dir.glob`.
pub fn glob(tree: &dyn FileTree, pattern: &str) -> Result<Vec<String>, TreeError> {
    Walk { tree, folders: false, found: Vec::new() }.all(pattern)
}

/// The folders in `tree` that `pattern` matches.
pub fn glob_folders(tree: &dyn FileTree, pattern: &str) -> Result<Vec<String>, TreeError> {
    Walk { tree, folders: true, found: Vec::new() }.all(pattern)
}

/// Whether a path has characters that make it a pattern.
pub fn is_pattern(path: &str) -> bool {
    path.contains(['*', '?', '[', '{'])
}

struct Walk<'t> {
    tree: &'t dyn FileTree,
    folders: bool,
    found: Vec<String>,
}

impl Walk<'_> {
    fn all(mut self, pattern: &str) -> Result<Vec<String>, TreeError> {
        for expanded in expand_braces(pattern) {
            let parts = parse(&expanded);
            self.visit("", &[&parts])?;
        }
        Ok(self.found)
    }

    /// Visits `path`, for which `patterns` are what is left to match below it.
    fn visit(&mut self, path: &str, patterns: &[&[Part]]) -> Result<(), TreeError> {
        let target = follow(self.tree, path)?;
        let there = match &target {
            Target::Folder(_) | Target::File(..) => true,
            // A dangling link is there, and reading it fails; one that leaves the tree is nothing that can be known.
            Target::Absent => matches!(self.tree.entry(path)?, Some(Entry::Link(_))),
            Target::Outside(_) => false,
        };
        let done = patterns.iter().any(|p| p.is_empty());
        if done && there && matches!(target, Target::Folder(_)) == self.folders && self.found.len() < LIMIT {
            self.found.push(path.to_owned());
        }
        let Target::Folder(folder) = target else { return Ok(()) };
        if patterns.iter().any(|p| matches!(p.first(), Some(Part::Recursive | Part::Magic(_)))) {
            for (name, entry) in self.entries(&folder, patterns)? {
                let next: Vec<&[Part]> = patterns.iter().flat_map(|p| step(p, &name, &entry)).collect();
                if !next.is_empty() {
                    self.visit(&child(path, &name), &next)?;
                }
            }
            return Ok(());
        }
        self.visit_plain(path, patterns)
    }

    /// The entries of a folder; itself is one of them, unless that would go on for ever.
    fn entries(&self, folder: &str, patterns: &[&[Part]]) -> Result<Vec<(String, Entry)>, TreeError> {
        let mut entries = self.tree.list(folder)?;
        if !patterns.iter().any(|p| p.first() == Some(&Part::Recursive)) {
            entries.insert(0, (".".to_owned(), Entry::Folder));
        }
        Ok(entries)
    }

    /// Names without wildcards need no listing.
    fn visit_plain(&mut self, path: &str, patterns: &[&[Part]]) -> Result<(), TreeError> {
        let mut names: Vec<&str> = Vec::new();
        for pattern in patterns {
            if let Some(Part::Plain(name)) = pattern.first()
                && !names.contains(&name.as_str())
            {
                names.push(name);
            }
        }
        for name in names {
            let matches = |p: &&[Part]| matches!(p.first(), Some(Part::Plain(n)) if n == name);
            let next: Vec<&[Part]> = patterns.iter().filter(|p| matches(p)).map(|p| &p[1..]).collect();
            self.visit(&child(path, name), &next)?;
        }
        Ok(())
    }
}

/// What is left of `pattern` below the entry `name`: nothing, one or two patterns.
fn step<'p>(pattern: &'p [Part], name: &str, entry: &Entry) -> Vec<&'p [Part]> {
    let mut next = Vec::new();
    let mut pattern = pattern;
    if pattern.first() == Some(&Part::Recursive) {
        if *entry == Entry::Folder && !name.starts_with('.') {
            next.push(pattern);
        }
        pattern = &pattern[1..];
    }
    let matched = match pattern.first() {
        Some(Part::Plain(plain)) => plain == name,
        Some(Part::Magic(magic)) => matches_name(magic, name),
        _ => false,
    };
    if matched {
        next.push(&pattern[1..]);
    }
    next
}

/// Expands the first brace with alternatives, and what comes of it again, in order.
fn expand_braces(pattern: &str) -> Vec<String> {
    let mut results = Vec::new();
    let mut pending = vec![pattern.to_owned()];
    while let Some(pattern) = pending.pop() {
        match first_brace(&pattern) {
            Some((open, commas, close)) if results.len() + pending.len() < LIMIT => {
                let mut cuts = vec![open];
                cuts.extend(commas);
                cuts.push(close);
                let alternatives = cuts
                    .windows(2)
                    .map(|w| format!("{}{}{}", &pattern[..open], &pattern[w[0] + 1..w[1]], &pattern[close + 1..]));
                pending.extend(alternatives.collect::<Vec<_>>().into_iter().rev());
            }
            _ => results.push(pattern),
        }
    }
    results
}

/// The positions of the first outer `{`, its commas and its `}`.
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

fn parse(pattern: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut names = pattern.split('/').filter(|name| !name.is_empty()).peekable();
    while let Some(name) = names.next() {
        if name == "**" && names.peek().is_some() {
            if parts.last() != Some(&Part::Recursive) {
                parts.push(Part::Recursive);
            }
        } else if name.contains(['*', '?', '[']) {
            parts.push(Part::Magic(name.chars().collect()));
        } else {
            parts.push(Part::Plain(unescape(name)));
        }
    }
    parts
}

fn unescape(name: &str) -> String {
    let mut out = String::new();
    let mut chars = name.chars();
    while let Some(c) = chars.next() {
        out.extend(if c == '\\' { chars.next() } else { Some(c) });
    }
    out
}

/// Ruby's `fnmatch` for one name.
fn matches_name(pattern: &[char], name: &str) -> bool {
    let name: Vec<char> = name.chars().collect();
    let literal_dot = pattern.first() == Some(&'.') || pattern.starts_with(&['\\', '.']);
    if name.first() == Some(&'.') && !literal_dot {
        return false;
    }
    // The classic two-pointer match: a `*` remembers where to come back to.
    let (mut p, mut n, mut back) = (0, 0, None);
    loop {
        if p < pattern.len() && pattern[p] == '*' {
            back = Some((p + 1, n));
            p += 1;
            continue;
        }
        if n == name.len() && p == pattern.len() {
            return true;
        }
        let step = if n < name.len() { match_one(&pattern[p..], name[n]) } else { None };
        if let Some(length) = step {
            p += length;
            n += 1;
        } else {
            match back {
                Some((at, from)) if from < name.len() => {
                    back = Some((at, from + 1));
                    p = at;
                    n = from + 1;
                }
                _ => return false,
            }
        }
    }
}

/// How much of `pattern` the character uses up; nothing if it does not match.
fn match_one(pattern: &[char], c: char) -> Option<usize> {
    match pattern.first()? {
        '?' => Some(1),
        '[' => match_set(pattern, c),
        '\\' if pattern.len() > 1 => (pattern[1] == c).then_some(2),
        other => (*other == c).then_some(1),
    }
}

fn match_set(pattern: &[char], c: char) -> Option<usize> {
    let mut at = 1;
    let negated = matches!(pattern.get(at), Some('!' | '^'));
    at += usize::from(negated);
    let mut matched = false;
    while *pattern.get(at)? != ']' {
        let low = set_char(pattern, &mut at)?;
        let high = if pattern.get(at) == Some(&'-') && pattern.get(at + 1).is_some_and(|c| *c != ']') {
            at += 1;
            set_char(pattern, &mut at)?
        } else {
            low
        };
        matched |= (low..=high).contains(&c);
    }
    (matched != negated).then_some(at + 1)
}

fn set_char(pattern: &[char], at: &mut usize) -> Option<char> {
    if pattern.get(*at) == Some(&'\\') && *at + 1 < pattern.len() {
        *at += 1;
    }
    let c = pattern.get(*at).copied();
    *at += 1;
    c
}
