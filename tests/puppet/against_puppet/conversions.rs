//! Random conversions: what the library makes of them, against `tests/puppet/convert.rb`.

use std::time::Duration;

use hierad::hiera::LookupError;
use hierad::hiera::convert::convert;
use hierad::puppet::ErrorKind;
use hierad::puppet::Ruby;
use hierad::puppet::json;
use hierad::puppet::types::{check_type, parse};
use hierad::value::Value;

use super::generator;
use super::json::Json;
use super::process::Server;
use super::rich::{decode, revealed};
use super::texts::Texts;
use super::{Args, Fault};

const CONVERT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/puppet/convert.rb");

/// The longest that Puppet may think about one conversion.
const PATIENCE: Duration = Duration::from_secs(20);

/// The number of requests that are on their way at a time.
const BATCH: u64 = 200;

/// The most differences to print.
const SHOWN: usize = 60;

/// Puppet in a process that answers one conversion after the other.
fn start(args: &Args, version: u8) -> Result<Server, Fault> {
    let mut command = args.command(version, CONVERT)?;
    if version >= 8 {
        command.push("--strict");
    }
    Server::start(&command, PATIENCE)
}

/// The result for one version.
#[derive(Default)]
struct Tally {
    compared: u64,
    errors: u64,
    unknown: u64,
    unanswered: u64,
    different: Vec<u64>,
    texts: Texts,
    unknowns: Texts,
}

/// Compares `count` conversions with each version; whether none differed.
pub(crate) fn run(args: &Args, count: u64) -> Result<bool, Fault> {
    let mut agree = true;
    for version in args.puppet.list() {
        let tally = compare(args, *version, count)?;
        if args.texts {
            print!("{}{}", tally.texts, tally.unknowns);
        }
        let Tally { compared, errors, unknown, unanswered, different, .. } = tally;
        let outcome = match different.len() {
            0 => "no difference".to_owned(),
            differing => format!("{differing} differ"),
        };
        println!(
            "Puppet {version}: {compared} conversions ({errors} errors), {unknown} unknown, {unanswered} without an answer of \
             Puppet's: {outcome}"
        );
        agree &= different.is_empty();
    }
    Ok(agree)
}

fn compare(args: &Args, version: u8, count: u64) -> Result<Tally, Fault> {
    let mut tally = Tally::default();
    let mut puppet = start(args, version)?;
    let mut seed = args.seed;
    let end = args.seed + count;
    while seed < end {
        let batch: Vec<u64> = (seed..end.min(seed + BATCH)).collect();
        let requests: Vec<String> = batch.iter().map(|seed| generator::conversion(*seed).to_string()).collect();
        for request in &requests {
            puppet.ask(request)?;
        }
        for (at, request) in batch.iter().zip(&requests) {
            seed = at + 1;
            let Ok(answer) = puppet.answer() else {
                // A Puppet that does not come to an end, or died; the others of the batch are asked anew.
                tally.unanswered += 1;
                println!("seed {at}, Puppet {version}: no answer\n  {request}");
                puppet = start(args, version)?;
                break;
            };
            tally.add(*at, version, request, &answer)?;
        }
    }
    Ok(tally)
}

impl Tally {
    fn add(&mut self, seed: u64, version: u8, request: &str, answer: &str) -> Result<(), Fault> {
        let puppet = Json::read(answer)?;
        let error = puppet.get("error").map(Json::text);
        if error.is_some_and(|text| text.contains("failed to allocate memory")) {
            self.unanswered += 1;
            return Ok(());
        }
        self.compared += 1;
        self.errors += u64::from(error.is_some());
        let ours = match ours(request) {
            Ok(value) => Json::read(&format!("{{\"value\": {}}}", json::compact(&revealed(&value))))?,
            Err(error) if error.kind == ErrorKind::Unknown => {
                self.unknown += 1;
                self.unknowns.add(&puppet.to_string(), error.text.as_str());
                return Ok(());
            }
            Err(error) => Json::read(&format!("{{\"error\": {}}}", serde_json::Value::from(error.text.as_str())))?,
        };
        let both_fail = error.is_some() && ours.get("error").is_some();
        // docs/compatibility.md lists URIs without a host, which newer Rubies keep as they are.
        let is_departure = version == 9 && request.contains(":///") && request.contains("URI") && error.is_none();
        if ours == puppet || depends_on_the_process(error) || is_departure {
            return Ok(());
        }
        if let (Some(puppet), Some(ours)) = (error, ours.get("error")) {
            self.texts.add(puppet, ours.text());
        }
        // What is not UTF-8 cannot be written down, so that its text in an error is not comparable. Newer Rubies have
        // other words.
        if both_fail && (request.contains("BinaryString") || version == 9) {
            return Ok(());
        }
        if self.different.len() < SHOWN {
            println!("seed {seed}, Puppet {version}: {request}\n  Puppet: {puppet}\n  hierad: {ours}");
        }
        self.different.push(seed);
        Ok(())
    }
}

/// Returns true if the text has an address in memory.
fn depends_on_the_process(error: Option<&str>) -> bool {
    error.is_some_and(|text| text.contains("0x0000"))
}

/// Returns the library's answer to a request.
fn ours(request: &str) -> Result<Value, LookupError> {
    let request = json::parse(request.as_bytes()).value;
    let field = |name: &str| request.get(name).map(decode);
    let value = field("value").unwrap_or_default();
    match field("type") {
        Some(kind) => {
            let kind = parse(kind.as_str().unwrap_or_default())?;
            Ok(check_type("Found value", &value, &kind).map(|()| value)?)
        }
        None => convert(value, &field("convert_to").unwrap_or_default(), "k", Ruby::V3_1),
    }
}
