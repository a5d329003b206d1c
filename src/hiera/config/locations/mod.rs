//! The locations of a level, as written. Each kind of location has a file here and is one of [`KINDS`]. All other
//! code uses [`Locations`].

mod globs;
mod mapped_paths;
mod paths;
mod uris;

use std::fmt::Debug;

use super::PlacedText;
use crate::diagnostic::Place;
use crate::hiera::LookupError;
use crate::value::Value;

/// All kinds, in the order in which Puppet looks for their keys.
pub(super) static KINDS: [&dyn LocationKind; 4] =
    [&paths::Paths, &globs::Globs, &uris::Uris, &mapped_paths::MappedPaths];

/// A kind of location that a level may declare. Methods are passed the texts that the level declares.
pub(super) trait LocationKind: Debug + Sync {
    /// Returns its keys in hiera.yaml, each with the number of texts that it takes.
    fn keys(&self) -> &'static [(&'static str, Count)];

    /// Returns the meaning of the texts.
    fn form(&self) -> Form;

    /// Returns the texts that are interpolated.
    fn templates<'d>(&self, declared: &'d [PlacedText]) -> &'d [PlacedText] {
        declared
    }

    /// Returns the variable that gives a separate location for each of its values, or `None` if there is none.
    fn mapped<'d>(&self, _: &'d [PlacedText]) -> Option<Mapped<'d>> {
        None
    }

    /// Has `finder` add everything that the texts lead to on a node, in the order in which Puppet searches it.
    fn resolve(&self, declared: &[PlacedText], finder: &mut dyn Finder) -> Result<(), LookupError> {
        declared.iter().try_for_each(|text| finder.add(text, self.form(), None))
    }
}

/// The number of texts that a key takes.
#[derive(Debug, Clone, Copy)]
pub(super) enum Count {
    /// A single text, not an array.
    One,
    /// An array of at least one text.
    AtLeastOne,
    /// An array of exactly this many texts.
    Exactly(i64),
}

/// The meaning of the texts of a location kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Each is the path of one file, relative to the datadir.
    Path,
    /// Each is a path with wildcards, relative to the datadir.
    Glob,
    /// Each is a URI, so no file of the tree is read for it.
    Uri,
}

/// A variable with many values, each of which has a separate location.
#[derive(Debug, Clone, Copy)]
pub struct Mapped<'d> {
    /// The name of the variable.
    pub variable: &'d PlacedText,
    /// The name for one value in the templates.
    pub name: &'d str,
}

/// Finds the locations of a level on one node.
pub trait Finder {
    /// Returns the value of the variable that a text names. `role` is its name in errors.
    fn variable(&self, declared: &PlacedText, role: &str) -> Result<Value, LookupError>;

    /// Adds the locations that an interpolated text leads to. `local` is the name and value of a variable that only
    /// this text sees.
    fn add(&mut self, declared: &PlacedText, form: Form, local: Option<(&str, Value)>) -> Result<(), LookupError>;
}

/// The locations of a level, as written.
#[derive(Debug, Clone)]
pub struct Locations {
    /// Their kind, or `None` if the function is called without a location.
    kind: Option<&'static dyn LocationKind>,
    declared: Vec<PlacedText>,
}

impl Locations {
    /// Returns the locations of one kind.
    pub(super) fn new(kind: &'static dyn LocationKind, declared: Vec<PlacedText>) -> Locations {
        Locations { kind: Some(kind), declared }
    }

    /// Returns the locations of a level that has none: its function is called without a location.
    pub(super) fn none() -> Locations {
        Locations { kind: None, declared: Vec::new() }
    }

    /// Returns the locations of a level that has only paths.
    pub(super) fn of_paths(declared: Vec<PlacedText>) -> Locations {
        Locations::new(&paths::Paths, declared)
    }

    /// Returns all texts of the level's locations.
    pub fn declared(&self) -> &[PlacedText] {
        &self.declared
    }

    /// Returns the places of all texts.
    pub fn places(&self) -> impl Iterator<Item = &Place> {
        self.declared.iter().map(|declared| &declared.place)
    }

    /// Returns the texts that are interpolated.
    pub fn templates(&self) -> &[PlacedText] {
        self.kind.map_or(&[], |kind| kind.templates(&self.declared))
    }

    /// Returns the paths, with their variables and wildcards, or `None` if the kind has no paths.
    pub fn paths(&self) -> Option<&[PlacedText]> {
        matches!(self.form()?, Form::Path | Form::Glob).then(|| self.templates())
    }

    /// Returns the paths if each leads a node to one file and depends only on variables of the node, or `None` if the
    /// level has other locations.
    pub fn plain_paths(&self) -> Option<&[PlacedText]> {
        self.paths().filter(|_| !self.have_wildcards() && self.mapped().is_none())
    }

    /// Returns true if a path is a pattern for many files.
    pub fn have_wildcards(&self) -> bool {
        self.form() == Some(Form::Glob)
    }

    /// Returns true if there are locations, but none in a datadir.
    pub fn are_elsewhere(&self) -> bool {
        self.form() == Some(Form::Uri)
    }

    /// Returns the variable that gives a separate location for each of its values, or `None` if there is none.
    pub fn mapped(&self) -> Option<Mapped<'_>> {
        self.kind?.mapped(&self.declared)
    }

    /// Has `finder` add everything that the locations lead to on a node. Adds nothing if there are none.
    pub(in crate::hiera) fn resolve(&self, finder: &mut dyn Finder) -> Result<(), LookupError> {
        self.kind.map_or(Ok(()), |kind| kind.resolve(&self.declared, finder))
    }

    /// Returns true if the function is called without a location.
    pub fn are_none(&self) -> bool {
        self.kind.is_none()
    }

    /// Returns true if the other locations are of the same kind and have the same texts, wherever they are written.
    pub(super) fn mean_the_same(&self, other: &Locations) -> bool {
        let keys = |locations: &Locations| locations.kind.map(|kind| kind.keys()[0].0);
        let texts = self.declared.iter().map(|declared| &declared.text);
        keys(self) == keys(other) && texts.eq(other.declared.iter().map(|declared| &declared.text))
    }

    fn form(&self) -> Option<Form> {
        Some(self.kind?.form())
    }
}
