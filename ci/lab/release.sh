# shellcheck shell=bash
# ./rdma-raw release --dry-run: what a release would publish, built twice, checked and used. Nothing leaves this host.

readonly RELEASE_FRAMEWORKS=(vertx reactor-netty grpc lettuce spring-boot micronaut)

release_usage() {
  cat <<'USAGE'
usage: ./rdma-raw release --dry-run [--out DIR] [--once] [--version V]

Builds the bundle of a release, checks it, and builds a program with nothing but the bundle and Maven Central.

  --dry-run     Nothing is published from here; without it the command does nothing
  --out DIR     the staged repository (target/staging), and DIR.zip, the bundle to sign and to upload
  --once        one build: whether another one gives the same bytes is not checked
  --version V   instead of the version in pom.xml without -SNAPSHOT

It builds copies of the sources in two folders, with their changes that are not committed. The library for 64-bit Arm
takes a cross compiler, which is installed as root on Debian or Ubuntu. Ends with 1 if anything is missing or wrong.
docs/lab/release.md has what is checked.
USAGE
}

# Of a checkout what git knows or would take, else all but what is built.
copy_sources() {
  local to="$1"
  mkdir -p "$to"
  if git -C "$ROOT" rev-parse --git-dir >/dev/null 2>&1; then
    # A file that is removed and not committed so is known to git all the same.
    (cd "$ROOT" && git ls-files -z --cached --others --exclude-standard \
      | while IFS= read -r -d '' file; do [ ! -e "$file" ] || printf '%s\0' "$file"; done \
      | tar -c --null -T - | tar -x -C "$to")
  else
    tar -C "$ROOT" -c --exclude target . | tar -x -C "$to"
  fi
}

# Builds a copy into a repository of files.
build_release() {
  local copy="$1" repository="$2" version="$3" snapshot="$4" modules
  say "release: building in $copy"
  rm -rf "$copy" "$repository"
  copy_sources "$copy"
  find "$copy" -name pom.xml -not -path '*/ci/lab/*' -exec sed -i "s|<version>$snapshot</version>|<version>$version</version>|" {} +
  modules="transport-rdma-raw-bom,transport-rdma-raw-native,transport-rdma-raw,transport-rdma-raw-all"
  modules+=",transport-rdma-raw-agent$(printf ',transport-rdma-raw-%s' "${RELEASE_FRAMEWORKS[@]}")"
  (MAVEN_ROOT="$copy" run_maven_logged "$copy.log" -B -Prelease -DskipTests -Dmaven.test.skip=true -pl "$modules" -am \
    "-DaltDeploymentRepository=staging::file://$repository" deploy) || exit
}

require_cross_compiler() {
  if ! command -v aarch64-linux-gnu-gcc >/dev/null || [ ! -e /usr/aarch64-linux-gnu/include/stdio.h ]; then
    can_install_packages && apt_install gcc-aarch64-linux-gnu libc6-dev-arm64-cross
  fi
  command -v aarch64-linux-gnu-gcc >/dev/null || give_up "a release has a library for 64-bit Arm:" \
    "sudo apt-get install -y gcc-aarch64-linux-gnu libc6-dev-arm64-cross"
}

# A project of a user's in a folder of its own, with a local repository of its own: it has what the bundle and Maven
# Central have, and nothing of this clone.
use_release() {
  local repository="$1" version="$2" work="$3"
  say "release: a project that has only the bundle and Maven Central"
  # What an earlier bundle had would be taken instead of what this one has: the version is the same.
  rm -rf "$work" "$work.repository/io/rdmaraw" && mkdir -p "$work"
  cp -r "$ROOT/examples/quickstart/." "$work"
  sed -i "s|<rdmaraw.version>.*<|<rdmaraw.version>$version<|" "$work/pom.xml"
  cat >"$work.settings.xml" <<SETTINGS
<settings>
  <profiles><profile><id>staged</id><repositories><repository>
    <id>staged</id><url>file://$repository</url>
  </repository></repositories></profile></profiles>
  <activeProfiles><activeProfile>staged</activeProfile></activeProfiles>
</settings>
SETTINGS
  "$ROOT/ci/lab/release/try-quickstart.sh" "$work" "$ROOT/mvnw" -q -B -ntp -gs "$work.settings.xml" \
    "-Dmaven.repo.local=$work.repository" -f "$work/pom.xml" compile exec:exec -Ddevice=DEVICE
}

