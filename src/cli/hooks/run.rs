//! The work of the installed hooks.

use std::ffi::OsString;

use super::script::Hook;
use super::{POST_COMMIT, first_line, gate, push, setting, unexpected};
use crate::cli::{Global, Result, Status, diff, notify};

pub(super) fn run(global: &Global, hook: Hook, arguments: &[OsString]) -> Result {
    match hook {
        Hook::PostCommit => post_commit(global),
        Hook::PostMerge | Hook::PostRewrite | Hook::PostReceive => Ok(notify::run(global)),
        Hook::PrePush => push::run(global, arguments),
        Hook::PreReceive => gate::run(global, arguments),
    }
}

fn post_commit(global: &Global) -> Result {
    notify::run(global);
    match setting(global, POST_COMMIT)?.as_deref() {
        None | Some("notify") => Ok(Status::Done),
        Some("print") => diff::run(global, &diff::Arguments::in_hook()).map_err(|failure| first_line(&failure).into()),
        Some(other) => Err(unexpected(POST_COMMIT, other, &["notify", "print"]).into()),
    }
}
