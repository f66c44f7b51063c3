"""A fuzz target as an ordinary test: its corpus and a fixed number of mutations of it."""

load("@rules_cc//cc:defs.bzl", "cc_test")
load("//tools:copts.bzl", "COPTS")

def fuzz_test(name, corpus, runs, deps, **kwargs):
    """NAME_fuzz_test from NAME_fuzz.cc, which defines LLVMFuzzerTestOneInput.

    Args:
      name: the stem, such as "json".
      corpus: the files to begin from.
      runs: how many mutations to try.
      deps: what NAME_fuzz.cc includes, except the driver.
      **kwargs: for cc_test.
    """
    cc_test(
        name = name + "_fuzz_test",
        size = "small",
        srcs = [name + "_fuzz.cc"],
        args = ["--runs", str(runs)] + ["$(location %s)" % file for file in corpus],
        copts = COPTS,
        data = corpus,
        deps = sorted(deps + ["//tests/common/fuzz:fuzz_driver"]),
        **kwargs
    )
