# shellcheck shell=bash
# Podman for `./rdma-raw test --containers`: with storage, networks and settings of its own, which end with the test. The
# host's containers and images are neither seen nor changed, and no registry is asked: images are made of this host's
# own files.

# Programs that run as clients, and what podman's bridge needs, as PROGRAM:PACKAGE.
readonly CONTAINER_PROGRAMS=(podman:podman netavark:netavark iptables:iptables crun:crun runc:runc ip:iproute2 curl:curl wrk:wrk
  dig:bind9-dnsutils iperf3:iperf3 socat:socat gtlsclient:ngtcp2-client jq:jq
  strace:strace catatonit:catatonit)
# What a step may take; each waits for conditions, and only a step that fails takes so long.
readonly CONTAINER_PATIENCE_SECONDS=120

missing_container_packages() {
  local entry
  for entry in "${CONTAINER_PROGRAMS[@]}"; do
    PATH="$PATH:/usr/sbin:/sbin:/usr/lib/podman" command -v "${entry%%:*}" >/dev/null || printf '%s\n' "${entry##*:}"
  done
}

require_container_programs() {
  [ "$(id -u)" = 0 ] || give_up "test --containers makes bridges and namespaces: run it as root"
  local -a missing
  mapfile -t missing < <(missing_container_packages)
  [ "${#missing[@]}" -eq 0 ] && return 0
  if can_install_packages && apt_install "${missing[@]}"; then
    mapfile -t missing < <(missing_container_packages)
    [ "${#missing[@]}" -eq 0 ] && return 0
  fi
  give_up "test --containers needs programs that are missing: sudo apt-get install -y ${missing[*]}"
}

# Everything of this run is below one directory; the name tells whose it is.
containers_begin() {
  container_work="$(mktemp -d "/var/tmp/rdma-raw-containers-$$.XXXXXX")"
  container_network="rdmaraw-$$"
  trap containers_end EXIT
  mkdir -p "$container_work"/{networks,image,tmp,run,storage,volumes,work}
  local runtime cgroups
  read -r runtime cgroups < <(usable_runtime)
  cat >"$container_work/storage.conf" <<CONF
[storage]
driver = "overlay"
graphroot = "$container_work/storage"
runroot = "$container_work/run"
CONF
  cat >"$container_work/containers.conf" <<CONF
[network]
network_backend = "netavark"
network_config_dir = "$container_work/networks"
[containers]
cgroups = "$cgroups"
log_driver = "k8s-file"
pids_limit = 0
default_ulimits = [$(usable_ulimits)]
[engine]
cgroup_manager = "cgroupfs"
runtime = "$runtime"
events_logger = "file"
static_dir = "$container_work/storage/libpod"
tmp_dir = "$container_work/tmp"
volume_path = "$container_work/volumes"
CONF
  export CONTAINERS_STORAGE_CONF="$container_work/storage.conf" CONTAINERS_CONF="$container_work/containers.conf"
  PATH="$PATH:/usr/sbin:/sbin"
  # Podman chooses the subnet and the bridge, which are free on this host; then it is what containers get unasked.
  podman network create --disable-dns "$container_network" >/dev/null
  sed -i "s/^\\[network\\]/&\\ndefault_network = \"$container_network\"/" "$container_work/containers.conf"
}

# Prints the runtime and whether containers get control groups. With controllers in both hierarchies crun starts
# nothing, and runc does; where the host's groups cannot be written, as in a container, crun does without.
usable_runtime() {
  local probe=/sys/fs/cgroup/rdma-raw-$$
  if grep -qs . /sys/fs/cgroup/unified/cgroup.controllers; then
    echo runc enabled
  elif mkdir "$probe" 2>/dev/null; then
    rmdir "$probe"
    echo crun enabled
  else
    echo crun disabled
  fi
}

# Podman's own default limits are higher than what root may set without CAP_SYS_RESOURCE, and it lowers its own number
# of processes to that of process ids.
usable_ulimits() {
  local files processes most
  files="$(ulimit -Hn)" processes="$(ulimit -Hu)" most="$(cat /proc/sys/kernel/pid_max)"
  [ "$processes" != unlimited ] && [ "$processes" -lt "$most" ] || processes="$most"
  printf '"nofile=%s:%s", "nproc=%s:%s"' "$files" "$files" "$processes" "$processes"
}

containers_end() {
  trap - EXIT
  podman rm --all --force --time 0 >/dev/null 2>&1 || true
  podman pod rm --all --force >/dev/null 2>&1 || true
  local network
  # The default network cannot be removed.
  sed -i '/^default_network/d' "$container_work/containers.conf"
  for network in $(podman network ls --quiet 2>/dev/null); do
    podman network rm --force "$network" >/dev/null 2>&1 || true
  done
  remove_node
  umount "$container_work/storage/overlay" 2>/dev/null || true
  rm -rf "$container_work"
}

