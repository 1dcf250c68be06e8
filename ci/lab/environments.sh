# shellcheck shell=bash
# Part of ./rdma-raw release --dry-run: the bundle as programs have it that are not a class path of jars. Each runs
# ci/lab/smoke/smoke/Smoke.java: TCP, a file, datagrams and the end of the loops, on a device in memory.

# Runs one, with a sentence that names it; its output only if it fails.
environment() {
  local name="$1" log="$2/$1.log"
  shift 2
  if timeout 300 "$@" >"$log" 2>&1; then
    echo "$name: $(tail -n 1 "$log")"
  else
    echo "$name: WRONG"
    cat "$log"
    return 1
  fi
}

# What of the jars a framework installs: Netty's bundles that the transport wants, the transport, its fragments.
copy_bundles() {
  local from="$1" to="$2"
  mkdir -p "$to"
  cp "$from"/netty-{common,buffer,resolver,transport}-4*.jar "$from"/netty-transport-rdma-raw-[0-9]*.jar \
    "$from"/netty-transport-rdma-raw-native-*.jar "$to"
}

# An image of the modules that the program needs, and no others. The library is no module: it is beside, in its jar.
link_image() {
  local libraries="$1" sources="$2" work="$3"
  "$JAVA_HOME/bin/javac" -d "$work/modules/smoke" --module-path "$libraries" "$ROOT/ci/lab/release/environments/module-info.java" \
    "$sources/smoke/Smoke.java" \
    && "$JAVA_HOME/bin/jlink" --module-path "$work/modules:$libraries" --add-modules smoke --output "$work/image"
}

try_environments() {
  local settings="$1" local_repository="$2" version="$3" work="$4" status=0 target libraries native
  say "release: modules, shading, OSGi, BlockHound"
  rm -rf "$work"
  mkdir -p "$work/src/main/java"
  cp "$ROOT/ci/lab/release/environments/pom.xml" "$work"
  cp -r "$ROOT/ci/lab/smoke/smoke" "$work/src/main/java"
  if ! "$ROOT/mvnw" -q -B -ntp -gs "$settings" "-Dmaven.repo.local=$local_repository" "-Drdmaraw.version=$version" \
      -f "$work/pom.xml" package >"$work/maven.log" 2>&1; then
    cat "$work/maven.log"
    return 1
  fi
  target="$work/target"
  libraries="$target/libraries"
  native="$(compgen -G "$libraries/netty-transport-rdma-raw-native-*-linux-x86_64.jar")"
  environment shaded "$work" "$JAVA_HOME/bin/java" --enable-native-access=ALL-UNNAMED -cp "$target/smoke-1-shaded.jar" \
    smoke.Smoke || status=1
  if link_image "$libraries" "$work/src/main/java" "$work" >"$work/jlink.log" 2>&1; then
    environment jlink "$work" "$work/image/bin/java" --enable-native-access=io.rdmaraw -cp "$native" -m smoke/smoke.Smoke \
      || status=1
  else
    echo "jlink: WRONG" && cat "$work/jlink.log" && status=1
  fi
  copy_bundles "$libraries" "$work/bundles"
  environment osgi "$work" "$JAVA_HOME/bin/java" --enable-native-access=ALL-UNNAMED -cp "$target/classes:$target/tools/*" \
    smoke.InOsgi "$work/bundles" "$target/classes" "$work/framework" || status=1
  environment blockhound "$work" "$JAVA_HOME/bin/java" --enable-native-access=ALL-UNNAMED -XX:+EnableDynamicAgentLoading \
    -XX:+AllowRedefinitionToAddDeleteMethods -cp "$target/classes:$libraries/*:$target/tools/*" smoke.UnderBlockHound || status=1
  return "$status"
}
