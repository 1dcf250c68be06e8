# shellcheck shell=bash
# Variables of the run are set by kernel-machine.sh and kernels.sh.
# shellcheck disable=SC2154
# What `./rdma-raw test --kernels` asks of a kernel. Each function is a step: it ends with 0 if what it says is so, with 3
# if a device was refused, with the sentence behind "@@".

# How much goes each way in a step.
readonly KERNEL_BYTES=3000000
# Tests in C that ask something of the kernel, by parts of their names. The verifier takes seconds for each device here,
# so all tests would take hours.
readonly KERNEL_C_TESTS=("netlink:" "link: the state" "guard:" "wire: frames" "wire: errors" "wire: missing permissions"
  "wire: removing" "watch: a single sleeper" "xdp mode:" "xdp: the mode" "xdp: the loopback" "xdp: VLAN tags"
  "xdp: a kernel without" "xdp: a driver without" "xdp: a full ring" "xdp: a paused process" "xdp: each frame of many"
  "xdp: checksums" "xdp: a repeated SYN" "xdp: a send queue" "large sends: the kernel" "packet offloads: checksums"
  "packet offloads: GSO frames are" "GSO receives: they keep" "busy poll:" "other programs:" "verifier:" "VLAN: frames"
  "bond:" "broker: confined" "broker: it explains")
# Raw frames by the conformance suite, datagrams and streams.
readonly KERNEL_TEST_CLASSES=(verbs.XdpConformanceTest verbs.PacketConformanceTest socket.DatagramUnicastOverVethXdpTest
  tcp.TcpOptionsOverVethTest)
# For 2,048 chunks, and a card with 256 descriptors.
readonly FULL_RING_FLOOD=8192 FULL_RING_PINGS=5
readonly VLAN_PINGS=3
# Bytes of a request over a bond, and of a slow one that lasts while legs fail. Requests in each of four failures, and
# in one connection.
readonly BOND_BYTES=300000 BOND_SLOW_BYTES=3000000 BOND_REQUESTS=3 BOND_TIMED_REQUESTS=200
# How long a step with a bond may take: requests that fail take a minute each.
readonly BOND_PATIENCE_SECONDS=1800
readonly KERNEL_MODES=(generic native zerocopy tap packet)
# Hostile clients of the broker, and queue pairs that send with the datagrams of each.
readonly HOSTILE_SECONDS=30 SENDERS=7 SENDER_FRAMES=48

c_tests() {
  local status=0 output="$kernel_work/c-tests"
  in_machine_within 7200 a run_c_tests "${KERNEL_C_TESTS[@]}" >"$output" || status=$?
  cat "$output"
  echo "@@ $(tail -n 1 "$output")"
  # The kernels have bonding, so these tests must not be skipped.
  ! grep "skipped: the kernel has no bonding" "$output" || status=1
  return "$status"
}

java_tests() {
  local status=0 output="$kernel_work/java-tests"
  in_machine_within 7200 a run_java_tests "io.rdmaraw.testsuite.$1" >"$output" || status=$?
  cat "$output"
  echo "@@ $(grep -E '^[0-9]+ passed, ' "$output" | tail -n 1)"
  return "$status"
}

server_options=()
server_refusal=""
server_doctor=0

# served MODE INTERFACE ADDRESS PLACE...: doctor and a server in machine a, and a client at the place. Without doctor if
# server_doctor is none.
served() {
  local mode="$1" interface="$2" address="$3" device doctor=0 started=0 status=0
  shift 3
  device="soft:xdp:$interface"
  [ "$mode" != packet ] || device="soft:packet:$interface"
  [ "$mode" != packet ] || mode=""
  if [ "$server_doctor" != none ]; then
    in_machine a run_doctor "$mode" "$device" >"$kernel_work/doctor" || doctor=$?
    cat "$kernel_work/doctor"
  fi
  in_machine a start_http "$mode" "$device" "$address" "${server_options[@]}" >"$kernel_work/started" || started=$?
  cat "$kernel_work/started"
  if [ "$started" != 0 ]; then
    echo "@@ $(refusal_of "$kernel_work/started")"
    [ "$doctor" = 1 ] || [ "$server_doctor" = none ] ||
      { echo "doctor ended with $doctor though the device cannot be opened" && return 1; }
    [ "$started" = 3 ] && is_known_refusal "${server_refusal:-$mode}" "$kernel_work/started" && return 3
    return 1
  fi
  if [ "$server_doctor" != none ] && [ "$doctor" != "$server_doctor" ]; then
    echo "doctor ended with $doctor and should with $server_doctor"
    echo "@@ doctor: $(sed -n 's/^  FAIL *//p' "$kernel_work/doctor" | tail -n 1)"
    status=1
  fi
  "$@" ask_http "$address" "$KERNEL_BYTES" "$kernel_digest" || status=1
  in_machine a kill_http || status=1
  return "$status"
}

