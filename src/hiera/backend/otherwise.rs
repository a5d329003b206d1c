//! The places of data files that a Puppet server on JRuby reads differently.

use super::{DataFile, Format};
use crate::puppet::document::{FaultKind, Marks, line_at};
use crate::puppet::server::{Kind, Notes};
use crate::puppet::{ruby, yaml};
use crate::value::{Floats, Notation, Value};

impl DataFile {
    /// Returns the places of this file that a Puppet server on JRuby reads differently. If Ruby refuses the file and
    /// a server reads it, that is the place that Ruby refuses; `text` is read to find it.
    pub fn read_otherwise<C: AsRef<[u8]>, E>(&self, text: impl FnOnce() -> Result<C, E>) -> Result<Notes, E> {
        let Some(fault) = self.fault() else {
            let mut notes = self.notes.clone();
            add_floats(self.value(), Some(self.lines()), &mut notes);
            return Ok(notes);
        };
        let is_read = self.format().is_yaml() && fault.kind == FaultKind::Syntax;
        let read = if is_read { yaml::read_by_server(self.without_mark(text()?.as_ref())) } else { None };
        Ok(read.into_iter().collect())
    }

    /// Returns the places that a server reads differently, including those that the parser does not note. `content`
    /// is the file's text. Floats are left out.
    pub(super) fn all_notes(&self, content: &[u8]) -> Notes {
        if self.fault().is_some() {
            return Notes::default();
        }
        let content = self.without_mark(content);
        let unmarked = ruby::without_byte_order_mark(content);
        if self.format().is_yaml() && unmarked.len() < content.len() {
            let without = DataFile::read(unmarked, self.format());
            let differs = self.format() == Format::Yaml && without.value() != self.value();
            return if differs { [(1, Kind::MarkBeforeKeys)].into_iter().collect() } else { without.notes };
        }
        let mut notes = self.notes.clone();
        if matches!(self.format(), Format::Json | Format::Hiera3Json)
            && let Err(error) = str::from_utf8(content)
        {
            notes.add(line_at(content, error.valid_up_to()), Kind::JsonBytes);
        }
        notes
    }

    /// Returns `content` as this file's format reads it: in Hiera 3, a byte order mark is not content.
    fn without_mark<'c>(&self, content: &'c [u8]) -> &'c [u8] {
        match self.format() {
            Format::Hiera3Yaml | Format::Hiera3YamlAliases | Format::Hiera3Json => {
                ruby::without_byte_order_mark(content)
            }
            Format::Yaml | Format::Yaml34 | Format::Json | Format::Hocon => content,
        }
    }
}

/// Adds the lines of floats whose text is different on a server.
fn add_floats(value: &Value, marks: Option<&Marks>, notes: &mut Notes) {
    let on_server = Notation { floats: Floats::JRuby, ..Notation::default() };
    let child = |at: usize| marks.and_then(|marks| marks.children.get(at));
    match value {
        Value::Float(_) if value.text_in(on_server) != value.to_s() => {
            notes.add(marks.map_or(1, |marks| marks.line.max(1)), Kind::FloatText);
        }
        Value::Array(items) => items.iter().zip(0..).for_each(|(item, at)| add_floats(item, child(at), notes)),
        Value::Hash(hash) => hash.iter().zip(0..).for_each(|((key, item), at)| {
            add_floats(key, child(at), notes);
            add_floats(item, child(at), notes);
        }),
        _ => {}
    }
}
