#!/usr/bin/env bash
# The closing line of ./test counts what ran, all of it and nothing else.
set -euo pipefail
count_cases() { awk -f tools/count_cases.awk "$1"; }
failures=0

# expect WHAT WANTED GOT
expect() {
  [[ $2 == "$3" ]] && return
  printf 'FAILED %s: wanted "%s", got "%s"\n' "$1" "$2" "$3"
  failures=$((failures + 1))
}

xml=$PWD/tests/tools/xml
expect 'GoogleTest file' '3 1 2' "$(count_cases "$xml/googletest.xml")"
expect 'script that passed' '1 0 0' "$(count_cases "$xml/bazel_passed.xml")"
expect 'crash reported by Bazel' '0 1 0' "$(count_cases "$xml/bazel_crashed.xml")"
expect 'suite without cases' '0 0 0' "$(count_cases "$xml/no_cases.xml")"
expect 'empty file' '0 0 0' "$(count_cases /dev/null)"

events=$TEST_TMPDIR/events
result() {  # LABEL FILE: a test that left FILE as its test.xml
  printf '{"id":{"testResult":{"label":"%s","run":1,"shard":1}},"testResult":{"testActionOutput":[{"name":"test.log","uri":"file:///x/test.log"},{"name":"test.xml","uri":"file://%s"}],"status":"PASSED"}}\n' "$1" "$2"
}
summary() {  # LABEL STATUS
  printf '{"id":{"testSummary":{"label":"%s","configuration":{"id":"1"}}},"testSummary":{"totalRunCount":1,"overallStatus":"%s"}}\n' "$1" "$2"
}
# count EXIT_CODE LINE LABEL...: what is printed for the events, and the exit code.
count() {
  local wanted_code=$1 wanted=$2 code=0 got
  shift 2
  got=$(printf '%s\n' "$@" | tools/count_tests.sh "$events" 2>/dev/null) || code=$?
  expect "count of $*" "$wanted, exit code $wanted_code" "$got, exit code $code"
}

{ result //a:a "$xml/bazel_passed.xml"; summary //a:a PASSED; } >"$events"
count 0 '1 passed, 0 failed' //a:a
# A target that failed to build has no events, whatever an earlier run left on disk.
count 1 '1 passed, 1 failed' //a:a //a:b
# A longer label must not be taken for a shorter one, nor the other way round.
count 1 '1 passed, 1 failed' //a:a //a:ab
# Only what was asked for counts.
{ result //a:a "$xml/bazel_passed.xml"; summary //a:a PASSED
  result //b:b "$xml/googletest.xml"; summary //b:b FAILED; } >"$events"
count 0 '1 passed, 0 failed' //a:a
count 1 '4 passed, 1 failed, 2 skipped' //a:a //b:b
# All cases passed, then the process failed: a leak, a crash at exit.
{ result //a:a "$xml/bazel_passed.xml"; summary //a:a FAILED; } >"$events"
count 1 '1 passed, 1 failed' //a:a
# Killed for its time: no XML file was left.
{ result //a:a "$xml/does_not_exist.xml"; summary //a:a TIMEOUT; } >"$events"
count 1 '0 passed, 1 failed' //a:a
# Two shards of one target.
{ result //a:a "$xml/bazel_passed.xml"; result //a:a "$xml/googletest.xml"; summary //a:a FAILED; } \
  >"$events"
count 1 '4 passed, 1 failed, 2 skipped' //a:a
# Nothing ran.
: >"$events"
count 1 '0 passed, 0 failed' ''
# Passed without a single case is not a pass.
{ result //a:a "$xml/no_cases.xml"; summary //a:a PASSED; } >"$events"
count 1 '0 passed, 0 failed' //a:a

[[ $failures == 0 ]] && echo 'all counts are right'
exit "$failures"
