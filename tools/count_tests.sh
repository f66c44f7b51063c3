#!/usr/bin/env bash
# tools/count_tests.sh EVENTS < LABELS: prints "N passed, N failed[, N skipped]" for one run of
# `bazel test`. LABELS are the test targets that should have run, one a line; EVENTS is the file
# written by --build_event_json_file. Test cases are counted in the XML files the events name, so
# files of earlier runs cannot count. A target that did not run (failed to build) or failed without
# a failed case (crash, timeout, leak at exit) counts as one failure. Exit code 1 on any failure or
# when nothing passed.
set -euo pipefail
events=$1
tools=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")

# "LABEL xml URI" and "LABEL status STATUS" lines out of Bazel's events, one JSON object a line.
facts=$(awk '
  function after(text, key,   at) {
    at = index(text, key)
    if (at == 0) return ""
    text = substr(text, at + length(key))
    return substr(text, 1, index(text, "\"") - 1)
  }
  index($0, "{\"id\":{\"testResult\":{") == 1 {
    uri = after($0, "\"name\":\"test.xml\",\"uri\":\"file://")
    if (uri != "") print after($0, "\"label\":\""), "xml", uri
  }
  index($0, "{\"id\":{\"testSummary\":{") == 1 {
    print after($0, "\"label\":\""), "status", after($0, "\"overallStatus\":\"")
  }' "$events")

passed=0 failed=0 skipped=0
while read -r label; do
  [[ -n $label ]] || continue
  status='' target_failed=0
  while read -r _ kind value; do
    if [[ $kind == status ]]; then
      status=$value
    elif [[ -f $value ]]; then
      read -r p f s < <(awk -f "$tools/count_cases.awk" "$value")
      passed=$((passed + p)) target_failed=$((target_failed + f)) skipped=$((skipped + s))
    fi
  done < <(awk -v label="$label" '$1 == label' <<<"$facts")
  if [[ $status != PASSED && $target_failed == 0 ]]; then
    printf '%s: %s\n' "$label" "${status:-did not run}" >&2
    target_failed=1
  fi
  failed=$((failed + target_failed))
done

printf '%d passed, %d failed' "$passed" "$failed"
((skipped == 0)) || printf ', %d skipped' "$skipped"
printf '\n'
((failed == 0 && passed > 0))
