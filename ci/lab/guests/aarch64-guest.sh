#!/bin/bash
# The first program of the machine of `./rdma-raw test --aarch64`: runs what ci/lab/aarch64-machine.sh asks for, by
# functions of kernel-guest.sh, says on the console how each step ended, and switches the machine off.
set -uo pipefail
export PATH=/opt/java/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8
# The compiler of the server's code would take longer than it saves where the processor is emulated.
export JDK_JAVA_OPTIONS="-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"

boot() {
  local module
  mount -t proc proc /proc
  mount -t sysfs sysfs /sys
  mount -t devtmpfs dev /dev
  mkdir -p /dev/pts /dev/shm
  mount -t devpts devpts /dev/pts
  for directory in /dev/shm /run /tmp; do
    mount -t tmpfs tmpfs "$directory"
  done
  mount -t bpf bpf /sys/fs/bpf
  ln -sf /proc/self/fd /dev/fd
  while IFS= read -r module; do
    modprobe -q "$module" || true
  done </etc/modules
  ip link set lo up
}

# step NAME COMMAND...: a line with its status and how long it took, behind all that it prints.
step() {
  local name="$1" status=0 started="$SECONDS"
  shift
  echo "== $name"
  "$@" </dev/null || status=$?
  echo "@@ $status $name ($((SECONDS - started)) s)"
}

# A server of the example, and curl in the namespace of the other end.
http() {
  local mode="$1" status=0 bytes digest
  read -r bytes digest </opt/rdma-raw/download
  /guest.sh start_http "$mode" "$2" 192.0.2.1 || return
  ip netns exec peer /guest.sh ask_http 192.0.2.1 "$bytes" "$digest" || status=1
  /guest.sh kill_http || status=1
  return "$status"
}

# What threads share without locks in Java, compiled in one way. The emulated processor keeps the order of the host's, so
# this shows what the JVM's compiler for Arm does to it, and not what such a processor may exchange.
jcstress() {
  local status=0 libraries
  libraries="$(printf '%s:' /opt/rdma-raw/jcstress/lib/*.jar)"
  cd /tmp || return
  env -u JDK_JAVA_OPTIONS java -cp "/opt/rdma-raw/jcstress/classes:$libraries" org.openjdk.jcstress.Main -v \
    -t 'io\.rdmaraw\..*' -f 1 -fsm 1 -c 2 -sc false -iters 1 -time 500 -r /tmp/jcstress \
    -jvmArgs "--enable-native-access=ALL-UNNAMED -XX:-TieredCompilation" >/tmp/jcstress.log 2>&1 || status=$?
  grep -E '\[(OK|FAILED|ERROR)\] io\.rdmaraw\.' /tmp/jcstress.log | sort -u
  [ "$status" = 0 ] || tail -n 60 /tmp/jcstress.log
  # jcstress passes over a test whose classes cannot be linked, and that is no failure of it.
  [ "$(grep -oE '\[OK\] io\.rdmaraw\.\S+' /tmp/jcstress.log | sort -u | wc -l)" = "$(cat /opt/rdma-raw/jcstress/tests)" ] ||
    return 1
  return "$status"
}

switch_off() {
  sync
  echo o >/proc/sysrq-trigger
  sleep 60
}

boot
echo "== $(uname -srm), $(getconf GNU_LIBC_VERSION 2>/dev/null)"
step "a veth pair" /guest.sh make_veth
while IFS= read -r test; do
  step "tests in C: $test" /guest.sh run_c_tests "$test"
done </opt/rdma-raw/c-tests
step "HTTP over soft:xdp, generic" http generic soft:xdp:rr0
step "HTTP over soft:packet" http "" soft:packet:rr0
step "jcstress" jcstress
switch_off
