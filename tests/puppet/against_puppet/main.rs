//! Compares hierad with the real Puppet: each key on each node of random data repositories, or of a real one's history.
//!
//! ```text
//! cargo build --release
//! cargo run --release --example against_puppet -- --repos 1000 --puppet8-lib DIR
//! cargo run --release --example against_puppet -- --seed 17 --repos 1 --shrink
//! cargo run --release --example against_puppet -- --repos 1000 --diff
//! cargo run --release --example against_puppet -- --repos 1000 --explain
//! cargo run --release --example against_puppet -- --repos 1000 --verdict
//! cargo run --release --example against_puppet -- --repos 1000 --puppet hiera3
//! cargo run --release --example against_puppet -- --repos 1000 --broken --texts
//! cargo run --release --example against_puppet -- --repos 1000 --topic globs --texts
//! cargo run --release --example against_puppet -- --conversions 50000
//! cargo run --release --example against_puppet -- --repos 1000 --puppet 9 --ruby 3.3
//! cargo run --release --example against_puppet -- --corpus DIR --profiles PATH --commits 50
//! cargo run --release --example against_puppet -- --corpus DIR --profiles PATH --commits 1000 --wolf
//! cargo run --release --example against_puppet -- --repos 1000 --former PROGRAM
//! ```
//!
//! Needs Puppet 7 installed, for Puppet 8 the folder of its library, and OpenVox 9 as `tests/puppet/openvox` installs
//! it. An answer is a value, an error or "not found"; values must be equal to the order of hashes and the type of
//! numbers, the texts of errors are only counted. Exit status: 0 no difference, 1 differences, 2 it could not run.

mod answers;
mod builds;
mod change;
mod conversions;
mod corpus;
mod difference;
mod explain;
mod fuzz;
#[path = "../../generator/mod.rs"]
mod generator;
mod hierad;
mod json;
mod process;
mod puppet;
#[path = "../../it/support/rich.rs"]
#[expect(clippy::expect_used, clippy::panic, reason = "what the generator wrote can be read")]
mod rich;
mod shrink;
mod stage;
mod texts;
mod verdict;
mod wolf;
mod world;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};

/// Runs a Ruby that has OpenVox 9.
const OPENVOX: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/puppet/openvox");

/// An error with a message.
type Fault = Box<dyn std::error::Error + Send + Sync>;

/// The versions of Puppet to compare with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Versions {
    /// Puppet 7 with its defaults.
    #[value(name = "7")]
    Seven,
    /// Puppet 8 with its defaults.
    #[value(name = "8")]
    Eight,
    /// OpenVox 9 with its defaults.
    #[value(name = "9")]
    Nine,
    /// Hiera 3 by itself, with repositories of its own; the seed says which of its three ways to answer.
    Hiera3,
    /// Puppet 7 and 8: half of the repositories each; every commit of a real one with both.
    Both,
}

/// Compares hierad with the real Puppet.
#[derive(Debug, Parser)]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command line")]
struct Args {
    /// The number of random repositories.
    #[arg(long, default_value_t = 200)]
    repos: u64,
    /// The seed of the first; the others have those that follow.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The version to compare with.
    #[arg(long, default_value = "both")]
    puppet: Versions,
    /// The folder of Puppet 8's library.
    #[arg(long, env = "PUPPET8_LIB")]
    puppet8_lib: Option<PathBuf>,
    /// The version of the Ruby of OpenVox 9, 3.3 or 3.4.
    #[arg(long, default_value = "3.4")]
    ruby: String,
    /// Threads, each with its own Puppet.
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// The hierad to run; by default the one that was built beside this program.
    #[arg(long)]
    hierad: Option<PathBuf>,
    /// A folder for repositories with differences.
    #[arg(long)]
    keep: Option<PathBuf>,
    /// Reduce each repository with a difference to the least that still has one.
    #[arg(long)]
    shrink: bool,
    /// Only print the repository and the profiles of the seed.
    #[arg(long)]
    print: bool,
    /// Compare also what a second commit, some edits later, changes.
    #[arg(long)]
    diff: bool,
    /// Break what hierad is given, and look whether it is calm about a second commit that changes something for Puppet.
    #[arg(long, conflicts_with_all = ["diff", "explain", "broken", "corpus"])]
    verdict: bool,
    /// Compare also how a few keys of each repository are explained.
    #[arg(long)]
    explain: bool,
    /// Compare this number of random conversions, one by one, in place of repositories.
    #[arg(long, conflicts_with = "corpus")]
    conversions: Option<u64>,
    /// A real git repository to compare instead of random ones.
    #[arg(long, requires = "profiles")]
    corpus: Option<PathBuf>,
    /// The profiles of its nodes.
    #[arg(long)]
    profiles: Option<PathBuf>,
    /// Count the commits of a real repository that have blind spots, before and after the fixes that hierad proposes
    /// are in the settings; asks no Puppet.
    #[arg(long, requires = "corpus")]
    wolf: bool,
    /// Compare all that another build of hierad prints with what this one does, to the byte; asks no Puppet.
    #[arg(long, value_name = "PROGRAM")]
    former: Option<PathBuf>,
    /// The number of its newest commits; with --wolf or --former of all, evenly.
    #[arg(long, default_value_t = 10)]
    commits: usize,
    /// Compare what the commits are, not what they change.
    #[arg(long)]
    only_render: bool,
    /// Repositories whose hiera.yaml is broken.
    #[arg(long)]
    broken: bool,
    /// Repositories that are about one topic, with nothing else in them.
    #[arg(long, conflicts_with_all = ["broken", "verdict", "corpus", "conversions"])]
    topic: Option<generator::Topic>,
    /// Print the error texts that differ most often, what hierad does not know, and Puppet's most frequent errors.
    #[arg(long)]
    texts: bool,
}

