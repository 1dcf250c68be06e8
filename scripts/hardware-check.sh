# shellcheck shell=bash
# ./rdma-raw hardware-check: goes through what only a card can show, step by step, and writes a report. See
# docs/guide/cards.md.

HARDWARE_UNDER_WAY="It has not come to its end."
HARDWARE_SERVER_SECONDS=60

hardware_usage() {
  cat <<'USAGE'
usage: ./rdma-raw hardware-check DEVICE [--peer D] [--out DIR] [--setup WORDS]

Checks everything that only a card can show, and writes a report: docs/guide/cards.md.

  DEVICE, -d D, --device D
               the RDMA device, such as mlx5_0; emulated: a pair of emulated ones, to see what this does
  --peer D     a second device that the first reaches by a cable or a switch; without one the device's own loopback is
               measured, and the conformance suite, which needs two, is left out
  --out DIR    where the report goes (hardware-report); DIR/REPORT.md is the summary, and DIR.tar.gz all of it: the one
               file to send
  --setup WORDS  of an emulated pair: how host and card are set up, such as vf or roce-off; see docs/lab/hardware.md

It takes about four minutes, and two without a second device; a step is ended after 15 minutes, the suite after 30.
Ctrl-C ends it; the steps so far are in the report.

Exit codes: 0 every step is right; 1 a step failed, or something that is needed is missing, such as the device; 2 wrong
arguments; 130 interrupted by Ctrl-C; 143 ended by SIGTERM.
USAGE
}

# Runs one step: its name, what makes it right, and the command. What it prints goes to a file of its own.
hardware_step() {
  local name="$1" right="$2" file status=0 verdict=ok started="$SECONDS"
  shift 2
  hardware_steps=$((hardware_steps + 1))
  file="$(printf '%02d-%s.txt' "$hardware_steps" "$name")"
  hardware_file="$file"
  say "hardware-check: $hardware_steps of at most $hardware_total: $name"
  printf '$ %s\n' "$*" >"$hardware_out/$file"
  # A function of this script can't be run by timeout; those bound themselves. In the background, as a trap waits for
  # what runs in the foreground.
  if declare -F "$1" >/dev/null; then
    # A line of it that fails is no reason to leave out the rest; how it ends decides.
    { set +e && "$@"; } >>"$hardware_out/$file" 2>&1 </dev/null 8>&- &
  else
    timeout 900 "$@" >>"$hardware_out/$file" 2>&1 </dev/null 8>&- &
  fi
  hardware_running=$!
  wait "$hardware_running" || status=$?
  hardware_running=""
  if [ "$status" = 0 ] && hardware_moved_nothing "$hardware_out/$file"; then
    status="no frames"
  fi
  if [ "$status" != 0 ]; then
    verdict="FAILED ($status)"
    hardware_failed=$((hardware_failed + 1))
    hardware_failures+=("$file")
    say "hardware-check:   $verdict, see $hardware_out/$file"
  fi
  printf '| %s | %s | %s | %s s | [%s](%s) |\n' "$name" "$right" "$verdict" $((SECONDS - started)) "$file" "$file" \
    >>"$hardware_out/REPORT.md"
}

# Ends a process and all that it has started, also what timeout has put into a group of its own.
hardware_end_tree() {
  local child
  for child in $(ps -o pid= --ppid "$1"); do
    hardware_end_tree "$child"
  done
  kill "$1" 2>/dev/null || true
}

# Ctrl-C, or a command that ends this one: what runs ends too, and what was found is kept.
hardware_interrupted() {
  trap '' INT TERM
  if [ -n "$hardware_running" ]; then
    hardware_end_tree "$hardware_running"
    wait "$hardware_running" || true
    # What it printed so far is no result.
    mv "$hardware_out/$hardware_file" "$hardware_out/$hardware_file.part"
  fi
  say "hardware-check: interrupted in step $hardware_steps"
  hardware_conclude "Interrupted in step $hardware_steps, and $hardware_failed of the steps before it failed."
  exit "$1"
}

