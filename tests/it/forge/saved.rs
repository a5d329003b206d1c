//! Reviews that the run of a stranger has saved, and a run with the token posts: whatever they say, it is text.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use serde_json::{Value as Json, json};

use super::scene::Scene;
use super::server::Kind;
use super::strangers::followed;
use crate::support::random::Random;
use crate::support::terminal::Printed;

/// The pages of the repository on the forge.
const PAGES: &str = "https://forge.example/o/n/";

/// The words of a refusal.
const REFUSED: &str = "is not a saved review";

/// A request from a fork, of which the run has saved its review.
struct Fork {
    scene: Scene,
    head: String,
}

impl Fork {
    fn new() -> Fork {
        let scene = Scene::new(Kind::GitHub);
        // A table, a fold, a list and lines that nobody reads.
        let data = "-- data/roles/web.yaml\nport: 8080\nmotd: |\n  one\n  two\nlist: [a, b, c]\nbad: '%{nothing}'\n";
        let head = scene.push(&format!("{data}-- data/unread.yaml\na: 1\n"));
        {
            let mut state = scene.forge.state();
            (state.is_fork, state.is_read_only) = (true, true);
        }
        let fork = Fork { scene, head };
        fork.scene.review(&fork.head, &format!("--save {}", fork.file().display())).ok();
        fork.scene.forge.state().is_read_only = false;
        fork
    }

    fn file(&self) -> std::path::PathBuf {
        self.scene.site.beside("review.json")
    }

    fn saved(&self) -> Json {
        serde_json::from_slice(&std::fs::read(self.file()).unwrap()).unwrap()
    }

    /// Has the run that follows post what is saved.
    fn post_text(&self, saved: &str, arguments: &str) -> Printed {
        std::fs::write(self.file(), saved).unwrap();
        self.scene.forge.state().comments.clear();
        let mut job = self.scene.job(&self.head, &format!("--post {} {arguments}", self.file().display()));
        self.scene.event(&mut job.command, 2000, "workflow_run", &followed(&self.head));
        job.run()
    }

    fn post(&self, saved: &Json) -> Printed {
        self.post_text(&saved.to_string(), "")
    }

    /// The comment that was posted.
    #[track_caller]
    fn comment(&self) -> String {
        self.scene.forge.comment("default")
    }

    /// Posts a review that has each of these texts in every place of a text, and fails if one is not just text.
    #[track_caller]
    fn check_texts(&self, texts: &[&str]) {
        let honest = self.saved();
        for at in 0..texts.len() {
            let mut saved = honest.clone();
            extend(&mut saved);
            let mut places = 0;
            each_text(&mut saved, &mut |text| {
                texts[(at + places) % texts.len()].clone_into(text);
                places += 1;
            });
            self.post(&saved).ok();
            check(&self.comment());
        }
    }
}

/// Adds a part of each kind to a review.
fn extend(saved: &mut Json) {
    let Some(parts) = saved.pointer_mut("/comment/parts").and_then(Json::as_array_mut) else { return };
    let pieces = ["text", "code", "strong", "small"].map(|kind| json!({kind: "x"}));
    let starts = |piece: &Json| json!({"block": {"paragraph": [piece, {"text": "x"}, {"text": "x"}, "break"]}});
    parts.extend(pieces.iter().map(starts));
    let line = json!(pieces);
    let place = json!([{"place": {"text": "x", "path": "x", "line": 1}}, {"full_report": ["x", "x"]}]);
    parts.extend([
        json!({"block": {"small": line}}),
        json!({"block": {"paragraph": place}}),
        json!({"block": {"list": [{"line": line, "remedy": line, "settings": ["x", "x"]}]}}),
        json!({"block": {"table": [[line, place, line], [line, [], []]]}}),
        json!({"fold": {"summary": line, "is_open": true, "blocks": [
            {"difference": [["@@", "x"], [" ", "x"], ["-", "x"], ["+", "x"], ["!", "x"], ["…", "x"]]},
            {"paragraph": line},
        ]}}),
    ]);
}

/// Calls `change` with each text of a review that is not of its form.
fn each_text(saved: &mut Json, change: &mut dyn FnMut(&mut String)) {
    match saved {
        Json::String(text) if !matches!(&**text, "@@" | " " | "-" | "+" | "!" | "…" | "break") => change(text),
        Json::Array(all) => all.iter_mut().for_each(|one| each_text(one, change)),
        Json::Object(all) => {
            let all = all.iter_mut().filter(|(name, _)| !matches!(&***name, "schema" | "head"));
            all.for_each(|(_, one)| each_text(one, change));
        }
        _ => {}
    }
}

