#!/usr/bin/env python3
"""Compares profiles that were sent to PuppetDB with those that hierad keeps:

    tests/puppetdb/compare.py SENT.ndjson KEPT.ndjson read|all|all-classes
    tests/puppetdb/compare.py SENT.ndjson count ROLE ENVIRONMENT

Of `read` just some facts are kept, which must be at most a tenth of the whole. With `all-classes` come those of
the catalogs.
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
        expected = profile.get("catalog_classes") if kind == "all-classes" else None
        assert got.get("catalog_classes") == expected, (name, got.get("catalog_classes"), expected)
    share = os.path.getsize(kept_path) / os.path.getsize(sent_path)
    assert kind != "read" or share <= 0.1, f"{share:.1%} of the whole"
    print(f"{len(kept)} nodes, {len(names)} facts, {share:.1%} of what was sent")


def count(path, role, environment):
    found = [p for p in profiles(path).values() if p["facts"]["role"] == role and p["environment"] == environment]
    print(len(found))


if __name__ == "__main__":
    if sys.argv[2] == "count":
        count(sys.argv[1], *sys.argv[3:])
    else:
        compare(*sys.argv[1:])
