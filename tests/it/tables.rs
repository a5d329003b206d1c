//! Tables in Parquet, read back with SQL: they say what `render` and `log` print.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::export::agreement::Site;
use crate::support::extent::full_or;
use crate::support::terminal::run;

/// Runs `tests/tables/compare.py` in a folder.
pub(crate) fn compare(folder: &Path, arguments: &[String]) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tables");
    let install = Command::new(root.join("install")).output().unwrap();
    assert!(install.status.success(), "{}", String::from_utf8_lossy(&install.stderr));
    let python = String::from_utf8(install.stdout).unwrap();
    let compared =
        run(Command::new(python.trim_end()).arg(root.join("compare.py")).args(arguments).current_dir(folder));
    compared.is(0);
}

/// Writes both tables, and what the commands print, to a folder beside the repository.
fn write(site: &Site) -> PathBuf {
    let folder = site.sandbox.beside("tables");
    fs::create_dir(&folder).unwrap();
    for (command, name) in [("render --allow-blind", "values"), ("log --patch", "events")] {
        let table = folder.join(format!("{name}.parquet"));
        site.hierad(&format!("{command} --format parquet --output {}", table.display())).is(0);
        let printed = site.hierad(&format!("{command} --format ndjson"));
        fs::write(folder.join(format!("{name}.ndjson")), printed.ok()).unwrap();
    }
    folder
}

/// Fails unless the tables of all sites agree with what is printed.
fn agree(sites: &[Site]) {
    let folders = sites.iter().map(|site| write(site).to_str().unwrap().to_owned());
    let arguments: Vec<String> = ["agree".to_owned()].into_iter().chain(folders).collect();
    compare(sites[0].sandbox.root(), &arguments);
}

#[test]
#[ignore = "needs DuckDB, and a program with tables"]
fn tables_of_random_repositories_agree() {
    let seed = std::env::var("HIERAD_SEED").map_or(100, |seed| seed.parse().unwrap());
    agree(&(seed..seed + full_or(200, 20)).map(Site::random).collect::<Vec<_>>());
}

#[test]
#[ignore = "needs DuckDB, a program with tables, and a corpus in the folder HIERAD_SHARED"]
fn tables_of_a_real_repository_agree() {
    agree(&[Site::corpus("ocf")]);
}

#[test]
#[ignore = "needs DuckDB, and a program with tables"]
fn a_table_that_cannot_be_written_replaces_none() {
    let site = Site::random(1);
    let table = site.sandbox.beside("values.parquet");
    let render = |output: &str| site.hierad(&format!("render --allow-blind --format parquet --output {output}"));
    render(table.to_str().unwrap()).is(0);
    let content = fs::read(&table).unwrap();
    assert!(render("-").is(1).err.contains("--output FILE"));
    site.hierad("render --format parquet --output none/values.parquet").is(1);
    // A node that nobody has: nothing is rendered.
    let refused = site.hierad(&format!("render --format parquet --key none --output {}", table.display()));
    assert_eq!((refused.status, fs::read(&table).unwrap()), (1, content));
}
