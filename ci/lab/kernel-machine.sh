# shellcheck shell=bash
# Variables of the run are set by kernels.sh.
# shellcheck disable=SC2153,SC2154
# Machines for `./rdma-raw test --kernels`: Debian's kernels in QEMU, whose processor is emulated, so that it runs anywhere.
# Packages are unpacked below target/kernels/packages and not installed. A machine's files are in its memory: this host's
# programs and JDK, this project's jars and tests. Its interfaces are on bridges in a network namespace of the run.

# Programs that this host lends to the machines and that make their images, as PROGRAM:PACKAGE.
readonly KERNEL_PROGRAMS=(cpio:cpio depmod:kmod ip:iproute2 ethtool:ethtool tcpdump:tcpdump ping:iputils-ping curl:curl
  python3:python3)
# What machines have of this host's programs, where it has them.
readonly KERNEL_GUEST_PROGRAMS=(bash sh mount umount cat grep sed awk head tail cut tr sort wc ls ln mkdir rm cp mv chmod
  readlink seq sleep timeout setsid kill env id uname date stat touch mktemp tee dd sha256sum base64 ps true false ip tc bridge
  ss ethtool sysctl modprobe rmmod lsmod tcpdump ping curl nstat setpriv capsh unshare nsenter)
# Drivers for the machines, and what tests and users put on interfaces; those that a kernel has.
readonly KERNEL_MODULES=(virtio_pci virtio_console virtio_net e1000e igb vmxnet3 af_packet veth tun dummy bridge macvlan
  ipvlan bonding team 8021q vxlan geneve ifb netkit sch_ingress sch_netem sch_tbf sch_prio sch_fq sch_htb cls_bpf cls_u32
  cls_matchall act_mirred act_gact act_vlan nf_tables nft_ct nft_reject_inet nf_conntrack inet_diag tcp_diag udp_diag
  unix_diag raw_diag xsk_diag af_packet_diag)
readonly KERNEL_NO_OFFLOADS=csum=off,guest_csum=off,gso=off,guest_tso4=off,guest_tso6=off,guest_ecn=off,guest_ufo=off,host_tso4=off,host_tso6=off,host_ecn=off,host_ufo=off,host_uso=off,guest_uso4=off,guest_uso6=off
# The cards of the machines: a name, QEMU's name of it with options, and how many queues it has on the host. virtio_net
# has zero copy only where the device wants DMA addresses, as behind an IOMMU (VIRTIO_F_ACCESS_PLATFORM; the driver's
# virtnet_xsk_pool_enable() asks for virtqueue_dma_dev()), and where no further queues come with a program: a machine has
# two processors, so with four queues they come and with three they do not.
readonly KERNEL_CARDS=("virtio virtio-net-pci 1"
  "virtio-plain virtio-net-pci,$KERNEL_NO_OFFLOADS,mrg_rxbuf=off 1"
  "virtio-big virtio-net-pci,mrg_rxbuf=off 1"
  "virtio-mtu virtio-net-pci,host_mtu=9000,$KERNEL_NO_OFFLOADS,mrg_rxbuf=off 1"
  "virtio-queues virtio-net-pci,mq=on,vectors=10 4" "e1000e e1000e 1" "igb igb 1" "vmxnet3 vmxnet3 1"
  "virtio-dma virtio-net-pci,mq=on,vectors=8,disable-legacy=on,iommu_platform=on 3"
  "virtio-dma-more virtio-net-pci,mq=on,vectors=10,disable-legacy=on,iommu_platform=on 4")
readonly KERNEL_MEMORY_MEGABYTES=2048
# How long a command may take: a busy host gives its machines little time. Steps that take longer say so.
readonly KERNEL_PATIENCE_SECONDS=3600

declare -gA machine_pid=() machine_to=() machine_from=()

require_kernel_programs() {
  [ "$(id -u)" = 0 ] || give_up "test --kernels makes a network namespace and bridges for its machines: run it as root"
  command -v dpkg-deb >/dev/null || give_up "the kernels are those of Debian's packages: run this on Debian or Ubuntu"
  PATH="$PATH:/usr/sbin:/sbin"
  local -a missing
  mapfile -t missing < <(missing_packages "${KERNEL_PROGRAMS[@]}")
  [ "${#missing[@]}" -eq 0 ] && return 0
  if can_install_packages && apt_install "${missing[@]}"; then
    mapfile -t missing < <(missing_packages "${KERNEL_PROGRAMS[@]}")
    [ "${#missing[@]}" -eq 0 ] && return 0
  fi
  give_up "test --kernels needs programs that are missing: sudo apt-get install -y ${missing[*]}"
}

