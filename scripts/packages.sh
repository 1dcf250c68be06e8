# shellcheck shell=bash
# Packages of the distribution: installed where we may (root on Debian or Ubuntu), else named exactly.

apt_lists_updated=no

can_install_packages() {
  [ "${RDMA_RAW_NO_INSTALL:-}" != 1 ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null
}

# The package lists of a fresh container are empty; one update per run is enough.
update_apt_lists_once() {
  [ "$apt_lists_updated" = no ] || return 0
  say "updating the package lists"
  apt-get update -qq >&2 || say "apt-get update failed; going on with the package lists that are here"
  apt_lists_updated=yes
}

apt_install() {
  update_apt_lists_once
  say "installing $*"
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" </dev/null >&2
}

# Prints the first of the named packages that a configured package source offers; fails when none does.
first_offered_package() {
  local package
  for package in "$@"; do
    if apt-cache show "$package" >/dev/null 2>&1; then
      printf '%s\n' "$package"
      return 0
    fi
  done
  return 1
}

# Packages needed to compile the native part, one per line; empty when nothing is missing.
missing_build_packages() {
  command -v cc >/dev/null || printf '%s\n' gcc libc6-dev
  command -v make >/dev/null || printf '%s\n' make
  # libibverbs-dev has no program to look for: ask the compiler, which also finds headers put elsewhere (CPATH).
  if ! command -v cc >/dev/null || ! echo '#include <infiniband/verbs.h>' | cc -E - >/dev/null 2>&1; then
    printf '%s\n' libibverbs-dev
  fi
}

require_build_tools() {
  local -a missing
  mapfile -t missing < <(missing_build_packages)
  [ "${#missing[@]}" -gt 0 ] || return 0
  if can_install_packages && apt_install "${missing[@]}"; then
    mapfile -t missing < <(missing_build_packages)
    [ "${#missing[@]}" -gt 0 ] || return 0
  fi
  give_up "the C compiler, make or the libibverbs headers are missing; install them with:" \
    "sudo apt-get install -y ${missing[*]}   (Fedora, RHEL: sudo dnf install gcc make rdma-core-devel)"
}

# Programs that some tests run as peers or to inspect the wire, as PROGRAM:PACKAGE.
readonly TEST_PROGRAMS=(ip:iproute2 ethtool:ethtool tcpdump:tcpdump ping:iputils-ping ibv_devinfo:ibverbs-utils
  raw_ethernet_bw:perftest
  dig:bind9-dnsutils dnsperf:dnsperf curl:curl wrk:wrk h2load:nghttp2-client redis-benchmark:redis-tools redis-server:redis-server
  memcached:memcached dnsmasq:dnsmasq-base tshark:tshark iperf3:iperf3 haproxy:haproxy nft:nftables python3:python3
  promtool:prometheus)

# Those that a demo or a measurement asks a server with, in the same form.
# The launcher uses them.
# shellcheck disable=SC2034
readonly DEMO_PROGRAMS=(ip:iproute2 ethtool:ethtool curl:curl dig:bind9-dnsutils)
# shellcheck disable=SC2034
readonly BENCH_PROGRAMS=(ip:iproute2 ethtool:ethtool wrk:wrk dnsperf:dnsperf h2load:nghttp2-client
  redis-benchmark:redis-tools)

# Prints the packages of the given PROGRAM:PACKAGE that are not there, one per line.
missing_packages() {
  local entry
  for entry in "$@"; do
    PATH="$PATH:/usr/sbin:/sbin" command -v "${entry%%:*}" >/dev/null || printf '%s\n' "${entry##*:}"
  done
}

missing_test_packages() {
  missing_packages "${TEST_PROGRAMS[@]}"
}

# Wanted for what follows, a word or two, and not required: without them less is measured, which is said there.
want_programs() {
  local purpose="$1"
  shift
  local -a missing
  mapfile -t missing < <(missing_packages "$@")
  [ "${#missing[@]}" -gt 0 ] || return 0
  if can_install_packages && apt_install "${missing[@]}"; then
    return 0
  fi
  say "$purpose lacks programs; for all of it: sudo apt-get install -y ${missing[*]}"
}

# A browser, to look at the page of the report: 200 MB, so only where tests run by themselves, and never insisted on.
want_browser() {
  [ "${CI:-}" = true ] && can_install_packages || return 0
  command -v chromium-headless-shell >/dev/null || command -v chromium >/dev/null && return 0
  update_apt_lists_once
  first_offered_package chromium-headless-shell >/dev/null || return 0
  apt_install chromium-headless-shell || say "no browser could be installed: its test of the report page is skipped"
}

# Compiles the eBPF programs again by the clang that they name, to see that the checked-in ones are of these sources:
# 300 MB, so as the browser.
want_clang() {
  [ "${CI:-}" = true ] && can_install_packages || return 0
  local wanted major
  wanted="$(sed -n 's/^ \* Compiler: //p' "$ROOT/transport-rdma-raw-native/softverbs/bpf_programs.h")"
  major="${wanted##* }"
  major="${major%%.*}"
  { clang --version || "clang-$major" --version; } 2>/dev/null | grep -qF "$wanted" && return 0
  apt_install "clang-$major" || say "no $wanted could be installed: the eBPF programs are compared by their sources' hash only"
}

# Unlike the build tools these are wanted, not required: a test that lacks its program is skipped and says so.
want_test_programs() {
  local -a missing
  mapfile -t missing < <(missing_test_packages)
  [ "${#missing[@]}" -gt 0 ] || return 0
  if can_install_packages && apt_install "${missing[@]}"; then
    return 0
  fi
  say "some tests will be skipped; to run them all: sudo apt-get install -y ${missing[*]}"
}
