#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Checks that softverbs/bpf_programs.h belongs to these sources: by their hash, and, where the same version of clang
# is installed, by compiling them again.
set -eu
cd "$(dirname "$0")"
programs=../softverbs/bpf_programs.h
recorded=$(sed -n 's/^ \* SHA-256 of the sources and of what follows: //p' "$programs")
# The hash of hash_of() in build.py.
actual=$( (cat build.py classify.bpf.h parse.bpf.h programs.bpf.c ../softverbs/bpf_layout.h \
  ../softverbs/connection_hash.h ../softverbs/headers.h ../softverbs/wire_defs.h
  sed '1,/^ \*\/$/d' "$programs") | sha256sum | cut -d ' ' -f 1)
if [ "$recorded" != "$actual" ]; then
  echo "bpf_programs.h does not belong to these sources: run bpf/build.py, which needs clang" >&2
  exit 1
fi
compiler=$(sed -n 's/^ \* Compiler: //p' "$programs")
# Debian's package of the version, clang-14, has a program of that name; clang is whichever is newest there.
version=${compiler##* }
for clang in clang "clang-${version%%.*}"; do
  if command -v "$clang" python3 >/dev/null && "$clang" --version 2>/dev/null | grep -qF "$compiler"; then
    directory=$(mktemp -d)
    trap 'rm -r "$directory"' EXIT
    ln -s "$(command -v "$clang")" "$directory/clang"
    PATH="$directory:$PATH" python3 build.py --check
    echo "compiled again by $compiler: the same instructions"
    exit
  fi
done
echo "the hash of the sources is right; $compiler is not installed, so they were not compiled again"
