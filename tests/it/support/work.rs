//! The processor time of work that must have an end. It is counted and not waited for: a busy machine, such as one that
//! compiles meanwhile, makes it no longer. Limits are measured in the same run, by work of the same kind.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use super::Sandbox;
use super::extent::{ENDLESS, is_full};
use super::terminal::{Printed, hierad, own};

/// The most processor time of work where all is tried: so many times as much as an honest repository takes that merges
/// a thousand keys of two hundred levels, whatever the machine and the build. One for release takes half a second.
const TIMES_HONEST: u32 = 100;

/// The most memory of a run, in KiB.
pub(crate) const MEMORY: u64 = 2 << 20;

/// Runs `hierad` to its end, which must come in time where all is tried, and within its memory.
#[track_caller]
pub(crate) fn run(site: &Sandbox, command: &mut Command) -> Printed {
    static MOST: OnceLock<Duration> = OnceLock::new();
    let limit = if is_full() { *MOST.get_or_init(|| most(hierad)) } else { Duration::MAX };
    let (out, err) = (site.beside("out"), site.beside("err"));
    let to = |path: &Path| Stdio::from(std::fs::File::create(path).unwrap());
    let mut child = command.stdin(Stdio::null()).stdout(to(&out)).stderr(to(&err)).spawn().unwrap();
    let start = Instant::now();
    let mut most = 0;
    let status = loop {
        most = most.max(memory(&child).unwrap_or(0));
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        let work = of_process(&child).unwrap_or_default();
        if work > limit || start.elapsed() > ENDLESS || most > MEMORY {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("{command:?}: after {work:?} of work in {:?} with {most} KiB", start.elapsed());
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let read = |path| String::from_utf8(std::fs::read(path).unwrap()).unwrap();
    Printed { status: status.code().unwrap_or(-1), out: read(&out), err: read(&err) }
}

/// Does work of the tests' own build, in this thread, which must end in time where all is tried.
#[track_caller]
pub(crate) fn here<T>(work: impl FnOnce() -> T) -> T {
    static MOST: OnceLock<Duration> = OnceLock::new();
    let before = of_thread();
    let done = work();
    if let (true, Some(before), Some(after)) = (is_full(), before, of_thread()) {
        let (taken, limit) = (after.saturating_sub(before), *MOST.get_or_init(|| most(own)));
        assert!(taken < limit, "{taken:?} of work, and {limit:?} at most");
    }
    done
}

/// Measures the most processor time of work that `program` does.
fn most(program: impl Fn(&Path) -> Command) -> Duration {
    let levels = "common.yaml, ".repeat(200);
    let keys = (0..1000).fold(String::new(), |text, n| text + &format!("honest{n}: [{n}, a, b, c, d]\n"));
    let site = Sandbox::new();
    site.write("hiera.yaml", format!("version: 5\nhierarchy: [{{name: common, paths: [{levels}]}}]\n"));
    site.write("data/common.yaml", format!("lookup_options: {{'^honest': {{merge: unique}}}}\n{keys}"));
    site.commit("honest");
    std::fs::write(site.beside("profiles.ndjson"), "{\"name\": \"a\"}\n{\"name\": \"b\"}\n{\"name\": \"c\"}\n")
        .unwrap();
    let mut command = program(site.root());
    command.args(["render", "--format", "ndjson", "--profiles"]).arg(site.beside("profiles.ndjson"));
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    // One that has ended has its time until it is waited for.
    while stat(&format!("{}", child.id())).is_some_and(|(state, _)| state != "Z") {
        std::thread::sleep(Duration::from_millis(10));
    }
    let taken = of_process(&child).unwrap_or_default();
    assert!(child.wait().unwrap().success());
    taken * TIMES_HONEST
}

/// Returns the state of a process or thread, and the processor time that it has had, where the system tells.
fn stat(of: &str) -> Option<(String, Duration)> {
    let stat = std::fs::read_to_string(format!("/proc/{of}/stat")).ok()?;
    // Behind the name of the program, which is in parentheses; times are in hundredths of a second.
    let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split(' ').collect();
    let ticks = fields.iter().skip(11).take(2).map(|ticks| ticks.parse::<u64>().unwrap_or(0));
    Some(((*fields.first()?).to_owned(), Duration::from_millis(ticks.sum::<u64>() * 10)))
}

fn of_process(child: &Child) -> Option<Duration> {
    Some(stat(&format!("{}", child.id()))?.1)
}

fn of_thread() -> Option<Duration> {
    Some(stat("thread-self")?.1)
}

/// Returns the most memory that a process has had since this was last asked, in KiB, where the system tells.
pub(crate) fn memory(child: &Child) -> Option<u64> {
    let process = format!("/proc/{}", child.id());
    let status = std::fs::read_to_string(format!("{process}/status")).ok()?;
    std::fs::write(format!("{process}/clear_refs"), "5").ok();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}
