#!/bin/bash
# The first program of a machine of `./rdma-raw test --kernels`, and all that it is asked to do. Started by the kernel it
# mounts what programs expect, loads the drivers and runs the commands that come by a port of virtio. Started with
# arguments it runs one of them: a function below, or a program.
set -uo pipefail
export PATH=/opt/java/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8

# How long a server may take until it listens, in turns of half a second: the processor is emulated, and has little time
# for who asks.
readonly LISTEN_TURNS=3600
# Enough for frames to come by each of a few receive queues.
readonly CONNECTIONS=24
# How long the bond may take to use a leg, in turns of a tenth of a second.
readonly LEG_TURNS=3000
# Bytes per second of a download that lasts while legs fail.
readonly SLOW_RATE=50K
# How long a test in C may wait for a condition.
readonly TEST_PATIENCE_SECONDS=600
# The user `nobody`.
readonly BROKER_USER=65534 BROKER_SOCKET=/run/broker.sock

# ---- the machine ----

boot() {
  local module
  mount -t proc proc /proc
  mount -t sysfs sysfs /sys
  mount -t devtmpfs dev /dev
  mkdir -p /dev/pts /dev/shm /dev/net
  mount -t devpts devpts /dev/pts
  mount -t tmpfs tmpfs /dev/shm
  mount -t tmpfs tmpfs /run
  mount -t tmpfs tmpfs /tmp
  mount -t debugfs debugfs /sys/kernel/debug
  mount -t bpf bpf /sys/fs/bpf
  ln -sf /proc/self/fd /dev/fd
  while IFS= read -r module; do
    modprobe -q "$module" || true
  done </etc/modules
  ip link set lo up
  # shellcheck disable=SC2119
  serve_commands
}

# Each line is a limit in seconds and a command, quoted for a shell. The answer is what it prints, and a last line with
# its status.
# shellcheck disable=SC2120
serve_commands() {
  local port line status
  port="$(grep -lx rdmaraw /sys/class/virtio-ports/*/name)"
  port="${port%/name}"
  exec 3<>"/dev/${port##*/}"
  echo "@@@ 0" >&3
  while true; do
    # Until the host has opened its end there is nothing to read.
    IFS= read -r line <&3 || { sleep 0.1 && continue; }
    eval "set -- $line"
    timeout --kill-after 10 "$1" "$BASH" "$0" "${@:2}" >/run/answer 2>&1 </dev/null 3>&-
    status=$?
    # A last line without its end would run into the status.
    { cat /run/answer && printf '\n@@@ %s\n' "$status"; } >&3
  done
}

# ---- interfaces ----

# A veth pair, one end of it in the namespace `peer`, as a container's is. Nothing is set but addresses.
make_veth() {
  ip netns add peer
  # No number of queues is that of the two processors.
  ip link add rr0 numrxqueues 4 numtxqueues 1 type veth peer name rr1 numrxqueues 4 numtxqueues 3 netns peer
  ip address add 192.0.2.1/24 dev rr0
  ip link set rr0 up
  ip -n peer address add 192.0.2.2/24 dev rr1
  ip -n peer link set rr1 up
  ip -n peer link set lo up
}

# VLANs 100 and 200 above the veth pair. The peer's tags are in its frames, as on a wire.
make_vlans() {
  local id
  [ ! -e /sys/class/net/rr0.100 ] || return 0
  ip netns exec peer ethtool -K rr1 txvlan off
  for id in 100 200; do
    ip link add link rr0 name "rr0.$id" type vlan id "$id"
    ip address add "198.18.$id.1/24" dev "rr0.$id"
    ip link set "rr0.$id" up
    ip -n peer link add link rr1 name "rr1.$id" type vlan id "$id"
    ip -n peer address add "198.18.$id.2/24" dev "rr1.$id"
    ip -n peer link set "rr1.$id" up
  done
}

# ---- bonds ----

# await SENTENCE COMMAND...: until the command succeeds.
await() {
  local sentence="$1" turns=0
  shift
  until "$@"; do
    turns=$((turns + 1))
    [ "$turns" -le "$LEG_TURNS" ] || { echo "@@ $sentence" && return 1; }
    sleep 0.1
  done
}

# Whether the bond sends by a leg. In mode 802.3ad both ends have agreed then: the leg collects and distributes.
leg_is_used() {
  local of_bond="/sys/class/net/$1/bonding_slave" state
  [ "$(cat "$of_bond/mii_status" 2>/dev/null)" = up ] || return 1
  grep -q '^802.3ad' /sys/class/net/rrbond/bonding/mode || return 0
  state="$(cat "$of_bond/ad_actor_oper_port_state")"
  [ $((state & 0x30)) = $((0x30)) ]
}

