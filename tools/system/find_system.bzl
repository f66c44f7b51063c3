"""@system: what differs between releases of Debian and Ubuntu.

`defs.bzl` says which major version the compiler has (COMPILER_VERSION) and which archives Abseil
consists of (ABSEIL_ARCHIVES): every release cuts Abseil into other ones.
"""

def _output(ctx, command):
    result = ctx.execute(command)
    if result.return_code != 0:
        fail("'{}' failed: {}".format(" ".join(command), result.stderr))
    return result.stdout.strip()

def _find_system_impl(ctx):
    compiler = ctx.os.environ.get("CXX", "g++")
    version = _output(ctx, [compiler, "-dumpversion"]).split(".")[0]
    archives = []
    one = _output(ctx, ["g++", "-print-file-name=libabsl_base.a"])
    if one.startswith("/"):
        for path in ctx.path(one).dirname.readdir():
            if path.basename.startswith("libabsl_") and path.basename.endswith(".a"):
                archives.append(path.basename)
    ctx.file("BUILD", "")
    ctx.file("defs.bzl", "COMPILER_VERSION = {}\nABSEIL_ARCHIVES = {}\n".format(
        repr(version),
        repr(sorted(archives)),
    ))

find_system = repository_rule(
    implementation = _find_system_impl,
    environ = ["CXX", "PATH"],
    local = True,
)
