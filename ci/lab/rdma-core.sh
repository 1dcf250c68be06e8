# shellcheck shell=bash
# ./rdma-raw test --rdma-core VERSION: the tests of the emulated ConnectX on another generation of rdma-core than the
# installed one, unmodified: Debian's packages of it, unpacked beside the system's and laid over them in a mount namespace
# that ends with the tests. Nothing is installed. The C library comes along: the packages were built for that suite's.

readonly RDMA_CORE_PACKAGES=(libibverbs1 ibverbs-providers libnl-3-200 libnl-route-3-200 libc6)
readonly RDMA_CORE_LIBRARIES=/usr/lib/x86_64-linux-gnu

# The suite of Debian that has a generation; prints nothing for an unknown one.
rdma_core_suite() {
  case "$1" in
    44) echo bookworm ;;
    56) echo trixie ;;
    65) echo sid ;;
  esac
}

# DIRECTORY/root is what lies over the system.
unpack_rdma_core() {
  local suite="$1" directory="$2"
  unpack_of_suite "rdma-core" "$suite" "$directory" alone "${RDMA_CORE_PACKAGES[@]}"
  # Before merged /usr they are in /lib.
  if [ -d "$directory/root/lib/x86_64-linux-gnu" ] && [ ! -L "$directory/root/lib" ]; then
    # A second run must not write to libraries that the first one runs on.
    cp -a --update "$directory/root/lib/x86_64-linux-gnu/." "$directory/root$RDMA_CORE_LIBRARIES/"
  fi
}

# Runs a program where the unpacked libraries lie over the system's.
over_rdma_core() {
  local directory="$1"
  shift
  # shellcheck disable=SC2016
  unshare -m bash -c '
    set -euo pipefail
    mount -t overlay -o "lowerdir=$1/root$2:$2" overlay "$2"
    [ ! -d "$1/root/etc/libibverbs.d" ] || mount --bind "$1/root/etc/libibverbs.d" /etc/libibverbs.d
    shift 2
    exec "$@"' over "$directory" "$RDMA_CORE_LIBRARIES" "$@"
}

# The emulator's own tests in C, by both ABIs of uverbs, on one port, with a loopback connector and over a cable.
run_emulator_tests() {
  local native="$ROOT/transport-rdma-raw-native" abi wires status=0
  readlink -f "$RDMA_CORE_LIBRARIES/libibverbs.so.1" "$RDMA_CORE_LIBRARIES/libmlx5.so.1" "$RDMA_CORE_LIBRARIES/libc.so.6"
  for abi in write ioctl; do
    for wires in "--wire plug" "--wire loop" "--wire cable --wire cable"; do
      echo "== the emulator's tests in C, $abi ABI, $wires"
      # shellcheck disable=SC2086
      timeout 120 "$native/connectx-emulator/emulate.sh" $wires --abi "$abi" "$native/target/native/emulator-test" ||
        status=1
    done
  done
  return "$status"
}

run_rdma_core_tests() {
  local version="$1" suite directory status=0
  shift
  suite="$(rdma_core_suite "$version")"
  [ -n "$suite" ] || die "rdma-core $version is none of 44 (Debian 12), 56 (Debian 13), 65 (sid)"
  [ "$(id -u)" = 0 ] || give_up "laying other libraries over the system's takes root, for a mount namespace"
  command -v dpkg-deb >/dev/null || give_up "the generations are those of Debian's packages: run this on Debian or Ubuntu"
  directory="$ROOT/transport-rdma-raw-native/target/rdma-core/$suite"
  require_jdk
  require_built
  require_rdma_core
  unpack_rdma_core "$suite" "$directory"
  say "on $(tr '\n' ' ' <"$directory/complete")"
  make -s -C "$ROOT/transport-rdma-raw-native" target/native/emulator-test
  over_rdma_core "$directory" bash "${BASH_SOURCE[0]}" emulator-tests "$ROOT" || status=1
  # The executions on the emulated device alone: no other test uses rdma-core.
  remove_old_test_reports "$ROOT"
  over_rdma_core "$directory" "$ROOT/mvnw" -f "$ROOT/pom.xml" -B -ntp -Pfull -fae -Dmaven.test.failure.ignore=true \
    -pl transport-rdma-raw -am test-compile -DskipNativeTests surefire:test@emulated-calls \
    surefire:test@emulated-rings surefire:test@emulated-compressed surefire:test@emulated-striding "$@" || status=$?
  over_rdma_core "$directory" "$ROOT/mvnw" -f "$ROOT/pom.xml" -B -ntp -Pfull -fae -Dmaven.test.failure.ignore=true \
    -pl testsuite -am test-compile -DskipNativeTests surefire:test@emulated-ioctl surefire:test@emulated-write \
    -Dtest='EmulatedConformanceTest*' -Dsurefire.failIfNoSpecifiedTests=false "$@" || status=$?
  print_test_summary "$ROOT" "$status" || status=1
  return "$status"
}

# Called in the mount namespace.
if [ "${1:-}" = emulator-tests ] && [ "${BASH_SOURCE[0]}" = "$0" ]; then
  ROOT="$2"
  run_emulator_tests
fi
