//! Arguments of a subcommand that are described when it is called: to describe those of all takes longer than most work does.

use clap::builder::Resettable;
use clap::{ArgMatches, Args, Command, Error, FromArgMatches};

/// Arguments that the parser hears of when it comes to them.
#[derive(Debug)]
pub(super) struct Later<A>(pub(super) A);

impl<A: Args> Args for Later<A> {
    fn augment_args(command: Command) -> Command {
        command.defer(described::<A>)
    }

    fn augment_args_for_update(command: Command) -> Command {
        command.defer(described::<A>)
    }
}

/// The command with the arguments, and with its own words on what it does.
fn described<A: Args>(command: Command) -> Command {
    let (about, more) = (command.get_about().cloned(), command.get_long_about().cloned());
    A::augment_args(command).about(Resettable::from(about)).long_about(Resettable::from(more))
}

impl<A: FromArgMatches> FromArgMatches for Later<A> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Later<A>, Error> {
        A::from_arg_matches(matches).map(Later)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(matches)
    }
}
