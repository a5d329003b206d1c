//! Repositories that are about one topic, of which each node has cases of its own: patterns of `lookup_options`, globs,
//! paths, or YAML's tags.

use serde_json::{Value as Json, json};

use super::Content;
use super::files::Files;
use super::random::Random;
use super::words::ENVIRONMENT;

/// The subject of a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Topic {
    /// Patterns in `lookup_options`.
    Patterns,
    /// Patterns of `glob` and `globs`.
    Globs,
    /// `path`, `paths`, `mapped_paths` and `datadir`.
    Paths,
    /// Tags in YAML.
    Tags,
}

impl std::str::FromStr for Topic {
    type Err = &'static str;

    fn from_str(name: &str) -> Result<Topic, Self::Err> {
        match name {
            "patterns" => Ok(Topic::Patterns),
            "globs" => Ok(Topic::Globs),
            "paths" => Ok(Topic::Paths),
            "tags" => Ok(Topic::Tags),
            _ => Err("patterns, globs, paths or tags is wanted"),
        }
    }
}

/// The number of nodes of a repository.
const NODES: u32 = 10;

/// The files and the profiles of a repository about `topic`.
pub(crate) fn repository(random: &mut Random, topic: Topic) -> (Files, Vec<Json>) {
    let mut files = Files::new();
    let mut profiles = Vec::new();
    if topic == Topic::Globs || topic == Topic::Paths {
        trees(random, &mut files);
    }
    for number in 0..NODES {
        let name = format!("n{number}.example.com");
        let (text, facts) = match topic {
            Topic::Patterns => (patterns(random), json!({"role": "web"})),
            Topic::Globs => (String::new(), json!({"one": glob(random), "two": glob(random)})),
            Topic::Paths => (String::new(), paths(random)),
            Topic::Tags => (tags(random), json!({})),
        };
        if !text.is_empty() {
            files.insert(format!("data/nodes/{name}.yaml"), Content::File(text));
        }
        profiles.push(json!({"name": name, "environment": ENVIRONMENT, "facts": facts}));
    }
    let (levels, common) = match topic {
        Topic::Patterns => ("", words(KEYS).iter().fold(String::new(), |text, key| text + &entry(key, "[b, z]"))),
        Topic::Globs => ("- {name: globs, globs: ['%{one}', 'x1/%{two}']}\n", ORDER.to_owned()),
        Topic::Paths => (
            "- {name: paths, paths: ['%{one}', 'x1/%{two}']}\n- {name: folder, path: a.yaml, datadir: 'data/%{folder}'}\n\
             - {name: mapped, mapped_paths: [list, item, 'x1/%{item}.yaml']}\n",
            ORDER.to_owned(),
        ),
        Topic::Tags => ("", COMMON_OF_TAGS.to_owned()),
    };
    let own = "- {name: own, path: 'nodes/%{trusted.certname}.yaml'}\n";
    let hierarchy = format!("version: 5\nhierarchy:\n{own}{levels}- {{name: common, path: common.yaml}}\n");
    files.insert("hiera.yaml".to_owned(), Content::File(hierarchy));
    files.insert("data/common.yaml".to_owned(), Content::File(common));
    (files, profiles)
}

/// The words of a list, in which `␣` is a space, `∅` nothing, and `◌` the accent that makes one character of two.
fn words(list: &str) -> Vec<String> {
    list.split_whitespace().map(|word| word.replace('␣', " ").replace('∅', "").replace('◌', "\u{301}")).collect()
}

fn word(random: &mut Random, list: &str) -> String {
    random.one(&words(list))
}

/// A line of YAML.
fn entry(key: &str, value: &str) -> String {
    format!("{}: {value}\n", json!(key))
}

// Patterns of `lookup_options`.

const KEYS: &str = r"
    a b abc ABC a␣b a-b a_b ab12 12ab 5 ٥ ntp::servers ntp::options Ntp packages users naïve Grüße GRÜẞE ss ß ſ
    k K 字 é a{} a{,}b x/y web
";