# Completes the report: what came out of it is said at its head.
hardware_conclude() {
  hardware_figures
  hardware_facts
  hardware_list_failures
  sed -i "s|^$HARDWARE_UNDER_WAY\$|$1|" "$hardware_out/REPORT.md"
  cat "$hardware_out/REPORT.md"
  hardware_pack
}

# perftest ends with success when not one frame went: its row then has 0 iterations. Other output has no such row.
hardware_moved_nothing() {
  awk '/#iterations/ { table = 1; next } table && $2 ~ /^[0-9]+$/ { rows++; if ($2 > 0) moved = 1 }
    END { exit !(rows > 0 && !moved) }' "$1"
}

# The figure in a step's output: what raw_ethernet_bw prints last, or a field of our JSON; four digits of it.
hardware_figure() {
  local file="$1"
  {
    awk '/#iterations/ { table = 1; next } table && $2 ~ /^[0-9]+$/ { figure = $5 " Mpps" }
      END { if (figure != "") print figure }' "$file"
    sed -n 's/.*"MsgRate":\([0-9.E-]*\).*/\1 Mpps/p; s/.*"results":{[^}]*"t_typical":\([0-9.E-]*\).*/\1 us/p
      s/.*"mfps":\([0-9.E-]*\).*/\1 Mframe\/s there and back/p' "$file" | head -n 1
  } | awk '{ figure = sprintf("%.4g", $1); $1 = ""; print figure $0 }'
}

# Figures side by side: what the transport's tools measured, and perftest on the same device.
hardware_figures() {
  local file figure
  if [ -n "${CONNECTX_EMULATOR_WIRES:-}" ]; then
    printf '\n**The device is emulated: its rates and times say nothing about a card.**\n' >>"$hardware_out/REPORT.md"
  fi
  printf '\n| measured by | figure |\n|---|---|\n' >>"$hardware_out/REPORT.md"
  for file in "$hardware_out"/*-{bw,lat,echo-*}.txt; do
    [ -f "$file" ] || continue
    figure="$(hardware_figure "$file" | tail -n 1)"
    file="$(basename "$file" .txt)"
    printf '| %s | %s |\n' "${file#*-}" "${figure:-none}" >>"$hardware_out/REPORT.md"
  done
}

# What a reader of the report alone has to know of the card and its host.
hardware_facts() {
  local key
  {
    printf '\n| host and card | |\n|---|---|\n'
    printf '| kernel | %s |\n' "$(uname -srm)"
    printf '| processor | %s |\n' "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1)"
    printf '| lockable memory (KiB) | %s |\n' "$(ulimit -l)"
    for key in hca_id fw_ver board_id vendor_part_id link_layer active_mtu; do
      sed -n "s/^[[:space:]]*$key:[[:space:]]*\(.*[^[:space:]]\)[[:space:]]*\$/| $key | \1 |/p" \
        "$hardware_out"/*-ibv-devinfo.txt 2>/dev/null | head -1 || true
    done
    for key in driver version firmware-version; do
      sed -n "s/^$key: \(.*\)\$/| ethtool: $key | \1 |/p" "$hardware_out"/*-ethtool.txt 2>/dev/null | head -1 || true
    done
    sed -n 's/^\(libibverbs1\|ibverbs-providers\|perftest\)[:a-z0-9]*[[:space:]]\+\(.*\)$/| \1 | \2 |/p
      s/^openjdk version "\(.*\)".*/| Java | \1 |/p
      s/^\([0-9a-f]\{40\}\) .*/| this project, commit | \1 |/p' "$hardware_out"/*-host.txt 2>/dev/null || true
  } >>"$hardware_out/REPORT.md"
}

