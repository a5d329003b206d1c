//! Queries in Puppet's query language.

use crate::inventory::FactNames;

/// A form of queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// The inventory, with facts of some names.
    Extract,
    /// The inventory, with all facts.
    Inventory,
    /// The factsets, which contain trusted data as a fact.
    Factsets,
}

impl Form {
    /// Returns the best form for these facts.
    pub(super) fn for_facts(facts: &FactNames) -> Form {
        match facts {
            FactNames::Some(names) if names.iter().all(|name| is_quotable(name)) => Form::Extract,
            _ => Form::Inventory,
        }
    }

    /// Returns the form for servers that do not support this one.
    pub(super) fn simpler(self) -> Option<Form> {
        match self {
            Form::Extract => Some(Form::Inventory),
            Form::Inventory => Some(Form::Factsets),
            Form::Factsets => None,
        }
    }
}

/// Returns the query for nodes with these facts.
pub(super) fn text(form: Form, facts: &FactNames, filter: Option<&str>) -> String {
    let filter = filter.unwrap_or_default();
    let (entity, columns) = match form {
        Form::Extract => ("inventory", fact_columns(facts)),
        Form::Inventory => ("inventory", ", trusted, facts".to_owned()),
        Form::Factsets => ("factsets", ", facts".to_owned()),
    };
    format!("{entity}[certname, environment, timestamp{columns}] {{ {filter} }}")
}

/// The prefix of the columns of extracted facts.
const FACT_PREFIX: &str = "facts.";

/// Returns the columns of some facts.
fn fact_columns(facts: &FactNames) -> String {
    let FactNames::Some(names) = facts else { return String::new() };
    names.iter().fold(", trusted".to_owned(), |text, name| {
        // The blank after the quotes is part of the syntax.
        let column = if is_plain(name) { name.clone() } else { format!("\"{name}\" ") };
        text + ", " + FACT_PREFIX + &column
    })
}

/// Returns the name of the fact in a column, or `None` if the column is not a fact.
pub(super) fn fact(column: &str) -> Option<&str> {
    let name = column.strip_prefix(FACT_PREFIX)?;
    Some(name.strip_prefix('"').and_then(|name| name.strip_suffix('"')).unwrap_or(name))
}

/// Returns true if a name can be written without quotes.
fn is_plain(name: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    !name.is_empty() && name.bytes().all(is_word)
}

/// Returns true if a name can be written in quotes, which allow no escapes.
fn is_quotable(name: &str) -> bool {
    !name.is_empty() && !name.contains(['"', '\\', '\n', '\r', '[', ']', '(', ')'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some(names: &[&str]) -> FactNames {
        FactNames::Some(names.iter().map(|name| (*name).to_owned()).collect())
    }

    #[test]
    fn facts_are_named_in_quotes_where_they_must_be() {
        let facts = some(&["os", "dotted.name"]);
        let expected =
            "inventory[certname, environment, timestamp, trusted, facts.\"dotted.name\" , facts.os] { x = 1 }";
        assert_eq!(text(Form::for_facts(&facts), &facts, Some("x = 1")), expected);
        for (column, name) in [("facts.os", Some("os")), ("facts.\"a.b\"", Some("a.b")), ("trusted", None)] {
            assert_eq!(fact(column), name);
        }
    }

    #[test]
    fn names_that_no_query_can_have_are_asked_for_with_all_others() {
        for name in ["a\"b", "", "a[0]", "match(x)"] {
            assert_eq!(Form::for_facts(&some(&["os", name])), Form::Inventory, "{name}");
        }
    }
}
