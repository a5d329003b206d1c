//! The places of data files that a Puppet server on JRuby reads otherwise.

use super::{DataFile, Format};
use crate::puppet::document::{FaultKind, Marks, line_at};
use crate::puppet::server::{Kind, Notes};
use crate::puppet::{ruby, yaml};
use crate::value::{Value, float_on_jruby};

impl DataFile {
    /// Returns the places of this file, whose text is `content`, that a Puppet server on JRuby reads otherwise. For a
    /// file that Ruby refuses and a server reads, that is the place for which Ruby refuses it.
    pub fn read_otherwise(&self, content: &[u8]) -> Notes {
        let is_hiera3 = matches!(self.format(), Format::Hiera3Yaml | Format::Hiera3YamlAliases | Format::Hiera3Json);
        let content = if is_hiera3 { ruby::without_byte_order_mark(content) } else { content };
        let unmarked = ruby::without_byte_order_mark(content);
        let is_marked = unmarked.len() < content.len() && self.format() == Format::Yaml;
        if is_marked && self.fault().is_none() && DataFile::parse(unmarked, Format::Yaml).value() != self.value() {
            return [(1, Kind::MarkBeforeKeys)].into_iter().collect();
        }
        if let Some(fault) = self.fault() {
            let is_read = self.format().is_yaml() && fault.kind == FaultKind::Syntax;
            let read = if is_read { yaml::read_by_server(content) } else { None };
            return read.into_iter().collect();
        }
        let mut notes = if self.format().is_yaml() { yaml::notes(unmarked) } else { Notes::default() };
        if matches!(self.format(), Format::Json | Format::Hiera3Json)
            && let Err(error) = str::from_utf8(content)
        {
            notes.add(line_at(content, error.valid_up_to()), Kind::JsonBytes);
        }
        add_floats(self.value(), Some(self.lines()), &mut notes);
        notes
    }
}

/// Adds the lines of floats that become another text on a server.
fn add_floats(value: &Value, marks: Option<&Marks>, notes: &mut Notes) {
    let child = |at: usize| marks.and_then(|marks| marks.children.get(at));
    match value {
        Value::Float(float) if float_on_jruby(*float).is_some() => {
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
