# shellcheck shell=bash
# ./rdma-raw hardware-check: goes through what only a card can show, step by step, and writes a report. See
# docs/hardware.md.

hardware_usage() {
  cat <<'USAGE'
usage: ./rdma-raw hardware-check --device D [--peer D] [--out DIR]

  --device D   the RDMA device, such as mlx5_0; emulated: a pair of emulated ones, to see what this does
  --peer D     a second device that the first reaches by a cable or a switch; without one, what needs two is left out
  --out DIR    where the report goes (hardware-report); DIR/REPORT.md is the summary
USAGE
}

# Runs one step: its name, what makes it right, and the command. What it prints goes to a file of its own.
hardware_step() {
  local name="$1" right="$2" file status=0 verdict=ok started="$SECONDS"
  shift 2
  hardware_steps=$((hardware_steps + 1))
  file="$(printf '%02d-%s.txt' "$hardware_steps" "$name")"
  say "hardware-check: $name"
  printf '$ %s\n' "$*" >"$hardware_out/$file"
  # A function of this script can't be run by timeout; those bound themselves.
  if declare -F "$1" >/dev/null; then
    "$@" >>"$hardware_out/$file" 2>&1 </dev/null || status=$?
  else
    timeout 900 "$@" >>"$hardware_out/$file" 2>&1 </dev/null || status=$?
  fi
  if [ "$status" != 0 ]; then
    verdict="FAILED ($status)"
    hardware_failed=$((hardware_failed + 1))
  fi
  printf '| %s | %s | %s | %s s | [%s](%s) |\n' "$name" "$right" "$verdict" $((SECONDS - started)) "$file" "$file" \
    >>"$hardware_out/REPORT.md"
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

hardware_steps_of_one() {
  local device="$1"
  hardware_step host "what it is" describe_host
  hardware_program ibv-devinfo "the device and its port are there" ibverbs-utils ibv_devinfo -v -d "$device"
  hardware_step doctor "nothing is missing" "$ROOT/rdma-raw" doctor --device "$device"
  hardware_step devinfo "the device, asked from Java" "$ROOT/rdma-raw" devinfo --device "$device"
  hardware_program raw-ethernet-bw "perftest sends; a figure to compare with" perftest raw_ethernet_bw --client \
    -d "$device" -E 02:00:00:00:00:02 -B 02:00:00:00:00:01 -D 5 -s 64 -F
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
  local striding=io.rdmaraw.stridingReceive
  hardware_echo echo-calls "-D$direct=never" "$device" "$peer"
  hardware_echo echo-auto "-D$direct=auto" "$device" "$peer"
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
  hardware_step conformance "every test passes" run_pair_suite "$device" "$peer"
  hardware_step bw "frames arrive; none is lost below saturation" "$ROOT/rdma-raw" bw --device "$device" \
    --server-device "$peer" --json
  hardware_step bw-all-lengths "the same for each length" "$ROOT/rdma-raw" bw --device "$device" \
    --server-device "$peer" --all --json
  hardware_step lat "round trips" "$ROOT/rdma-raw" lat --device "$device" --server-device "$peer" --json
  hardware_echoes "$device" "$peer"
}

run_hardware_check() {
  local device="" peer=""
  hardware_out=hardware-report
  while [ $# -gt 0 ]; do
    case "$1" in
      -d | --device) device="${2:?--device needs a name}" && shift 2 ;;
      --peer) peer="${2:?--peer needs a name}" && shift 2 ;;
      --out) hardware_out="${2:?--out needs a directory}" && shift 2 ;;
      -h | --help) hardware_usage && return ;;
      *) hardware_usage >&2 && die "unknown option '$1'" ;;
    esac
  done
  [ -n "$device" ] || { hardware_usage >&2 && die "which device?"; }
  require_jdk
  require_built
  if [ "$device" = emulated ]; then
    require_rdma_core
    exec "$ROOT/transport-rdma-raw-native/connectx-emulator/emulate.sh" --wire cable --wire cable -- \
      "$ROOT/rdma-raw" hardware-check --device mlx5_0 --peer mlx5_1 --out "$hardware_out"
  fi
  mkdir -p "$hardware_out"
  hardware_steps=0
  hardware_failed=0
  printf '# Hardware check of %s\n\n%s\n\n| step | right if | verdict | time | output |\n|---|---|---|---|---|\n' \
    "$device${peer:+ and $peer}" "$(date -u +%FT%TZ)" >"$hardware_out/REPORT.md"
  hardware_steps_of_one "$device"
  if [ -n "$peer" ]; then
    hardware_steps_of_two "$device" "$peer"
  else
    hardware_skip "conformance, bw, lat, echo" "they need a second device: --peer"
  fi
  printf '\n%s of %s steps failed.\n' "$hardware_failed" "$hardware_steps" >>"$hardware_out/REPORT.md"
  cat "$hardware_out/REPORT.md"
  [ "$hardware_failed" = 0 ]
}