# A namespace of the machine that serves.
in_peer() {
  in_machine a ip netns exec peer /init "$@"
}

# A client on VLAN 100. The kernel answers on the same VLAN, on another one, and without a tag.
in_peer_of_vlan() {
  local address
  in_machine a has_program "$vlan_program" || { echo "@@ there is no XDP program on $vlan_program" && return 1; }
  in_peer "$@" || return
  for address in 198.18.100.1 198.18.200.1 192.0.2.1; do
    in_peer ping -c "$VLAN_PINGS" -W 30 "$address" || { echo "@@ the kernel does not answer at $address" && return 1; }
  done
}

# served_on_vlan MODE: native mode has its program and its tags on the interface below the VLAN's.
served_on_vlan() {
  local vlan_program=rr0.100
  [ "$1" != native ] || vlan_program=rr0
  in_machine a make_vlans
  served "$1" rr0.100 198.18.100.1 in_peer_of_vlan
}

# requests_over_bond URL: prints how many requests failed while each leg in turn loses its carrier. Fails if any has.
requests_over_bond() {
  local output="$kernel_work/failed" status=0
  in_machine_within "$BOND_PATIENCE_SECONDS" a request_while_legs_fail "$1/$BOND_BYTES" "$BOND_BYTES" \
    "$1/$BOND_SLOW_BYTES" "$BOND_SLOW_BYTES" "$BOND_REQUESTS" >"$output" || status=$?
  cat "$output" >&2
  sed -n 's/^failed requests: //p' "$output"
  [ "$status" = 0 ] && grep -q '^failed requests: 0 of' "$output"
}

ask_while_legs_fail() {
  local failed status=0
  failed="$(requests_over_bond http://198.18.50.1:8080/bytes)" || status=1
  [ -z "$failed" ] || echo "@@ $failed requests failed"
  return "$status"
}

# The control: with a server by the kernel's TCP no request fails.
bond_by_kernel() {
  local failed status=0
  in_machine a make_bond "$1" || return
  in_machine_within "$BOND_PATIENCE_SECONDS" a start_kernel_server 198.18.50.1 "$BOND_BYTES" \
    "$BOND_SLOW_BYTES" || return
  failed="$(requests_over_bond http://198.18.50.1:8081)" || status=1
  [ "$status" = 0 ] || [ -z "$failed" ] || echo "@@ with the kernel's server $failed requests failed"
  in_machine a end_kernel_server || return
  return "$status"
}

# served_on_bond BOND-MODE: in native mode, with its program on the bond and its sockets on the legs.
served_on_bond() {
  bond_by_kernel "$1" || return
  served native rrbond 198.18.50.1 ask_while_legs_fail
}

time_requests_over_bond() {
  in_machine_within "$BOND_PATIENCE_SECONDS" a time_requests http://198.18.50.1:8080/json "$BOND_TIMED_REQUESTS" \
    >"$kernel_work/time" || return
  bond_millis="$(last_line <"$kernel_work/time")"
}

# compared_on_bond MODE...: requests per second of each mode as a part of those of the first one. Only times of one run
# can be compared. The first mode comes again at the end: if its rates differ, the host had other work meanwhile.
compared_on_bond() {
  local mode bond_millis=0 first="" text=""
  in_machine a make_bond active-backup || return
  for mode in "$@"; do
    served "$mode" rrbond 198.18.50.1 time_requests_over_bond || return
    first="${first:-$bond_millis}"
    text="${text:+$text, }$mode $(awk -v a="$first" -v b="$bond_millis" 'BEGIN { printf "%.2f", a / b }')"
    echo "$mode: $BOND_TIMED_REQUESTS requests in $bond_millis ms"
  done
  echo "@@ $text"
}

