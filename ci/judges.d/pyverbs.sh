# shellcheck shell=bash
# Judge: the tests of rdma-core's Python bindings, on softverbs and on libmlx5 over the emulated ConnectX
#
# Debian's python3-pyverbs contains the bindings and the tests. --source names another copy of rdma-core's tests/.

readonly NATIVE="$ROOT/transport-rdma-raw-native"
# Providers of other devices. pyverbs loads them, and they need functions of libibverbs that softverbs does not export.
readonly DRIVERS=(libmlx5.so.1 libefa.so.1 librdmacm.so.1)

pyverbs_packages() {
  require_build_tools
  local -a missing=()
  local package
  for package in python3-pyverbs ibverbs-providers librdmacm1 python3; do
    dpkg-query -W -f='${Status}\n' "$package" 2>/dev/null | grep -q ' installed' || missing+=("$package")
  done
  [ "${#missing[@]}" -gt 0 ] || return 0
  { can_install_packages && apt_install "${missing[@]}"; } || die "install ${missing[*]}"
}

# Copies the tests, which Debian compresses, to a directory that Python reads.
pyverbs_tests() {
  local from="${SOURCE:-/usr/share/doc/rdma-core/tests}"
  [ ! -d "$from/tests" ] || from="$from/tests"
  [ -r "$from/run_tests.py" ] || die "$from has no run_tests.py: it is no directory of rdma-core's tests"
  cp -r "$from" "$WORK/tests"
  find "$WORK/tests" -name '*.gz' -exec gunzip {} +
}

# A library with the functions of DRIVERS that softverbs lacks. No test of softverbs gets as far as calling one.
driver_functions() {
  local -a libraries
  mapfile -t libraries < <(ldconfig -p | awk '{ print $1, $NF }' | grep -F "$(printf '%s\n' "${DRIVERS[@]}")" |
    awk '!seen[$1]++ { print $2 }')
  /usr/bin/python3 "$JUDGES/driver_functions.py" "$WORK/drivers" "$1" "${libraries[@]}"
  cc -shared -fPIC -w -o "$WORK/drivers.so" "$WORK/drivers.c" -Wl,--version-script="$WORK/drivers.map"
}

# A fault of the product is planted in a copy of the sources.
build_native() {
  local native="$NATIVE"
  if [ "$PLANT" = product ]; then
    native="$WORK/native"
    mkdir "$native"
    (cd "$NATIVE" && tar -c --exclude ./target .) | tar -x -C "$native"
  fi
  plant product "$native/softverbs/flow_parse.c" 'spec->val.src_ip, &spec->mask.src_ip, 4' \
    'spec->val.dst_ip, \&spec->mask.src_ip, 4'
  make -s -C "$native" >&2
  printf '%s\n' "$native"
}

judge() {
  pyverbs_packages
  pyverbs_tests
  local native softverbs runner="$WORK/pyverbs_runner.py"
  native="$(build_native)"
  softverbs="$native/target/native/lib"
  driver_functions "$softverbs/libibverbs.so.1"
  cp "$JUDGES/pyverbs_runner.py" "$runner"
  plant harness "$runner" 'files.setdefault(name\[1\], \[\]).append(name\[0\])' 'files[name[1]] = [name[0]]'
  local -a command=(/usr/bin/python3 "$runner" --tests "$WORK/tests" --log "$WORK" --results "$WORK/results.tsv")
  say "softverbs: logs in $WORK/softverbs"
  LD_PRELOAD="$WORK/drivers.so" LD_LIBRARY_PATH="$softverbs" SOFTVERBS_DEVICES=loop \
    "${command[@]}" --run softverbs --device loop
  say "libmlx5 on the emulated ConnectX: logs in $WORK/emulated"
  "$native/connectx-emulator/emulate.sh" --wire plug -- "${command[@]}" --run emulated --device mlx5_0
  local fault=''
  case "$PLANT" in
    product) fault="rules compare the source address with the destination's" ;;
    harness) fault='the runner keeps one test of each file' ;;
  esac
  write_page --fault "$fault" --version "rdma-core $(dpkg-query -W -f='${Version}' python3-pyverbs)"
}
