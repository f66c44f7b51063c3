#!/usr/bin/env bash
# The transcripts of the README (blocks marked ```console) are what the program really prints. A line
# "..." stands for any lines.
set -uo pipefail
failures=0 compared=0
horizon=$PWD/app/horizon

# compare COMMAND EXPECTED
compare() {
  local got pattern
  got=$(bash -c "${1//.\/horizon/\"$horizon\"}" 2>&1)
  pattern=$(sed 's/[^A-Za-z0-9_ ]/\\&/g; s/^\\\.\\\.\\\.$/*/' <<<"$2")
  compared=$((compared + 1))
  [[ $got == $pattern ]] && return
  printf 'FAILED: %s\n' "$1"
  diff <(printf '%s\n' "$2") <(printf '%s\n' "$got")
  failures=$((failures + 1))
}

command='' expected=''
while IFS= read -r line; do
  if [[ $line == '$ '* || $line == '```' ]]; then
    [[ -z $command ]] || compare "$command" "${expected%$'\n'}"
    command=${line#'$ '} expected=''
    [[ $line != '```' ]] || command=''
  else
    expected+=$line$'\n'
  fi
done < <(awk '/^```/ { if (inside) print "```"; inside = ($0 == "```console"); next } inside' README.md)

printf '%d compared, %d differ\n' "$compared" "$failures"
((compared > 0 && failures == 0))
