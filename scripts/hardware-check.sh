# shellcheck shell=bash
# ./rdma-raw hardware-check: goes through what only a card can show, step by step, and writes a report. See
# docs/cards.md.

hardware_usage() {
  cat <<'USAGE'
usage: ./rdma-raw hardware-check DEVICE [--peer D] [--out DIR] [--setup WORDS]

Checks everything that only a card can show, and writes a report: docs/cards.md.

  DEVICE, -d D, --device D
               the RDMA device, such as mlx5_0; emulated: a pair of emulated ones, to see what this does
  --peer D     a second device that the first reaches by a cable or a switch; without one the device's own loopback is
               measured, and the conformance suite, which needs two, is left out
  --out DIR    where the report goes (hardware-report); DIR/REPORT.md is the summary, and DIR.tar.gz all of it: the one
               file to send
  --setup WORDS  of an emulated pair: how host and card are set up, such as vf or roce-off; see docs/hardware.md

It takes about four minutes, and two without a second device; a step is ended after 15 minutes, the suite after 30.

Exit codes: 0 every step is right; 1 a step failed; 2 wrong arguments, or something that is needed is missing.
USAGE
}

# Runs one step: its name, what makes it right, and the command. What it prints goes to a file of its own.
hardware_step() {
  local name="$1" right="$2" file status=0 verdict=ok started="$SECONDS"
  shift 2
  hardware_steps=$((hardware_steps + 1))
  file="$(printf '%02d-%s.txt' "$hardware_steps" "$name")"
  say "hardware-check: $hardware_steps of at most $hardware_total: $name"
  printf '$ %s\n' "$*" >"$hardware_out/$file"
  # A function of this script can't be run by timeout; those bound themselves.
  if declare -F "$1" >/dev/null; then
    "$@" >>"$hardware_out/$file" 2>&1 </dev/null || status=$?
  else
    timeout 900 "$@" >>"$hardware_out/$file" 2>&1 </dev/null || status=$?
  fi
  if [ "$status" = 0 ] && hardware_moved_nothing "$hardware_out/$file"; then
    status="no frames"
  fi
  if [ "$status" != 0 ]; then
    verdict="FAILED ($status)"
    hardware_failed=$((hardware_failed + 1))
    hardware_failures+=("$file")
  fi
  printf '| %s | %s | %s | %s s | [%s](%s) |\n' "$name" "$right" "$verdict" $((SECONDS - started)) "$file" "$file" \
    >>"$hardware_out/REPORT.md"
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
      s/^\([0-9a-f]\{40\}\) .*/| this project, commit | \1 |/p' "$hardware_out"/*-host.txt
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
  uname -a
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
  local preload="" sysfs="${SYSFS_PATH:-/sys}" wires=""
  if [ -n "${CONNECTX_EMULATOR_WIRES:-}" ]; then
    preload="$LD_PRELOAD" wires="$CONNECTX_EMULATOR_WIRES"
  fi
  # The devices are for the tests' own JVM: Maven itself runs without.
  # shellcheck disable=SC2016
  env -u LD_PRELOAD -u SYSFS_PATH -u CONNECTX_EMULATOR_WIRES bash -c '
    cd "$1" && timeout 1800 ./mvnw -B -ntp -pl testsuite -am test-compile surefire:test@device-pair \
      -Dtest="DevicePairConformanceTest*" -Dsurefire.failIfNoSpecifiedTests=false \
      "-Dpair.preload=$2" "-Dpair.sysfs=$3" "-Dpair.wires=$4" "-Dpair.sender=$5" "-Dpair.receiver=$6"
    ' suite "$ROOT" "$preload" "$sysfs" "$wires" "$1" "$2"
}

# What the kernel says of the port's network interface. None where it is in another network namespace.
hardware_interface() {
  local netdev
  netdev="$("$ROOT/rdma-raw" devinfo --device "$1" --json 2>/dev/null |
    sed -n 's/.*"netdev" *: *"\([^" ]*\)".*/\1/p' | head -1)"
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

# One file to send.
hardware_pack() {
  local name
  name="$(basename "$hardware_out")"
  tar -czf "$hardware_out.tar.gz" -C "$(dirname "$hardware_out")" "$name"
  say "hardware-check: all of it is in $hardware_out.tar.gz; please attach that file to your report"
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
      -d "$device" -E 02:00:00:00:00:02 -B 02:00:00:00:00:01 -D 5 -s 64 -F
  fi
  hardware_program rdma-link "the port's netdev is named, if it is in this network namespace" iproute2 rdma link show
  hardware_interface "$device"
  hardware_step own-frames "frames of the port's own come back to queue pairs that ask for them" \
    hardware_own_frames "$device"
  hardware_step flow-rate "rules come and go" "$ROOT/rdma-raw" flow-rate --device "$device"
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
  hardware_echoes "$device" "$peer"
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
  mkdir -p "$hardware_out"
  hardware_steps=0
  hardware_failed=0
  hardware_failures=()
  # Of the device itself, by programs of the system, of frames from end to end, the ways of driving it; the suite with
  # two devices only.
  hardware_total=$((5 + 5 + 3 + 6 + (${#peer} > 0 ? 1 : 0)))
  printf '# Hardware check of %s\n\n%s\n\n| step | expected | verdict | time | output |\n|---|---|---|---|---|\n' \
    "$device${peer:+ and $peer}" "$(date -u +%FT%TZ)" >"$hardware_out/REPORT.md"
  hardware_steps_of_one "$device" "$peer"
  # Frames to itself show everything of the transport but the cable.
  hardware_steps_of_two "$device" "${peer:-$device}"
  hardware_figures
  hardware_facts
  printf '\n%s of %s steps failed.\n' "$hardware_failed" "$hardware_steps" >>"$hardware_out/REPORT.md"
  hardware_list_failures
  cat "$hardware_out/REPORT.md"
  hardware_pack
  [ "$hardware_failed" = 0 ]
}