# What each failed step printed at its end, so that the report says by itself what went wrong. Maven ends with advice;
# which test failed, and how, stands above that.
hardware_list_failures() {
  local file lines
  for file in "${hardware_failures[@]}"; do
    lines="$(grep -E '^\[ERROR\] (  [A-Z]|Tests run: .*(Failures|Errors): [1-9])' "$hardware_out/$file" | head -n 25)" || true
    printf '\n### %s\n\n~~~\n%s\n~~~\n' "$(basename "$file" .txt)" \
      "${lines:-$(tail -n 25 "$hardware_out/$file")}"
  done >>"$hardware_out/REPORT.md"
}

hardware_skip() {
  printf '| %s | | left out: %s | | |\n' "$1" "$2" >>"$hardware_out/REPORT.md"
}

# A program of the system's, if it is installed.
hardware_program() {
  local name="$1" right="$2" package="$3"
  shift 3
  if PATH="$PATH:/usr/sbin:/sbin" command -v "$1" >/dev/null; then
    PATH="$PATH:/usr/sbin:/sbin" hardware_step "$name" "$right" "$@"
  else
    hardware_skip "$name" "$1 is not installed (Debian: $package)"
  fi
}

describe_host() {
  # Without the host's name: reports are sent.
  uname -srvmo
  grep -m1 'model name' /proc/cpuinfo
  free -g | head -2
  ulimit -l
  if command -v dpkg-query >/dev/null; then
    dpkg-query -W libibverbs1 ibverbs-providers perftest 2>/dev/null || true
  elif command -v rpm >/dev/null; then
    rpm -q rdma-core libibverbs perftest 2>/dev/null || true
  fi
  "$JAVA_HOME/bin/java" -version 2>&1
  git -C "$ROOT" log -1 --format='%H %cd' 2>/dev/null || true
}

# The conformance suite between the two devices; the module's own reports say which test failed and how.
run_pair_suite() {
  local preload="" sysfs="${SYSFS_PATH:-/sys}" wires="" setup=""
  if [ -n "${CONNECTX_EMULATOR_WIRES:-}" ]; then
    preload="$LD_PRELOAD" wires="$CONNECTX_EMULATOR_WIRES" setup="${CONNECTX_EMULATOR_SETUP:-}"
  fi
  # The devices are for the tests' own JVM: Maven itself runs without.
  # shellcheck disable=SC2016
  env -u LD_PRELOAD -u SYSFS_PATH -u CONNECTX_EMULATOR_WIRES bash -c '
    cd "$1" && timeout 1800 ./mvnw -B -ntp -Pfull -pl testsuite -am test-compile surefire:test@device-pair \
      -Dtest="DevicePairConformanceTest*" -Dsurefire.failIfNoSpecifiedTests=false \
      "-Dpair.preload=$2" "-Dpair.sysfs=$3" "-Dpair.wires=$4" "-Dpair.setup=$5" "-Dpair.sender=$6" "-Dpair.receiver=$7"
    ' suite "$ROOT" "$preload" "$sysfs" "$wires" "$setup" "$1" "$2"
}

# The port that the transport uses, as doctor has named it. In switchdev mode it is not the first one.
hardware_port() {
  local port
  port="$(sed -n 's/^ *[A-Z]* *port \([0-9][0-9]*\) .*/\1/p' "$hardware_out"/*-doctor.txt 2>/dev/null | head -1)" || true
  echo "${port:-1}"
}

# The interface of a port in devinfo's JSON; nothing where it is in another network namespace.
hardware_netdev() {
  grep -Eo "\"port\" *: *$1,[^{}]*\"netdev\" *: *\"[^\" ]*\"" | sed 's/.*"\([^"]*\)"$/\1/'
}

