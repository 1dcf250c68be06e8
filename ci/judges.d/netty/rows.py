# SPDX-License-Identifier: Apache-2.0
"""Prints the first row of each test whose class matches the pattern of class names."""
import re
import sys

seen = set()
for line in sys.stdin:
    test = line.split("\t")[1]
    if test not in seen and re.fullmatch(sys.argv[1], "netty." + test.split(".")[0]):
        seen.add(test)
        sys.stdout.write(line)
