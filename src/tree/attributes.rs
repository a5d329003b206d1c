//! Git's attributes that make git convert files, so that a checkout differs from the repository.
//!
//! Git reads `.gitattributes` in the folders of a path, unless it is a link. Converted line endings mean nothing to
//! readers of YAML and JSON, and `export-*` concerns only archives.
//!
//! Source: gitattributes(5), `attr.c`.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use regex::bytes::Regex;

use super::{BlobId, CONFIG_LIMIT, Entry, FileTree, TreeError, child, git_pattern, read_config};

/// The name of attributes files.
pub const ATTRIBUTES: &str = ".gitattributes";

/// The attributes that make a checkout convert files.
const CONVERTING: [&str; 3] = ["filter", "ident", "working-tree-encoding"];

/// The extensions of files in which line endings mean nothing.
const WITHOUT_LINES: [&str; 4] = [".yaml", ".yml", ".eyaml", ".json"];

/// The attributes of paths in a tree that make git convert files.
#[derive(Debug, Default)]
pub struct Attributes {
    macros: Option<Read<Macros>>,
    /// The lines that say what is converted, by folder.
    lines_by_folder: HashMap<String, Read<Vec<Line>>>,
    /// The number of these lines.
    count: usize,
}

/// The content of an attributes file, unless it is more than is read.
type Read<T> = std::result::Result<T, OverLimit>;

/// An attributes file has more than is read, so it may make git convert anything.
#[derive(Debug, Clone, Copy)]
struct OverLimit {
    /// The maximum that is read, with its unit.
    limit: (usize, &'static str),
    id: BlobId,
}

impl OverLimit {
    /// Returns words to use in place of attributes.
    fn in_words(self) -> String {
        let (limit, unit) = self.limit;
        format!("more than {limit} {unit}, which are not read")
    }
}

impl Attributes {
    /// Returns the attributes by which a checkout converts the file at `path` of `tree`, as `NAME=VALUE`, or words
    /// that say why they are unknown. Always ask it about the same tree.
    pub fn converting(&mut self, tree: &dyn FileTree, path: &str, id: BlobId) -> Result<Vec<String>, TreeError> {
        let mut decided = BTreeMap::new();
        let folders: Vec<&str> = path.match_indices('/').map(|(at, _)| &path[..at]).collect();
        for folder in folders.into_iter().rev().chain([""]) {
            let inner = path[folder.len()..].trim_start_matches('/').as_bytes();
            self.read_lines_in(tree, folder)?;
            let (macros, lines) = match (&self.macros, self.lines_by_folder.get(folder)) {
                (Some(Ok(macros)), Some(Ok(lines))) => (macros, lines),
                (Some(Err(beyond)), _) | (_, Some(Err(beyond))) => {
                    return Ok(vec![beyond.in_words()]);
                }
                _ => continue,
            };
            for line in lines.iter().rev().filter(|line| line.pattern.is_match(inner)) {
                macros.decide(&line.settings, &mut decided);
            }
            // Attributes of a repository do not apply in another one inside it.
            if tree.commit_at(folder)?.is_some() {
                break;
            }
        }
        let is_converting = |name: &str| CONVERTING.contains(&name) || ENDS_OF_LINES.contains(&name);
        let mut attributes: BTreeMap<String, String> =
            decided.into_iter().filter(|(name, _)| is_converting(name)).collect();
        let is_text = attributes.remove("text").is_none_or(|value| value != UNSET);
        attributes.retain(|_, value| ![UNSET, ""].contains(&&**value));
        if attributes.is_empty() {
            return Ok(Vec::new());
        }
        if let Some(value) = attributes.get("ident") {
            // No other value means anything.
            let is_set = value == SET && tree.read(id)?.windows(3).any(|three| three == b"$Id");
            attributes.retain(|name, _| name != "ident" || is_set);
        }
        let is_plain = WITHOUT_LINES.iter().any(|end| path.ends_with(end));
        attributes.retain(|name, value| name != "eol" || value == "crlf" && is_text && !is_plain);
        Ok(attributes.into_iter().map(|(name, value)| format!("{name}={}", value.trim_start())).collect())
    }

