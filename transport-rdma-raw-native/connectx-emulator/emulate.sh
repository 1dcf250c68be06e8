#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs a program on emulated ConnectX devices, under the unmodified libibverbs and libmlx5 of the system.
#
#   emulate.sh [--wire KIND]... [--setup WORDS] [--abi ioctl|write] [--library FILE] [--preload FILE] [--]
#              PROGRAM [ARGUMENTS]
#
# Each --wire makes a device: the first is mlx5_0. KIND is loop (the default: one device, which
# receives of its own frames only what is asked for), plug (a loopback connector: everything comes back), cable (two devices with a
# cable between them: give it twice), tap:NAME (a TAP device of the kernel) or unix:A:B (the device of another
# process, which has unix:B:A). --setup says how host and card are set up: words of setup.c, with a + between.
# CONNECTX_EMULATOR_MUTANT=NAME makes the device wrong on purpose.
set -euo pipefail

here="$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd)"
library="${CONNECTX_EMULATOR_LIBRARY:-$here/../target/native/emulator/libconnectx-emulator.so}"
preload=
wires=()
setup="${CONNECTX_EMULATOR_SETUP:-}"
abi="${CONNECTX_EMULATOR_ABI:-ioctl}"

die() { echo "emulate.sh: $*" >&2; exit 2; }

while [ $# -gt 0 ]; do
  case "$1" in
    --wire) wires+=("${2:?--wire needs a kind}") && shift 2 ;;
    --setup) setup="${2:?--setup needs words}" && shift 2 ;;
    --abi) abi="${2:?--abi needs ioctl or write}" && shift 2 ;;
    --preload) preload="${2:?--preload needs a file}" && shift 2 ;;
    --library) library="${2:?--library needs a file}" && shift 2 ;;
    --) shift && break ;;
    -*) die "unknown option '$1'" ;;
    *) break ;;
  esac
done
[ $# -gt 0 ] || die "which program?"
# setup.c refuses them too, but not before the first process asks for a device.
known=" $(sed -n '/ known\[\] =/,/;/p' "$here/setup.c" | grep -o '"[a-z0-9-]*"' | tr -d '"' | tr '\n' ' ')"
for word in ${setup//+/ }; do
  [[ "$known" == *" $word "* ]] || die "no setup '$word'; there are$known"
done
[ -r "$library" ] || die "$library is not there; build it: make -C transport-rdma-raw-native all"
[ "${#wires[@]}" -gt 0 ] || wires=(loop)

tree="$(dirname "$library")/sysfs-${#wires[@]}${setup:+-$setup}"
"$here/sysfs-tree.sh" "$tree" "${#wires[@]}" "$setup"

export SYSFS_PATH="$tree" CONNECTX_EMULATOR_ABI="$abi" CONNECTX_EMULATOR_SETUP="$setup"
CONNECTX_EMULATOR_WIRES="$(IFS=,; echo "${wires[*]}")"
export CONNECTX_EMULATOR_WIRES
# What else is preloaded comes first: the runtime of a sanitizer has to.
export LD_PRELOAD="${preload:+$preload:}$library${LD_PRELOAD:+:$LD_PRELOAD}"
exec "$@"
