#!/usr/bin/env bash
# ./test runs what it is asked to run and closes with a line that counts it.
set -uo pipefail
source tests/tools/fake_machine.sh
reset_machine

# Stands in for libFuzzer; what it says is in $machine/fuzz.
cat >"$repository/tools/fuzz.sh" <<END
#!/bin/bash
echo "fuzz \$*" >>'$machine/calls'
cat '$machine/fuzz'
END
chmod +x "$repository/tools/fuzz.sh"
printf '5 passed, 0 failed\n' >"$machine/fuzz"
# And for what packs a release; its exit code is in $machine/release.
cat >"$repository/tools/release.sh" <<END
#!/bin/bash
echo "release \$*" >>'$machine/calls'
exit "\$(<'$machine/release')"
END
chmod +x "$repository/tools/release.sh"
echo 0 >"$machine/release"

xml=$TEST_TMPDIR/xml
mkdir -p "$xml"
printf '<testsuites><testsuite><testcase name="a"/><testcase name="b"/></testsuite></testsuites>' \
  >"$xml/two.xml"
printf '<testsuites><testsuite><testcase name="a"/><testcase name="b"><failure/></testcase><testcase name="c"><skipped/></testcase></testsuite></testsuites>' \
  >"$xml/mixed.xml"

# ran LABEL STATUS XML: events of one target.
ran() {
  printf '{"id":{"testResult":{"label":"%s"}},"testResult":{"testActionOutput":[{"name":"test.xml","uri":"file://%s"}]}}\n' "$1" "$xml/$3"
  printf '{"id":{"testSummary":{"label":"%s"}},"testSummary":{"overallStatus":"%s"}}\n' "$1" "$2"
}
run() {
  : >"$machine/calls"
  "$repository/test" "$@" >"$TEST_TMPDIR/out" 2>"$TEST_TMPDIR/err" </dev/null
  code=$?
  last=$(tail -n 1 "$TEST_TMPDIR/out") err=$(<"$TEST_TMPDIR/err")
}

