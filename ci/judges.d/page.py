# SPDX-License-Identifier: Apache-2.0
"""Writes the results of a suite to its part of docs/lab/judges.md, and the totals of all suites to README.md. Ends with
status 1 if the results are red.

The results have a row for each test: run, test, outcome (passed, failed or skipped) and reason. The file of reasons
has a row for each known failure: run, test (both may have wildcards), "policy", "not applicable" or "open", and the
reason. An open failure is a difference without an explanation.
Results are red if a test fails without a row there, if the page says "passed" for a test that has not passed, or if a
row of the reasons matches no failure. Red results are not written unless --accept is given.
"""
import argparse
import collections
import datetime
import fnmatch
import re
import subprocess
import sys

README = re.compile(r"<!-- ci/judges -->.*?<!-- end -->")
SUITE = re.compile(r"<!-- (\S+): written by ci/judges \1 -->\n(.*?)<!-- end of \1 -->", re.DOTALL)
RUN = re.compile(r"^\| \S+ \| (\d+) \| (\d+) \| [\d |]+$", re.MULTILINE)
ROW = re.compile(r"^\| (\S+) \| (\S+) \| (passed|failed|open|not applicable) \|", re.MULTILINE)
PLANTED = re.compile(r"^\* Planted in the (\w+): .*$", re.MULTILINE)


def read_table(path, columns):
    with open(path, encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file if line.strip() and not line.startswith("#")]
    for row in rows:
        if len(row) != columns:
            sys.exit(f"{path}: a row needs {columns} columns, and this one has {len(row)}: {row}")
    return rows


def explain(results, reasons):
    """Results with the reasons of known failures, and the reasons that no failure needs."""
    used = set()
    explained = []
    for run, test, outcome, reason in results:
        kind = outcome
        if outcome == "failed":
            for i, (run_pattern, test_pattern, known_kind, known_reason) in enumerate(reasons):
                if fnmatch.fnmatchcase(run, run_pattern) and fnmatch.fnmatchcase(test, test_pattern):
                    used.add(i)
                    kind, reason = known_kind, known_reason
                    break
            else:
                kind = "unexplained"
        explained.append((run, test, kind, reason))
    unused = [row for i, row in enumerate(reasons) if i not in used]
    return explained, unused


def commit_name():
    """The short name of HEAD. Changes of the page itself do not count."""
    name = subprocess.run(["git", "rev-parse", "--short", "HEAD"], check=True, capture_output=True, text=True)
    changed = subprocess.run(["git", "status", "--porcelain", "--", ":/", ":!/docs/lab"], check=True, capture_output=True)
    return name.stdout.strip() + (" with changes" if changed.stdout else "")


def part_of(page, suite):
    found = re.search(f"<!-- {suite}: written by ci/judges {suite} -->\n(.*?)<!-- end of {suite} -->", page, re.DOTALL)
    if found is None:
        sys.exit(f"the page has no part for {suite}: it needs the comments that begin and end it")
    return found


def problems(explained, unused, part, planted):
    outcome = {(run, test): kind for run, test, kind, _ in explained}
    red = [f"{run} {test}: {reason}" for run, test, kind, reason in explained if kind == "unexplained"]
    for run, test, kind in ROW.findall(part):
        now = outcome.get((run, test), "not run")
        if kind == "passed" and now not in ("passed", "unexplained"):
            red.append(f"{run} {test}: passed according to the page, now {now}")
    # A planted run may leave out tests, and with them the need for reasons.
    red += [] if planted else [f"the reason for {run} {test} explains no failure: remove it" for run, test, _, _ in unused]
    return red


def cell(text):
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")


