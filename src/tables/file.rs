//! A table as a Parquet file, which is written group by group.
//!
//! The columns of a group are encoded apart from each other, on several threads, and then put together.

use std::io::Write;
use std::mem;
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::column::writer::{ColumnCloseResult, ColumnWriterImpl};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesPtr};
use parquet::file::writer::{SerializedFileWriter, SerializedPageWriter, TrackedWrite};
use parquet::schema::types::{ColumnDescPtr, Type};

use crate::fleet::{Fleet, parallel};
use crate::node::NodeId;
use crate::workers::Workers;

/// The number of rows that make a group full.
const MAX_ROWS: usize = 1 << 20;

/// The size of the records that make a group full, in bytes.
const MAX_SIZE: usize = 64 << 20;

/// The maximum size of the distinct texts of a column in a group, in bytes. Beyond it, each text is written by itself.
const MAX_DICTIONARY: usize = 16 << 20;

/// The number of rows that are encoded at a time.
const BATCH: usize = 1 << 12;

/// The kind of a column. Any cell may be null.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Text in UTF-8.
    Text,
    /// A whole number.
    Number,
    /// A moment, in microseconds since 1970 in UTC.
    Time,
}

/// The columns of a table, by their names.
pub(super) type Columns = [(&'static str, Kind)];

/// A cell of a record.
#[derive(Debug, Clone)]
pub(super) enum Cell {
    /// Nothing.
    Null,
    /// The name of the row's node.
    Node,
    /// A text; clones share it.
    Text(ByteArray),
    /// A number, or a moment.
    Number(i64),
}

impl Cell {
    /// Returns a cell with a text.
    pub(super) fn text(text: impl Into<String>) -> Cell {
        Cell::Text(text.into().into_bytes().into())
    }

    /// Returns its size in bytes, as if nothing were shared.
    fn size(&self) -> usize {
        size_of::<Cell>() + if let Cell::Text(text) = self { text.len() } else { 0 }
    }
}

/// The names of the nodes of a fleet, by their numbers.
pub(super) type Names = Arc<[ByteArray]>;

/// Returns the names of the nodes of `fleet`.
pub(super) fn names_of(fleet: &Fleet) -> Names {
    fleet.iter().map(|(_, name)| ByteArray::from(&**name)).collect()
}

/// A row for each of some nodes.
pub(super) struct Record {
    /// The nodes.
    pub(super) nodes: Vec<NodeId>,
    /// The names of all nodes of their fleet.
    pub(super) names: Names,
    /// The cells, in the order of the columns.
    pub(super) cells: Vec<Cell>,
}

/// Rows that are not written yet.
#[derive(Default)]
struct Group {
    records: Vec<Record>,
    rows: usize,
    size: usize,
}

/// A table that is being written.
pub(super) struct Table<'t, W: Write + Send> {
    file: SerializedFileWriter<W>,
    workers: &'t Workers,
    group: Group,
}

impl<'t, W: Write + Send> Table<'t, W> {
    /// Begins a table. `about` is what the file says of itself: a name and a text.
    pub(super) fn new(
        out: W,
        columns: &Columns,
        (name, text): (&str, String),
        workers: &'t Workers,
    ) -> Result<Table<'t, W>, ParquetError> {
        let fields = columns.iter().map(|column| field(*column).map(Arc::new)).collect::<Result<_, _>>()?;
        let schema = Type::group_type_builder("hierad").with_fields(fields).build()?;
        let properties = WriterProperties::builder()
            .set_created_by(format!("hierad {}", env!("CARGO_PKG_VERSION")))
            .set_key_value_metadata(Some(vec![KeyValue::new(name.to_owned(), text)]))
            .set_compression(Compression::SNAPPY)
            .set_dictionary_page_size_limit(MAX_DICTIONARY)
            .set_statistics_enabled(EnabledStatistics::None)
            .set_column_statistics_enabled("key".into(), EnabledStatistics::Chunk)
            .build();
        let file = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties))?;
        Ok(Table { file, workers, group: Group::default() })
    }

    /// Adds the rows of a record.
    pub(super) fn add(&mut self, record: Record) -> Result<(), ParquetError> {
        self.group.rows += record.nodes.len();
        self.group.size += size_of_val(&*record.nodes) + record.cells.iter().map(Cell::size).sum::<usize>();
        self.group.records.push(record);
        if self.group.rows >= MAX_ROWS || self.group.size >= MAX_SIZE { self.write_group() } else { Ok(()) }
    }

    /// Ends the table. Returns the number of its rows.
    pub(super) fn finish(mut self) -> Result<u64, ParquetError> {
        if self.group.rows > 0 {
            self.write_group()?;
        }
        Ok(self.file.close()?.file_metadata().num_rows().unsigned_abs())
    }

    fn write_group(&mut self) -> Result<(), ParquetError> {
        let records = mem::take(&mut self.group).records;
        let properties = self.file.properties().clone();
        let columns: Vec<(usize, ColumnDescPtr)> =
            self.file.schema_descr().columns().iter().cloned().enumerate().collect();
        let encoded = parallel::map(&columns, self.workers, "writing the table", |(at, column)| {
            encode(column, &properties, records.iter().map(|record| (&record.cells[*at], record)))
        });
        let mut group = self.file.next_row_group()?;
        for column in encoded {
            let (bytes, end) = column?;
            group.append_column(&bytes, end)?;
        }
        group.close()?;
        Ok(())
    }
}

