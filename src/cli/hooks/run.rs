//! What the installed hooks do.

use std::ffi::OsString;

use super::push;
use super::script::Hook;
use crate::cli::{Failure, Global, Result, Status, describe, diff, notify};
use crate::git::{self, Environment};

pub(super) fn run(global: &Global, hook: Hook, arguments: &[OsString]) -> Result {
    match hook {
        Hook::PostCommit => post_commit(global),
        Hook::PostMerge | Hook::PostRewrite | Hook::PostReceive => Ok(notify::run(global)),
        Hook::PrePush => push::run(global, arguments),
    }
}

/// The first line: what it is about, without what to do about it.
pub(super) fn in_short(failure: &Failure) -> String {
    describe(&**failure).lines().next().unwrap_or_default().to_owned()
}

/// A setting of hierad's in git's configuration, which `git -c` reaches as well.
pub(super) fn setting(global: &Global, name: &str) -> Result<Option<String>> {
    let folders = git::git_dirs(global.repo.as_deref(), &Environment::of_process())?;
    Ok(git::config_value(&folders.own, name)?.map(|setting| setting.value))
}

fn post_commit(global: &Global) -> Result {
    notify::run(global);
    match setting(global, "hierad.postCommit")?.as_deref() {
        None | Some("notify") => Ok(Status::Done),
        Some("print") => diff::run(global, &diff::Arguments::in_hook()).map_err(|failure| in_short(&failure).into()),
        Some(other) => Err(format!("hierad.postCommit is '{other}': wanted notify or print").into()),
    }
}
