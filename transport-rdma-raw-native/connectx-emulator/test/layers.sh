#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Checks the layers of the emulator that base.h lists: each source belongs to one layer and includes the header of that
# layer and no other header of the emulator; each of these headers includes the one of the layer below.
set -eu
cd "$(dirname "$0")/.."
table=$(sed -n '/^ \* Layers, lowest first:$/,/^ \*\/$/p' base.h | sed -e '1d' -e '$d' -e 's/^ \*//')
bad=$(printf '%s\n' "$table" | awk '
  function includes(file,   line, found) {
    found = ""
    while ((getline line < file) > 0)
      if (line ~ /^#include "/) {
        split(line, part, "\"")
        if (part[2] in layer) found = found " " part[2]
      }
    close(file)
    return found
  }
  $1 ~ /\.h$/ { header = $1; layer[header] = ++layers; name[layers] = header; sub(/^ *[^ ]+ [^:]*:/, "") }
  { for (i = 1; i <= NF; i++) { if ($i in of) print $i " is in two layers"; of[$i] = header } }
  END {
    for (n = 1; n <= layers; n++) {
      below = n > 1 ? " " name[n - 1] : ""
      if (includes(name[n]) != below) print name[n] " has to include" (n > 1 ? below : " no other layer")
    }
    for (file in of)
      if (includes(file ".c") != " " of[file]) print file ".c has to include " of[file] " and no other layer"
  }')
for file in *.c; do
  printf '%s\n' "$table" | tr ' ' '\n' | grep -qx "${file%.c}" || bad="$bad
$file is in no layer of base.h"
done
if [ -n "$bad" ]; then
  printf '%s\n' "$bad" >&2
  exit 1
fi
echo "the layers of the emulator are those of base.h"
