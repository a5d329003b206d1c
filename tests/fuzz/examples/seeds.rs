//! Writes the first inputs of the fuzz targets below `corpus`: those of the recorded vectors, and files of random
//! repositories.
//!
//! cargo run --example seeds

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hierad::hiera::backend::eyaml::blocks::{TextPart, parts};
use hierad::puppet::json;
use hierad::value::Value;

use generator::Content;

#[path = "../../generator/mod.rs"]
mod generator;

/// The number of random repositories of each kind.
const REPOSITORIES: u64 = 200;

fn main() -> io::Result<()> {
    types()?;
    hocon()?;
    eyaml()?;
    versions()?;
    hiera_yaml()?;
    diff()?;
    settings()?;
    http()
}

fn types() -> io::Result<()> {
    for path in files("convert", "ndjson")? {
        for record in lines(&path)? {
            let value = record.get("value").map(json::compact).unwrap_or_default();
            let convert_to = record.get("convert_to").or(record.get("type"));
            let convert_to = convert_to.map(|kind| kind.as_str().map_or_else(|| json::compact(kind), str::to_owned));
            seed("types", format!("{value}\0{}", convert_to.unwrap_or_default()).as_bytes())?;
        }
    }
    Ok(())
}

fn hocon() -> io::Result<()> {
    for record in lines(&vectors().join("hocon.ndjson"))? {
        seed("hocon", text(&record, "in").as_bytes())?;
    }
    for (path, content) in fixtures()? {
        if path.ends_with(".conf") {
            seed("hocon", content.as_bytes())?;
        }
    }
    Ok(())
}

/// Texts with blocks, what is in blocks, and keys.
fn eyaml() -> io::Result<()> {
    for (_, content) in fixtures()? {
        if !content.contains("ENC[") {
            continue;
        }
        seed("eyaml", content.as_bytes())?;
        for part in parts(content.as_bytes()) {
            if let TextPart::Block(block) = part
                && let Ok(data) = STANDARD.decode(block.data())
            {
                seed("eyaml", &[b"\0", &*data].concat())?;
            }
        }
    }
    for entry in fs::read_dir(vectors().join("eyaml/keys"))? {
        seed("eyaml", &[b"\0", &*fs::read(entry?.path())?].concat())?;
    }
    Ok(())
}

/// Data files of which an entry is another one.
fn versions() -> io::Result<()> {
    for (path, content) in fixtures()? {
        let lines: Vec<&str> = content.split_inclusive('\n').collect();
        if path.ends_with(".yaml") && lines.len() > 2 {
            let (start, end) = lines.split_at(lines.len() / 2);
            seed("version", [&*start.concat(), "a: 1\n", "b:\n  c: 2\n", &*end.concat()].join("\0").as_bytes())?;
        }
    }
    Ok(())
}

fn hiera_yaml() -> io::Result<()> {
    let random = (0..REPOSITORIES).flat_map(|seed| [generator::generate(seed), generator::generate_hiera3(seed)]);
    let random = random.flat_map(|repository| repository.files).filter_map(|(path, content)| match content {
        Content::File(text) => Some((path, text)),
        _ => None,
    });
    for (path, content) in fixtures()?.into_iter().chain(random) {
        let name = path.rsplit('/').next().unwrap_or_default();
        let content = content.replace("hieradata", "data");
        for version in [3, 4, 5] {
            let target = format!("hiera_yaml{version}");
            if name == "hiera.yaml" && hierad_fuzz::is_of(version, content.as_bytes()) {
                seed(&target, content.as_bytes())?;
                seed(&target, [&*content; 3].join("\0").as_bytes())?;
            }
        }
        if name == "environment.conf" {
            seed("hiera_yaml5", format!("version: 5\0version: 5\0version: 5\0{content}").as_bytes())?;
        }
    }
    Ok(())
}

/// Random repositories, and the same some edits later.
fn diff() -> io::Result<()> {
    for number in 0..REPOSITORIES {
        let before = if number % 8 == 0 { generator::generate_hiera3(number) } else { generator::generate(number) };
        let after = generator::edited(&before, 1);
        let mut parts = if number % 5 == 0 { vec!["7".to_owned()] } else { Vec::new() };
        parts.extend(before.profiles.iter().take(3).map(|profile| format!("*profile.json\n{profile}")));
        let paths: BTreeSet<&String> = before.inside().chain(after.inside()).map(|(path, _)| path).collect();
        for path in paths {
            match [&before, &after].map(|repository| repository.files.get(path)) {
                [Some(Content::Link(target)), _] | [_, Some(Content::Link(target))] => {
                    parts.push(format!(">{path}\n{target}"));
                }
                [before, after] if before == after => parts.extend(part('=', path, before)),
                [before, after] => parts.extend(part('-', path, before).into_iter().chain(part('+', path, after))),
            }
        }
        seed("diff", parts.join("\0").as_bytes())?;
    }
    Ok(())
}

