# shellcheck shell=bash
# What the launcher says, all of it to stderr.

say() {
  printf '%s\n' "rdma-raw: $*" >&2
}

# Ends the launcher because of wrong arguments: one sentence that says what is wrong and what to do about it.
die() {
  say "$@"
  exit 2
}

# Ends the launcher because the command cannot be done here, with the same kind of sentence.
give_up() {
  say "$@"
  exit 1
}
