//! Checks `policies:` and `waivers:`, the rules about the effect of a change.

use std::sync::Arc;

use crate::blind_spots::CODES;
use crate::diff::Diff;
use crate::pattern::{Pattern, nearest};
use crate::policy::{
    Amount, ChangeRule, Day, FileRule, Kind, LineKind, Policies, Rule, Subject, Thresholds, ValueTest, Waiver,
};
use crate::report::PolicyLevel;
use crate::settings::Origin;
use crate::settings::SettingsError;
use crate::settings::raw::{self, OneOrMany};
use crate::settings::source::SourceFile;

/// The maximum number of rules, waivers and patterns in a file of the tree: each takes time.
const MAX_ENTRIES: usize = 1000;

/// The maximum size of a compiled pattern of the tree, in bytes.
const MAX_PATTERN_SIZE: usize = 64 << 10;

/// The names of types that a condition on a value may test for.
const TYPES: [&str; 20] = [
    "Array",
    "Binary",
    "Boolean",
    "Encrypted",
    "Float",
    "Hash",
    "Integer",
    "Numeric",
    "Regexp",
    "Secret",
    "SemVer",
    "SemVerRange",
    "Sensitive",
    "String",
    "Symbol",
    "Timespan",
    "Timestamp",
    "Type",
    "URI",
    "Undef",
];

type Result<T> = std::result::Result<T, SettingsError>;

/// Checks the rules and their waivers.
pub(super) fn check(source: &SourceFile<'_>, rules: &[raw::Policy], waivers: &[raw::Waiver]) -> Result<Policies> {
    let count = rules.iter().map(raw::Policy::count_entries).sum::<usize>()
        + waivers.iter().map(raw::Waiver::count_entries).sum::<usize>();
    if *source.origin != Origin::Trusted && count > MAX_ENTRIES {
        let text = format!(
            "'policies' and 'waivers' in the tree have {count} entries and patterns: at most {MAX_ENTRIES} are allowed"
        );
        return Err(source.invalid(&["policies"], text));
    }
    let mut policies = Policies::default();
    for (at, raw) in rules.iter().enumerate() {
        let rule = Entry::new(source, "policies", at, "").rule(raw, &policies.rules)?;
        policies.rules.push(rule);
    }
    for (at, raw) in waivers.iter().enumerate() {
        let waiver = Entry::new(source, "waivers", at, "").waiver(raw, &policies.rules)?;
        policies.waivers.push(waiver);
    }
    Ok(policies)
}

impl raw::Policy {
    fn count_entries(&self) -> usize {
        let tests = [&self.before, &self.after].into_iter().flatten().map(|test| test.matches.as_slice().len());
        let lists = [&self.keys, &self.nodes, &self.files, &self.kinds, &self.lines, &self.blind_spots];
        1 + lists.into_iter().map(|list| list.as_slice().len()).sum::<usize>() + tests.sum::<usize>()
    }
}

impl raw::Waiver {
    fn count_entries(&self) -> usize {
        1 + [&self.keys, &self.nodes, &self.files].into_iter().map(|list| list.as_slice().len()).sum::<usize>()
    }
}

/// One rule or waiver in the file.
struct Entry<'a> {
    source: &'a SourceFile<'a>,
    list: &'static str,
    at: String,
    /// Its name in messages.
    title: String,
}

