#!/usr/bin/env python3
"""Compares the turns of ./rdma-raw test --engine, and fails unless the agent carried the bytes with the same results."""
import statistics
import sys


def main(title, results_file, bytes_file, records):
    seconds = {"kernel": [], "agent": []}
    results = set()
    for line in open(results_file, encoding="utf-8"):
        kind, _, job, _, result, _, took = line.split()
        results.add(result)
        if job != "0":
            seconds[kind].append(float(took))
    carried = {"kernel": [], "agent": []}
    for line in open(bytes_file, encoding="utf-8"):
        kind, wire, kernel = line.split()
        carried[kind].append((int(wire), int(kernel)))
    print(f"| {title} | jobs | seconds, median (least to most) | received by these nodes, MB | of it by the"
          " kernel's IP, MB |\n|---|--:|--:|--:|--:|")
    for kind, name in (("kernel", "the kernel's sockets"), ("agent", "this transport, by the agent")):
        took = seconds[kind]
        wire = statistics.median(each[0] for each in carried[kind]) / 1e6
        kernel = statistics.median(each[1] for each in carried[kind]) / 1e6
        print(f"| {name} | {len(took)} | {statistics.median(took):.2f} ({min(took):.2f} to {max(took):.2f}) |"
              f" {wire:.1f} | {kernel:.1f} |")
    print(f"\nResult of every job: {', '.join(sorted(results))}; {8 * int(records):,} records of 1,000 bytes.")
    if len(results) != 1:
        print("the results differ", file=sys.stderr)
        return 1
    # Else the counters say nothing of who carried them.
    for wire, kernel in carried["kernel"]:
        if kernel < wire / 2:
            print(f"of {wire} bytes the kernel's IP counted {kernel} where it carried all", file=sys.stderr)
            return 1
    least = min(wire for wire, _ in carried["kernel"]) / 2
    for wire, kernel in carried["agent"]:
        if wire < least:
            print(f"the nodes received {wire} bytes, less than half of what the kernel brought", file=sys.stderr)
            return 1
        if kernel > wire / 10:
            print(f"of {wire} bytes the kernel carried {kernel}: they were not on the device", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
