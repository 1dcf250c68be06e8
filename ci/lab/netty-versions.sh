# shellcheck shell=bash
# ./rdma-raw test --netty-versions: the transport's jar, as it was built, with other versions of Netty.

# The oldest of 4.2 to the newest that Maven Central had when this line was written.
readonly NETTY_VERSIONS=(4.2.0 4.2.4 4.2.5 4.2.6 4.2.7 4.2.8 4.2.9 4.2.10 4.2.12 4.2.15 4.2.17 4.2.19 4.2.20)
# Older ones have to be refused with a sentence that says so.
readonly OLDEST_NETTY=4.2.7
readonly NETTY_VERSION_SECONDS=90

netty_versions_usage() {
  cat <<'USAGE'
usage: ./rdma-raw test --netty-versions [--out FILE] [VERSION...]

  Runs the transport, as it was built, with versions of Netty 4.2 from Maven Central: TCP, a file, datagrams, an
  allocator of Netty's, the end of the loops, all on a device in memory. Fails if one fails that is not older than
  4.2.7, if an older one is not refused with a sentence that says so, or if one cannot be had.

  VERSION      such as 4.2.19; without any, a list from 4.2.0 on
  --out FILE   write the table as Markdown (target/netty-versions/README.md)
USAGE
}

is_old_netty() {
  [ "$1" != "$OLDEST_NETTY" ] && [ "$(printf '%s\n' "$1" "$OLDEST_NETTY" | sort -V | head -n 1)" = "$1" ]
}

# Prints what a version's run came to: "works", "refused" or why not. Returns 1 if that is not as it has to be.
try_netty_version() {
  local version="$1" jars="$2" output status=0
  if ! run_maven -q -B -ntp -f ci/lab/netty-versions/pom.xml dependency:copy-dependencies \
      -Dnetty.version="$version.Final" -DoutputDirectory="$jars" >"$jars.log" 2>&1; then
    printf 'cannot be had from Maven Central\n'
    return 2
  fi
  output="$(timeout "$NETTY_VERSION_SECONDS" "$JAVA_HOME/bin/java" --enable-native-access=ALL-UNNAMED -cp "$3:$jars/*" \
    "$ROOT/ci/lab/smoke/smoke/Smoke.java" 2>&1)" || status=$?
  printf '%s\n' "$output" >>"$jars.log"
  if is_old_netty "$version"; then
    if [ "$status" = 1 ] && grep -m 1 -o "Netty $version.Final on the class path is too old: .*" <<<"$output"; then
      return
    fi
    printf 'is not refused, and so '
  fi
  case "$status" in
    0)
      printf 'works\n'
      ! is_old_netty "$version"
      return
      ;;
    124) printf 'does not work: nothing happened for %s s' "$NETTY_VERSION_SECONDS" ;;
    *) printf 'does not work' ;;
  esac
  # What the first failure says, which may be one that the program waits for in vain.
  printf ': %s\n' "$(grep -m 1 -E '(Error|Exception)(:|$)' <<<"$output" | tr -d '|`')"
  return 1
}

run_netty_versions() {
  local page="" version verdict result status=0 directory="$ROOT/target/netty-versions" jars
  local -a versions=()
  while [ $# -gt 0 ]; do
    case "$1" in
      --out) page="$(realpath -m "${2:?--out needs a file}")" && shift 2 ;;
      -h | --help) netty_versions_usage && return ;;
      4.*) versions+=("$1") && shift ;;
      *) netty_versions_usage >&2 && die "'$1' is no version of Netty such as 4.2.19" ;;
    esac
  done
  require_jdk
  require_built
  mkdir -p "$directory"
  # Ours alone: the class path must have one version of Netty.
  jars="$(compgen -G "$ROOT/tools/target/lib/netty-transport-rdma-raw-[0n]*.jar" | tr '\n' ':')"
  page="${page:-$directory/README.md}"
  printf '| Netty | the transport, built with %s |\n|---|---|\n' \
    "$(sed -n 's|.*<netty.version>\(.*\).Final</netty.version>.*|\1|p' "$ROOT/pom.xml")" >"$page"
  for version in "${versions[@]:-${NETTY_VERSIONS[@]}}"; do
    say "netty-versions: $version"
    result=0
    verdict="$(try_netty_version "$version" "$directory/$version" "$jars")" || result=$?
    printf '| %s | %s |\n' "$version" "$verdict" >>"$page"
    # A version that cannot be had was not tried, which is no success either.
    [ "$result" = 0 ] || status=1
  done
  cat "$page"
  return "$status"
}