# What the kernel says of the port's network interface.
hardware_interface() {
  local netdev
  # A device that cannot be opened has failed a step already.
  netdev="$("$ROOT/rdma-raw" devinfo --device "$1" --json 2>/dev/null | hardware_netdev "$(hardware_port)")" || true
  if [ -z "$netdev" ] || [ ! -e "/sys/class/net/$netdev" ]; then
    hardware_skip "netdev, ethtool" "the port's interface is not to be seen here"
    return
  fi
  hardware_program netdev "it is up; a VF shows its trust and spoof check at the PF" iproute2 ip -d link show "$netdev"
  hardware_program ethtool "driver and firmware" ethtool ethtool -i "$netdev"
}

# Both ends on one port. The emulated pair has a cable in each port, where a port of its own is wanted.
hardware_own_frames() {
  if [ -n "${CONNECTX_EMULATOR_WIRES:-}" ]; then
    env -u LD_PRELOAD -u SYSFS_PATH -u CONNECTX_EMULATOR_WIRES "$ROOT/rdma-raw" demo --device emulated --seconds 3 \
      --window 64 --json
  else
    "$ROOT/rdma-raw" demo --device "$1" --seconds 3 --window 64 --json
  fi
}

# A text as a pattern of sed's that matches it alone.
hardware_literally() {
  # shellcheck disable=SC2001  # a pattern replacement of bash has no reference to the match
  sed 's/[][\\.*^$|]/\\&/g' <<<"$1"
}

# One file to send. Paths are of no use to its reader.
hardware_pack() {
  local name home="${HOME:-}"
  name="$(basename "$hardware_out")"
  home="${home%/}"
  sed -i -e "s|$(hardware_literally "$ROOT")|CLONE|g" -e "s|$(hardware_literally "${home:-/nonexistent}/")|~/|g" \
    "$hardware_out"/REPORT.md "$hardware_out"/[0-9][0-9]-*.txt*
  tar -czf "$hardware_out.tar.gz" -C "$(dirname "$hardware_out")" "$name"
  say "hardware-check: all of it is in $hardware_out.tar.gz; please attach that file to your report. It has the port's MAC" \
    "and IP addresses, versions of programs and what the steps printed: look before you send it"
}

hardware_steps_of_one() {
  local device="$1" peer="$2"
  hardware_step host "what it is" describe_host
  hardware_program ibv-devinfo "the device and its port are there" ibverbs-utils ibv_devinfo -v -d "$device"
  hardware_step doctor "nothing is missing" "$ROOT/rdma-raw" doctor --device "$device"
  hardware_step devinfo "the device, asked from Java" "$ROOT/rdma-raw" devinfo --device "$device"
  if [ -n "${CONNECTX_EMULATOR_WIRES:-}" ] && [ "$peer" != "" ]; then
    # Both ends of an emulated cable are in one process, and perftest opens one of them: the other takes no frame off it.
    hardware_skip raw-ethernet-bw "on an emulated cable perftest has no other end"
  else
    hardware_program raw-ethernet-bw "perftest sends; a figure to compare with" perftest raw_ethernet_bw --client \
      -d "$device" -i "$(hardware_port)" -E 02:00:00:00:00:02 -B 02:00:00:00:00:01 -D 5 -s 64 -F
  fi
  hardware_program rdma-link "the port's netdev is named, if it is in this network namespace" iproute2 rdma link show
  hardware_interface "$device"
  hardware_step own-frames "frames of the port's own come back to queue pairs that ask for them" \
    hardware_own_frames "$device"
  hardware_step flow-rate "rules come and go" "$ROOT/rdma-raw" flow-rate --device "$device"
  hardware_step flow-rate-of-two "the same from two threads; the rate shows whether they wait for each other" \
    "$ROOT/rdma-raw" flow-rate --device "$device" --threads 2
}

# Frames there and back through the transport's channels, each verified: by one of the ways in which it can drive a
# device. On a device that has not got one of them another is used, and the report says which one it was.
hardware_echo() {
  local name="$1" options="$2" device="$3" peer="$4"
  hardware_step "$name" "frames come back, none lost or changed; \"queues\" says by what" \
    env RDMA_RAW_JAVA_OPTS="${RDMA_RAW_JAVA_OPTS:-} $options" "$ROOT/rdma-raw" demo \
    --device "$device" --echo-device "$peer" --seconds 5 --window 64 --json
}