const LITERALS: &str = r"
    a b c ab n ntp :: s ss ß k é 字 web u - _ ␣ 5 \/ %{role} x
";

const CLASSES: &str = r"
    . \w \W \d \D \s \S \h \H \R \X [a-c] [^a] [^a-z] [abc] [\w-] [a&&b] [a-z&&[^aeiou]] [[:alpha:]] [[:upper:]]
    [[:^lower:]] [[:digit:]] [[:word:]] [[:punct:]] [[:space:]] \p{L} \p{Lu} \p{Alpha} \p{^Digit} \P{L}
    \p{Greek} \p{Han} [é] [à-ü] [^\d] []a] [a-] \u00e9 \x61 \141
";

const ANCHORS: &str = r"
    ^ $ \A \z \Z \b \B \G \K ∅
";

const GROUPS: &str = r"
    ( (?: ( (?: (?i: (?-i: (?m: (?x: (?= (?! (?> (?<x> (?i)(?:
";

const QUANTIFIERS: &str = r"
    * + ? *? +? ?? *+ ++ ?+ {2} {1,2} {,2} {1,} {0} {} {,} { {x} {2}? {1}+
";

/// References, escapes, and parts that do not compile.
const ODD: &str = r"
    \1 (a)\1 (?<y>a)\k<y> (?#c) ] } {, \_ \é (?i) (?mi-x:a) (?a:b) (?u:é) (?~ab) (a)?(?(1)b|c) * [ ) \
";

/// Options of a node for keys, of which each has a value on two levels.
fn patterns(random: &mut Random) -> String {
    let mut text = "lookup_options:\n".to_owned();
    for _ in random.times(1, 3) {
        let options = random.pick(&[
            "{merge: unique}",
            "{merge: first}",
            "{convert_to: Sensitive}",
            "{merge: {strategy: deep, sort_merged_arrays: true}}",
            "{merge: deep, convert_to: [String, '%p']}",
        ]);
        let pattern = format!("^{}", (0..random.between(1, 4)).map(|_| piece(random, 2)).collect::<String>());
        text = text + "  " + &entry(&pattern, options);
    }
    words(KEYS).iter().fold(text, |text, key| text + &entry(key, "[z, a]"))
}

fn piece(random: &mut Random, depth: u32) -> String {
    let mut text = match random.weighted(&[45, 25, 8, if depth == 0 { 0 } else { 20 }, 1]) {
        0 => word(random, LITERALS),
        1 => word(random, CLASSES),
        2 => return word(random, ANCHORS),
        3 if random.percent(15) => {
            return format!("{}{})", random.pick(&["(?<=", "(?<!"]), word(random, LITERALS));
        }
        3 => {
            let mut part = || (0..random.between(1, 2)).map(|_| piece(random, depth - 1)).collect::<String>();
            let (one, other) = (part(), part());
            let between = random.pick(&["", "|"]);
            format!("{}{one}{between}{other})", word(random, GROUPS))
        }
        _ => word(random, ODD),
    };
    let looks_around = text.starts_with("(?=") || text.starts_with("(?!");
    if random.percent(if looks_around { 3 } else { 30 }) {
        text += &word(random, QUANTIFIERS);
    }
    text
}

// Globs and paths.

/// Shows which files were read, and in which order.
const ORDER: &str = "lookup_options: {order: {merge: unique}}\norder: [common]\n";

const FILES: &str = r"
    a.yaml b c.yaml .d x1/a.yaml x1/b x1/.d x1/x2/a.yaml x1/x2/c.yaml x1/x2/y/b x3/a.yaml x3/c.yaml y/a.yaml
    y/x1/b .h/a.yaml .h/.d x1/é.yaml x1/e◌.yaml x1/a␣b.yaml x1/␣a.yaml x1/~.yaml x1/*.yaml x1/{a,b}.yaml
    x1/[a].yaml x1/a\b.yaml x1/..a.yaml
";

const LINKS: [(&str, &str); 9] = [
    ("z", "x1"),
    ("y/e", "../a.yaml"),
    ("x3/up", ".."),
    ("x1/top.yaml", "../../top.yaml"),
    ("r", "r"),
    ("x1/r1", "../x3/r2"),
    ("x3/r2", "../x1/r1"),
    ("n", "none"),
    ("x3/n.yaml", "../n/x"),
];

/// The number of links that lead somewhere; the others go round, or lead nowhere, so that globs which meet them fail.
const SOUND: usize = 4;

fn trees(random: &mut Random, files: &mut Files) {
    let files_at = words(FILES);
    let content = |number: usize, path: &str| {
        Content::File(entry(&format!("k{number}"), "1") + &entry("order", &json!([path]).to_string()))
    };
    files.insert("top.yaml".to_owned(), content(files_at.len(), "top"));
    files.extend(files_at.iter().enumerate().map(|(number, path)| (format!("data/{path}"), content(number, path))));
    let links = if random.percent(25) { &LINKS[..] } else { &LINKS[..SOUND] };
    files.extend(links.iter().map(|(path, target)| (format!("data/{path}"), Content::Link((*target).to_owned()))));
}

const GLOBS: &str = r"
    * ** x* {a,b} {b,a}.yaml a.yaml b x1 {x1,y} {y,x1} *{1,3} {x1/x2,y} [ab] [ab].yaml {a,{c,b}}* ? x{1,3}
    {x2,.} {,x1/}a.yaml y {*,x1} {a,b]} z {z,x1} .* .h **.yaml *.{yaml,json} [^a]* [a-c]* {a {a/,b} \{a [{]a*
    [x/y] ] . .. a.yaml\ *\ \a.yaml \*.yaml [\ab]* [a\] [a\]] .\d **\ \*\* .? {.*,x2} r r? {r,x1} n {n,x1} up */
    é.yaml ?.yaml e◌.yaml \[a\].yaml {}
";

fn glob(random: &mut Random) -> String {
    let mut segments: Vec<String> = random.times(1, 4).map(|_| word(random, GLOBS)).collect();
    if random.percent(60) {
        segments.push(word(random, "*.yaml * a.yaml {a,c}.yaml [abc]* **"));
    }
    joined(random, &segments, "∅ ∅ ∅ ∅ / //")
}

const SEGMENTS: &str = r"
    a b c x1 x2 x3 y z .. . ∅ é e◌ a␣b ␣a a␣ ~ * {a,b} [a] a\b \a r n up top ..a common .h A
";

fn path(random: &mut Random) -> String {
    let mut segments: Vec<String> = random.times(1, 4).map(|_| word(random, SEGMENTS)).collect();
    // More of them, or a slash at first, lead out of the repository, where Puppet finds what happens to be there.
    let mut ups = 0;
    segments.retain(|segment| segment != ".." || std::mem::replace(&mut ups, 1) == 0);
    if segments.first().is_none_or(String::is_empty) {
        segments.insert(0, "x1".to_owned());
    }
    joined(random, &segments, ".yaml .yaml .yaml .yaml .yaml ∅ / .yaml/ .yaml/. .YAML ␣.yaml")
}

/// The segments with one of `ends`, and in a few cases with a name that is about as long as one may be, or with a NUL.
fn joined(random: &mut Random, segments: &[String], ends: &str) -> String {
    let start = word(random, "∅ ∅ ∅ ∅ ∅ ./ x1/");
    let path = format!("{start}{}{}", segments.join("/"), word(random, ends));
    let long = "l".repeat(random.one(&[249, 250, 251, 254, 255, 256, 4090]));
    match random.weighted(&[970, 12, 12, 6]) {
        0 => path,
        1 => format!("{long}/{path}"),
        2 => format!("{path}{long}"),
        _ => format!("{path}\u{0}"),
    }
}

fn paths(random: &mut Random) -> Json {
    let mut item = || path(random).trim_end_matches(".yaml").to_owned();
    let list = json!([item(), item(), item()]);
    let folder =
        random.pick(&["x1", "x1/", "x1/x2/..", "", ".", "..", "z", "r", "n", "none", "a.yaml", "x1\\", "up", "x3/up"]);
    json!({"one": path(random), "two": path(random), "list": list, "folder": folder})
}

// Tags in YAML.

const COMMON_OF_TAGS: &str = "lookup_options: {k4: {merge: unique}, k5: {merge: deep}, k6: {merge: hash}}\n\
    k0: x\nk1: 1\nk2: {a: b}\nk3: [a]\nk4: [a, c]\nk5: {a: {b: c}}\nk6: {a: b}\n\
    text: \"<%{lookup('k0')}|%{lookup('k2')}|%{lookup('k3')}>\"\ninside: \"%{lookup('k2.a')}\"\n";

const TAGS: &str = r"
    ! !!str !str !!int !int !!float !float !!float#fix !float#base60 !!int#hex !!null !!bool !bool !!binary
    !binary !!timestamp !timestamp !!map !map !!seq !seq !!set !set !!omap !omap !!pairs !!merge !!value !foo
    !foo/bar !foo:bar !Sensitive !str:String !str:Foo !map:Hash !map:Foo !seq:Array !ruby/sym !ruby/symbol
    !ruby/string !ruby/string:String !ruby/string:Foo !ruby/array !ruby/array:Array !ruby/array:Foo !ruby/hash
    !ruby/hash:Hash !ruby/hash:Foo !ruby/hash-with-ivars !ruby/hash-with-ivars:Hash !ruby/object
    !ruby/object:Object !ruby/object:Foo !ruby/object:Set !ruby/object:OpenStruct !ruby/object:Complex
    !ruby/object:Rational !ruby/object:BigDecimal !ruby/object:DateTime !ruby/struct !ruby/struct:Foo
    !ruby/exception !ruby/exception:StandardError !ruby/range !ruby/regexp !ruby/class !ruby/module
    !ruby/encoding !ruby/foo !ruby/sensitive !ruby !<tag:yaml.org,2002:str> !<tag:ruby.yaml.org,2002:sym>
    !<tag:yaml.org,2002:int> !<!str> !%74
";

const SCALARS: &str = r#"
    x 1 "1" '' ∅ 1.5 0x1f 1_000 1,000 0b1 017 190:20:30 1e3 .inf ~ null true no 'yes' ":sym" Object String
    UTF-8 1..2 /a/i aGVsbG8= "aGV␣sbG8" '%{k1}' = << "a\nb"
"#;

/// Entries with tags here and there.
fn tags(random: &mut Random) -> String {
    let mut text = if random.percent(6) { format!("--- {}\n", word(random, TAGS)) } else { String::new() };
    for number in 0..7 {
        if random.percent(70) {
            let key = if random.percent(4) { format!("{} ", word(random, TAGS)) } else { String::new() };
            let percent = if random.percent(70) { 0 } else { 15 };
            text = text + &key + &format!("k{number}: ") + &tagged(random, percent, 2) + "\n";
        }
    }
    text
}

/// A node with a tag in `percent` of the cases, and nodes in it.
fn tagged(random: &mut Random, percent: u32, depth: u32) -> String {
    let tag = if random.percent(percent) { format!("{} ", word(random, TAGS)) } else { String::new() };
    let node = match random.weighted(&[60, if depth == 0 { 0 } else { 15 }, if depth == 0 { 0 } else { 25 }]) {
        0 => word(random, SCALARS),
        1 => format!(
            "[{}]",
            (0..random.between(0, 3)).map(|_| tagged(random, percent, depth - 1)).collect::<Vec<_>>().join(", ")
        ),
        _ => {
            let mut item = || {
                let key = random
                    .pick(&["a", "b", "1", "':s'", "<<", "'c'", "real", "table", "message", "begin", "end", "name"]);
                format!("{key}: {}", tagged(random, percent, depth - 1))
            };
            format!("{{{}}}", (0..2).map(|_| item()).collect::<Vec<_>>().join(", "))
        }
    };
    let node = if depth < 2 && node.is_empty() { "''".to_owned() } else { node };
    format!("{tag}{node}")
}
