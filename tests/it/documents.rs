//! The documents: README, CONTRIBUTING, CHANGELOG and all pages in `docs/`.
//!
//! Each example in them runs. A fenced block belongs to one of these languages, and any other fails:
//!
//! - `console`: commands behind `$`, and their output. They run in a site, and the output is compared ([`console`]);
//! - `sh`: commands without output. hierad must take its own; files of the project must exist ([`shell`]);
//! - `yaml` and `json`: read by the reader that hierad has for them ([`snippets`]);
//! - `sql`: its answer is compared ([`tables`]); the next block has the answer;
//! - `text` and `python`: for people.
//!
//! A comment before a block, which no reader of the page sees, says how it is tested:
//!
//! - `<!-- site: NAME -->` begins a new site, which `tests/documents/NAME.sh` makes, for all blocks until the next one;
//! - `<!-- prints: COMMAND -->` says which command prints a `json` block;
//! - `<!-- as: KIND -->` says what a `yaml` block is, if not settings: `profile`, `hiera.yaml` or `data`.
//!
//! `HIERAD_UPDATE_GOLDEN=1` writes into the pages what the commands of `console` blocks print. `HIERAD_PAGE=PATH` runs
//! only those of the pages with this in their path.

mod advisories;
mod compatibility;
mod console;
mod links;
mod pages;
mod promises;
mod shell;
mod snippets;
mod tables;
