# shellcheck shell=bash
# ./rdma-raw test --contract --mutants: the generated programs find each repaired fault that a patch plants again.

readonly CONTRACT_MUTANTS="$ROOT/ci/lab/contract-mutants"
readonly CONTRACT_MUTANT_SEEDS=2000
readonly CONTRACT_MUTANT_SECONDS=3600

# run_contract_copy CLASSES ARGUMENT...: like run_contract, with the changed classes of a directory, if there are any.
run_contract_copy() {
  local classes="$1"
  shift
  timeout "$CONTRACT_MUTANT_SECONDS" "$JAVA_HOME/bin/java" "${CONTRACT_JAVA[@]}" \
    -cp "${classes:+$classes:}$ROOT/testsuite/target/*:$ROOT/tools/target/lib/*" io.rdmaraw.testsuite.Main contract "$@"
}

# build_contract_mutant PATCH DIRECTORY: patches copies of the files, and compiles them against the build.
build_contract_mutant() {
  local patch="$1" work="$2" file
  local -a files=()
  mapfile -t files < <(sed -n 's|^+++ b/||p' "$patch")
  rm -rf "$work" && mkdir -p "$work/classes"
  for file in "${files[@]}"; do
    install -D "$ROOT/$file" "$work/$file"
  done
  # Within the directory of another repository, git would skip the files.
  (cd "$work" && GIT_CEILING_DIRECTORIES="${work%/*}" git apply "$patch" &&
    "$JAVA_HOME/bin/javac" -nowarn -proc:none -d classes -cp "$ROOT/testsuite/target/*:$ROOT/tools/target/lib/*" \
      "${files[@]}") >"$work/log" 2>&1 || {
    cat "$work/log" >&2
    give_up "${patch##*/} does not apply, or does not compile"
  }
}

# One fault: a row of the page. The seed that finds it must have no difference without it.
run_contract_mutant() {
  local patch="$1" name work kinds seed="" key result found=0
  name="$(basename "$patch" .patch)"
  work="$ROOT/target/contract-mutants/$name"
  kinds="$(sed -n 's/^Observation: //p' "$patch")"
  build_contract_mutant "$patch" "$work"
  run_contract_copy "$work/classes" --until "$kinds" --no-shrink --seeds "$CONTRACT_MUTANT_SEEDS" >"$work/found.log" 2>&1 || true
  read -r seed key < <(sed -nE 's/^seed ([0-9]+) differs in ([^ :]+): .*/\1 \2/p' "$work/found.log" |
    grep -E " .*($kinds)" | sort -n) || true
  if [ -z "$seed" ]; then
    result="not found" && found=1
  elif run_contract_copy "" --no-shrink --from "$seed" --seeds 1 >"$work/without.log" 2>&1; then
    result="found"
  else
    result="the seed differs without the fault, too" && found=1
  fi
  printf '| %s | %s | %s | %s | %s |\n' "$name" "$(head -n 1 "$patch")" "${seed:--}" "${key:--}" "$result"
  return "$found"
}

run_contract_mutants() {
  local page="$ROOT/target/contract-mutants/README.md" name status=0
  local -a patches=()
  for name in "$@"; do
    [ -f "$CONTRACT_MUTANTS/$name.patch" ] || die "there is no ci/lab/contract-mutants/$name.patch"
    patches+=("$CONTRACT_MUTANTS/$name.patch")
  done
  [ "${#patches[@]}" -gt 0 ] || patches=("$CONTRACT_MUTANTS"/*.patch)
  require_jdk
  require_built
  mkdir -p "${page%/*}"
  printf '| fault | behaviour | seed | observation | result |\n|---|---|---|---|---|\n' | tee "$page"
  for name in "${patches[@]}"; do
    run_contract_mutant "$name" | tee -a "$page" || status=1
  done
  return "$status"
}
