# shellcheck shell=bash
# The launcher sets what is not set here.
# shellcheck disable=SC2153
# The last step of ./rdma-raw test --aarch64: Debian's kernel for arm64 in QEMU, with a veth pair. softverbs' tests in C
# that want a network interface, the HTTP example that stock curl asks over AF_XDP and AF_PACKET, and jcstress. All that
# runs there is Debian's arm64 packages, unpacked, and this project's build; it is in the machine's memory.

readonly AARCH64_GUEST_PACKAGES=(bash coreutils procps mount util-linux iproute2 ethtool curl kmod grep sed gawk libgcc-s1)
readonly AARCH64_MACHINE_MEMORY_MEGABYTES=3072
# An emulated processor on a busy host.
readonly AARCH64_MACHINE_SECONDS=7200
# Parts of the names of tests in C that want a kernel with eBPF, AF_XDP and AF_PACKET.
readonly AARCH64_MACHINE_C_TESTS=(xdp packet steering whole)
readonly AARCH64_MACHINE_BYTES=1000000

unpack_aarch64_machine() {
  local directory="$1"
  unpack_of_suite "QEMU" "$AARCH64_SUITE" "$directory/qemu" with-dependencies qemu-system-arm
  # unpack_of_suite reads it.
  # shellcheck disable=SC2034
  local of_architecture=arm64
  unpack_of_suite "Linux for arm64" "$AARCH64_SUITE" "$directory/linux" kernel linux-image-arm64
  unpack_of_suite "arm64 programs" "$AARCH64_SUITE" "$directory/guest" with-dependencies "${AARCH64_GUEST_PACKAGES[@]}"
}

# What the machine's kernel loads, with all that it needs.
copy_aarch64_modules() {
  local package="$1/linux/root" root="$2" release module file
  [ ! -d "$package/usr/lib/modules" ] || ln -sfn usr/lib "$package/lib"
  release="$(ls "$package/lib/modules")"
  [ -f "$package/lib/modules/$release/modules.dep" ] || depmod -b "$package" "$release"
  mkdir -p "$root/usr/lib/modules/$release"
  for module in "${KERNEL_MODULES[@]}"; do
    modprobe -d "$package" -S "$release" --show-depends "$module" 2>/dev/null || true
  done | sed -n 's/^insmod \([^ ]*\).*/\1/p' | sort -u | while IFS= read -r file; do
    install -D -m 0644 "$file" "$root/usr/lib/modules/$release/${file#*"/modules/$release/"}"
  done
  cp "$package/lib/modules/$release"/modules.{order,builtin,builtin.modinfo} "$root/usr/lib/modules/$release/"
  depmod -b "$root" "$release"
  printf '%s\n' "${KERNEL_MODULES[@]}" >"$root/etc/modules"
}

