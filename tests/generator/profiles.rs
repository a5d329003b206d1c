//! The nodes: facts, trusted facts and variables of every type.

use serde_json::{Map, Value as Json, json};

use super::random::Random;
use super::words::{ENVIRONMENT, FAMILIES, NODES, ROLES, SITES, TIERS};

/// Two to four nodes, with different names and much in common.
pub(crate) fn write(random: &mut Random) -> Vec<Json> {
    let names = random.shuffled(&NODES);
    random.times(2, 4).zip(names).map(|(_, name)| profile(random, name)).collect()
}

fn profile(random: &mut Random, name: &str) -> Json {
    let mut profile = json!({"name": name, "environment": ENVIRONMENT, "facts": facts(random, name)});
    profile["trusted"] = trusted(random, name);
    if random.percent(75) {
        profile["variables"] = variables(random);
    }
    profile
}

fn facts(random: &mut Random, name: &str) -> Json {
    let mut facts = Map::new();
    let mut add = |random: &mut Random, percent: u32, key: &str, value: Json| {
        if random.percent(percent) {
            facts.insert(key.to_owned(), value);
        }
    };
    let major = random.pick(&["11", "12"]);
    let os = json!({"family": random.pick(&FAMILIES), "name": "X", "release": {"major": major, "full": format!("{major}.3")}});
    let role = if random.percent(95) { json!(random.pick(&ROLES)) } else { json!("%{site}") };
    let site = random.pick(&SITES);
    let count = random.one(&[json!(0), json!(1), json!(2), json!(-7), json!(true)]);
    let ratio = random.one(&[json!(1.5), json!(100.0), json!(-0.25), json!(2)]);
    let list = random.one(&[json!(["red", ["x", 1], null]), json!([]), json!(["x", {"name": "n"}]), json!(["red"])]);
    let tiers = mapped(random);
    let mapped = mapped(random);
    let quirk = quirk(random);
    let flag = json!(random.percent(50));
    let nested =
        json!({"list": [{"name": random.pick(&["n", "%{role}", "%{literal('%')}{role}"])}], "0": "zero", "x.y": "dot"});
    add(random, 97, "os", os);
    add(random, 95, "role", role);
    add(random, 97, "site", json!(site));
    add(random, 90, "count", count);
    add(random, 90, "ratio", ratio);
    add(random, 95, "flag", flag);
    add(random, 95, "list", list);
    add(random, 90, "tiers", tiers);
    add(random, 80, "mapped", mapped);
    add(random, 92, "quirk", quirk);
    add(random, 92, "nested", nested);
    add(random, 50, "nothing", Json::Null);
    add(random, 80, "dotted.fact", json!("dotted"));
    add(random, 90, "fqdn", json!(name));
    add(random, 100, "clientcert", json!(name));
    add(random, 90, "networking", json!({"fqdn": name, "ip": "10.0.0.1"}));
    add(random, 3, "environment", json!("of the facts"));
    Json::Object(facts)
}

/// Values that `mapped_paths` may find.
fn mapped(random: &mut Random) -> Json {
    match random.weighted(&[70, 10, 5, 5, 4, 2, 1, 1, 2]) {
        0 => json!(random.times(1, 3).map(|_| random.pick(&TIERS)).collect::<Vec<_>>()),
        1 => json!(random.pick(&TIERS)),
        2 => json!([]),
        3 => json!(""),
        4 => Json::Null,
        5 => json!(["gold", "%{role}", 3, null]),
        6 => json!({"gold": "silver"}),
        7 => json!(random.between(0, 9)),
        _ => json!([["gold", "silver"], "gold"]),
    }
}

/// Texts that are themselves interpolated where they are used.
fn quirk(random: &mut Random) -> Json {
    match random.weighted(&[55, 41, 4]) {
        0 => json!(random.pick(&["web", "db"])),
        1 => json!(random.pick(&["%{role}", "", "a%{}b", "100%", "%{", "x%{::site}y", "a\nb", "%{os.family}"])),
        _ => json!(random.pick(&[
            "%{lookup('color')}",
            "%{quirk}",
            "%{nope}",
            "%{alias('color')}",
            "%{literal('%')}{role}"
        ])),
    }
}

/// The host's names are always given: what is derived where they are absent is for a program to decide.
fn trusted(random: &mut Random, name: &str) -> Json {
    let (hostname, domain) = name.split_once('.').unwrap_or((name, ""));
    let domain = if domain.is_empty() { Json::Null } else { json!(domain) };
    let mut trusted = json!({"hostname": hostname, "domain": domain});
    if random.percent(50) {
        trusted["certname"] = json!(name);
        trusted["authenticated"] = json!("remote");
    }
    if random.percent(85) {
        trusted["extensions"] = json!({"pp_role": random.pick(&ROLES)});
    }
    if random.percent(10) {
        trusted["external"] = json!({"cmdb": {"rack": 4}});
    }
    trusted
}

fn variables(random: &mut Random) -> Json {
    let mut variables = json!({"enc": random.one(&[json!("enc"), json!(["gold"]), json!(7), json!("%{role}")])});
    if random.percent(70) {
        variables["enc_hash"] = json!({"a": {"b": random.pick(&["deep", "%{site}"])}});
    }
    if random.percent(25) {
        variables["role"] = json!(random.pick(&ROLES));
    }
    if random.percent(3) {
        variables["site"] = Json::Null;
    }
    variables
}
