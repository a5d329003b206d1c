//! Edits: what a next commit does to a repository.

use super::emit::Language;
use super::files::Files;
use super::random::Random;
use super::{Content, Repository, fault, generate};

/// Words of data that an edit puts in each other's place.
const SWAPS: [(&str, &str); 8] = [
    ("red", "green"),
    ("alpha", "beta"),
    ("role", "site"),
    ("unique", "deep"),
    ("lookup", "alias"),
    ("level 0", "level zero"),
    ("true", "false"),
    ("--", "~~"),
];

/// The repository some edits later. It depends on the seed and on `number` alone.
pub(crate) fn edited(repository: &Repository, number: u64) -> Repository {
    let mut random = Random::new(repository.seed.wrapping_mul(31).wrapping_add(number));
    let other = generate(repository.seed.wrapping_add(1_000_003 + number));
    let mut edited = repository.clone();
    for _ in random.times(1, 3) {
        edit(&mut random, &mut edited.files, &other.files);
    }
    super::settle(&mut edited.files);
    edited
}

fn edit(random: &mut Random, files: &mut Files, other: &Files) {
    let data: Vec<String> = files.keys().filter(|path| is_inside(path) && *path != "hiera.yaml").cloned().collect();
    if data.is_empty() {
        return;
    }
    let path = random.one(&data);
    match random.weighted(&[24, 20, 14, 10, 10, 6, 6, 4, 3]) {
        0 => swap_words(random, files, &path),
        1 => drop_lines(random, files, &path),
        2 => from_other(random, files, other, false),
        3 => _ = files.remove(&path),
        4 => move_over(files, &path, &random.one(&data)),
        5 => swap_words(random, files, "hiera.yaml"),
        6 => from_other(random, files, other, true),
        7 => drop_lines(random, files, "hiera.yaml"),
        _ => fault::slip(random, files, is_inside),
    }
}

/// Returns true if a path lies in the repository: no commit edits a global layer, which all revisions share.
fn is_inside(path: &str) -> bool {
    !path.starts_with('/')
}

fn swap_words(random: &mut Random, files: &mut Files, path: &str) {
    let Some(Content::File(text)) = files.get_mut(path) else { return };
    let present: Vec<(&str, &str)> = SWAPS.iter().copied().filter(|(word, _)| text.contains(word)).collect();
    if !present.is_empty() {
        let (from, to) = random.one(&present);
        *text = text.replacen(from, to, if random.percent(50) { 1 } else { usize::MAX });
    }
}

/// Drops an entry of the root, or any line.
fn drop_lines(random: &mut Random, files: &mut Files, path: &str) {
    let Some(Content::File(text)) = files.get_mut(path) else { return };
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let starts: Vec<usize> = (0..lines.len()).filter(|at| !lines[*at].starts_with([' ', '-', '}', ']'])).collect();
    if starts.is_empty() {
        return;
    }
    let start = random.one(&starts);
    let end = starts.iter().copied().find(|at| *at > start).unwrap_or(lines.len());
    *text = [&lines[..start], &lines[end..]].concat().concat();
}

/// Takes a file over from another repository: one that both have, or the configuration.
fn from_other(random: &mut Random, files: &mut Files, other: &Files, config: bool) {
    let other_paths = other.keys().filter(|path| is_inside(path));
    let paths: Vec<&String> = other_paths.filter(|path| config == (path.as_str() == "hiera.yaml")).collect();
    let common: Vec<&String> = paths.iter().copied().filter(|path| files.contains_key(*path)).collect();
    let candidates = if common.is_empty() || random.percent(20) { paths } else { common };
    if candidates.is_empty() {
        return;
    }
    let path = random.one(&candidates);
    // A file must not come to lie where a folder is, or the other way round.
    let below = |one: &str, other: &str| one.strip_prefix(other).is_some_and(|rest| rest.starts_with('/'));
    let clash = files.keys().any(|present| below(present, path) || below(path, present));
    if !clash && let Some(content) = other.get(path) {
        files.insert(path.clone(), content.clone());
    }
}

/// Moves a file over another one of its language.
fn move_over(files: &mut Files, from: &str, to: &str) {
    if Language::of(from) == Language::of(to)
        && let Some(content) = files.remove(from)
    {
        files.insert(to.to_owned(), content);
    }
}