impl<'a> Entry<'a> {
    fn new(source: &'a SourceFile<'a>, list: &'static str, at: usize, title: &str) -> Entry<'a> {
        Entry { source, list, at: at.to_string(), title: title.to_owned() }
    }

    /// Returns an error about one of its settings.
    fn invalid(&self, setting: &str, text: &str) -> SettingsError {
        let names = [self.list, &self.at, setting];
        let line = self.source.lines.find(names).or_else(|| self.source.lines.find(names[..2].iter().copied()));
        SettingsError::Invalid { path: self.source.path.into(), line, text: format!("{}{text}", self.title) }
    }

    fn rule(mut self, raw: &raw::Policy, earlier_rules: &[Rule]) -> Result<Rule> {
        let name: Arc<str> = self.name(raw.name.as_deref(), earlier_rules)?;
        self.title = format!("policy '{name}': ");
        let level = match raw.level.as_deref() {
            Some(level) => PolicyLevel::ALL.into_iter().find(|known| known.as_str() == level),
            None => return Err(self.invalid("level", "needs a 'level': note, warning or failure")),
        };
        let level = level.ok_or_else(|| self.invalid("level", "'level' must be note, warning or failure"))?;
        let message = self.text("message", raw.message.as_deref(), "a sentence that tells people what to do")?;
        let reviewers: Arc<[String]> = raw.reviewers.as_slice().into();
        let subject = self.subject(raw)?;
        Ok(Rule { name, level, message, reviewers, subject })
    }

    fn name(&self, name: Option<&str>, earlier_rules: &[Rule]) -> Result<Arc<str>> {
        let Some(name) = name else {
            return Err(self.invalid("name", "a policy needs a 'name' that waivers and people can refer to"));
        };
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.is_empty() || !name.chars().all(is_plain) {
            let text = format!("'{name}' is not a valid policy name: it may contain letters, digits, '-', '_' and '.'");
            return Err(self.invalid("name", &text));
        }
        if earlier_rules.iter().any(|rule| *rule.name == *name) {
            let text = format!("there are two policies '{name}': give each its own name");
            return Err(self.invalid("name", &text));
        }
        Ok(name.into())
    }

    /// Returns a required text.
    fn text(&self, setting: &str, text: Option<&str>, wanted: &str) -> Result<Arc<str>> {
        match text.map(str::trim) {
            None | Some("") => Err(self.invalid(setting, &format!("needs a '{setting}': {wanted}"))),
            Some(text) => Ok(text.into()),
        }
    }

    fn subject(&self, raw: &raw::Policy) -> Result<Subject> {
        let change_setting = [
            ("keys", !raw.keys.as_slice().is_empty()),
            ("nodes", !raw.nodes.as_slice().is_empty()),
            ("kinds", !raw.kinds.as_slice().is_empty()),
            ("before", raw.before.is_some()),
            ("after", raw.after.is_some()),
            ("more_than", raw.more_than.is_some()),
        ];
        let change_setting = change_setting.into_iter().find(|(_, is_there)| *is_there).map(|(name, _)| name);
        let (lines, spots) = (!raw.lines.as_slice().is_empty(), !raw.blind_spots.as_slice().is_empty());
        match (lines, spots, change_setting) {
            (true, true, _) => {
                Err(self.invalid("blind_spots", "'lines' and 'blind_spots' cannot be combined: write two policies"))
            }
            (true, ..) | (_, true, _) if change_setting.is_some() => {
                let name = change_setting.unwrap_or_default();
                let text = format!(
                    "'{name}' is for changes of values: with 'lines' and 'blind_spots' only 'files' can be \
                             used"
                );
                Err(self.invalid(name, &text))
            }
            (true, ..) => {
                let kinds = self.items_named("lines", raw.lines.as_slice(), &LineKind::all())?;
                Ok(Subject::Lines(FileRule { kinds, files: self.names("files", &raw.files)? }))
            }
            (_, true, _) => {
                let kinds = self.codes(raw.blind_spots.as_slice())?;
                Ok(Subject::BlindSpots(FileRule { kinds, files: self.names("files", &raw.files)? }))
            }
            _ if !raw.files.as_slice().is_empty() => Err(self
                .invalid("files", "'files' needs 'lines' or 'blind_spots': narrow this policy by 'keys' or 'nodes'")),
            _ => Ok(Subject::Changes(Box::new(self.changes(raw)?))),
        }
    }

    fn changes(&self, raw: &raw::Policy) -> Result<ChangeRule> {
        let more_than = raw.more_than.as_ref().map(|raw| self.thresholds(raw)).transpose()?;
        Ok(ChangeRule {
            keys: self.names("keys", &raw.keys)?,
            nodes: self.names("nodes", &raw.nodes)?,
            kinds: self.items_named("kinds", raw.kinds.as_slice(), &Kind::ALL)?,
            values: Diff {
                before: raw.before.as_ref().map(|raw| self.value_test("before", raw)).transpose()?,
                after: raw.after.as_ref().map(|raw| self.value_test("after", raw)).transpose()?,
            },
            more_than: more_than.unwrap_or_default(),
        })
    }

    /// Returns patterns for names.
    fn names(&self, setting: &str, texts: &OneOrMany) -> Result<Vec<Pattern>> {
        match texts.as_slice().iter().find_map(|text| Some((text, comparison(text)?))) {
            Some((text, number)) => Err(self.invalid(setting, &self.comparison_message(setting, text, &number))),
            None => self.patterns(setting, texts),
        }
    }

    /// Returns the message for a comparison in place of a pattern.
    fn comparison_message(&self, setting: &str, text: &str, number: &str) -> String {
        let instead = match (self.list, setting) {
            _ if text.starts_with('!') => "patterns cannot exclude: list the names to include".to_owned(),
            ("policies", "keys" | "nodes") => format!("for a number, write more_than: {{{setting}: {number}}}"),
            _ => "only 'more_than' of a policy takes numbers".to_owned(),
        };
        format!("'{setting}' takes patterns for names, not '{text}'; {instead}")
    }

    fn patterns(&self, setting: &str, texts: &OneOrMany) -> Result<Vec<Pattern>> {
        let is_trusted = *self.source.origin == Origin::Trusted;
        let parse = |text: &String| if is_trusted { text.parse() } else { Pattern::bounded(text, MAX_PATTERN_SIZE) };
        let patterns = texts.as_slice().iter().map(parse).collect::<std::result::Result<Vec<Pattern>, _>>();
        patterns.map_err(|error| self.invalid(setting, &format!("'{setting}': {error}")))
    }

    /// Returns the items with these names.
    fn items_named<T: Copy>(&self, setting: &str, names: &[String], all: &[(T, &str)]) -> Result<Vec<T>> {
        let of_name = |name: &String| {
            let known = all.iter().find(|(_, known)| known == name);
            known.map(|(kind, _)| *kind).ok_or_else(|| self.unknown(setting, name, all.iter().map(|(_, name)| *name)))
        };
        names.iter().map(of_name).collect()
    }

    fn codes(&self, names: &[String]) -> Result<Vec<String>> {
        if let [all] = names
            && all == "any"
        {
            return Ok(Vec::new());
        }
        match names.iter().find(|name| !CODES.contains(&name.as_str())) {
            Some(name) => Err(self.unknown("blind_spots", name, ["any"].into_iter().chain(CODES))),
            None => Ok(names.to_vec()),
        }
    }

    fn unknown<'n>(&self, setting: &str, name: &str, all: impl Iterator<Item = &'n str> + Clone) -> SettingsError {
        let near = nearest(name, all.clone(), 1);
        let hint = near.first().map_or_else(String::new, |near| format!("did you mean {near}? "));
        let all = all.collect::<Vec<_>>().join(", ");
        self.invalid(setting, &format!("'{setting}' cannot be '{name}'; {hint}Allowed: {all}"))
    }

