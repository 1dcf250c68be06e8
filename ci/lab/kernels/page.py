#!/usr/bin/env python3
"""Makes the page of what `./rdma-raw test --kernels` found: of each kernel a table with a row for each driver.

usage: page.py TABLE PAGE COMMIT DATE QEMU

Cells of the table, one a line, replace those of the page, if there is one, and all others stay. Prints the page."""
import os
import re
import sys

# As the steps are made, whichever runs found them first.
ROWS = ["tests", "veth", "virtio", "virtio-plain", "virtio-big", "virtio-mtu", "virtio-queues", "virtio-dma",
        "virtio-dma-more", "e1000e", "igb", "vmxnet3"]
COLUMNS = ["driver", "tags beside frames", "generic", "native", "zerocopy", "tap", "packet", "broker",
           "hostile clients", "rx != tx", "VLAN", "VLAN native", "bond native", "bond rates", "bond 802.3ad",
           "bond balance-xor", "busy polling", "full ring", "MTU 9000"]
MEASURED = "measured at"
LONGEST_IN_A_CELL = 60
HEAD = """# Kernels and drivers

Made by `./rdma-raw test --kernels --out docs/lab/kernels.md`, do not edit. Kernels and drivers are Debian's, cards and
processors are emulated by QEMU: this tells what works, not how fast. A run replaces the cells that it measures; the last
column has the commits and days of those in its row. Queues leased to a netkit interface (Linux 7.1) are not among them: that
wants a driver with zero copy whose queues can be taken one by one, as netdevsim is, and Debian's kernels lack netdevsim.

* **broker**: a server without capabilities serves by a device that the broker opens in mode generic.
* **hostile clients**: clients of the broker that are generated from seeds, for 30 s. Counted are pings and datagrams of
  the host that get no answer, frames of other programs that a client finds, and descriptors that stay open.
* **rx != tx**: several queue pairs send by an interface whose numbers of receive and send queues differ. Counted are
  the frames that the peer's kernel receives. They must be those that count as sent.
* **VLAN**, **VLAN native**: a server on a VLAN interface above the veth, and on the veth below it with the VLAN's tag. The
  kernel answers pings on the VLAN, on another one and without a tag.
* **bond native**, **bond 802.3ad**, **bond balance-xor**: a server by mode native on a bond of two veth pairs, the
  first in mode active-backup. Counted are requests that fail while each leg in turn loses its carrier. With a server
  by the kernel's TCP none fails.
* **bond rates**: requests per second of each mode on a bond in mode active-backup, as a part of those of the first one.
  The first one comes twice. If its rates differ, the host had other work meanwhile, and the others mean nothing.
"""


class Kernel:
    def __init__(self):
        self.release = ""
        self.cells = {}  # (row, column): (verdict, text)
        self.measured = {}  # row: commits with their days, oldest first


def in_order(names, known):
    names = list(dict.fromkeys(names))
    return [name for name in known if name in names] + [name for name in names if name not in known]


def cells_of(line):
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]


def read_page(path):
    """The kernels of a page that this program has made."""
    kernels, kernel, columns = {}, None, []
    lines = open(path).read().splitlines() if os.path.exists(path) else []
    notes = dict(re.match(r"(\d+)\. (.*)", line).groups() for line in lines if re.match(r"\d+\. ", line))
    for line in lines:
        if line.startswith("## Linux "):
            kernel, columns = kernels.setdefault(line[len("## Linux "):], Kernel()), []
        elif kernel is None:
            continue
        elif line.startswith("Release "):
            kernel.release = line
        elif line.startswith("|---"):
            continue
        elif line.startswith("| |"):
            columns = cells_of(line)[1:]
        elif line.startswith("|"):
            row, *cells = cells_of(line)
            for column, cell in zip(columns, cells):
                if column == MEASURED:
                    kernel.measured[row] = cell.split("; ")
                elif cell:
                    kernel.cells[row, column] = found_in(cell, notes)
    return kernels


def found_in(cell, notes):
    noted = re.fullmatch(r"(\w+) \[(\d+)\]", cell)
    if noted:
        return noted[1], notes[noted[2]]
    verdict, _, text = cell.partition(": ")
    return verdict, text


def cell_of(found, notes):
    """The verdict with the number of what was said, which follows the tables."""
    if found is None:
        return ""
    verdict, text = found
    if not text:
        return verdict
    if verdict == "works" and len(text) <= LONGEST_IN_A_CELL:
        return f"{verdict}: {text}".replace("|", "\\|")
    if text not in notes:
        notes.append(text)
    return f"{verdict} [{notes.index(text) + 1}]"


def merge(kernels, steps, measured, qemu):
    for name, row, column, verdict, _, text, release in steps:
        kernel = kernels.setdefault(name, Kernel())
        kernel.release = f"Release {release}, {qemu}."
        kernel.cells[row, column] = verdict, text
    for name, row in dict.fromkeys((step[0], step[1]) for step in steps):
        kernel = kernels[name]
        new = {step[2] for step in steps if step[:2] == [name, row]}
        some_are_older = any(of_row == row and column not in new for of_row, column in kernel.cells)
        before = kernel.measured.get(row, []) if some_are_older else []
        kernel.measured[row] = [entry for entry in before if entry != measured] + [measured]


def print_table(kernel, rows, notes):
    columns = in_order((column for row, column in kernel.cells if row in rows), COLUMNS)
    print(f"| | {' | '.join(columns)} | {MEASURED} |\n|---|{'---|' * len(columns)}---|")
    for row in rows:
        cells = [cell_of(kernel.cells.get((row, column)), notes) for column in columns]
        print(f"| {row} | {' | '.join(cells)} | {'; '.join(kernel.measured.get(row, []))} |")
    print()


def main():
    table, page, commit, day, qemu = sys.argv[1:]
    kernels = read_page(page)
    merge(kernels, [line.rstrip("\n").split("\t") for line in open(table)], f"{commit}, {day}", qemu)
    notes = []
    print(HEAD)
    for name in sorted(kernels, key=lambda version: [int(part) for part in version.split(".")]):
        kernel = kernels[name]
        print(f"## Linux {name}\n\n{kernel.release}\n")
        rows = in_order((row for row, _ in kernel.cells), ROWS)
        # The tests have columns of their own.
        for group in [[row for row in rows if row == "tests"], [row for row in rows if row != "tests"]]:
            if group:
                print_table(kernel, group, notes)
    print("## What was said\n")
    for number, note in enumerate(notes):
        print(f"{number + 1}. {note}")
    found = [verdict for kernel in kernels.values() for verdict, _ in kernel.cells.values()]
    print(f"\n{found.count('FAILED')} of {len(found)} steps failed.")


if __name__ == "__main__":
    main()
