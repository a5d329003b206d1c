//! Arguments of a subcommand that are built only when it is called: building those of all takes longer than most
//! commands do.

use clap::builder::Resettable;
use clap::{ArgMatches, Args, Command, Error, FromArgMatches};

/// Arguments that the parser learns when it comes to their subcommand.
#[derive(Debug)]
pub(in crate::cli) struct Deferred<A>(pub(in crate::cli) A);

impl<A: Args> Args for Deferred<A> {
    fn augment_args(command: Command) -> Command {
        command.defer(with_arguments::<A>)
    }

    fn augment_args_for_update(command: Command) -> Command {
        command.defer(with_arguments::<A>)
    }
}

/// Adds the arguments to the command, and keeps its own description.
fn with_arguments<A: Args>(command: Command) -> Command {
    let (about, more) = (command.get_about().cloned(), command.get_long_about().cloned());
    A::augment_args(command).about(Resettable::from(about)).long_about(Resettable::from(more))
}

impl<A: FromArgMatches> FromArgMatches for Deferred<A> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Deferred<A>, Error> {
        A::from_arg_matches(matches).map(Deferred)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(matches)
    }
}