# The last line of an answer that is not empty. It reads all, since the rest would be taken for the next answer.
last_line() {
  awk 'NF { line = $0 } END { print line }'
}

# The server's sentence for its user.
refusal_of() {
  sed -n 's/^http: //p' "$1" | tail -n 1
}

# Where a mode may be refused the sentence says what to do instead.
is_known_refusal() {
  case "$1" in
    *+busy) grep -q "run without SOFTVERBS_XDP_BUSY_POLL" "$2" ;;
    # Kernels before 6.5 may not confine sockets to an interface either.
    *+broker) grep -Eq "before Linux 6\.17 the kernel's verifier|needs Linux 6\.5" "$2" ;;
    native) grep -q "try without SOFTVERBS_XDP_MODE=native" "$2" ;;
    zerocopy) grep -Eq "SOFTVERBS_XDP_MODE=native copies|try without SOFTVERBS_XDP_MODE=zerocopy" "$2" ;;
    tap | long) grep -q "Linux 6\.6" "$2" ;;
    *) return 1 ;;
  esac
}

# The card as the driver sets it up, and after the remedy that the sentence names.
tags_are_refused() {
  local interface="$1" address="$2" status=0
  # All of it is read first: what is left of an answer would be taken for the next one.
  in_machine a ethtool -k "$interface" >"$kernel_work/offloads"
  if ! grep -q '^rx-vlan-offload: on' "$kernel_work/offloads"; then
    echo "@@ no such offload is on"
    return 0
  fi
  in_machine a start_http generic "soft:xdp:$interface" "$address" >"$kernel_work/started" || status=$?
  cat "$kernel_work/started"
  [ "$status" = 3 ] && grep -q "ethtool -K $interface rxvlan off" "$kernel_work/started" || return 1
  echo "@@ $(refusal_of "$kernel_work/started")"
  return 3
}

# served, and sets interrupts to how many the card raised meanwhile.
served_with_interrupts() {
  local card="$2" before status=0
  before="$(in_machine a card_interrupts "$card")"
  served "$@" || status=$?
  # No `head` behind it: what is left of an answer would be taken for the next one.
  interrupts=$(($(in_machine a card_interrupts "$card") - before))
  return "$status"
}

# Polled busily, and killed: what it leaves of the card's interrupts the next one puts back. What busy polling is worth
# beside the same without it is counted in interrupts, which an emulated processor does not falsify as it does times.
polled_busily() {
  local mode="$1" card="$2" address="$3" status=0 interrupts=0 without
  served_with_interrupts "$mode" "$card" "$address" in_machine b || return
  without="$interrupts"
  served_with_interrupts "$mode+busy" "$card" "$address" in_machine b || return
  in_machine a interrupts_are_deferred "$card" || { echo "@@ the interrupts of $card were not deferred" && return 1; }
  in_machine a start_http "$mode+busy" "soft:xdp:$card" "$address" || return 1
  in_machine a end_http
  in_machine a interrupts_are_deferred "$card" || status=$?
  # Any other status is of a machine or a doctor that did not answer.
  [ "$status" = 1 ] || { echo "@@ the interrupts of $card stay deferred, or there is no answer ($status)" && return 1; }
  echo "@@ $interrupts interrupts, without it $without"
}

# A server without capabilities, whose device the broker opens.
served_by_broker() {
  local mode="$1+broker" interface="$2" status=0
  shift
  in_machine a start_broker "$interface" >"$kernel_work/broker" || status=$?
  cat "$kernel_work/broker"
  if [ "$status" != 0 ]; then
    echo "@@ $(sed -n 's/^rdma-raw-broker: //p' "$kernel_work/broker" | tail -n 1)"
    [ "$status" = 3 ] && is_known_refusal "$mode" "$kernel_work/broker" && return 3
    return 1
  fi
  served "$mode" "$@" || status=$?
  in_machine a end_broker "$interface" || status=1
  return "$status"
}

# Hostile clients of a broker in machine a. Nothing that depends on its clock is judged.
hostile_clients() {
  local status=0 output="$kernel_work/hostile"
  in_machine_within 7200 a run_hostile_clients "$HOSTILE_SECONDS" >"$output" || status=$?
  cat "$output"
  echo "@@ $(sed -n 's/^hostile clients: //p' "$output" | tail -n 1)"
  return "$status"
}