# make_bond MODE: a bond of two veth pairs. Their other ends are on a bridge, as on a switch, or, where both legs are
# active, in a bond of the namespace `peer`.
make_bond() {
  local mode="$1" leg
  local -a options=(type bond mode "$mode" miimon 50)
  case "$mode" in
    802.3ad) options+=(lacp_rate fast xmit_hash_policy layer3+4) ;;
    balance-xor) options+=(xmit_hash_policy layer3+4) ;;
  esac
  for leg in 0 1; do
    ip link del "rrleg$leg" 2>/dev/null
  done
  ip link del rrbond 2>/dev/null
  ip -n peer link del rrbond 2>/dev/null
  ip link add rrbond "${options[@]}" || return
  ip address add 198.18.50.1/24 dev rrbond
  [ "$mode" != active-backup ] || options=(type bridge)
  ip -n peer link add rrbond "${options[@]}" || return
  ip -n peer address add 198.18.50.2/24 dev rrbond
  for leg in 0 1; do
    ip link add "rrleg$leg" numrxqueues 2 numtxqueues 1 type veth peer name "rrport$leg" numrxqueues 2 \
      numtxqueues 2 netns peer
    ip link set "rrleg$leg" master rrbond
    ip link set "rrleg$leg" up
    ip -n peer link set "rrport$leg" master rrbond
    ip -n peer link set "rrport$leg" up
  done
  ip link set rrbond up
  ip -n peer link set rrbond up
  for leg in 0 1; do
    await "the bond does not use leg $leg in mode $mode" leg_is_used "rrleg$leg" || return
  done
  ip netns exec peer ping -c 3 -W 60 198.18.50.1
}

# request_from_peer URL BYTES FILE [OPTION OF CURL...]: a new connection. The answer must have so many bytes.
request_from_peer() {
  ip netns exec peer curl -sS --output "$3" "${@:4}" "$1" && [ "$(wc -c <"$3")" = "$2" ]
}

# request_while_legs_fail URL BYTES SLOW-URL SLOW-BYTES REQUESTS: requests and a slow download while each leg in turn
# loses its carrier. Prints how many failed.
request_while_legs_fail() {
  local leg failed=0 count=1 slow
  request_from_peer "$3" "$4" /run/slow --max-time 600 --limit-rate "$SLOW_RATE" &
  slow=$!
  for leg in 0 1 0 1; do
    ip -n peer link set "rrport$leg" down
    for _ in $(seq "$5"); do
      count=$((count + 1))
      request_from_peer "$1" "$2" /run/short --max-time 60 || failed=$((failed + 1))
    done
    ip -n peer link set "rrport$leg" up
    await "the bond does not use leg $leg again" leg_is_used "rrleg$leg" || { kill "$slow" && return 1; }
  done
  wait "$slow" || failed=$((failed + 1))
  echo "failed requests: $failed of $count"
}

# time_requests URL REQUESTS: prints how many milliseconds the requests of one connection take, the best of three times.
time_requests() {
  local begun spent best=0
  local -a urls=()
  for _ in $(seq "$2"); do urls+=("$1"); done
  for _ in {1..3}; do
    begun="$(date +%s%N)"
    ip netns exec peer curl -sS --max-time 600 "${urls[@]}" >/run/times || return
    spent=$((($(date +%s%N) - begun) / 1000000))
    [ "$best" != 0 ] && [ "$best" -le "$spent" ] || best="$spent"
  done
  echo "$best"
}

# start_kernel_server ADDRESS BYTES...: the server of the JDK, by the kernel's TCP, with files of these lengths. At the
# wildcard address it would look up the machine's name, which it lacks, and end.
start_kernel_server() {
  local address="$1" turns=0 pid bytes
  shift
  mkdir -p /run/www
  for bytes in "$@"; do
    head -c "$bytes" /dev/zero >"/run/www/$bytes"
  done
  setsid java -m jdk.httpserver -b "$address" -p 8081 -d /run/www >/run/www.log 2>&1 </dev/null &
  pid=$!
  echo "$pid" >/run/www.pid
  until curl -sS --max-time 60 -o /run/first "http://$address:8081/$1" 2>/dev/null; do
    turns=$((turns + 1))
    if ! kill -0 "$pid" 2>/dev/null || [ "$turns" -gt "$LISTEN_TURNS" ]; then
      cat /run/www.log
      echo "@@ the kernel's server does not listen: $(tail -n 1 /run/www.log)"
      kill -9 "$pid" 2>/dev/null
      return 1
    fi
    sleep 0.5
  done
}

