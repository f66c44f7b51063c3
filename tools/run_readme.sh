#!/usr/bin/env bash
# tools/run_readme.sh [README]: runs every line of the README's blocks marked ```bash runnable in the
# repository's root, showing it first; stops at the first that fails. A README without one is wrong.
set -euo pipefail
root=$(readlink -f "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/..")
readme=$(readlink -f "${1:-$root/README.md}")
cd "$root"
count=0
while IFS= read -r line; do
  printf '\n$ %s\n' "$line"
  bash -euo pipefail -c "$line" </dev/null || {
    code=$?
    printf '%s: this command fails with exit code %d: %s\n' "$readme" "$code" "$line" >&2
    exit 1
  }
  count=$((count + 1))
done < <(awk '/^```/ { inside = ($0 == "```bash runnable"); next } inside && NF && !/^#/' "$readme")
if ((count == 0)); then
  printf '%s: no block is marked runnable\n' "$readme" >&2
  exit 1
fi
printf '\n%d commands of the README ran\n' "$count"
