#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes the tree of files in which libibverbs finds emulated devices: it looks like /sys. The character devices' number
# is that of /dev/null, which stands for the devices' own. Usage: sysfs-tree.sh DIRECTORY COUNT [SETUP]
# SETUP is as in setup.c: what mlx5_ib and mlx5_core of Linux show of a host that is set up so.
set -euo pipefail

directory="$1"
count="$2"
setup="+${3:-}+"
[ ! -d "$directory" ] || exit 0

# Two may come at once: each makes a tree of its own, and the first to rename wins.
tree="$(mktemp -d "$directory.XXXXXX")"
chmod 755 "$tree"
put() { mkdir -p "$(dirname "$tree/$1")" && printf '%s\n' "$2" >"$tree/$1"; }
is_set_up() { [[ "$setup" == *"+$1+"* ]]; }

is_switchdev() { is_set_up switchdev || is_set_up bluefield; }

# An interface of a device's function: its name, MAC address, dev_port, phys_port_name, and the offset of its index.
put_interface() {
  local device="$1" name="$2" mac="$3" port="$4" port_name="$5" ifindex="${6:-0}"
  put "$device/device/net/$name/dev_port" "$port"
  put "class/net/$name/dev_port" "$port"
  put "class/net/$name/phys_port_name" "$port_name"
  put "class/net/$name/address" "$mac"
  put "class/net/$name/mtu" 1500
  put "class/net/$name/ifindex" $((0x40000000 + ifindex + index))
  mkdir -p "$tree/class/net/$name/device/infiniband/$(basename "$device")"
  ! is_set_up vf || mkdir -p "$tree/class/net/$name/device/physfn"
  ! is_set_up sriov || put "class/net/$name/device/sriov_numvfs" 2
}

# The table of GIDs names the interface; mlx5_query_port_roce() leaves it empty where RoCE is off or a representor.
put_gids() {
  local device="$1" guid="$2" interface="$3"
  put "$device/ports/1/gids/0" "fe80:0000:0000:0000:$guid"
  put "$device/ports/1/gid_attrs/types/0" "IB/RoCE v1"
  put "$device/ports/1/gid_attrs/ndevs/0" "$interface"
}

put class/infiniband_verbs/abi_version 6
for ((index = 0; index < count; index++)); do
  verbs="class/infiniband_verbs/uverbs$index"
  device="class/infiniband/mlx5_$index"
  last="$(printf '%02x' $((index + 1)))"
  guid="00c5:00ff:fe00:00$last"
  own="emulated$index"
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
  driver=mlx5_core
  ! is_set_up no-tags || driver=mlx4_core
  ln -s "../../../bus/pci/drivers/$driver" "$tree/$device/device/driver"
  mkdir -p "$tree/$device/device/infiniband_verbs"
  ln -s "../../../../infiniband_verbs/uverbs$index" "$tree/$device/device/infiniband_verbs/uverbs$index"
  put "$device/device/device" 0x1017
  ports=1
  ! is_switchdev || ports=3
  for ((port = 1; port <= ports; port++)); do
    put "$device/ports/$port/pkeys/0" 0xffff
    put "$device/ports/$port/link_layer" Ethernet
    put "$device/ports/$port/state" "4: ACTIVE"
  done
  ! is_set_up switchdev || put "$device/ports/1/state" "1: DOWN"
  # Processes with the emulator read their own device's count in its place.
  if is_switchdev; then
    put "$device/hw_counters/out_of_buffer" 0
  else
    put "$device/ports/1/hw_counters/out_of_buffer" 0
  fi
  if ! is_set_up roce-off && ! is_switchdev; then
    put_gids "$device" "$guid" "$own"
  fi
  # sysfs shows an interface in its own network namespace only.
  is_set_up other-namespace || put_interface "$device" "$own" "02:c5:00:00:00:$last" 0 p0
  if is_switchdev && ! is_set_up other-namespace; then
    put_interface "$device" "emu${index}pf0vf0" "02:c5:00:00:01:$last" 0 pf0vf0 256
    ! is_set_up bluefield || put_interface "$device" "emu${index}pf0hpf" "02:c5:00:00:02:$last" 0 c1pf0 512
  fi
  ! is_set_up dual-port || put_interface "$device" "aemulated$index" "02:c5:00:00:03:$last" 1 p1
  if is_set_up split-bond; then
    put class/net/bond0/address 02:c5:00:00:04:01
    put class/net/bond0/mtu 1500
    put class/net/bond0/ifindex $((0x40001000))
    put class/net/bond0/bonding/mode "802.3ad 4"
    ln -s ../bond0 "$tree/class/net/$own/master"
  elif is_set_up bond; then
    put "class/net/bond$index/address" "02:c5:00:00:04:$last"
    put "class/net/bond$index/mtu" 9000
    put "class/net/bond$index/ifindex" $((0x40001000 + index))
    put "class/net/bond$index/bonding/mode" "802.3ad 4"
    ln -s "../bond$index" "$tree/class/net/$own/master"
  fi
done
mv -T "$tree" "$directory" 2>/dev/null || rm -rf "$tree"
