# SPDX-License-Identifier: Apache-2.0

"""Helpers of repository rules over libraries that the system carries.

Headers are in /usr/include, a built-in include directory, so a wrapper is a
cc_library with link options alone. Labels are those of the upstream projects:
who prefers a source build defines the repository first (WORKSPACE) or takes the
module (MODULE.bazel).
"""

_LIB_DIRS = [
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/local/lib",
]

PREAMBLE = """load("@rules_cc//cc:defs.bzl", "cc_library")

package(default_visibility = ["//visibility:public"])
"""

def find_library(ctx, names):
    """The first existing LIBDIR/NAME for the names in order, or None."""
    for name in names:
        for libdir in _LIB_DIRS:
            path = ctx.path(libdir + "/" + name)
            if path.exists:
                return path
    return None

def require(ctx, what, package, header = None, libraries = []):
    """Fails with the name of the Debian package unless header and library exist."""
    missing = header and not ctx.path("/usr/include/" + header).exists
    if missing or (libraries and not find_library(ctx, libraries)):
        fail("%s not found: install Debian's %s (./bazelw does), or define @%s yourself" % (
            what,
            package,
            ctx.name,
        ))

def wrapper(name, linkopts = [], deps = [], defines = []):
    """The text of a cc_library without sources."""
    return """
cc_library(
    name = "{name}",
    defines = {defines},
    linkopts = {linkopts},
    deps = {deps},
)
""".format(name = name, linkopts = repr(linkopts), deps = repr(deps), defines = repr(defines))

def workspace_file(ctx):
    ctx.file("WORKSPACE", "workspace(name = \"%s\")\n" % ctx.name)
