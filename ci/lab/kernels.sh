# shellcheck shell=bash
# Variables of the run are set by kernel-machine.sh too.
# shellcheck disable=SC2154
# ./rdma-raw test --kernels: this transport on other kernels and other drivers, in machines that are emulated. What it
# runs is in CONTRIBUTING.md.

readonly KERNELS=(6.1 6.12 7)

kernels_usage() {
  cat <<'USAGE'
usage: ./rdma-raw test --kernels [--out FILE] [--only TEXT]... [6.1|6.12|7]...

  Boots kernels of Debian in QEMU and runs there: the tests in C, some of those in Java, doctor, and an HTTP server that
  stock curl asks, over veth and, from a second machine, over the drivers of emulated network cards, in each mode. As root
  on Debian or Ubuntu it installs what it needs; kernels and QEMU are unpacked below target/kernels. The processor is
  emulated too: this wants a host with little else to do, and hours.

  --out FILE    a page of Markdown (target/kernels/README.md), whose cells for these kernels and steps are replaced
  --only TEXT   run only steps whose names contain this, such as veth or igb-native; may be repeated
USAGE
}

kernel_step_is_wanted() {
  local text
  [ "${#kernel_wanted[@]}" -gt 0 ] || return 0
  for text in "${kernel_wanted[@]}"; do
    [ "${1/"$text"/}" = "$1" ] || return 0
  done
  return 1
}

# kernel_step ROW COLUMN COMMAND...: a cell of the table. Status 0 is right, 3 a refusal that is a sentence for users.
kernel_step() {
  ! kernel_step_is_wanted "$1-$2" || kernel_required_step "$@"
}

last_kernel_step_failed() {
  [ "$kernel_verdict" = FAILED ]
}

kernel_required_step() {
  local row="$1" column="$2" status=0 verdict=works file text="" started="$SECONDS"
  shift 2
  file="$kernel_out/$kernel-$row-${column// /-}.txt"
  say "kernels: $kernel_release, $row, $column"
  # In a subshell with errexit, which a condition around it would switch off.
  set +e
  (set -euo pipefail; "$@") >"$file" 2>&1 </dev/null
  status=$?
  set -e
  text="$(sed -n 's/^@@ //p' "$file" | tail -n 1)"
  kernel_steps=$((kernel_steps + 1))
  case "$status" in
    0) ;;
    3) verdict=refused ;;
    *)
      verdict=FAILED
      kernel_failed=$((kernel_failed + 1))
      say "kernels: $kernel, $row, $column FAILED, as $file says:"
      tail -n 30 "$file" >&2
      ;;
  esac
  printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$kernel" "$row" "$column" "$verdict" $((SECONDS - started)) "$text" \
    "$kernel_release" >>"$kernel_table"
  kernel_verdict="$verdict"
  write_kernels_page
}

# What is measured, as the page names it. Pages are none of it.
kernels_commit() {
  git -C "$ROOT" rev-parse --short=12 HEAD 2>/dev/null || echo unknown
  [ -z "$(git -C "$ROOT" status --porcelain -uno -- . ':!docs/lab' 2>/dev/null)" ] || echo "with changes"
}

# After each step, so that a run that is ended leaves what it has measured.
write_kernels_page() {
  python3 "$ROOT/ci/lab/kernels/page.py" "$kernel_table" "$kernel_page" "$kernel_commit" "$(date -u +%F)" "$kernel_qemu_version" \
    >"$kernel_page.new"
  mv "$kernel_page.new" "$kernel_page"
}

run_kernel_tests() {
  local kernel
  local -a kernels=()
  kernel_wanted=()
  kernel_page=""
  while [ $# -gt 0 ]; do
    case "$1" in
      --out)
        kernel_page="${2:?--out needs a file}" && shift 2
        [ -d "$(dirname "$kernel_page")" ] || die "there is no directory $(dirname "$kernel_page") for the page"
        ;;
      --only) kernel_wanted+=("${2:?--only needs a text}") && shift 2 ;;
      -h | --help) kernels_usage && return ;;
      *)
        [ -n "$(kernel_suite "$1")" ] || { kernels_usage >&2 && die "there is no kernel '$1': ${KERNELS[*]}"; }
        kernels+=("$1") && shift
        ;;
    esac
  done
  [ "${#kernels[@]}" -gt 0 ] || kernels=("${KERNELS[@]}")
  require_kernel_programs
  require_jdk
  require_built
  kernel_commit="$(kernels_commit | paste -sd ' ')"
  kernel_cache="$ROOT/target/kernels"
  kernel_page="${kernel_page:-$kernel_cache/README.md}"
  kernel_out="$kernel_cache/out"
  kernel_table="$kernel_out/table.tsv"
  kernel_steps=0
  kernel_failed=0
  kernel_verdict=
  rm -rf "$kernel_out"
  mkdir -p "$kernel_out"
  : >"$kernel_table"
  unpack_qemu
  find_qemu
  kernel_qemu_version="$("${kernel_qemu[@]}" --version | head -n 1)"
  kernels_begin
  build_guest_tests
  make_base_image
  for kernel in "${kernels[@]}"; do
    unpack_kernel "$kernel"
    make_kernel_image "$kernel"
    run_kernel_steps
    rm -f "$kernel_work/$kernel.cpio"
  done
  kernels_end
  [ "$kernel_steps" -gt 0 ] || die "kernels: the name of no step contains: ${kernel_wanted[*]}"
  cat "$kernel_page"
  [ "$kernel_failed" = 0 ]
}