/// Fails if a comment has anything that a forge or a browser acts on. The marker at its start is the only one.
#[track_caller]
fn check(comment: &str) {
    let (marker, body) = comment.split_once('\n').unwrap();
    assert!(marker.starts_with("<!-- hierad-review: default head="), "{comment}");
    let is_active =
        |c: char| (c.is_control() && c != '\n') || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}');
    assert!(!body.contains(is_active), "{body:?}");
    for line in body.lines() {
        let is_word = line.starts_with(char::is_alphanumeric);
        assert!(!is_word && !line.starts_with('/'), "a command in {line:?}:\n{body}");
    }
    for word in rendered(body).split('\0') {
        let has = |mark: &str, is_next: fn(char) -> bool| {
            word.match_indices(mark).any(|(at, _)| word[at + mark.len()..].starts_with(is_next))
        };
        for mark in ["@", "!", "$", "%", "&", "~"] {
            assert!(!has(mark, char::is_alphanumeric), "{mark} in {word:?}:\n{body}");
        }
        assert!(!has("#", |c| c.is_ascii_digit()) && !has("-", |c| c.is_ascii_digit()), "{word:?}:\n{body}");
        assert!(!has(":", |c| c.is_alphanumeric() || c == '/'), "{word:?}:\n{body}");
        assert!(!word.contains("[[") && !has("www.", char::is_alphanumeric), "{word:?}:\n{body}");
        let is_id = |digits: &str| digits.len() >= 7;
        assert!(!word.split(|c: char| !c.is_ascii_hexdigit()).any(is_id), "{word:?}:\n{body}");
    }
}

/// Returns the text outside of code as a forge renders it, with `\0` between nodes. Fails on elements that no comment
/// has.
#[track_caller]
fn rendered(body: &str) -> String {
    let (mut text, mut html, mut depth) = (String::new(), String::new(), 0);
    for event in Parser::new_ext(body, Options::all()) {
        match event {
            Event::Html(part) | Event::InlineHtml(part) => html.push_str(&part),
            Event::Text(part) => html.push_str(&part.replace('&', "&#38;").replace('<', "&#60;")),
            Event::Start(Tag::CodeBlock(_)) => html.push_str("<code>"),
            Event::End(TagEnd::CodeBlock) => html.push_str("</code>"),
            Event::Start(Tag::Link { dest_url, .. }) => {
                let page = dest_url.strip_prefix(PAGES).unwrap_or_else(|| panic!("{dest_url}:\n{body}"));
                let file = page.strip_prefix("blob/").map(|file| file.split_at(40).1);
                let is_up = |name: &str| matches!(name, "." | "..");
                let is_file = file.is_some_and(|file| file.starts_with('/') && !file.split(['/', '#']).any(is_up));
                assert!(is_file || page.starts_with("actions/runs/"), "{dest_url}:\n{body}");
                html.push('\0');
            }
            Event::Start(Tag::Heading { level, .. }) => assert_eq!(level as usize, 3, "{body}"),
            Event::Start(
                Tag::Paragraph
                | Tag::Table(_)
                | Tag::TableHead
                | Tag::TableRow
                | Tag::TableCell
                | Tag::HtmlBlock
                | Tag::Strong
                | Tag::List(None)
                | Tag::Item,
            )
            | Event::End(_)
            | Event::Code(_)
            | Event::SoftBreak => html.push('\0'),
            other => panic!("{other:?}:\n{body}"),
        }
    }
    let mut rest = &*html;
    while let Some(at) = rest.find(['<', '&']) {
        let (before, from) = rest.split_at(at);
        let end = if from.starts_with('<') { '>' } else { ';' };
        let (mark, behind) = from.split_at(from.find(end).unwrap() + 1);
        text.push_str(if depth == 0 { before } else { "\0" });
        rest = behind;
        match mark {
            "<code>" => depth += 1,
            "</code>" => depth -= 1,
            "<details>" | "<details open>" | "</details>" | "<summary>" | "</summary>" | "<br>" | "<!-- -->"
            | "<sub>" | "</sub>" | "<strong>" | "</strong>" => text.push('\0'),
            entity => {
                let code = entity.strip_prefix("&#").and_then(|code| code.strip_suffix(';')?.parse().ok());
                let c = code.and_then(char::from_u32).unwrap_or_else(|| panic!("{entity}:\n{body}"));
                text.extend((depth == 0).then_some(c));
            }
        }
    }
    assert_eq!(depth, 0, "{body}");
    text + rest
}