end_kernel_server() {
  kill -9 "$(cat /run/www.pid)"
}

has_program() {
  ip link show dev "$1" | grep 'prog/xdp'
}

# name_card MAC NAME ADDRESS: until it has a carrier.
name_card() {
  local interface turns=0
  interface="$(grep -lx "$1" /sys/class/net/*/address)" || { echo "there is no interface with the address $1"; return 1; }
  interface="${interface%/address}"
  ip link set "${interface##*/}" name "$2"
  ip address add "$3" dev "$2"
  # A device may name a larger one (virtio-mtu).
  ip link set "$2" mtu 1500 up
  until [ "$(cat "/sys/class/net/$2/carrier")" = 1 ]; do
    turns=$((turns + 1))
    [ "$turns" -le "$LISTEN_TURNS" ] || return 1
    sleep 0.5
  done
  readlink -f "/sys/class/net/$2/device/driver"
}

# ---- servers and their clients ----

# The TCP segments that the kernel of this machine has received: none of ours are among them.
kernel_segments() {
  awk '$1 == "Tcp:" && $2 ~ /^[0-9]/ { print $11 }' /proc/net/snmp
}

# run_as MODE COMMAND...: replaces this process by the command, with the environment for the mode. A mode that ends with
# +busy is polled busily. With +broker the command has no capabilities, and the broker opens its device.
run_as() {
  local mode="${1%+*}"
  local -a settings=("SOFTVERBS_XDP_MODE=$mode" SOFTVERBS_XDP_BUSY_POLL=off)
  case "$1" in
    *+busy) settings+=(SOFTVERBS_XDP_BUSY_POLL=on) ;;
    *+broker) settings+=("SOFTVERBS_BROKER=$BROKER_SOCKET") && set -- "$1" setpriv --reuid "$BROKER_USER" \
      --regid "$BROKER_USER" --clear-groups --inh-caps=-all --bounding-set=-all --no-new-privs "${@:2}" ;;
  esac
  shift
  exec env "${settings[@]}" "$@"
}

# start_http MODE DEVICE ADDRESS [OPTION...]: status 3 and the last line of the log if it does not listen. The modes are
# those of run_as.
start_http() {
  local mode="$1" device="$2" address="$3" turns=0 pid
  shift 3
  run_as "$mode" setsid java --enable-native-access=ALL-UNNAMED -cp '/opt/rdma-raw/lib/*' \
    io.rdmaraw.examples.Main http --device "$device" --address "$address" "$@" >/run/http.log 2>&1 </dev/null &
  pid=$!
  echo "$pid" >/run/http.pid
  until grep -q "is listening on" /run/http.log; do
    turns=$((turns + 1))
    if ! kill -0 "$pid" 2>/dev/null || [ "$turns" -gt "$LISTEN_TURNS" ]; then
      cat /run/http.log
      # One that is only slow would keep the interface from the next.
      kill -9 "$pid" 2>/dev/null
      return 3
    fi
    sleep 0.5
  done
  kernel_segments >/run/segments
}

# Kills the server as nothing else can: what it had on the interface goes with it. Its log has no warning but that of
# frames which came faster than an emulated processor took them, and the kernel has got none of its segments; before Linux
# 6.6 it may have those of soft:packet, where the log says so.
kill_http() {
  local pid status=0 expected='WARNING: [^ ]*: ring-full, ' warning=""
  pid="$(cat /run/http.pid)"
  cat /run/http.log
  if [ -e /run/broker.pid ]; then
    expected+='|in fragments or with extension headers are lost|cannot receive ICMP errors'
    has_capabilities 0000000000000000 "$pid" || status=1
  fi
  before_linux 6.6 && warning="$(sed -n '/^WARNING: soft:packet:[^ ]*: rules\.kernel-visible, /{s/^WARNING: //p;q}' /run/http.log)"
  if [ -n "$warning" ]; then
    expected+='|rules\.kernel-visible, '
    echo "@@ with a warning: $warning"
  elif [ "$(kernel_segments)" != "$(cat /run/segments)" ]; then
    echo "the kernel has received TCP segments: $(cat /run/segments) before, $(kernel_segments) now"
    grep '^Tcp:' /proc/net/snmp
    status=1
  fi
  warning="$(grep -E 'WARN|ERROR|SEVERE|Exception' /run/http.log | grep -Ev "$expected" | tail -n 1)"
  if [ -n "$warning" ]; then
    echo "@@ ${warning#WARNING: }"
    status=1
  fi
  kill -9 "$pid"
  while kill -0 "$pid" 2>/dev/null; do
    sleep 0.1
  done
  return "$status"
}