# ---- what is downloaded ----

# The suite of Debian that has a kernel; prints nothing for an unknown one.
kernel_suite() {
  case "$1" in
    6.1) echo bookworm ;;
    6.12) echo trixie ;;
    7) echo trixie-backports ;;
  esac
}

# Sets kernel_release and kernel_image.
unpack_kernel() {
  local directory="$kernel_cache/packages/$1" root
  unpack_of_suite "Linux $1" "$(kernel_suite "$1")" "$directory" kernel linux-image-amd64
  root="$directory/root"
  # Before merged /usr modules are in /lib.
  [ ! -d "$root/usr/lib/modules" ] || ln -sfn usr/lib "$root/lib"
  kernel_image="$(find "$root/boot" "$root/lib/modules/" -name 'vmlinuz*' -print -quit 2>/dev/null || true)"
  kernel_release="$(ls "$root/lib/modules")"
  [ -f "$root/lib/modules/$kernel_release/modules.dep" ] || depmod -b "$root" "$kernel_release"
}

# QEMU of a newer suite: that of Debian 12 lacks igb, and emulates an instruction wrongly that Linux 6.12 uses.
unpack_qemu() {
  unpack_of_suite QEMU trixie "$kernel_cache/packages/qemu" with-dependencies qemu-system-x86
}

# Sets kernel_qemu to the command: with its own C library and its own modules.
find_qemu() {
  local root="$kernel_cache/packages/qemu/root/usr"
  local libraries="$root/lib/x86_64-linux-gnu"
  kernel_qemu=(env "QEMU_MODULE_DIR=$libraries/qemu" "$libraries/ld-linux-x86-64.so.2" --library-path
    "$libraries" "$root/bin/qemu-system-x86_64" -L "$root/share/qemu" -L "$root/share/seabios")
}

# ---- what machines have in memory ----

pack_image() {
  (cd "$1" && find . -print0 | cpio --null --quiet -o -H newc --owner 0:0) >"$2"
}

