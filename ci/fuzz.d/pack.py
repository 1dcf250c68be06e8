#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the files of a directory to a zip file whose bytes depend only on their contents."""
import hashlib
import pathlib
import sys
import zipfile

target, source = sys.argv[1], pathlib.Path(sys.argv[2])
contents = sorted({path.read_bytes() for path in source.iterdir()}, key=lambda each: hashlib.sha1(each).hexdigest())
with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
    for content in contents:
        # The default time of ZipInfo, 1980, is the same each time.
        entry = zipfile.ZipInfo(hashlib.sha1(content).hexdigest())
        archive.writestr(entry, content, zipfile.ZIP_DEFLATED)
