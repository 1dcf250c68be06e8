# shellcheck shell=bash
# ./rdma-raw test --programs: programs from Maven Central run the same with this project's agent as without it.

readonly PROGRAMS=(artemis dubbo hivemq moquette opensearch pulsar vertx4 zookeeper)
readonly PROGRAM_SECONDS=120

programs_usage() {
  cat <<'USAGE'
usage: ./rdma-raw test --programs [--out FILE] [PROGRAM...]

  Runs programs from Maven Central without the agent, with it on a device in memory, and with it on a device that is
  missing. Each runs with the Netty that it asks for, and with Netty 4.2. Fails unless exit and output are the same each
  time, apart from numbers and from the lines of the agent and the JVM.

  PROGRAM     artemis, dubbo, hivemq, moquette, opensearch, pulsar, vertx4, zookeeper; without any, all
  --out FILE  the page of Markdown that this run writes (target/programs/README.md)
USAGE
}

# The output of a program without what differs from run to run; threads write in any order.
program_result() {
  grep -v -e '^rdma-raw agent: ' -e 'VM warning: ' -e '^WARNING: ' "$1" | sed -E 's/[0-9]{2,}/N/g; s/@[0-9a-f]+/@N/g' |
    LC_ALL=C sort
}

# Runs a program, and leaves its output and its exit in a file.
run_program() {
  local class="$1" libraries="$2" output="$3" status=0
  shift 3
  timeout "$PROGRAM_SECONDS" "$JAVA_HOME/bin/java" --enable-native-access=ALL-UNNAMED -Xshare:auto "$@" \
    -cp "$libraries:$libraries/*" "$class" >"$output" 2>&1 </dev/null || status=$?
  printf 'exit %s\n' "$status" >>"$output"
}

# One program with one Netty: a line of the page.
compare_program() {
  local program="$1" netty="$2" agent="$3" class libraries output mode same="yes" version says relocated=""
  local -a profiles=("$program")
  class="${program^}Program"
  libraries="$ROOT/target/programs/$program-$netty"
  output="$ROOT/target/programs/$program-$netty"
  [ "$netty" = own ] || profiles+=(netty-4.2)
  [ "$program" != pulsar ] || relocated=",relocated=org.apache.pulsar.shade.io.netty"
  rm -rf "$libraries" && mkdir -p "$libraries"
  run_maven -q -B -ntp -f ci/lab/programs/pom.xml "-P$(IFS=, && echo "${profiles[*]}")" \
    dependency:copy-dependencies -DincludeScope=runtime "-DoutputDirectory=$libraries" >"$output.log" 2>&1 || {
    tail -n 20 "$output.log" >&2
    give_up "Maven could not get $program: $output.log has all that it said"
  }
  "$JAVA_HOME/bin/javac" -nowarn -proc:none -d "$libraries" -cp "$libraries/*" \
    "$ROOT/ci/lab/programs/$class.java" >>"$output.log" 2>&1 || { tail -n 20 "$output.log" >&2 && give_up "javac: $class"; }
  run_program "$class" "$libraries" "$output-alone.txt"
  run_program "$class" "$libraries" "$output-device.txt" "-javaagent:$agent=device=soft:loop$relocated"
  run_program "$class" "$libraries" "$output-missing.txt" "-javaagent:$agent=device=soft:xdp:none0$relocated"
  grep -q '^done$' "$output-alone.txt" || { tail -n 20 "$output-alone.txt" >&2 && give_up "$program does not run by itself"; }
  for mode in device missing; do
    diff <(program_result "$output-alone.txt") <(program_result "$output-$mode.txt") >"$output-$mode.diff" || same="no"
  done
  version="$(find "$libraries" -name 'netty-transport-4*' -printf '%f\n' | sed 's/netty-transport-\(.*\)\.jar/\1/' | head -n 1)"
  says="$(sed -n 's/^rdma-raw agent: //p' "$output-device.txt" | sed -n '2,$p' | grep -e '^on' -e 'without it' | head -n 1)"
  printf '| %s | %s | %s | %s |\n' "$program" "${version:-in its own package}" "${says:-}" "$same"
  [ "$same" = yes ]
}

run_programs() {
  local page="$ROOT/target/programs/README.md" program netty status=0
  local agent="$ROOT/transport-rdma-raw-agent/target/netty-transport-rdma-raw-agent-0.1.0-SNAPSHOT.jar"
  local -a wanted=()
  while [ $# -gt 0 ]; do
    case "$1" in
      --out) page="$(realpath -m "${2:?--out needs a file}")" && shift 2 ;;
      -h | --help) programs_usage && return ;;
      *)
        [[ " ${PROGRAMS[*]} " == *" $1 "* ]] || { programs_usage >&2 && die "there is no program '$1'"; }
        wanted+=("$1") && shift
        ;;
    esac
  done
  [ "${#wanted[@]}" -gt 0 ] || wanted=("${PROGRAMS[@]}")
  require_jdk
  require_built
  mkdir -p "$ROOT/target/programs" "${page%/*}"
  {
    printf '# Programs with the agent and without\n\n'
    # shellcheck disable=SC2016 # Markdown's own
    printf 'Written by `./rdma-raw test --programs`, %s. The programs are in [ci/lab/programs]' "$(framework_suites_measured)"
    printf '(../../ci/lab/programs). Each runs three\ntimes: without the agent, with a device in memory, and with a '
    printf 'device that is missing.\n\n'
    printf '| program | Netty | the agent says, with the device in memory | same exit and output |\n|---|---|---|---|\n'
  } >"$page.new"
  for program in "${wanted[@]}"; do
    for netty in own 4.2; do
      [ "$program-$netty" != pulsar-4.2 ] || continue
      say "programs: $program with Netty $netty"
      compare_program "$program" "$netty" "$agent" >>"$page.new" || status=1
    done
  done
  mv "$page.new" "$page"
  cat "$page"
  return "$status"
}
