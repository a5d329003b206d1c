//! The hook `pre-push`: it shows what a push changes on the nodes, and may refuse it.

use std::ffi::OsString;

use super::judged::{Mode, check};
use super::pushed::Push;
use super::{PRE_PUSH, first_line, setting};
use crate::cli::output::log;
use crate::cli::{Global, Result, Status};

pub(super) fn run(global: &Global, arguments: &[OsString]) -> Result {
    let push = Push::outgoing(arguments);
    let mode = match setting(global, PRE_PUSH)?.as_deref() {
        None => Mode::Print,
        Some("off") => return Ok(Status::Done),
        Some(value) => match Mode::parse(PRE_PUSH, value) {
            Ok(mode) => mode,
            // Somebody wants a check, and does not get it.
            Err(wrong) => return Ok(refuse(&format!("cannot be checked: {wrong}"))),
        },
    };
    match push.and_then(|push| check(global, push, mode)) {
        Ok(None) => Ok(Status::Done),
        Ok(Some(refusal)) => Ok(refuse(&refusal)),
        Err(failure) if mode == Mode::Print => {
            log::print(&format_args!("hierad: cannot show what the push changes: {}", first_line(&failure)));
            Ok(Status::Done)
        }
        // A push that cannot be checked is refused if a check is asked for.
        Err(failure) => Ok(refuse(&format!("cannot be checked: {}", first_line(&failure)))),
    }
}

/// Says why the push is refused.
fn refuse(reason: &str) -> Status {
    log::print(&format_args!("hierad: the push is refused, as it {reason}; `git push --no-verify` pushes anyway"));
    Status::Found
}
