//! The SQL of docs/tables.md gives the answers that the page has.

use super::console::Site;
use super::pages::{blocks, page, root};
use crate::tables::compare;

const PAGE: &str = "docs/tables.md";

#[test]
#[ignore = "needs DuckDB, and a program with tables"]
fn answers_are_those_of_duckdb() {
    let text = page(PAGE);
    let blocks = blocks(&text);
    let questions = blocks.iter().filter(|block| block.language == "sql").count();
    assert_eq!(questions, 10);
    let site = Site::new("history");
    site.sh(&blocks.iter().find(|block| block.language == "text").unwrap().text);
    let mode = if std::env::var_os("HIERAD_UPDATE_GOLDEN").is_some() { "update" } else { "page" };
    compare(&site.folder, &[mode.to_owned(), root().join(PAGE).to_str().unwrap().to_owned()]);
}
