"""Bazel 4.2's own C++ rules under the names that @rules_cc users load.

Targets of this repository that use Abseil or GoogleTest get these headers precompiled
(tools/pch/precompiled_header.bzl), which is a question of build time only.
"""

_ABSEIL = "//third_party/absl"
_GOOGLETEST = "//third_party/googletest:gtest_main"
_OFTEN = "@horizon//tools/pch:often_precompiled"
_TESTS = "@horizon//tools/pch:tests_precompiled"

# GCC 12 with -O1 takes the short string's buffer for all of a std::string.
_FALSE_WARNINGS = [
    "-Wno-array-bounds",
    "-Wno-restrict",
    "-Wno-stringop-overflow",
    "-Wno-stringop-overread",
]

def _with_precompiled_header(arguments):
    deps = arguments.get("deps")
    if type(deps) != "list":
        return arguments
    header = _TESTS if _GOOGLETEST in deps else _OFTEN if _ABSEIL in deps else None
    if header == None:
        return arguments
    file = "$(GENDIR)/" + header[len("@horizon//"):].replace(":", "/") + ".h"
    changed = dict(arguments)
    changed["deps"] = deps + [header]
    changed["copts"] = ["-include", file] + arguments.get("copts", [])
    if header == _TESTS:
        changed["copts"] += _FALSE_WARNINGS
    return changed

def cc_binary(**arguments):
    native.cc_binary(**_with_precompiled_header(arguments))

def cc_library(**arguments):
    native.cc_library(**_with_precompiled_header(arguments))

def cc_test(**arguments):
    native.cc_test(**_with_precompiled_header(arguments))

cc_import = native.cc_import
cc_proto_library = native.cc_proto_library
cc_toolchain = native.cc_toolchain
cc_toolchain_suite = native.cc_toolchain_suite
fdo_prefetch_hints = native.fdo_prefetch_hints
fdo_profile = native.fdo_profile
objc_library = native.objc_library
