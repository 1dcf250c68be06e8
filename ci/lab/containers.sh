# shellcheck shell=bash
# ./rdma-raw test --containers: servers in real containers, on bridges as podman makes them, asked by stock clients in
# other containers and on the host. See docs/guide/containers.md.

containers_usage() {
  cat <<'USAGE'
usage: ./rdma-raw test --containers [--out FILE] [STEP...]

  Runs the example servers in podman's containers, and stock clients beside them. As root on Debian or Ubuntu it installs
  what it needs. Its containers, images and networks are its own, and are gone when it ends.

  --out FILE   write the results as a page of Markdown (target/containers/README.md)
  STEP         run only steps whose names contain this, such as xdp
USAGE
}

# Runs a step: its name, what is right, and the function with its arguments. What it prints goes to a file of its own.
container_step() {
  local name="$1" right="$2" status=0 verdict=ok file started="$SECONDS"
  shift 2
  container_is_wanted "$name" || return 0
  file="$container_out/$name.txt"
  say "containers: $name"
  # In a subshell with errexit, which a condition around it would switch off.
  set +e
  (set -euo pipefail; "$@") >"$file" 2>&1 </dev/null
  status=$?
  set -e
  container_steps=$((container_steps + 1))
  if [ "$status" != 0 ]; then
    verdict=FAILED
    container_failed=$((container_failed + 1))
    say "containers: $name FAILED, as $file says:"
    tail -n 30 "$file" >&2
  fi
  printf '| %s | %s | %s | %s s |\n' "$name" "$right" "$verdict" $((SECONDS - started)) >>"$container_table"
}

container_is_wanted() {
  local wanted
  [ "${#container_wanted[@]}" -gt 0 ] || return 0
  for wanted in "${container_wanted[@]}"; do
    [ "${1/$wanted/}" = "$1" ] || return 0
  done
  return 1
}

container_page() {
  cat <<PAGE
# Servers in containers

Made by \`./rdma-raw test --containers\`, do not edit. Commit $(git -C "$ROOT" rev-parse --short=12 HEAD 2>/dev/null ||
    echo unknown), $(date -u +%F), Linux $(uname -r), podman $(podman --version | cut -d ' ' -f 3), $(crun --version | head -n 1), $(/usr/lib/podman/netavark --version 2>/dev/null || echo netavark).
Servers are in containers with the capabilities and options of [containers.md](../guide/containers.md), on a bridge
as podman makes it, and clients in other containers and on the host. Nothing was set on any interface.

| step | right if | verdict | time |
|---|---|---|---|
PAGE
  cat "$container_table"
  printf '\n%s of %s steps failed.\n' "$container_failed" "$container_steps"
}

run_container_tests() {
  local page=""
  container_wanted=()
  while [ $# -gt 0 ]; do
    case "$1" in
      --out) page="${2:?--out needs a file}" && shift 2 ;;
      -h | --help) containers_usage && return ;;
      -*) containers_usage >&2 && die "unknown option '$1'" ;;
      *) container_wanted+=("$1") && shift ;;
    esac
  done
  require_container_programs
  require_jdk
  require_built
  container_out="$ROOT/target/containers"
  container_table="$container_out/table.md"
  container_steps=0
  container_failed=0
  rm -rf "$container_out"
  mkdir -p "$container_out"
  : >"$container_table"
  containers_begin
  run_container_steps
  container_page >"${page:-$container_out/README.md}"
  containers_end
  cat "${page:-$container_out/README.md}"
  [ "$container_failed" = 0 ] && [ "$container_steps" -gt 0 ]
}
