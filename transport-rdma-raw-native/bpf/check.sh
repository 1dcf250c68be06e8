#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Whether softverbs/steering_programs.h is what build.py made of these sources. Their hash tells without clang; where
# the clang is here that the file was made with, they are compiled again.
set -eu
cd "$(dirname "$0")"
programs=../softverbs/steering_programs.h
recorded=$(sed -n 's/^ \* SHA-256 of the sources and of what follows: //p' "$programs")
# As hash_of() in build.py has it.
actual=$( (cat build.py place.bpf.h steer.bpf.c ../softverbs/steering_hash.h ../softverbs/steering_maps.h
  sed '1,/^ \*\/$/d' "$programs") | sha256sum | cut -d ' ' -f 1)
if [ "$recorded" != "$actual" ]; then
  echo "steering_programs.h is not made from these sources: run bpf/build.py, which wants clang" >&2
  exit 1
fi
compiler=$(sed -n 's/^ \* Compiler: //p' "$programs")
if command -v clang >/dev/null && command -v python3 >/dev/null && clang --version | grep -qF "$compiler"; then
  python3 build.py --check
else
  echo "the sources are those that the programs were made from; that $compiler makes them again was not tried"
fi
