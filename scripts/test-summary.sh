# shellcheck shell=bash
# Adds up what Surefire reported over all modules.

remove_old_test_reports() {
  rm -rf "$1"/{*,examples/frameworks}/target/surefire-reports
}

# Prints "TESTS FAILED SKIPPED" of the test reports named. Counts the cases: the sums in a report's head leave out the
# tests of nested classes. The indentation keeps a test's own output, which a report quotes, from being counted.
sum_test_reports() {
  awk '
    /^  <testcase name="/ { tests++; counted = 0 }
    /^    <(failure|error)[ >\/]/ && !counted { failed++; counted = 1 }
    /^    <skipped[ >\/]/ && !counted { skipped++; counted = 1 }
    END { print tests + 0, failed + 0, skipped + 0 }' "$@" /dev/null
}

# Why tests were skipped: a count and the reason, one line each.
print_skip_reasons() {
  sed -n 's/.*<skipped message="\([^"]*\)".*/\1/p' "$@" /dev/null | sort | uniq -c | sort -rn |
    sed -e 's/^ *\([0-9]*\) /\1 skipped: /' -e 's/&#10;.*//' -e 's/&quot;/"/g' -e "s/&apos;/'/g" -e 's/&lt;/</g' \
      -e 's/&gt;/>/g' -e 's/&amp;/\&/g'
}

# Which tests failed, one line each: a log of many modules names them far above its end.
print_failed_tests() {
  awk '
    /^  <testcase name="/ { name = $0; sub(/.*<testcase name="/, "", name); sub(/".*/, "", name)
                            type = $0; sub(/.*classname="/, "", type); sub(/".*/, "", type); told = 0 }
    /^    <(failure|error)[ >\/]/ && !told {
      why = /message="/ ? $0 : ""; sub(/.*message="/, "", why); sub(/".*/, "", why); sub(/&#10;.*/, "", why)
      print "failed: " type "." name (why == "" ? "" : ": " substr(why, 1, 300)); told = 1
    }' "$@" /dev/null | sed -e 's/&quot;/"/g' -e "s/&apos;/'/g" -e 's/&lt;/</g' -e 's/&gt;/>/g' -e 's/&amp;/\&/g'
}

# The last line is always "N passed, N failed". Arguments: the root directory, Maven's exit status, and 1 if the tests in
# C, which count as one, have failed beside Maven. Fails when a test has failed, or when there was none: a build that
# tests nothing is not green.
print_test_summary() {
  local root="$1" status="$2" failed_in_c="${3:-0}" tests failed skipped
  local -a reports
  shopt -s nullglob
  reports=("$root"/{*,examples/frameworks}/target/surefire-reports/TEST-*.xml)
  shopt -u nullglob
  read -r tests failed skipped < <(sum_test_reports "${reports[@]}")
  print_skip_reasons "${reports[@]}"
  print_failed_tests "${reports[@]}"
  if [ "$status" != 0 ] && [ "$failed" = 0 ]; then
    printf '%s\n' "The build failed outside the Java tests: see the first [ERROR] above."
  fi
  [ "$failed_in_c" = 0 ] || echo "failed: the tests in C, or their build"
  printf '%s passed, %s failed\n' "$((tests - failed - skipped))" "$((failed + failed_in_c))"
  [ "$failed" = 0 ] && [ "$failed_in_c" = 0 ] && [ "$tests" -gt 0 ]
}
