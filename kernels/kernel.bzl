"""The libraries of an operation: kernel_library for its host and reference bodies, cuda_kernel_library
for its device code."""

load("@rules_cc//cc:defs.bzl", "cc_library")
load("//tools:copts.bzl", "COPTS")
load("//tools/cuda:cuda.bzl", "cuda_library")

# The headers that .cu files of any operation may include.
_CUDA_HEADERS = [
    "//kernels/activation:glu_activation.h",
    "//kernels/arguments:gradient_out.h",
    "//kernels/arguments:token_record.h",
    "//kernels/cuda:cuda_column_scratch.h",
    "//kernels/cuda:cuda_column_sums.cuh",
    "//kernels/cuda:cuda_glu.cuh",
    "//kernels/cuda:cuda_gradient.cuh",
    "//kernels/cuda:cuda_launch.cuh",
    "//kernels/cuda:cuda_numbers.cuh",
    "//kernels/cuda:cuda_reduce.cuh",
    "//kernels/cuda:cuda_thread_elements.cuh",
    "//kernels/cuda:mma.cuh",
    "//kernels/cuda:multiply_tile.cuh",
    "//kernels/cuda:shared_tile.cuh",
    "//kernels/head:head_sums.h",
    "//kernels/optimizer:adam_moments.h",
    "//kernels/optimizer:adam_update.h",
]

def kernel_library(name, deps, srcs = []):
    """NAME.h with its bodies NAME_host.cc and NAME_reference.cc, and further sources."""
    cc_library(
        name = name,
        srcs = [
            name + "_host.cc",
            name + "_reference.cc",
        ] + srcs,
        hdrs = [name + ".h"],
        # -O2 of g++ 12 leaves loops of unknown length as they are.
        copts = COPTS + ["-O3"],
        deps = deps,
    )

def cuda_kernel_library(name, deps, private_hdrs = []):
    """NAME_cuda: NAME_cuda.cu with its launchers, NAME_launch.h, and NAME_cuda.cc, which checks arguments.

    The sources are exported, since tests/fake_cuda compiles them a second time, for the CPU.
    """
    sources = [
        name + "_cuda.cc",
        name + "_cuda.cu",
    ]
    native.exports_files(sources + [name + "_launch.h"])
    cuda_library(
        name = name + "_cuda",
        srcs = sources + private_hdrs,
        cuda_hdrs = _CUDA_HEADERS + [name + "_launch.h"],
        deps = deps,
    )