/// Returns a column of the schema.
fn field((name, kind): (&str, Kind)) -> Result<Type, ParquetError> {
    let (physical, logical) = match kind {
        Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Kind::Number => (Physical::INT64, None),
        Kind::Time => (Physical::INT64, Some(LogicalType::timestamp(true, TimeUnit::MICROS))),
    };
    let builder = Type::primitive_type_builder(name, physical).with_repetition(Repetition::OPTIONAL);
    builder.with_logical_type(logical).build()
}

/// Encodes a column of a group: the cells, each with its record.
fn encode<'r>(
    column: &ColumnDescPtr,
    properties: &WriterPropertiesPtr,
    cells: impl Iterator<Item = (&'r Cell, &'r Record)>,
) -> Result<(Bytes, ColumnCloseResult), ParquetError> {
    let mut sink = TrackedWrite::new(Vec::new());
    let end = if column.physical_type() == Physical::BYTE_ARRAY {
        let mut runs = Runs::<ByteArrayType>::new(column, properties, &mut sink);
        for (cell, Record { nodes, names, .. }) in cells {
            match cell {
                Cell::Node => nodes.iter().try_for_each(|node| runs.add(names.get(node.0 as usize), 1))?,
                Cell::Text(text) => runs.add(Some(text), nodes.len())?,
                Cell::Null | Cell::Number(_) => runs.add(None, nodes.len())?,
            }
        }
        runs.finish()?
    } else {
        let mut runs = Runs::<Int64Type>::new(column, properties, &mut sink);
        for (cell, Record { nodes, .. }) in cells {
            runs.add(if let Cell::Number(number) = cell { Some(number) } else { None }, nodes.len())?;
        }
        runs.finish()?
    };
    Ok((sink.into_inner()?.into(), end))
}

/// Runs of equal cells, on their way into a column.
struct Runs<'s, T: DataType> {
    writer: ColumnWriterImpl<'s, T>,
    values: Vec<T::T>,
    /// For each row 1, or 0 if it is null.
    levels: Vec<i16>,
}

impl<'s, T: DataType> Runs<'s, T> {
    fn new(column: &ColumnDescPtr, properties: &WriterPropertiesPtr, sink: &'s mut TrackedWrite<Vec<u8>>) -> Self {
        let pages = Box::new(SerializedPageWriter::new(sink));
        let writer = ColumnWriterImpl::new(column.clone(), properties.clone(), pages);
        Runs { writer, values: Vec::with_capacity(BATCH), levels: Vec::with_capacity(BATCH) }
    }

    /// Adds `count` rows with the same cell.
    fn add(&mut self, value: Option<&T::T>, mut count: usize) -> Result<(), ParquetError> {
        while count > 0 {
            let some = count.min(BATCH - self.levels.len());
            self.levels.resize(self.levels.len() + some, i16::from(value.is_some()));
            if let Some(value) = value {
                self.values.resize(self.values.len() + some, value.clone());
            }
            if self.levels.len() == BATCH {
                self.flush()?;
            }
            count -= some;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), ParquetError> {
        self.writer.write_batch(&self.values, Some(&self.levels), None)?;
        self.values.clear();
        self.levels.clear();
        Ok(())
    }

    fn finish(mut self) -> Result<ColumnCloseResult, ParquetError> {
        self.flush()?;
        self.writer.close()
    }
}