printf '//tests/a:a_test\n//tests/b:b_test\n' >"$machine/labels"
{ ran //tests/a:a_test PASSED two.xml; ran //tests/b:b_test PASSED two.xml; } >"$machine/events"
run
expect 'all pass' '4 passed, 0 failed; 0' "$last; $code"
expect 'one run' 1 "$(calls 'bazel test')"
expect 'everything is built' 1 "$(calls 'bazel test .* -- //\.\.\.$')"
expect 'long ones stay out' 1 \
  "$(calls 'bazel test .*--test_tag_filters=-manual,-benchmark,-gpu,-long ')"
expect_part 'failures do not stop it' '--keep_going' "$(grep '^bazel test' "$machine/calls")"

run a_te
expect 'filter' '2 passed, 0 failed; 0' "$last; $code"
expect 'filter runs what matches' 1 "$(calls 'bazel test .* -- //tests/a:a_test$')"
run nothing-like-it
expect 'filter without a match' '0 passed, 0 failed; 1' "$last; $code"
expect 'filter without a match runs nothing' 0 "$(calls 'bazel test')"
run 'a.te'
expect 'a filter is not a pattern' '0 passed, 0 failed; 1' "$last; $code"

run --long
expect 'long: five suites, the release and the fuzz targets' '26 passed, 0 failed; 0' "$last; $code"
expect 'long: kernels for all architectures' 1 \
  "$(calls 'bazel test .*--config=release .*-- //tests/kernels/cuda:resource_usage_test$')"
expect 'long: a release' 1 "$(calls 'release --without-cublas ')"
expect 'long: fuzzing' 1 "$(calls 'fuzz 60$')"
expect 'long ones run' 1 "$(calls 'bazel test .*--test_tag_filters=-manual,-benchmark,-gpu -- //\.\.\.$')"
expect 'long: the repetitions leave long ones out' 4 "$(calls 'bazel test .*-gpu,-long ')"
expect 'long: without CUDA' 1 "$(calls 'bazel test .*--repo_env=HORIZON_NO_CUDA=1')"
expect 'long: memory sanitizers' 1 "$(calls 'bazel test .*--config=asan .*-- //tests/\.\.\.$')"
expect 'long: the thread sanitizer' 1 \
  "$(calls 'bazel test .*--config=tsan .*-- //tests/a:a_test //tests/b:b_test$')"
expect 'long: where there are threads' 1 \
  "$(calls 'bazel query .*rdeps(//tests/\.\.\., //common/threads/\.\.\.)')"
HORIZON_FUZZ_SECONDS=7 run --long
expect 'long: fuzzing as long as asked' 1 "$(calls 'fuzz 7$')"
printf '//tests/a:a_fuzz_test: 5 runs\n4 passed, 1 failed\n' >"$machine/fuzz"
run --long
expect 'long: a finding' '25 passed, 1 failed; 1' "$last; $code"
: >"$machine/fuzz"
run --long
expect 'long: fuzz targets that do not build' '21 passed, 1 failed; 1' "$last; $code"
printf '5 passed, 0 failed\n' >"$machine/fuzz"
echo 1 >"$machine/release"
run --long
expect 'long: a release that fails' '25 passed, 1 failed; 1' "$last; $code"
echo 3 >"$machine/release"
run --long
expect 'long: no nvcc for a release' '25 passed, 0 failed, 1 skipped; 0' "$last; $code"
echo 0 >"$machine/release"
run --part asan
expect 'one part' '4 passed, 0 failed; 0' "$last; $code"
expect 'one part runs nothing else' 1 "$(calls 'bazel test')"
expect_part 'and says which it was' 'asan: 4 passed, 0 failed' "$err"
run --part tsan --part fuzz
expect 'two parts' '9 passed, 0 failed; 0' "$last; $code"
run --part asan b_test
expect 'a part with a filter' '2 passed, 0 failed; 0' "$last; $code"
run --part msan
expect 'no such part' 2 "$code"
expect_part 'and what there is' 'suite no-cuda asan tsan architectures release fuzz' "$err"
run --long --part
expect 'no part' 2 "$code"
run --long b_test
expect 'long with filter: one suite' '2 passed, 0 failed; 0' "$last; $code"

{ ran //tests/a:a_test PASSED two.xml; ran //tests/b:b_test FAILED mixed.xml; } >"$machine/events"
echo 3 >"$machine/test_status"
run
expect 'a failure and a skipped case' '3 passed, 1 failed, 1 skipped; 1' "$last; $code"
ran //tests/a:a_test PASSED two.xml >"$machine/events"
echo 1 >"$machine/test_status"
run
expect 'a target that did not build' '2 passed, 1 failed; 1' "$last; $code"
expect_part 'and its name' '//tests/b:b_test: did not run' "$err"
{ ran //tests/a:a_test PASSED two.xml; ran //tests/b:b_test PASSED two.xml; } >"$machine/events"
run
expect 'something else did not build' '4 passed, 1 failed; 1' "$last; $code"
echo 0 >"$machine/test_status"
touch "$machine/query_fails"
run
expect 'a BUILD file that does not load' '4 passed, 1 failed; 1' "$last; $code"
rm "$machine/query_fails"

run --lnog
expect 'unknown option' 2 "$code"
run a b
expect 'two filters' 2 "$code"

printf 'clang-tidy\n' >"$machine/not_installed"
run
expect 'testing needs more packages' 1 "$(calls 'apt-get install .* clang-tidy$')"
expect 'and goes on' '4 passed, 0 failed; 0' "$last; $code"
mkdir -p "$TEST_TMPDIR/elsewhere" && cd "$TEST_TMPDIR/elsewhere"
run
expect 'from anywhere' '4 passed, 0 failed; 0' "$last; $code"

finish
