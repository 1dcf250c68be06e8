# shellcheck shell=bash
# Judge: packetdrill's scripts and those of Linux's selftests, on the TCP core in virtual time; needs --source
#
# The directory of --source contains packetdrill/, a clone of google/packetdrill, and linux/, with
# tools/testing/selftests/net/packetdrill of a kernel.

readonly PACKETDRILL_COMMIT=2c4001c4d6fc04a3bbd01d4b92be62717a37648a
readonly LINUX_SCRIPTS=tools/testing/selftests/net/packetdrill
# The hash of the names and contents of Linux's scripts, of linux-source-7.2 (7.2.13-1) of Debian.
readonly LINUX_HASH=aa410bebeead01bb
readonly PARALLEL=4

packetdrill_packages() {
  local -a missing
  mapfile -t missing < <(missing_packages cc:gcc make:make bison:bison flex:flex ip:iproute2 git:git python3:python3)
  [ "${#missing[@]}" -gt 0 ] || return 0
  { can_install_packages && apt_install "${missing[@]}"; } || die "install ${missing[*]}"
}

linux_hash() {
  (cd "$SOURCE/linux/$LINUX_SCRIPTS" && find . -name '*.pkt' -o -name '*.sh' -o -name '*.py' | sort | xargs sha256sum |
    sha256sum | cut -c1-16)
}

packetdrill_sources() {
  local commit
  [ -n "$SOURCE" ] || die "give --source DIR with packetdrill/ and linux/ in it; ci/README.md says how to get them"
  commit="$(git -C "$SOURCE/packetdrill" rev-parse HEAD)" || die "$SOURCE/packetdrill is no clone of google/packetdrill"
  [ "$commit" = "$PACKETDRILL_COMMIT" ] || die "$SOURCE/packetdrill is at $commit, and the page needs $PACKETDRILL_COMMIT"
  [ "$(linux_hash)" = "$LINUX_HASH" ] || die "the scripts in $SOURCE/linux are others ($(linux_hash), not $LINUX_HASH)"
  cp -r "$SOURCE/packetdrill/gtests" "$WORK/google"
  mkdir "$WORK/linux"
  cp -r "$SOURCE/linux/$LINUX_SCRIPTS/." "$WORK/linux"
}

# The sockets' library, the host that it asks, and packetdrill itself.
build_packetdrill() {
  local tool="$WORK/google/net/packetdrill"
  say "building packetdrill: log in $WORK/build.log"
  (cd "$tool" && ./configure && make) >"$WORK/build.log" 2>&1 || die "packetdrill does not build; see $WORK/build.log"
  cc -O2 -Wall -Wextra -Wno-unused-parameter -Werror -shared -fPIC -I "$tool" -o "$WORK/sockets.so" \
    "$JUDGES/packetdrill/sockets.c" -ldl
  "$ROOT/rdma-raw" sim --seeds 1 >>"$WORK/build.log" 2>&1 || die "./rdma-raw sim --seeds 1 fails; see $WORK/build.log"
  CORE="$ROOT/testsuite/target/*:$ROOT/tools/target/lib/*"
  mkdir "$WORK/classes"
  # A fault of the product is planted in a class that comes before the product's.
  if [ "$PLANT" = product ]; then
    cp "$ROOT/transport-rdma-raw/src/main/java/io/rdmaraw/tcp/TcpConfig.java" "$WORK"
    plant product "$WORK/TcpConfig.java" 'int initialWindowSegments = 10' 'int initialWindowSegments = 2'
    "$JAVA_HOME/bin/javac" -d "$WORK/classes" -cp "$CORE" "$WORK/TcpConfig.java"
  fi
  cp -r "$JUDGES/packetdrill" "$WORK/host"
  plant harness "$WORK/host/ScriptHost.java" 'advanceTo(nowNanos + a\[0\] \* MICRO)' 'advanceTo(nowNanos + a[0] * MICRO * 2)'
  "$JAVA_HOME/bin/javac" -Xlint:all -Werror -d "$WORK/classes" -cp "$WORK/classes:$CORE" "$WORK"/host/*.java
}

# A directory that stands for /proc/sys: the scripts' commands write it, and the host reads it.
settings_template() {
  local file name
  mkdir -p "$WORK/settings/net/ipv4" "$WORK/settings/net/core" "$WORK/settings/net/ipv6"
  for file in /proc/sys/net/ipv4/{tcp,ip}_*; do
    [ ! -f "$file" ] || cat "$file" >"$WORK/settings/${file#/proc/sys/}" 2>/dev/null || true
  done
  # Linux's own default, whichever this host has.
  echo cubic >"$WORK/settings/net/ipv4/tcp_congestion_control"
  while read -r name; do
    [ -e "$WORK/settings/net/ipv4/$name" ] || : >"$WORK/settings/net/ipv4/$name"
  done < <(grep -rhoE 'tcp_[a-z_0-9]+' "$WORK/google/net" "$WORK/linux" --include=*.pkt --include=*.sh | sort -u)
}

# The scripts of a run, one per line. A planted run plays only those that the page says have passed.
scripts_of() {
  (cd "$WORK/$1" && find . -name '*.pkt' | sort) | if [ -z "$PLANT" ]; then cat; else
    grep -Ff <(sed -n "s/^| $1 | \([^ ]*\) | passed |.*/\/\1.pkt/p" "$ROOT/docs/lab/judges.md")
  fi
}

judge() {
  packetdrill_packages
  # shellcheck source=scripts/jdk.sh
  . "$ROOT/scripts/jdk.sh"
  require_jdk
  packetdrill_sources
  build_packetdrill
  settings_template
  "$JAVA_HOME/bin/java" --enable-native-access=ALL-UNNAMED -cp "$WORK/classes:$CORE" PacketdrillHost "$WORK/host.sock" \
    >"$WORK/host.log" 2>&1 &
  local host=$!
  # shellcheck disable=SC2064
  trap "kill $host 2>/dev/null" EXIT
  until grep -q ready "$WORK/host.log"; do
    kill -0 "$host" 2>/dev/null || die "the host ended; see $WORK/host.log"
    sleep 0.1
  done
  export WORK
  local run
  for run in google linux; do
    say "$run: playing $(scripts_of "$run" | wc -l) scripts"
    scripts_of "$run" | (cd "$WORK/$run" && xargs -P "$PARALLEL" -n 1 "$JUDGES/packetdrill/play" "$run") >"$WORK/$run.tsv"
    sort "$WORK/$run.tsv" >>"$WORK/results.tsv"
  done
  local fault=''
  case "$PLANT" in
    product) fault="the initial window is 2 segments instead of 10" ;;
    harness) fault="packetdrill's sleeps take twice as long" ;;
  esac
  write_page --fault "$fault" --version "google/packetdrill ${PACKETDRILL_COMMIT:0:8}, Linux selftests of 7.2.13 ($LINUX_HASH)"
}