def write_part(explained, version, planted, commit):
    runs = list(dict.fromkeys(run for run, *_ in explained))
    today = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    lines = [f"Version: {version}. Run on {today} at {commit}.", "",
             "| Run | Passed | Applicable | Differs by policy | Open | Not applicable | Skipped by the suite |",
             "|---|---|---|---|---|---|---|"]
    for run in runs:
        count = collections.Counter(kind for of, _, kind, _ in explained if of == run)
        applicable = count["passed"] + count["policy"] + count["open"] + count["unexplained"]
        lines.append(f"| {run} | {count['passed']} | {applicable} | {count['policy']} | {count['open']} | "
                     f"{count['not applicable']} | {count['skipped']} |")
    lines += ["", *(planted or ["* No fault has been planted yet."]), "", "| Run | Test | Result | Reason |", "|---|---|---|---|"]
    names = {"passed": "passed", "policy": "failed", "unexplained": "failed", "open": "open", "not applicable": "not applicable"}
    for run, test, kind, reason in sorted(explained, key=lambda row: (runs.index(row[0]), row[1])):
        if kind != "skipped":
            lines.append(f"| {run} | {test} | {names[kind]} | {cell(reason)} |")
    skipped = collections.defaultdict(list)
    for run, test, kind, reason in explained:
        if kind == "skipped":
            skipped[(run, reason)].append(test)
    if skipped:
        lines += ["", "Tests that the suite skips, by its own reason:", "", "| Run | Reason | Tests |", "|---|---|---|"]
        for (run, reason), tests in sorted(skipped.items(), key=lambda item: (runs.index(item[0][0]), item[0][1])):
            files = collections.Counter(test.split(".")[0] for test in tests)
            lines.append(f"| {run} | {cell(reason)} | " +
                         ", ".join(f"{file} {count}" for file, count in sorted(files.items())) + " |")
    return "\n".join(lines) + "\n"


def summary(page):
    """One sentence part with the totals of all suites of the page: "pyverbs 77 of 77, packetdrill 67 of 164"."""
    totals = []
    for suite, part in SUITE.findall(page):
        counts = [(int(passed), int(applicable)) for passed, applicable in RUN.findall(part)]
        totals.append(f"{suite} {sum(passed for passed, _ in counts)} of {sum(applicable for _, applicable in counts)}")
    return ", ".join(totals)


def write_readme(path, page):
    with open(path, encoding="utf-8") as file:
        readme = file.read()
    changed, found = README.subn(f"<!-- ci/judges -->{summary(page)}<!-- end -->", readme)
    if found != 1:
        sys.exit(f"{path} needs one line with the comments of ci/judges")
    if changed != readme:
        with open(path, "w", encoding="utf-8") as file:
            file.write(changed)


def main():
    parser = argparse.ArgumentParser()
    for option in ("--suite", "--results", "--reasons", "--page", "--version"):
        parser.add_argument(option, required=True)
    parser.add_argument("--readme", required=True)
    parser.add_argument("--planted", choices=["product", "harness"])
    parser.add_argument("--fault", default="")
    parser.add_argument("--accept", action="store_true")
    options = parser.parse_args()
    with open(options.page, encoding="utf-8") as file:
        page = file.read()
    part = part_of(page, options.suite)
    explained, unused = explain(read_table(options.results, 4), read_table(options.reasons, 4))
    red = problems(explained, unused, part.group(1), options.planted)
    commit = commit_name()
    planted = {where: line.group(0) for line in PLANTED.finditer(part.group(1)) for where in [line.group(1)]}
    for line in red:
        print("red: " + line)
    if options.planted:
        if not red:
            sys.exit(f"the fault planted in the {options.planted} turned no test red")
        # Which tests a fault turns red is a fact of this run; the results of the tests stay as they are.
        planted[options.planted] = (f"* Planted in the {options.planted}: {options.fault}. "
                                    f"{len(red)} tests turned red ({commit}).")
        text = PLANTED.sub("", part.group(1))
        text = re.sub(r"\n\n(\* No fault has been planted yet\.)?\n*(?=\n\| Run \| Test)",
                      "\n\n" + "\n".join(planted[where] for where in sorted(planted)) + "\n", text)
    elif red and not options.accept:
        sys.exit(f"{len(red)} red: the page is left as it is")
    else:
        text = write_part(explained, options.version, [planted[where] for where in sorted(planted)], commit)
    page = page[:part.start(1)] + text + page[part.end(1):]
    with open(options.page, "w", encoding="utf-8") as file:
        file.write(page)
    write_readme(options.readme, page)
    count = collections.Counter(kind for _, _, kind, _ in explained)
    print(f"{options.suite}: {count['passed']} passed, {count['policy']} differ by policy, "
          f"{count['open']} open, {count['not applicable']} not applicable, {count['skipped']} skipped, {count['unexplained']} unexplained")
    sys.exit(1 if red else 0)


if __name__ == "__main__":
    main()
