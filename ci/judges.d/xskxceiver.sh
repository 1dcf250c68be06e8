# shellcheck shell=bash
# Judge: the kernel's own tests of AF_XDP on veth, the interface of soft:xdp; needs --source
#
# The directory of --source contains linux/, with tools/ and include/uapi of a kernel. The tests are of the kernel alone:
# they show whether what soft:xdp stands on works here.

readonly SELFTESTS=tools/testing/selftests/bpf
readonly XSK_FILES=(xskxceiver.c xskxceiver.h xsk.c xsk.h xsk_xdp_common.h prog_tests/test_xsk.c prog_tests/test_xsk.h
  progs/xsk_xdp_progs.c test_xsk.sh xsk_prereqs.sh)
# The hash of these files in linux-source-7.2 (7.2.13-1) of Debian.
readonly XSK_HASH=e9654d26b7678508
# Some tests put their frames into huge pages of 2 MiB.
readonly HUGE_PAGES=128

xskxceiver_packages() {
  local -a missing
  mapfile -t missing < <(missing_packages cc:gcc make:make clang:clang bpftool:bpftool ip:iproute2 python3:python3 ethtool:ethtool)
  [ -r /usr/include/libelf.h ] || missing+=(libelf-dev)
  [ -r /usr/include/zlib.h ] || missing+=(zlib1g-dev)
  [ "${#missing[@]}" -gt 0 ] || return 0
  { can_install_packages && apt_install "${missing[@]}"; } || die "install ${missing[*]}"
}

xskxceiver_sources() {
  local hash
  [ -n "$SOURCE" ] || die "give --source DIR with linux/ in it; ci/README.md says how to get it"
  [ -d "$SOURCE/linux/$SELFTESTS" ] || die "$SOURCE/linux has no $SELFTESTS"
  hash="$(cd "$SOURCE/linux/$SELFTESTS" && sha256sum "${XSK_FILES[@]}" | sha256sum | cut -c1-16)"
  [ "$hash" = "$XSK_HASH" ] || die "the tests in $SOURCE/linux are others ($hash, not $XSK_HASH)"
  mkdir "$WORK/linux" "$WORK/bin"
  cp -r "$SOURCE/linux/tools" "$SOURCE/linux/include" "$WORK/linux"
  [ ! -d "$SOURCE/linux/scripts" ] || cp -r "$SOURCE/linux/scripts" "$WORK/linux"
}

# Of the selftests of BPF, all of which take a kernel's build, these files alone.
build_xskxceiver() {
  local tools="$WORK/linux/tools" tests="$WORK/linux/$SELFTESTS" bin="$WORK/bin"
  make -s -C "$tools/lib/bpf" OUTPUT="$bin/" DESTDIR="$bin" prefix= "$bin/libbpf.a" install_headers
  clang -w -O2 -g -target bpf -mcpu=v3 -I"$bin/include" -I"$tools/include/uapi" -I"$tests" \
    -idirafter "/usr/include/$(cc -dumpmachine)" -c "$tests/progs/xsk_xdp_progs.c" -o "$bin/xsk_xdp_progs.bpf.o"
  bpftool gen skeleton "$bin/xsk_xdp_progs.bpf.o" name xsk_xdp_progs >"$bin/xsk_xdp_progs.skel.h"
  cc -w -g -O2 -D_GNU_SOURCE -I"$tests" -I"$bin" -I"$tools/lib" -I"$tools/include" -I"$tools/include/uapi" \
    -I"$bin/include" -I"$tests/.." -I"$tests/../net" -o "$bin/xskxceiver" "$tests/xskxceiver.c" \
    "$tests/prog_tests/test_xsk.c" "$tests/xsk.c" "$tests/network_helpers.c" "$tools/lib/find_bit.c" "$bin/libbpf.a" \
    -lelf -lz -lpthread -lrt
  cp "$tests/test_xsk.sh" "$tests/xsk_prereqs.sh" "$bin"
}

# Rows of the results from lines such as "ok 3 # SKIP SKIP: DRV BUSY-POLL NAME".
xskxceiver_rows() {
  python3 -c '
import re
import sys

reason = ""
for line in sys.stdin:
    found = re.match(r"(?:not )?ok \d+ (?:# SKIP )?(PASS|FAIL|SKIP): (SKB|DRV|ZC)( BUSY-POLL)? (\w+)$", line.strip())
    if found:
        outcome = {"PASS": "passed", "FAIL": "failed", "SKIP": "skipped"}[found.group(1)]
        print(found.group(2) + ("-busy-poll" if found.group(3) else ""), found.group(4), outcome,
              "" if outcome == "passed" else reason, sep="\t")
        reason = ""
    elif line.startswith("# ") and "DEBUG" not in line:
        reason = line[2:].strip()
'
}

# In a namespace of its own, with the sysfs of that namespace. The script ends with status 1 if a test fails.
run_xskxceiver() {
  (cd "$WORK/bin" && timeout 600 unshare -n -m sh -c 'mount -t sysfs sysfs /sys && exec bash ./test_xsk.sh "$@"' sh "$@") \
    >>"$WORK/tests.log" 2>&1 </dev/null || true
}

last_xskxceiver_rows() {
  xskxceiver_rows <"$WORK/tests.log" | tac | awk -F '\t' '!seen[$1, $2]++' | tac >"$WORK/results.tsv"
}

judge() {
  xskxceiver_packages
  xskxceiver_sources
  say "building xskxceiver: log in $WORK/build.log"
  build_xskxceiver >"$WORK/build.log" 2>&1 || die "xskxceiver does not build; see $WORK/build.log"
  plant product "$WORK/bin/test_xsk.sh" '^MTU=1500' 'MTU=68'
  # shellcheck disable=SC2016
  plant harness "$WORK/bin/xsk_prereqs.sh" '-i \${VETH1} ' '-i ${VETH1} -m skb '
  local pages
  pages="$(cat /proc/sys/vm/nr_hugepages)"
  # shellcheck disable=SC2064
  trap "echo $pages >/proc/sys/vm/nr_hugepages" EXIT
  [ "$pages" -ge "$HUGE_PAGES" ] || echo "$HUGE_PAGES" >/proc/sys/vm/nr_hugepages
  say "running the tests: log in $WORK/tests.log"
  run_xskxceiver
  last_xskxceiver_rows
  [ -s "$WORK/results.tsv" ] || die "no test has run; see $WORK/tests.log"
  # Some tests depend on time. The last result of a test counts.
  local mode test
  for _ in 1 2; do
    while read -r mode test; do
      say "$mode $test failed: again"
      run_xskxceiver -m "${mode,,}" -t "$test"
    done < <(awk -F '\t' '$3 == "failed" { sub("-busy-poll", "", $1); print $1, $2 }' "$WORK/results.tsv" | sort -u)
    last_xskxceiver_rows
  done
  local fault=''
  case "$PLANT" in
    product) fault="the interfaces carry frames of 68 bytes at most" ;;
    harness) fault="the driver's mode is left out" ;;
  esac
  write_page --fault "$fault" --version "Linux selftests of 7.2.13 ($XSK_HASH) on kernel $(uname -r | cut -d- -f1)"
}
