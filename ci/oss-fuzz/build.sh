#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Puts the fuzz targets, their libraries and their corpora into $OUT. OSS-Fuzz runs it in the root of the repository.
set -euo pipefail

readonly TESTS=transport-rdma-raw/src/test

./mvnw -B -ntp -q -pl transport-rdma-raw -am -DskipNativeTests -DskipTests -Dmaven.javadoc.skip=true test-compile \
  dependency:build-classpath -Dmdep.outputFile="$PWD/target/fuzz-class-path" -Dmdep.includeScope=test
mkdir -p "$OUT/lib" "$OUT/jdk"
cp -r transport-rdma-raw/target/classes transport-rdma-raw/target/test-classes "$OUT"
# The JDK of the machines that run the targets is older.
cp -r "$JAVA_HOME/." "$OUT/jdk"
tr ':' '\n' <target/fuzz-class-path | while IFS= read -r library; do
  case "$library" in
    # The fuzzer has its own.
    */jazzer-0* | */jazzer-api-*) ;;
    *.jar) cp "$library" "$OUT/lib" ;;
    *) cp -r "$library" "$OUT/lib/$(basename "$(dirname "$(dirname "$library")")")" ;;
  esac
done

(cd "$TESTS/java" && grep -rl --include='*.java' '^    @FuzzTest' .) | while IFS= read -r file; do
  path="${file#./}" path="${path%.java}" name="${path##*/}"
  cat >"$OUT/$name" <<WRAPPER
#!/bin/bash
# OSS-Fuzz finds targets by this name: LLVMFuzzerTestOneInput
here="\$(dirname "\$0")"
libraries="\$(printf '%s:' "\$here"/lib/*)"
export JAVA_HOME="\$here/jdk"
export LD_LIBRARY_PATH="\$here/jdk/lib/server"
exec "\$here/jazzer_driver" --agent_path="\$here/jazzer_agent_deploy.jar" \
  --cp="\$here/test-classes:\$here/classes:\$libraries" --target_class=${path//\//.} \
  --instrumentation_includes='io.rdmaraw.**' --jvm_args='-Xmx2g:--enable-native-access=ALL-UNNAMED' "\$@"
WRAPPER
  chmod +x "$OUT/$name"
  corpus="$OUT/${name}_seed_corpus.zip"
  if [ -r "ci/fuzz.d/corpus/$name.zip" ]; then
    cp "ci/fuzz.d/corpus/$name.zip" "$corpus"
  fi
  if [ -d "$TESTS/resources/${path}Inputs/anyBytes" ]; then
    (cd "$TESTS/resources/${path}Inputs/anyBytes" && zip -q "$corpus" ./*)
  fi
done
