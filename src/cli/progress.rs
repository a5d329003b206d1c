//! The progress of the work: a line on standard error, if that is a terminal and the work takes more than a second.

use std::fmt::Display;
use std::io::{self, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::job::without_job_commands;
use crate::visible::visible_lines;
use crate::workers::{self, Stage};

/// The time after which the line is shown.
const PATIENCE: Duration = Duration::from_secs(1);

/// The time between two drawings of the line.
const PERIOD: Duration = Duration::from_millis(100);

/// The progress line, which is hidden at first. Other output is printed above it.
#[derive(Debug, Clone)]
pub(super) struct Progress {
    line: ProgressBar,
    stages: Arc<Stages>,
}

/// The running stages in the order in which they began, and perhaps some that have ended.
#[derive(Debug, Default)]
struct Stages(Mutex<Vec<Arc<Stage>>>);

impl workers::Progress for Stages {
    fn begin(&self, stage: &Arc<Stage>) {
        let mut stages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        stages.retain(goes_on);
        stages.push(stage.clone());
    }
}

impl Stages {
    /// Returns the text of the innermost stage. Between two stages, it is that of the former one.
    fn text(&self) -> Option<String> {
        let mut stages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if stages.iter().any(goes_on) {
            stages.retain(goes_on);
        }
        stages.last().map(|stage| text(stage))
    }
}

fn goes_on(stage: &Arc<Stage>) -> bool {
    Arc::strong_count(stage) > 1
}

fn text(stage: &Stage) -> String {
    let count = |steps: usize| HumanCount(steps as u64);
    match stage.total {
        Some(total) => format!("{}: {} of {}", stage.what, count(stage.done()), count(total)),
        None => format!("{}: {}", stage.what, count(stage.done())),
    }
}

impl Default for Progress {
    fn default() -> Progress {
        let style =
            ProgressStyle::with_template("{spinner} {wide_msg}").unwrap_or_else(|_| ProgressStyle::default_bar());
        let line = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        Progress { line: line.with_style(style.tick_chars("|/-\\ ")), stages: Arc::default() }
    }
}

impl Progress {
    /// Returns the listener whose stages the line shows.
    pub(super) fn listener(&self) -> Arc<dyn workers::Progress> {
        self.stages.clone()
    }

    /// Shows the line after a while, until the returned guard is dropped. Returns `None` without a capable terminal.
    pub(super) fn show(&self) -> Option<Shown> {
        if ProgressDrawTarget::stderr().is_hidden() { None } else { self.show_on(ProgressDrawTarget::stderr, PATIENCE) }
    }

    fn show_on(&self, target: impl Fn() -> ProgressDrawTarget + Send + 'static, patience: Duration) -> Option<Shown> {
        let (stop, stopped) = channel();
        let progress = self.clone();
        let draw = move || {
            if goes_on_for(patience, &stopped) {
                progress.line.set_draw_target(target());
                progress.draw(&stopped);
            }
        };
        let thread = thread::Builder::new().name("progress".into()).spawn(draw).ok()?;
        Some(Shown { running: Some((stop, thread)) })
    }

    /// Redraws the line until it is stopped.
    fn draw(&self, stopped: &Receiver<()>) {
        loop {
            if let Some(text) = self.stages.text() {
                self.line.set_message(text);
                self.line.tick();
            }
            if !goes_on_for(PERIOD, stopped) {
                break;
            }
        }
        self.line.finish_and_clear();
        self.line.set_draw_target(ProgressDrawTarget::hidden());
    }

    /// Prints a line of text to standard error.
    pub(super) fn print(&self, text: &dyn Display) {
        // There is no way to report a failure to print.
        self.line.suspend(|| {
            _ = writeln!(anstream::stderr().lock(), "{}", without_job_commands(&visible_lines(&text.to_string())));
        });
    }

    /// Returns standard error for whole lines, which go above the progress line.
    pub(super) fn stderr(&self) -> impl Write + use<> {
        Above(self.line.clone())
    }
}

/// Waits, and returns true if the sender is still there afterwards.
fn goes_on_for(time: Duration, stopped: &Receiver<()>) -> bool {
    stopped.recv_timeout(time) == Err(RecvTimeoutError::Timeout)
}

/// Keeps the line shown until it is dropped.
pub(super) struct Shown {
    running: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Drop for Shown {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.running.take() {
            drop(stop);
            _ = thread.join();
        }
    }
}

/// Writes to standard error above the line.
struct Above(ProgressBar);

impl Write for Above {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.suspend(|| io::stderr().write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};
    use std::time::{Duration, Instant};

    use indicatif::{ProgressDrawTarget, TermLike};

    use super::Progress;
    use crate::workers::Workers;

    /// A terminal of one line, with everything that it has shown.
    #[derive(Debug, Clone, Default)]
    struct Screen(Arc<Mutex<(String, Vec<String>)>>);

    impl Screen {
        fn line(&self) -> String {
            self.0.lock().unwrap().0.trim_end().to_owned()
        }

        /// Fails if the line does not read `text` before long.
        #[track_caller]
        fn comes_to(&self, text: &str) {
            let deadline = Instant::now() + Duration::from_secs(30);
            while self.line().trim_start_matches(['|', '/', '-', '\\', ' ']) != text {
                assert!(Instant::now() < deadline, "{:?} instead of {text:?}", self.line());
                std::thread::sleep(Duration::from_millis(5));
            }
        }
    }

    impl TermLike for Screen {
        fn width(&self) -> u16 {
            60
        }
        fn move_cursor_up(&self, _: usize) -> std::io::Result<()> {
            Ok(())
        }
        fn move_cursor_down(&self, _: usize) -> std::io::Result<()> {
            Ok(())
        }
        fn move_cursor_right(&self, _: usize) -> std::io::Result<()> {
            Ok(())
        }
        fn move_cursor_left(&self, _: usize) -> std::io::Result<()> {
            Ok(())
        }
        fn write_line(&self, text: &str) -> std::io::Result<()> {
            self.write_str(text)
        }
        fn write_str(&self, text: &str) -> std::io::Result<()> {
            let mut screen = self.0.lock().unwrap();
            screen.0.push_str(text);
            screen.1.push(text.to_owned());
            Ok(())
        }
        fn clear_line(&self) -> std::io::Result<()> {
            self.0.lock().unwrap().0.clear();
            Ok(())
        }
        fn flush(&self) -> std::io::Result<()> {
            Ok(())
        }
    }

    /// A line on a screen, and workers that report to it.
    fn shown(patience: Duration) -> (Progress, Screen, Workers, Option<super::Shown>) {
        let (progress, screen) = (Progress::default(), Screen::default());
        let target = screen.clone();
        let shown = progress.show_on(move || ProgressDrawTarget::term_like(Box::new(target.clone())), patience);
        let workers = Workers { progress: progress.listener(), ..Workers::of(1) };
        (progress, screen, workers, shown)
    }

    #[test]
    fn the_innermost_stage_is_shown_until_the_work_is_done() {
        let (progress, screen, workers, shown) = shown(Duration::ZERO);
        let keys = workers.begin("resolving keys", Some(5_000));
        keys.advance(1_234);
        screen.comes_to("resolving keys: 1,234 of 5,000");
        let profiles = workers.begin("reading node profiles", None);
        profiles.advance(7);
        screen.comes_to("reading node profiles: 7");
        drop(profiles);
        screen.comes_to("resolving keys: 1,234 of 5,000");
        keys.advance(3_766);
        drop(keys);
        screen.comes_to("resolving keys: 5,000 of 5,000");
        progress.line.suspend(|| assert_eq!(screen.line(), ""));
        screen.comes_to("resolving keys: 5,000 of 5,000");
        drop(shown);
        assert_eq!(screen.line(), "");
        progress.line.suspend(|| ());
        assert_eq!(screen.line(), "");
    }

    #[test]
    fn nothing_is_shown_of_work_that_is_done_soon() {
        let (progress, screen, workers, shown) = shown(Duration::from_hours(1));
        let _stage = workers.begin("resolving keys", Some(1));
        progress.line.suspend(|| ());
        std::thread::sleep(Duration::from_millis(20));
        drop(shown);
        assert_eq!(screen.0.lock().unwrap().1, Vec::<String>::new());
    }

    #[test]
    fn stages_that_have_ended_are_forgotten() {
        let progress = Progress::default();
        let workers = Workers { progress: progress.listener(), ..Workers::of(1) };
        for _ in 0..10 {
            _ = workers.begin("resolving keys", Some(1));
        }
        assert_eq!(progress.stages.0.lock().unwrap().len(), 1);
    }
}
