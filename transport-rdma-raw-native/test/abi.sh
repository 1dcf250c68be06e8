#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Debian's own programs, built against libibverbs, run on softverbs. Usage: abi.sh LIBRARY_DIRECTORY
set -eu
directory=$1
fail() { echo "FAILED $*"; exit 1; }

installed=$(ldconfig -p | awk '/libibverbs\.so\.1 .*x86-64/ { print $NF; exit }')
if [ -n "$installed" ] && command -v readelf >/dev/null; then
    symbols() { readelf -W --dyn-syms "$1" | awk '$7 != "UND" && $8 ~ /@@IBVERBS_1/ { print $8 }' | sort -u; }
    missing=$(symbols "$installed" | while read -r s; do symbols "$directory/libibverbs.so.1" | grep -qxF "$s" || echo "$s"; done)
    # Drivers register themselves with libibverbs; there are none here.
    missing=$(echo "$missing" | grep -v ibv_register_driver || true)
    [ -z "$missing" ] || fail "symbols of $installed that are missing here: $missing"
    readelf -d "$directory/libibverbs.so.1" | grep -q 'SONAME.*libibverbs.so.1' || fail "wrong soname"
    echo "exports every versioned symbol of $installed"
fi

if command -v readelf >/dev/null; then
    # What the library promises is in docs/guide/deploying.md; a call of a function that glibc has got since ends that.
    newest=$(readelf -W --dyn-syms "$directory/libibverbs.so.1" | grep -oE 'GLIBC_2\.[0-9]+' | sort -V | tail -n 1)
    [ "$(printf '%s\nGLIBC_2.28\n' "$newest" | sort -V | tail -n 1)" = GLIBC_2.28 ] || fail "it needs $newest"
    echo "needs ${newest:-no version of glibc}"
fi

if ! command -v ibv_devinfo >/dev/null; then
    echo "skipped: ibv_devices and ibv_devinfo are not installed (Debian: ibverbs-utils)"
    exit 0
fi
devices=$(SOFTVERBS_DEVICES=loop:abi LD_LIBRARY_PATH=$directory ibv_devices)
echo "$devices" | grep -q 'loop:abi' || fail "ibv_devices does not list loop:abi: $devices"
info=$(SOFTVERBS_DEVICES=loop:abi LD_LIBRARY_PATH=$directory ibv_devinfo -v)
for expected in 'hca_id:.*loop:abi' 'MANAGED_FLOW_STEERING' 'SUPPORT_RAW_PACKET' 'PORT_ACTIVE' 'link_layer:.*Ethernet' 'GID\['; do
    echo "$info" | grep -q "$expected" || fail "ibv_devinfo -v does not show $expected"
done
echo "ibv_devices and ibv_devinfo -v run on it"
