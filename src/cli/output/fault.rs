//! The message of a panic, which is a fault in hierad itself.

use std::any::Any;
use std::backtrace::{Backtrace, BacktraceStatus};

/// Makes panics print their place, and their message only if it cannot contain a secret or `show_secrets` is set.
pub(in crate::cli) fn keep_secrets(show_secrets: bool) {
    if show_secrets {
        return;
    }
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map_or_else(|| "an unknown place".to_owned(), ToString::to_string);
        anstream::eprintln!("hierad: internal error at {place}: {}", message(info.payload()));
        let backtrace = Backtrace::capture();
        if backtrace.status() == BacktraceStatus::Captured {
            anstream::eprintln!("{backtrace}");
        }
    }));
}

/// Returns a panic's message if it is a literal, which contains no data; a formatted one may.
fn message(payload: &(dyn Any + Send)) -> &'static str {
    let written = payload.downcast_ref::<&'static str>().copied();
    written.unwrap_or("the message is left out, since it may show a secret; --show-secrets shows it")
}

#[cfg(test)]
mod tests {
    use super::message;

    #[test]
    fn a_message_with_data_in_it_is_left_out() {
        let caught = |work: fn()| std::panic::catch_unwind(work).unwrap_err();
        assert_eq!(message(&*caught(|| panic!("no data"))), "no data");
        let made = caught(|| panic!("{}", std::hint::black_box("hunter2")));
        assert!(!message(&*made).contains("hunter2"));
        let sliced = caught(|| _ = std::hint::black_box("é hunter2").split_at(1));
        assert!(!message(&*sliced).contains("hunter2"));
    }
}
