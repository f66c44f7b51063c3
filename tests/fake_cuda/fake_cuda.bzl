"""fake_cuda_library: device code of the product as plain C++ on the fake CUDA, for tests.

The same .cu and .cc files that cuda_library gives to nvcc are compiled by the C++ compiler with the
fake's headers in the place of NVIDIA's, whether there is a toolkit or not.
"""

load("@rules_cc//cc:defs.bzl", "cc_library")
load("//tools:copts.bzl", "COPTS")

# -x c++: the compiler does not know .cu. Pragmas are nvcc's (unroll).
_FLAGS = [
    "-x",
    "c++",
    "-Wno-unknown-pragmas",
]

def fake_cuda_library(name, srcs, hdrs = [], deps = [], visibility = None):
    """A cc_library on the fake.

    Args:
      name: of the library.
      srcs: .cu, .cuh, .cc and .h files; labels of another package's must be exported there. What
        //kernels/cuda:cuda_headers has need not be named.
      hdrs: of the library.
      deps: of the .cc files, without the nvcc build of the same sources.
      visibility: as everywhere.
    """
    cc_library(
        name = name,
        testonly = True,
        srcs = [source for source in srcs if not source.endswith(".cuh")],
        hdrs = hdrs,
        copts = COPTS + _FLAGS,
        visibility = visibility,
        textual_hdrs = [source for source in srcs if source.endswith(".cuh")],
        deps = deps + ["//kernels/cuda:cuda_headers", "//tests/fake_cuda"],
    )
