# shellcheck shell=bash
# What the launcher says, all of it to stderr.

say() {
  printf '%s\n' "rdma-raw: $*" >&2
}

# Ends the launcher: one sentence that says what is wrong and what to do about it.
die() {
  say "$@"
  exit 2
}
