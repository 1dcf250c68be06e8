# shellcheck shell=bash
# Variables of the run are set by container-kit.sh and containers.sh.
# shellcheck disable=SC2154
# What `./rdma-raw test --containers` asks of the servers in their containers. Each function is a step: it ends with 0 if
# what it says is so, and what it prints goes to the report's files.

# How much goes each way in the steps of bulk data.
readonly CONTAINER_BYTES=100000000

# The digest of the page /bytes/N of the example servers: bytes 0 to 250 over and over.
digest_of_pattern() {
  python3 - "$1" <<'PYTHON'
import hashlib, sys
length, pattern = int(sys.argv[1]), bytes(range(251)) * 4096
digest = hashlib.sha256()
while length > 0:
    digest.update(pattern[:length])
    length -= len(pattern)
print(digest.hexdigest())
PYTHON
}

random_file() {
  [ -f "$container_work/work/$1" ] || head -c "$2" /dev/urandom >"$container_work/work/$1"
}

digest_of_file() {
  sha256sum "$1" | cut -d ' ' -f 1
}

same() {
  echo "$3: $1"
  [ "$1" = "$2" ] || { echo "$3 should be $2" >&2; return 1; }
}

# ---- servers ----

# Each address of the interface, of IPv4.
container_bind=0.0.0.0

# The options of a device's container, as docs/reference/security.md and docs/guide/containers.md have them.
device_options() {
  case "$1" in
    soft:packet:*) echo --cap-drop all --cap-add net_raw,net_admin,bpf ;;
    *) echo --cap-drop all --cap-add net_raw,net_admin,bpf,ipc_lock ;;
  esac
}

