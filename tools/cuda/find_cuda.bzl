"""@cuda: what this machine has of the CUDA toolkit.

The repository always exists. `defs.bzl` says whether the toolkit was found (AVAILABLE) and where
(NVCC, ROOT); `@cuda//:cudart` is the static runtime with its headers, or an empty library;
`@cuda//:cublas_lt` tells a program that opens cublasLt where it lies, unless the program looks beside
itself (--config=release). HORIZON_NO_CUDA=1 means "as if there were no nvcc", which is how the build
without CUDA is tried on a machine that has it.
"""

_BUILD = """
load("@rules_cc//cc:defs.bzl", "cc_library")
package(default_visibility = ["//visibility:public"])
cc_library(
    name = "cudart",
    hdrs = glob(["include/*.h", "include/*.hpp", "include/crt/*"], allow_empty = True),
    includes = ["include"],
    linkopts = {linkopts},
)
cc_library(
    name = "cublas_lt",
    linkopts = ["-ldl"] + select({{
        "@//tools/cuda:libraries_beside": [],
        "//conditions:default": {cublas_linkopts},
    }}),
    deps = [":cudart"],
)
"""

_RUNTIME = "libcudart_static.a"

def _find_nvcc(ctx):
    if ctx.os.environ.get("HORIZON_NO_CUDA", "") == "1":
        return None
    places = []
    if "CUDA_HOME" in ctx.os.environ:
        places.append(ctx.os.environ["CUDA_HOME"] + "/bin/nvcc")
    places.append("/usr/local/cuda/bin/nvcc")
    for place in places:
        if ctx.path(place).exists:
            return str(ctx.path(place).realpath)
    on_path = ctx.which("nvcc")
    return str(on_path.realpath) if on_path else None

def _find_runtime_folder(ctx, root):
    # NVIDIA's installer, its Debian packages and Debian's own package each have another place.
    for folder in [
        root + "/lib64",
        root + "/lib",
        root + "/targets/x86_64-linux/lib",
        root + "/lib/x86_64-linux-gnu",
    ]:
        if ctx.path(folder + "/" + _RUNTIME).exists:
            return folder
    return None

def _find_cuda_impl(ctx):
    nvcc = _find_nvcc(ctx)
    root = nvcc[:-len("/bin/nvcc")] if nvcc else ""
    library_folder = _find_runtime_folder(ctx, root) if nvcc else None

    # A compiler whose programs cannot be linked is as good as none.
    available = library_folder != None
    linkopts = [library_folder + "/" + _RUNTIME, "-ldl", "-lrt", "-lpthread"] if available else []
    cublas_linkopts = ["-Wl,-rpath," + library_folder] if available else []
    if available and ctx.path(root + "/include").exists:
        ctx.symlink(root + "/include", "include")
    ctx.file("BUILD", _BUILD.format(linkopts = repr(linkopts), cublas_linkopts = repr(cublas_linkopts)))
    ctx.file("defs.bzl", "AVAILABLE = {}\nNVCC = {}\nROOT = {}\n".format(available, repr(nvcc or ""), repr(root)))

find_cuda = repository_rule(
    implementation = _find_cuda_impl,
    environ = ["CUDA_HOME", "HORIZON_NO_CUDA", "PATH"],
    local = True,
)
