#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the tests of softverbs as it is shipped, with address and undefined behaviour sanitizers, and with the thread
# sanitizer. At the same time, as most of their time is the kernel's, which makes and removes interfaces.
set -uo pipefail
build=$1
logs=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$logs"' EXIT
LD_LIBRARY_PATH=$build/lib "$build/softverbs-test" >"$logs/plain" 2>&1 &
plain=$!
"$build/softverbs-test-asan" >"$logs/asan" 2>&1 &
asan=$!
setarch -R "$build/softverbs-test-tsan" >"$logs/tsan" 2>&1 &
tsan=$!
failed=0
# A run's process, its log, its name.
finish() {
    wait "$1" || failed=1
    echo "== $3"
    cat "$logs/$2"
}
finish $plain plain "softverbs"
finish $asan asan "softverbs with address and undefined behaviour sanitizers"
finish $tsan tsan "softverbs with the thread sanitizer"
exit $failed
