#!/usr/bin/env bash
# Builds the quick start's project and starts its server by one command, given after the project's folder with DEVICE for
# the device; as root over a veth pair, where stock curl asks it, else in memory, where it only has to listen.
set -euo pipefail

project="$1"
shift
log="$project.log"
host=127.0.0.1
device=soft:loop:quickstart
namespace="rdmaraw-quickstart-$$"
interface="rq$$"
server=""

clean_up() {
  # The group that setsid made: Maven or Gradle, and the server that it started.
  [ -z "$server" ] || kill -- "-$server" 2>/dev/null || true
  ip netns delete "$namespace" 2>/dev/null || true
}
trap clean_up EXIT

if [ "$(id -u)" = 0 ] && command -v ip >/dev/null && command -v curl >/dev/null; then
  # A pair of addresses of the range for benchmarks, by the number of this process.
  base="198.19.$(($$ / 64 % 256)).$(($$ % 64 * 4))"
  host="${base%.*}.$((${base##*.} + 1))"
  ip netns add "$namespace"
  ip link add "$interface" type veth peer name eth0 netns "$namespace"
  ip address add "$host/30" dev "$interface"
  ip link set "$interface" up
  ip -n "$namespace" address add "${base%.*}.$((${base##*.} + 2))/30" dev eth0
  ip -n "$namespace" link set eth0 up
  device="soft:xdp:$interface"
fi

echo "\$ ${1##*/} ${*: -2:1} ${!#/DEVICE/$device}"
# It is read before the command has written it.
: >"$log"
setsid "${@/DEVICE/$device}" >"$log" 2>&1 </dev/null &
server=$!
# The first time Maven gets all of its plugins.
for ((i = 0; i < 600; i++)); do
  ! grep -q '^listening: ' "$log" || break
  kill -0 "$server" 2>/dev/null || { cat "$log" && exit 1; }
  sleep 0.5
done
grep '^listening: ' "$log" || { cat "$log" && exit 1; }
if [ "$device" != soft:loop:quickstart ]; then
  answer="$(ip netns exec "$namespace" curl -sS --max-time 20 "http://$host:8080/")"
  echo "$answer"
  [ "$answer" = Hello ]
fi
