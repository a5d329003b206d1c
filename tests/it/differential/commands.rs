//! Commands with a cache, whatever has become of that, against the same commands without one.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use super::image;
use super::site::Site;

/// The number of changes and commands of a sequence.
const STEPS: usize = 25;

/// Runs a sequence, and returns the number of comparisons.
pub(super) fn sequence(seed: u64) -> usize {
    let mut site = Site::new(seed);
    let (mut compared, mut log, mut cache) = (0, Vec::new(), Cache::default());
    for step in 0..STEPS {
        let change = change(&mut site, &mut cache);
        log.push(change.to_owned());
        // Two processes at once share the cache.
        let asked: Vec<Asked> = (0..=site.random.below(2)).map(|_| Asked::random(&mut site)).collect();
        log.extend(asked.iter().map(|asked| asked.arguments.join(" ")));
        let run = |asked: &Asked| (asked.command(&site, "home").spawn().unwrap(), asked.clean(&site).spawn().unwrap());
        let running: Vec<_> = asked.iter().map(run).collect();
        for (asked, (told, clean)) in asked.iter().zip(running) {
            compared += 1;
            let [told, clean] = [told, clean].map(|child| shown(&child.wait_with_output().unwrap()));
            let at =
                told.bytes().zip(clean.bytes()).take_while(|(told, clean)| told == clean).count().saturating_sub(80);
            let part =
                |text: &str| String::from_utf8_lossy(&text.as_bytes()[at..text.len().min(at + 400)]).into_owned();
            assert!(
                told == clean,
                "seed {seed}, step {step}, {}, after:\n{}\nwith a cache: ...{}\nin a clean home: ...{}",
                asked.arguments.join(" "),
                log.join("\n"),
                part(&told),
                part(&clean)
            );
        }
        let left = cache.left(&site);
        assert!(left.is_empty(), "seed {seed}: {left:?} are left in the cache's folder:\n{}", log.join("\n"));
    }
    compared
}

/// Returns what a command printed, without the times in messages.
fn shown(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let err = text(&output.stderr);
    let untimed = err.lines().map(|line| line.split_once("Z  WARN ").map_or(line, |(_, message)| message));
    format!("{}\n{}\n{:?}", text(&output.stdout), untimed.collect::<Vec<_>>().join("\n"), output.status.code())
}

/// A command line.
struct Asked {
    folder: PathBuf,
    arguments: Vec<String>,
}

impl Asked {
    fn random(site: &mut Site) -> Asked {
        let random = &mut site.random;
        let (folder, up) = *random.pick(&[("repository", ".."), ("repository/data", "../..")]);
        let base = site.sandbox.beside("").to_str().unwrap().trim_end_matches('/').to_owned();
        let spelled = match random.below(4) {
            0 => format!("{up}/settings.yaml"),
            1 => format!("{up}/nodes/../settings.yaml"),
            2 => format!("{base}/./settings.yaml"),
            _ => format!("{base}/settings.yaml"),
        };
        let mut line = match random.below(9) {
            0 => "diff".to_owned(),
            1 => "diff --format json".to_owned(),
            2 => "diff HEAD~1 .".to_owned(),
            3 => "render --format ndjson".to_owned(),
            4 => "render HEAD~1".to_owned(),
            5 => format!("lookup {} --node n{}", random.pick(&["fact", "z", "port", "ntp::b"]), 1 + random.below(5)),
            6 => "check --format json".to_owned(),
            7 => format!("render --node n{}", 1 + random.below(5)),
            _ => "diff HEAD~1 HEAD --key fact".to_owned(),
        };
        line.extend([" --config ", &spelled]);
        if random.below(3) == 0 {
            let more = *random.pick(&["nodes", "nodes/n1.yaml", "current", "empty", "nodes --profiles ../empty"]);
            line +=
                &format!(" --profiles {up}/{more}").replace("--profiles ../empty", &format!("--profiles {up}/empty"));
        }
        for (flag, values) in [("--threads", ["1", "2", "7"]), ("--cache-size", ["0", "1", "256"])] {
            if random.below(3) == 0 {
                line.extend([" ", flag, " ", *random.pick(&values)]);
            }
        }
        let arguments = line.split(' ').map(str::to_owned).collect();
        Asked { folder: site.at(folder), arguments }
    }

