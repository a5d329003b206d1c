//! Ten generators of hostile data. What each makes lies beside honest data, which it must not touch: in the file of the
//! node `bad`, in keys that begin with `evil`, in the module `evil`, or where no hierarchy leads.

use std::fmt::Write;

use crate::support::random::Random;

/// Files to add, by path.
pub(super) type Files = Vec<(String, Vec<u8>)>;

/// Makes hostile files of several kinds.
pub(super) struct Generator {
    pub(super) name: &'static str,
    /// The number of kinds.
    pub(super) kinds: usize,
    /// Makes files of a kind, the first of which is 0; the last number is how large they are, from 1.
    pub(super) make: fn(&mut Random, usize, usize) -> Files,
}

pub(super) const ALL: [Generator; 10] = [
    Generator { name: "tree shapes", kinds: 2, make: tree_shapes },
    Generator { name: "blob sizes", kinds: 4, make: blob_sizes },
    Generator { name: "YAML", kinds: 7, make: yaml },
    Generator { name: "JSON", kinds: 5, make: json },
    Generator { name: "HOCON", kinds: 8, make: hocon },
    Generator { name: "hiera.yaml", kinds: 6, make: hiera_yaml },
    Generator { name: "lookup_options", kinds: 3, make: lookup_options },
    Generator { name: "merges", kinds: 4, make: merges },
    Generator { name: "conversions", kinds: 8, make: conversions },
    Generator { name: "names", kinds: 3, make: names },
];

fn file(path: &str, content: impl Into<Vec<u8>>) -> (String, Vec<u8>) {
    (path.to_owned(), content.into())
}

/// Folders deep, or wide, full of files that are nearly data.
fn tree_shapes(random: &mut Random, kind: usize, size: usize) -> Files {
    if kind > 0 {
        let wide = random.below(300 * size);
        return (0..wide).map(|n| file(&format!("data/evil_wide/{n}.yaml"), format!("evil{n}: {n}\n"))).collect();
    }
    let mut files = Files::new();
    for _ in 0..3 * size {
        let depth = 1 + random.below(40 * size.min(5));
        let path: String =
            (0..depth).fold("data/evil".to_owned(), |path, _| path + "/" + *random.pick(&["a", "b", "d"]));
        files.push(file(&format!("{path}/f.yaml"), "evil: 1\n"));
    }
    files
}

/// Files of one line, of one value, of nothing but spaces.
fn blob_sizes(random: &mut Random, kind: usize, size: usize) -> Files {
    let length = (size << 20) + random.below(1 << 20);
    let content = match kind {
        0 => vec![b' '; length],
        1 => format!("evil: \"{}\"\n", "x".repeat(length)).into_bytes(),
        2 => format!("evil: [{}]\n", "1,".repeat(length / 8)).into_bytes(),
        _ => vec![0; length + (64 << 20)],
    };
    vec![file("data/nodes/bad.yaml", content)]
}

fn yaml(random: &mut Random, kind: usize, size: usize) -> Files {
    let n = 10 + random.below(500 * size);
    let content = match kind {
        0 => (1..60).fold("evil0: &a0 [x, x]\n".to_owned(), |text, n| {
            text + &format!("evil{n}: &a{n} [*a{0}, *a{0}]\n", n - 1)
        }),
        1 => format!("evil: {}x{}\n", "[".repeat(n), "]".repeat(n)),
        2 => format!("evil: {}1\n", "? ".repeat(n)),
        3 => (0..n).fold("base: &b {x: 1}\n".to_owned(), |text, n| text + &format!("evil{n}: {{<<: [*b, *b, *b]}}\n")),
        4 => format!("evil: {}\n", "!!map ".repeat(n)),
        5 => format!("evil: !ruby/object:Object {{a: {}}}\n", "9".repeat(n * 20)),
        _ => format!("evil: |\n{}", " \t\n".repeat(n * 10)),
    };
    vec![file("data/nodes/bad.yaml", content)]
}

