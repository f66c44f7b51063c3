"""cuda_library: device code compiled by nvcc, linked like any cc_library.

Where nvcc is missing the target is built from `stub_srcs`, plain C++ with the same functions that
answer "unavailable", so that everything above it builds and passes anywhere.
"""

load("@cuda//:defs.bzl", "AVAILABLE", "NVCC", "ROOT")
load("@rules_cc//cc:defs.bzl", "cc_library")
load("//tools:copts.bzl", "COPTS")

# One architecture keeps the everyday build quick; a release passes the full list.
_DEFAULT_ARCHITECTURES = ["80"]

_FLAGS = [
    "-std=c++20",
    "-O3",
    "-Xcompiler=-fPIC,-fstack-protector-strong,-Wall,-Wextra",
    "--Werror=all-warnings",
    "-I.",
]

def _compile_impl(ctx):
    objects = []
    codes = ["-gencode=arch=compute_{a},code=sm_{a}".format(a = a) for a in ctx.attr.architectures]
    for source in ctx.files.srcs:
        # ".pic.o" is how Bazel knows an object that may go into a position-independent program.
        output = ctx.actions.declare_file(ctx.label.name + "/" + source.basename + ".pic.o")
        ctx.actions.run(
            executable = NVCC,
            arguments = _FLAGS + codes + ["-c", source.path, "-o", output.path],
            inputs = depset([source] + ctx.files.hdrs),
            outputs = [output],
            env = {"PATH": ROOT + "/bin:/usr/bin:/bin"},
            mnemonic = "CudaCompile",
            progress_message = "Compiling CUDA " + source.short_path,
        )
        objects.append(output)
    return [DefaultInfo(files = depset(objects))]

_cuda_objects = rule(
    implementation = _compile_impl,
    attrs = {
        "architectures": attr.string_list(default = _DEFAULT_ARCHITECTURES),
        "hdrs": attr.label_list(allow_files = [".h", ".cuh"]),
        "srcs": attr.label_list(allow_files = [".cu"], mandatory = True),
    },
)

def cuda_library(
        name,
        srcs,
        stub_srcs,
        hdrs = [],
        cuda_hdrs = [],
        deps = [],
        testonly = False,
        visibility = None,
        tags = []):
    """A cc_library whose .cu files go through nvcc.

    Args:
      name: of the library.
      srcs: .cu files, and the .cc files (compiled as always) that only make sense beside them.
      stub_srcs: plain C++ taken in place of all `srcs` where there is no nvcc.
      hdrs: of the library.
      cuda_hdrs: all headers of this repository that the .cu files include, private ones too.
      deps: of the .cc files; a .cu file sees `hdrs` and `cuda_hdrs` only.
      testonly: as everywhere.
      visibility: as everywhere.
      tags: as everywhere.
    """
    sources = stub_srcs
    private = []
    if AVAILABLE:
        _cuda_objects(
            name = name + "_objects",
            srcs = [source for source in srcs if source.endswith(".cu")],
            hdrs = hdrs + cuda_hdrs,
            tags = tags,
            testonly = testonly,
            visibility = ["//visibility:private"],
        )
        private = [header for header in cuda_hdrs if header.endswith(".h") and ":" not in header]
        sources = [":" + name + "_objects"] + [source for source in srcs if not source.endswith(".cu")]
    cc_library(
        name = name,
        srcs = sources + private,
        hdrs = hdrs,
        copts = COPTS,
        tags = tags,
        testonly = testonly,
        visibility = visibility,
        deps = deps + ["@cuda//:cudart"],
    )
