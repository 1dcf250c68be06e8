#!/usr/bin/env python3
"""Compares Surefire's reports of one suite on this transport with those of the same suite on the kernel's.

Prints a table in Markdown, a row for each class. Ends with 1 if a test fails on this transport alone, and no line of
the file of reasons says why it has to; and if more buffers are leaked on this transport than on the kernel's, apart
from those that the framework is known to lose.
"""
import argparse
import collections
import pathlib
import re
import sys
import xml.etree.ElementTree


def read(directory):
    """Returns for each class its tests, and whether each passed, at once or late, failed or was skipped."""
    classes = collections.defaultdict(dict)
    for file in sorted(pathlib.Path(directory).glob("TEST-*.xml")):
        for case in xml.etree.ElementTree.parse(file).getroot().iter("testcase"):
            if case.find("skipped") is not None:
                verdict = "skipped"
            elif case.find("failure") is not None or case.find("error") is not None:
                verdict = "failed"
            elif case.find("flakyFailure") is not None or case.find("flakyError") is not None:
                verdict = "late"
            else:
                verdict = "passed"
            classes[case.get("classname")][case.get("name")] = verdict
    return classes


def read_reasons(file):
    """Reads lines of the form "Class.test: why it cannot pass on another transport than the kernel's"."""
    reasons = {}
    for line in pathlib.Path(file).read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            name, _, why = line.partition(": ")
            reasons[name] = why
    return reasons


def leaks(directory, reasons):
    """Counts what Netty's leak detection has reported, by the handler or method that the framework loses it in, or None."""
    found = collections.Counter()
    for file in pathlib.Path(directory).glob("*-output.txt"):
        for report in file.read_text(encoding="utf-8", errors="replace").split("LEAK: ")[1:]:
            # The newest record comes first: where the buffer was seen last.
            last = re.match(r"[^\n]*\n[^\n]*\n#1:\s*(?:Hint: '([^']*)' will handle|[\w.$/]*?([\w$]+\.\w+)\()", report)
            name = last and (last[1] or last[2])
            found[name if f"LEAK.{name}" in reasons else None] += 1
    return found


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("suite")
    arguments.add_argument("ours", help="the directory of the reports on this transport")
    arguments.add_argument("kernels", help="the directory of the reports on the kernel's")
    arguments.add_argument("reasons", help="the file that says which tests cannot pass, and why")
    options = arguments.parse_args()
    ours, kernels = read(options.ours), read(options.kernels)
    reasons = read_reasons(options.reasons)
    unexplained, explained = [], []
    print(f"\n| {options.suite} | passed | only when run again | failed on both | on this transport alone |")
    print("|---|---|---|---|---|")
    for name, tests in sorted(ours.items()):
        short = name.rsplit(".", 1)[-1]
        failed = {test for test, verdict in tests.items() if verdict == "failed"}
        both = {test for test in failed if kernels.get(name, {}).get(test) not in ("passed", "late")}
        alone = sorted(failed - both)
        for test in alone:
            why = reasons.get(f"{short}.{test}") or reasons.get(f"{short}.*")
            (explained if why else unexplained).append((short, test, why))
        late = sum(verdict == "late" for verdict in tests.values())
        passed = sum(verdict == "passed" for verdict in tests.values()) + late
        ran = sum(verdict != "skipped" for verdict in tests.values())
        if ran:
            print(f"| {short} | {passed} of {ran} | {late} | {len(both)} | {len(alone)} |")
    ours_leaks, kernels_leaks = leaks(options.ours, reasons), leaks(options.kernels, reasons)
    # A method that takes what was received could lose a buffer of this transport alone, which no reason excuses.
    for name in [name for name in ours_leaks if name and "." in name and not kernels_leaks[name]]:
        ours_leaks[None] += ours_leaks.pop(name)
    print(f"\nLeaked buffers that Netty reports at level paranoid: {ours_leaks[None]},"
          f" {kernels_leaks[None]} on the kernel's sockets.")
    for handler in sorted((ours_leaks | kernels_leaks).keys() - {None}):
        print(f"Besides, {options.suite}'s own handler `{handler}` lost {ours_leaks[handler]},"
              f" {kernels_leaks[handler]} on the kernel's sockets: {reasons['LEAK.' + handler]}.")
    if explained or unexplained:
        print(f"\n{options.suite}, on this transport alone:\n")
    for short, test, why in explained:
        print(f"* `{short}.{test}`: {why}")
    for short, test, _ in unexplained:
        print(f"* `{short}.{test}`: **not explained**")
    if not ours:
        print(f"{options.suite}: no test has run", file=sys.stderr)
    return 1 if unexplained or not ours or ours_leaks[None] > kernels_leaks[None] else 0


if __name__ == "__main__":
    sys.exit(main())