fn json(random: &mut Random, kind: usize, size: usize) -> Files {
    let n = 10 + random.below(2000 * size);
    let content = match kind {
        0 => format!("{{\"evil\": {}{}}}", "[".repeat(n), "]".repeat(n)),
        1 => format!("{{\"evil\": {}}}", "9".repeat(n * 50)),
        2 => format!("{{{}\"z\": 1}}", (0..n).fold(String::new(), |text, _| text + "\"evil\": [1], ")),
        3 => format!("{{\"evil\": 1e{}}}", "9".repeat(n)),
        _ => format!("{{\"evil\": \"{}\"}}", "\\ud800".repeat(n)),
    };
    vec![file("data/nodes/bad.json", content)]
}

fn hocon(random: &mut Random, kind: usize, size: usize) -> Files {
    let n = 10 + random.below(2000 * size);
    let lines = |line: &str| line.repeat(n);
    let content = match kind {
        0 => lines("evil += 1\n"),
        1 => lines("evil = ${?evil} {k1: 1}\n"),
        2 => (1..n).fold("evil0 = 1\n".to_owned(), |text, n| {
            text + &format!("evil{n} = [${{evil{0}}}, ${{evil{0}}}]\n", n - 1)
        }),
        3 => (0..n).fold(String::new(), |text, n| text + &format!("evil.a{n} = ${{?evil.a{}}}\n", n + 1)),
        4 => format!("evil = {}1{}", "{a = ".repeat(n), "}".repeat(n)),
        5 => (0..n).fold(String::new(), |text, n| text + &format!("evil {{k{n} = 1}}\n")),
        6 => (0..n).fold(String::new(), |text, n| text + &format!("evil{n} = ${{?nothing{n}}}\n")),
        _ => format!("evil = {}\n", "${?evil} [1] ".repeat(n)),
    };
    vec![file("data/nodes/bad.conf", content)]
}

/// The configuration of a module, whose keys alone it concerns.
fn hiera_yaml(random: &mut Random, kind: usize, size: usize) -> Files {
    let n = 10 + random.below(2000 * size);
    let levels = match kind {
        0 => (0..n).fold(String::new(), |text, n| text + &format!("- {{name: l{n}, path: \"%{{name}}/{n}.yaml\"}}\n")),
        1 => format!("- {{name: g, glob: \"{}\"}}\n", "{a,b}".repeat(n.min(700))),
        2 => format!("- {{name: g, glob: \"{}x.yaml\"}}\n", "**/".repeat(n.min(1000))),
        3 => format!("- {{name: p, path: \"{}\"}}\n", "%{name}".repeat(n)),
        4 => format!("- {{name: m, mapped_paths: [list, x, \"{}%{{x}}\"]}}\n", "%{x}/".repeat(n)),
        _ => format!("- {{name: p, paths: [{}]}}\n", "common.yaml, ".repeat(n)),
    };
    vec![
        file("modules/evil/hiera.yaml", format!("version: 5\nhierarchy:\n{levels}")),
        file("modules/evil/data/common.yaml", "evil::a: {x: 1}\nlookup_options: {'evil::a': {merge: deep}}\n"),
    ]
}

/// The options of a module, whose keys alone they concern.
fn lookup_options(random: &mut Random, kind: usize, size: usize) -> Files {
    let n = 10 + random.below(200 * size);
    let mut data = String::from("lookup_options:\n");
    match kind {
        0 => _ = writeln!(data, "  '^evil::(a+)+$': {{merge: unique}}"),
        1 => (0..n).for_each(|n| _ = writeln!(data, "  '^evil::((a|a)*{n})+$': {{merge: unique}}")),
        _ => (0..n)
            .for_each(|n| _ = writeln!(data, "  'evil::{n}': {{merge: {{strategy: deep, knockout_prefix: '('}}}}")),
    }
    for n in 0..n {
        _ = writeln!(data, "evil::{}{n}: [x]", "a".repeat(30));
    }
    vec![
        file("modules/evil/hiera.yaml", "version: 5\nhierarchy: [{name: c, paths: [common.yaml, common.yaml]}]\n"),
        file("modules/evil/data/common.yaml", data),
    ]
}

