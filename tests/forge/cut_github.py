#!/usr/bin/env python3
"""Cuts GitHub's OpenAPI description down to the operations that hierad uses, for the server of the tests.

    npm pack @octokit/openapi && tar xzf octokit-openapi-*.tgz
    tests/forge/cut_github.py package/generated/api.github.com.deref.json > tests/forge/github.json

Source: https://github.com/octokit/openapi, MIT licence. Descriptions are left out, and of the answers only those that
have a body are kept, each with an example."""

import json
import sys

OPERATIONS = [
    ("get", "/repos/{owner}/{repo}/pulls"),
    ("get", "/repos/{owner}/{repo}/pulls/{pull_number}"),
    ("get", "/repos/{owner}/{repo}/issues/{issue_number}/comments"),
    ("post", "/repos/{owner}/{repo}/issues/{issue_number}/comments"),
    ("patch", "/repos/{owner}/{repo}/issues/comments/{comment_id}"),
    ("delete", "/repos/{owner}/{repo}/issues/comments/{comment_id}"),
    ("post", "/repos/{owner}/{repo}/check-runs"),
    ("patch", "/repos/{owner}/{repo}/check-runs/{check_run_id}"),
    ("get", "/repos/{owner}/{repo}/commits/{ref}/check-runs"),
    ("post", "/repos/{owner}/{repo}/statuses/{sha}"),
]
KEPT = {"type", "properties", "required", "items", "enum", "nullable", "oneOf", "anyOf", "allOf", "maxLength", "maxItems",
        "minItems", "maximum", "minimum", "additionalProperties"}


def cut(schema):
    if not isinstance(schema, dict):
        return schema
    kept = {}
    for name, value in schema.items():
        if name not in KEPT:
            continue
        if name == "properties":
            kept[name] = {key: cut(inner) for key, inner in value.items()}
        elif name in ("oneOf", "anyOf", "allOf"):
            kept[name] = [cut(inner) for inner in value]
        else:
            kept[name] = cut(value)
    return kept


def main():
    whole = json.load(open(sys.argv[1]))
    operations = []
    for method, path in OPERATIONS:
        found = whole["paths"][path][method]
        operation = {"method": method.upper(), "path": path, "id": found["operationId"], "parameters": [], "answers": {}}
        for parameter in found["parameters"]:
            parameter = {key: parameter[key] for key in ("name", "in", "schema")}
            operation["parameters"].append(parameter | {"schema": cut(parameter["schema"])})
        if "requestBody" in found:
            operation["body"] = cut(found["requestBody"]["content"]["application/json"]["schema"])
        for status, answer in found["responses"].items():
            if not status.startswith("2"):
                continue
            operation["answers"][status] = None
            if "content" in answer:
                content = answer["content"]["application/json"]
                example = next(iter(content["examples"].values()))["value"]
                for part in example if isinstance(example, list) else [example]:
                    # GitHub's examples of teams are not as its schema says.
                    if "requested_teams" in part:
                        part["requested_teams"] = []
                operation["answers"][status] = {"schema": cut(content["schema"]), "example": example}
        operations.append(operation)
    info = whole["info"]
    source = {"package": "@octokit/openapi", "version": info["version"], "license": info["license"]["name"]}
    json.dump({"source": source, "operations": operations}, sys.stdout, separators=(",", ":"), ensure_ascii=False)
    print()


main()
