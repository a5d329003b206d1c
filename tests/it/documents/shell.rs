//! Blocks of `sh`: commands of hierad are taken, and files of the project that others name exist.

use regex::Regex;

use super::pages::{blocks, none, pages, root};
use crate::support::terminal::{hierad, run};

/// Splits a line into words as a shell does, up to a pipe, a redirection or a comment.
fn words(line: &str) -> Vec<String> {
    let word = Regex::new(r#"'[^']*'|"[^"]*"|[^\s'"]+"#).unwrap();
    let words = word.find_iter(line).map(|found| found.as_str().trim_matches(['\'', '"']).to_owned());
    words.take_while(|word| !["|", ">", "&&", ";"].contains(&&**word) && !word.starts_with('#')).collect()
}

/// Returns why hierad refuses these arguments, if it does. Nothing but the arguments is looked at.
fn refusal(arguments: &[String]) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    // What a script passes on may be anything.
    let own = arguments.iter().take_while(|argument| !argument.starts_with('$'));
    let printed = run(hierad(folder.path()).args(own).arg("--help"));
    (printed.status != 0).then_some(printed.err)
}

/// Returns why a command cannot be run, if it cannot.
fn fault(words: &[String]) -> Option<String> {
    let (program, arguments) = words.split_first()?;
    match &**program {
        "hierad" => refusal(arguments),
        "cargo" => {
            let bench = arguments.iter().skip_while(|word| *word != "--bench").nth(1);
            let is_missing = |bench: &String| bench != "NAME" && !root().join(format!("benches/{bench}.rs")).exists();
            bench.filter(|bench| is_missing(bench)).map(|bench| format!("there is no benchmark {bench}"))
        }
        _ => {
            let own = Regex::new(r"^(tests|examples|\.ci|hooks|benches)/").unwrap();
            let files = words.iter().filter(|word| own.is_match(word) && !word.contains(['*', '$']));
            let mut missing = files.filter(|word| !root().join(word).exists());
            missing.next().map(|word| format!("there is no {word}"))
        }
    }
}

#[test]
fn commands_can_be_run() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for (path, text) in pages() {
        for block in blocks(&text).iter().filter(|block| block.language == "sh") {
            for line in block.text.replace("\\\n", " ").lines() {
                count += 1;
                wrong.extend(fault(&words(line)).map(|fault| format!("{path}:{}: {line}: {fault}", block.line)));
            }
        }
    }
    none(&wrong);
    assert!(count > 20, "{count} commands");
}

#[test]
fn recipes_run_commands_that_there_are() {
    let call = Regex::new(r"(?:^|[\s/'])(hierad (?:review|diff)[^'|]*)").unwrap();
    let variable = Regex::new(r#""?\$\{?[\w:/.-]+\}?"?"#).unwrap();
    let (mut wrong, mut count) = (Vec::new(), 0);
    for entry in std::fs::read_dir(root().join("examples/review")).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        for line in text.lines().filter(|line| !line.contains("description:") && !line.starts_with('#')) {
            let Some(call) = call.captures(line) else { continue };
            count += 1;
            // The flags that an action is given may be any.
            let call = call[1].replace(" $ARGUMENTS", "");
            let call = variable.replace_all(&call, "VALUE");
            wrong.extend(fault(&words(&call)).map(|fault| format!("{}: {line}: {fault}", path.display())));
        }
    }
    none(&wrong);
    assert!(count >= 6, "{count} commands");
}

#[test]
fn what_hierad_does_not_take_is_found() {
    let fault = |line: &str| fault(&words(line));
    assert_eq!(fault("hierad diff HEAD~2 --format json | head # all"), None);
    for line in ["hierad dif", "hierad diff --nope", "hierad diff --format xml", "cargo bench --bench x", "tests/x"] {
        assert!(fault(line).is_some(), "{line}");
    }
}

#[test]
fn no_recipe_makes_a_report_an_argument() {
    let recipes = ["examples/review", "hooks"].map(|folder| std::fs::read_dir(root().join(folder)).unwrap());
    let recipes = recipes.into_iter().flatten().map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap());
    let texts: Vec<String> = recipes.chain(pages().into_values()).collect();
    assert!(texts.len() > 20);
    // What a command prints may be longer than arguments may be.
    let substitution = Regex::new(r#"\$\(\s*"?\$?hierad"#).unwrap();
    let lines = texts.iter().flat_map(|text| text.lines());
    none(&lines.filter(|line| substitution.is_match(line)).map(str::to_owned).collect::<Vec<_>>());
}
