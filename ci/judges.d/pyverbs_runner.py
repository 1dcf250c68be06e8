# SPDX-License-Identifier: Apache-2.0
"""Runs rdma-core's tests, one process for each file, and appends a row for each test to a table of results.

A row is: run, test, outcome (passed, failed or skipped) and reason, separated by tabs. If a process ends before its
tests do, each of its tests runs in a process of its own. A test that ends its process has failed.
"""
import argparse
import os
import re
import signal
import subprocess
import sys

TIMEOUT_SECONDS = 300
# "test_name (tests.test_file.Class.test_name) ... outcome". Lines of the test itself may stand before the outcome.
START = re.compile(r"^(\w+) \(tests\.([\w.]+)\)", re.MULTILINE)
OUTCOME = re.compile(r"\.\.\. (?:.*\n)*?(ok|FAIL|ERROR|skipped ['\"].*['\"]|expected failure)$", re.MULTILINE)


def run(options, names):
    command = [sys.executable, os.path.join(options.tests, "run_tests.py"), "-v", "--dev", options.device, *names]
    try:
        done = subprocess.run(command, cwd=os.path.dirname(options.tests), timeout=TIMEOUT_SECONDS,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        return done.stdout, done.returncode
    except subprocess.TimeoutExpired as late:
        return (late.stdout or b"").decode(errors="replace"), "timeout"


def tests_by_file(options):
    """The names of all tests, as the suite lists them."""
    output, _ = run(options, ["--list-tests"])
    files = {}
    for name in re.findall(r"^tests\.((\w+)\.\w+\.\w+)$", output, re.MULTILINE):
        files.setdefault(name[1], []).append(name[0])
    return files


def messages(output):
    """The last line of each failure's traceback, by test."""
    found = {}
    for block in re.split(r"^={70}\n", output, flags=re.MULTILINE)[1:]:
        head = re.match(r"(?:FAIL|ERROR): \w+ \(tests\.([\w.]+)\)", block)
        text = block.split("\n-" + "-" * 60, 1)[0] if head is None else block
        lines = [line for line in text.splitlines() if line and not line.startswith((" ", "-", "Ran ", "FAILED"))]
        if head is not None:
            found[head.group(1)] = lines[-1].strip()
    return found


def outcomes(output):
    """The outcome of each test that the output names, in order."""
    starts = list(START.finditer(output.split("\n======", 1)[0]))
    reasons = messages(output)
    found = {}
    for i, start in enumerate(starts):
        end = starts[i + 1].start() if i + 1 < len(starts) else len(output)
        outcome = OUTCOME.search(output, start.end(), end)
        if outcome is None:
            continue
        word = outcome.group(1)
        test = start.group(2)
        if word in ("ok", "expected failure"):
            found[test] = ("passed", "")
        elif word.startswith("skipped"):
            found[test] = ("skipped", word[9:-1])
        else:
            found[test] = ("failed", reasons.get(test, "no message"))
    return found


def ended_by(code):
    if code == "timeout":
        return f"did not end within {TIMEOUT_SECONDS} s"
    return "the process ended by " + (signal.Signals(-code).name if code < 0 else f"exit code {code}")


def run_file(options, file, tests):
    output, code = run(options, [file])
    log = output
    found = outcomes(output)
    if not set(tests) <= set(found) or code not in (0, 1):
        for test in tests:
            output, code = run(options, [test])
            log += output
            own = outcomes(output).get(test)
            # A crash after the outcome counts: it belongs to this test.
            found[test] = own if own is not None and code in (0, 1) else ("failed", ended_by(code))
    with open(os.path.join(options.log, options.run, file + ".log"), "w") as out:
        out.write(log)
    return [(test, *found[test]) for test in tests]


def main():
    parser = argparse.ArgumentParser()
    for option in ("--tests", "--log", "--results", "--run", "--device"):
        parser.add_argument(option, required=True)
    options = parser.parse_args()
    os.makedirs(os.path.join(options.log, options.run), exist_ok=True)
    files = tests_by_file(options)
    if not files:
        sys.exit("the suite lists no test; run it by hand: " + run(options, ["--list-tests"])[0][-2000:])
    with open(options.results, "a") as results:
        for file, tests in sorted(files.items()):
            for row in run_file(options, file, tests):
                results.write("\t".join((options.run, *row)) + "\n")


if __name__ == "__main__":
    main()