    fn value_test(&self, setting: &str, raw: &raw::ValueTest) -> Result<ValueTest> {
        let equals = self.source.lines.value([self.list, &*self.at, setting, "equals"]).cloned();
        if let Some(name) = raw.type_name.as_ref().filter(|name| !TYPES.contains(&name.as_str())) {
            let text = format!("'{setting}': unknown type '{name}'; use one of {}", TYPES.join(", "));
            return Err(self.invalid(setting, &text));
        }
        let test =
            ValueTest { equals, matches: self.patterns(setting, &raw.matches)?, type_name: raw.type_name.clone() };
        if test.equals.is_none() && test.matches.is_empty() && test.type_name.is_none() {
            return Err(self.invalid(setting, &format!("'{setting}' needs 'equals', 'matches' or 'type'")));
        }
        Ok(test)
    }

    fn thresholds(&self, raw: &raw::MoreThan) -> Result<Thresholds> {
        let amount = |name: &str, raw: &Option<raw::Amount>| {
            let wrong = || {
                self.invalid(
                    "more_than",
                    &format!("'more_than': '{name}' must be a number such as 10, or a share such as 25%"),
                )
            };
            raw.as_ref().map(|raw| raw.parse().ok_or_else(wrong)).transpose()
        };
        Ok(Thresholds { nodes: amount("nodes", &raw.nodes)?, keys: amount("keys", &raw.keys)?, groups: raw.groups })
    }

