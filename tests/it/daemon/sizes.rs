//! The sizes of a daemon that must not grow with what it has done.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Child;

use sqlx::{Connection, SqliteConnection};

/// The sizes, by name.
pub(super) type Sizes = BTreeMap<&'static str, u64>;

/// Returns those of a daemon with its state in a folder. Its references are counted elsewhere.
pub(super) async fn sizes(daemon: &Child, state: &Path, references: usize) -> Sizes {
    let process = format!("/proc/{}", daemon.id());
    let maps = fs::read_to_string(format!("{process}/maps")).unwrap();
    let status = fs::read_to_string(format!("{process}/status")).unwrap();
    // Without the packs that are mapped, which grow with the history.
    let resident = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    let resident: u64 = resident.trim().trim_end_matches(" kB").parse().unwrap();
    let files = fs::read_dir(state).unwrap().map(|entry| entry.unwrap().metadata().unwrap());
    let database = format!("sqlite://{}", state.join("queue.db").display());
    let mut connection = SqliteConnection::connect(&database).await.unwrap();
    let mut sizes = Sizes::from([
        ("descriptors", fs::read_dir(format!("{process}/fd")).unwrap().count() as u64),
        ("mappings", maps.lines().filter(|line| line.contains("/objects/")).count() as u64),
        ("deleted files", maps.lines().filter(|line| line.contains("(deleted)")).count() as u64),
        ("memory in kB", resident),
        ("bytes of the state", files.filter(fs::Metadata::is_file).map(|file| file.len()).sum()),
        ("references", references as u64),
    ]);
    for table in ["job", "report", "delivery", "resolution", "branch"] {
        let query = sqlx::query_scalar(sqlx::AssertSqlSafe(format!("SELECT count(*) FROM {table}")));
        let rows: i64 = query.fetch_one(&mut connection).await.unwrap();
        sizes.insert(table, rows.unsigned_abs());
    }
    connection.close().await.unwrap();
    sizes
}

/// Checks that the sizes of the later half of the rounds are those of the earlier one, but for some of each.
pub(super) fn check(rounds: &[Sizes], slack: &[(&str, u64)]) {
    let (begin, end) = rounds.split_at(rounds.len() / 2);
    for name in rounds[0].keys() {
        let most = |rounds: &[Sizes]| rounds.iter().map(|sizes| sizes[name]).max().unwrap();
        let allowed = slack.iter().find(|(of, _)| of == name).map_or(0, |(_, slack)| *slack);
        assert!(most(end) <= most(begin) + allowed, "{name}: {} after {}: {rounds:#?}", most(end), most(begin));
    }
}