# start_server NAME DEVICE EXAMPLE [OPTION OF PODMAN...] [-- OPTION OF THE SERVER...]
start_server() {
  local name="$1" device="$2" example="$3"
  local -a options=() capabilities
  shift 3
  while [ $# -gt 0 ] && [ "$1" != -- ]; do
    options+=("$1")
    shift
  done
  [ $# -eq 0 ] || shift
  read -ra capabilities <<<"$(device_options "$device")"
  podman run --detach --name "$name" "${capabilities[@]}" --security-opt "seccomp=$ROOT/examples/containers/seccomp.json" \
    "${options[@]}" localhost/rdma-raw example "$example" --device "$device" --address "$container_bind" "$@" >/dev/null
  await_listening "$name"
}

# The peers are asked for nothing: neither interface has been set by ethtool.
from_container() {
  podman exec clients "$@"
}

# ---- steps ----

http_pages() {
  local url="http://$1:8080"
  from_container curl -sS --max-time 30 "$url/json" && echo
  curl -sS --max-time 30 "$url/json" && echo
}

# Both from a container on the bridge and from the host, which is the bridge's other end.
http_bulk() {
  local url="http://$1:8080" expected
  expected="$(digest_of_pattern "$CONTAINER_BYTES")"
  same "$(from_container curl -sS --max-time 300 "$url/bytes/$CONTAINER_BYTES" | sha256sum | cut -d ' ' -f 1)" \
    "$expected" "down to a container"
  same "$(curl -sS --max-time 300 "$url/bytes/$CONTAINER_BYTES" | sha256sum | cut -d ' ' -f 1)" \
    "$expected" "down to the host"
}

# The longest content that the example takes, there and back.
http_posts() {
  local url="http://$1:8080/echo" file="$container_work/work/post"
  random_file post 16000000
  same "$(from_container curl -sS --max-time 300 --data-binary @/work/post "$url" | sha256sum | cut -d ' ' -f 1)" \
    "$(digest_of_file "$file")" "posted by a container"
  same "$(curl -sS --max-time 300 --data-binary "@$file" "$url" | sha256sum | cut -d ' ' -f 1)" \
    "$(digest_of_file "$file")" "posted by the host"
}

# As much to the server, which digests it as it comes.
http_uploads() {
  local url="http://$1:8080/sha256" file="$container_work/work/bulk" sent
  random_file bulk "$CONTAINER_BYTES"
  sent="$(digest_of_file "$file")"
  same "$(from_container curl -sS --max-time 300 --data-binary @/work/bulk "$url")" "$sent" "up from a container"
  same "$(curl -sS --max-time 300 --data-binary "@$file" "$url")" "$sent" "up from the host"
}

http_load() {
  local out
  out="$(from_container wrk -t 2 -c 32 -d 5 "http://$1:8080/plaintext")"
  printf '%s\n' "$out"
  ! grep -E 'Socket errors|Non-2xx' <<<"$out"
  grep -E 'requests in' <<<"$out"
  out="$(wrk -t 2 -c 32 -d 5 "http://$1:8080/plaintext")"
  printf '%s\n' "$out"
  ! grep -E 'Socket errors|Non-2xx' <<<"$out"
}

# All of it there and back at once.
echo_bulk() {
  local file="$container_work/work/bulk" sent
  random_file bulk "$CONTAINER_BYTES"
  sent="$(digest_of_file "$file")"
  same "$(from_container sh -c "socat -t 60 - TCP:$1:7007 </work/bulk" | sha256sum | cut -d ' ' -f 1)" "$sent" \
    "there and back from a container"
  same "$(socat -t 60 - "TCP:$1:7007" <"$file" | sha256sum | cut -d ' ' -f 1)" "$sent" "there and back from the host"
}

dns_answers() {
  local from
  for from in from_container env; do
    same "$("$from" dig "@$1" -p 5353 +short +tries=1 +time=10 web.example.test AAAA | tail -n 1)" 2001:db8::80 "UDP"
    same "$("$from" dig "@$1" -p 5353 +short +tries=1 +time=10 +tcp example.test MX)" "10 mail.example.test." "TCP"
  done
}

http3_pages() {
  random_file post 16000000
  local digest
  digest="$(digest_of_file "$container_work/work/post")"
  rm -rf "$container_work/work/h3" && mkdir "$container_work/work/h3"
  from_container gtlsclient --quiet --exit-on-all-streams-close --download /work/h3 "$1" 8443 \
    "https://$1:8443/bytes/5000000"
  same "$(digest_of_file "$container_work/work/h3/5000000")" "$(digest_of_pattern 5000000)" "down by HTTP/3"
  from_container gtlsclient --quiet --exit-on-all-streams-close --download /work/h3 --http-method POST \
    --data /work/post "$1" 8443 "https://$1:8443/echo"
  same "$(digest_of_file "$container_work/work/h3/echo")" "$digest" "posted by HTTP/3"
}

# A curl that hands the kernel many datagrams at once: what it is run by, and where the directory of work is for that.
http3_transfers() {
  local url="https://$1:8443" work="$2" file="$container_work/work/bulk" place
  shift 2
  local -a curl=("$@" strace -f -qq -e trace=sendmsg -o "$work/trace" "$work/http3-curl/curl" --http3-only -sSk
    --max-time 300)
  place="${1:-host}"
  same "$("${curl[@]}" "$url/bytes/$CONTAINER_BYTES" | sha256sum | cut -d ' ' -f 1)" \
    "$(digest_of_pattern "$CONTAINER_BYTES")" "down: $place"
  same "$("${curl[@]}" --data-binary "@$work/bulk" "$url/sha256")" "$(digest_of_file "$file")" "up: $place"
  sent_gso_datagrams "$container_work/work/trace"
}

# A trace names the control message, or has its number alone.
sent_gso_datagrams() {
  local most
  grep -cE 'cmsg_level=SOL_UDP, cmsg_type=(UDP_SEGMENT|0x67)' "$1" || { echo "no UDP_SEGMENT was sent" >&2; return 1; }
  most="$(sed -nE 's/.*cmsg_type=(UDP_SEGMENT|0x67).* = ([0-9]+)$/\2/p' "$1" | sort -n | tail -n 1)"
  echo "at most $most bytes in one"
  [ "$most" -gt 1500 ]
}

http3_gso_datagrams() {
  random_file bulk "$CONTAINER_BYTES"
  http3_transfers "$1" /work from_container
  http3_transfers "$1" "$container_work/work"
}

# The proxy is asked on the host, and asks a server in another container.
iperf_through() {
  local report
  # The server hears of the last transfer's end behind all that was under way.
  while report="$(iperf3 -J -c "$1" -p 8081 -n 256M "${@:2}")" || true; grep -q "the server is busy" <<<"$report"; do
    sleep 0.1
  done
  jq -r '.error // "\(.end.sum_received.bytes) bytes, \(.end.sum_received.bits_per_second / 1e6 | floor) Mbit/s"' <<<"$report"
  jq -e '.error == null and .end.sum_sent.bytes >= 256 * 1048576 and .end.sum_received.bytes > 128 * 1048576' <<<"$report"
}

proxy_transfers() {
  iperf_through "$1"
  iperf_through "$1" -P 4
  iperf_through "$1" -R
}

# Stock clients on a bridge of its own with both families, by IPv6.
ipv6_pages() {
  local url="http://[$1]:8080"
  podman exec clients6 curl -sS --max-time 30 "$url/json" && echo
  curl -sS --max-time 30 "$url/json" && echo
}

ipv6_bulk() {
  local url="http://[$1]:8080" file="$container_work/work/bulk" expected
  expected="$(digest_of_pattern "$CONTAINER_BYTES")"
  random_file bulk "$CONTAINER_BYTES"
  same "$(podman exec clients6 curl -sS --max-time 300 "$url/bytes/$CONTAINER_BYTES" | sha256sum | cut -d ' ' -f 1)" \
    "$expected" "down to a container"
  same "$(curl -sS --max-time 300 "$url/bytes/$CONTAINER_BYTES" | sha256sum | cut -d ' ' -f 1)" "$expected" \
    "down to the host"
  same "$(podman exec clients6 curl -sS --max-time 300 --data-binary @/work/bulk "$url/sha256")" \
    "$(digest_of_file "$file")" "up from a container"
  same "$(curl -sS --max-time 300 --data-binary "@$file" "$url/sha256")" "$(digest_of_file "$file")" "up from the host"
}

# ---- the steps in their order ----

# The bridge is there for these steps alone: where the kernel has no NAT of IPv6, podman makes none.
ipv6_steps() {
  local case="$1-ipv6" device="$2" network="$container_network-$1" address
  shift 2
  container_is_wanted "$case" || return 0
  podman network create --disable-dns --ipv6 "$network" >/dev/null
  start_clients clients6 --network "$network"
  container_bind=::
  container_step "$case-start" "the server says that it listens" start_server "$case" "$device" http \
    --network "$network" "$@"
  container_bind=0.0.0.0
  address="$(podman inspect --format "{{(index .NetworkSettings.Networks \"$network\").GlobalIPv6Address}}" "$case")"
  container_step "$case-pages" "curl gets a page, in a container and on the host" ipv6_pages "$address"
  container_step "$case-bulk" "100 MB each way have the right SHA-256" ipv6_bulk "$address"
  container_step "$case-device" "frames came by the device, none was dropped for its checksum or length" \
    by_device "$case"
  podman rm --force --time 10 "$case" clients6 >/dev/null
}

proxy_steps() {
  local case="$1-proxy" device="$2"
  shift 2
  container_is_wanted "$case" || return 0
  podman exec --detach clients iperf3 -s -p 5201
  container_step "$case-start" "the server says that it listens" start_server "$case" "$device" proxy "$@" -- \
    --to "$(container_address clients):5201"
  container_step "$case-iperf3" "256 MiB through the proxy, by one stream, by four, and back" \
    proxy_transfers "$(container_address "$case")"
  container_step "$case-device" "frames came by the device, none was dropped for its checksum or length" \
    by_device "$case"
  podman rm --force --time 10 "$case" >/dev/null
  podman restart --time 0 clients >/dev/null
}

# All servers of a device, each on the bridge; CASE names the steps.
server_steps() {
  local case="$1" device="$2" name address
  shift 2
  for name in http echo dns http3; do
    container_is_wanted "$case-$name" || continue
    container_step "$case-$name-start" "the server says that it listens" start_server "$case-$name" "$device" "$name" "$@"
    address="$(container_address "$case-$name")"
    "${name}_steps" "$case-$name" "$address"
    container_step "$case-$name-device" "frames came by the device, none was dropped for its checksum or length" \
      by_device "$case-$name"
    case "$name $device" in
      "http3 soft:xdp:"*) container_step "$case-$name-log" "one warning, of datagrams that only the kernel can cut" \
        log_of_gso_datagrams "$case-$name" ;;
      *) container_step "$case-$name-log" "no warning" quiet_log "$case-$name" ;;
    esac
    podman rm --force --time 10 "$case-$name" >/dev/null
  done
  proxy_steps "$case" "$device" "$@"
  ipv6_steps "$case" "$device" "$@"
}

http_steps() {
  container_step "$1-pages" "curl gets a page, in a container and on the host" http_pages "$2"
  container_step "$1-bulk" "100 MB to each have the right SHA-256" http_bulk "$2"
  container_step "$1-uploads" "100 MB from each have the right SHA-256" http_uploads "$2"
  container_step "$1-posts" "16 MB from each come back with the right SHA-256" http_posts "$2"
  container_step "$1-load" "wrk counts no error" http_load "$2"
}

echo_steps() {
  container_step "$1-bulk" "100 MB up and down at once, by socat, have the right SHA-256" echo_bulk "$2"
}

dns_steps() {
  container_step "$1-answers" "dig gets the answers, by UDP and TCP" dns_answers "$2"
}

http3_steps() {
  container_step "$1-bulk" "5 MB down and 16 MB there and back by QUIC, have the right SHA-256" \
    http3_pages "$2"
  container_step "$1-segments" "100 MB each way by a curl that sends by UDP_SEGMENT, which strace shows, have the right SHA-256" \
    http3_gso_datagrams "$2"
}

# What came went by the device, and nothing was lost for what a bridge makes of frames.
by_device() {
  local counts
  podman exec "$1" rdma-raw top -n 1 --json 1 >"$container_out/$1.json"
  counts="$(jq -c '[.queues[], .channels[]] | map(.counts) | map(to_entries) | add | group_by(.key)
    | map({key: .[0].key, value: map(.value) | add}) | from_entries' "$container_out/$1.json")"
  jq -r 'to_entries[] | select(.value > 0) | "\(.key) \(.value)"' <<<"$counts"
  jq -e '.["traffic:received.frames"] > 0 and .["drop:bad-checksum"] + .["drop:too-long"] + .["drop:unserved"]
    + .["traffic:kernel.connections"] + .["gauge:rules.kernel-visible"] == 0' <<<"$counts"
}

# The server's log has the line that it listens, and no warning.
quiet_log() {
  podman logs "$1" 2>&1
  ! podman logs "$1" 2>&1 | grep -E 'WARN|ERROR|SEVERE|Exception'
}

# One warning, with the remedy, is right where AF_XDP leaves datagrams that are not cut to the kernel's socket.
log_of_gso_datagrams() {
  podman logs "$1" 2>&1
  [ "$(podman logs "$1" 2>&1 | grep -cE 'WARN.*: gso-datagrams, .* soft:packet: device takes them')" = 1 ]
  ! podman logs "$1" 2>&1 | grep -vF ': gso-datagrams, ' | grep -E 'WARN|ERROR|SEVERE|Exception'
}

# The commands of the page, taken from it, as a user copies them.
documented_commands() {
  local commands
  commands="$(awk '/^## Commands$/ { in_section = 1 } in_section && /^```$/ { exit } in_block { print }
    in_section && /^```sh$/ { in_block = 1 }' "$ROOT/docs/guide/containers.md")"
  [ -n "$commands" ]
  (cd "$ROOT" && bash -euxo pipefail -c "$commands")
}

# The quick start's program as an image of its own, by its Containerfile; what Maven does there is done by hand.
own_image() {
  local project="$container_work/own"
  local -a capabilities
  cp -r "$ROOT/examples/quickstart" "$project"
  mkdir -p "$project"/target/{lib,classes}
  cp "$ROOT"/tools/target/lib/*.jar "$project/target/lib/"
  "$JAVA_HOME/bin/javac" -d "$project/target/classes" -cp "$project/target/lib/*" "$project"/src/main/java/*.java
  "$JAVA_HOME/bin/jar" --create --file "$project/target/hello-1.jar" -C "$project/target/classes" .
  podman build --quiet --tag hello "$project" >/dev/null
  read -ra capabilities <<<"$(device_options soft:xdp:eth0)"
  podman run --detach --name own "${capabilities[@]}" --security-opt "seccomp=$ROOT/examples/containers/seccomp.json" \
    localhost/hello >/dev/null
  same "$(curl -sS --retry 30 --retry-delay 1 --retry-connrefused "http://$(container_address own):8080/")" Hello "HTTP"
  podman rm --force --time 10 own >/dev/null
}

# What doctor and the server say in a container of these options, which lacks something: it has to hold a text.
tells() {
  local text="$1" said
  shift
  said="$(podman run --rm --cap-drop all "$@" localhost/rdma-raw doctor --device soft:xdp:eth0 2>&1 || true)"
  grep -F -e "$text" <<<"$said"
  said="$(timeout 60 podman run --rm --cap-drop all "$@" localhost/rdma-raw example http --device soft:xdp:eth0 \
    --address 0.0.0.0 2>&1 || true)"
  printf '%s\n' "$said"
  grep -F -e "$text" <<<"$said"
}

# What is wrong is one sentence with the remedy.
sentence_steps() {
  local seccomp="seccomp=$ROOT/examples/containers/seccomp.json" all_four=net_raw,net_admin,bpf,ipc_lock
  container_step lacks-capabilities "CAP_BPF and CAP_NET_ADMIN are named" \
    tells "the process needs CAP_BPF and CAP_NET_ADMIN" --cap-add net_raw
  container_step lacks-seccomp "the profile is named where it refuses bpf(2)" \
    tells "a seccomp profile refuses bpf(2)" --cap-add "$all_four" --security-opt "seccomp=$container_work/bpf.json"
  container_step lacks-users "a user namespace is named" \
    tells "of a user namespace, as in a rootless container" --cap-add "$all_four" --uidmap 0:100000:65536 \
    --security-opt "$seccomp"
  container_step lacks-tun "/dev/net/tun is named" tells "needs /dev/net/tun" --cap-add "$all_four" \
    --security-opt "$seccomp" --env SOFTVERBS_XDP_MODE=tap
}

# No directory that can be written, and a user that is not root: podman gives it the capabilities.
hardened_steps() {
  container_step hardened-start "read-only, no temporary directory, not root" start_server hardened soft:xdp:eth0 http \
    --read-only --read-only-tmpfs=false --user 10001 --security-opt no-new-privileges
  container_is_wanted hardened || return 0
  container_step hardened-pages "curl gets a page" http_pages "$(container_address hardened)"
  podman rm --force --time 10 hardened >/dev/null
  container_step noexec-start "/tmp is mounted noexec" start_server noexec soft:xdp:eth0 http --read-only \
    --read-only-tmpfs=false --tmpfs /tmp:rw,noexec,size=16m
  container_is_wanted noexec || return 0
  container_step noexec-pages "curl gets a page" http_pages "$(container_address noexec)"
  podman rm --force --time 10 noexec >/dev/null
}

run_container_steps() {
  make_java_image docker.io/library/eclipse-temurin:25-jdk
  podman tag docker.io/library/eclipse-temurin:25-jdk docker.io/library/eclipse-temurin:25-jre
  make_client_image
  fetch_http3_curl "$ROOT/target/http3-curl"
  cp -r "$ROOT/target/http3-curl" "$container_work/work/"
  podman build --quiet --tag rdma-raw --file "$ROOT/examples/containers/Containerfile" "$ROOT" >/dev/null
  start_clients clients
  # Refuses bpf(2) alone, as some runtimes' own profiles do whatever the capabilities are.
  printf '{"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["bpf"], "action": "SCMP_ACT_ERRNO", "errnoRet": 1}]}' \
    >"$container_work/bpf.json"
  container_step documented "the commands of docs/guide/containers.md, as they stand there" documented_commands
  container_step own "the quick start's server, in an image of its own" own_image
  hardened_steps
  sentence_steps
  kube_steps
  server_steps xdp soft:xdp:eth0
  server_steps packet soft:packet:eth0
  server_steps tap soft:xdp:eth0 --env SOFTVERBS_XDP_MODE=tap --device /dev/net/tun
}