# frames_arrive INTERFACE FROM TO TO-MAC MODES PLACE...: several queue pairs send by an interface whose numbers of
# receive and send queues differ. The kernel at the place counts the frames that arrive. They must be all that the
# device counts as sent.
frames_arrive() {
  local from="$2" to="$3" mac="$4" modes="$5" interface="$1" mode before arrived text="" wanted sent="$kernel_work/sent"
  wanted=$((SENDERS * SENDER_FRAMES))
  shift 5
  for mode in $modes; do
    before="$("$@" datagrams_for_nobody | last_line)"
    if ! in_machine a send_from_many "$mode" "$interface" "$mac" "$from" "$to" "$SENDERS" "$SENDER_FRAMES" \
      >"$sent"; then
      cat "$sent"
      echo "@@ $mode: $(sed -n 's/^senders: //p' "$sent" | tail -n 1)"
      return 1
    fi
    cat "$sent"
    # The last ones may be on their way.
    for _ in {1..10}; do
      arrived=$(($("$@" datagrams_for_nobody | last_line) - before))
      [ "$arrived" -lt "$wanted" ] || break
      sleep 1
    done
    text="${text:-$(sed -n 's/^queues: //p' "$sent"):}${text:+,} $mode $arrived of $wanted"
    echo "@@ $text"
    grep -q "^sent: $arrived counted, $arrived completed, 0 not" "$sent" && [ "$arrived" = "$wanted" ] || return 1
    if grep -Eq '^queues: ([0-9]+) rx, \1 tx' "$sent"; then
      echo "@@ the numbers of queues are equal"
      return 1
    fi
  done
}

# Pings that machine a answers while a process with the interface in zero copy is stopped and its rings are full. Sets
# answered, of FULL_RING_PINGS.
pings_of_a_full_ring() {
  local libraries="$1" card="$2" address="$3" to="$4"
  answered=0
  in_machine a start_counting "$libraries" "$card" "$address" || return
  in_machine a signal_counting STOP || return 1
  in_machine b send_datagrams "$card" "$to" "$address" "$FULL_RING_FLOOD" || return 1
  answered="$(in_machine b answered_pings "$address" "$FULL_RING_PINGS" | last_line)"
  in_machine a signal_counting CONT || return 1
  in_machine a signal_counting KILL
}

# A zero-copy driver receives the frames of the host's own programs into the process's chunks. Beside softverbs as it is
# a mutant runs whose rings have room for all chunks. It has to lose pings.
host_answers_beside_a_full_ring() {
  local number="$1" card="$2" address="$3" to answered=0 sound
  to="$(card_mac a "$number")"
  in_machine b ping -c 1 -W 30 "$address"
  pings_of_a_full_ring lib "$card" "$address" "$to" >"$kernel_work/counted" || {
    cat "$kernel_work/counted"
    echo "@@ $(sed -n 's/^pktgen: //p' "$kernel_work/counted" | tail -n 1)"
    grep -q 'no zero copy' "$kernel_work/counted" && return 3
    return 1
  }
  cat "$kernel_work/counted"
  sound="$answered"
  pings_of_a_full_ring all-chunks "$card" "$address" "$to" || return 1
  echo "@@ $sound of $FULL_RING_PINGS pings answered, $answered if the rings take all chunks"
  [ "$sound" = "$FULL_RING_PINGS" ] && [ "$answered" -lt "$sound" ]
}

# What the kernel does beside the device.
with_long_frames() {
  local interface="$1" status=0 machine
  shift
  # Linux's vmxnet3 says that a frame may come in several pieces only where LRO is on when it sets the card up
  # (misc.maxNumRxSG), and QEMU's believes it; XDP has turned LRO off.
  [ "$interface" != vmxnet3 ] || in_machine a ethtool -K vmxnet3 lro on
  for machine in a b; do
    in_machine "$machine" ip link set "$interface" mtu 9000
  done
  server_options=(--slot-bytes 16384)
  server_refusal=long
  # It knows of no larger slots, and names them.
  server_doctor=1
  served "$@" || status=$?
  for machine in a b; do
    in_machine "$machine" ip link set "$interface" mtu 1500
  done
  return "$status"
}

# Both ends get their names and addresses.
card_driver() {
  local driver
  in_machine b name_card "$(card_mac b "$1")" "$2" "198.18.$1.2/24"
  driver="$(in_machine a name_card "$(card_mac a "$1")" "$2" "198.18.$1.1/24" | sed -n 's|^/.*/||p')"
  in_machine a ping -c 1 -W 30 "198.18.$1.2"
  echo "@@ $driver"
}

