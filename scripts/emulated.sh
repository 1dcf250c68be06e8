# shellcheck shell=bash
# The device `emulated`: a ConnectX that is emulated below rdma-core's own libibverbs and libmlx5. The tools know it as
# mlx5_0; what makes it appear is a preloaded library, so it is the launcher's matter.
#   emulated        a port alone: of its own frames it receives only what is asked for, as a card does. Benches, whose
#                   programs in C do not ask for any, get a loopback connector instead
#   emulated:WIRE   another wire of connectx-emulator/emulate.sh, for instance emulated:tap:tap0

# Sets tool_arguments to the arguments with the device's own name, and emulated_wire when one of them is emulated: the
# first argument is the wire of a device that does not name one.
name_emulated_device() {
  local argument prefix default_wire="$1"
  shift
  emulated_wire=
  tool_arguments=()
  for argument in "$@"; do
    prefix=
    [ "$argument" = "${argument#--device=}" ] || prefix=--device=
    case "${argument#--device=}" in
      emulated) emulated_wire="$default_wire" && argument="${prefix}mlx5_0" ;;
      emulated:*) emulated_wire="${argument#*emulated:}" && argument="${prefix}mlx5_0" ;;
    esac
    tool_arguments+=("$argument")
  done
}

require_rdma_core() {
  PATH="$PATH:/usr/sbin:/sbin" ldconfig -p | grep 'libmlx5\.so\.1' >/dev/null && return 0
  if can_install_packages && apt_install libibverbs1 ibverbs-providers; then
    return 0
  fi
  give_up "the emulated device runs below rdma-core, which is not installed:" \
    "sudo apt-get install -y libibverbs1 ibverbs-providers   (Fedora, RHEL: sudo dnf install libibverbs)"
}

# Runs a program in place of this shell, on the emulated device if one was named.
exec_on_device() {
  [ -n "$emulated_wire" ] || exec "$@"
  require_rdma_core
  exec "$ROOT/transport-rdma-raw-native/connectx-emulator/emulate.sh" --wire "$emulated_wire" -- "$@"
}
