#!/usr/bin/env python3
"""Compares Surefire's reports of one suite on this transport with those of the same suite on the kernel's.

Prints a table in Markdown, a row for each class. Ends with 1 if a test fails on this transport alone, and no line of
the file of reasons says why it has to; and if buffers are leaked on this transport alone.
"""
import argparse
import collections
import pathlib
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


def leaks(directory):
    """Returns what Netty's leak detection has reported."""
    return sum(file.read_text(encoding="utf-8", errors="replace").count("LEAK: ")
               for file in pathlib.Path(directory).glob("*-output.txt"))


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
    ours_leaks, kernels_leaks = leaks(options.ours), leaks(options.kernels)
    print(f"\nLeaked buffers that Netty reports at level paranoid: {ours_leaks}, {kernels_leaks} on the kernel's sockets.")
    if explained or unexplained:
        print(f"\n{options.suite}, on this transport alone:\n")
    for short, test, why in explained:
        print(f"* `{short}.{test}`: {why}")
    for short, test, _ in unexplained:
        print(f"* `{short}.{test}`: **not explained**")
    if not ours:
        print(f"{options.suite}: no test has run", file=sys.stderr)
    return 1 if unexplained or not ours or ours_leaks > kernels_leaks else 0


if __name__ == "__main__":
    sys.exit(main())
