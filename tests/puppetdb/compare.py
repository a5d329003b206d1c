#!/usr/bin/env python3
"""Compares profiles that were sent to PuppetDB with those that hierad keeps:

    tests/puppetdb/compare.py SENT.ndjson KEPT.ndjson read|all|all-catalogs
    tests/puppetdb/compare.py SENT.ndjson count ROLE ENVIRONMENT
    tests/puppetdb/compare.py SENT.ndjson uses REPORT.json

Of `read` just some facts are kept, which must be at most a tenth of the whole. With `all-catalogs` comes what is
known of the catalogs.
"""
import json
import os
import sys


def profiles(path):
    with open(path, encoding="utf-8") as file:
        return {profile["name"]: profile for profile in map(json.loads, file)}


def compare(sent_path, kept_path, kind):
    sent, kept = profiles(sent_path), profiles(kept_path)
    assert list(sent) == sorted(sent) and set(sent) == set(kept), set(sent) ^ set(kept)
    names = set().union(*(profile["facts"] for profile in kept.values()))
    for name, profile in sent.items():
        expected = {fact: value for fact, value in profile["facts"].items() if kind != "read" or fact in names}
        got = kept[name]
        assert got["facts"] == expected, (name, got["facts"], expected)
        assert [type(value) for value in got["facts"].values()] == [type(expected[fact]) for fact in got["facts"]], name
        assert (got["environment"], got["trusted"]) == (profile["environment"], profile["trusted"]), name
        assert "timestamp" in got, name
        for field in ("catalog_classes", "catalog_keys"):
            expected = profile.get(field) if kind == "all-catalogs" else None
            assert got.get(field) == expected, (name, got.get(field), expected)
    share = os.path.getsize(kept_path) / os.path.getsize(sent_path)
    assert kind != "read" or share <= 0.1, f"{share:.1%} of the whole"
    print(f"{len(kept)} nodes, {len(names)} facts, {share:.1%} of what was sent")


def count(path, role, environment):
    found = [p for p in profiles(path).values() if p["facts"]["role"] == role and p["environment"] == environment]
    print(len(found))


def names(report, number):
    """The names of the nodes of a set, which has positions and ranges of positions."""
    ranges = (item if isinstance(item, list) else [item, item] for item in report["node_sets"][number])
    return {name for first, last in ranges for name in report["node_names"][first : last + 1]}


def uses(path, report_path):
    """Compares what a report says of the use of keys with the catalogs that were sent."""
    sent = profiles(path)
    with open(report_path, encoding="utf-8") as file:
        report = json.load(file)
    changes, nodes = report["changes"], {name: set(profile.get("catalog_classes", [])) for name, profile in sent.items()}
    known = {name for name, classes in nodes.items() if classes}
    keys = {name: set(profile["catalog_keys"]) for name, profile in sent.items() if "catalog_keys" in profile}
    for key in sorted({change["key"] for change in changes}):
        parts = {change.get("apart", False): change for change in changes if change["key"] == key}
        got = set().union(*(names(report, part["nodes"]) for part in parts.values()))
        is_of_web = key in ("apache::port", "role::web::x", "role::port")
        assert got, key
        assert got == {name for name, profile in sent.items() if not is_of_web or profile["facts"]["role"] == "web"}, key
        of = key.rpartition("::")[0]
        # Without a record nobody knows who looks up a key of a class that no catalog has.
        is_of_class = any(of in classes for classes in nodes.values())
        known_here = got & (known if is_of_class else set(keys))
        having = {name for name in known_here if of in nodes[name] or key in keys.get(name, ())}
        apart = known_here - having
        assert names(report, parts[True]["nodes"]) == apart if apart else True not in parts, (key, parts)
        expected = {"with": len(having), "without": len(apart), "unknown": len(got - known_here)}
        expected.update({"class": of} if is_of_class else {})
        said = {json.dumps(part.get("catalog_use"), sort_keys=True) for part in parts.values()}
        assert said == {json.dumps(expected, sort_keys=True)}, (key, said, expected)
        print(f"{key}: {len(having)} of {len(got)} nodes use it, {len(apart)} do not, of {len(got - known_here)} it is not known")
    assert len(changes) > 5 and report["verdict"] == "changes", report["headline"]


if __name__ == "__main__":
    if sys.argv[2] == "count":
        count(sys.argv[1], *sys.argv[3:])
    elif sys.argv[2] == "uses":
        uses(sys.argv[1], sys.argv[3])
    else:
        compare(*sys.argv[1:])
