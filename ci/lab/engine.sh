# shellcheck shell=bash
# ./rdma-raw test --engine: programs of several nodes, in namespaces, as they are and with this project's agent.

# What the JVMs of Spark need on a new JDK, and BookKeeper's some of it; executors get it from Spark.
readonly ENGINE_OPENS=(java.lang java.lang.invoke java.io java.net java.nio java.util java.util.concurrent sun.nio.ch
  sun.nio.cs sun.util.calendar jdk.internal.ref)
readonly ENGINE_SECONDS=300
# What the tables call them.
declare -grA ENGINE_NAMES=([spark]="Spark's shuffle" [bookkeeper]="Ledgers of BookKeeper" [gateway]="Spring Cloud Gateway")
readonly ENGINE_NODES=(master worker1 worker2 driver)

engine_usage() {
  cat <<'USAGE'
usage: ./rdma-raw test --engine [ENGINE...] [--turns N] [--jobs N] [--records N] [--out FILE]

  As root: a program of several nodes, each in a network namespace of its own on one bridge. Its job moves random bytes
  between the nodes. It runs on the kernel's sockets, and with this project's agent, in turns. Fails unless all results
  are the same, and unless the device carried them.

  ENGINE       spark: a cluster whose executors exchange records, the agent in them and in the driver;
               bookkeeper: ledgers that are written to two bookies and read, the agent in the bookies and the client;
               gateway: Spring Cloud Gateway in front of a stock server, asked by curl, the agent in the gateway (spark)
  --turns N    of each (2)
  --jobs N     in each turn, of which the first does not count (4)
  --records N  of 1,000 bytes in each eighth of a job's bytes (8000)
  --out FILE   write the tables as Markdown (target/engine/README.md)
USAGE
}

# Makes the hub and the nodes; the namespaces' names begin with $engine_prefix.
engine_network() {
  local node=1 name
  ip netns add "$engine_prefix-hub"
  ip -n "$engine_prefix-hub" link add bridge type bridge
  ip -n "$engine_prefix-hub" link set bridge up
  for name in "${ENGINE_NODES[@]}"; do
    ip netns add "$engine_prefix-$name"
    ip -n "$engine_prefix-$name" link set lo up
    ip link add eth0 netns "$engine_prefix-$name" type veth peer name "n$node" netns "$engine_prefix-hub"
    ip -n "$engine_prefix-hub" link set "n$node" master bridge up
    ip -n "$engine_prefix-$name" addr add "10.77.0.$node/24" dev eth0
    ip -n "$engine_prefix-$name" link set eth0 up
    node=$((node + 1))
  done
}

engine_end() {
  local name pid
  for pid in "${engine_pids[@]}"; do
    kill "$pid" 2>/dev/null || true
  done
  for name in "${ENGINE_NODES[@]}"; do
    # Executors, which are children of the workers.
    for pid in $(ip netns pids "$engine_prefix-$name" 2>/dev/null); do
      kill -9 "$pid" 2>/dev/null || true
    done
    ip netns del "$engine_prefix-$name" 2>/dev/null || true
  done
  ip netns del "$engine_prefix-hub" 2>/dev/null || true
}

# Starts a class of Spark on a node in the background, with the given options of the JVM before the class.
engine_start() {
  local name="$1" address="$2" log="$3" pid
  shift 3
  SPARK_LOCAL_IP="$address" ip netns exec "$engine_prefix-$name" "$JAVA_HOME/bin/java" "${engine_jvm[@]}" "$@" \
    >"$log" 2>&1 &
  pid=$!
  engine_pids+=("$pid")
  # It is ended by force; bash is not to tell.
  disown "$pid"
}

engine_await() {
  local log="$1" text="$2" second
  for ((second = 0; second < ENGINE_SECONDS; second++)); do
    grep -q "$text" "$log" 2>/dev/null && return
    sleep 1
  done
  tail -n 20 "$log" >&2
  give_up "nothing said '$text' in $ENGINE_SECONDS s: $log has what was said"
}

# A counter of a node: bytes that the interface got, or bytes that the kernel's IP got.
engine_wire_bytes() {
  ip netns exec "$engine_prefix-$1" cat /sys/class/net/eth0/statistics/rx_bytes
}

engine_kernel_bytes() {
  # shellcheck disable=SC2016 # they are awk's
  ip netns exec "$engine_prefix-$1" awk '/^IpExt:/ { if (!n++) split($0, names); else for (i in names)
    if (names[i] == "InOctets") print $i }' /proc/net/netstat
}

