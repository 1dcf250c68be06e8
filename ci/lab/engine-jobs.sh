# shellcheck shell=bash
# The engines of ./rdma-raw test --engine: how each is started on the nodes, with the options of the JVM for the agent or
# none, and what its job is: how often, and how many records. For each time it prints
# "job NUMBER result HEX seconds SECONDS".

# What the turn sets: the beginning of the namespaces' names, where logs go, where the jars and classes are, and how a
# JVM is started.
engine_prefix="" engine_logs="" engine_home=""
engine_jvm=()
readonly ENGINE_BOOKIE_METADATA=zk+hierarchical://10.77.0.1:2181/ledgers

# Waits until a port takes connections of its own host.
engine_await_port() {
  local name="$1" address="$2" port="$3" second
  for ((second = 0; second < ENGINE_SECONDS; second++)); do
    ip netns exec "$engine_prefix-$name" bash -c "exec 3<>/dev/tcp/$address/$port" 2>/dev/null && return
    sleep 1
  done
  give_up "nothing listened on $address:$port in $ENGINE_SECONDS s: $engine_logs has what was said"
}

# Runs a program on the driver's node, whose output is the results.
engine_driver() {
  SPARK_LOCAL_IP=10.77.0.4 timeout "$ENGINE_SECONDS" ip netns exec "$engine_prefix-driver" "$@" \
    >"$engine_logs/driver.out" 2>"$engine_logs/driver"
}

# A master, two workers with an executor each, and a driver. The agent is in the driver and the executors: the workers
# start the executors, and a device has one process.
engine_run_spark() {
  local agent="$1" jobs="$2" records="$3" name
  # By which a worker finds the classes of its executors.
  export SPARK_HOME="$engine_home" SPARK_SCALA_VERSION=2.13 JAVA_HOME
  engine_start master 10.77.0.1 "$engine_logs/master" org.apache.spark.deploy.master.Master --host 10.77.0.1 \
    --port 7077 --webui-port 8080
  engine_await "$engine_logs/master" "New state: ALIVE"
  for name in 1 2; do
    engine_start "worker$name" "10.77.0.$((name + 1))" "$engine_logs/worker$name" \
      org.apache.spark.deploy.worker.Worker --host "10.77.0.$((name + 1))" -c 1 -m 1g \
      --work-dir "$engine_logs/work$name" spark://10.77.0.1:7077
    engine_await "$engine_logs/worker$name" "Successfully registered with master"
  done
  # shellcheck disable=SC2086 # the agent is options, or none
  engine_driver "$JAVA_HOME/bin/java" $agent "${engine_jvm[@]}" \
    -Dspark.master=spark://10.77.0.1:7077 -Dspark.driver.host=10.77.0.4 -Dspark.ui.enabled=false \
    -Dspark.executor.memory=512m -Dspark.executor.extraClassPath="$engine_home/classes" \
    -Dspark.executor.extraJavaOptions="$agent" ShuffleJob "$jobs" "$records"
}

# ZooKeeper, two bookies and a client. The agent is in the bookies and the client; what they say to ZooKeeper goes by
# Java's own channels, without Netty.
engine_run_bookkeeper() {
  local agent="$1" jobs="$2" records="$3" name directory
  engine_start master 10.77.0.1 "$engine_logs/zookeeper" -Dzookeeper.admin.enableServer=false \
    org.apache.zookeeper.server.ZooKeeperServerMain 2181 "$engine_logs/zookeeper-data"
  engine_await_port master 10.77.0.1 2181
  for name in 1 2; do
    directory="$engine_logs/bookie$name"
    mkdir -p "$directory"
    cat >"$directory/bookie.conf" <<CONF
metadataServiceUri=$ENGINE_BOOKIE_METADATA
bookiePort=3181
advertisedAddress=10.77.0.$((name + 1))
journalDirectory=$directory/journal
ledgerDirectories=$directory/ledgers
logSizeLimit=67108864
minUsableSizeForEntryLogCreation=1
minUsableSizeForIndexFileCreation=1
diskUsageWarnThreshold=0.98
diskUsageThreshold=0.99
CONF
  done
  ip netns exec "$engine_prefix-worker1" "$JAVA_HOME/bin/java" "${engine_jvm[@]}" \
    org.apache.bookkeeper.bookie.BookieShell -conf "$engine_logs/bookie1/bookie.conf" metaformat -nonInteractive \
    >"$engine_logs/metaformat" 2>&1 || { tail -n 20 "$engine_logs/metaformat" >&2 && return 1; }
  for name in 1 2; do
    # shellcheck disable=SC2086 # the agent is options, or none
    engine_start "worker$name" "10.77.0.$((name + 1))" "$engine_logs/bookie$name/log" $agent \
      org.apache.bookkeeper.server.Main --conf "$engine_logs/bookie$name/bookie.conf"
  done
  # shellcheck disable=SC2086
  engine_driver "$JAVA_HOME/bin/java" $agent "${engine_jvm[@]}" LedgerJob "$ENGINE_BOOKIE_METADATA" "$jobs" \
    "$records"
}

# Python's web server with a file of a million bytes, the gateway with the agent in front of it, and curl.
engine_run_gateway() {
  local agent="$1" jobs="$2" records="$3" page="$engine_logs/pages/page"
  mkdir -p "$engine_logs/pages"
  # The same bytes in each turn.
  python3 -c 'import random, sys; sys.stdout.buffer.write(random.Random(1).randbytes(10**6))' >"$page" || return 1
  ip netns exec "$engine_prefix-master" python3 -m http.server -d "$engine_logs/pages" 8090 \
    >"$engine_logs/server" 2>&1 &
  engine_pids+=($!)
  disown $!
  engine_await_port master 10.77.0.1 8090
  # shellcheck disable=SC2086 # the agent is options, or none
  engine_start worker1 10.77.0.2 "$engine_logs/gateway" $agent Gateway --server.address=10.77.0.2 --server.port=8080 \
    --spring.cloud.gateway.server.webflux.routes[0].id=pages \
    --spring.cloud.gateway.server.webflux.routes[0].uri=http://10.77.0.1:8090 \
    --spring.cloud.gateway.server.webflux.routes[0].predicates[0]=Path=/page
  engine_await "$engine_logs/gateway" "Started Gateway"
  # shellcheck disable=SC2016 # they are the inner shell's
  engine_driver bash -c 'set -e -o pipefail
    for ((job = 0; job < $1; job++)); do
      start=${EPOCHREALTIME/[.,]/}
      result=$(curl -sS -f -m 200 "http://10.77.0.2:8080/page?[1-$2]" | sha256sum | cut -c -8)
      took=$((${EPOCHREALTIME/[.,]/} - start))
      printf "job %d result %s seconds %d.%02d\n" "$job" "$result" $((took / 1000000)) $((took / 10000 % 100))
    done' bash "$jobs" $(((records * 8 + 999) / 1000))
}