hardware_echoes() {
  local device="$1" peer="$2" direct=io.rdmaraw.directVerbs compressed=io.rdmaraw.compressedCompletions
  local striding=io.rdmaraw.stridingReceive several=io.rdmaraw.multiPacketRequests
  hardware_echo echo-calls "-D$direct=never" "$device" "$peer"
  hardware_echo echo-auto "-D$direct=auto" "$device" "$peer"
  hardware_echo echo-multi-packet "-D$direct=auto -D$several=true" "$device" "$peer"
  hardware_echo echo-compressed "-D$direct=auto -D$compressed=true" "$device" "$peer"
  hardware_echo echo-striding "-D$direct=auto -D$striding=auto" "$device" "$peer"
  hardware_echo echo-striding-compressed "-D$direct=auto -D$compressed=true -D$striding=auto" "$device" "$peer"
  hardware_list_queues
}

# Which of them ran, in the report itself.
hardware_list_queues() {
  local file
  for file in "$hardware_out"/*-echo-*.txt; do
    file="$(basename "$file" .txt)"
    printf '| %s ran by | | %s | | |\n' "${file#*-}" \
      "$(sed -n 's/.*"queues" *: *"\([^"]*\)".*/\1/p' "$hardware_out/$file.txt")" >>"$hardware_out/REPORT.md"
  done
}

hardware_steps_of_two() {
  local device="$1" peer="$2"
  if [ "$device" != "$peer" ]; then
    hardware_step conformance "every test passes" run_pair_suite "$device" "$peer"
    # Maven has just written into target/; what is measured next must not stop to build.
    touch "$BUILD_STAMP"
  else
    hardware_skip conformance "it needs a second device: --peer"
  fi
  hardware_step bw "frames arrive; none is lost below saturation" "$ROOT/rdma-raw" bw --device "$device" \
    --server-device "$peer" --json
  hardware_step bw-all-lengths "the same for each length" "$ROOT/rdma-raw" bw --device "$device" \
    --server-device "$peer" --all --json
  hardware_step lat "round trips" "$ROOT/rdma-raw" lat --device "$device" --server-device "$peer" --json
  hardware_step sockets "TCP and UDP over IPv4 and IPv6: each byte comes back, by each loop of the server" \
    hardware_sockets "$device" "$peer"
  hardware_echoes "$device" "$peer"
}

# The server is a process of its own, except on an emulated cable, which has both ends in one process.
hardware_sockets() {
  local server status=0 began="$SECONDS" log="$hardware_out/sockets-server.txt" demo=("$ROOT/rdma-raw" demo sockets --device "$1"
    --echo-device "$2")
  if [ -n "${CONNECTX_EMULATOR_WIRES:-}" ]; then
    timeout 900 "${demo[@]}" --json
    return
  fi
  # The server may not end by SIGTERM if its card does not answer.
  timeout -k 10 1000 "${demo[@]}" --role server >"$log" 2>&1 &
  server=$!
  until grep -q "is listening on" "$log" || ! kill -0 "$server" 2>/dev/null; do
    if [ $((SECONDS - began)) -ge "$HARDWARE_SERVER_SECONDS" ]; then
      echo "The server was not ready within $HARDWARE_SERVER_SECONDS s. Its output follows."
      status=1
      break
    fi
    sleep 0.2
  done
  [ "$status" != 0 ] || timeout 900 "${demo[@]}" --role client --json || status=$?
  kill "$server" 2>/dev/null || true
  wait "$server" || true
  cat "$log" && rm "$log"
  return "$status"
}

