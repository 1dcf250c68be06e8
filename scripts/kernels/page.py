#!/usr/bin/env python3
"""Makes tables of what `./rdma-raw test --kernels` found: of each kernel one, with a row for each driver."""
import sys


def cell_of(found, notes):
    """The verdict with the number of what was said, which follows the table."""
    if found is None:
        return ""
    verdict, text = found
    if not text:
        return verdict
    if verdict == "works":
        return f"{verdict}: {text}".replace("|", "\\|")
    if text not in notes:
        notes.append(text)
    return f"{verdict} [{notes.index(text) + 1}]"


def main():
    steps = [line.rstrip("\n").split("\t") for line in open(sys.argv[1])]
    notes = []
    for kernel in dict.fromkeys(step[0] for step in steps):
        of_kernel = [step for step in steps if step[0] == kernel]
        rows = list(dict.fromkeys(step[1] for step in of_kernel))
        columns = list(dict.fromkeys(step[2] for step in of_kernel))
        found = {(step[1], step[2]): (step[3], step[5]) for step in of_kernel}
        print(f"## Linux {kernel}\n\n| | {' | '.join(columns)} |\n|---|{'---|' * len(columns)}")
        for row in rows:
            print(f"| {row} | {' | '.join(cell_of(found.get((row, column)), notes) for column in columns)} |")
        print()
    for number, note in enumerate(notes):
        print(f"{number + 1}. {note}")


if __name__ == "__main__":
    main()