copy_aarch64_project() {
  local directory="$1" opt="$2/opt/rdma-raw"
  mkdir -p "$opt"/{lib,native/lib}
  cp "$ROOT"/tools/target/lib/*.jar "$opt/lib/"
  rm -f "$opt"/lib/*-linux-x86_64.jar
  "$JAVA_HOME/bin/jar" --create --file "$opt/lib/softverbs-aarch_64.jar" -C "$directory/classes" META-INF
  cp "$directory/native/softverbs-test" "$opt/native/"
  cp "$(aarch64_library "$directory")" "$opt/native/lib/libibverbs.so.1"
  mkdir "$opt/jcstress"
  cp -r "$ROOT"/jcstress/target/{classes,lib} "$opt/jcstress/"
  grep -rh '^@JCStressTest' "$ROOT/jcstress/src" | wc -l >"$opt/jcstress/tests"
  printf '%s\n' "${AARCH64_MACHINE_C_TESTS[@]}" >"$opt/c-tests"
  echo "$AARCH64_MACHINE_BYTES $(digest_of_pattern "$AARCH64_MACHINE_BYTES")" >"$opt/download"
}

make_aarch64_image() {
  local directory="$1" root="$1/machine/root" part
  rm -rf "$directory/machine"
  mkdir -p "$root/usr"
  for part in lib bin sbin; do
    ln -s "usr/$part" "$root/$part"
  done
  # The JRE and its libraries, and the programs, over one another: all are of one suite.
  cp -a "$directory/root/usr/lib" "$root/usr/"
  cp -a "$directory/guest/root/usr/." "$root/usr/"
  cp -a "$directory/guest/root/etc" "$root/"
  # The JVM's security settings: its own directory has links to them.
  cp -a "$directory/root/etc/java-25-openjdk" "$root/etc/"
  rm -rf "$root"/usr/share/{doc,man,locale,info,i18n,perl} "$root/usr/include" "$root"/usr/lib/aarch64-linux-gnu/{*.a,gconv,perl*}
  mkdir -p "$root"/{proc,sys,dev,run,tmp,root,var,opt}
  # unpack_aarch64 made links absolute, for QEMU's emulation of programs.
  find "$root/usr" -type l -lname "$directory/root/*" | while read -r part; do
    ln -sfn "$(readlink "$part" | sed "s|^$directory/root||")" "$part"
  done
  [ -e "$root/usr/bin/sh" ] || ln -s bash "$root/usr/bin/sh"
  [ -e "$root/usr/bin/awk" ] || ln -s gawk "$root/usr/bin/awk"
  ln -sfn /usr/lib/jvm/java-25-openjdk-arm64 "$root/opt/java"
  printf 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n' >"$root/etc/passwd"
  printf '127.0.0.1 localhost\n' >"$root/etc/hosts"
  copy_aarch64_project "$directory" "$root"
  copy_aarch64_modules "$directory" "$root"
  install -m 0755 "$ROOT/ci/lab/guests/kernel-guest.sh" "$root/guest.sh"
  install -m 0755 "$ROOT/ci/lab/guests/aarch64-guest.sh" "$root/init"
  pack_image "$root" "$directory/machine/image.cpio"
  rm -rf "$root"
}

# Prints what the machine says; fails unless every step ended with 0.
run_aarch64_machine() {
  local directory="$1" kernel libraries root="$1/qemu/root/usr" console="$1/machine/console.txt" status=0
  PATH="$PATH:/usr/sbin:/sbin"
  unpack_aarch64_machine "$directory"
  build_jcstress "$directory/jcstress-build.log"
  say "making the machine's files"
  make_aarch64_image "$directory"
  kernel="$(find "$directory/linux/root/boot" -name 'vmlinuz*' -print -quit)"
  libraries="$root/lib/$(gcc -dumpmachine)"
  echo "== a machine with $(basename "$kernel"), by $("$libraries/ld-linux-x86-64.so.2" --library-path "$libraries" \
    "$root/bin/qemu-system-aarch64" --version | head -n 1)"
  QEMU_MODULE_DIR="$libraries/qemu" timeout "$AARCH64_MACHINE_SECONDS" "$libraries/ld-linux-x86-64.so.2" \
    --library-path "$libraries" "$root/bin/qemu-system-aarch64" -L "$root/share/qemu" -machine virt \
    -cpu neoverse-n1 -accel tcg,thread=multi -smp 2 -m "$AARCH64_MACHINE_MEMORY_MEGABYTES" -nodefaults -no-reboot \
    -display none -kernel "$kernel" -initrd "$directory/machine/image.cpio" \
    -append "console=ttyAMA0 panic=-1 loglevel=4 transparent_hugepage=never rdinit=/init" -serial "file:$console" </dev/null || status=$?
  rm -f "$directory/machine/image.cpio"
  tr -d '\r' <"$console" | sed -n '/^== /,$p'
  [ "$status" = 0 ] && grep -q '^@@ ' "$console" && ! grep '^@@ [1-9]' "$console" && grep -q '^@@ 0 jcstress' "$console"
}