copy_guest_programs() {
  local root="$1" name file
  for name in "${KERNEL_GUEST_PROGRAMS[@]}"; do
    file="$(PATH="/usr/sbin:/usr/bin:/sbin:/bin" type -P "$name")" || continue
    install -D "$(readlink -f "$file")" "$root/usr/bin/$name"
  done
  # The names by which the kernel and scripts call them.
  ln -s usr/bin "$root/bin"
  ln -s usr/bin "$root/sbin"
  ln -s bin "$root/usr/sbin"
  copy_with_libraries "$root" "$root"/usr/bin/*
}

# A JDK without its sources and symbols. The compiler of the server's code would take longer than it saves where the
# processor is emulated.
copy_guest_java() {
  local root="$1"
  "$JAVA_HOME/bin/jlink" --output "$root/opt/java" --strip-debug --no-header-files --no-man-pages \
    --add-modules java.se,jdk.unsupported,jdk.jfr,jdk.management,jdk.net,jdk.attach,jdk.jcmd,jdk.zipfs,jdk.httpserver \
    --generate-cds-archive --add-options=-XX:TieredStopAtLevel=1
  # shellcheck disable=SC2046
  copy_with_libraries "$root" "$root/opt/java/bin/java" $(find "$root/opt/java/lib" -name '*.so')
  install -D "$(readlink -f "$(cc -print-file-name=libgcc_s.so.1)")" "$root/lib/x86_64-linux-gnu/libgcc_s.so.1"
}

copy_guest_project() {
  local opt="$1/opt/rdma-raw" native
  native="$ROOT/transport-rdma-raw-native"
  mkdir -p "$opt"/{lib,native/lib,tests/lib}
  cp "$ROOT"/tools/target/lib/*.jar "$ROOT"/tools/target/netty-transport-rdma-raw-tools-*.jar "$opt/lib/"
  cp "$native"/target/native/{softverbs-test,pktgen,senders,rdma-raw-broker} "$opt/native/"
  copy_with_libraries "$1" "$native/target/native/pktgen"
  copy_guest_mutant "$native" "$opt/native/all-chunks"
  cp "$native/target/classes/META-INF/native/libsoftverbs_linux_x86_64.so" "$opt/native/lib/libibverbs.so.1"
  cp -r "$ROOT/testsuite/target/test-classes" "$opt/tests/classes"
  cp "$kernel_cache"/test-jars/*.jar "$opt/tests/lib/"
  # It would log each step of Netty.
  rm -f "$opt"/tests/lib/logback-*.jar
}

# softverbs as it would be if its rings took all chunks of a driver without copies.
copy_guest_mutant() {
  local native="$1" copy="$kernel_work/mutant" place='return zero_copy ? 2 : 1;'
  mkdir -p "$copy" "$2"
  cp -r "$native/Makefile" "$native/softverbs" "$copy/"
  [ "$(grep -cF "$place" "$copy/softverbs/xdp_queue.h")" = 1 ] || give_up "kernels: softverbs has no place that sizes its receive ring"
  sed -i "s|$place|(void)zero_copy; return 1;|" "$copy/softverbs/xdp_queue.h"
  make -s -C "$copy" SOFTVERBS_VERSION=mutant CFLAGS="-O1 -g" BUILD="$copy/target" META_INF="$copy/META-INF" \
    "$copy/target/lib/libibverbs.so.1"
  cp "$(readlink -f "$copy/target/lib/libibverbs.so.1")" "$2/libibverbs.so.1"
  rm -rf "$copy"
}

# The tests in C and Java, and what they stand on.
build_guest_tests() {
  make -s -C "$ROOT/transport-rdma-raw-native" target/native/softverbs-test target/native/senders
  run_maven -q -B -ntp -pl testsuite -am test-compile dependency:copy-dependencies -DskipNativeTests \
    -DexcludeGroupIds=io.rdmaraw -DoutputDirectory="$kernel_cache/test-jars" >"$kernel_cache/tests.log" 2>&1 || {
    tail -n 30 "$kernel_cache/tests.log" >&2
    give_up "the tests cannot be built: $kernel_cache/tests.log has all that Maven said"
  }
}

make_base_image() {
  local root="$kernel_work/base" directory
  say "kernels: making the machines' files"
  mkdir -p "$root"/{etc,proc,sys,dev,run,tmp,root,var,lib/x86_64-linux-gnu,lib64,usr/bin,opt}
  copy_guest_programs "$root"
  copy_guest_java "$root"
  copy_guest_project "$root"
  install -m 0755 "$ROOT/ci/lab/guests/kernel-guest.sh" "$root/init"
  printf 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n' >"$root/etc/passwd"
  # tcpdump changes to this user.
  printf 'tcpdump:x:100:100::/:/bin/sh\n' >>"$root/etc/passwd"
  printf 'root:x:0:\ntcpdump:x:100:\nnogroup:x:65534:\n' >"$root/etc/group"
  printf '127.0.0.1 localhost\n' >"$root/etc/hosts"
  for directory in protocols services; do
    [ ! -f "/etc/$directory" ] || cp "/etc/$directory" "$root/etc/"
  done
  pack_image "$root" "$kernel_work/base.cpio"
  rm -rf "$root"
}

# The modules of a kernel with all that they need, behind the files of every machine.
make_kernel_image() {
  local package="$kernel_cache/packages/$1/root" root="$kernel_work/modules" module file
  mkdir -p "$root/etc" "$root/lib/modules/$kernel_release"
  for module in "${KERNEL_MODULES[@]}"; do
    modprobe -d "$package" -S "$kernel_release" --show-depends "$module" 2>/dev/null || true
  done | sed -n 's/^insmod \([^ ]*\).*/\1/p' | sort -u | while IFS= read -r file; do
    install -D -m 0644 "$file" "$root/lib/modules/$kernel_release/${file#*"/modules/$kernel_release/"}"
  done
  cp "$package/lib/modules/$kernel_release"/modules.{order,builtin,builtin.modinfo} "$root/lib/modules/$kernel_release/"
  depmod -b "$root" "$kernel_release"
  printf '%s\n' "${KERNEL_MODULES[@]}" >"$root/etc/modules"
  pack_image "$root" "$kernel_work/modules.cpio"
  cat "$kernel_work/base.cpio" "$kernel_work/modules.cpio" >"$kernel_work/$1.cpio"
  rm -rf "$root" "$kernel_work/modules.cpio"
}

# ---- machines that run ----

kernels_begin() {
  kernel_work="$(mktemp -d "/var/tmp/rdma-raw-kernels-$$.XXXXXX")"
  kernel_namespace="rdmaraw-kernels-$$"
  trap kernels_end EXIT
  ip netns add "$kernel_namespace"
  make_bridges
}

kernels_end() {
  trap - EXIT
  local name
  for name in "${!machine_pid[@]}"; do
    stop_machine "$name"
  done
  ip netns del "$kernel_namespace" 2>/dev/null || true
  rm -rf "$kernel_work"
}