    fn read_lines_in(&mut self, tree: &dyn FileTree, folder: &str) -> Result<(), TreeError> {
        if self.macros.is_none() {
            self.macros = Some(read_lines(tree, ATTRIBUTES)?.map(|lines| Macros::of(&lines)));
        }
        if let Some(Ok(macros)) = self.macros.as_ref().filter(|_| !self.lines_by_folder.contains_key(folder)) {
            if self.count > MAX_KEPT_LINES {
                self.lines_by_folder.clear();
                self.count = 0;
            }
            let found = read_lines(tree, &child(folder, ATTRIBUTES))?.map(|lines| {
                let concerning = lines.iter().filter(|words| macros.concerns(words));
                concerning.filter_map(|words| Line::of(words, macros)).collect::<Vec<_>>()
            });
            self.count += found.as_ref().map_or(0, Vec::len);
            self.lines_by_folder.insert(folder.to_owned(), found);
        }
        Ok(())
    }
}

/// Returns the lines of an attributes file that decide whether files are converted, each as its words.
pub fn converting_lines(tree: &dyn FileTree, path: &str) -> Result<Vec<Vec<String>>, TreeError> {
    let words_and_id = |beyond: OverLimit| vec![vec![beyond.in_words(), beyond.id.to_string()]];
    let macros = match read_lines(tree, ATTRIBUTES)? {
        Ok(lines) => Macros::of(&lines),
        Err(beyond) => return Ok(words_and_id(beyond)),
    };
    let found = read_lines(tree, path)?.map(|lines| lines.into_iter().filter(|words| macros.converts(words)).collect());
    Ok(found.unwrap_or_else(words_and_id))
}

/// The value of an attribute that a line unsets; no word is equal to it. An attribute made unspecified has an empty
/// value.
const UNSET: &str = "\n";

/// The value of an attribute that a line sets without a value; no word is equal to it, either.
const SET: &str = "\nset";

/// The attributes of line endings.
const ENDS_OF_LINES: [&str; 2] = ["eol", "text"];

/// The name of git's built-in macro.
const BINARY: &str = "binary";

/// The maximum number of lines of a file.
const MAX_LINES_OF_FILE: usize = 1_000;

/// The maximum number of lines that are kept: each takes the memory of a pattern.
const MAX_KEPT_LINES: usize = 2_000;

/// The length from which git ignores a line.
const IGNORED_LENGTH: usize = 2048;

/// A line of attributes, with only those that may convert files, including macros.
#[derive(Debug)]
struct Line {
    /// The pattern of the paths below the folder.
    pattern: Regex,
    settings: Vec<(String, String)>,
}

impl Line {
    /// Returns a line that [concerns](Macros::concerns) conversions, if it may match something.
    fn of(words: &[String], macros: &Macros) -> Option<Line> {
        let (pattern, attributes) = words.split_first()?;
        let settings =
            attributes.iter().map(|word| setting(word)).filter(|(name, _)| macros.may_convert(name)).collect();
        Some(Line { pattern: git_pattern(pattern)?, settings })
    }
}

/// Returns the name of the macro that a line defines.
fn macro_name(first: &str) -> Option<&str> {
    first.strip_prefix("[attr]").filter(|name| !name.is_empty())
}

/// Returns the attribute that a word sets, with its value.
fn setting(word: &str) -> (String, String) {
    let unsigned = word.strip_prefix(['-', '!']).unwrap_or(word);
    let (name, value) = unsigned.split_once('=').unwrap_or((unsigned, SET));
    let value = match word.as_bytes().first() {
        Some(b'-') => UNSET,
        Some(b'!') => "",
        _ => value,
    };
    (name.to_owned(), value.to_owned())
}

/// The macros of a tree, which the file at its root defines: names for several attributes.
#[derive(Debug)]
struct Macros(BTreeMap<String, Vec<(String, String)>>);

impl Macros {
    /// Returns the macros that the file at the root defines.
    fn of(of_root: &[Vec<String>]) -> Macros {
        let builtin = (BINARY.to_owned(), vec![setting("-text")]);
        let define = |words: &Vec<String>| {
            let name = macro_name(words.first()?)?.to_owned();
            Some((name, words[1..].iter().map(|word| setting(word)).collect()))
        };
        Macros([builtin].into_iter().chain(of_root.iter().filter_map(define)).collect())
    }

