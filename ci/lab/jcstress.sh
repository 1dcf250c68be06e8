# shellcheck shell=bash
# ./rdma-raw test --jcstress: what threads share without locks in Java, by OpenJDK's jcstress, and the same with faults
# planted into it.

# For each test and each way of compiling it: with this many milliseconds, all take a few minutes.
readonly JCSTRESS_MILLIS=200
readonly JCSTRESS_ITERATIONS=3

jcstress_usage() {
  cat <<'USAGE'
usage: ./rdma-raw test --jcstress [--out FILE] [--only REGEX] [--millis N] [--once]

  Runs the tests of what threads share without locks in Java by OpenJDK's jcstress: each in several ways of compiling it.
  Then plants faults into copies of the classes (jcstress/mutants.tsv), and runs the test that has to find each. Minutes.

  --out FILE     a page of Markdown (target/jcstress/README.md)
  --only REGEX   tests whose names match
  --millis N     how long each iteration takes (200); there are three of each test and way of compiling
  --once         one way of compiling: the optimising compiler, which shuffles instructions as far as it may
USAGE
}

# Prints the class path: a mutant's classes, if there is one, the tests, the transport and what they stand on.
jcstress_class_path() {
  local jars
  jars="$(printf '%s:' "$ROOT"/jcstress/target/lib/*.jar)"
  echo "${1:+$1:}$ROOT/jcstress/target/classes:$jars"
}

# build_jcstress LOG
build_jcstress() {
  say "jcstress: building"
  run_maven_logged "$1" -B -Pjcstress -pl jcstress -am -DskipTests -Dmaven.javadoc.skip=true \
    -Dmaven.source.skip=true package
}

# run_jcstress DIRECTORY CLASSPATH REGEX MILLIS: its messages go to DIRECTORY.log; its status tells whether all is as it
# has to be.
run_jcstress() {
  local -a ways=(-jvmArgsPrepend --enable-native-access=ALL-UNNAMED)
  [ "$jcstress_once" = no ] || ways=(-jvmArgs "--enable-native-access=ALL-UNNAMED -XX:-TieredCompilation \
-XX:+UnlockDiagnosticVMOptions -XX:+StressLCM -XX:+StressGCM")
  mkdir -p "$1"
  (cd "$1" && "$JAVA_HOME/bin/java" -cp "$2" org.openjdk.jcstress.Main -v -t "$3" -f 1 -fsm 1 -c 2 -sc false \
    -iters "$JCSTRESS_ITERATIONS" -time "$4" "${ways[@]}" -r "$1/html") >"$1.log" 2>&1 </dev/null
}

# plant_fault FILE OLD NEW DIRECTORY: compiles a class with one place changed.
plant_fault() {
  local file="$1" directory="$4" source
  source="$directory/source/${file##*/}"
  mkdir -p "$directory/source" "$directory/classes"
  python3 - "$ROOT/transport-rdma-raw/src/main/java/io/rdmaraw/$file" "$source" "$2" "$3" <<'PYTHON' || return
import sys
path, out, old, new = sys.argv[1:]
text = open(path).read()
old, new = old.replace("\\n", "\n"), new.replace("\\n", "\n")
if text.count(old) != 1:
    sys.exit(f"{path} has {text.count(old)} places with: {old}")
open(out, "w").write(text.replace(old, new))
PYTHON
  "$JAVA_HOME/bin/javac" -proc:none -nowarn -d "$directory/classes" -cp "$(jcstress_class_path)" "$source"
}