fn merges(random: &mut Random, kind: usize, size: usize) -> Files {
    let (n, keys) = (10 + random.below(200 * size), 1 + random.below(20 * size));
    let strategy =
        *random.pick(&["deep", "unique", "hash", "{strategy: deep, knockout_prefix: x, sort_merged_arrays: true}"]);
    let value = match kind {
        0 => format!("{{{}}}", (0..n).fold(String::new(), |text, n| text + &format!("k{n}: {{a: [x, y]}}, "))),
        1 => format!("[{}]", (0..n).fold(String::new(), |text, n| text + &format!("x{n}, "))),
        2 => format!("{}1{}", "{a: ".repeat(n.min(400)), "}".repeat(n.min(400))),
        _ => "\"%{lookup('evil_long')}\"".to_owned(),
    };
    let mut data = format!("lookup_options: {{'^evil': {{merge: {strategy}}}}}\nevil_long: {}\n", "x".repeat(n * 100));
    (0..keys).for_each(|n| _ = writeln!(data, "evil{n}: {value}"));
    (1..keys).for_each(|n| {
        _ = writeln!(data, "evil_twice{n}: \"%{{lookup('evil_twice{0}')}}%{{lookup('evil_twice{0}')}}\"", n - 1);
    });
    data.push_str("evil_twice0: xx\n");
    let levels =
        format!("version: 5\nhierarchy: [{{name: c, paths: [{}]}}]\n", "common.yaml, ".repeat(2 + random.below(200)));
    let data = data.replace("evil", "evil::e");
    vec![file("modules/evil/hiera.yaml", levels), file("modules/evil/data/common.yaml", data)]
}

fn conversions(random: &mut Random, kind: usize, size: usize) -> Files {
    let n = 10 + random.below(500 * size);
    let convert = match kind {
        0 => "[String, '%1000000s']".to_owned(),
        1 => "[String, '%.1000000f']".to_owned(),
        2 => format!("'{}Any{}'", "Array[".repeat(n), "]".repeat(n)),
        3 => format!("'Enum[{}]'", (0..n).fold("a".to_owned(), |text, n| text + &format!(", b{n}"))),
        4 => "'Pattern[/^(a+)+$/]'".to_owned(),
        5 => {
            format!("'Struct[{{{}}}]'", (0..n).fold("a => Any".to_owned(), |text, n| text + &format!(", b{n} => Any")))
        }
        6 => "[Timestamp, '%9999999N']".to_owned(),
        _ => "[Array, true]".to_owned(),
    };
    let mut data = format!("lookup_options: {{'^evil::': {{convert_to: {convert}}}}}\n");
    (0..n).for_each(|n| _ = writeln!(data, "evil::k{n}: {}{n}b", "a".repeat(40)));
    vec![
        file("modules/evil/hiera.yaml", "version: 5\nhierarchy: [{name: c, path: common.yaml}]\n"),
        file("modules/evil/data/common.yaml", data),
    ]
}

/// Odd names of keys, a very long one, odd names of files.
fn names(random: &mut Random, kind: usize, size: usize) -> Files {
    let odd = ["\u{202e}", "%{evil}", "..", "\u{1b}[2J", "a.b.c", "'", "\\", "::", "\u{85}", "~", "lookup_options."];
    let mut data = String::new();
    match kind {
        0 => (0..10 * size).for_each(|n| {
            let name: String = (0..=random.below(30)).map(|_| *random.pick(&odd)).collect();
            _ = writeln!(data, "\"evil{n}{}\": 1", name.replace('\\', "\\\\").replace('\u{1b}', "\\e"));
        }),
        1 => _ = writeln!(data, "\"evil{}\": 1", "x".repeat(1000 * size)),
        _ => {
            let name = |random: &mut Random| (0..random.below(10)).map(|_| *random.pick(&odd[..4])).collect::<String>();
            let path = |n, random: &mut Random| format!("data/evil{n}{}.yaml", name(random).replace("..", "_"));
            return (0..=size).map(|n| file(&path(n, random), "evil: 1\n")).collect();
        }
    }
    vec![file("data/nodes/bad.yaml", data)]
}
