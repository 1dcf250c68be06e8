# shellcheck shell=bash
# Variables of the run are set by container-kit.sh and containers.sh.
# shellcheck disable=SC2154
# The pods of examples/kubernetes, as podman's "kube play" runs them; and the broker without which they would not serve.

# Debian's profile of podman refuses bpf(2), which the pods' RuntimeDefault has to allow (see pod.yaml). This podman takes
# a profile from an annotation alone, in the container's or the pod's name.
with_profile() {
  awk '/^kind: Pod$/ { is_pod = 1 } { print }
    is_pod && /^metadata:$/ {
      print "  annotations:\n    seccomp.security.alpha.kubernetes.io/pod: localhost/seccomp.json"
      is_pod = 0
    }'
}

# In a directory without a file of the image's name, which podman would look into for what to build it from.
kube_play() {
  (cd "$container_work/work" && podman kube play --network "$container_network" \
    --seccomp-profile-root "$ROOT/examples/containers" "$@")
}

# Podman knows no DaemonSet: the pod of its template, as it stands there, and the objects before it.
daemonset_as_pod() {
  awk '
    function flush() { if (!is_daemonset) printf "%s", text; text = "" }
    /^---$/ { flush(); is_daemonset = in_template = 0; text = "---\n"; next }
    /^kind: DaemonSet$/ { is_daemonset = 1; print "---\napiVersion: v1\nkind: Pod"; next }
    is_daemonset && /^metadata:$/ { print; getline; print; next }
    is_daemonset && /^  template:$/ { in_template = 1; next }
    is_daemonset && in_template && /^    (metadata:|  labels:)/ { skipping = 1; next }
    is_daemonset && in_template && /^    spec:/ { skipping = 0 }
    is_daemonset && in_template && !skipping { sub(/^    /, ""); print; next }
    !is_daemonset { text = text $0 "\n" }
    END { flush() }
  ' "$1"
}

# ---- a pod on the bridge

# Podman gives an emptyDir to the user of one of its containers. A directory of the kubelet's mode takes its place.
start_pod() {
  mkdir -m 0777 "$container_work/socket"
  chmod 0777 "$container_work/socket"
  sed "s|emptyDir: {}|hostPath: {path: $container_work/socket, type: Directory}|" \
    "$ROOT/examples/kubernetes/pod.yaml" | with_profile >"$container_work/pod.yaml"
  kube_play "$container_work/pod.yaml"
  container_wait "the pod's server to listen" container_says rdma-raw-http-server "is listening on" ||
    { podman logs rdma-raw-http-server; podman logs rdma-raw-http-broker; return 1; }
}

pod_address() {
  container_address "$(podman pod inspect --format '{{.InfraContainerID}}' rdma-raw-http)"
}

# The set of a process's effective capabilities, in hexadecimal digits.
capabilities_of() {
  local pid
  pid="$(podman inspect --format '{{.State.Pid}}' "$1")"
  awk '/^CapEff:/ { print $2 }' "/proc/$pid/status"
}

# CAP_NET_ADMIN is 12, CAP_NET_RAW 13, CAP_BPF 39.
pod_rights() {
  same "$(capabilities_of "$1-server")" 0000000000000000 "capabilities of the server"
  same "$(capabilities_of "$2-broker")" 0000008000003000 "capabilities of the broker"
}

# A container that podman itself kills is not started again.
kill_container() {
  kill -9 "$(podman inspect --format '{{.State.Pid}}' "$1")"
}

# The kubelet would start it again as podman does.
broker_is_killed() {
  kill_container rdma-raw-http-broker
  http_pages "$1"
  container_wait "the broker to serve again" broker_serves_again
  http_pages "$1"
}

broker_serves_again() {
  [ "$(podman logs rdma-raw-http-broker 2>&1 | grep -c 'serves')" -ge 2 ]
}

# The server's process is ended: its container is started again, and opens the interface once more.
server_is_killed() {
  kill_container rdma-raw-http-server
  container_wait "the server to listen again" server_listens_again
  http_pages "$1"
}

server_listens_again() {
  [ "$(podman logs rdma-raw-http-server 2>&1 | grep -c 'is listening on')" -ge 2 ]
}

pod_steps() {
  container_is_wanted pod || return 0
  container_step pod-start "pod.yaml as it stands there: the server says that it listens" start_pod
  local address
  address="$(pod_address || true)"
  container_step pod-pages "curl gets a page, in a container and on the host" http_pages "$address"
  container_step pod-bulk "100 MB to each have the right SHA-256" http_bulk "$address"
  container_step pod-rights "the server has no capability, the broker three" pod_rights rdma-raw-http rdma-raw-http
  container_step pod-broker-killed "the server goes on without the broker; it is started again" \
    broker_is_killed "$address"
  container_step pod-server-killed "the server is started again, and serves" server_is_killed "$address"
  podman pod rm --force --time 10 rdma-raw-http >/dev/null
}

# ---- a DaemonSet and a server on a node's interface

kube_play_in_node() {
  (cd "$container_work/work" && nsenter --net="/run/netns/rdmaraw-$$-node" -- \
    podman kube play --seccomp-profile-root "$ROOT/examples/containers" "$@")
}

# A namespace in the node's place, with an interface eth1 to another one.
make_node() {
  local node="rdmaraw-$$-node" outside="rdmaraw-$$-out"
  ip netns add "$node"
  ip netns add "$outside"
  ip -n "$node" link add eth1 type veth peer name eth0 netns "$outside"
  ip -n "$node" addr add 192.0.2.1/24 dev eth1
  ip -n "$outside" addr add 192.0.2.2/24 dev eth0
  ip -n "$node" link set lo up
  ip -n "$node" link set eth1 up
  ip -n "$outside" link set eth0 up
}

remove_node() {
  ip netns del "rdmaraw-$$-node" 2>/dev/null || true
  ip netns del "rdmaraw-$$-out" 2>/dev/null || true
}

# The node's /run/rdma-raw is a directory of the test's.
on_this_node() {
  sed "s|path: /run/rdma-raw\$|path: $container_work/node|"
}

start_daemonset() {
  make_node
  daemonset_as_pod "$ROOT/examples/kubernetes/daemonset.yaml" | on_this_node | with_profile \
    >"$container_work/daemonset.yaml"
  on_this_node <"$ROOT/examples/kubernetes/server.yaml" | with_profile >"$container_work/server.yaml"
  kube_play_in_node "$container_work/daemonset.yaml"
  container_wait "the broker to serve" container_says rdma-raw-broker-broker serves ||
    { podman logs rdma-raw-broker-broker; return 1; }
  kube_play_in_node "$container_work/server.yaml"
  container_wait "the node's server to listen" container_says rdma-raw-node-server-server "is listening on" ||
    { podman logs rdma-raw-node-server-server; podman logs rdma-raw-broker-broker; return 1; }
}

node_pages() {
  same "$(nsenter --net="/run/netns/rdmaraw-$$-out" -- curl -sS --max-time 30 http://192.0.2.1:8080/plaintext)" \
    "Hello, World!" "from outside of the node"
}

daemonset_steps() {
  container_is_wanted daemonset || return 0
  container_step daemonset-start "daemonset.yaml and server.yaml as they stand there: the server says that it listens" \
    start_daemonset
  container_step daemonset-pages "curl gets a page from outside of the node" node_pages
  container_step daemonset-rights "the server has no capability, the broker three" \
    pod_rights rdma-raw-node-server rdma-raw-broker
  podman pod rm --force --time 10 rdma-raw-node-server rdma-raw-broker >/dev/null
  remove_node
}

kube_steps() {
  pod_steps
  daemonset_steps
}