# Runs the mutants of tests that are wanted; appends a row for each to a table.
run_jcstress_mutants() {
  local work="$1" only="$2" millis="$3" table="$4" status=0 name file old new test where directory verdict
  while IFS=$'\t' read -r name file old new test where; do
    [[ "$name" = \#* || -z "$name" ]] && continue
    [[ "$test" =~ $only ]] || continue
    directory="$work/mutant-$name"
    say "jcstress: $name, planted in $file"
    plant_fault "$file" "$old" "$new" "$directory" || give_up "jcstress: the fault '$name' cannot be planted any more"
    # Only a test that failed has found it: a JVM that does not start ends with an error too.
    verdict="not found"
    run_jcstress "$directory" "$(jcstress_class_path "$directory/classes")" "io\\.rdmaraw\\..*\\.$test" "$millis" || true
    grep -q '\[FAILED\] io\.rdmaraw\.' "$directory.log" && verdict=found
    if [ "$where" = anywhere ] && [ "$verdict" != found ]; then
      verdict="NOT FOUND"
      status=1
    fi
    # shellcheck disable=SC2016
    printf '| %s | `%s` | `%s` | %s | %s |\n' "$name" "${file##*/}" "$test" "$where" "$verdict" >>"$table"
  done <"$ROOT/jcstress/mutants.tsv"
  return "$status"
}

# Rows of a table from what jcstress said: of each test the ways of compiling it, how often it ran, and the verdict.
jcstress_rows() {
  awk '
    $1 == "....." || /^ *(\.+ )?\[(OK|FAILED|ERROR)\] io\.rdmaraw\./ {
      for (i = 1; i <= NF; i++) if ($i ~ /^\[(OK|FAILED|ERROR)\]$/) { name = $(i + 1); verdict[name] = $i; seen[name] = 1 }
    }
    name != "" && /%/ {
      for (i = 2; i <= NF; i++) if ($i ~ /%$/) { gsub(",", "", $(i - 1)); samples[name] += $(i - 1) }
    }
    END {
      for (name in seen) {
        short = name
        sub(/.*\./, "", short)
        gsub(/[][]/, "", verdict[name])
        printf "| `%s` | %d | %s |\n", short, samples[name], tolower(verdict[name])
      }
    }' "$1" | sort
}

# write_jcstress_page TESTS MUTANTS MILLIS
write_jcstress_page() {
  local commit
  commit="$(git -C "$ROOT" rev-parse --short=12 HEAD 2>/dev/null || echo unknown)"
  [ -z "$(git -C "$ROOT" status --porcelain -uno -- . ':!docs' 2>/dev/null)" ] || commit+=" with changes"
  cat <<PAGE
# What threads share without locks, by jcstress

\`./rdma-raw test --jcstress\`, $(date -u +%F), commit $commit, $("$JAVA_HOME/bin/java" --version | sed -n 2p), $(uname -m), $(nproc)
processors; $JCSTRESS_ITERATIONS iterations of $3 ms for each way in which the JVM is told to compile. Made by that command.

| test | times run | |
|---|---:|---|
$1

Faults planted into copies of the classes (\`jcstress/mutants.tsv\`). *weak*: only a processor that exchanges accesses can show
it, which x86-64 is not.

| fault | in | test | where it shows | here |
|---|---|---|---|---|
$(cat "$2")
PAGE
}

run_jcstress_tests() {
  local page="" only=. millis="$JCSTRESS_MILLIS" work="$ROOT/target/jcstress" status=0 tests jcstress_once=no
  while [ $# -gt 0 ]; do
    case "$1" in
      --out) page="${2:?--out needs a file}" && shift 2 ;;
      --only) only="${2:?--only needs an expression}" && shift 2 ;;
      --once) jcstress_once=yes && shift ;;
      --millis) millis="${2:?--millis needs a number}" && shift 2 ;;
      -h | --help) jcstress_usage && return ;;
      *) jcstress_usage >&2 && die "test --jcstress has no option '$1'" ;;
    esac
  done
  [[ "$millis" =~ ^[1-9][0-9]*$ ]] || die "--millis takes a number, not '$millis'"
  command -v python3 >/dev/null || give_up "test --jcstress needs python3: sudo apt-get install -y python3"
  require_jdk
  require_build_tools
  rm -rf "$work"
  mkdir -p "$work"
  : >"$work/mutants"
  page="${page:-$work/README.md}"
  build_jcstress "$work/build.log"
  run_jcstress "$work/tests" "$(jcstress_class_path)" "io\\.rdmaraw\\..*($only).*" "$millis" || status=1
  tests="$(jcstress_rows "$work/tests.log")"
  run_jcstress_mutants "$work" "$only" "$millis" "$work/mutants" || status=1
  write_jcstress_page "$tests" "$work/mutants" "$millis" >"$page"
  cat "$page"
  [ "$status" = 0 ] || tail -n 40 "$work/tests.log" >&2
  return "$status"
}
