#!/usr/bin/env bash
# tools/fuzz.sh SECONDS [WORD...]: every fuzz target, or those whose label contains one of the words,
# for SECONDS under libFuzzer with the address and undefined-behaviour sanitizers, one after the other.
# An input may not take more than 10 s, one allocation not more than 64 MiB, the process not more than
# 512 MiB. Closes with "N passed, N failed"; exit code 1 on a finding.
#
# What is found lies in .cache/fuzz/findings, to be tried again with the binary that is printed. Inputs
# that reach new code are kept in .cache/fuzz/corpus and begun from the next time; none of that is part
# of the repository, the files below tests/ are.
set -euo pipefail
root=$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")
source "$root/tools/setup.sh"

usage='usage: tools/fuzz.sh SECONDS [WORD...]'
[[ ${1:-} =~ ^[1-9][0-9]*$ ]] || { say "how many seconds for each target? $usage"; exit 2; }
seconds=$1
shift

ensure_packages fuzz
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
passed=0 failed=0

# The fuzz targets this run is about, one a line.
list_targets() {
  local word
  run_bazel query --output=label 'attr(tags, "\bfuzz\b", tests(//tests/...))' |
    if (($#)); then grep -F -- "$(printf '%s\n' "$@")" || true; else cat; fi
}

# The files a target begins from, in the folder "$2". A label is a path but for its first colon.
copy_corpus() {
  local label path
  mkdir -p "$2"
  run_bazel query --output=label "kind('source file', labels(data, $1))" | while read -r label; do
    path=${label#//}
    path=${path/://}
    cp "$root/$path" "$2/${path//\//_}"
  done
}

# fuzz LABEL BINARY: one target for its time; a line with its figures.
fuzz() {
  local name=${1#//} binary=$2
  name=${name//[\/:]/_}
  local kept=$root/.cache/fuzz/corpus/$name findings=$root/.cache/fuzz/findings log=$scratch/log
  mkdir -p "$kept" "$findings" "$scratch/work"
  copy_corpus "$1" "$scratch/$name"
  local options=(-max_total_time="$seconds" -timeout=10 -rss_limit_mb=512 -malloc_limit_mb=64
    -print_final_stats=1 -artifact_prefix="$findings/$name-")
  if (cd "$scratch/work" && TEST_TMPDIR=$scratch/work "$binary" "${options[@]}" "$kept" \
      "$scratch/$name") >"$log" 2>&1; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    say "$1 found something; again with: $binary ${findings}/$name-..."
    tail -n 40 "$log" >&2
  fi
  awk -v name="$1" '
    $1 == "stat::number_of_executed_units:" { runs = $2 }
    $1 == "stat::average_exec_per_sec:" { rate = $2 }
    $1 == "stat::peak_rss_mb:" { memory = $2 }
    match($0, / cov: [0-9]+/) { cover = substr($0, RSTART + 6, RLENGTH - 6) }
    END { printf "%s: %d runs, %d/s, %d edges, %d MiB\n", name, runs, rate, cover, memory }' "$log"
}

list_targets "$@" >"$scratch/labels"
[[ -s $scratch/labels ]] || { say "no fuzz target matches '$*'"; exit 2; }
mapfile -t labels <"$scratch/labels"
if ! run_bazel build --config=fuzz "${labels[@]}" >&2; then
  say 'the fuzz targets do not build; see above'
  exit 1
fi
bin=$(run_bazel info --config=fuzz bazel-bin 2>/dev/null)
for label in "${labels[@]}"; do
  path=${label#//}
  fuzz "$label" "$bin/${path/://}"
done
printf '%d passed, %d failed\n' "$passed" "$failed"
((failed == 0))
