//! `profiles:` as written: files, folders and globs, and sources in the form of hashes.

use std::fmt;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{self, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::OneOrMany;

/// The expected form of an entry, for errors.
const EXPECTED: &str = "a path, or a hash with one source such as {puppetdb: {url: URL}}";

/// The entries, in order.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Profiles(pub(crate) Vec<ProfileEntry>);

/// An entry.
#[derive(Debug, PartialEq)]
pub(crate) enum ProfileEntry {
    Path(String),
    Source(Box<ProfileSource>),
}

/// A source, of which one field must be set.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a hash with one source such as {puppetdb: {url: URL}}")]
pub(crate) struct ProfileSource {
    pub(crate) puppetdb: Option<PuppetDb>,
    pub(crate) enc: Option<Program>,
    pub(crate) trusted_external: Option<Program>,
    /// A folder.
    pub(crate) puppet_cache: Option<String>,
    /// A file, a folder or a glob.
    pub(crate) factsets: Option<String>,
    pub(crate) site_pp: Option<SitePp>,
}

/// A manifest with node blocks.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a hash such as {file: FILE, role: 'role($role)'}")]
pub(crate) struct SitePp {
    pub(crate) file: String,
    /// A call that stands for a variable.
    pub(crate) role: Option<String>,
    /// The text between the parts of a class's name in that variable.
    pub(crate) separator: Option<String>,
}

/// A program that is run for each node.
#[derive(Debug, PartialEq)]
pub(crate) enum Program {
    /// The program alone.
    Plain(String),
    /// The program with options.
    Full(FullProgram),
}

/// A program with options.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a hash such as {command: [PROGRAM, ARGUMENT], timeout: SECONDS}")]
pub(crate) struct FullProgram {
    pub(crate) command: OneOrMany,
    /// The time limit of an answer, in seconds.
    pub(crate) timeout: Option<f64>,
    /// In hours.
    pub(crate) refresh: Option<f64>,
}

/// A `PuppetDB`.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a hash such as {url: URL, cert: FILE, key: FILE, ca: FILE}")]
pub(crate) struct PuppetDb {
    pub(crate) url: String,
    /// A filter in the language of `PuppetDB`.
    pub(crate) query: Option<String>,
    pub(crate) token_file: Option<String>,
    /// The name of a variable of the environment.
    pub(crate) token_env: Option<String>,
    pub(crate) cert: Option<String>,
    pub(crate) key: Option<String>,
    pub(crate) ca: Option<String>,
    /// True to ask for the classes in the catalogs, too.
    #[serde(default)]
    pub(crate) classes: bool,
    /// The number of nodes in an answer.
    pub(crate) page: Option<usize>,
    /// The time limit of an answer, in seconds.
    pub(crate) timeout: Option<f64>,
    /// In hours.
    pub(crate) refresh: Option<f64>,
}

impl<'de> Deserialize<'de> for Profiles {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Profiles, D::Error> {
        deserializer.deserialize_any(ProfilesVisitor)
    }
}

/// Names the expected forms in errors, which an untagged enum would not.
struct ProfilesVisitor;

impl<'de> Visitor<'de> for ProfilesVisitor {
    type Value = Profiles;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{EXPECTED}, or a list of these")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Profiles, E> {
        Ok(Profiles(vec![EntryVisitor.visit_str(text)?]))
    }

    fn visit_unit<E: de::Error>(self) -> Result<Profiles, E> {
        Ok(Profiles::default())
    }

    fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<Profiles, A::Error> {
        Ok(Profiles(vec![EntryVisitor.visit_map(entries)?]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Profiles, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(items)).map(Profiles)
    }
}

impl<'de> Deserialize<'de> for ProfileEntry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ProfileEntry, D::Error> {
        deserializer.deserialize_any(EntryVisitor)
    }
}

struct EntryVisitor;

impl<'de> Visitor<'de> for EntryVisitor {
    type Value = ProfileEntry;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(EXPECTED)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<ProfileEntry, E> {
        Ok(ProfileEntry::Path(text.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<ProfileEntry, A::Error> {
        let source = Deserialize::deserialize(MapAccessDeserializer::new(entries))?;
        Ok(ProfileEntry::Source(Box::new(source)))
    }
}

impl<'de> Deserialize<'de> for Program {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Program, D::Error> {
        deserializer.deserialize_any(ProgramVisitor)
    }
}

struct ProgramVisitor;

impl<'de> Visitor<'de> for ProgramVisitor {
    type Value = Program;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a program, or a hash such as {command: [PROGRAM, ARGUMENT], timeout: SECONDS}")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Program, E> {
        Ok(Program::Plain(text.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<Program, A::Error> {
        Deserialize::deserialize(MapAccessDeserializer::new(entries)).map(Program::Full)
    }
}

impl ProfileEntry {
    /// Returns the path, or `None` for a source other than files.
    pub(crate) fn path(&self) -> Option<&str> {
        match self {
            ProfileEntry::Path(path) => Some(path),
            ProfileEntry::Source(source) if source.names().len() == 1 => {
                source.factsets.as_deref().or(source.site_pp.as_ref().map(|site| &*site.file))
            }
            ProfileEntry::Source(_) => None,
        }
    }

    /// Returns the path, or the name of the source.
    pub(crate) fn name(&self) -> String {
        match self {
            ProfileEntry::Path(path) => path.clone(),
            ProfileEntry::Source(source) => source.names().first().map_or("no source", |name| *name).to_owned(),
        }
    }
}

impl ProfileSource {
    /// Returns the names of the given sources.
    pub(crate) fn names(&self) -> Vec<&'static str> {
        let ProfileSource { puppetdb, enc, trusted_external, puppet_cache, factsets, site_pp } = self;
        let sources = [
            ("puppetdb", puppetdb.is_some()),
            ("enc", enc.is_some()),
            ("trusted_external", trusted_external.is_some()),
            ("puppet_cache", puppet_cache.is_some()),
            ("factsets", factsets.is_some()),
            ("site_pp", site_pp.is_some()),
        ];
        sources.into_iter().filter(|(_, is_there)| *is_there).map(|(name, _)| name).collect()
    }

    /// Returns the words of the programs, arguments included.
    pub(crate) fn commands(self) -> impl Iterator<Item = String> {
        [self.enc, self.trusted_external].into_iter().flatten().flat_map(|program| match program {
            Program::Plain(program) => vec![program],
            Program::Full(program) => program.command.into_vec(),
        })
    }
}
