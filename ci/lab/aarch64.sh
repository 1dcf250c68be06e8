# shellcheck shell=bash
# ./rdma-raw test --aarch64: the native part built by Debian's cross compiler, and the tests that need no network interface
# of the kernel run by an arm64 JVM, C library, libibverbs and libmlx5, all under QEMU's emulation of user programs. The
# arm64 packages are unpacked beside the system's and not installed.
#
# Behind them a machine with Debian's kernel for arm64 (aarch64-machine.sh), for what needs a network interface.
#
# An emulated processor keeps the memory order of the one below it, so this shows layouts, calling conventions, byte
# widths and barriers that are missing altogether, not orders that only silicon exchanges.

readonly AARCH64_SUITE=trixie
readonly AARCH64_PACKAGES=(openjdk-25-jre-headless libibverbs1 libibverbs-dev ibverbs-providers libgcc-s1)
readonly AARCH64_PROGRAMS=(aarch64-linux-gnu-gcc:gcc-aarch64-linux-gnu qemu-aarch64-static:qemu-user-static
  cpio:cpio depmod:kmod python3:python3)
# What a processor decides: layouts and numbers against its compiler, native memory and calls, rings and their order,
# parsers, and channels from end to end. An emulated JVM takes a minute for what takes a second, so it is no more.
readonly AARCH64_CLASSES='LayoutTest,Mlx5LayoutTest,LibcTest,FlowSpec*Test,InternetChecksumTest,'\
'HeaderRoundTripTest,FrameParserTest,SlotPoolTest,FrameBufTest,ReceiveRingTest,SlotReceiveRequestsTest,SendRefusalTest,'\
'RdmaRawChannelTest,GroAggregatorTest,UserspaceDatagramTest,UserspaceStreamTest'
readonly AARCH64_CALLS_CLASSES=RdmaRawChannelTest
readonly AARCH64_RINGS_CLASSES='RdmaRawChannelTest,SendDifferenceTest,StridingDifferenceTest,QueuePlacementTest,'\
'UserspaceStreamTest'
readonly AARCH64_SEEDS=500

aarch64_directory() {
  echo "$ROOT/transport-rdma-raw-native/target/aarch64"
}

require_aarch64_tools() {
  local -a missing
  mapfile -t missing < <(missing_packages "${AARCH64_PROGRAMS[@]}")
  # No program tells whether the cross compiler has its headers.
  [ -e /usr/aarch64-linux-gnu/include/stdio.h ] || missing+=(libc6-dev-arm64-cross)
  if [ "${#missing[@]}" -gt 0 ] && ! { can_install_packages && apt_install "${missing[@]}"; }; then
    give_up "building for aarch64 takes a cross compiler and an emulator: sudo apt-get install -y ${missing[*]}"
  fi
  command -v dpkg-deb >/dev/null || give_up "the arm64 libraries are Debian's packages: run this on Debian or Ubuntu"
}

# The arm64 libraries, with the directory layout that their dynamic linker looks for, and the JVM that runs on them.
unpack_aarch64() {
  local directory="$1" link
  # unpack_of_suite reads it.
  # shellcheck disable=SC2034
  local of_architecture=arm64
  unpack_of_suite "Java and libibverbs for arm64" "$AARCH64_SUITE" "$directory" with-dependencies "${AARCH64_PACKAGES[@]}"
  [ -e "$directory/root/lib" ] || ln -s usr/lib "$directory/root/lib"
  # QEMU looks for a path below its root first, and does not do so for what a link names.
  find "$directory/root/usr" "$directory/root/etc" -type l -lname '/*' ! -lname "$directory/*" | while read -r link; do
    ln -sfn "$directory/root$(readlink "$link")" "$link"
  done
}

aarch64_library() {
  echo "$1/classes/META-INF/native/libsoftverbs_linux_aarch_64.so"
}

# Prints the home of the arm64 JRE.
aarch64_jre() {
  compgen -G "$1/root/usr/lib/jvm/java-25-openjdk-arm64" || give_up "there is no arm64 JRE in $1"
}

build_aarch64() {
  local directory="$1"
  make -s -C "$ROOT/transport-rdma-raw-native" CC=aarch64-linux-gnu-gcc BUILD="$directory/native" \
    META_INF="$directory/classes/META-INF" LDFLAGS="-L$directory/root/usr/lib/aarch64-linux-gnu -Wl,--allow-shlib-undefined" \
    all "$directory/native/softverbs-test" "$directory/native/emulator-test"
}

