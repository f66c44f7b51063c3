"""A fuzz target as an ordinary test: its corpus and a fixed number of mutations of it."""

load("@rules_cc//cc:defs.bzl", "cc_test")
load("//tools:copts.bzl", "COPTS")

def fuzz_test(name, corpus, runs, deps, **kwargs):
    """NAME_fuzz_test from NAME_fuzz.cc, which defines LLVMFuzzerTestOneInput.

    With --config=fuzz the same target is linked with libFuzzer instead, for tools/fuzz.sh.

    Args:
      name: the stem, such as "json".
      corpus: the files to begin from; no two have the same name.
      runs: how many mutations to try. All targets together take about 90 s of CPU time; what
        strangers write (models, tokenizers, data) gets more of it than what we write ourselves.
      deps: what NAME_fuzz.cc includes, except the driver.
      **kwargs: for cc_test.
    """
    cc_test(
        name = name + "_fuzz_test",
        size = "medium",  # under the sanitizers; less than 15 s without
        srcs = [name + "_fuzz.cc"],
        args = ["--runs", str(runs)] + ["$(location %s)" % file for file in corpus],
        copts = COPTS,
        data = corpus,
        linkopts = select({
            "//tests/common/fuzz:with_libfuzzer": ["-fsanitize=fuzzer"],
            "//conditions:default": [],
        }),
        tags = ["fuzz"],
        deps = sorted(deps + ["//tests/common/fuzz:fuzz_target"]) + select({
            "//tests/common/fuzz:with_libfuzzer": [],
            "//conditions:default": ["//tests/common/fuzz:fuzz_driver"],
        }),
        **kwargs
    )
