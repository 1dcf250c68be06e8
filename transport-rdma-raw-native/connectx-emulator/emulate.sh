#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs a program on emulated ConnectX devices, under the unmodified libibverbs and libmlx5 of the system.
#
#   emulate.sh [--wire KIND]... [--abi ioctl|write] [--library FILE] [--] PROGRAM [ARGUMENTS]
#
# Each --wire makes a device: the first is mlx5_0. KIND is loop (the default: one device), cable (two devices with a cable
# between them: give it twice) or tap:NAME (a TAP device of the kernel). CONNECTX_EMULATOR_MUTANT=NAME makes the device
# wrong on purpose.
set -euo pipefail

here="$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd)"
library="${CONNECTX_EMULATOR_LIBRARY:-$here/../target/native/emulator/libconnectx-emulator.so}"
wires=()
abi="${CONNECTX_EMULATOR_ABI:-ioctl}"

die() { echo "emulate.sh: $*" >&2; exit 2; }

while [ $# -gt 0 ]; do
  case "$1" in
    --wire) wires+=("${2:?--wire needs a kind}") && shift 2 ;;
    --abi) abi="${2:?--abi needs ioctl or write}" && shift 2 ;;
    --library) library="${2:?--library needs a file}" && shift 2 ;;
    --) shift && break ;;
    -*) die "unknown option '$1'" ;;
    *) break ;;
  esac
done
[ $# -gt 0 ] || die "which program?"
[ -r "$library" ] || die "$library is not there; build it: make -C transport-rdma-raw-native all"
[ "${#wires[@]}" -gt 0 ] || wires=(loop)

# libibverbs reads what devices there are from a tree of files that looks like /sys. It depends on their number alone, so it
# is made once, beside the library. The character device's number is that of /dev/null, which stands for the devices' own.
make_tree() {
  local tree="$1" index verbs device guid
  put() { mkdir -p "$(dirname "$tree/$1")" && printf '%s\n' "$2" >"$tree/$1"; }
  put class/infiniband_verbs/abi_version 6
  for index in "${!wires[@]}"; do
    verbs="class/infiniband_verbs/uverbs$index"
    device="class/infiniband/mlx5_$index"
    guid="00c5:00ff:fe00:00$(printf '%02x' $((index + 1)))"
    put "$verbs/dev" 1:3
    put "$verbs/ibdev" "mlx5_$index"
    put "$verbs/abi_version" 1
    put "$device/node_type" "1: CA"
    put "$device/node_guid" "$guid"
    put "$device/sys_image_guid" "$guid"
    put "$device/fw_ver" 16.35.2000
    put "$device/hca_type" MT4119
    put "$device/board_id" EMULATED0001
    put "$device/device/modalias" "pci:v000015B3d00001017sv000015B3sd00000000bc02sc00i00"
    put "$device/device/vendor" 0x15b3
    put "$device/device/device" 0x1017
    put "$device/ports/1/gids/0" "fe80:0000:0000:0000:$guid"
    put "$device/ports/1/gid_attrs/types/0" "IB/RoCE v1"
    put "$device/ports/1/gid_attrs/ndevs/0" "emulated$index"
    put "class/net/emulated$index/address" "02:c5:00:00:00:$(printf '%02x' $((index + 1)))"
    put "class/net/emulated$index/mtu" 1500
    put "$device/ports/1/pkeys/0" 0xffff
    put "$device/ports/1/link_layer" Ethernet
    put "$device/ports/1/state" "4: ACTIVE"
  done
}

tree="$(dirname "$library")/sysfs-${#wires[@]}"
if [ ! -d "$tree" ]; then
  # Two launchers may come at once: each makes its own, and the first to rename wins.
  fresh="$(mktemp -d "$tree.XXXXXX")"
  chmod 755 "$fresh"
  make_tree "$fresh"
  mv -T "$fresh" "$tree" 2>/dev/null || rm -rf "$fresh"
fi

export SYSFS_PATH="$tree" CONNECTX_EMULATOR_ABI="$abi"
CONNECTX_EMULATOR_WIRES="$(IFS=,; echo "${wires[*]}")"
export CONNECTX_EMULATOR_WIRES
export LD_PRELOAD="$library${LD_PRELOAD:+:$LD_PRELOAD}"
exec "$@"
