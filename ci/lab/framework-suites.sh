# shellcheck shell=bash
# ./rdma-raw test --frameworks: the tests that frameworks publish of themselves, in a JVM with this project's agent, whose
# device is in memory, and once more on the kernel's sockets: what fails on both is not this transport's.

# The classes that open sockets. A suite is a directory's name, or one with a part of its classes behind a hyphen: those
# of Vert.x take hours.
declare -grA FRAMEWORK_TESTS=(
  [grpc]='PlaintextInteropTest,TlsInteropTest'
  [rsocket]='RSocketTcpTest,RSocketFragmentsTest,RSocketTlsTest,RSocketWebSocketTest'
  [vertx-net]='NetTest,NetBandwidthLimitingTest,SharedServersConcurrencyTest,DatagramTest,DNSTest,NameResolverTest'
  [vertx-http1]='Http1xTest,Http1xSendFileTest,Http1xClientTimeoutTest,Http1xCompressionTest,Http1xServerFileUploadTest,
Http1xClientFileUploadTest,Http1ClientConnectionTest,Http1xProxyTest,Http1xHAProxyTest,HttpBandwidthLimitingTest,
HttpServerCloseSequenceTest,HttpConnectionEarlyResetTest,HttpPoolCapacityTest,SharedHttpClientTest'
  [vertx-http2]='Http2Test,Http2ClientTimeoutTest,Http2CompressionTest,Http2ServerFileUploadTest,
Http2ClientFileUploadTest,Http2ClientConnectionTest,Http2ServerTest,Http2ClientTest,Http2HAProxyTest'
  [vertx-tls]='Http1xTLSTest,Http1xTLSSendFileTest,Http2TLSTest,Http2SendFileTest'
  [vertx-websocket]='WebSocketTest')
readonly FRAMEWORK_SUITES=(grpc rsocket vertx-net vertx-http1 vertx-http2 vertx-tls vertx-websocket)

framework_suites_usage() {
  cat <<'USAGE'
usage: ./rdma-raw test --frameworks [--out FILE] [--tests CLASSES] [SUITE...]

  Runs the tests that frameworks publish of themselves with this project's agent, on a device in memory, and again on
  the kernel's sockets. A test that fails is run twice more. Fails where a test fails on this transport alone and no
  reason is written down, and where a buffer is leaked on this transport alone.

  SUITE            grpc, rsocket (on Reactor Netty), vertx-net, vertx-http1, vertx-http2, vertx-tls, vertx-websocket;
                   without any, all, for hours
  --tests CLASSES  only these, as Maven's -Dtest takes them
  --out FILE       the page of Markdown whose rows of these classes this run replaces (target/frameworks/README.md)
USAGE
}

# Runs a suite's tests with options of the JVM, and leaves the reports in a directory. Failed tests are not this one's.
run_framework_suite() {
  local suite="$1" tests="$2" reports="$3" jvm_options="$4"
  rm -rf "$reports"
  mkdir -p "$reports"
  run_maven -B -ntp -f "ci/lab/framework-suites/${suite%%-*}/pom.xml" test -Dmaven.test.failure.ignore=true \
    -Dsurefire.failIfNoSpecifiedTests=false -Dsurefire.rerunFailingTestsCount=2 -Dsurefire.timeout=7200 \
    -Dtest="$tests" -Dsuite.reports="$reports" -Dsuite.jvmArgs="$jvm_options" >"$reports.log" 2>&1 || {
    tail -n 30 "$reports.log" >&2
    give_up "Maven could not run the tests of $suite: $reports.log has all that it said"
  }
}

# The versions that a suite's Maven project names.
framework_suite_versions() {
  local versions
  versions="$(sed -n 's|^ *<\([a-z]*\).version>\([0-9].*\)</.*|\1 \2|p' \
    "$ROOT/ci/lab/framework-suites/${1%%-*}/pom.xml")"
  printf '%s.\n' "${versions//$'\n'/, }"
}

# What was measured: the commit, and whether anything but a page of such a run differs from it.
framework_suites_measured() {
  local commit
  commit="$(git -C "$ROOT" rev-parse --short=12 HEAD 2>/dev/null || echo unknown)"
  [ -z "$(git -C "$ROOT" status --porcelain -uno -- . ':!docs' 2>/dev/null)" ] || commit+=" with changes"
  printf '%s, %s\n' "$commit" "$(date -u +%F)"
}

run_framework_suites() {
  local page="$ROOT/target/frameworks/README.md" tests="" suite classes measured status=0
  local agent="$ROOT/transport-rdma-raw-agent/target/netty-transport-rdma-raw-agent-0.1.0-SNAPSHOT.jar"
  local common="--enable-native-access=ALL-UNNAMED -Dio.netty.leakDetection.level=paranoid"
  local -a wanted=()
  while [ $# -gt 0 ]; do
    case "$1" in
      --out) page="$(realpath -m "${2:?--out needs a file}")" && shift 2 ;;
      --tests) tests="${2:?--tests needs names of classes}" && shift 2 ;;
      -h | --help) framework_suites_usage && return ;;
      *)
        [ -n "${FRAMEWORK_TESTS[$1]:-}" ] || { framework_suites_usage >&2 && die "there is no suite '$1'"; }
        wanted+=("$1") && shift
        ;;
    esac
  done
  [ "${#wanted[@]}" -gt 0 ] || wanted=("${FRAMEWORK_SUITES[@]}")
  require_jdk
  require_built
  mkdir -p "$ROOT/target/frameworks"
  measured="$(framework_suites_measured)"
  for suite in "${wanted[@]}"; do
    say "frameworks: $suite on this transport"
    classes="${tests:-${FRAMEWORK_TESTS[$suite]//[[:space:]]/}}"
    run_framework_suite "$suite" "$classes" "$ROOT/target/frameworks/$suite-ours" \
      "$common -javaagent:$agent=device=soft:loop"
    say "frameworks: $suite on the kernel's sockets"
    run_framework_suite "$suite" "$classes" "$ROOT/target/frameworks/$suite-kernel" "$common"
    python3 "$ROOT/ci/lab/framework-suites/compare.py" "$ROOT/target/frameworks/$suite-ours" \
      "$ROOT/target/frameworks/$suite-kernel" "$ROOT/ci/lab/framework-suites/${suite%%-*}/reasons.txt" \
      >"$ROOT/target/frameworks/$suite.json" || status=1
    # After each suite: the next one may take an hour.
    python3 "$ROOT/ci/lab/framework-suites/page.py" "$page" "$measured" "$suite" "$(framework_suite_versions "$suite")" \
      "$ROOT/target/frameworks/$suite.json" >"$ROOT/target/frameworks/page.new"
    mv "$ROOT/target/frameworks/page.new" "$page"
  done
  cat "$page"
  return "$status"
}
