#!/usr/bin/env bash
# tools/mutants.sh [FILTER]: every seeded bug of tests/fake_cuda/mutants, or those whose name contains
# FILTER, one after the other: puts it into a copy of the sources, runs there the tests that its patch
# names, and expects one of them to fail. A line for each, then "N caught, N survived"; exit code 1 if
# one survived, does not apply any more, or does not build, which is no catch.
#
# The copy lies in .cache/mutants and is kept, so that each bug builds only what it touches. What a
# test said is in .cache/mutants/logs/NAME.log.
set -euo pipefail
root=$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")
source "$root/tools/setup.sh"

(($# <= 1)) || { say 'usage: tools/mutants.sh [FILTER]'; exit 2; }
filter=${1:-}
ensure_packages test
tree=$root/.cache/mutants/tree logs=$root/.cache/mutants/logs
caught=0 survived=0 broken=0

shopt -s nullglob
patches=()
while IFS= read -r patch; do
  patches+=("$patch")
done < <(find "$root/tests/fake_cuda/mutants" -name "*$filter*.patch" | LC_ALL=C sort)
((${#patches[@]})) || { say "no mutant matches '$filter'"; exit 2; }

# The sources as they are now, changes that are not committed among them, and nothing else.
copy_sources() {
  rm -rf "$tree.new" "$tree.old"
  mkdir -p "$tree.new" "$logs"
  (cd "$root" && git ls-files -z --cached --others --exclude-standard |
    tar --create --null --files-from=- --ignore-failed-read 2>/dev/null) |
    tar --extract --directory="$tree.new"
  [[ ! -e $tree ]] || mv "$tree" "$tree.old"
  mv "$tree.new" "$tree"
  rm -rf "$tree.old"
}

in_tree() { (root=$tree && run_bazel "$@"); }

# The files that a patch changes, one a line.
files_of() { sed -n 's|^+++ b/||p' "$1"; }

# The tests that a patch names, one a line.
targets_of() { sed -n 's/^caught by: //p' "$1" | tr ' ' '\n'; }

# try PATCH NAME: one mutant, in the copy, which is as it was before when this returns.
try() {
  local log=$logs/$2.log targets status=0 by
  mapfile -t targets < <(targets_of "$1")
  if ! patch --strip=1 --fuzz=0 --silent --forward --no-backup-if-mismatch --reject-file=- \
      --directory="$tree" <"$1" >"$log" 2>&1; then
    broken=$((broken + 1))
    echo "$2: DOES NOT APPLY"
    cat "$log" >&2
  elif ! in_tree build "${targets[@]}" >"$log" 2>&1; then
    broken=$((broken + 1))
    echo "$2: DOES NOT BUILD"
    tail -n 30 "$log" >&2
  else
    in_tree test --test_summary=short --test_output=errors --keep_going "${targets[@]}" \
      >"$log" 2>&1 || status=$?
    by=$(sed -nE 's/^(\/\/[^ ]+) .*(FAILED|TIMEOUT).*/\1/p' "$log" | sort -u | paste -sd ' ')
    if ((status == 3)) && [[ -n $by ]]; then
      caught=$((caught + 1))
      echo "$2: caught by $by"
    elif ((status == 0)); then
      survived=$((survived + 1))
      echo "$2: SURVIVED ${targets[*]}"
    else
      broken=$((broken + 1))
      echo "$2: the tests did not run (Bazel's exit code is $status)"
      tail -n 30 "$log" >&2
    fi
  fi
  files_of "$1" | while read -r file; do
    rm -f "$tree/$file"
    [[ ! -e $root/$file ]] || cp "$root/$file" "$tree/$file"
  done
}

copy_sources
# The bugs must be what fails, so that all tests pass without them.
mapfile -t all < <(for patch in "${patches[@]}"; do targets_of "$patch"; done | sort -u)
if ! in_tree test --test_output=errors "${all[@]}" >"$logs/unchanged.log" 2>&1; then
  say 'the tests do not pass without a mutant:'
  tail -n 30 "$logs/unchanged.log" >&2
  exit 1
fi
for patch in "${patches[@]}"; do
  name=${patch##*/}
  try "$patch" "${name%.patch}"
done
in_tree shutdown >/dev/null 2>&1 || true
printf '%d caught, %d survived\n' "$caught" "$survived"
((broken == 0)) || say "$broken could not be tried; see above"
((survived == 0 && broken == 0))