#[test]
fn markdown_of_a_former_version_is_refused() {
    let fork = Fork::new();
    for markdown in ["all is well", "@team &commat;team <IMG src=x> ![x](http://evil.example/x)\n\n/close\n"] {
        let saved = json!({
            "schema": "hierad.review/1", "head": fork.head, "headline": "x", "is_clean": false, "markdown": markdown,
        });
        fork.post(&saved).is(1).says(&[REFUSED, "save it with the same version of hierad that posts it"]);
        assert_eq!(fork.scene.forge.state().comments.len(), 0);
    }
}

#[test]
fn what_is_saved_is_posted_as_a_direct_review_is() {
    let fork = Fork::new();
    let saved = fork.saved();
    fork.post(&saved).ok();
    let posted = fork.comment();
    assert!(posted.contains("8080") && posted.contains("<details"), "{posted}");
    let link = format!("]({PAGES}blob/{}/data/roles/web.yaml#L1", fork.head);
    assert!(posted.contains(&link), "no {link} in {posted}");
    check(&posted);
    let text = |comment: &str| comment.split_once('\n').unwrap().1.to_owned();
    fork.scene.forge.state().comments.clear();
    fork.scene.review(&fork.head, "").ok();
    assert_eq!(text(&posted), text(&fork.comment()));
}

#[test]
fn saved_texts_mention_nobody() {
    let texts =
        ["@team", "&commat;team", "&#64;team &#x40;team", "\\@team", "a@evil.example", "@@team", "@\u{200b}team"];
    Fork::new().check_texts(&texts);
}

#[test]
fn saved_texts_are_no_elements() {
    Fork::new().check_texts(&[
        "<img src=x>",
        "<IMG SRC=\"http://evil.example/x\">",
        "![x](http://evil.example/x) !\\[x](http://evil.example/x)",
        "[x][r]\n\n[r]: http://evil.example/x",
        "<picture><source srcset=x></picture><video src=x></video><input type=image src=x>",
        "</summary></details></code></sub><script>",
        "<!---->![](x)<!-- ",
        "-->",
    ]);
}

#[test]
fn saved_texts_forge_no_marker() {
    let marker = "<!-- hierad-review: default head=0 run=9.9 -->";
    Fork::new().check_texts(&[marker, "<!-- x", "x -->", "<!X hierad>", "<?x hierad?>", "<![CDATA[x]]>"]);
}

#[test]
fn saved_texts_are_no_commands() {
    Fork::new().check_texts(&[
        "/close",
        "\n/close\n",
        "\r/close",
        " /close",
        "\u{2028}/close",
        "x\n\n/close",
        "\t/close",
        "recheck",
        " bors merge",
        "retest this please",
        "\u{3000}ok to test",
        "\u{2800}\nr+",
        "1. lgtm",
        "да",
    ]);
}

#[test]
fn saved_words_are_shown_as_they_are() {
    let fork = Fork::new();
    let mut saved = fork.saved();
    saved["comment"]["headline"] = json!("recheck");
    saved["comment"]["parts"] = json!([{"block": {"paragraph": [{"text": "recheck"}, {"text": " this, please"}]}}]);
    fork.post(&saved).ok();
    let comment = fork.comment();
    assert!(comment.ends_with("### recheck\n\n&#114;echeck this, please\n"), "{comment}");
    let body = comment.split_once('\n').unwrap().1;
    assert!(rendered(body).contains("recheck this, please"), "{comment}");
}

#[test]
fn saved_texts_refer_to_nothing() {
    Fork::new().check_texts(&[
        "closes #1",
        "GH-1 and ABC-12",
        "o/r#1 o/r!1 o/r@0123456789abcdef",
        "0123456789abcdef0123456789abcdef01234567",
        "deadbeef..deadbee",
        "[[page]] [[x|http://evil.example/x.png]]",
        "!1 ~bug %1 $1 &1 &group&1",
        "[issue:1] [^1] *iteration:1",
    ]);
}

