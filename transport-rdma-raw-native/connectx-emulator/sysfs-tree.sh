#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes the tree of files in which libibverbs finds emulated devices: it looks like /sys. The character devices' number
# is that of /dev/null, which stands for the devices' own. Usage: sysfs-tree.sh DIRECTORY COUNT
set -euo pipefail

directory="$1"
count="$2"
[ ! -d "$directory" ] || exit 0

# Two may come at once: each makes a tree of its own, and the first to rename wins.
tree="$(mktemp -d "$directory.XXXXXX")"
chmod 755 "$tree"
put() { mkdir -p "$(dirname "$tree/$1")" && printf '%s\n' "$2" >"$tree/$1"; }

put class/infiniband_verbs/abi_version 6
for ((index = 0; index < count; index++)); do
  verbs="class/infiniband_verbs/uverbs$index"
  device="class/infiniband/mlx5_$index"
  last="$(printf '%02x' $((index + 1)))"
  guid="00c5:00ff:fe00:00$last"
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
  put "$device/ports/1/pkeys/0" 0xffff
  put "$device/ports/1/link_layer" Ethernet
  put "$device/ports/1/state" "4: ACTIVE"
  put "class/net/emulated$index/address" "02:c5:00:00:00:$last"
  put "class/net/emulated$index/mtu" 1500
done
mv -T "$tree" "$directory" 2>/dev/null || rm -rf "$tree"
