#!/bin/sh
# Asks herd7 (of herdtools7) whether what each of these tests looks for can happen, under the memory model of C11 (rc11)
# or that of the Arm architecture: never as the code is, and with each of the faults that a test names, a sed command.
# It installs nothing. Prints a row for each; ends with 1 if one is not so, with 77 if there is no herd7.
#
#   litmus/check.sh [FILE...]
set -eu
here="$(cd "$(dirname "$0")" && pwd)"
if ! command -v "${HERD7:=herd7}" >/dev/null; then
  echo "litmus tests need herd7 of herdtools7: ./rdma-raw test --litmus unpacks it; else put it on PATH, or name it by HERD7" >&2
  exit 77
fi
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
status=0

# judge NAME FILE MODEL EXPECTED WHAT
judge() {
  answer="$("$HERD7" -model "$3" "$2" 2>"$work/errors" | sed -n 's/^Observation [^ ]* \([A-Z][a-z]*\) .*/\1/p')"
  if [ "$answer" = "$4" ]; then
    printf '%-26s %-10s %s\n' "$1" "$answer" "$5"
  else
    printf '%-26s %-10s %s: should be %s\n' "$1" "${answer:-FAILED}" "$5" "$4"
    cat "$work/errors"
    status=1
  fi
}

[ $# -gt 0 ] || set -- "$here"/*.litmus
for file in "$@"; do
  name="$(basename "$file" .litmus)"
  case "$(head -n 1 "$file")" in
    AArch64*) model=aarch64.cat ;;
    *) model=rc11.cat ;;
  esac
  sed '/^(\*/d' "$file" >"$work/plain"
  cp "$work/plain" "$work/$name.litmus"
  judge "$name" "$work/$name.litmus" "$model" Never "as the code is"
  sed -n 's/^(\* mutant: \(.*\) \*)$/\1/p' "$file" >"$work/mutants"
  [ -s "$work/mutants" ] || { echo "$name names no fault" && status=1; }
  while IFS= read -r mutant; do
    sed "$mutant" "$work/plain" >"$work/$name.litmus"
    cmp -s "$work/plain" "$work/$name.litmus" && echo "$name: the fault changes nothing: $mutant" && status=1
    judge "$name" "$work/$name.litmus" "$model" Sometimes "$mutant"
  done <"$work/mutants"
done
exit "$status"
