//! Commands that answer for functions: what they say, and how they fail.

use std::path::{Path, PathBuf};
use std::time::Duration;

use hierad::functions::command::BackendCommand;
use hierad::hiera::backend::{Answer, CommandBackend};
use hierad::value::Value;
use tempfile::TempDir;

/// A shell script that is asked, and the folder it runs in.
struct Script {
    folder: TempDir,
    command: BackendCommand,
}

impl Script {
    fn new(script: &str, seconds: f64) -> Script {
        let folder = TempDir::new().unwrap();
        let arguments = vec!["-c".into(), script.into()];
        let limit = Duration::from_secs_f64(seconds);
        let command = BackendCommand::new("sh".into(), arguments, folder.path().to_owned(), limit);
        Script { folder, command }
    }

    fn ask(&self, key: &str) -> Result<Answer, String> {
        self.command.ask(&format!("{{\"key\":\"{key}\"}}"))
    }

    #[track_caller]
    fn says(&self, key: &str, text: &str) {
        assert_eq!(self.ask(key), Ok(Answer::Found(Value::from(text))));
    }

    #[track_caller]
    fn refuses(&self, key: &str, why: &str) {
        let error = self.ask(key).unwrap_err();
        assert!(error.contains(why), "{error}");
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn lines(&self, name: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.file(name)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}

/// Returns true if a process has this id, even as a zombie.
fn is_there(pid: &str) -> bool {
    Path::new("/proc").join(pid.trim()).exists()
}

#[test]
fn one_process_answers_each_request_once() {
    let script = Script::new(
        r#"echo $$ >> starts
        while read -r line; do
            echo "$line" >> asked
            case $line in
                *absent*) echo '{"not_found": true}' ;;
                *refused*) echo '{"error": "no lease"}' ;;
                *) echo '{"value": "x"}' ;;
            esac
        done
        echo done > end"#,
        20.0,
    );
    script.says("a", "x");
    assert_eq!(script.ask("absent"), Ok(Answer::NotFound));
    assert_eq!(script.ask("refused"), Err("says: no lease".into()));
    script.says("a", "x");
    script.refuses("refused", "no lease");
    assert_eq!(script.lines("starts").len(), 1);
    let asked = ["{\"id\":1,\"key\":\"a\"}", "{\"id\":2,\"key\":\"absent\"}", "{\"id\":3,\"key\":\"refused\"}"];
    assert_eq!(script.lines("asked"), asked);
    let (end, pid) = (script.file("end"), script.lines("starts")[0].clone());
    let Script { folder, command } = script;
    drop(command);
    assert!(end.exists(), "its input ends before it is killed");
    assert!(!is_there(&pid));
    drop(folder);
}

#[test]
fn late_answers_end_the_command() {
    let script = Script::new(
        r#"echo $$ >> starts
        while read -r line; do
            case $line in *slow*) exec sleep 600 ;; esac
            echo '{"value": "x"}'
        done"#,
        1.0,
    );
    script.refuses("slow", "gave no answer within 1 s");
    assert!(!is_there(&script.lines("starts")[0]), "no zombie is left");
    script.says("quick", "x");
    assert_eq!(script.lines("starts").len(), 2);
}

#[test]
fn a_slow_start_is_within_the_limit() {
    let script = Script::new("sleep 1; read -r line; echo '{\"value\": \"late\"}'", 30.0);
    script.says("a", "late");
}

#[test]
fn repeated_failures_end_the_command() {
    let script = Script::new("echo start >> starts; read -r line; exit 1", 20.0);
    for key in ["a", "b", "c"] {
        script.refuses(key, "ended without an answer");
    }
    script.refuses("d", "failed 3 times in a row and is not asked any more");
    script.refuses("a", "ended without an answer");
    assert_eq!(script.lines("starts").len(), 3);
}

#[test]
fn malformed_answers_are_refused() {
    for (answer, why) in [
        ("echo garbage", "it is not a JSON object"),
        ("echo", "it is not a JSON object"),
        ("echo '[1]'", "it is not a JSON object"),
        ("echo '{}'", "it needs one of"),
        ("echo '{\"value\": 1, \"not_found\": true}'", "it needs one of"),
        ("echo '{\"not_found\": false}'", "it needs one of"),
        ("echo '{\"error\": 1}'", "it needs one of"),
        ("echo '{\"id\": 7, \"value\": 1}'", "its id is that of another request"),
        ("head -c 20000000 /dev/zero", "gave an answer of more than 16 MiB"),
    ] {
        Script::new(&format!("read -r line; {answer}"), 60.0).refuses("a", why);
    }
}

#[test]
fn values_are_read_as_json() {
    let script = Script::new(
        r#"read -r line
        printf '{"id": 1, "value": {"a": [1, 1.5, null, "\u00e9"], "b": true}}'"#,
        20.0,
    );
    let Ok(Answer::Found(value)) = script.ask("a") else { panic!("no answer") };
    assert_eq!(hierad::puppet::json::compact(&value), r#"{"a":[1,1.5,null,"é"],"b":true}"#, "without an end of line");
}

#[test]
fn missing_programs_are_named() {
    let nothing = BackendCommand::new("/no/such/program".into(), Vec::new(), PathBuf::new(), Duration::from_secs(1));
    let error = nothing.ask("{}").unwrap_err();
    assert!(error.starts_with("cannot be started: /no/such/program: "), "{error}");
}

#[test]
fn large_requests_do_not_block() {
    let script = Script::new("while read -r line; do echo '{\"value\": 1}'; done", 60.0);
    let large = "x".repeat(1 << 20);
    assert!(script.ask(&large).is_ok());
    let deaf = Script::new("exec sleep 60", 1.0);
    deaf.refuses(&large, "gave no answer within 1 s");
}

#[test]
fn threads_share_a_command() {
    let script = Script::new("while read -r line; do echo \"$line\" >> asked; echo '{\"value\": \"x\"}'; done", 60.0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..20).for_each(|key| script.says(&key.to_string(), "x")));
        }
    });
    assert_eq!(script.lines("asked").len(), 20);
}
