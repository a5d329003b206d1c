//! The findings of `hierad verify`, as text and as JSON.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::value::RawValue;

use crate::puppet::json;
use crate::value::Value;
use crate::verify::{Answer, Disagreement, Explained, Findings, Reference};
use crate::visible::visible_json;

/// Returns the two answers, with secrets replaced.
fn shown(disagreement: &Disagreement) -> [String; 2] {
    if disagreement.puppet.is_secret() || disagreement.hierad.is_secret() {
        return ["[secret]", "[another secret]"].map(str::to_owned);
    }
    [disagreement.puppet.to_string(), disagreement.hierad.to_string()]
}

pub(super) fn write_text(findings: &Findings, out: &mut dyn Write) -> io::Result<()> {
    let Findings { answers, errors, unknown, code, declared, .. } = findings;
    let name = findings.name();
    let [nodes, keys] = [(findings.nodes, "node"), (findings.keys, "key")].map(counted);
    writeln!(out, "{} and hierad: {nodes}, {keys}, {answers} answers compared", findings.reference())?;
    writeln!(out, "{errors} fail on both sides, {unknown} are unknown to hierad")?;
    if *code > 0 {
        let what = "need code beyond Puppet's own, or files that hierad does not read, which only --run-code loads";
        writeln!(out, "{code} are not compared: they {what}")?;
    }
    if *declared > 0 {
        let what = "depend on 'backends' or 'lookup_options' in the settings, which only hierad has";
        writeln!(out, "{declared} are not compared: they {what}")?;
    }
    if let Some(seed) = findings.seed {
        writeln!(out, "a sample: --seed {seed} chooses it again, --all compares everything")?;
    }
    gaps(findings).iter().try_for_each(|gap| writeln!(out, "{gap}"))?;
    match findings.disagreements.len() {
        0 if *answers == 0 => return Ok(()),
        0 => return writeln!(out, "no disagreement"),
        1 => writeln!(out, "1 disagreement")?,
        count => writeln!(out, "{count} disagreements")?,
    }
    findings.disagreements.iter().try_for_each(|disagreement| write_disagreement(disagreement, name, out))
}

/// Returns the findings in one line.
pub(super) fn in_short(findings: &Findings) -> String {
    let (reference, asked) = (findings.reference(), findings.asked);
    match (findings.answers, findings.disagreements.len()) {
        (0, _) => format!("{reference}: nothing was compared, as {}", findings.why_nothing()),
        (answers, 0) if answers == asked => format!("{reference} gives the same {answers} answers of a sample"),
        (answers, 0) => {
            format!(
                "{reference} gives the same {answers} answers of a sample of {asked}; `hierad verify` says why the \
                 others are missing"
            )
        }
        (answers, wrong) => {
            format!("{reference} gives {wrong} of {answers} answers differently: see `hierad verify --seed 1`")
        }
    }
}

/// Names the answers that were asked for, but not compared.
fn gaps(findings: &Findings) -> Vec<String> {
    let mut gaps = Vec::new();
    if findings.left_out > 0 {
        let profiles = counted((findings.left_out, "node profile"));
        gaps.push(format!("{profiles} left out: what nodes get by such profiles is not compared"));
    }
    if findings.missing() > 0 {
        let (missing, asked) = (findings.missing(), findings.asked);
        gaps.push(format!("{missing} of {asked} answers are not compared: the profiles of their nodes are gone"));
    }
    if findings.answers == 0 {
        gaps.push(format!("nothing was compared: {}", findings.why_nothing()));
    }
    gaps
}

fn counted((count, noun): (usize, &str)) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

fn write_disagreement(disagreement: &Disagreement, name: &str, out: &mut dyn Write) -> io::Result<()> {
    let [puppet, hierad] = shown(disagreement);
    writeln!(out, "\n{} {}\n  {name}: {puppet}\n  hierad: {hierad}", disagreement.node, disagreement.key)?;
    let Some(explained) = &disagreement.explained else { return Ok(()) };
    for (name, text) in [(name, &explained.puppet), ("hierad", &explained.hierad)] {
        if text.is_empty() {
            continue;
        }
        writeln!(out, "  {name} explains")?;
        text.lines().try_for_each(|line| writeln!(out, "    {line}"))?;
    }
    Ok(())
}

#[derive(Serialize)]
struct Wire<'a> {
    schema: &'static str,
    puppet: Option<&'a str>,
    hiera: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ruby: Option<&'a str>,
    seed: Option<u64>,
    complete: bool,
    profiles_left_out: usize,
    nodes: usize,
    keys: usize,
    asked: usize,
    answers: usize,
    errors: usize,
    unknown: usize,
    code: usize,
    declared: usize,
    disagreements: Vec<WireDisagreement<'a>>,
}

#[derive(Serialize)]
struct WireDisagreement<'a> {
    node: &'a str,
    key: &'a str,
    puppet: Option<WireAnswer>,
    hierad: Option<WireAnswer>,
    explained: Option<&'a Explained>,
}

/// `{"value": v}` or `{"error": text}`; empty for "not found".
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum WireAnswer {
    Value(Box<RawValue>),
    Error(String),
}

impl WireAnswer {
    fn new(answer: &Answer, hidden: bool) -> Option<WireAnswer> {
        let raw = |value: &Value| RawValue::from_string(json::compact(value)).ok().map(WireAnswer::Value);
        match answer {
            Answer::Found(_) if hidden => raw(&"[secret]".into()),
            Answer::Failed(_) if hidden => Some(WireAnswer::Error("[secret]".into())),
            Answer::Found(value) => raw(value),
            Answer::Failed(text) => Some(WireAnswer::Error(text.visible().to_owned())),
            Answer::NotFound | Answer::Unknown | Answer::Function | Answer::NotAsked => None,
        }
    }
}

pub(super) fn write_json(findings: &Findings, out: &mut dyn Write) -> io::Result<()> {
    let wire_answers = |disagreement: &'_ Disagreement| {
        let hidden = disagreement.puppet.is_secret() || disagreement.hierad.is_secret();
        (WireAnswer::new(&disagreement.puppet, hidden), WireAnswer::new(&disagreement.hierad, hidden))
    };
    let disagreements = findings.disagreements.iter().map(|disagreement| {
        let (puppet, hierad) = wire_answers(disagreement);
        WireDisagreement {
            node: &disagreement.node,
            key: &disagreement.key,
            puppet,
            hierad,
            explained: disagreement.explained.as_ref(),
        }
    });
    let version_of = |reference| (findings.reference == reference).then_some(&*findings.version);
    let wire = Wire {
        schema: "hierad.verify/1",
        puppet: version_of(Reference::Puppet),
        hiera: version_of(Reference::Hiera3),
        ruby: findings.ruby.as_deref(),
        seed: findings.seed,
        complete: findings.is_complete(),
        profiles_left_out: findings.left_out,
        nodes: findings.nodes,
        keys: findings.keys,
        asked: findings.asked,
        answers: findings.answers,
        errors: findings.errors,
        unknown: findings.unknown,
        code: findings.code,
        declared: findings.declared,
        disagreements: disagreements.collect(),
    };
    writeln!(out, "{}", visible_json(&serde_json::to_string_pretty(&wire)?))
}
