#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The emulated ConnectX under the installed libibverbs and libmlx5, with both uverbs ABIs. Usage: check.sh LIBRARY TESTS
set -euo pipefail

library="$1"
tests="$2"
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"

emulate() { timeout 120 "$here/../emulate.sh" --library "$library" "$@"; }
fail() { echo "FAILED $*"; exit 1; }

for abi in write ioctl; do
  echo "== emulated ConnectX, $abi ABI"
  emulate --wire plug --abi "$abi" "$tests"
  emulate --abi "$abi" "$tests"
done

echo "== an emulated ConnectX in switchdev mode: its wire is the last port"
emulate --wire plug --setup switchdev "$tests" representor

for setup in vf sriov; do
  echo "== an emulated ConnectX behind an e-switch ($setup)"
  emulate --setup "$setup" "$tests" e-switch
done

echo "== two emulated ConnectX and a cable"
emulate --wire cable --wire cable "$tests" cable

if [ "$(id -u)" = 0 ] && [ -c /dev/net/tun ]; then
  echo "== emulated ConnectX on a TAP device, in a network namespace of its own"
  unshare -n "$here/../emulate.sh" --library "$library" --wire tap:cxemu0 timeout 120 "$tests"
else
  echo "skipped: a TAP device takes root and /dev/net/tun"
fi

# Each of these devices is wrong in one way, which a test must find, and say so; a test that hangs finds nothing.
echo "== emulated ConnectX that are wrong on purpose"
refusal="$(CONNECTX_EMULATOR_MUTANT=list emulate --wire plug "$tests" 2>&1 || true)"
mutants="${refusal#*is none of: none }"
[ "$mutants" != "$refusal" ] || mutants=
[ -n "$mutants" ] || fail "the emulator names no mutants"
for mutant in $mutants; do
  status=0
  verdict="$(CONNECTX_EMULATOR_MUTANT="$mutant" EMULATOR_TEST_PATIENCE_SECONDS=3 emulate --wire plug "$tests" 2>/dev/null)" ||
    status=$?
  [ "$status" = 1 ] || fail "no test found the device wrong that is $mutant (exit status $status)"
  echo "$mutant: $(grep -A1 FAILED <<<"$verdict" | tr -s ' \n' ' ')"
done

if command -v ibv_devinfo >/dev/null; then
  info="$(emulate ibv_devinfo -v)"
  for expected in 'hca_id:.*mlx5_0' 'vendor_part_id:.*4119' 'MANAGED_FLOW_STEERING' 'SUPPORT_RAW_PACKET' 'PORT_ACTIVE' \
    'link_layer:.*Ethernet' 'GID\['; do
    grep -q "$expected" <<<"$info" || fail "ibv_devinfo -v does not show $expected"
  done
  echo "ibv_devinfo -v runs on it"
else
  echo "skipped: ibv_devinfo is not installed (Debian: ibverbs-utils)"
fi

"$here/perftest.sh" "$library"