# Whether a row may have a step that is wanted: machines start slowly. A text that names no row may be in any column.
a_step_is_wanted() {
  local text row
  [ "${#kernel_wanted[@]}" -gt 0 ] || return 0
  for text in "${kernel_wanted[@]}"; do
    for row in "$@"; do
      ! names_row "$text" "$row" || return 0
    done
    for row in tests veth "${KERNEL_CARDS[@]%% *}"; do
      ! names_row "$text" "$row" || continue 2
    done
    return 0
  done
  return 1
}

names_row() {
  [ "${1#"$2"}" != "$1" ] || [ "${2/"$1"/}" != "$2" ]
}

card_steps() {
  local number="$1" card="$2" mode address="198.18.$1.1" machine
  a_step_is_wanted "$card" || return 0
  # What follows stands on it: without it each of the others would fail too.
  kernel_required_step "$card" driver card_driver "$number" "$card"
  ! last_kernel_step_failed || return 0
  kernel_step "$card" "tags beside frames" tags_are_refused "$card" "$address"
  in_machine a ethtool -K "$card" rxvlan off >/dev/null || true
  for mode in "${KERNEL_MODES[@]}"; do
    kernel_step "$card" "$mode" served "$mode" "$card" "$address" in_machine b
  done
  kernel_step "$card" broker served_by_broker generic "$card" "$address" in_machine b
  # Programs bring receive queues that have no send queues.
  case "$card" in
    virtio-queues) kernel_step "$card" "rx != tx" frames_arrive "$card" "$address" "198.18.$number.2" \
      "$(card_mac b "$number")" native in_machine b ;;
  esac
  # By the driver's own mode, where it has one.
  case "$card" in
    virtio* | igb | vmxnet3) mode=native ;;
    *) mode=generic ;;
  esac
  kernel_step "$card" "busy polling" polled_busily "$mode" "$card" "$address"
  # Those with zero copy.
  case "$card" in
    igb | virtio-dma) kernel_step "$card" "full ring" host_answers_beside_a_full_ring "$number" "$card" "$address" ;;
  esac
  # By the default mode.
  kernel_step "$card" "MTU 9000" with_long_frames "$card" auto "$card" "$address" in_machine b
}

# The first machine alone, over veth.
veth_steps() {
  local class mode mac
  a_step_is_wanted tests veth || return 0
  start_machine a
  in_machine a make_veth
  kernel_step tests C c_tests
  for class in "${KERNEL_TEST_CLASSES[@]}"; do
    kernel_step tests "${class#*.}" java_tests "$class"
  done
  for mode in "${KERNEL_MODES[@]}"; do
    kernel_step veth "$mode" served "$mode" rr0 192.0.2.1 in_peer
  done
  kernel_step veth VLAN served_on_vlan generic
  kernel_step veth "VLAN native" served_on_vlan native
  kernel_step veth "bond native" served_on_bond active-backup
  # Doctor takes minutes here, and has answered.
  server_doctor=none
  kernel_step veth "bond rates" compared_on_bond native tap native
  kernel_step veth "bond 802.3ad" served_on_bond 802.3ad
  kernel_step veth "bond balance-xor" served_on_bond balance-xor
  server_doctor=0
  kernel_step veth broker served_by_broker generic rr0 192.0.2.1 in_peer
  kernel_step veth "hostile clients" hostile_clients
  mac="$(in_peer cat /sys/class/net/rr1/address | last_line)"
  kernel_step veth "rx != tx" frames_arrive rr0 192.0.2.1 192.0.2.2 "$mac" "generic native" in_peer
  stop_machine a
}

run_kernel_steps() {
  local number machine
  kernel_digest="$(digest_of_pattern "$KERNEL_BYTES")"
  veth_steps
  a_step_is_wanted "${KERNEL_CARDS[@]%% *}" || return 0
  for machine in a b; do
    find_card_options "$machine"
    start_machine "$machine" "${kernel_card_options[@]}"
  done
  for number in "${!KERNEL_CARDS[@]}"; do
    card_steps "$number" "${KERNEL_CARDS[number]%% *}"
  done
  for machine in a b; do
    stop_machine "$machine"
  done
}
