# shellcheck shell=bash
# ./rdma-raw test --matrix: the transport, as it was built, on the oldest and the newest JDK and Netty that it supports.

# The newest that Debian's sid has as released when this line was written.
readonly NEWEST_JDK=27
# What its Java needs of its suite, laid over this host's in a mount namespace.
readonly NEWEST_JDK_PACKAGES=("openjdk-$NEWEST_JDK-jre-headless" libc6 libgcc-s1 libstdc++6 zlib1g)

matrix_usage() {
  cat <<'USAGE'
usage: ./rdma-raw test --matrix [--jdk HOME] [--out FILE]

  Runs the transport, as it was built, on this JDK and on the newest, each with the oldest Netty that works and the
  newest: TCP, a file, datagrams, an allocator of Netty's, the end of the loops, on a device in memory. Fails if one fails.

  --jdk HOME   the newest JDK; without it Debian's of sid, unpacked beside the system (root, on Debian)
  --out FILE   write the table as Markdown (target/matrix/README.md)
USAGE
}

# Run by bash in a mount namespace, with a directory and a command: the libraries and the settings of another suite's
# packages lie over this host's.
# shellcheck disable=SC2016
readonly OVER_SUITE='set -e; for place in /usr/lib/x86_64-linux-gnu /etc; do mount -t overlay -o "lowerdir=$1/root$place:$place" overlay "$place"; done; shift; exec "$@"'

unpack_newest_jdk() {
  [ "$(id -u)" = 0 ] || give_up "laying Debian's libraries over the system's takes root; or give a JDK: --jdk HOME"
  command -v dpkg-deb >/dev/null || give_up "the newest JDK is of Debian's packages: give another by --jdk HOME"
  unpack_of_suite "JDK $NEWEST_JDK" sid "$1" alone "${NEWEST_JDK_PACKAGES[@]}"
}

run_matrix() {
  local page="" other="" work="$ROOT/target/matrix" status=0 jars netty verdict line
  local -a newest
  while [ $# -gt 0 ]; do
    case "$1" in
      --out) page="$(realpath -m "${2:?--out needs a file}")" && shift 2 ;;
      --jdk) other="${2:?--jdk needs a directory}" && shift 2 ;;
      -h | --help) matrix_usage && return ;;
      *) matrix_usage >&2 && die "test --matrix has no option '$1'" ;;
    esac
  done
  [ -z "$other" ] || [ -x "$other/bin/java" ] || die "there is no $other/bin/java"
  require_jdk
  require_built
  mkdir -p "$work"
  if [ -n "$other" ]; then
    newest=("$other/bin/java")
  else
    unpack_newest_jdk "$work/jdk-$NEWEST_JDK"
    newest=(unshare -m bash -c "$OVER_SUITE" over "$work/jdk-$NEWEST_JDK"
      "$work/jdk-$NEWEST_JDK/root/usr/lib/jvm/java-$NEWEST_JDK-openjdk-amd64/bin/java")
  fi
  # Ours alone: the class path must have one version of Netty.
  jars="$(compgen -G "$ROOT/tools/target/lib/netty-transport-rdma-raw-[0-9n]*.jar" | tr '\n' ':')"
  "$JAVA_HOME/bin/javac" -proc:none -d "$work/classes" -cp "$jars:$ROOT/tools/target/lib/*" "$ROOT/ci/lab/smoke/smoke/Smoke.java"
  page="${page:-$work/README.md}"
  printf '| Netty | JDK %s | JDK %s |\n|---|---|---|\n' "$(java_version "$JAVA_HOME/bin/java")" "$(java_version "${newest[@]}")" \
    >"$page"
  for netty in "$OLDEST_NETTY" "${NETTY_VERSIONS[-1]}"; do
    line="| $netty |"
    if run_maven -q -B -ntp -f ci/lab/netty-versions/pom.xml dependency:copy-dependencies \
        -Dnetty.version="$netty.Final" -DoutputDirectory="$work/netty-$netty" >"$work/netty-$netty.log" 2>&1; then
      for verdict in "$(smoke_on "$jars$work/netty-$netty/*" "$JAVA_HOME/bin/java")" \
          "$(smoke_on "$jars$work/netty-$netty/*" "${newest[@]}")"; do
        [ "$verdict" = works ] || status=1
        line+=" $verdict |"
      done
    else
      line+=" cannot be had from Maven Central | |" && status=1
    fi
    printf '%s\n' "$line" >>"$page"
  done
  cat "$page"
  return "$status"
}

java_version() {
  "$@" -version 2>&1 | sed -n '1s/.*version "\([^"]*\)".*/\1/p'
}

# Prints "works", or what went wrong.
smoke_on() {
  local class_path="$1" output status=0
  shift
  output="$(timeout 240 "$@" --enable-native-access=ALL-UNNAMED -cp "$ROOT/target/matrix/classes:$class_path" smoke.Smoke 2>&1)" ||
    status=$?
  if [ "$status" = 0 ] && grep -q '^works with ' <<<"$output"; then
    printf 'works\n'
  else
    printf '%s\n' "$output" >&2
    printf 'does not work (%s)\n' "$status"
  fi
}
