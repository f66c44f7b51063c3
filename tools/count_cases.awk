# Counts the test cases of one JUnit-style XML file (GoogleTest's, or the one Bazel writes for a test
# that wrote none): prints "PASSED FAILED SKIPPED". A case with a <failure> or <error> failed; one
# with <skipped>, or disabled and so not run, was skipped.

{ text = text $0 "\n" }

# The text without CDATA sections: what a failing test printed may look like XML.
function without_cdata(rest,   kept, at) {
  kept = ""
  while ((at = index(rest, "<![CDATA[")) > 0) {
    kept = kept substr(rest, 1, at - 1)
    rest = substr(rest, at + 9)
    at = index(rest, "]]>")
    if (at == 0) return kept
    rest = substr(rest, at + 3)
  }
  return kept rest
}

END {
  count = split(without_cdata(text), cases, /<testcase[ \t\n]/)
  passed = failed = skipped = 0
  for (i = 2; i <= count; ++i) {
    head = cases[i]
    sub(/>.*/, "", head)
    body = cases[i]
    sub(/<\/testcase>.*/, "", body)
    if (body ~ /<(failure|error)[ >\/]/) ++failed
    else if (body ~ /<skipped[ >\/]/ || head ~ /(result="skipped"|status="notrun")/) ++skipped
    else ++passed
  }
  print passed, failed, skipped
}
