# shellcheck shell=bash
# Builds with Maven when a source is newer than the last build.

# Written when a build has succeeded. Lies in target/, so that `mvnw clean` forgets the build too.
readonly BUILD_STAMP="$ROOT/target/rdma-raw.built"
readonly BUILD_LOCK="$ROOT/target/rdma-raw.lock"

run_maven() {
  # Maven's own libraries still use sun.misc.Unsafe and JNI; on a new JDK that prints warnings which look like ours.
  export MAVEN_OPTS="--sun-misc-unsafe-memory-access=allow --enable-native-access=ALL-UNNAMED ${MAVEN_OPTS:-}"
  (cd "${MAVEN_ROOT:-$ROOT}" && ./mvnw "$@" </dev/null)
}

# What Maven and make say goes to a file; the terminal has where they are. Ends the launcher when it fails, with what they
# said of that. Maven itself comes first, the first time, without a word of its own.
run_maven_logged() {
  local log="$1"
  shift
  mkdir -p "${log%/*}"
  [ -d "${MAVEN_USER_HOME:-$HOME/.m2}/wrapper/dists" ] || say "getting Maven"
  run_maven "$@" 2>&1 | tee "$log" | show_progress || {
    grep -v '^\[INFO\]' "$log" | tail -n 100 >&2 || true
    give_up "the build failed; what Maven and the compilers say of it is above, and all of it in $log"
  }
}

# Of Maven's lines: the module, of how many, and how many files have come from its repository. On a terminal it is one
# line that changes, elsewhere one every ten seconds.
show_progress() {
  local line now="looking for what is needed" files=0 said="$SECONDS" begun="$SECONDS" modules='\[INFO\] Building (.*) [^ ]+ +\[([0-9]+)/([0-9]+)\]'
  while IFS= read -r line; do
    case "$line" in
      "[INFO] Downloaded from "*) files=$((files + 1)) ;;
      "[INFO] Building "*) [[ "$line" =~ $modules ]] || continue
        now="${BASH_REMATCH[2]} of ${BASH_REMATCH[3]}, ${BASH_REMATCH[1]}" ;;
      *) continue ;;
    esac
    if [ -t 2 ]; then
      printf '\r\033[Krdma-raw:   %s (%s files downloaded, %s s)' "$now" "$files" "$((SECONDS - begun))" >&2
    elif [ $((SECONDS - said)) -ge "${SECONDS_PER_LINE:-10}" ]; then
      said="$SECONDS"
      say "  $now ($files files downloaded, $((SECONDS - begun)) s)"
    fi
  done
  [ ! -t 2 ] || printf '\r\033[K' >&2
}

# Directories count as well as files: removing a source changes only its directory. The modules' own directories, one
# of which lies in another's, do not: target/ appears in them while we build. Beside the modules only pom.xml is built
# from: what users save next to it is theirs, in directories too, as a report that is written while commands run.
is_built() {
  [ -f "$BUILD_STAMP" ] || return 1
  local newer
  newer="$(cd "$ROOT" && find . \( -name target -o -name .git -o -name docs -o -name '*.md' \) -prune -o \
    \( -type d -path './*' -not -path './*/*' -not -exec test -e '{}/pom.xml' \; \) -prune -o \
    \( -path './*/*' -o -path ./pom.xml \) \( -type f -o -type d \) -newer "$BUILD_STAMP" \
    -not -exec test -e '{}/pom.xml' \; -print -quit)"
  [ -z "$newer" ]
}

build() {
  local started="$BUILD_STAMP.started" log="$ROOT/target/rdma-raw.log"
  require_build_tools
  say "building (the first time Maven also downloads what it needs: some minutes)"
  touch "$started"
  # A source that changes while we build must count as newer than the build: the stamp keeps the time of the start.
  run_maven_logged "$log" -B -DskipTests -Dmaven.test.skip=true -Dmaven.javadoc.skip=true \
    -Dmaven.source.skip=true package
  mv "$started" "$BUILD_STAMP"
}

require_built() {
  mkdir -p "$ROOT/target"
  is_built && return 0
  # Two launchers at once must not build into the same directories; the second finds the work done.
  if command -v flock >/dev/null; then
    exec 9>"$BUILD_LOCK"
    flock 9
  fi
  is_built || build
  # The tool must not inherit the lock, or it would hold the next build up for as long as it runs.
  exec 9>&-
}

# The profiler is no part of the build and never insisted on.
want_profiler() {
  local -a jars
  mapfile -t jars < <(compgen -G "$ROOT/microbench/target/profiler/async-profiler-*.jar")
  [ "${#jars[@]}" -eq 0 ] || return 0
  say "getting async-profiler from Maven Central"
  run_maven -q -B -ntp -pl microbench dependency:copy@async-profiler >&2 \
    || say "async-profiler cannot be had; the JDK's flight recorder is used, which sees no C and no kernel"
}
