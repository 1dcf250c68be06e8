# shellcheck shell=bash
# Finds a JDK (with javac) that is new enough and exports JAVA_HOME; installs one where we may.

readonly MIN_JAVA_MAJOR=25

# Prints the major version of the JDK in a directory; fails when it is not a JDK. The release file is read, as it
# costs nothing, where starting `java -version` for each candidate costs a JVM.
jdk_major_version() {
  local home="$1" version
  [ -x "$home/bin/javac" ] && [ -r "$home/release" ] || return 1
  version="$(sed -n 's/^JAVA_VERSION="\([0-9]*\).*/\1/p' "$home/release" | head -n 1)"
  [ -n "$version" ] && printf '%s\n' "$version"
}

is_suitable_jdk() {
  local major
  major="$(jdk_major_version "$1")" && [ "$major" -ge "$MIN_JAVA_MAJOR" ]
}

# Homes to try, the user's choice first, one per line.
jdk_candidates() {
  local javac
  [ -z "${JAVA_HOME:-}" ] || printf '%s\n' "$JAVA_HOME"
  if javac="$(command -v javac)"; then
    dirname "$(dirname "$(readlink -f "$javac")")"
  fi
  local home
  for home in /usr/lib/jvm/* "${HOME:-/nonexistent}"/.sdkman/candidates/java/* "${HOME:-/nonexistent}"/.jdks/* \
      /opt/*jdk* /opt/java/* /usr/local/*jdk*; do
    [ ! -d "$home" ] || printf '%s\n' "$home"
  done
}

find_jdk() {
  local home
  while IFS= read -r home; do
    if is_suitable_jdk "$home"; then
      printf '%s\n' "$home"
      return 0
    fi
  done < <(jdk_candidates)
  return 1
}

install_jdk() {
  local package
  can_install_packages || return 1
  update_apt_lists_once
  package="$(first_offered_package "openjdk-$MIN_JAVA_MAJOR-jdk-headless" "temurin-$MIN_JAVA_MAJOR-jdk")" || return 1
  apt_install "$package"
}

explain_missing_jdk() {
  local found="none found"
  if command -v java >/dev/null; then
    found="the java in PATH is $(java -version 2>&1 | head -n 1)"
  fi
  give_up "a JDK $MIN_JAVA_MAJOR or newer with javac is needed ($found). Install one and run again:
  Debian 13+, Ubuntu 25.10+:  sudo apt-get install -y openjdk-$MIN_JAVA_MAJOR-jdk-headless
  Fedora, RHEL:               sudo dnf install java-$MIN_JAVA_MAJOR-openjdk-devel
  older Debian and Ubuntu:    add the packages of https://adoptium.net/installation/linux, then
                              sudo apt-get install -y temurin-$MIN_JAVA_MAJOR-jdk
  any Linux, without root:    curl -s https://get.sdkman.io | bash, then sdk install java $MIN_JAVA_MAJOR-tem
or point JAVA_HOME to a JDK that is unpacked somewhere else."
}

require_jdk() {
  local home
  home="$(find_jdk)" || { install_jdk && home="$(find_jdk)"; } || explain_missing_jdk
  export JAVA_HOME="$home"
}