# What runs arm64 programs, and a java of that processor for Maven's test runner, which wants it in a directory bin.
write_aarch64_runners() {
  local directory="$1" jre
  jre="$(aarch64_jre "$directory")"
  mkdir -p "$directory/jvm/bin"
  cat >"$directory/run" <<RUNNER
#!/bin/sh
exec qemu-aarch64-static -L '$directory/root' "\$@"
RUNNER
  # posix_spawn would start the JDK's own helper, an arm64 program that this host's kernel cannot run.
  cat >"$directory/jvm/bin/java" <<JAVA
#!/bin/sh
exec '$directory/run' '$jre/bin/java' -Djdk.lang.Process.launchMechanism=FORK "\$@"
JAVA
  chmod +x "$directory/run" "$directory/jvm/bin/java"
}

run_aarch64_c_tests() {
  local directory="$1" status=0
  echo "== softverbs for aarch64: tests in C"
  SOFTVERBS_TEST_NAMESPACES=never "$directory/run" -E LD_LIBRARY_PATH="$directory/native/lib" \
    "$directory/native/softverbs-test" || status=1
  echo "== the emulated ConnectX under libmlx5 for aarch64: tests in C"
  CONNECTX_EMULATOR_LIBRARY="$directory/native/emulator/libconnectx-emulator.so" \
    "$ROOT/transport-rdma-raw-native/connectx-emulator/emulate.sh" --wire plug "$directory/run" \
    "$directory/native/emulator-test" 2> >(grep -v 'cannot be preloaded' >&2) || status=1
  return "$status"
}

run_aarch64_java_tests() {
  local directory="$1" execution="$2" classes="$3"
  run_maven -B -ntp -Pfull -fae -Dmaven.test.failure.ignore=true -pl transport-rdma-raw -am -DskipNativeTests test-compile \
    "$execution" "-Dtest=$classes" -Dsurefire.failIfNoSpecifiedTests=false "-Djvm=$directory/jvm/bin/java" \
    "-Demulator.dir=$directory/native/emulator" "-Dtest.jvmArgs=--enable-native-access=ALL-UNNAMED \
-Drdmaraw.namespaces=never -Drdmaraw.cc=aarch64-linux-gnu-gcc -Drdmaraw.run=$directory/run \
-Dio.rdmaraw.softverbs.path=$(aarch64_library "$directory")"
}

# Without an argument everything, with `machine` what needs a kernel for arm64.
run_aarch64_tests() {
  local directory status=0 only="${1:-}"
  directory="$(aarch64_directory)"
  [[ "$only" =~ ^(machine)?$ ]] || die "test --aarch64 takes 'machine' or nothing, not '$only'"
  require_jdk
  require_build_tools
  require_aarch64_tools
  require_built
  unpack_aarch64 "$directory"
  say "on $(grep -E '^(openjdk|libibverbs1|libc6)' "$directory/complete" | tr '\n' ' ')"
  build_aarch64 "$directory"
  if [ "$only" = machine ]; then
    run_aarch64_machine "$directory"
    return
  fi
  write_aarch64_runners "$directory"
  "$directory/jvm/bin/java" -version
  run_aarch64_c_tests "$directory" || status=1
  echo "== the TCP core in simulated time, $AARCH64_SEEDS seeds"
  "$directory/jvm/bin/java" --enable-native-access=ALL-UNNAMED -cp "$ROOT/testsuite/target/*:$ROOT/tools/target/lib/*" \
    io.rdmaraw.testsuite.Main --seeds "$AARCH64_SEEDS" || status=1
  remove_old_test_reports "$ROOT"
  run_aarch64_java_tests "$directory" surefire:test@default-test "$AARCH64_CLASSES" || status=1
  run_aarch64_java_tests "$directory" surefire:test@emulated-calls "$AARCH64_CALLS_CLASSES" || status=1
  run_aarch64_java_tests "$directory" surefire:test@emulated-rings "$AARCH64_RINGS_CLASSES" || status=1
  run_aarch64_machine "$directory" || status=1
  print_test_summary "$ROOT" "$status" || status=1
  return "$status"
}
