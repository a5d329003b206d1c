//! Writes the report as one JSON document, `hierad.diff/3`, for programs.
//!
//! Scripts rely on its field names: fields may be added, never renamed. Integers of any size are written in full.
//! The names of nodes, their sets, and the places of values are written once, and everything else refers to them by
//! position. A change whose values differ only by variables in their texts is written once as well. Keys that fail for
//! a shared cause are listed in `causes` and not repeated in `changes`.

mod pretty;
mod wire;

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::Formatter;

use crate::report::Report;
use crate::visible::visible_json;

use pretty::Pretty;
use wire::Document;
use wire::tables::Tables;

/// The version of the format.
pub const SCHEMA: &str = "hierad.diff/3";

/// Options of the document.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Options {
    /// True for many indented lines rather than one.
    pub pretty: bool,
    /// True to list each key that fails for a shared cause among the changes as well, with its nodes and its former
    /// value, and each variant of a change as a change of its own.
    pub full: bool,
}

/// Writes the document and a newline.
pub fn write(report: &Report, options: Options, out: &mut dyn Write) -> io::Result<()> {
    let tables = Tables::new(&report.names);
    let document = Document::new(report, options, &tables);
    if options.pretty {
        document.serialize(&mut serde_json::Serializer::with_formatter(Pretty::new(out), WireFormatter))?;
    } else {
        document.serialize(&mut serde_json::Serializer::with_formatter(&mut *out, WireFormatter))?;
    }
    out.write_all(b"\n")
}

/// A formatter that writes byte arrays as finished JSON, and escapes active characters in texts.
struct WireFormatter;

impl Formatter for WireFormatter {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, out: &mut W, fragment: &str) -> io::Result<()> {
        out.write_all(visible_json(fragment).as_bytes())
    }

    fn write_byte_array<W: ?Sized + Write>(&mut self, out: &mut W, json: &[u8]) -> io::Result<()> {
        out.write_all(json)
    }
}