#[test]
fn saved_texts_are_no_addresses() {
    Fork::new().check_texts(&[
        "https://evil.example/",
        "http:",
        "//evil.example",
        "www.evil.example",
        "ww",
        "w.evil.example",
        "mailto:a@evil.example xmpp:a@evil.example",
        "<https://evil.example>",
        "[x](https://evil.example) ](https://evil.example)",
    ]);
}

#[test]
fn saved_texts_are_no_structure() {
    Fork::new().check_texts(&[
        "x\n===\n---",
        "```\n\n# head",
        "``````````````",
        "~~~",
        "| a | b |\n|---|---|",
        "a|b\\|c",
        "- x",
        "1. x",
        "    code",
        "[^1]: note",
        ":smile: a::b::c",
        "$math$ $`x`$ $$x$$",
        "**x** __x__ ~~x~~",
        "\\",
        "\u{202e}\u{2066}x\u{200b}",
        "",
        " ",
    ]);
}

#[test]
fn saved_links_stay_in_the_commit() {
    let fork = Fork::new();
    // The page of the run that has made it is known by its number.
    let mut saved = fork.saved();
    fork.check_texts(&["../../../../evil/x", "a/../../b", "/etc", "//evil.example/x", "https://evil.example", "./x"]);
    fork.check_texts(&["a)b](c", r"a\..\..\b", "..", "%2e%2e/%2e%2e/x"]);
    saved["comment"]["parts"] = json!([{"block": {"paragraph": [{"full_report": ["a", "b"]}]}}]);
    fork.post(&saved).ok();
    assert!(fork.comment().contains(&format!("[The full report]({PAGES}actions/runs/500)")), "{}", fork.comment());
}

#[test]
fn saved_reviews_of_another_form_are_refused() {
    let fork = Fork::new();
    let honest = fork.saved();
    let with = |pointer: &str, value: Json| {
        let mut saved = honest.clone();
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        saved.pointer_mut(parent).unwrap()[name] = value;
        saved
    };
    let parts = |part: Json| with("/comment/parts", json!([part]));
    let mut deep = json!({"paragraph": [{"text": "x"}]});
    for _ in 0..50 {
        deep = json!({"fold": {"summary": [], "is_open": true, "blocks": [deep]}});
    }
    for saved in [
        with("/markdown", json!("@team")),
        with("/comment/link_base", json!("https://evil.example/")),
        with("/head", json!("x -->")),
        with("/head", json!(["x"])),
        with("/is_clean", json!("yes")),
        with("/schema", json!("hierad.review/3")),
        parts(deep),
        parts(json!({"block": {"html": "<b>"}})),
        parts(json!({"block": {"difference": [["/", "close"]]}})),
        parts(json!({"block": {"paragraph": [{"link": {"text": "x", "address": "https://evil.example"}}]}})),
        parts(json!({"block": {"paragraph": [{"place": {"text": "x", "path": "x", "line": "1"}}]}})),
        parts(json!({"block": {"paragraph": [{"place": {"text": "x", "path": "x", "line": 1, "base": "x"}}]}})),
        parts(json!({"block": {"table": [[[], []]]}})),
        parts(json!({"fold": {"summary": [], "is_open": true, "blocks": [], "class": "x"}})),
    ] {
        fork.post(&saved).is(1).says(&[REFUSED]);
        assert_eq!(fork.scene.forge.state().comments.len(), 0);
    }
    fork.post_text(&"[".repeat(1 << 20), "").is(1).says(&[REFUSED]);
    fork.post_text(&" ".repeat(5 << 20), "").is(1).says(&[REFUSED]);
}

#[test]
fn saved_reviews_of_any_size_fit_a_comment() {
    let fork = Fork::new();
    let mut saved = fork.saved();
    let row = json!([[{"text": "@".repeat(100)}], [], []]);
    let part = |rows: usize| json!({"block": {"table": vec![row.clone(); rows]}});
    saved["comment"]["parts"] = json!([part(20_000), part(10), part(5_000)]);
    fork.post(&saved).ok();
    let comment = fork.comment();
    check(&comment);
    assert!(comment.chars().count() < 61_000 && comment.contains("… 2 more parts"), "{comment}");
    assert_eq!(comment.matches("\n| &#64;").count(), 10, "{comment}");
    for headline in ["@".repeat(1 << 18), " ".repeat(1 << 18) + &"-".repeat(1 << 18)] {
        saved["comment"]["headline"] = json!(headline);
        fork.post(&saved).ok();
        check(&fork.comment());
        assert!(fork.comment().chars().count() < 61_000);
    }
    saved["comment"] = json!({"headline": "", "parts": []});
    fork.post(&saved).ok();
    check(&fork.comment());
}

