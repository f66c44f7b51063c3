#!/usr/bin/env bash
# tools/fuzz.sh builds the fuzz targets, starts each with its corpus and its limits, and counts them.
set -uo pipefail
source tests/tools/fake_machine.sh
reset_machine
cp -L tools/fuzz.sh "$repository/tools/"
chmod +x "$repository/tools/fuzz.sh"

# Two targets; what a binary of them does is in $machine/NAME.
stand_in bazel <<'END'
while [[ $1 == --* ]]; do shift; done
case $1 in
  query) if [[ $* == *'labels(data'* ]]; then cat "$machine/data"; else cat "$machine/labels"; fi ;;
  info) echo "$machine/bazel-bin" ;;
  build)
    [[ -e $machine/build_fails ]] && exit 1
    for name in one two; do
      mkdir -p "$machine/bazel-bin/tests/x/fuzz"
      install -m 755 "$machine/$name" "$machine/bazel-bin/tests/x/fuzz/${name}_fuzz_test"
    done ;;
esac
END
printf '//tests/x/fuzz:one_fuzz_test\n//tests/x/fuzz:two_fuzz_test\n' >"$machine/labels"
printf '//tests/x/fuzz:corpus/one/a.json\n//tests/goldens:llama/config.json\n' >"$machine/data"
mkdir -p "$repository/tests/x/fuzz/corpus/one" "$repository/tests/goldens/llama"
echo a >"$repository/tests/x/fuzz/corpus/one/a.json"
echo b >"$repository/tests/goldens/llama/config.json"
good='#!/bin/bash
echo "fuzzer $*" >>"'$machine'/calls"
ls "${@: -1}" >"'$machine'/seeds"
pwd >"'$machine'/where"
echo "#8 DONE cov: 17 ft: 30"
echo "stat::number_of_executed_units: 8" >&2'
printf '%s\n' "$good" >"$machine/one"
printf '%s\n' "$good" >"$machine/two"

run() {
  : >"$machine/calls"
  "$repository/tools/fuzz.sh" "$@" >"$TEST_TMPDIR/out" 2>"$TEST_TMPDIR/err" </dev/null
  code=$?
  out=$(<"$TEST_TMPDIR/out") last=$(tail -n 1 "$TEST_TMPDIR/out") err=$(<"$TEST_TMPDIR/err")
}

run
expect 'without seconds' 2 "$code"
run ten
expect 'seconds are a number' 2 "$code"
run 0
expect 'no time at all' 2 "$code"
expect 'and nothing was done' 0 "$(calls bazel)"

run 9
expect 'both pass' '2 passed, 0 failed; 0' "$last; $code"
expect 'with libFuzzer' 1 "$(calls 'bazel build .*--config=fuzz ')"
expect 'each once' 2 "$(calls fuzzer)"
expect 'with limits' 2 \
  "$(calls 'fuzzer -max_total_time=9 -timeout=10 -rss_limit_mb=512 -malloc_limit_mb=64 ')"
expect 'with its corpus' 'tests_goldens_llama_config.json
tests_x_fuzz_corpus_one_a.json' "$(<"$machine/seeds")"
expect_part 'figures' '//tests/x/fuzz:one_fuzz_test: 8 runs, 0/s, 17 edges' "$out"
[[ $(<"$machine/where") == "$repository"* ]] && expect 'works in a folder of its own' no yes
expect 'which is gone' '' "$(ls -d "$(<"$machine/where")" 2>/dev/null)"

run 9 two
expect 'one target' '1 passed, 0 failed; 0' "$last; $code"
run 9 three
expect 'no such target' 2 "$code"
expect_part 'and its name' three "$err"

printf '#!/bin/bash\necho "ERROR: libFuzzer: deadly signal"\nexit 77\n' >"$machine/one"
run 9
expect 'a finding' '1 passed, 1 failed; 1' "$last; $code"
expect_part 'is shown' 'deadly signal' "$err"
expect_part 'with the way to repeat it' 'bazel-bin/tests/x/fuzz/one_fuzz_test' "$err"

touch "$machine/build_fails"
run 9
expect 'a failed build' 1 "$code"
expect 'starts nothing' 0 "$(calls fuzzer)"
rm "$machine/build_fails"

printf 'clang\ngit\n' >"$machine/not_installed"
run 9
expect 'fuzzing needs another compiler, and not what tests need' 1 \
  "$(calls 'apt-get install .* clang$')"

finish
