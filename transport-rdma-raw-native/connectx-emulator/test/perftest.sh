#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# perftest's raw Ethernet programs, as Debian builds them, on the emulated ConnectX. Usage: perftest.sh LIBRARY
set -euo pipefail

library="$1"
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
server_mac=02:c5:00:00:00:01
client_mac=02:c5:00:00:00:02
log="$(mktemp)"
server=
trap 'rm -f "$log"' EXIT

fail() { echo "FAILED $*"; exit 1; }
emulate() { timeout 90 "$here/../emulate.sh" --library "$library" "$@"; }

if ! command -v raw_ethernet_bw >/dev/null; then
  echo "skipped: raw_ethernet_bw and raw_ethernet_lat are not installed (Debian: perftest)"
  exit 0
fi

# Sends as fast as it can; that its frames come in again is not its matter.
report="$(emulate raw_ethernet_bw --client -d mlx5_0 -E $server_mac -B $client_mac -D 1 -s 64 -F 2>&1)" ||
  fail "raw_ethernet_bw: $report"
frames="$(awk '$1 == 64 && NF >= 5 { print $2 }' <<<"$report")"
[ "${frames:-0}" -gt 1000 ] || fail "raw_ethernet_bw sent ${frames:-no} frames: $report"
echo "raw_ethernet_bw runs on it"

# A frame goes to and fro between two processes. One that comes before the server listens is lost, and with it the run.
ping_pong() {
  local a="emulator-$$-a$1" b="emulator-$$-b$1" status=0
  : >"$log"
  emulate --wire "unix:$a:$b" stdbuf -oL raw_ethernet_lat --server -d mlx5_0 -E $client_mac -B $server_mac \
    -n 100 -s 64 -F >"$log" 2>&1 &
  server=$!
  until grep -q 'Data ex' "$log" || ! kill -0 "$server" 2>/dev/null; do :; done
  report="$(timeout 60 "$here/../emulate.sh" --library "$library" --wire "unix:$b:$a" raw_ethernet_lat --client \
    -d mlx5_0 -E $server_mac -B $client_mac -n 100 -s 64 -F 2>&1)" || status=1
  [ "$status" = 0 ] || kill "$server" 2>/dev/null || true
  wait "$server" || status=1
  return "$status"
}

for attempt in 1 2 3 4; do
  if ping_pong "$attempt"; then
    echo "raw_ethernet_lat runs on it, between two processes"
    exit 0
  fi
done
fail "raw_ethernet_lat: $report"