# has_capabilities SET PID: the permitted and the effective ones.
has_capabilities() {
  [ "$(grep -cE "^Cap(Prm|Eff):[[:space:]]$1\$" "/proc/$2/status")" = 2 ] && return
  echo "@@ process $2 should have the capabilities $1"
  grep '^Cap' "/proc/$2/status"
  return 1
}

# Ends the server as its operator does.
end_http() {
  local pid
  pid="$(cat /run/http.pid)"
  kill "$pid"
  while kill -0 "$pid" 2>/dev/null; do
    sleep 0.1
  done
}

# interrupts_are_deferred INTERFACE: as they are for busy polling. The kernel has it in a file of the interface before
# Linux 6.13, and tells it of each NAPI instance since, as doctor does.
interrupts_are_deferred() {
  [ "$(cat "/sys/class/net/$1/gro_flush_timeout")" = 0 ] || return 0
  { run_doctor auto "soft:xdp:$1" || true; } | grep 'are deferred as SOFTVERBS_XDP_BUSY_POLL'
}

# card_interrupts INTERFACE: how many its card has raised. The device of a virtio card is below that of the bus.
card_interrupts() {
  local device="/sys/class/net/$1/device" numbers
  device="$(readlink -f "$device")"
  [ -d "$device/msi_irqs" ] || device="${device%/*}"
  numbers="$(ls "$device/msi_irqs" 2>/dev/null || cat "$device/irq")"
  awk -v wanted=" $(echo "$numbers" | tr '\n' ' ')" '{
    number = $1
    sub(/:$/, "", number)
    if (index(wanted, " " number " ")) for (i = 2; $i ~ /^[0-9]+$/; i++) sum += $i
  } END { print sum + 0 }' /proc/interrupts
}

before_linux() {
  [ "$(printf '%s\n' "$1" "$(uname -r)" | sort -V | head -n 1)" != "$1" ]
}

same() {
  echo "$3: $1"
  [ "$1" = "$2" ] || { echo "$3 should be $2"; return 1; }
}

# ask_http ADDRESS BYTES DIGEST: a page, that many bytes down, whose digest is known, and as many up.
ask_http() {
  local url="http://$1:8080" bytes="$2" digest="$3"
  local -a urls=()
  curl -sS --max-time 120 "$url/json" && echo || return 1
  # A connection each: by all receive queues that the driver has.
  for _ in $(seq "$CONNECTIONS"); do urls+=("$url/json"); done
  curl -sS --max-time 240 -H 'Connection: close' -w '\n' "${urls[@]}" >/run/answers || return 1
  same "$(sort -u /run/answers | wc -l) of $(wc -l </run/answers)" "1 of $CONNECTIONS" "connections" || return 1
  same "$(curl -sS --max-time 600 "$url/bytes/$bytes" | sha256sum | cut -d ' ' -f 1)" "$digest" "down" || return 1
  head -c "$bytes" /dev/urandom >/run/up
  same "$(curl -sS --max-time 600 --data-binary @/run/up "$url/sha256")" "$(sha256sum </run/up | cut -d ' ' -f 1)" "up"
}

# ---- the broker ----

# start_broker INTERFACE: status 3 and what it says if it does not serve.
start_broker() {
  local turns=0 pid
  printf 'user=%s interface=%s modes=generic,native ports=tcp:8080\n' "$BROKER_USER" "$1" >/run/broker.policy
  setsid /opt/rdma-raw/native/rdma-raw-broker --policy /run/broker.policy --socket "$BROKER_SOCKET" \
    >/run/broker.log 2>&1 </dev/null &
  pid=$!
  until grep -q "serves '" /run/broker.log; do
    turns=$((turns + 1))
    if ! kill -0 "$pid" 2>/dev/null || [ "$turns" -gt "$LISTEN_TURNS" ]; then
      cat /run/broker.log
      kill -9 "$pid" 2>/dev/null
      return 3
    fi
    sleep 0.5
  done
  echo "$pid" >/run/broker.pid
  # CAP_NET_ADMIN, CAP_NET_RAW, CAP_BPF, and CAP_IPC_LOCK, since it is started with it.
  has_capabilities 0000008000007000 "$pid"
}

# end_broker INTERFACE: the broker first takes back the device of a server that was killed.
end_broker() {
  local pid turns=0 status=0
  pid="$(cat /run/broker.pid)"
  while ip link show dev "$1" | grep -q 'prog/xdp'; do
    turns=$((turns + 1))
    [ "$turns" -le "$LISTEN_TURNS" ] || { echo "@@ the XDP program stays on $1" && status=1 && break; }
    sleep 0.5
  done
  kill "$pid"
  while kill -0 "$pid" 2>/dev/null; do
    sleep 0.1
  done
  cat /run/broker.log
  rm -f /run/broker.pid
  return "$status"
}

