# shellcheck shell=bash
# ./rdma-raw test --engine: a job of Spark on a cluster of namespaces, as it is and with this project's agent.

# What the JVMs of Spark need on a new JDK; executors get it from Spark.
readonly ENGINE_OPENS=(java.lang java.lang.invoke java.io java.net java.nio java.util java.util.concurrent sun.nio.ch
  sun.nio.cs sun.util.calendar jdk.internal.ref)
readonly ENGINE_SECONDS=300
readonly ENGINE_NODES=(master worker1 worker2 driver)

engine_usage() {
  cat <<'USAGE'
usage: ./rdma-raw test --engine [--turns N] [--jobs N] [--records N] [--out FILE]

  As root: a cluster of Spark, a master, two workers and a driver, each in a network namespace of its own on one bridge.
  The driver's job moves records from each executor to the other. It runs on the kernel's sockets, and with this
  project's agent in the driver and the executors, in turns. Fails unless all results are the same, and unless the
  device carried the shuffle.

  --turns N    of each (2)
  --jobs N     in each turn, of which the first does not count (4)
  --records N  of 1,000 bytes in each of 8 partitions (8000)
  --out FILE   write the table as Markdown (target/engine/README.md)
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
  die "nothing said '$text' in $ENGINE_SECONDS s: $log has what was said"
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

# One turn: a new cluster, and the job. Prints "RESULTS SECONDS... | WIRE KERNEL", seconds without those of the first job.
engine_turn() {
  local kind="$1" logs="$2" agent="" wire=0 kernel=0 name status=0
  mkdir -p "$logs"
  # By which a worker finds the classes of its executors.
  export SPARK_HOME="$engine_home" SPARK_SCALA_VERSION=2.13 JAVA_HOME
  engine_prefix="rre$$$kind" engine_pids=()
  trap engine_end RETURN EXIT
  engine_network
  [ "$kind" = kernel ] || agent="-javaagent:$engine_agent=device=soft:xdp:eth0"
  engine_start master 10.77.0.1 "$logs/master" org.apache.spark.deploy.master.Master --host 10.77.0.1 --port 7077 \
    --webui-port 8080
  engine_await "$logs/master" "New state: ALIVE"
  for name in 1 2; do
    engine_start "worker$name" "10.77.0.$((name + 1))" "$logs/worker$name" org.apache.spark.deploy.worker.Worker \
      --host "10.77.0.$((name + 1))" -c 1 -m 1g --work-dir "$logs/work$name" spark://10.77.0.1:7077
    engine_await "$logs/worker$name" "Successfully registered with master"
  done
  # shellcheck disable=SC2086 # the agent is one word, or none
  SPARK_LOCAL_IP=10.77.0.4 timeout "$ENGINE_SECONDS" ip netns exec "$engine_prefix-driver" \
    "$JAVA_HOME/bin/java" --enable-native-access=ALL-UNNAMED $agent "${engine_jvm[@]}" \
    -Dspark.master=spark://10.77.0.1:7077 -Dspark.driver.host=10.77.0.4 -Dspark.ui.enabled=false \
    -Dspark.executor.memory=512m -Dspark.executor.extraClassPath="$engine_home/classes" \
    -Dspark.executor.extraJavaOptions="--enable-native-access=ALL-UNNAMED $agent" \
    ShuffleJob "$engine_jobs" "$engine_records" >"$logs/driver.out" 2>"$logs/driver" || status=$?
  if [ "$status" != 0 ]; then
    tail -n 20 "$logs/driver" >&2
    die "the job failed ($kind): $logs has what all said"
  fi
  for name in worker1 worker2; do
    wire=$((wire + $(engine_wire_bytes "$name")))
    kernel=$((kernel + $(engine_kernel_bytes "$name")))
  done
  printf '%s %s %s\n' "$kind" "$wire" "$kernel" >>"$engine_bytes"
  sed "s/^/$kind /" "$logs/driver.out" >>"$engine_results"
}

run_engine() {
  local turns=2 page="" directory="$ROOT/target/engine" turn kind
  engine_jobs=4 engine_records=8000
  while [ $# -gt 0 ]; do
    case "$1" in
      --turns) turns="${2:?--turns needs a number}" && shift 2 ;;
      --jobs) engine_jobs="${2:?--jobs needs a number}" && shift 2 ;;
      --records) engine_records="${2:?--records needs a number}" && shift 2 ;;
      --out) page="$(realpath -m "${2:?--out needs a file}")" && shift 2 ;;
      -h | --help) engine_usage && return ;;
      *) engine_usage >&2 && die "'$1' is no option of test --engine" ;;
    esac
  done
  [ "$(id -u)" = 0 ] || die "test --engine makes network namespaces: run it as root"
  require_jdk
  require_built
  page="${page:-$directory/README.md}"
  engine_home="$directory/home"
  engine_agent="$ROOT/transport-rdma-raw-agent/target/netty-transport-rdma-raw-agent-0.1.0-SNAPSHOT.jar"
  mkdir -p "$engine_home/classes"
  if [ ! -f "$directory/fetched" ]; then
    say "getting Spark from Maven Central"
    run_maven -q -B -ntp -f scripts/engine/pom.xml dependency:copy-dependencies -DincludeScope=runtime \
      -DoutputDirectory="$engine_home/jars" >"$directory/fetch.log" 2>&1 ||
      die "Spark cannot be had: $directory/fetch.log has what Maven said"
    touch "$directory/fetched"
  fi
  "$JAVA_HOME/bin/javac" -cp "$engine_home/jars/*" -d "$engine_home/classes" -proc:none \
    "$ROOT/scripts/engine/ShuffleJob.java" || die "the job cannot be compiled"
  engine_jvm=(-Xmx512m -XX:+UseSerialGC)
  for kind in "${ENGINE_OPENS[@]}"; do
    engine_jvm+=("--add-opens=java.base/$kind=ALL-UNNAMED")
  done
  engine_jvm+=(-cp "$engine_home/classes:$engine_home/jars/*")
  engine_results="$directory/results" engine_bytes="$directory/bytes"
  rm -rf "$directory/logs"
  : >"$engine_results" && : >"$engine_bytes"
  for ((turn = 1; turn <= turns; turn++)); do
    for kind in kernel agent; do
      say "engine: Spark, turn $turn, $kind"
      (engine_turn "$kind" "$directory/logs/$kind$turn") || return 1
    done
  done
  python3 "$ROOT/scripts/engine/summary.py" "$engine_results" "$engine_bytes" "$engine_records" >"$page" || return 1
  cat "$page"
}
