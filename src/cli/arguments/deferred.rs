//! Arguments of a subcommand that are built only when it is called: building those of all subcommands takes longer
//! than most commands.

use clap::builder::Resettable;
use clap::{Arg, ArgMatches, Args, Command, Error, FromArgMatches};

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

/// The line in place of the options that every command has.
pub(in crate::cli) const LINE: &str = "Options of every command: `hierad help options`";

/// Adds the arguments to the command, and keeps its own description. In its help, and in that of its subcommands, a
/// line replaces the options of every command.
fn with_arguments<A: Args>(command: Command) -> Command {
    let (about, more) = (command.get_about().cloned(), command.get_long_about().cloned());
    let hidden = |arg: Arg| if arg.is_global_set() { arg.hide(true) } else { arg };
    let command = A::augment_args(command.mut_args(hidden)).about(Resettable::from(about));
    let below = |command: Command| command.after_help(LINE);
    command.long_about(Resettable::from(more)).mut_subcommands(below).after_help(LINE)
}

/// No arguments. The help shows the options that every command has, except for those that only hierad itself uses.
#[derive(Debug)]
pub(in crate::cli) struct EveryOption;

fn with_every_option(command: Command) -> Command {
    let shown = |arg: Arg| {
        let is_own = arg.get_id() == "repo_is_trusted";
        if arg.is_global_set() && !is_own { arg.hide(false).hide_short_help(false) } else { arg }
    };
    command.mut_args(shown)
}

impl Args for EveryOption {
    fn augment_args(command: Command) -> Command {
        command.defer(with_every_option)
    }

    fn augment_args_for_update(command: Command) -> Command {
        command.defer(with_every_option)
    }
}

impl FromArgMatches for EveryOption {
    fn from_arg_matches(_: &ArgMatches) -> Result<EveryOption, Error> {
        Ok(EveryOption)
    }

    fn update_from_arg_matches(&mut self, _: &ArgMatches) -> Result<(), Error> {
        Ok(())
    }
}

impl<A: FromArgMatches> FromArgMatches for Deferred<A> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Deferred<A>, Error> {
        A::from_arg_matches(matches).map(Deferred)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(matches)
    }
}
