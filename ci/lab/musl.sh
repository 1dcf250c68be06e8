# shellcheck shell=bash
# ./rdma-raw test --musl: softverbs and the broker built against musl, the C library of Alpine Linux, and their tests.

run_musl_tests() {
  local -a missing
  [ $# -eq 0 ] || die "test --musl takes no argument, not '$1'"
  require_build_tools
  mapfile -t missing < <(missing_packages musl-gcc:musl-tools)
  if [ "${#missing[@]}" -gt 0 ] && ! { can_install_packages && apt_install "${missing[@]}"; }; then
    give_up "building against musl takes its compiler: sudo apt-get install -y ${missing[*]}   (Fedora: sudo dnf install musl-gcc)"
  fi
  make -s -C "$ROOT/transport-rdma-raw-native" check-musl
}
