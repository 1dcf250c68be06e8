# shellcheck shell=bash
# Judge: Netty's own tests of epoll, io_uring and HTTP/2, on this transport's channels in memory
#
# The sources are the test-sources jars of Maven Central in the version of the build. --source names a directory with
# those jars instead.

# Modules of Netty, and the classes of their tests that open channels.
readonly NETTY_MODULES=(transport-native-epoll transport-native-io_uring codec-http2)
declare -rA NETTY_CLASSES=(
  # SocketSslEchoTest takes longer than all others together, and Netty's testsuite runs it as part of ours.
  [epoll]='(?!.*SslEchoTest).*Test'
  [io_uring]='(?!.*SslEchoTest).*Test'
  [codec-http2]='.*\.(DefaultHttp2PushPromiseFrame|DataCompressionHttp2|Http2MultiplexTransport|H2Preface)Test')
readonly NETTY_SECONDS=400
# The class of epoll's tests that a planted run plays.
readonly NETTY_PLANTED=EpollSocketHalfClosedTest

netty_libraries() {
  local version="$1" module jar
  run_maven -q -B -ntp -f ci/judges.d/netty/pom.xml -Dnetty.version="$version" dependency:copy-dependencies \
    -DoutputDirectory="$WORK/lib" >&2 || die "the libraries of Netty's tests cannot be had: is Maven Central reached?"
  mkdir "$WORK/sources"
  for module in "${NETTY_MODULES[@]}"; do
    jar="${SOURCE:-$WORK/lib}/netty-$module-$version-test-sources.jar"
    [ -r "$jar" ] || die "there is no $jar"
    python3 -m zipfile -e "$jar" "$WORK/sources/$module"
  done
  rm "$WORK"/lib/*-test-sources.jar
  # Tests that name a class of epoll or io_uring that has no replacement must not run on the kernel's transports.
  rm "$WORK"/lib/netty-transport-classes-*.jar
}

# The class that hands the channels to Netty's testsuite, for one package.
netty_permutation() {
  local package="$1" class="$2"
  mkdir -p "$WORK/harness"
  sed "s/@PACKAGE@/$package/; s/@CLASS@/$class/g" "$JUDGES/netty/Permutation.java" \
    >"$WORK/harness/$class.java"
  printf '%s\n' "$WORK/harness/$class.java"
}

netty_run() {
  local run="$1" module="$2" classes="$WORK/$1/classes" path pattern="${NETTY_CLASSES[$1]}"
  [ -z "$PLANT" ] || pattern=".*$NETTY_PLANTED"
  shift 2
  mkdir -p "$classes"
  path="$classes:$WORK/judge:$WORK/lib/*:$PRODUCT"
  say "$run: compiling"
  python3 "$JUDGES/netty/adapt.py" --module "$run" --sources "$WORK/sources/$module" --copy "$WORK/$run/copy" \
    --classes "$classes" --replacements "$WORK/replacements.tsv" --rows "$WORK/$run.tsv" --log "$WORK/$run/javac.log" \
    --extra "$@" --javac "$JAVA_HOME/bin/javac" -nowarn -proc:none -Xmaxerrs 5000 -XDshould-stop.ifError=FLOW -cp "$path"
  # Files that tests read.
  (cd "$WORK/sources/$module" && find . -type f ! -name '*.java' -exec cp --parents {} "$classes" \;)
  say "$run: running; log in $WORK/$run/tests.log"
  # In a network of its own, whose interfaces no other program changes.
  # shellcheck disable=SC2016
  (cd "$WORK/$run" && exec timeout "$NETTY_SECONDS" unshare -n sh -c 'ip link set lo up && exec "$0" "$@"' "$JAVA_HOME/bin/java" \
    --enable-native-access=ALL-UNNAMED -XX:+EnableDynamicAgentLoading -Xmx2g \
    -Dio.netty.leakDetectionLevel=simple -cp "$path" io.rdmaraw.judge.JudgeRunner "$run" "$classes" "$WORK/$run.tsv" \
    "$pattern") >"$WORK/$run/tests.log" 2>&1 ||
    say "$run: ended after $NETTY_SECONDS s; see $WORK/$run/tests.log"
  # A test that does not compile is listed once, with the compiler's message.
  python3 "$JUDGES/netty/rows.py" "$pattern" <"$WORK/$run.tsv" >>"$WORK/results.tsv"
}

judge() {
  # shellcheck source=scripts/jdk.sh
  . "$ROOT/scripts/jdk.sh"
  # shellcheck source=scripts/build.sh
  . "$ROOT/scripts/build.sh"
  require_jdk
  require_built
  [ "$(id -u)" = 0 ] || die "the tests get a network namespace of their own, which takes root"
  local version
  version="$(sed -n 's|.*<netty.version>\(.*\)</netty.version>.*|\1|p' "$ROOT/pom.xml")"
  netty_libraries "$version"
  PRODUCT="$(find "$ROOT"/transport-rdma-raw/target "$ROOT"/transport-rdma-raw-native/target -maxdepth 1 -name '*.jar' \
    ! -name '*-sources.jar' ! -name '*-javadoc.jar' | paste -sd :)"
  mkdir "$WORK/judge"
  cp "$JUDGES/netty/JudgeRunner.java" "$WORK"
  plant harness "$WORK/JudgeRunner.java" 'includeClassNamePatterns(args.3.)' 'includeClassNamePatterns("none")'
  "$JAVA_HOME/bin/javac" -Xlint:all -Werror -proc:none -d "$WORK/judge" -cp "$WORK/lib/*:$PRODUCT" \
    "$WORK/JudgeRunner.java" "$JUDGES"/netty/{JudgeLoops,SilentHost}.java
  cp "$JUDGES/netty/replacements.tsv" "$WORK"
  if [ "$PLANT" = product ]; then
    cp "$ROOT/transport-rdma-raw/src/main/java/io/rdmaraw/channel/RdmaRawSocketChannelConfig.java" "$WORK"
    plant product "$WORK/RdmaRawSocketChannelConfig.java" 'return allowHalfClosure;' 'return false;'
    # Before the product's class on the class path.
    "$JAVA_HOME/bin/javac" -nowarn -proc:none -d "$WORK/judge" -cp "$WORK/lib/*:$PRODUCT" "$WORK/RdmaRawSocketChannelConfig.java"
  fi
  if [ -n "$PLANT" ]; then
    # Results of other tests are those of the page.
    sed -nE "/$NETTY_PLANTED\./d; s/^\| (epoll|io_uring|codec-http2) \| (\S+) \| passed \|.*/\1\t\2\tpassed\t/p" \
      "$ROOT/docs/lab/judges.md" >>"$WORK/results.tsv"
  fi
  netty_run epoll transport-native-epoll "$(netty_permutation io.netty.channel.epoll EpollSocketTestPermutation)"
  if [ -z "$PLANT" ]; then
    netty_run io_uring transport-native-io_uring \
      "$(netty_permutation io.netty.channel.uring IoUringSocketTestPermutation)"
    netty_run codec-http2 codec-http2
  fi
  local fault=''
  case "$PLANT" in
    product) fault="channels never allow half-closure" ;;
    harness) fault="the runner selects no class" ;;
  esac
  write_page --fault "$fault" --version "Netty $version"
}
