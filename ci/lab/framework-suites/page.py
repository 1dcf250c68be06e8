#!/usr/bin/env python3
"""Makes the page of what `./rdma-raw test --frameworks` found: of each suite a table with a row for each class.

usage: page.py PAGE MEASURED [SUITE VERSIONS FOUND]...

Rows of what compare.py found replace those of the page, if there is one, and all others stay, unless the versions of
the suite have changed. MEASURED is the commit and the day of the new rows. Prints the page."""
import json
import os
import re
import sys

HEAD = """# The tests of frameworks

Made by `./rdma-raw test --frameworks --out docs/lab/frameworks.md`, do not edit. The tests that a framework publishes
of itself ran in a JVM with [the agent](../guide/agent.md) on `soft:loop`, and again without it, on the
kernel's sockets. A run replaces the rows that it measures. Leaked buffers are those that Netty reports at level
paranoid; in parentheses those on the kernel's sockets. Tests that are skipped on both are not counted.
"""
COLUMNS = ["class", "passed", "of them only when run again", "failed on both", "on this transport alone",
           "leaked buffers", "measured at"]


class Suite:
    def __init__(self):
        self.versions = ""
        self.rows = {}  # class: cells behind it
        self.remarks = {}  # class: lines


def read_page(path):
    """The suites of a page that this program has made."""
    suites, suite = {}, None
    for line in open(path, encoding="utf-8").read().splitlines() if os.path.exists(path) else []:
        remark = re.match(r"\* (`([\w$]+\.[\w$]+)[.`].*)", line)
        if line.startswith("## "):
            suite = suites.setdefault(line[3:], Suite())
        elif suite is None or not line or line.startswith("|---") or line.startswith("| class |"):
            continue
        elif line.startswith("| "):
            name, *cells = [cell.strip() for cell in line.strip("| ").split(" | ")]
            suite.rows[name] = cells
        elif remark:
            suite.remarks.setdefault(remark[2], []).append(remark[1])
        else:
            suite.versions = line
    return suites


def merge(suite, versions, found, measured):
    """Puts new rows in place of old ones, which say nothing of other versions."""
    if suite.versions != versions:
        suite.versions, suite.rows, suite.remarks = versions, {}, {}
    for row in found:
        suite.rows[row["class"]] = row["cells"] + [measured]
        suite.remarks[row["class"]] = row["remarks"]


def print_suite(name, suite):
    print(f"\n## {name}\n\n{suite.versions}\n\n| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}")
    for row in sorted(suite.rows):
        print(f"| {' | '.join([row, *suite.rows[row]])} |")
    remarks = [line for row in sorted(suite.rows) for line in suite.remarks.get(row, [])]
    if remarks:
        print("\n" + "\n".join(f"* {line}" for line in remarks))


def main():
    page, measured, *found = sys.argv[1:]
    suites = read_page(page)
    for name, versions, file in zip(found[::3], found[1::3], found[2::3]):
        with open(file, encoding="utf-8") as rows:
            merge(suites.setdefault(name, Suite()), versions, json.load(rows), measured)
    print(HEAD, end="")
    for name in sorted(suites):
        print_suite(name, suites[name])


if __name__ == "__main__":
    main()
