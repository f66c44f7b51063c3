#!/usr/bin/env bash
# tools/measure_validation.sh [RESULT...]: measures this machine and how far predictions are off on it (profile, validate,
# ranks, experiments; not given: all, about half an hour on an otherwise idle machine), keeps the answers in docs/results/
# and writes the tables of docs/validation.md anew from what is kept there. `validate` and `ranks` also correct the
# profile by six runs (horizon calibrate) and keep the one there is: both are judged by the same runs, and what both pick is run.
set -euo pipefail
root=$(readlink -f "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/..")
cd "$root"
results=docs/results
mkdir -p "$results"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
beside=()  # the corrected profile, once there is one

# One training run: run_for_calibration NAME LAYERS HIDDEN INTERMEDIATE SEQUENCE OPTION...
run_for_calibration() {
  local name=$1 layers=$2 hidden=$3 intermediate=$4 sequence=$5
  shift 5
  mkdir -p "$scratch/$name"
  cat >"$scratch/$name/config.json" <<EOF
{"model_type": "llama", "hidden_size": $hidden, "intermediate_size": $intermediate, "num_hidden_layers": $layers,
 "num_attention_heads": $((hidden / 64)), "num_key_value_heads": $((hidden / 64)), "head_dim": 64, "vocab_size": 2048,
 "max_position_embeddings": 4096, "rms_norm_eps": 1e-6, "hidden_act": "silu", "tie_word_embeddings": false}
EOF
  ./horizon train --model "$scratch/$name" --init random --tokenizer byte --data "$scratch/data.txt" --save none \
    --output "$scratch/$name/run" --steps 20 --sequence "$sequence" "$@" >/dev/null
}

# Corrects the profile by six runs, once.
calibrate() {
  ((${#beside[@]} == 0)) || return 0
  seq 1 200000 >"$scratch/data.txt"
  run_for_calibration a 8 320 832 256 --micro-batch 2
  run_for_calibration b 16 192 512 128 --micro-batch 2
  run_for_calibration c 3 896 2432 128 --micro-batch 2
  run_for_calibration d 4 512 1376 512 --device-memory 64MiB
  run_for_calibration e 12 256 704 256 --link 0.3GB/s
  run_for_calibration f 6 448 1216 256 --accumulate 2
  # Names of runs, not of this machine's folders.
  ./horizon calibrate "$scratch"/[a-f]/run --output "$scratch/corrected.json" --json |
    sed "s|$scratch/||g" >"$results/calibrate.json"
  beside=(--beside "$scratch/corrected.json")
}

validate() {
  calibrate
  ./horizon validate "${beside[@]}" --json | sed "s|$scratch/||g" >"$results/validate.json"
}

measure() {
  case $1 in
    profile) ./horizon profile --json >"$results/profile.json" ;;
    validate) validate ;;
    ranks)
      calibrate
      ./horizon validate --ranks "${beside[@]}" --json >"$results/ranks.json" ;;
    experiments)
      ./horizon experiments --measured --output "$scratch/report" >/dev/null
      cp "$scratch/report/measured.json" "$results/experiments.json" ;;
    *) echo "unknown result '$1': profile, validate, ranks or experiments" >&2; exit 2 ;;
  esac
  date -u +%Y-%m-%d >"$results/$1.date"
}

(($#)) || set -- profile validate ranks experiments
for result in "$@"; do measure "$result"; done
python3 tools/development/write_validation.py "$results" docs/validation.md
