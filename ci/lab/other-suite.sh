# shellcheck shell=bash
# Packages of another suite of Debian than this host's, or for another processor, unpacked into a directory of their
# own: nothing is installed.

# The archive that this host's own packages come from.
debian_archive() {
  # apt-get replaces the name, not the shell.
  # shellcheck disable=SC2016
  apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' |
    awk '/\/debian\/$/ && !found { print; found = 1 } END { exit !found }'
}

# unpack_of_suite WHAT SUITE DIRECTORY alone|with-dependencies|kernel PACKAGE...
# Downloads and unpacks packages, once: into DIRECTORY/root. Without their dependencies they lie over the system's.
# kernel: the packages of the kernel that these name as the newest; some suites split them. Nothing that installing wants.
# They are for this host's processor, or for the one that the variable of_architecture names as Debian does.
unpack_of_suite() {
  local what="$1" suite="$2" directory="$3" kind="$4" archive package wanted
  shift 4
  # What an older version of these scripts has unpacked may lack a package.
  wanted="$suite $kind ${of_architecture:-} $*"
  [ ! -e "$directory/complete" ] || [ "$(cat "$directory/wanted" 2>/dev/null)" != "$wanted" ] || return 0
  archive="$(debian_archive)" || give_up "apt-get knows no archive of Debian: $what comes from there"
  rm -rf "$directory"
  mkdir -p "$directory/lists/partial" "$directory/archives/partial" "$directory/root"
  printf 'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s %s main\n' "$archive" "$suite" \
    >"$directory/sources.list"
  local -a options=(-qq -o Dir::Etc::sourcelist="$directory/sources.list" -o Dir::Etc::sourceparts=-
    -o Dir::State::lists="$directory/lists" -o Dir::State::status=/dev/null -o Dir::Cache="$directory"
    -o Dir::Cache::archives="$directory/archives" -o APT::Sandbox::User=root)
  [ -z "${of_architecture:-}" ] ||
    options+=(-o APT::Architecture="$of_architecture" -o APT::Architectures::="$of_architecture")
  local -a getting=(download) named
  [ "$kind" != with-dependencies ] || getting=(-y --no-install-recommends --download-only -o Debug::NoLocking=1 install)
  say "$what of Debian $suite: downloading"
  apt-get "${options[@]}" update >&2 || give_up "the package lists of Debian $suite cannot be had"
  if [ "$kind" = kernel ]; then
    mapfile -t named < <(apt-cache "${options[@]}" depends --recurse --important "$@" | grep -E '^linux-[a-z]+-[0-9]' | sort -u)
    set -- "${named[@]}"
  fi
  (cd "$directory/archives" && apt-get "${options[@]}" "${getting[@]}" "$@" >&2) ||
    give_up "the packages of Debian $suite cannot be had: $*"
  for package in "$directory"/archives/*.deb; do
    dpkg-deb -x "$package" "$directory/root"
  done
  echo "$wanted" >"$directory/wanted"
  (cd "$directory/archives" && printf '%s\n' *.deb) >"$directory/complete"
  rm -rf "$directory"/{lists,archives,pkgcache.bin,srcpkgcache.bin}
}
