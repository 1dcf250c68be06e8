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
  emulate --abi "$abi" "$tests"
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
