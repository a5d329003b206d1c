//! Links between pages, and files of the project that pages name.

use std::collections::BTreeSet;
use std::path::Path;

use regex::Regex;

use super::pages::{none, page, pages, root};

/// The folders of the project that pages name files of.
const FOLDERS: &str = "src|tests|benches|examples|hooks|docs|\\.ci|\\.github";

/// Returns a page without its fenced blocks.
fn prose(text: &str) -> String {
    let mut is_code = false;
    let mut prose = String::new();
    for line in text.lines() {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        if !is_code && !is_fence {
            prose.push_str(line);
        }
        prose.push('\n');
    }
    prose
}

/// Returns the anchors of a page's headings, as forges make them.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = prose(text);
    let headings = headings.lines().filter(|line| line.starts_with('#'));
    let letters = |heading: &str| {
        heading
            .trim_start_matches('#')
            .trim()
            .to_lowercase()
            .chars()
            .filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter))
            .map(|letter| if letter == ' ' { '-' } else { letter })
            .collect()
    };
    headings.map(letters).collect()
}

/// Returns what is wrong with a link of a page, if anything.
fn fault(from: &str, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let folder = Path::new(from).parent().unwrap();
    let path = if path.is_empty() { from.into() } else { folder.join(path) };
    let full = root().join(&path);
    if !full.exists() {
        return Some("there is no such file".to_owned());
    }
    let is_lost = !anchor.is_empty() && !anchors(&std::fs::read_to_string(full).unwrap()).contains(anchor);
    is_lost.then(|| "there is no such heading".to_owned())
}

#[test]
fn links_lead_somewhere() {
    let link = Regex::new(r"\]\(([^)\s]+)\)").unwrap();
    let mut wrong = Vec::new();
    let mut count = 0;
    for (path, text) in pages() {
        for (number, line) in (1..).zip(prose(&text).lines()) {
            for found in link.captures_iter(line) {
                count += 1;
                wrong.extend(fault(&path, &found[1]).map(|fault| format!("{path}:{number}: {}: {fault}", &found[1])));
            }
        }
    }
    none(&wrong);
    assert!(count > 40, "{count} links");
}

#[test]
fn readme_leads_to_every_page() {
    let readme = page("README.md");
    let is_missing = |path: &&String| {
        path.starts_with("docs/") && !path.starts_with("docs/decisions/") && !readme.contains(&format!("({path})"))
    };
    let missing: Vec<String> = pages().keys().filter(is_missing).cloned().collect();
    none(&missing);
}

#[test]
fn files_that_pages_name_exist() {
    let named = Regex::new(&format!(r"`((?:{FOLDERS})/[A-Za-z0-9_./-]*)`")).unwrap();
    let mut wrong = Vec::new();
    let mut count = 0;
    for (path, text) in pages() {
        for (number, line) in (1..).zip(prose(&text).lines()) {
            for found in named.captures_iter(line) {
                count += 1;
                // Upper-case letters stand for a name of the reader's.
                let is_pattern = found[1].split('/').any(|part| part.starts_with(|first: char| first.is_uppercase()));
                if !is_pattern && !root().join(&found[1]).exists() {
                    wrong.push(format!("{path}:{number}: there is no {}", &found[1]));
                }
            }
        }
    }
    none(&wrong);
    assert!(count > 20, "{count} files");
}
