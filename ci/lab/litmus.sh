# shellcheck shell=bash
# ./rdma-raw test --litmus: the litmus tests by herd7, which only Debian sid has. Another Debian or
# Ubuntu unpacks it below target/litmus with the C library that it wants. A herd7 on PATH, or named by HERD7, goes first.

run_litmus_tests() {
  [ $# -eq 0 ] || die "test --litmus takes no argument, not '$1'"
  if [ -z "${HERD7:-}" ] && ! command -v herd7 >/dev/null; then
    command -v dpkg-deb >/dev/null || give_up "the litmus tests need herd7 of herdtools7: put it on PATH, or name it by HERD7"
    unpack_of_suite herd7 sid "$ROOT/target/litmus/herdtools7" with-dependencies herdtools7
    HERD7="$ROOT/target/litmus/herd7"
    write_herd7 "$ROOT/target/litmus/herdtools7/root" >"$HERD7"
    chmod +x "$HERD7"
    export HERD7
  fi
  make -s -C "$ROOT/transport-rdma-raw-native" litmus
}

# A program that runs the unpacked herd7 with its own C library and its own memory models.
write_herd7() {
  local libraries
  libraries="$1/usr/lib/$(uname -m)-linux-gnu"
  printf '#!/bin/sh\nexec %q --library-path %q %q -set-libdir %q "$@"\n' "$(find "$libraries" -name 'ld-linux-*' -print -quit)" \
    "$libraries" "$1/usr/bin/herd7" "$1/usr/share/herdtools7/herd"
}
