"""The warnings every target of ours is compiled with."""

load("@system//:defs.bzl", "COMPILER_VERSION")

# The compiler that changes are accepted with (.ci/run). With it a warning is an error. Others warn of
# other things, also wrongly, and that must not end a user's build.
_GATE_COMPILER_VERSION = "12"

COPTS = [
    "-Wall",
    "-Wextra",
] + (["-Werror"] if COMPILER_VERSION == _GATE_COMPILER_VERSION else []) + [
    "-Wshadow",
    "-Wnon-virtual-dtor",
    "-Woverloaded-virtual",
    "-Wno-missing-field-initializers",
    "-Wno-unused-parameter",
]
