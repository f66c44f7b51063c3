#!/usr/bin/env bash
# tools/measure_validation.sh [RESULT...]: measures this machine and how far predictions are off on it (profile, validate,
# ranks, experiments; not given: all, about half an hour on an otherwise idle machine), keeps the answers in
# docs/results/ and writes the tables of docs/validation.md anew from what is kept there.
set -euo pipefail
root=$(readlink -f "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/..")
cd "$root"
results=docs/results
mkdir -p "$results"

measure() {
  case $1 in
    profile) ./horizon profile --json >"$results/profile.json" ;;
    validate) ./horizon validate --json >"$results/validate.json" ;;
    ranks) ./horizon validate --ranks --json >"$results/ranks.json" ;;
    experiments)
      local folder
      folder=$(mktemp -d)
      ./horizon experiments --measured --output "$folder" >/dev/null
      cp "$folder/measured.json" "$results/experiments.json"
      rm -rf "$folder" ;;
    *) echo "unknown result '$1': profile, validate, ranks or experiments" >&2; exit 2 ;;
  esac
  date -u +%Y-%m-%d >"$results/$1.date"
}

(($#)) || set -- profile validate ranks experiments
for result in "$@"; do measure "$result"; done
python3 tools/development/write_validation.py "$results" docs/validation.md