# Each card of machine a is on a bridge with that of machine b. With taps, since only these carry a card's offloads and
# queues.
make_bridges() {
  local number=0 card queues machine
  local -a flags
  for card in "${KERNEL_CARDS[@]}"; do
    read -r _ _ queues <<<"$card"
    ip -n "$kernel_namespace" link add "bridge$number" mtu 9000 type bridge
    for machine in a b; do
      flags=(mode tap vnet_hdr)
      [ "$queues" = 1 ] || flags+=(multi_queue)
      ip -n "$kernel_namespace" tuntap add "tap-$machine$number" "${flags[@]}"
      ip -n "$kernel_namespace" link set "tap-$machine$number" mtu 9000 master "bridge$number" up
    done
    ip -n "$kernel_namespace" link set "bridge$number" up
    number=$((number + 1))
  done
}

# Sets kernel_card_options to those of QEMU for a machine.
find_card_options() {
  local machine="$1" number=0 card device queues
  kernel_card_options=()
  for card in "${KERNEL_CARDS[@]}"; do
    read -r _ device queues <<<"$card"
    [ "$queues" = 1 ] && queues="" || queues=",queues=$queues"
    kernel_card_options+=(-netdev "tap,id=card$number,ifname=tap-$machine$number,script=no,downscript=no$queues"
      -device "$device,netdev=card$number,mac=$(card_mac "$machine" "$number"),romfile=")
    number=$((number + 1))
  done
}

card_mac() {
  [ "$1" = a ] && printf '52:54:00:00:0a:%02x' "$2" || printf '52:54:00:00:0b:%02x' "$2"
}

# start_machine NAME [OPTION OF QEMU...]: returns when it takes commands. On a busy host the kernel's check of its timer
# would find no interrupt in time, and panic. With mitigations=off the verifier would accept programs that it refuses to
# processes without CAP_PERFMON otherwise.
start_machine() {
  local name="$1"
  shift
  local pipe="$kernel_work/$name" to from
  rm -f "$pipe".{in,out}
  mkfifo "$pipe.in" "$pipe.out"
  ip netns exec "$kernel_namespace" "${kernel_qemu[@]}" -machine q35 -accel tcg,thread=multi -cpu max,la57=off -smp 2 \
    -m "$KERNEL_MEMORY_MEGABYTES" -nodefaults -no-reboot -display none -kernel "$kernel_image" \
    -initrd "$kernel_work/$kernel.cpio" \
    -append "console=ttyS0 no_timer_check panic=-1 net.ifnames=0 loglevel=5 rdinit=/init" \
    -serial "file:$kernel_out/$kernel-$name-console.txt" -device virtio-serial-pci \
    -chardev "pipe,id=commands,path=$pipe" -device virtserialport,chardev=commands,name=rdmaraw \
    "$@" </dev/null >"$kernel_out/$kernel-$name-qemu.txt" 2>&1 &
  machine_pid[$name]=$!
  # Both ways at once, since QEMU opens them later. So there is always a writer, and reads have limits.
  exec {to}<>"$pipe.in" {from}<>"$pipe.out"
  machine_to[$name]="$to" machine_from[$name]="$from"
  machine_answer "$name" "$KERNEL_PATIENCE_SECONDS" || give_up "kernels: machine $name with Linux $kernel does not start:" \
    "$kernel_out/$kernel-$name-console.txt has what it said"
}

# Prints what a machine answers and returns the status that it ends with.
machine_answer() {
  local name="$1" deadline=$((SECONDS + $2)) line="" begun=""
  while kill -0 "${machine_pid[$name]}" 2>/dev/null && [ "$SECONDS" -lt "$deadline" ]; do
    if ! IFS= read -r -t 5 -u "${machine_from[$name]}" line; then
      begun+="$line"
      continue
    fi
    line="$begun$line" begun=""
    case "$line" in
      '@@@ '*) return "${line#@@@ }" ;;
      *) printf '%s\n' "$line" ;;
    esac
  done
  echo "machine $name gives no answer"
  return 111
}

# in_machine NAME COMMAND...: runs a command or a function of kernel-guest.sh in a machine.
in_machine() {
  in_machine_within "$KERNEL_PATIENCE_SECONDS" "$@"
}

in_machine_within() {
  local seconds="$1" name="$2" status=0
  shift 2
  printf '%q ' "$seconds" "$@" >&"${machine_to[$name]}"
  echo >&"${machine_to[$name]}"
  machine_answer "$name" $((seconds + 60)) || status=$?
  # The status of timeout(1). Callers read stdout.
  [ "$status" != 124 ] || echo "@@ machine $name has not ended within $seconds s: $*" >&2
  return "$status"
}

stop_machine() {
  local pid="${machine_pid[$1]}"
  unset "machine_pid[$1]"
  kill -9 "$pid" 2>/dev/null || true
  wait "$pid" 2>/dev/null || true
}
