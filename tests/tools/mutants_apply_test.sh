#!/usr/bin/env bash
# Every seeded bug still applies to the sources of today, says what it is and which tests catch it,
# and stands in the list of tests/fake_cuda/README.md, which has no other.
set -uo pipefail
failures=0 count=0
fail() { printf 'FAILED %s\n' "$*"; failures=$((failures + 1)); }

# Real files: patch does not follow the links of a sandbox.
sources=$TEST_TMPDIR/sources
mkdir -p "$sources"
cp -rL kernels model runtime "$sources/"

while IFS= read -r patch; do
  name=$(basename "$patch" .patch)
  count=$((count + 1))
  said=$(patch --dry-run --strip=1 --fuzz=0 --force --directory="$sources" <"$(readlink -f "$patch")" 2>&1) ||
    fail "$name does not apply any more: $said"
  mapfile -t lines <"$patch"
  [[ ${lines[0]} =~ ^'bug: '.+\.$ ]] || fail "$name does not begin with a sentence: ${lines[0]}"
  [[ ${lines[1]} =~ ^'caught by: //tests/'[a-z/_]+:[a-z_]+_test( //tests/[a-z/_]+:[a-z_]+_test)*$ ]] ||
    fail "$name does not name its tests: ${lines[1]}"
  bug=${lines[0]#bug: }
  grep -qF -- "- \`$name\`: ${bug%.}" tests/fake_cuda/README.md || fail "$name is not in the list, or not so"
done < <(find tests/fake_cuda/mutants -name '*.patch')
listed=$(grep -cE '^- `[a-z0-9_]+`: ' tests/fake_cuda/README.md)
((count >= 20)) || fail "there are only $count mutants"
((listed == count)) || fail "the list has $listed of $count mutants"

((failures == 0)) && echo "$count apply"
exit "$((failures > 0))"