# ---- interfaces with more receive queues than send queues ----

# send_from_many MODE INTERFACE TO-MAC FROM TO SENDERS FRAMES: prints the interface's queues and what counts as sent.
send_from_many() {
  run_as "$1" env "SOFTVERBS_DEVICES=xdp:$2" LD_LIBRARY_PATH=/opt/rdma-raw/native/lib /opt/rdma-raw/native/senders \
    --device "xdp:$2" --from-mac "$(cat "/sys/class/net/$2/address")" --to-mac "$3" --from "$4" --to "$5" --port 7777 \
    --senders "$6" --frames "$7"
}

# The datagrams that the kernel has received for ports without a socket.
datagrams_for_nobody() {
  awk '$1 == "Udp:" && $2 ~ /^[0-9]/ { print $3 }' /proc/net/snmp
}

# ---- a ring that is full ----

# start_counting LIBRARIES INTERFACE ADDRESS: a program in C that receives datagrams in zero copy, until it is killed.
# Status 3 and what it says if it cannot open the device.
start_counting() {
  local turns=0
  SOFTVERBS_XDP_MODE=zerocopy SOFTVERBS_DEVICES="xdp:$2" LD_LIBRARY_PATH="/opt/rdma-raw/native/$1" \
    setsid /opt/rdma-raw/native/pktgen rx --device "xdp:$2" --to "$3" --port 7777 --seconds 100000 \
    >/run/counting.log 2>&1 </dev/null &
  echo $! >/run/counting.pid
  until grep -q ready /run/counting.log; do
    turns=$((turns + 1))
    if [ "$turns" -gt "$LISTEN_TURNS" ] || ! kill -0 "$!" 2>/dev/null; then
      cat /run/counting.log
      kill -9 "$!" 2>/dev/null
      return 3
    fi
    sleep 0.5
  done
}

# After KILL it waits for the end: until then the interface is the program's.
signal_counting() {
  local pid turns=0
  pid="$(cat /run/counting.pid)"
  kill "-$1" "$pid" || return 1
  while [ "$1" = KILL ] && kill -0 "$pid" 2>/dev/null; do
    turns=$((turns + 1))
    [ "$turns" -le "$LISTEN_TURNS" ] || return 1
    sleep 0.5
  done
}

# answered_pings ADDRESS COUNT: prints how many were answered.
answered_pings() {
  ping -c "$2" -W 10 "$1" | sed -n 's/.* \([0-9]*\) received.*/\1/p'
}

# send_datagrams INTERFACE TO-MAC TO FRAMES: six times as many, from several addresses, since each receive queue has a
# ring. With pauses, since the host's queues between the machines hold 1,000 frames.
send_datagrams() {
  local source
  for _ in {1..6}; do
    for source in 2 3 4 5 6 7 8 9; do
      SOFTVERBS_DEVICES="packet:$1" LD_LIBRARY_PATH=/opt/rdma-raw/native/lib /opt/rdma-raw/native/pktgen tx \
        --device "packet:$1" --from-mac "$(cat "/sys/class/net/$1/address")" --to-mac "$2" --from "192.0.2.$source" \
        --to "$3" --port 7777 --count "$(($4 / 8))" >/dev/null || return
      sleep 0.1
    done
  done
}

# ---- tests ----

run_c_tests() {
  cd /opt/rdma-raw/native && SOFTVERBS_TEST_PATIENCE="$TEST_PATIENCE_SECONDS" LD_LIBRARY_PATH=lib ./softverbs-test "$@"
}

# run_hostile_clients SECONDS: without bounds for times.
run_hostile_clients() {
  export SOFTVERBS_FUZZ_SECONDS="$1"
  run_c_tests "broker adversary"
}

# Classes of the test suite, by their names.
run_java_tests() {
  mkdir -p /run/work && cd /run/work &&
    java --enable-native-access=ALL-UNNAMED -Dio.netty.tryReflectionSetAccessible=false \
      -cp '/opt/rdma-raw/tests/classes:/opt/rdma-raw/tests/lib/*:/opt/rdma-raw/lib/*' io.rdmaraw.testsuite.TestLauncher "$@"
}

# Prints what doctor says; its status tells whether the device works.
run_doctor() {
  run_as "$1" java --enable-native-access=ALL-UNNAMED -cp '/opt/rdma-raw/lib/*' io.rdmaraw.tools.Main doctor \
    --device "$2"
}

if [ $$ = 1 ]; then
  boot
else
  "$@"
fi