# One turn: new nodes, and the job. Adds to the files of results and of bytes.
engine_turn() {
  local kind="$1" jobs="$3" records="$4" agent="" wire=0 kernel=0 name status=0
  engine_logs="$2"
  mkdir -p "$engine_logs"
  engine_prefix="rre$$$kind" engine_pids=()
  trap engine_end RETURN EXIT
  engine_network
  [ "$kind" = kernel ] || agent="--enable-native-access=ALL-UNNAMED -javaagent:$engine_agent=device=soft:xdp:eth0"
  "engine_run_$engine" "$agent" "$jobs" "$records" || status=$?
  if [ "$status" != 0 ]; then
    tail -n 20 "$engine_logs/driver" >&2
    give_up "the job failed ($engine, $kind): $engine_logs has what all said"
  fi
  for name in worker1 worker2; do
    wire=$((wire + $(engine_wire_bytes "$name")))
    kernel=$((kernel + $(engine_kernel_bytes "$name")))
  done
  printf '%s %s %s\n' "$kind" "$wire" "$kernel" >>"$engine_bytes"
  # A job's log may be there too.
  sed -n "s/^job /$kind job /p" "$engine_logs/driver.out" >>"$engine_results"
}

# All turns of one engine; prints its table.
run_one_engine() {
  local turns="$1" jobs="$2" records="$3" directory="$ROOT/target/engine/$engine" turn kind package
  engine_home="$directory/home"
  mkdir -p "$engine_home/classes"
  if [ ! -f "$directory/fetched" ]; then
    say "getting $engine from Maven Central"
    run_maven -q -B -ntp -f "ci/lab/engine/$engine/pom.xml" dependency:copy-dependencies -DincludeScope=runtime \
      -DoutputDirectory="$engine_home/jars" >"$directory/fetch.log" 2>&1 ||
      give_up "$engine cannot be had: $directory/fetch.log has what Maven said"
    touch "$directory/fetched"
  fi
  "$JAVA_HOME/bin/javac" -cp "$engine_home/jars/*" -d "$engine_home/classes" -proc:none \
    "$ROOT/ci/lab/engine/$engine"/*.java >&2 || give_up "the job of $engine cannot be compiled"
  engine_jvm=(-Xmx512m -XX:+UseSerialGC)
  for package in "${ENGINE_OPENS[@]}"; do
    engine_jvm+=("--add-opens=java.base/$package=ALL-UNNAMED")
  done
  engine_jvm+=(-cp "$engine_home/classes:$engine_home/jars/*")
  engine_results="$directory/results" engine_bytes="$directory/bytes"
  rm -rf "$directory/logs"
  : >"$engine_results" && : >"$engine_bytes"
  for ((turn = 1; turn <= turns; turn++)); do
    for kind in kernel agent; do
      say "engine: $engine, turn $turn, $kind"
      (engine_turn "$kind" "$directory/logs/$kind$turn" "$jobs" "$records") || return 1
    done
  done
  python3 "$ROOT/ci/lab/engine/summary.py" "${ENGINE_NAMES[$engine]}" "$engine_results" "$engine_bytes" \
    "$records"
}

run_engine() {
  local turns=2 jobs=4 records=8000 page="" status=0
  local -a wanted=()
  while [ $# -gt 0 ]; do
    case "$1" in
      --turns) turns="${2:?--turns needs a number}" && shift 2 ;;
      --jobs) jobs="${2:?--jobs needs a number}" && shift 2 ;;
      --records) records="${2:?--records needs a number}" && shift 2 ;;
      --out) page="$(realpath -m "${2:?--out needs a file}")" && shift 2 ;;
      -h | --help) engine_usage && return ;;
      *)
        [ -n "${ENGINE_NAMES[$1]:-}" ] || { engine_usage >&2 && die "'$1' is no engine, nor an option of test --engine"; }
        wanted+=("$1") && shift
        ;;
    esac
  done
  [ "$(id -u)" = 0 ] || give_up "test --engine makes network namespaces: run it as root"
  require_jdk
  require_built
  page="${page:-$ROOT/target/engine/README.md}"
  engine_agent="$ROOT/transport-rdma-raw-agent/target/netty-transport-rdma-raw-agent-0.1.0-SNAPSHOT.jar"
  mkdir -p "$ROOT/target/engine"
  : >"$page.new"
  for engine in "${wanted[@]:-spark}"; do
    run_one_engine "$turns" "$jobs" "$records" >>"$page.new" || status=1
    printf '\n' >>"$page.new"
  done
  cat "$page.new"
  if [ "$status" = 0 ]; then mv "$page.new" "$page"; else say "what there is of the page is in $page.new"; fi
  return "$status"
}