fn main() -> ExitCode {
    let args = Args::parse();
    match run(&args) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(fault) => {
            eprintln!("against_puppet: {fault}");
            ExitCode::from(2)
        }
    }
}

/// Returns true if hierad and Puppet agree.
fn run(args: &Args) -> Result<bool, Fault> {
    if args.print {
        if args.conversions.is_some() {
            println!("{}", generator::conversion(args.seed));
            return Ok(true);
        }
        let repository = args.repository(args.seed);
        println!("{}\n{}", repository.fixture(), repository.ndjson());
        return Ok(true);
    }
    if let Some(count) = args.conversions {
        return conversions::run(args, count);
    }
    if let Some(former) = &args.former {
        return builds::run(args, former);
    }
    if args.verdict {
        return verdict::run(args);
    }
    match (&args.corpus, &args.profiles) {
        (Some(repository), Some(profiles)) if args.wolf => wolf::run(args, repository, profiles),
        (Some(repository), Some(profiles)) => corpus::run(args, repository, profiles),
        _ => fuzz::run(args),
    }
}

impl Args {
    /// Returns the command that has the Ruby of a version of Puppet run `script`.
    fn command<'a>(&'a self, version: u8, script: &'a str) -> Result<Vec<&'a str>, Fault> {
        let ruby = if version == 9 { vec![OPENVOX, &self.ruby] } else { vec!["ruby"] };
        let mut command = [&ruby[..], &["-W0", "--disable=error_highlight,did_you_mean", script]].concat();
        if version == 8 {
            let library = self.puppet8_lib.as_ref().ok_or("Puppet 8 needs --puppet8-lib or PUPPET8_LIB")?;
            command.extend(["--puppet-lib", library.to_str().ok_or("the folder of Puppet 8 is no text")?]);
        }
        Ok(command)
    }

    /// Returns what settings say of the Ruby that a version of Puppet has here, if it is not as hierad takes it to be.
    fn ruby_in_settings(&self) -> String {
        if self.puppet == Versions::Nine { format!("ruby: '{}'\n", self.ruby) } else { String::new() }
    }

    /// The repository of a seed.
    fn repository(&self, seed: u64) -> generator::Repository {
        match self.puppet {
            _ if self.broken => generator::generate_broken(seed),
            Versions::Hiera3 => generator::generate_hiera3(seed),
            _ => self.topic.map_or_else(|| generator::generate(seed), |topic| generator::generate_topic(seed, topic)),
        }
    }
}

impl Versions {
    /// The versions to try, oldest first.
    fn list(self) -> &'static [u8] {
        match self {
            Versions::Seven => &[7],
            Versions::Eight => &[8],
            Versions::Nine => &[9],
            Versions::Hiera3 => &[3],
            Versions::Both => &[7, 8],
        }
    }

    /// The version for one random repository.
    fn of_seed(self, seed: u64) -> u8 {
        let versions = self.list();
        if versions.len() == 2 && seed % 2 == 1 { versions[1] } else { versions[0] }
    }
}