/// Texts that would be something else at the start of a line, at its end or beside another piece.
const TEXTS: [&str; 24] = [
    "x",
    "",
    " ",
    "\u{a0}",
    "- x",
    "1",
    ". x",
    ") x",
    "# x",
    "```",
    "~~~",
    "---",
    "===",
    "> x",
    "    x",
    "<img src=http://evil.example/x>",
    "<!-- x",
    "</details>",
    "[x](http://evil.example/)",
    "*",
    "www",
    ".evil.example",
    "@team",
    "/close",
];

/// Makes documents of the form of a saved review, whatever hierad itself would write.
struct Forms(Random);

impl Forms {
    fn text(&mut self) -> &'static str {
        TEXTS[self.0.below(TEXTS.len())]
    }

    fn some<T>(&mut self, most: usize, make: impl Fn(&mut Forms) -> T) -> Vec<T> {
        (0..self.0.below(most + 1)).map(|_| make(self)).collect()
    }

    fn line(&mut self) -> Json {
        json!(self.some(3, |forms| {
            let text = forms.text();
            match forms.0.below(9) {
                0 | 1 => json!("break"),
                2 => json!({"code": text}),
                3 | 4 => json!({"strong": text}),
                5 => json!({"small": text}),
                6 => json!({"place": {"text": text, "path": "a/b", "line": 1}}),
                _ => json!({"text": text}),
            }
        }))
    }

    fn item(&mut self) -> Json {
        let remedy = if self.0.below(2) == 0 { json!(null) } else { self.line() };
        json!({"line": self.line(), "remedy": remedy, "settings": self.some(2, Forms::text)})
    }

    fn block(&mut self) -> Json {
        match self.0.below(6) {
            0 => json!({"paragraph": self.line()}),
            1 => json!({"small": self.line()}),
            2 | 3 => json!({"list": self.some(3, Forms::item)}),
            4 => json!({"table": self.some(2, |forms| [forms.line(), forms.line(), forms.line()])}),
            _ => json!({"difference": self.some(2, |forms| ("+", forms.text()))}),
        }
    }

    fn part(&mut self) -> Json {
        match self.0.below(5) {
            0 => json!({"fold": {"summary": self.line(), "is_open": true, "blocks": self.some(3, Forms::block)}}),
            _ => json!({"block": self.block()}),
        }
    }
}

/// Returns true if a line of a document shows anything.
fn is_shown(line: &Json) -> bool {
    let is_shown = |piece: &Json| match piece.as_object().and_then(|piece| piece.iter().next()) {
        Some((kind, text)) if kind != "code" && kind != "place" => !text.as_str().unwrap().trim().is_empty(),
        piece => piece.is_some(),
    };
    line.as_array().unwrap().iter().any(is_shown)
}

/// Returns the structure that a block of a document stands for. What shows nothing is nothing.
fn meant(block: &Json) -> Vec<String> {
    let (kind, content) = block.as_object().unwrap().iter().next().unwrap();
    let fence = |lines: Vec<String>| format!("fence {:?}", lines.concat());
    match (&**kind, content.as_array()) {
        ("paragraph" | "small", _) => is_shown(content).then(|| "text".to_owned()).into_iter().collect(),
        ("list", Some(items)) => {
            let item = |item: &Json| -> Vec<String> {
                let has_text = is_shown(&item["line"]) || item["remedy"].is_array() && is_shown(&item["remedy"]);
                let settings = item["settings"].as_array().unwrap().iter();
                let settings: Vec<String> = settings.map(|line| format!("{}\n", line.as_str().unwrap())).collect();
                let settings = (!settings.is_empty()).then(|| fence(settings));
                let inner: Vec<String> = has_text.then(|| "text".to_owned()).into_iter().chain(settings).collect();
                if inner.is_empty() { inner } else { [vec!["item".to_owned()], inner].concat() }
            };
            let items: Vec<String> = items.iter().flat_map(item).collect();
            if items.is_empty() { items } else { [vec!["list".into()], items, vec!["end".into()]].concat() }
        }
        ("table", Some(rows)) => vec![format!("table {}", rows.len())],
        ("difference", Some(lines)) => {
            vec![fence(lines.iter().map(|line| format!("+ {}\n", line[1].as_str().unwrap())).collect())]
        }
        _ => {
            let blocks = content["blocks"].as_array().unwrap().iter().flat_map(meant);
            ["details".to_owned()].into_iter().chain(blocks).chain(["/details".to_owned()]).collect()
        }
    }
}

