#!/usr/bin/env python3
"""Compares a variable in two files of profiles:

    tests/puppetdb/same_variable.py NAME EXPECTED.ndjson FOUND.ndjson
"""
import json
import sys


def values(path, name):
    with open(path, encoding="utf-8") as file:
        profiles = [json.loads(line) for line in file]
    return {profile["name"]: profile.get("variables", {}).get(name) for profile in profiles}


name, expected, found = sys.argv[1], *(values(path, sys.argv[1]) for path in sys.argv[2:4])
different = [f"{node}: {expected[node]!r}, found {found.get(node)!r}" for node in expected if expected[node] != found.get(node)]
print(f"${name} is the same on {len(expected) - len(different)} of {len(expected)} nodes")
sys.exit("\n".join(different[:10]) or 0)