    /// Returns true for a line with a pattern and an attribute that may convert files. Patterns that begin with `!`
    /// are forbidden.
    fn concerns(&self, words: &[String]) -> bool {
        let is_pattern = |first: &String| !first.starts_with('!') && macro_name(first).is_none();
        words.first().is_some_and(is_pattern) && words.iter().skip(1).any(|word| self.may_convert(&setting(word).0))
    }

    fn may_convert(&self, name: &str) -> bool {
        CONVERTING.contains(&name) || ENDS_OF_LINES.contains(&name) || self.0.contains_key(name)
    }

    /// Returns true for a line that sets or unsets an attribute by which files are converted, or that defines such a
    /// macro.
    fn converts(&self, words: &[String]) -> bool {
        let mut pending: Vec<String> = words.iter().skip(1).map(|word| setting(word).0).collect();
        let mut seen = BTreeSet::new();
        while let Some(name) = pending.pop() {
            if CONVERTING.contains(&name.as_str()) {
                return true;
            }
            let inner = self.0.get(&name).filter(|_| seen.insert(name));
            pending.extend(inner.into_iter().flatten().map(|(name, _)| name.clone()));
        }
        false
    }

    /// Decides attributes that are not decided yet, the last one first, as git does. A macro applies where it is set.
    fn decide(&self, settings: &[(String, String)], decided: &mut BTreeMap<String, String>) {
        let mut pending: Vec<&(String, String)> = settings.iter().collect();
        while let Some((name, value)) = pending.pop() {
            if self.may_convert(name) && !decided.contains_key(name) {
                decided.insert(name.clone(), value.clone());
                pending.extend(self.0.get(name).filter(|_| value == SET).into_iter().flatten());
            }
        }
    }
}

/// Returns the lines of an attributes file, each as its words, without comments.
fn read_lines(tree: &dyn FileTree, path: &str) -> Result<Read<Vec<Vec<String>>>, TreeError> {
    let Some(Entry::File(id)) = tree.entry(path)? else { return Ok(Ok(Vec::new())) };
    let content = match read_config(tree, path, id) {
        Err(error) if error.is_too_large => return Ok(Err(OverLimit { limit: (CONFIG_LIMIT, "bytes"), id })),
        content => content?,
    };
    let text = String::from_utf8_lossy(&content);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let lines = text.split('\n').filter(|line| line.len() < IGNORED_LENGTH).map(words).filter(|words| is_valid(words));
    let lines: Vec<_> = lines.take(MAX_LINES_OF_FILE + 1).collect();
    Ok(if lines.len() > MAX_LINES_OF_FILE {
        Err(OverLimit { limit: (MAX_LINES_OF_FILE, "lines"), id })
    } else {
        Ok(lines)
    })
}

/// The characters between words.
const BLANKS: [char; 3] = [' ', '\t', '\r'];

/// Returns true for a line that git does not ignore: a single invalid name makes it ignore the whole line.
fn is_valid(words: &[String]) -> bool {
    let is_name = |name: &str| {
        !name.is_empty()
            && !name.starts_with('-')
            && !name.starts_with("builtin_")
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte))
    };
    words.split_first().is_some_and(|(first, others)| {
        !first.starts_with('#')
            && macro_name(first).is_none_or(is_name)
            && others.iter().all(|word| is_name(&setting(word).0))
    })
}