/// Returns the structure that a forge finds in a comment.
fn found(body: &str) -> Vec<String> {
    let (mut found, mut fence, mut rows, mut is_text) = (Vec::new(), None::<String>, None, false);
    for event in Parser::new_ext(body, Options::all()) {
        let is_inline = matches!(
            event,
            Event::Text(_)
                | Event::Code(_)
                | Event::InlineHtml(_)
                | Event::SoftBreak
                | Event::Start(Tag::Strong | Tag::Link { .. })
                | Event::End(TagEnd::Strong | TagEnd::Link)
        );
        match event {
            Event::Text(text) if fence.is_some() => _ = fence.as_mut().map(|fence| fence.push_str(&text)),
            Event::Start(Tag::CodeBlock(_)) => fence = Some(String::new()),
            Event::End(TagEnd::CodeBlock) => found.push(format!("fence {:?}", fence.take().unwrap())),
            Event::Start(Tag::Table(_)) => rows = Some(0),
            Event::Start(Tag::TableRow) => rows = rows.map(|rows| rows + 1),
            Event::End(TagEnd::Table) => found.push(format!("table {}", rows.take().unwrap())),
            Event::Start(Tag::List(_)) => found.push("list".into()),
            Event::Start(Tag::Item) => found.push("item".into()),
            Event::End(TagEnd::List(_)) => found.push("end".into()),
            Event::Html(tag) => found.extend(
                ["</details", "<details"]
                    .iter()
                    .filter(|start| tag.starts_with(**start))
                    .map(|start| start[1..].to_owned()),
            ),
            _ if is_inline && !is_text && rows.is_none() => found.push("text".into()),
            _ => {}
        }
        is_text = is_inline;
    }
    found
}

/// Joins lists that follow each other, which are one.
fn joined(mut structure: Vec<String>) -> Vec<String> {
    while let Some(at) = structure.windows(2).position(|two| two == ["end", "list"]) {
        structure.drain(at..at + 2);
    }
    structure
}

#[test]
fn saved_documents_of_any_form_keep_their_structure() {
    let fork = Fork::new();
    let mut saved = fork.saved();
    let mut forms = Forms(Random::new(7));
    let item = |item: Json| vec![json!({"block": {"list": [item]}})];
    let settings =
        json!(["<img src=http://evil.example/1.png>", "@victim closes #1", "", "# x", "<!-- hierad-review: x -->"]);
    let mut documents = vec![
        item(json!({"line": ["break"], "remedy": null, "settings": settings})),
        item(json!({"line": [], "remedy": [], "settings": settings})),
        item(json!({"line": [{"strong": " "}], "remedy": [{"text": " "}], "settings": settings})),
        item(json!({"line": [{"text": "x"}], "remedy": ["break", {"small": ""}], "settings": settings})),
        vec![json!({"block": {"small": ["break"]}}), json!({"block": {"paragraph": ["break", "break"]}})],
        vec![json!({"block": {"paragraph": [{"text": "1"}, {"strong": ""}, {"text": ") x"}]}})],
        vec![json!({"block": {"paragraph": [{"text": "www"}, {"strong": " "}, {"text": ".evil.example"}]}})],
    ];
    documents.extend((0..25).map(|_| (0..30).map(|_| forms.part()).collect()));
    for parts in documents {
        let inner = |part: &Json| part.get("block").unwrap_or(&part["fold"]).clone();
        let of_part = |part: &Json| {
            if part["fold"].is_object() { meant(&json!({"fold": inner(part)})) } else { meant(&inner(part)) }
        };
        let meant = joined(parts.iter().flat_map(of_part).collect());
        saved["comment"]["parts"] = json!(parts);
        fork.post(&saved).ok();
        let comment = fork.comment();
        check(&comment);
        let body = comment.split_once('\n').unwrap().1;
        let found = joined(found(body.split_once('\n').unwrap().1));
        assert_eq!(found, meant, "{body}");
    }
}
