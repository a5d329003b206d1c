//! The modules that deployment files name: a Puppetfile, or the `.fixtures.yml` of a module's own tests.
//!
//! Source: r10k's `puppetfile.rb` (`add_module`, `set_moduledir`), `module/git.rb` (`initialize`, `validate_ref`) and
//! `module/local.rb`; g10k's `puppetfile.go`.

use std::collections::{BTreeSet, HashSet};
use std::sync::{Arc, LazyLock};

use regex::Regex;

use super::loader::read;
use crate::diagnostic::Place;
use crate::puppet::pathname::join;
use crate::puppet::yaml;
use crate::tree::{FileTree, TreeError, child, folder_of};
use crate::value::{Hash, Value};

/// A module that is named somewhere, whether it exists or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclaredModule {
    /// Its name, without its author's.
    pub name: Arc<str>,
    /// The place where it is named.
    pub place: Place,
    /// Everything declared about it, such as its version, as words separated by single blanks.
    pub declaration: Arc<str>,
    /// The folder of the repository that it is deployed to, if that is known.
    pub folder: Option<String>,
    /// The place in git that it is deployed from, if that is written plainly.
    pub source: Option<GitSource>,
}

/// A place in git that a module is deployed from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitSource {
    /// The address of the repository.
    pub url: String,
    /// The names of the revision, as git resolves them. The first that exists is used.
    pub revisions: Vec<String>,
}

/// The name of a Puppetfile.
pub const PUPPETFILE: &str = "Puppetfile";

/// The default folder of modules, next to a Puppetfile.
const MODULES: &str = "modules";

/// The content of Puppetfiles.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Deployment {
    /// The modules that they name plainly.
    pub modules: Vec<DeclaredModule>,
    /// All statements if some are not understood, since the files are Ruby programs. Plain modules appear as their
    /// names.
    pub program: Vec<String>,
    /// True if some statements, except those that set a folder, are not understood.
    pub is_dynamic: bool,
    /// The words in the statements that are not understood, which may read files.
    words: HashSet<String>,
}

impl Deployment {
    /// Reads the Puppetfiles of the environment at `root`. The whole repository is deployed, even if that is a folder
    /// in it, so its top is searched, too.
    pub fn read(tree: &dyn FileTree, root: &str) -> Result<Deployment, TreeError> {
        let mut deployment = Deployment::default();
        for path in BTreeSet::from([child(root, PUPPETFILE), PUPPETFILE.to_owned()]) {
            if let Some(content) = read(tree, &path)? {
                deployment.add(&content, &path);
            }
        }
        Ok(deployment)
    }

    /// Adds the statements of the Puppetfile at `path`.
    fn add(&mut self, content: &[u8], path: &str) {
        let mut modules = path_inside(folder_of(path), MODULES);
        let statements = statements(&String::from_utf8_lossy(content));
        let is_program = !statements.iter().all(|statement| statement.is_understood);
        for Statement { line, text, name, is_understood } in statements {
            if !is_understood && module_folder(&text).is_none() {
                self.is_dynamic = true;
                self.words.extend(text.split(is_between_words).map(str::to_owned));
            }
            if is_program {
                self.program.push(name.as_deref().filter(|_| is_understood).unwrap_or(&text).to_owned());
            }
            if let Some(folder) = module_folder(&text) {
                modules = path_inside(folder_of(path), folder);
            }
            let Some(name) = name else { continue };
            let options = if is_understood { Options::of(&text) } else { Options::default() };
            // Nothing is deployed for such a module: it is in the repository, or does not exist.
            if options.is_local {
                continue;
            }
            let folder = match &options.install_path {
                Some(folder) => path_inside(folder_of(path), folder),
                None => modules.clone(),
            };
            self.modules.push(DeclaredModule {
                folder: folder.map(|folder| child(&folder, &name)),
                source: options.source(),
                place: Place::line(path, line),
                declaration: text.into(),
                name,
            });
        }
    }

