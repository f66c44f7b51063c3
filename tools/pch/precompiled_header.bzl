"""Headers parsed once for the whole build.

Abseil's Status and GoogleTest are most of what the compiler reads of a small source: two seconds of
three. A precompiled header saves them. Nothing depends on it: GCC takes it when flags agree and
reads the headers as always when they do not (sanitizer builds), and every source still includes
what it uses, which clang-tidy sees.
"""

load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")

_COMPILE = "c++-compile"

def _headers(files):
    headers = depset(files)
    context = cc_common.create_compilation_context(headers = headers)
    return [DefaultInfo(files = headers), CcInfo(compilation_context = context)]

def _precompiled_header_impl(ctx):
    toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    header = ctx.actions.declare_file(ctx.label.name + ".h")
    ctx.actions.symlink(output = header, target_file = ctx.file.header)
    if toolchain.compiler == "clang":
        # It names the files in its .gch by the paths of the sandbox that made it, which Bazel refuses.
        return _headers([header])
    compiled = ctx.actions.declare_file(ctx.label.name + ".h.gch")
    flags = cc_common.get_memory_inefficient_command_line(
        feature_configuration = features,
        action_name = _COMPILE,
        variables = cc_common.create_compile_variables(
            feature_configuration = features,
            cc_toolchain = toolchain,
            use_pic = True,
            user_compile_flags = ctx.fragments.cpp.copts + ctx.fragments.cpp.cxxopts,
        ),
    )
    ctx.actions.run(
        executable = cc_common.get_tool_for_action(
            feature_configuration = features,
            action_name = _COMPILE,
        ),
        arguments = flags + ["-x", "c++-header", header.path, "-o", compiled.path],
        inputs = depset([header, ctx.file.header], transitive = [toolchain.all_files]),
        outputs = [compiled],
        env = cc_common.get_environment_variables(
            feature_configuration = features,
            action_name = _COMPILE,
            variables = cc_common.empty_variables(),
        ),
        mnemonic = "CppPrecompile",
        progress_message = "Precompiling " + ctx.file.header.short_path,
    )
    return _headers([header, compiled])

precompiled_header = rule(
    implementation = _precompiled_header_impl,
    attrs = {
        "header": attr.label(allow_single_file = [".h"], mandatory = True),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)