# The same by Gradle, where there is one; Debian's is old.
use_release_by_gradle() {
  local repository="$1" version="$2" work="$3"
  local -a old=()
  if ! command -v gradle >/dev/null; then
    say "release: there is no gradle here, so the project was not built by it"
    return
  fi
  say "release: the same by Gradle"
  rm -rf "$work" && mkdir -p "$work"
  cp -r "$ROOT/examples/quickstart/." "$work"
  ! (unset JAVA_HOME && gradle --version 2>/dev/null) | grep -Eq '^Gradle ([1-8]|9\.0)\.' \
    || old=(-I "$ROOT/ci/lab/release/old-gradle.gradle" "-Pjdk=$JAVA_HOME")
  # An old one runs on the JDK that it finds by itself.
  (
    [ "${#old[@]}" -eq 0 ] || unset JAVA_HOME
    "$ROOT/ci/lab/release/try-quickstart.sh" "$work" gradle -q --no-daemon --gradle-user-home "$work.home" "${old[@]}" \
      -p "$work" "-Pstaged=$repository" "-Prdmaraw.version=$version" serve -Pdevice=DEVICE
  )
}

# The directory is replaced: nothing but an earlier bundle may be lost.
require_replaceable() {
  local directory="$1" other
  [ -e "$directory" ] || return 0
  [ -d "$directory" ] || die "release --out: $directory is no directory"
  other="$(cd "$directory" && find . -mindepth 1 -not -path ./io -not -path ./io/rdmaraw \
    -not -path './io/rdmaraw/netty-transport-rdma-raw*' -print -quit)"
  [ -z "$other" ] || die "release --out replaces the directory, and $directory has other files, such as $other"
}

run_release() {
  local dry="" out="$ROOT/target/staging" once="" version="" snapshot work status=0
  while [ $# -gt 0 ]; do
    case "$1" in
      --out | --version) [ -n "${2:-}" ] || die "release $1 wants a value: ./rdma-raw release --help" ;;
    esac
    case "$1" in
      --dry-run) dry=1 && shift ;;
      --once) once=1 && shift ;;
      --out) out="$(realpath -m "$2")" && shift 2 ;;
      --version) version="$2" && shift 2 ;;
      --out=* | --version=*) set -- "${1%%=*}" "${1#*=}" "${@:2}" ;;
      *) die "release has no option '$1': ./rdma-raw release --help" ;;
    esac
  done
  [ -n "$dry" ] || die "nothing is published from here: ./rdma-raw release --dry-run makes and checks what would be"
  require_replaceable "$out"
  require_jdk
  require_build_tools
  require_cross_compiler
  snapshot="$(sed -n 's|^  <version>\(.*\)</version>|\1|p' "$ROOT/pom.xml" | head -n 1)"
  version="${version:-${snapshot%-SNAPSHOT}}"
  work="$ROOT/target/release"
  build_release "$work/sources" "$out" "$version" "$snapshot"
  # The length of the path and its name differ, as they do on another machine.
  [ -n "$once" ] || build_release "$work/another/folder/with-sources" "$work/another-staging" "$version" "$snapshot"
  local -a another=()
  [ -n "$once" ] || another=("$work/another-staging")
  "$JAVA_HOME/bin/java" "$ROOT/ci/lab/release/CheckRelease.java" "$out" "${another[@]}" || status=1
  find "$out" -name 'maven-metadata*' -delete
  rm -f "$out.zip"
  "$JAVA_HOME/bin/jar" --create --no-manifest --file "$out.zip" -C "$out" .
  echo "$out.zip: sign each file (gpg --armor --detach-sign), pack it again, upload it"
  use_release "$out" "$version" "$work/user" || status=1
  use_release_by_gradle "$out" "$version" "$work/gradle-user" || status=1
  try_environments "$work/user.settings.xml" "$work/user.repository" "$version" "$work/environments" || status=1
  # Copies of all sources are found by whatever searches the tree.
  [ "$status" != 0 ] || rm -rf "$work/sources" "$work/another"
  return "$status"
}