    fn waiver(mut self, raw: &raw::Waiver, rules: &[Rule]) -> Result<Waiver> {
        let name = raw.policy.as_deref();
        let name = name.ok_or_else(|| self.invalid("policy", "a waiver needs the name of its 'policy'"))?;
        let names = || rules.iter().map(|rule| &*rule.name);
        let Some(rule) = rules.iter().find(|rule| *rule.name == *name) else {
            let near = nearest(name, names(), 1);
            let hint = near.first().map_or_else(String::new, |near| format!("; did you mean '{near}'?"));
            return Err(self.invalid("policy", &format!("there is no policy '{name}' in this file{hint}")));
        };
        self.title = format!("waiver of '{name}': ");
        let is_of_changes = matches!(rule.subject, Subject::Changes(_));
        let foreign = [
            ("keys", &raw.keys, !is_of_changes),
            ("nodes", &raw.nodes, !is_of_changes),
            ("files", &raw.files, is_of_changes),
        ];
        if let Some((setting, ..)) =
            foreign.iter().find(|(_, list, is_foreign)| *is_foreign && !list.as_slice().is_empty())
        {
            let others = if is_of_changes { "'keys' and 'nodes'" } else { "'files'" };
            return Err(
                self.invalid(setting, &format!("'{setting}' has no effect on this policy: narrow it by {others}"))
            );
        }
        Ok(Waiver {
            policy: rule.name.clone(),
            keys: self.names("keys", &raw.keys)?,
            nodes: self.names("nodes", &raw.nodes)?,
            files: self.names("files", &raw.files)?,
            reason: self.text("reason", raw.reason.as_deref(), "why it is accepted, for those who read it")?,
            expires: self.expiry_day(raw.expires.as_deref())?,
        })
    }

    fn expiry_day(&self, text: Option<&str>) -> Result<Day> {
        let Some(text) = text else {
            return Err(self.invalid("expires", "needs its last valid day, such as 'expires: 2027-01-31'"));
        };
        let is_plain = text.len() == "2027-01-31".len();
        text.parse().ok().filter(|_| is_plain).ok_or_else(|| {
            self.invalid("expires", &format!("'expires': '{text}' is not a valid date such as 2027-01-31"))
        })
    }
}

/// Returns the number in a text such as `>50%`, a comparison or a share, or 10 if it has none. Returns `None` if the
/// text is a name.
fn comparison(text: &str) -> Option<String> {
    let number = text.trim().trim_start_matches(['<', '>', '=', '!', '\u{2264}', '\u{2265}']).trim();
    let digits = number.strip_suffix('%').unwrap_or(number).trim_end();
    let is_number = !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit() || c == '.');
    let is_compared = number.len() < text.trim().len();
    let is_none = is_compared || is_number && number.ends_with('%');
    is_none.then(|| if is_number { number.to_owned() } else { "10".to_owned() })
}