/// The settings in the documents.
fn settings() -> io::Result<()> {
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs"))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "md") {
            let text = fs::read_to_string(path)?;
            let blocks = text.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next());
            blocks.map(str::as_bytes).try_for_each(|block| seed("settings", block))?;
        }
    }
    Ok(())
}

fn part(kind: char, path: &str, content: Option<&Content>) -> Option<String> {
    match content {
        Some(Content::File(text)) => Some(format!("{kind}{path}\n{text}")),
        _ => None,
    }
}

/// A request of each kind.
fn http() -> io::Result<()> {
    let local = "Host: localhost\r\nAuthorization: Bearer 0123456789abcdef\r\n";
    let paths = ["/health/live", "/health/ready", "/metrics", "/openapi.json", "/v1/nodes?limit=1&after=db01"];
    let commit = format!("/v1/reports/{}?repository=data&branch=main", "1".repeat(40));
    let more = ["/v1/reports?limit=2&before=3", &commit, "/v1/reports/stream", "/v1/nodes/web01?rev=main&key=a"];
    for path in paths.into_iter().chain(more) {
        seed("http", format!("GET {path} HTTP/1.1\r\n{local}\r\n").as_bytes())?;
        seed("http", format!("HEAD {path} HTTP/1.0\r\n{local}Last-Event-ID: 1\r\n\r\n").as_bytes())?;
    }
    let profile = r#"{"keys": ["a"], "profile": {"name": "x", "facts": {"a": [1]}}, "rev": "main", "merge": "deep"}"#;
    for body in [profile, r#"{"keys": ["a", "b"], "node": "web01", "merge": {"strategy": "unique"}}"#] {
        let head = format!("POST /v1/lookup HTTP/1.1\r\n{local}Content-Type: application/json\r\n");
        seed("http", format!("{head}Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes())?;
        let chunk = format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
        seed("http", format!("{head}Transfer-Encoding: chunked\r\n\r\n{chunk}").as_bytes())?;
    }
    let signature = format!("X-Hub-Signature-256: sha256={}\r\nX-GitHub-Event: push\r\n", "0".repeat(64));
    let token = "X-Gitlab-Token: 0123456789abcdef\r\nX-Gitlab-Event: Push Hook\r\n";
    for (forge, headers) in [("github", &*signature), ("gitlab", token), ("gitea", ""), ("bitbucket", &signature)] {
        let head = format!("POST /v1/webhooks/{forge} HTTP/1.1\r\n{local}{headers}Content-Length: 2\r\n\r\n{{}}");
        seed("http", head.as_bytes())?;
    }
    Ok(())
}

/// The files of all recorded repositories.
fn fixtures() -> io::Result<Vec<(String, String)>> {
    let mut found = Vec::new();
    for path in [files("lookup", "json")?, files("hiera3", "json")?].concat() {
        let cases = json::parse(&fs::read(path)?).value;
        for case in cases.as_array().unwrap_or_default() {
            for part in format!("\n{}", text(case, "fixture")).split("\n-- ") {
                let (path, content) = part.split_once('\n').unwrap_or_default();
                found.push((path.to_owned(), content.to_owned()));
            }
        }
    }
    Ok(found)
}

fn text<'v>(record: &'v Value, field: &str) -> &'v str {
    record.get(field).and_then(Value::as_str).unwrap_or_default()
}

fn lines(path: &Path) -> io::Result<Vec<Value>> {
    Ok(fs::read_to_string(path)?.lines().map(|line| json::parse(line.as_bytes()).value).collect())
}

fn files(folder: &str, extension: &str) -> io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(vectors().join(folder))?.collect::<io::Result<Vec<_>>>()?;
    let paths = entries.into_iter().map(|entry| entry.path());
    Ok(paths.filter(|path| path.extension().is_some_and(|e| e == extension)).collect())
}

fn vectors() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../vectors")
}

/// Writes an input of `target`; its name is a digest, so that there is each only once.
fn seed(target: &str, content: &[u8]) -> io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
    fs::create_dir_all(&folder)?;
    let name = content
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |digest, byte| (digest ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    fs::write(folder.join(format!("seed-{name:016x}")), content)
}
