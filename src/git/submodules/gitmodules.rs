//! Reads a `.gitmodules`: a stranger's file in the syntax of git's configuration. Only names and paths are used.
//!
//! Source: git's `config.c` (the syntax) and `submodule-config.c` (`check_submodule_name`, `parse_config`).

use std::collections::BTreeMap;
use std::iter::Peekable;
use std::str::Chars;

/// The name of the file that declares submodules.
pub const GITMODULES: &str = ".gitmodules";

/// Returns the names of submodules by their paths, or none if git could not read the file.
pub fn names_by_path(content: &[u8]) -> BTreeMap<String, String> {
    let text = String::from_utf8_lossy(content);
    let mut reader = Reader(text.strip_prefix('\u{feff}').unwrap_or(&text).chars().peekable());
    let (mut section, mut paths) = (String::new(), BTreeMap::new());
    loop {
        reader.skip_blank();
        let Some(c) = reader.0.peek().copied() else { break };
        let read = match c {
            '#' | ';' => {
                reader.skip_line();
                continue;
            }
            '[' => reader.section().map(|name| (name, None)),
            _ => reader.variable().map(|(key, value)| (section.clone(), value.filter(|_| key == "path"))),
        };
        let Some((name, path)) = read else { return BTreeMap::new() };
        if let Some(path) = path {
            // The first path wins.
            paths.entry(name.clone()).or_insert(path);
        }
        section = name;
    }
    let is_safe = |(name, path): &(String, String)| is_name(name) && !path.starts_with('-');
    paths.into_iter().filter(is_safe).map(|(name, path)| (path, name)).collect()
}

/// Returns true for a name that leads to a folder below that of all submodules. Unlike git, this also refuses `.git`
/// and `.` in names.
fn is_name(name: &str) -> bool {
    name.split(['/', '\\']).all(|part| !matches!(part, "" | "." | "..") && !part.eq_ignore_ascii_case(".git"))
}

struct Reader<'t>(Peekable<Chars<'t>>);

impl Reader<'_> {
    fn skip_blank(&mut self) {
        while self.0.next_if(char::is_ascii_whitespace).is_some() {}
    }

    fn skip_line(&mut self) {
        while self.0.next_if(|c| *c != '\n').is_some() {}
    }

    fn word(&mut self, is_part: impl Fn(char) -> bool) -> String {
        std::iter::from_fn(|| self.0.next_if(|c| is_part(*c))).map(|c| c.to_ascii_lowercase()).collect()
    }

    /// Reads the header of a section, and returns the name of its submodule; an empty one for any other section.
    fn section(&mut self) -> Option<String> {
        self.0.next();
        let word = self.word(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '.'));
        if self.0.next_if_eq(&']').is_some() {
            return Some(String::new());
        }
        while self.0.next_if(|c| matches!(c, ' ' | '\t')).is_some() {}
        self.0.next_if_eq(&'"')?;
        let mut name = String::new();
        loop {
            match self.0.next()? {
                '"' => break,
                '\n' => return None,
                '\\' => name.push(self.0.next()?),
                c => name.push(c),
            }
        }
        self.0.next_if_eq(&']')?;
        Some(if word == "submodule" { name } else { String::new() })
    }

    /// Reads a variable with its value.
    fn variable(&mut self) -> Option<(String, Option<String>)> {
        let key = self.word(|c| c.is_ascii_alphanumeric() || c == '-');
        while self.0.next_if(|c| matches!(c, ' ' | '\t')).is_some() {}
        match self.0.peek() {
            _ if key.is_empty() => None,
            Some('=') => {
                self.0.next();
                self.value().map(|value| (key, Some(value)))
            }
            None | Some('\n' | '\r' | '#' | ';') => Some((key, None)),
            Some(_) => None,
        }
    }

    /// Reads a value to the end of its line.
    fn value(&mut self) -> Option<String> {
        while self.0.next_if(|c| matches!(c, ' ' | '\t')).is_some() {}
        let (mut value, mut len, mut is_quoted) = (String::new(), 0, false);
        while let Some(c) = self.0.next() {
            match c {
                '\n' if is_quoted => return None,
                '\n' => break,
                '"' => is_quoted = !is_quoted,
                '#' | ';' if !is_quoted => {
                    self.skip_line();
                    break;
                }
                '\\' => match self.0.next()? {
                    '\n' => {}
                    '\r' if self.0.next_if_eq(&'\n').is_some() => {}
                    'n' => value.push('\n'),
                    't' => value.push('\t'),
                    c @ ('\\' | '"') => value.push(c),
                    _ => return None,
                },
                c => value.push(c),
            }
            // Blanks at the end are kept in quotes only.
            if is_quoted || !c.is_ascii_whitespace() {
                len = value.len();
            }
        }
        value.truncate(len);
        (!is_quoted).then_some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[(&str, &str)]) {
        let expected = expected.iter().map(|(path, name)| ((*path).to_owned(), (*name).to_owned())).collect();
        assert_eq!(names_by_path(text.as_bytes()), expected, "{text}");
    }

    #[test]
    fn paths_are_read_as_git_does() {
        check("[submodule \"a\"]\n\tpath = data/a\n\turl = ../a\n", &[("data/a", "a")]);
        check("\u{feff}# x\n[core]\n path = no\n[Submodule \"a b\"] PATH=\"x y\" ; z\n", &[("x y", "a b")]);
        check("[submodule \"q\\\"\\\\q\"]\npath = a\\\nb # c\npath = second\n", &[("ab", "q\"\\q")]);
        check("[submodule \"q\\\"q\"]\r\npath = a\\\r\nb # c\r\npath = second\r\n", &[("ab", "q\"q")]);
        check(
            "[submodule \"a\"]\nupdate\npath = a\n[submodule \"b/c\"]\npath = \"b#\"c  \n",
            &[("a", "a"), ("b#c", "b/c")],
        );
        check("[include]\npath = /etc/x\n[submodule]\npath = x\n[submodule \"a\"]\n[core] path = y\n", &[]);
    }

    #[test]
    fn what_git_cannot_read_is_not_read() {
        let good = "[submodule \"a\"]\npath = a\n";
        for bad in ["[submodule \"b\n\"]", "[submodule 'b']", "= x", "path = \"x", "path = \\x", "path x", "[", "ä = 1"]
        {
            check(&format!("{good}{bad}"), &[]);
        }
    }

    #[test]
    fn no_name_leads_elsewhere() {
        for name in
            ["", "..", "../x", "a/../../b", "/etc", "a/..", "a\\\\..\\\\b", ".git", "a/.GiT/b", "a//b", "./a", "a/"]
        {
            check(&format!("[submodule \"{name}\"]\npath = p\n"), &[]);
        }
        for name in ["...", "a..b", "a/b", ".gitx", "git", "-x"] {
            check(&format!("[submodule \"{name}\"]\npath = p\n"), &[("p", name)]);
        }
        check("[submodule \"a\"]\npath = --x\n", &[]);
    }
}
