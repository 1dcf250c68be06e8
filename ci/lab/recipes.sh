# shellcheck shell=bash
# ./rdma-raw test --recipes: the patches that follow the recipes of CONTRIBUTING.md, built and tested in a copy.

recipes_usage() {
  cat <<'USAGE'
usage: ./rdma-raw test --recipes [NAME...]

  Copies the tree to target/recipes, applies the patches of ci/recipes, builds the copy offline, and runs the tests that
  the patches name. Fails if a patch does not apply or compile, if a test fails, or if a test of a patch did not run.

  NAME   a patch, such as option; without any, all of them in one copy
USAGE
}

# recipe_field PATCH FIELD: the words of a field in the head of a patch, one a line.
recipe_field() {
  awk -v field="$2: " '
    /^diff --git / { exit }
    /^[A-Z]/ { wanted = index($0, field) == 1; if (wanted) $0 = substr($0, length(field) + 1) }
    wanted { print }' "$1" | tr -d ' ' | tr ',' '\n' | sed '/^$/d'
}

# A test that a patch adds has to be among those that passed: CLASS#METHOD, and the directory of the copy.
recipe_test_passed() {
  local -a reports
  mapfile -t reports < <(compgen -G "$2/*/target/surefire-reports/TEST-*.${1%#*}.xml")
  [ "${#reports[@]}" -gt 0 ] && awk -v name="<testcase name=\"${1#*#}" '
    /^  <testcase name="/ { ours = index($0, name) > 0; if (ours) found = 1 }
    /^    <(failure|error|skipped)[ >\/]/ && ours { bad = 1 }
    END { exit !(found && !bad) }' "${reports[@]}"
}

# The modules of test classes, by their simple names or with their packages, below the current directory.
modules_of_tests() {
  local name
  for name in "$@"; do
    name="${name%%#*}" && name="${name//.//}.java"
    find ./*/src/test/java \( -path "*/src/test/java/$name" -o -path "*/src/test/java/*/$name" \) -printf '%H\n' -quit |
      sed 's|^\./\([^/]*\)/.*|\1|'
  done
}

run_recipes() {
  local work="$ROOT/target/recipes" status=0 name patch
  local copy="$work/tree"
  local -a patches=() tests=() proofs=() modules=()
  for name in "$@"; do
    case "$name" in
      -h | --help) recipes_usage && return ;;
      *)
        patch="$ROOT/ci/recipes/$name.patch"
        [ -f "$patch" ] || { recipes_usage >&2 && die "there is no ci/recipes/$name.patch"; }
        patches+=("$patch")
        ;;
    esac
  done
  [ "${#patches[@]}" -gt 0 ] || patches=("$ROOT"/ci/recipes/*.patch)
  command -v git >/dev/null || give_up "test --recipes needs git: sudo apt-get install -y git"
  require_jdk
  require_build_tools
  rm -rf "$work"
  copy_sources "$copy"
  for patch in "${patches[@]}"; do
    say "recipes: applying ${patch##*/}"
    # Within the directory of another repository, git would skip the files.
    (cd "$copy" && GIT_CEILING_DIRECTORIES="$work" git apply "$patch") ||
      give_up "${patch##*/} does not apply: see ci/README.md for how to repair it"
    mapfile -t -O "${#tests[@]}" tests < <(recipe_field "$patch" Tests)
    mapfile -t -O "${#proofs[@]}" proofs < <(recipe_field "$patch" Proof)
  done
  mapfile -t modules < <(cd "$copy" && modules_of_tests "${tests[@]}" | sort -u)
  say "recipes: building and testing in $copy"
  MAVEN_ROOT="$copy" run_maven -o -q -B -ntp -Pfull -pl "$(IFS=, && echo "${modules[*]}")" -am test -DskipNativeTests \
    -Dtest.skipEmulated=true -Dtest.skipFuzz=true -Dmaven.javadoc.skip=true -Dmaven.test.failure.ignore=true \
    -Dsurefire.failIfNoSpecifiedTests=false "-Dtest=$(IFS=, && echo "${tests[*]}")" >"$work/log" 2>&1 || status=$?
  [ "$status" = 0 ] || grep '^\[ERROR\]' "$work/log" | head -n 40 >&2
  print_test_summary "$copy" "$status" || status=1
  for name in "${proofs[@]}"; do
    recipe_test_passed "$name" "$copy" || { say "recipes: $name, which a patch adds, did not pass" && status=1; }
  done
  return "$status"
}
