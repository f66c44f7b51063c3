#!/usr/bin/env bash
# The README's runnable blocks are run, the others are not, and a failure is one.
set -uo pipefail
failures=0
readme=$TEST_TMPDIR/README.md

# expect WHAT CODE PART: runs the README on standard input.
expect() {
  local out code=0
  cat >"$readme"
  out=$(tools/run_readme.sh "$readme" 2>&1) || code=$?
  [[ $code == "$2" && $out == *"$3"* ]] && return
  printf 'FAILED %s: exit code %s, output:\n%s\n' "$1" "$code" "$out"
  failures=$((failures + 1))
}

expect 'good' 0 '2 commands of the README ran' <<'END'
text
```bash runnable
echo one
# a comment

echo two | cat
```
```bash
exit 3
```
```
exit 4
```
END
expect 'a failing command' 1 'exit code 5: exit 5' <<'END'
```bash runnable
echo one
exit 5
echo two
```
END
expect 'a failure inside a pipe' 1 'false | cat' <<'END'
```bash runnable
false | cat
```
END
expect 'nothing to run' 1 'no block is marked runnable' <<'END'
```bash
echo one
```
END

((failures == 0)) && echo 'all as expected'
exit "$failures"
