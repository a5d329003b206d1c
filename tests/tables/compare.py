"""Reads tables with DuckDB.

    compare.py page PAGE            runs the SQL of a page in the current folder, and compares the answers there
    compare.py update PAGE          writes the answers into the page
    compare.py agree FOLDER...      compares values.parquet with values.ndjson, which `render` printed, and
                                    events.parquet with events.ndjson, which `log` printed
"""

import json
import re
import sys
from collections import Counter
from pathlib import Path

import duckdb

# A statement and its answer.
EXAMPLE = re.compile(r"(```sql\n(.*?)```\n\n```text\n)(.*?)(```\n)", re.DOTALL)


def answer(statement):
    """Returns the answer to a statement as a table of text."""
    result = duckdb.sql(statement)
    rows = [result.columns] + [["" if cell is None else str(cell) for cell in row] for row in result.fetchall()]
    widths = [max(len(row[column]) for row in rows) for column in range(len(result.columns))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
    return "".join(line + "\n" for line in lines)


def page(path, update):
    text = Path(path).read_text()
    count = 0

    def check(example):
        nonlocal count
        count += 1
        head, statement, expected, end = example.groups()
        found = answer(statement)
        if found != expected and not update:
            sys.exit(f"{statement}\nexpected:\n{expected}\nfound:\n{found}")
        return head + found + end

    text = EXAMPLE.sub(check, text)
    if update:
        Path(path).write_text(text)
    print(f"{count} answers")


def normal(value):
    """Returns a JSON value as one text for all ways to write it."""
    return json.dumps(value, ensure_ascii=False)


def read(text):
    """Reads JSON without rounding any number."""
    return json.loads(text, parse_float=lambda digits: {"float": digits})


def outcome(status, value, error):
    """Returns an outcome by three cells."""
    return (status, None if value is None else normal(read(value)), error)


def rendered(folder):
    """Returns the values that `render` printed."""
    for line in (folder / "values.ndjson").read_text().splitlines():
        node = read(line)
        for key, value in node["values"].items():
            yield (node["node"], key, "value", normal(value), None)
        for key, error in node["errors"].items():
            yield (node["node"], key, "failed", None, error)


def values(folder):
    """Returns the values of the table. `render` does not tell errors of Puppet from those of hierad."""
    columns = "node, key, CASE status WHEN 'value' THEN status ELSE 'failed' END, value, error"
    for node, key, *cells in duckdb.sql(f"SELECT {columns} FROM '{folder}/values.parquet'").fetchall():
        yield (node, key, *outcome(*cells))


def side(found):
    """Returns an outcome as `log` prints it."""
    if found is None:
        return (None, None, None)
    if "value" in found:
        return ("value", normal(found["value"]), None)
    return ("unknown" if found["unknown"] else "error", None, found["error"])


def logged(folder):
    """Returns the events that `log` printed."""
    for line in (folder / "events.ndjson").read_text().splitlines():
        report = read(line)
        commit, names = report["after"], report["node_names"]
        for change in report["changes"]:
            for part in report["node_sets"][change["nodes"]]:
                first, last = part if isinstance(part, list) else (part, part)
                for node in names[first : last + 1]:
                    said = (commit["commit"], commit["author"], commit["summary"], node, change["key"], change["kind"])
                    yield said + side(change["before"]) + side(change["after"])


def events(folder):
    columns = "commit, author, summary, node, key, kind, before_status, before, before_error, after_status, after, after_error"
    for row in duckdb.sql(f"SELECT {columns} FROM '{folder}/events.parquet'").fetchall():
        yield row[:6] + outcome(*row[6:9]) + outcome(*row[9:])


def same(folder, printed, table):
    """Fails unless both are the same rows. Returns their number."""
    printed, table = Counter(printed), Counter(table)
    if printed != table:
        one, other = list((printed - table).elements())[:3], list((table - printed).elements())[:3]
        sys.exit(f"{folder}: only printed: {one}, only in the table: {other}")
    return printed.total()


def agree(folders):
    counts = [0, 0]
    for folder in map(Path, folders):
        counts[0] += same(folder, rendered(folder), values(folder))
        counts[1] += same(folder, logged(folder), events(folder))
    print(f"{counts[0]} values, {counts[1]} events")


mode, *arguments = sys.argv[1:]
if mode == "agree":
    agree(arguments)
else:
    page(arguments[0], mode == "update")