/// Returns the words of a line, of which the first may be in quotes.
fn words(line: &str) -> Vec<String> {
    let (quoted, rest) = match line.trim_start_matches(BLANKS).strip_prefix('"').and_then(unquoted) {
        Some((pattern, rest)) => (Some(pattern), rest),
        None => (None, line),
    };
    let others = rest.split(BLANKS).filter(|word| !word.is_empty());
    quoted.into_iter().chain(others.map(str::to_owned)).collect()
}

/// Returns the text up to the closing quote, and what follows it; `None` if git does not accept the quoting.
///
/// Source: git's `quote.c` (`unquote_c_style`).
fn unquoted(text: &str) -> Option<(String, &str)> {
    let (mut pattern, mut bytes) = (Vec::new(), text.bytes().enumerate());
    loop {
        let byte = match bytes.next()? {
            (at, b'"') => return Some((String::from_utf8_lossy(&pattern).into_owned(), &text[at + 1..])),
            (_, b'\\') => match bytes.next()?.1 {
                b'a' => 7,
                b'b' => 8,
                b't' => b'\t',
                b'n' => b'\n',
                b'v' => 11,
                b'f' => 12,
                b'r' => b'\r',
                sign @ (b'\\' | b'"') => sign,
                first @ b'0'..=b'3' => {
                    let mut digit = || bytes.next().map(|(_, sign)| sign).filter(|sign| matches!(sign, b'0'..=b'7'));
                    (first & 7) << 6 | (digit()? & 7) << 3 | digit()? & 7
                }
                _ => return None,
            },
            (_, byte) => byte,
        };
        pattern.push(byte);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::MemoryTree;

    fn converting(lines: &str, path: &str) -> Vec<String> {
        let tree = MemoryTree::from_fixture(&format!("-- .gitattributes\n{lines}\n"));
        Attributes::default().converting(&tree, path, BlobId::of(b"")).unwrap()
    }

    #[test]
    fn patterns_match_as_in_git() {
        for (pattern, path) in [
            ("*.yaml", "data/a.yaml"),
            ("data/*.yaml", "data/a.yaml"),
            ("/data/**/a.yaml", "data/x/y/a.yaml"),
            ("*.[yY]aml", "a.Yaml"),
            ("[!b].yaml", "data/a.yaml"),
            ("[[:lower:]_-].yaml", "a.yaml"),
            ("\"data/a b.yaml\"", "data/a b.yaml"),
            ("\"data/\\303\\270.yaml\"", "data/\u{f8}.yaml"),
            ("a\\*.yaml", "a*.yaml"),
            ("data/a?.yaml", "data/ab.yaml"),
        ] {
            assert_eq!(converting(&format!("{pattern} filter=x"), path), ["filter=x"], "{pattern}");
        }
        for (pattern, path) in [
            ("*.[jJ]pg", "a.yaml"),
            ("\"some pictures/*\"", "data/a.yaml"),
            ("data/", "data/a.yaml"),
            ("data", "data/a.yaml"),
            ("x/*.yaml", "data/a.yaml"),
            ("!*.yaml", "a.yaml"),
            ("[", "a.yaml"),
            ("data[!a]a.yaml", "data/a.yaml"),
            ("a\\*.yaml", "ab.yaml"),
        ] {
            assert_eq!(converting(&format!("{pattern} filter=x"), path), [""; 0], "{pattern}");
        }
    }

    #[test]
    fn no_line_hides_what_git_converts() {
        // As `git check-attr` reports.
        let long = format!("*.yaml -filter {}", "a".repeat(2100));
        for lines in [
            &*long,
            "*.yaml -filter %bad",
            "*.yaml -filter builtin_x",
            "*.yaml -filter -",
            "*.yaml -filter\u{c}",
            "*.yaml\u{a0}x -filter",
            "\"data/nodes/\\x.yaml\" -filter",
            "[attr]m -filter\n*.yaml -m",
            "[attr]m -filter\n*.yaml !m",
            "[attr]m -filter\n*.yaml m=1",
            "[attr]m -filter\n*.yaml m\n*.yaml -m",
            "[attr]m -filter filter=f\n*.yaml m",
            "[attr]m -filter\n[attr]n m filter=f\n*.yaml n",
            "d**.yaml -filter",
            "data**x.yaml -filter",
            "/**x.yaml -filter",
            "data/nodes/[[:word:]].yaml -filter",
            "data/nodes/[[:nodes:]x].yaml -filter",
        ] {
            assert_eq!(converting(&format!("*.yaml filter=f\n{lines}"), "data/nodes/x.yaml"), ["filter=f"], "{lines}");
        }
        for lines in [
            "\u{feff}*.yaml filter=f",
            "data/nodes/[x-].yaml filter=f",
            "data/nodes/[z-ax].yaml filter=f",
            "data/nodes/[+--x].yaml filter=f",
            "data/nodes/[[:x].yaml filter=f",
            "data/nodes/[x[:alpha].yaml filter=f",
            "data/nodes/[a-\\z].yaml filter=f",
            "[attr]binary filter=f\n*.yaml binary",
            "[attr]text filter=f\n*.yaml text",
            "da**/x.yaml filter=f",
        ] {
            assert_eq!(converting(lines, "data/nodes/x.yaml"), ["filter=f"], "{lines}");
        }
        assert_eq!(converting("[\u{f8}]?.yaml filter=f", "\u{f8}.yaml"), ["filter=f"]);
    }

    #[test]
    fn more_lines_than_are_read_may_convert_anything() {
        let few = |count: usize| format!("# x\n{}", "a filter=x\n".repeat(count));
        assert_eq!(converting(&few(MAX_LINES_OF_FILE), "data/x.yaml"), [""; 0]);
        for lines in [
            few(MAX_LINES_OF_FILE + 1),
            few(300_000),
            "[attr]m filter=f\n".repeat(MAX_LINES_OF_FILE + 1),
            "* -filter\n".repeat(MAX_LINES_OF_FILE + 1),
            (0..300_000).fold(String::new(), |text, n| text + &format!("[attr]m{n} m{}\n", n + 1)),
        ] {
            assert_eq!(
                converting(&lines, "data/x.yaml"),
                ["more than 1000 lines, which are not read"],
                "{}",
                lines.len()
            );
        }
        let lines = "a filter=x\n".repeat(MAX_LINES_OF_FILE - 1);
        let folder = |n: usize| format!("-- {}.gitattributes\n{lines}*.yaml filter={n}\n", "d/".repeat(n));
        let tree = MemoryTree::from_fixture(&(0..4).map(folder).collect::<String>());
        let mut attributes = Attributes::default();
        for depth in [0, 3, 0] {
            let path = format!("{}x.yaml", "d/".repeat(depth));
            let found = attributes.converting(&tree, &path, BlobId::of(b"")).unwrap();
            assert_eq!(found, [format!("filter={depth}")], "{depth}");
            assert!(attributes.count <= MAX_KEPT_LINES + MAX_LINES_OF_FILE);
        }
    }

    #[test]
    fn what_is_unset_is_not_converted() {
        for lines in [
            "*.yaml -filter",
            "data/** -filter",
            "**/x.yaml !filter",
            "data/n**/x.yaml -filter",
            "[attr]m -filter\n*.yaml m",
            "[attr]n -filter\n[attr]m n\n*.yaml m",
            "*.yaml -filter=x",
            "*.yaml filter=g -filter",
        ] {
            assert_eq!(converting(&format!("*.yaml filter=f\n{lines}"), "data/nodes/x.yaml"), [""; 0], "{lines}");
        }
    }
}