    /// The same without a cache, in a clean home.
    fn clean(&self, site: &Site) -> Command {
        let mut command = self.command(site, "clean");
        command.arg("--no-cache").env_remove("LD_PRELOAD");
        command
    }

    fn command(&self, site: &Site, home: &str) -> Command {
        let mut command = site.command(&self.folder, home);
        command.args(&self.arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some(image) = image() {
            command.env("LD_PRELOAD", image);
        }
        command
    }
}

/// The cache, as it was when it was last looked at.
#[derive(Default)]
struct Cache {
    /// The caches of former states.
    former: Vec<Vec<u8>>,
    inode: Option<u64>,
}

impl Cache {
    fn path(site: &Site) -> PathBuf {
        site.sandbox.root().join(".git/hierad/cache")
    }

    /// Returns the unfinished files that are left although the cache was written since.
    fn left(&mut self, site: &Site) -> Vec<String> {
        let inode = fs::metadata(Cache::path(site)).ok().map(|cache| cache.ino());
        if inode == self.inode {
            return Vec::new();
        }
        self.inode = inode;
        let names = fs::read_dir(site.sandbox.root().join(".git/hierad")).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.starts_with(".cache-")).collect()
    }

    /// Damages the cache, replaces it by another one, or leaves what a killed process leaves.
    fn change(&mut self, site: &mut Site) {
        let path = Cache::path(site);
        let Ok(mut content) = fs::read(&path) else { return };
        match site.random.below(6) {
            0 => content.truncate(site.random.below(content.len() + 1)),
            1 => {
                let at = site.random.below(content.len().max(1));
                if let Some(byte) = content.get_mut(at) {
                    *byte ^= 1 << site.random.below(8);
                }
            }
            2 => content = of_another_build(&content),
            3 if !self.former.is_empty() => content.clone_from(site.random.pick(&self.former)),
            4 => fs::write(path.with_file_name(".cache-killed"), &content).unwrap(),
            _ => self.former.push(content.clone()),
        }
        fs::write(&path, content).unwrap();
        self.inode = fs::metadata(&path).ok().map(|cache| cache.ino());
    }
}

/// Returns the cache that another build would write, which parses texts in another way: it is whole, and the first line
/// names its builder. Two builds may well have the same size and time.
fn of_another_build(content: &[u8]) -> Vec<u8> {
    let Some(end) = content.iter().position(|byte| *byte == b'\n') else { return content.to_vec() };
    let mut header = content[..=end].to_vec();
    // Former programs had no more than the size and the time there.
    if !header.starts_with(b"hierad cache 1 ") {
        header[end - 16..end].fill(b'f');
    }
    let Some(mut body) = content.get(end + 5..).map(<[u8]>::to_vec) else { return content.to_vec() };
    for at in 0..body.len().saturating_sub(3) {
        if body[at..].starts_with(b"word") {
            body[at..at + 4].copy_from_slice(b"Word");
        }
    }
    [header, crc32fast::hash(&body).to_be_bytes().to_vec(), body].concat()
}

/// Changes something.
fn change(site: &mut Site, cache: &mut Cache) -> &'static str {
    match site.random.below(12) {
        0..=3 => {
            site.profiles();
            "a change of profiles"
        }
        4 => {
            site.outside();
            "a change outside of the repository"
        }
        5 => {
            site.data();
            "a change in the work tree"
        }
        6 => {
            site.data();
            site.sandbox.commit("change");
            "a commit"
        }
        7 => {
            site.settings();
            "a change of settings"
        }
        8 => {
            let branch = *site.random.pick(&["main", "test"]);
            site.sandbox.git(["checkout", "--quiet", "-B", branch]);
            "a checkout"
        }
        9..=10 => {
            cache.change(site);
            "a change of the cache"
        }
        _ => "nothing",
    }
}
