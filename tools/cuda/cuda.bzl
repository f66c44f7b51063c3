"""cuda_library: device code compiled by nvcc, linked like any cc_library.

Where nvcc is missing the .cu files are left out and the .cc files beside them are compiled with
HORIZON_NO_CUDA: those that reach their launchers through RunOnCuda (common/cuda_status.h) then
answer "unavailable", after their own checks, and need nothing else. A library whose .cu files are
called otherwise has `stub_srcs`, plain C++ in their place. So everything above builds and passes
anywhere.
"""

load("@cuda//:defs.bzl", "AVAILABLE", "NVCC", "ROOT")
load("@rules_cc//cc:defs.bzl", "cc_library")
load("//tools:copts.bzl", "COPTS")

# What every .cu file may include.
_COMMON_HDRS = [
    "//common:cuda_result.cuh",
    "//common:cuda_result.h",
]

_FLAGS = [
    "-std=c++20",
    "-O3",
    "-Xcompiler=-fPIC,-fstack-protector-strong,-Wall,-Wextra",
    "--Werror=all-warnings",
    "--resource-usage",
    "-I.",
]

ArchitecturesInfo = provider(fields = ["names"])

def _architectures_impl(ctx):
    return [ArchitecturesInfo(names = ctx.build_setting_value)]

# A build setting: a list of architectures, given as --//tools/cuda:architectures=80,120+ptx.
cuda_architectures = rule(
    implementation = _architectures_impl,
    build_setting = config.string_list(flag = True),
)

# Runs the compiler and keeps in the first argument what it says of each kernel's registers, stack
# and shared memory, without the times, which no two builds share. Anything else it says is shown.
_COMPILE = """
usage=$1
shift
status=0
"$@" 2>"$usage.all" || status=$?
figures='^ptxas info |^    [0-9]+ bytes stack frame'
grep -Ev "$figures" "$usage.all" >&2
grep -E "$figures" "$usage.all" | grep -v 'Compile time' >"$usage"
rm "$usage.all"
exit "$status"
"""

# "80" is code for sm_80; "120+ptx" is that and PTX besides, from which a driver makes code for
# devices that came later.
def _code_flag(architecture):
    number = architecture[:-len("+ptx")] if architecture.endswith("+ptx") else architecture
    code = "sm_" + number
    if architecture != number:
        code = "[{},compute_{}]".format(code, number)
    return "-gencode=arch=compute_{},code={}".format(number, code)

def _compile_impl(ctx):
    objects = []
    usages = []
    codes = [_code_flag(a) for a in ctx.attr._architectures[ArchitecturesInfo].names]
    for source in ctx.files.srcs:
        # ".pic.o" is how Bazel knows an object that may go into a position-independent program.
        output = ctx.actions.declare_file(ctx.label.name + "/" + source.basename + ".pic.o")
        usage = ctx.actions.declare_file(ctx.label.name + "/" + source.basename + ".usage")
        ctx.actions.run_shell(
            command = _COMPILE,
            arguments = [usage.path, NVCC] + _FLAGS + codes + ["-c", source.path, "-o", output.path],
            inputs = depset([source] + ctx.files.hdrs),
            outputs = [output, usage],
            env = {"PATH": ROOT + "/bin:/usr/bin:/bin"},
            mnemonic = "CudaCompile",
            progress_message = "Compiling CUDA " + source.short_path,
        )
        objects.append(output)
        usages.append(usage)
    return [
        DefaultInfo(files = depset(objects)),
        OutputGroupInfo(resource_usage = depset(usages)),
    ]

_cuda_objects = rule(
    implementation = _compile_impl,
    attrs = {
        "hdrs": attr.label_list(allow_files = [".h", ".cuh"]),
        "srcs": attr.label_list(allow_files = [".cu"], mandatory = True),
        "_architectures": attr.label(default = "//tools/cuda:architectures"),
    },
)

def cuda_library(
        name,
        srcs,
        hdrs = [],
        stub_srcs = [],
        cuda_hdrs = [],
        deps = [],
        testonly = False,
        visibility = None,
        tags = []):
    """A cc_library whose .cu files go through nvcc, and NAME_resource_usage: what ptxas said of each
    kernel, a file NAME_objects/SOURCE.usage a source; none without nvcc.

    Args:
      name: of the library.
      srcs: .cu files, and the .cc files that check arguments and call their launchers.
      hdrs: of the library.
      stub_srcs: plain C++ taken in the place of the .cu files where there is no nvcc.
      cuda_hdrs: all headers of this repository that the .cu files include, private ones too.
      deps: of the .cc files; a .cu file sees `hdrs` and `cuda_hdrs` only.
      testonly: as everywhere.
      visibility: as everywhere.
      tags: as everywhere.
    """
    copts = COPTS
    if AVAILABLE:
        _cuda_objects(
            name = name + "_objects",
            srcs = [source for source in srcs if source.endswith(".cu")],
            hdrs = hdrs + cuda_hdrs + _COMMON_HDRS,
            tags = tags,
            testonly = testonly,
            visibility = ["//visibility:private"],
        )
        native.filegroup(
            name = name + "_resource_usage",
            srcs = [":" + name + "_objects"],
            output_group = "resource_usage",
            tags = tags,
            testonly = testonly,
        )
        device_code = [":" + name + "_objects"]
    else:
        native.filegroup(name = name + "_resource_usage", testonly = testonly)
        device_code = stub_srcs
        copts = COPTS + ["-DHORIZON_NO_CUDA"]
    sources = [source for source in srcs if not source.endswith(".cu")]
    private = [header for header in cuda_hdrs if header.endswith(".h") and ":" not in header]
    cc_library(
        name = name,
        srcs = sources + device_code + private,
        hdrs = hdrs,
        copts = copts,
        tags = tags,
        testonly = testonly,
        visibility = visibility,
        deps = deps + ["@cuda//:cudart"],
    )

def with_cuda(srcs, stub_srcs):
    """Plain C++ that includes CUDA's headers, or what stands in its place without the toolkit."""
    return srcs if AVAILABLE else stub_srcs