impl raw::Amount {
    fn parse(&self) -> Option<Amount> {
        match self {
            raw::Amount::Number(number) => Some(Amount::Count(*number)),
            raw::Amount::Share(text) => {
                let share: f64 = text.strip_suffix('%')?.trim().parse().ok()?;
                (0.0..=100.0).contains(&share).then_some(Amount::Percent(share))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::app::settings::tests::refuses;

    #[test]
    fn faults_are_told_with_their_lines() {
        let base = "policies:\n  - {name: a, level: note, message: m}\n  - {name: lines, level: note, message: m, lines: no-effect}\n";
        for (settings, expected) in [
            (
                "policies:\n  - {level: note, message: m}\n",
                "3: a policy needs a 'name' that waivers and people can refer to",
            ),
            (
                "policies:\n  - {name: 'a b', level: note, message: m}\n",
                "3: 'a b' is not a valid policy name: it may contain letters",
            ),
            (
                "policies:\n  - {name: a, level: note, message: m}\n  - {name: a, level: note, message: m}\n",
                "4: there are two policies 'a': give each its own name",
            ),
            (
                "policies:\n  - name: a\n    level: error\n    message: m\n",
                "4: policy 'a': 'level' must be note, warning or failure",
            ),
            ("policies:\n  - {name: a, message: m}\n", "3: policy 'a': needs a 'level': note, warning or failure"),
            (
                "policies:\n  - {name: a, level: note}\n",
                "3: policy 'a': needs a 'message': a sentence that tells people what to do",
            ),
            (
                "policies:\n  - name: a\n    level: note\n    message: m\n    kinds: [error, aded]\n",
                "6: policy 'a': 'kinds' cannot be 'aded'; did you mean added? Allowed: added, removed, ",
            ),
            ("policies:\n  - name: a\n    key: x\n", "4: policies[0]: unknown field `key`"),
            ("policies: {a: {level: note}}\n", "2: policies: invalid type: map, expected a sequence"),
            (
                "policies:\n  - {name: a, level: note, message: m, keys: 're:('}\n",
                "3: policy 'a': 'keys': 're:(' is not a valid pattern: unclosed group",
            ),
            (
                "policies:\n  - {name: a, level: note, message: m, more_than: {nodes: 10 %%}}\n",
                "3: policy 'a': 'more_than': 'nodes' must be a number such as 10, or a share such as 25%",
            ),
            (
                "policies:\n  - {name: a, level: note, message: m, after: {type: Strng}}\n",
                "3: policy 'a': 'after': unknown type 'Strng'; use one of Array, ",
            ),
            (
                "policies:\n  - {name: a, level: note, message: m, after: {}}\n",
                "3: policy 'a': 'after' needs 'equals', 'matches' or 'type'",
            ),
            (
                "policies:\n  - {name: a, level: note, message: m, blind_spots: unreached}\n",
                "3: policy 'a': 'blind_spots' cannot be 'unreached'; did you mean unreached-file? Allowed: any, ",
            ),
            (
                "policies:\n  - {name: a, level: note, message: m, lines: no-effect, keys: x}\n",
                "3: policy 'a': 'keys' is for changes of values: with 'lines' and 'blind_spots' only 'files' can be \
                 used",
            ),
            (
                "policies:\n  - {name: a, level: note, message: m, lines: no-effect, blind_spots: any}\n",
                "3: policy 'a': 'lines' and 'blind_spots' cannot be combined: write two policies",
            ),
            (
                "policies:\n  - {name: a, level: note, message: m, files: x}\n",
                "3: policy 'a': 'files' needs 'lines' or 'blind_spots'",
            ),
            (&format!("{base}waivers:\n  - {{reason: r}}\n"), "6: a waiver needs the name of its 'policy'"),
            (
                &format!("{base}waivers:\n  - {{policy: line, reason: r, expires: 2027-01-31}}\n"),
                "6: there is no policy 'line' in this file; did you mean 'lines'?",
            ),
            (
                &format!("{base}waivers:\n  - {{policy: a, expires: 2027-01-31}}\n"),
                "6: waiver of 'a': needs a 'reason': why it is accepted, for those who read it",
            ),
            (
                &format!("{base}waivers:\n  - policy: a\n    reason: r\n"),
                "6: waiver of 'a': needs its last valid day, such as 'expires: 2027-01-31'",
            ),
            (
                &format!("{base}waivers:\n  - policy: a\n    reason: r\n    expires: 2027-02-30\n"),
                "8: waiver of 'a': 'expires': '2027-02-30' is not a valid date such as 2027-01-31",
            ),
            (
                &format!("{base}waivers:\n  - {{policy: lines, keys: x, reason: r, expires: 2027-01-31}}\n"),
                "6: waiver of 'lines': 'keys' has no effect on this policy: narrow it by 'files'",
            ),
            (
                &format!("{base}waivers:\n  - {{policy: a, files: x, reason: r, expires: 2027-01-31}}\n"),
                "6: waiver of 'a': 'files' has no effect on this policy: narrow it by 'keys' and 'nodes'",
            ),
        ] {
            refuses(&format!("profiles: nodes\n{settings}"), &format!("/hierad.yaml:{expected}"));
        }
    }

    #[test]
    fn numbers_are_no_names() {
        for (settings, expected) in [
            (
                "policies:\n  - name: a\n    level: note\n    message: m\n    nodes: '>50%'\n",
                "6: policy 'a': 'nodes' takes patterns for names, not '>50%'; for a number, write more_than: {nodes: 50%}",
            ),
            (
                "policies:\n  - {name: a, level: note, message: m, keys: [port, '>= 3']}\n",
                "3: policy 'a': 'keys' takes patterns for names, not '>= 3'; for a number, write more_than: {keys: 3}",
            ),
            (
                "policies:\n  - {name: a, level: note, message: m, nodes: 25%}\n",
                "3: policy 'a': 'nodes' takes patterns for names, not '25%'; for a number, write more_than: {nodes: 25%}",
            ),
            (
                "policies:\n  - {name: a, level: note, message: m, nodes: '!web01'}\n",
                "3: policy 'a': 'nodes' takes patterns for names, not '!web01'; patterns cannot exclude: list the",
            ),
            (
                "policies: [{name: a, level: note, message: m}]\nwaivers:\n  - {policy: a, nodes: '<5', reason: r, expires: 2027-01-31}\n",
                "4: waiver of 'a': 'nodes' takes patterns for names, not '<5'; only 'more_than' of a policy takes numbers",
            ),
        ] {
            refuses(&format!("profiles: nodes\n{settings}"), &format!("/hierad.yaml:{expected}"));
        }
    }
}
