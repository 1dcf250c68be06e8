#!/usr/bin/env python3
"""Compares Surefire's reports of one suite on this transport with those of the same suite on the kernel's.

Prints JSON for page.py: a row for each class, and remarks on it. Ends with 1 if a test fails on this transport alone,
and no line of the file of reasons says why it has to; and if more buffers are leaked on this transport than on the
kernel's, apart from those that the framework is known to lose.
"""
import argparse
import collections
import json
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
    """Counts what Netty's leak detection has reported of each class, by the handler or method that the framework is
    known to lose it in, or None."""
    found = collections.defaultdict(collections.Counter)
    for file in pathlib.Path(directory).glob("*-output.txt"):
        for report in file.read_text(encoding="utf-8", errors="replace").split("LEAK: ")[1:]:
            # The newest record comes first: where the buffer was seen last.
            last = re.match(r"[^\n]*\n[^\n]*\n#1:\s*(?:Hint: '([^']*)' will handle|[\w.$/]*?([\w$]+\.\w+)\()", report)
            name = last and (last[1] or last[2])
            found[file.name.removesuffix("-output.txt")][name if f"LEAK.{name}" in reasons else None] += 1
    return found


def of_suite(found):
    """Adds up what the classes have lost."""
    return sum(found.values(), collections.Counter())


def row_name(class_name):
    """A class with its last package: some classes of different packages share a name."""
    return ".".join(class_name.split(".")[-2:])


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("ours", help="the directory of the reports on this transport")
    arguments.add_argument("kernels", help="the directory of the reports on the kernel's")
    arguments.add_argument("reasons", help="the file that says which tests cannot pass, and why")
    options = arguments.parse_args()
    ours, kernels = read(options.ours), read(options.kernels)
    reasons = read_reasons(options.reasons)
    ours_leaks, kernels_leaks = leaks(options.ours, reasons), leaks(options.kernels, reasons)
    # A method that takes what was received could lose a buffer of this transport alone, which no reason excuses.
    for name in [name for name in of_suite(ours_leaks) if name and "." in name and not of_suite(kernels_leaks)[name]]:
        for lost in ours_leaks.values():
            lost[None] += lost.pop(name, 0)
    rows, is_explained = [], bool(ours)
    for class_name, tests in sorted((kernels | ours).items()):
        if class_name not in ours:
            tests = {}
            is_explained = False
            rows.append({"class": row_name(class_name), "remarks": [f"`{row_name(class_name)}` **did not end on this"
                         " transport**"], "cells": ["none", "0", "0", "all", "-"]})
        elsewhere = kernels.get(class_name, {})
        # What is skipped here alone is not shown to work.
        skipped = {test for test, verdict in tests.items() if verdict == "skipped"}
        skipped -= {test for test in skipped if elsewhere.get(test) in ("passed", "late", "failed")}
        ran = len(tests) - len(skipped)
        if not ran:
            continue
        short, name, remarks = class_name.rsplit(".", 1)[-1], row_name(class_name), []
        failed = {test for test, verdict in tests.items() if verdict in ("failed", "skipped")} - skipped
        # One that has not run there has not failed there.
        both = {test for test in failed if elsewhere.get(test) == "failed"}
        for test in sorted(failed - both):
            why = reasons.get(f"{short}.{test}") or reasons.get(f"{short}.*")
            is_explained = is_explained and bool(why)
            remarks.append(f"`{name}.{test}` fails on this transport alone: {why or '**not explained**'}")
        lost, kernels_lost = ours_leaks[class_name], kernels_leaks[class_name]
        for place in sorted((lost | kernels_lost).keys() - {None}):
            remarks.append(f"`{name}`: the framework's own `{place}` lost {lost[place]} buffers, {kernels_lost[place]} on"
                           f" the kernel's sockets: {reasons['LEAK.' + place]}")
        late = sum(verdict == "late" for verdict in tests.values())
        passed = sum(verdict == "passed" for verdict in tests.values()) + late
        rows.append({"class": name, "remarks": remarks, "cells": [
            f"{passed} of {ran}", str(late), str(len(both)), str(len(failed - both)),
            f"{lost[None]} ({kernels_lost[None]})"]})
    json.dump(rows, sys.stdout)
    if not rows:
        print("no test has run", file=sys.stderr)
    return 0 if is_explained and of_suite(ours_leaks)[None] <= of_suite(kernels_leaks)[None] else 1


if __name__ == "__main__":
    sys.exit(main())
