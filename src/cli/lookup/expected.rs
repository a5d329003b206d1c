//! `--is` and `--is-error`: a lookup that answers by its exit status, for `git bisect run`.
//!
//! Bisecting takes 0 for the one state of a revision, 1 for the other, and 125 for a revision that cannot be tested.
//! So everything that is not known has 125 here: a guess would make git name the wrong commit.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Args;

use super::{LookupRequest, Subject};
use crate::app::lookup::failure;
use crate::cli::output::log;
use crate::cli::{Result, Status};
use crate::hiera::Outcome;
use crate::hiera::layer::Environment;
use crate::history::transitions::Condition;
use crate::puppet::json::compact;
use crate::report::shorten;
use crate::value::Value;

/// The maximum number of characters of a value that is not the expected one.
const MAX_SHOWN_CHARACTERS: usize = 200;

/// The flags that expect an answer.
#[derive(Debug, Args)]
pub(super) struct Expectation {
    /// For `git bisect run`: print nothing, and exit with 0 if this is the value, read as YAML, or, without VALUE, if
    /// there is a value; with 1 if not; and with 125 if that cannot be known
    #[arg(long, value_name = "VALUE", num_args = 0..=1, allow_negative_numbers = true, conflicts_with_all = OUTPUTS)]
    #[expect(clippy::option_option, reason = "so clap tells a flag without its value")]
    is: Option<Option<String>>,
    /// The same, with 0 if the lookup fails as Puppet would fail it, --type included
    #[arg(long, conflicts_with = "is", conflicts_with_all = OUTPUTS)]
    is_error: bool,
}

/// The flags about what is printed.
const OUTPUTS: [&str; 3] = ["explain", "explain_options", "render_as"];

impl Expectation {
    /// Returns true if the exit status is the answer.
    pub(super) fn is_given(&self) -> bool {
        self.is.is_some() || self.is_error
    }

    /// Returns the expected answer, its value read as `environment` reads data.
    pub(super) fn read(&self, environment: &Environment) -> Result<Option<Condition>> {
        let text = match &self.is {
            Some(Some(text)) => text,
            Some(None) => return Ok(Some(Condition::IsValue)),
            None => return Ok(self.is_error.then_some(Condition::Error)),
        };
        Ok(Some(Condition::Is(read_value(text, environment)?)))
    }
}

/// Reads the value of `--is` as `environment` reads data.
pub(in crate::cli) fn read_value(text: &str, environment: &Environment) -> Result<Value> {
    let parsed = environment.format_of("data.yaml").parse(text.as_bytes());
    match parsed.fault {
        Some(fault) => Err(format!("--is: '{text}' is not YAML: {}", fault.text).into()),
        None => Ok(parsed.value),
    }
}

/// Returns the exit status of a call with wrong arguments: that of a revision that cannot be tested if it is to test
/// one, since git takes 1 for an answer.
pub(in crate::cli) fn status_of_wrong(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let is_test = |argument: &OsString| {
        argument == "--is-error" || argument == "--is" || argument.to_string_lossy().starts_with("--is=")
    };
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let is_lookup = arguments.iter().any(|argument| argument == "lookup");
    if is_lookup && arguments.iter().any(is_test) { Status::Untestable.into() } else { ExitCode::FAILURE }
}

impl Subject<'_> {
    /// Compares the answer with the expected one. Prints nothing if it is that. Fails if the answer is unknown.
    pub(super) fn test(&self, wanted: &LookupRequest<'_>, expected: &Condition) -> Result {
        let (key, answer) = self.answer(wanted);
        let error = |error| failure(key, &self.disclosure.error(error));
        let mismatch = match (&answer, expected.holds(&answer, self.disclosure)) {
            (_, Some(true)) => return Ok(Status::Done),
            (Outcome::Failed(unseen), None) => return Err(error(unseen)),
            // No lookup can be made there, whatever the data says.
            (Outcome::Failed(fault), _) if self.environment.layers().any(|layer| layer.config.is_err()) => {
                return Err(error(fault));
            }
            (Outcome::Failed(fault), _) => error(fault).to_string(),
            (Outcome::NotFound, _) => match self.unsearched(wanted).first() {
                Some(reason) => return Err(format!("{}: {reason}", self.absence(wanted)).into()),
                None => self.absence(wanted),
            },
            (Outcome::Found(_), None) => {
                return Err(format!("'{key}' is a secret on {}: --show-secrets compares it", self.node).into());
            }
            (Outcome::Found(value), _) => {
                let shown = compact(&self.disclosure.value(value));
                format!("'{key}' is {} on {}", shorten(&shown, MAX_SHOWN_CHARACTERS), self.node)
            }
        };
        log::tell(log::Format::Text, &mismatch);
        Ok(Status::NotFound)
    }
}