# A library and what it is linked with, each at its own path below a directory.
copy_with_libraries() {
  local root="$1" file library
  shift
  for file in "$@"; do
    ldd "$file" 2>/dev/null | awk '$3 ~ "^/" { print $3 } $1 ~ "^/" { print $1 }'
  done | sort -u | while IFS= read -r library; do
    # Libraries of the JDK itself come with it.
    [ "${library#"$JAVA_HOME"}" = "$library" ] || continue
    install -D "$(readlink -f "$library")" "$root$library"
  done
}

# Stands in for an image of Java from a registry, under that image's name, so that the documented commands run as they
# are written: this host's JDK, a shell, and the C library.
make_java_image() {
  local root="$container_work/image/java" name="$1" library
  mkdir -p "$root"/{etc,tmp,proc,sys,dev,run,usr/bin,opt/java,root}
  chmod 1777 "$root/tmp"
  cp -r "$JAVA_HOME/bin" "$JAVA_HOME/conf" "$JAVA_HOME/release" "$root/opt/java/"
  (cd "$JAVA_HOME" && tar -c --exclude=lib/src.zip --exclude=lib/ct.sym lib) | tar -x -C "$root/opt/java"
  ln -s usr/bin "$root/bin"
  install "$(readlink -f /bin/sh)" "$root/usr/bin/sh"
  install "$(command -v cat)" "$(command -v grep)" "$(command -v sleep)" "$root/usr/bin/"
  ln -s /opt/java/bin/java "$root/usr/bin/java"
  copy_with_libraries "$root" "$root"/usr/bin/{sh,cat,grep,sleep} "$JAVA_HOME/bin/java" "$JAVA_HOME"/lib/*.so \
    "$JAVA_HOME/lib/server/libjvm.so"
  # Netty's library of QUIC wants it.
  library="$(cc -print-file-name=libgcc_s.so.1)"
  install -D "$(readlink -f "$library")" "$root/lib/x86_64-linux-gnu/libgcc_s.so.1"
  printf 'root:x:0:0:root:/root:/bin/sh\nserver:x:10001:10001::/:/bin/sh\n' >"$root/etc/passwd"
  printf 'root:x:0:\nserver:x:10001:\n' >"$root/etc/group"
  tar -c -C "$root" . | podman import --quiet --change 'ENV PATH=/usr/local/bin:/usr/bin:/opt/java/bin' - "$name" >/dev/null
  rm -rf "$root"
}

# Stock programs: a root directory of links, above which the host's /usr is mounted.
make_client_image() {
  local root="$container_work/image/clients" directory
  mkdir -p "$root"/{etc,tmp,proc,sys,dev,run,usr,var,root,work}
  for directory in bin sbin lib lib64; do
    ln -s "usr/$directory" "$root/$directory"
  done
  printf 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n' >"$root/etc/passwd"
  printf 'root:x:0:\nnogroup:x:65534:\n' >"$root/etc/group"
  tar -c -C "$root" . | podman import --quiet - rdmaraw-clients >/dev/null
  rm -rf "$root"
}

# Starts a container of stock programs that does nothing until it is asked to.
start_clients() {
  local name="$1"
  shift
  podman run --detach --name "$name" --cap-drop all --volume /usr:/usr:ro --volume "$container_work/work:/work" \
    "$@" localhost/rdmaraw-clients sleep infinity >/dev/null
}

# The address of a container on the bridge.
container_address() {
  podman inspect --format "{{(index .NetworkSettings.Networks \"$container_network\").${2:-IPAddress}}}" "$1"
}

# Waits until a command succeeds.
container_wait() {
  local what="$1" deadline=$((SECONDS + CONTAINER_PATIENCE_SECONDS))
  shift
  until "$@" >/dev/null 2>&1; do
    if [ "$SECONDS" -ge "$deadline" ]; then
      echo "waited $CONTAINER_PATIENCE_SECONDS s for $what" >&2
      return 1
    fi
    sleep 0.1
  done
}

container_says() {
  podman logs "$1" 2>&1 | grep -q -e "$2"
}

# Until a server says that it listens. One that has ended will not.
await_listening() {
  container_wait "$1 to listen" listens_or_has_ended "$1" || { podman logs "$1"; return 1; }
  container_says "$1" "is listening on" || { podman logs "$1"; return 1; }
}

listens_or_has_ended() {
  container_says "$1" "is listening on" || [ "$(podman inspect --format '{{.State.Running}}' "$1")" = false ]
}
