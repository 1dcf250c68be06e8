# shellcheck shell=bash
# Answers that need no build: help texts, versions, and a suggestion for a mistyped command.

readonly HELP_MODULES=(tools microbench examples testsuite)

# Prints the help of a command from the text that a test compares with the command's own. Fails if there is none.
show_stored_help() {
  local words=("$@") name module file
  asks_for_help "${words[-1]}" || return 1
  unset 'words[-1]'
  [ "${#words[@]}" -gt 0 ] || return 1
  name="$(IFS=-; echo "${words[*]}")"
  [[ "$name" =~ ^[a-z0-9-]+$ ]] || return 1
  for module in "${HELP_MODULES[@]}"; do
    file="$ROOT/$module/src/test/resources/golden/$name-help.txt"
    if [ -f "$file" ]; then
      # The file begins with the command and ends with its exit code.
      sed -e '1{/^\$ /d}' -e '${/^exit 0$/d}' "$file"
      return 0
    fi
  done
  return 1
}

# Prints the versions in the project's files, as `--version` prints them after a build.
show_stored_versions() {
  local pom="$ROOT/pom.xml" home version=unknown
  # The first version in the file is the project's own.
  echo "rdma-raw $(sed -n 's:.*<version>\(.*\)</version>.*:\1:p' "$pom" | head -n 1) (not built)"
  echo "Netty $(sed -n 's:.*<netty.version>\(.*\)</netty.version>.*:\1:p' "$pom")"
  home="$(find_jdk)" && version="$(sed -n 's/^JAVA_VERSION="\(.*\)"/\1/p' "$home/release")"
  echo "Java $version (${home:-no JDK $MIN_JAVA_MAJOR or newer was found})"
  echo "$(uname -s) $(uname -r) on $(uname -m), $(. /etc/os-release 2>/dev/null && echo "${PRETTY_NAME:-unknown}")"
}

# Prints the number of single-character changes that lead from one word to the other (Levenshtein distance).
edit_distance() {
  local from="$1" to="$2" i j cost best
  local -a previous current
  for ((j = 0; j <= ${#to}; j++)); do previous[j]=$j; done
  for ((i = 1; i <= ${#from}; i++)); do
    current=("$i")
    for ((j = 1; j <= ${#to}; j++)); do
      cost=1
      [ "${from:i-1:1}" != "${to:j-1:1}" ] || cost=0
      best=$((previous[j - 1] + cost))
      [ $((previous[j] + 1)) -ge "$best" ] || best=$((previous[j] + 1))
      [ $((current[j - 1] + 1)) -ge "$best" ] || best=$((current[j - 1] + 1))
      current[j]=$best
    done
    previous=("${current[@]}")
  done
  echo "${previous[${#to}]}"
}

# Prints the word of a list that is nearest to a mistyped one; nothing if none is within two changes.
nearest_word() {
  local mistyped="$1" word distance best=3 nearest=""
  shift
  for word in "$@"; do
    distance="$(edit_distance "$mistyped" "$word")"
    if [ "$distance" -lt "$best" ]; then
      best="$distance"
      nearest="$word"
    fi
  done
  [ -z "$nearest" ] || echo "$nearest"
}

# Ends the launcher for a command that does not exist.
refuse_command() {
  local nearest
  nearest="$(nearest_word "$1" "${COMMANDS[@]}")"
  [ -z "$nearest" ] || die "unknown command '$1': did you mean '$nearest'? ./rdma-raw help lists the commands"
  die "unknown command '$1': ./rdma-raw help lists the commands"
}

# Ends the launcher for an argument of `test` that is neither an option nor a class.
refuse_test_option() {
  local nearest
  nearest="$(nearest_word "$1" "${TEST_OPTIONS[@]}")"
  [ -z "$nearest" ] || die "test has no option '$1': did you mean '$nearest'? ./rdma-raw test --help lists them"
  die "test has no option '$1', nor is that a class: ./rdma-raw test --help"
}
