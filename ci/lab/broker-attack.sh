# shellcheck shell=bash
# ./rdma-raw test --broker-attack [SECONDS]: hostile clients of the broker, ten minutes or as long as given. It fails if
# another client waits too long, if the host's traffic loses its rate, or if the kernel's memory grows beyond a bound.

run_broker_attack() {
  local seconds="${1:-600}"
  [[ $# -le 1 && "$seconds" =~ ^[1-9][0-9]*$ ]] || die "test --broker-attack takes a number of seconds, not '$*'"
  [ "$(id -u)" = 0 ] || die "test --broker-attack makes network namespaces and AF_XDP sockets: run it as root"
  require_build_tools
  make -s -C "$ROOT/transport-rdma-raw-native" attack-broker "ATTACK_SECONDS=$seconds"
}