# A name that is none is refused before anything is measured; a device that is there and does not open is not.
hardware_require_device() {
  local said
  said="$("$ROOT/rdma-raw" devinfo --device "$1" 2>&1 >/dev/null)" && return
  # A card whose libraries or device files are missing does not show either: what is wrong with it the steps tell.
  [ ! -e "/sys/class/infiniband/$1" ] || return 0
  if grep -Eq 'there is no RDMA device|has no RDMA device behind it|there is no software device' <<<"$said"; then
    give_up "hardware-check: $(grep -Eo '(there is no RDMA device|the network interface|there is no software device).*' <<<"$said" | head -1)"
  fi
}

# Where the report goes: a directory of its own, which no other run writes to.
hardware_begin_report() {
  if ! mkdir -p "$hardware_out" 2>/dev/null || ! [ -w "$hardware_out" ]; then
    give_up "hardware-check: the report cannot be written to $hardware_out: name a directory of yours by --out DIR"
  fi
  # The archive is named after the directory, so a name such as "report//" or "." has to be resolved.
  hardware_out="$(CDPATH='' cd -- "$hardware_out" && pwd)"
  exec 8<"$hardware_out"
  ! command -v flock >/dev/null || flock -n 8 || give_up "hardware-check: another run writes to $hardware_out: wait for its end, or name another by --out DIR"
  rm -f "$hardware_out"/[0-9][0-9]-*.txt{,.part}
  printf '# Hardware check of %s\n\n%s\n\n%s\n\n| step | expected | verdict | time | output |\n|---|---|---|---|---|\n' \
    "$1" "$(date -u +%FT%TZ)" "$HARDWARE_UNDER_WAY" >"$hardware_out/REPORT.md"
}

run_hardware_check() {
  local device="" peer="" setup=""
  hardware_out=hardware-report
  while [ $# -gt 0 ]; do
    case "$1" in
      -h | --help) hardware_usage && return ;;
      --device=* | --peer=* | --out=* | --setup=*) set -- "${1%%=*}" "${1#*=}" "${@:2}" ;;
      -d | --device | --peer | --out | --setup)
        [ -n "${2:-}" ] || die "hardware-check: $1 wants a value: ./rdma-raw hardware-check --help"
        case "$1" in
          -d | --device) device="$2" ;;
          --peer) peer="$2" ;;
          --out) hardware_out="$2" ;;
          --setup) setup="$2" ;;
        esac
        shift 2
        ;;
      -*) die "hardware-check has no option '$1': ./rdma-raw hardware-check --help" ;;
      *)
        [ -z "$device" ] || die "hardware-check takes one device, not '$device' and '$1': a second one is --peer"
        device="$1" && shift
        ;;
    esac
  done
  [ -n "$device" ] || die "hardware-check wants a device, such as mlx5_0: ./rdma-raw hardware-check --help"
  require_jdk
  require_built
  if [ "$device" = emulated ]; then
    require_rdma_core
    exec "$ROOT/transport-rdma-raw-native/connectx-emulator/emulate.sh" --wire cable --wire cable ${setup:+--setup "$setup"} -- \
      "$ROOT/rdma-raw" hardware-check --device mlx5_0 --peer mlx5_1 --out "$hardware_out"
  fi
  hardware_require_device "$device"
  [ -z "$peer" ] || hardware_require_device "$peer"
  hardware_steps=0
  hardware_failed=0
  hardware_failures=()
  hardware_running=""
  # Of the device itself, by programs of the system, of frames from end to end, the ways of driving it; the suite with
  # two devices only.
  hardware_total=$((6 + 5 + 3 + 1 + 6 + (${#peer} > 0 ? 1 : 0)))
  hardware_begin_report "$device${peer:+ and $peer}"
  trap 'hardware_interrupted 130' INT
  trap 'hardware_interrupted 143' TERM
  hardware_steps_of_one "$device" "$peer"
  # Frames to itself show everything of the transport but the cable.
  hardware_steps_of_two "$device" "${peer:-$device}"
  hardware_conclude "$hardware_failed of $hardware_steps steps failed."
  [ "$hardware_failed" = 0 ]
}