    /// Returns true if the program may read the file at `path`, since it names that or a folder around it. Manifests
    /// and templates are never read.
    pub fn may_read(&self, path: &str) -> bool {
        let is_for_others = NEVER_READ_EXTENSIONS.iter().any(|end| path.ends_with(end));
        let mut names = path.split('/').map(|name| name.split('.').next().unwrap_or(name));
        !self.words.is_empty()
            && !is_for_others
            && (path.starts_with("Puppetfile.") || names.any(|name| name.len() > 2 && self.words.contains(name)))
    }
}

/// The extensions of files that no Puppetfile reads.
const NEVER_READ_EXTENSIONS: [&str; 4] = [".pp", ".epp", ".erb", ".md"];

/// Returns the folder of a statement that does nothing but say where modules are installed.
fn module_folder(text: &str) -> Option<&str> {
    static FOLDER: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r#"^moduledir[ (]+(?:'([^'\\]*)'|"([^"\\#]*)")\)?$"#).ok());
    let found = FOLDER.as_ref()?.captures(text)?;
    found.get(1).or(found.get(2)).map(|folder| folder.as_str())
}

/// Returns a path below a folder of the repository, or `None` if it leads out of the repository.
fn path_inside(base: &str, path: &str) -> Option<String> {
    let path = join(base, path);
    let is_inside = !path.starts_with('/') && !path.split('/').any(|name| name == "..");
    is_inside.then(|| path.split('/').filter(|name| !matches!(*name, "" | ".")).collect::<Vec<_>>().join("/"))
}

/// The options of a module, by meaning.
#[derive(Debug, Default)]
struct Options {
    git: Option<String>,
    /// The wanted revisions. If there are several, they contradict one another.
    wanted: Vec<String>,
    /// The revisions to try, in this order, if the wanted one does not exist.
    others: Vec<String>,
    /// The revision to try before `others`.
    first_other: Option<String>,
    install_path: Option<String>,
    /// True if the module is part of the repository.
    is_local: bool,
    /// True if there are other options, or some that are not understood.
    has_unknown: bool,
}

