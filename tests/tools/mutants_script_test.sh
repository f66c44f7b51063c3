#!/usr/bin/env bash
# tools/mutants.sh tells a bug that is caught from one that survives, does not apply or does not
# build, and leaves the sources as they are.
set -uo pipefail
source tests/tools/fake_machine.sh
reset_machine
cp -L tools/mutants.sh "$repository/tools/"
chmod +x "$repository/tools/mutants.sh"
mutants=$repository/tests/fake_cuda/mutants
mkdir -p "$mutants" "$repository/kernels"

# A build fails where the source says so, a test fails where it holds a bug that tests see.
stand_in git <<'END'
cd "$PWD" && find . -type f -not -path './.cache/*' -print0
END
stand_in bazel <<'END'
while [[ $1 == --* ]]; do shift; done
case $1 in
  build) ! grep -qx 'does not compile' kernels/a.cc ;;
  test)
    [[ $PWD == */.cache/mutants/tree ]] || exit 9
    [[ -e $machine/crashes && $(<kernels/a.cc) != *right* ]] && exit 37
    grep -qx 'wrong' kernels/a.cc || [[ -e $machine/always_fails ]] || exit 0
    echo '//tests/x:a_test                 FAILED in 1 out of 2 in 3.0s'
    exit 3 ;;
esac
END

# mutant NAME NEW-LINE [OLD-LINE]
mutant() {
  printf 'bug: It is %s.\ncaught by: //tests/x:a_test //tests/x:b_test\n\n--- a/kernels/a.cc\n+++ b/kernels/a.cc\n@@ -1,2 +1,2 @@\n-%s\n+%s\n end\n' \
    "$1" "${3:-right}" "$2" >"$mutants/$1.patch"
}
printf 'right\nend\n' >"$repository/kernels/a.cc"
mutant seen wrong
mutant seen_too wrong

run() {
  : >"$machine/calls"
  (cd / && "$repository/tools/mutants.sh" "$@") >"$TEST_TMPDIR/out" 2>"$TEST_TMPDIR/err" </dev/null
  code=$?
  out=$(<"$TEST_TMPDIR/out") last=$(tail -n 1 "$TEST_TMPDIR/out") err=$(<"$TEST_TMPDIR/err")
}

run
expect 'all caught' '2 caught, 0 survived; 0' "$last; $code"
expect_part 'with the test' 'seen: caught by //tests/x:a_test' "$out"
expect 'only the tests that are named' 3 "$(calls 'bazel .*test .*//tests/x:a_test //tests/x:b_test$')"
expect 'the sources are as they were' $'right\nend' "$(<"$repository/kernels/a.cc")"
expect 'the server ends' 1 "$(calls 'bazel .*shutdown')"

run too
expect 'one of them' '1 caught, 0 survived; 0' "$last; $code"
run other
expect 'none of that name' 2 "$code"
run a b
expect 'one filter at most' 2 "$code"

mutant unseen 'wrong, but nobody looks'
run
expect 'one survives' '2 caught, 1 survived; 1' "$last; $code"
expect_part 'and is named' 'unseen: SURVIVED' "$out"
rm "$mutants/unseen.patch"

mutant no_code 'does not compile'
run
expect 'a build that fails is no catch' '2 caught, 0 survived; 1' "$last; $code"
expect_part 'and is told' 'no_code: DOES NOT BUILD' "$out"
rm "$mutants/no_code.patch"

mutant old wrong 'as it was once'
run
expect 'one that is out of date' '2 caught, 0 survived; 1' "$last; $code"
expect_part 'is told' 'old: DOES NOT APPLY' "$out"
rm "$mutants/old.patch"

touch "$machine/crashes"
run
expect 'tests that did not run are no catch' '0 caught, 0 survived; 1' "$last; $code"
rm "$machine/crashes"

touch "$machine/always_fails"
run
expect 'tests that fail anyway show nothing' 1 "$code"
expect_part 'and that is said' 'do not pass without a mutant' "$err"
rm "$machine/always_fails"

finish