impl Options {
    /// Reads the options of a plain statement.
    fn of(text: &str) -> Options {
        static TOKEN: LazyLock<Option<Regex>> = LazyLock::new(|| {
            Regex::new(r#"'([^']*)'|"([^"]*)"|:['"]?([\w-]+)['"]? ?=> ?|(\w+): |:(\w+)|(true|false)"#).ok()
        });
        let (mut options, mut key) = (Options::default(), None);
        for token in TOKEN.iter().flat_map(|token| token.captures_iter(text)) {
            let group = |number| token.get(number).map(|found| found.as_str());
            if let Some(name) = group(3).or(group(4)) {
                key = Some(name);
                continue;
            }
            let (value, word) = (group(1).or(group(2)).map(str::to_owned), group(5).or(group(6)));
            match (key.take(), value) {
                // The symbol alone is the older form in r10k.
                (None, _) => options.is_local |= word == Some("local"),
                (Some("local"), _) => options.is_local = word == Some("true"),
                (Some("type"), value) => {
                    let kind = value.as_deref().or(word);
                    options.is_local |= kind == Some("local");
                    options.has_unknown |= kind != Some("git");
                }
                (Some("git" | "source"), Some(value)) => options.git = Some(value),
                (Some("ref" | "tag" | "commit" | "branch" | "version"), Some(value)) => options.wanted.push(value),
                (Some("default_branch"), Some(value)) => options.others.push(value),
                (Some("default_branch_override"), Some(value)) => options.first_other = Some(value),
                // Several branches, of which the first that exists is used.
                (Some("fallback"), Some(value)) => options.others.extend(value.split('|').map(str::to_owned)),
                (Some("install_path"), Some(value)) => options.install_path = Some(value),
                (Some(key), _) if IGNORED_OPTIONS.contains(&key) => {}
                // The branch of the environment is not tried.
                (Some("link"), None) if word == Some("false") => {}
                _ => options.has_unknown = true,
            }
        }
        options
    }

    /// Returns the source of the module, if its options are understood and name a single revision.
    fn source(self) -> Option<GitSource> {
        let is_plain = !self.has_unknown && self.wanted.len() == 1;
        let revisions = self.wanted.into_iter().chain(self.first_other).chain(self.others).collect();
        self.git.filter(|_| is_plain).map(|url| GitSource { url, revisions })
    }
}

/// The options that do not affect a module's revision.
const IGNORED_OPTIONS: [&str; 3] = ["exclude_spec", "ignore-unreachable", "use_ssh_agent"];

fn is_between_words(c: char) -> bool {
    !(c.is_alphanumeric() || c == '_' || c == '-')
}

/// A statement of a Puppetfile, without comments, with words separated by single blanks.
struct Statement {
    line: u32,
    text: String,
    /// The name of its module, if it names one.
    name: Option<Arc<str>>,
    /// True if it consists of literals only, and declares a module or a forge.
    is_understood: bool,
}

impl Statement {
    /// Parses the statement in a text, or returns `None` if it is blank.
    fn of(line: u32, text: &str) -> Option<Statement> {
        static MODULE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r#"^mod[ (]*['"]([\w/-]+)['"]"#).ok());
        // Only keys, symbols and few other words are allowed, and strings without code.
        static PLAIN: LazyLock<Option<Regex>> = LazyLock::new(|| {
            let literal =
                r#"(?:'[^'\\]*'|"[^"\\#]*"|:[\w-]+|:'[\w-]+'|:"[\w-]+"|\w+: |=>|true|false|nil|[\d.]+|[,(){}\[\]]| )"#;
            Regex::new(&format!(r"^(?:mod|forge)\b{literal}*$")).ok()
        });
        let text = text.trim();
        let name = MODULE.as_ref().and_then(|module| module.captures(text)).and_then(|found| found.get(1));
        let is_understood = PLAIN.as_ref().is_some_and(|plain| plain.is_match(text));
        let statement = Statement {
            line,
            text: text.to_owned(),
            name: name.map(|name| without_author(name.as_str())),
            is_understood,
        };
        (!text.is_empty()).then_some(statement)
    }
}

/// Splits a program into its statements. Quoted text is left unchanged.
fn statements(program: &str) -> Vec<Statement> {
    let (mut found, mut text, mut first) = (Vec::new(), String::new(), 1);
    let (mut line, mut depth, mut quote) = (1_u32, 0_u32, None);
    let mut characters = program.chars().peekable();
    while let Some(c) = characters.next() {
        line += u32::from(c == '\n');
        match (quote, c) {
            (Some(_), '\\') => {
                text.push(c);
                text.extend(characters.next_if(|next| *next != '\n'));
                continue;
            }
            (Some(open), _) => {
                quote = quote.filter(|_| c != open);
                text.push(c);
                continue;
            }
            (None, '\'' | '"') => quote = Some(c),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') => depth = depth.saturating_sub(1),
            (None, '#') => while characters.next_if(|next| *next != '\n').is_some() {},
            _ => {}
        }
        let goes_on = depth > 0 || text.trim_end().ends_with([',', '\\']) || text.trim_end().ends_with("=>");
        if c == ';' && depth == 0 || c == '\n' && !goes_on {
            found.extend(Statement::of(first, &text));
            text.clear();
        } else if c.is_whitespace() || c == '#' {
            if !text.is_empty() && !text.ends_with(' ') {
                text.push(' ');
            }
        } else {
            if text.is_empty() {
                first = line;
            }
            text.push(c);
        }
    }
    found.extend(Statement::of(first, &text));
    found
}

/// The text that stands for the repository's own folder in a `.fixtures.yml`.
const SOURCE_FOLDER: &str = "#{source_dir}";

/// Returns the modules in the `.fixtures.yml` at `path`, except the repository itself.
pub(super) fn modules_in_fixtures(content: &[u8], path: &str) -> Vec<DeclaredModule> {
    let parsed = yaml::parse(content);
    let Some(root) = parsed.value.as_hash() else { return Vec::new() };
    let mut found = Vec::new();
    let Some(at) = root.index_of_text("fixtures") else { return found };
    let (kinds, marks) = (root.get("fixtures").and_then(Value::as_hash), parsed.marks.children.get(at));
    let (Some(kinds), Some(marks)) = (kinds, marks) else { return found };
    for ((_, modules), marks) in kinds.iter().zip(marks.children.iter()) {
        for ((name, from), mark) in modules.as_hash().into_iter().flat_map(Hash::iter).zip(marks.children.iter()) {
            // The repository itself need not be deployed.
            let is_itself = from.as_str().is_some_and(|from| from.trim_end_matches('/') == SOURCE_FOLDER);
            if let Some(name) = name.as_str().filter(|_| !is_itself) {
                let (name, place) = (without_author(name), Place::line(path, mark.line));
                let declaration = from.inspect().into();
                found.push(DeclaredModule { name, place, declaration, folder: None, source: None });
            }
        }
    }
    found
}

/// Returns `ntp` for `puppetlabs-ntp` and `puppetlabs/ntp`.
pub(super) fn without_author(name: &str) -> Arc<str> {
    name.rsplit(['/', '-']).next().unwrap_or(name).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(modules: &[DeclaredModule]) -> Vec<String> {
        modules.iter().map(|module| format!("{} {}", module.name, module.place)).collect()
    }

    fn read(text: &str) -> Deployment {
        let mut deployment = Deployment::default();
        deployment.add(text.as_bytes(), "Puppetfile");
        deployment
    }

    #[test]
    fn programs_are_told_from_lists_of_modules() {
        for plain in [
            "forge 'https://forge.example'",
            "mod 'a', '1  2'; mod('b', :latest)",
            "mod 'a',\n  git: 'x',\n  tag: 'v1', # one\n  exclude_spec: false",
            "mod 'a', { :git => 'x', 'ref' => \"y\" }",
            "mod'a', '1'",
        ] {
            assert_eq!(read(plain).program, Vec::<String>::new(), "{plain}");
        }
        for program in [
            "mod 'a', V",
            "V = '1'",
            "moduledir 'x'",
            "mod %q(a), '1'",
            "mod \"a#{b}\"",
            "self.mod 'a'",
            "mod 'a', '1' if x",
            "mod 'a', ENV['x']",
            "[].each do |n|\nend",
            "mod 'a', `x`",
            "eval('mod')",
        ] {
            assert_ne!(read(program).program, Vec::<String>::new(), "{program}");
        }
    }

    #[test]
    fn a_puppetfile_names_modules() {
        let text = "forge 'https://forge.puppet.com'\n# mod 'no-no'\nmod 'puppetlabs-ntp', '9.0'\n\nmod \"acme/web\",\n  :git => 'x'\nmod('own')\n";
        assert_eq!(shown(&read(text).modules), ["ntp Puppetfile:3", "web Puppetfile:5", "own Puppetfile:7"]);
    }

    #[test]
    fn a_declaration_is_all_that_is_said_of_a_module() {
        let text = "mod 'a', '1' # one\n\nmod 'b', # two\n  :git => 'x#y',\n  # of ours\n  :tag   => \"v1\"\nend\n";
        let deployment = read(text);
        let declarations: Vec<&str> = deployment.modules.iter().map(|module| &*module.declaration).collect();
        assert_eq!(declarations, ["mod 'a', '1'", "mod 'b', :git => 'x#y', :tag => \"v1\""]);
        assert_eq!(deployment.program, ["a", "b", "end"]);
    }

    #[test]
    fn fixtures_name_modules() {
        let text = "fixtures:\n  repositories:\n    stdlib: https://x\n    acme-web:\n      repo: y\n  symlinks:\n    own: '#{source_dir}'\n    other: '#{source_dir}/../other'\n";
        assert_eq!(
            shown(&modules_in_fixtures(text.as_bytes(), ".fixtures.yml")),
            ["stdlib .fixtures.yml:3", "web .fixtures.yml:4", "other .fixtures.yml:8"]
        );
        assert_eq!(modules_in_fixtures(b"fixtures: [a]\n", "x"), []);
    }
}
