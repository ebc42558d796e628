# SPDX-License-Identifier: Apache-2.0

"""@com_google_absl: the system's Abseil under upstream's labels."""

load("//third_party:system.bzl", "PREAMBLE", "find_library", "require", "workspace_file", "wrapper")

# Package -> targets, as in Abseil's own BUILD files. Extend at need.
_ABSL = {
    "absl/algorithm": ["algorithm", "container"],
    "absl/base": ["base", "config", "core_headers", "endian", "log_severity"],
    "absl/cleanup": ["cleanup"],
    "absl/container": [
        "btree",
        "fixed_array",
        "flat_hash_map",
        "flat_hash_set",
        "inlined_vector",
        "node_hash_map",
        "node_hash_set",
    ],
    "absl/debugging": ["failure_signal_handler", "leak_check", "stacktrace", "symbolize"],
    "absl/flags": ["flag", "parse", "usage"],
    "absl/functional": ["any_invocable", "bind_front", "function_ref"],
    "absl/hash": ["hash"],
    "absl/memory": ["memory"],
    "absl/meta": ["type_traits"],
    "absl/numeric": ["bits", "int128"],
    "absl/random": ["random", "bit_gen_ref", "distributions"],
    "absl/status": ["status", "statusor"],
    "absl/strings": ["strings", "cord", "str_format"],
    "absl/synchronization": ["synchronization"],
    "absl/time": ["time"],
    "absl/types": ["any", "optional", "span", "variant"],
    "absl/utility": ["utility"],
}

# Abseil's sources without its BUILD files, so that one cc_library can glob them.
_LINK_SOURCES = """
set -e
cd "$1"
find absl -type f \\( -name '*.h' -o -name '*.inc' -o -name '*.cc' \\) \\
  ! -name '*_test.cc' ! -name '*_benchmark.cc' ! -name '*_test_common.cc' ! -name '*test_util*.cc' \\
  ! -name '*_testing.cc' ! -name '*_test_helpers.cc' ! -name '*benchmarks.cc' ! -name '*_test_*.cc' \\
  ! -name '*mock*' ! -name 'test_instance_tracker.cc' ! -name 'print_hash_of.cc' ! -name '*gaussian_distribution_gentables.cc' \\
  ! -name 'exception_safety_testing.*' ! -name 'pow10_helper.cc' |
while read -r f; do
  mkdir -p "$2/src/$(dirname "$f")"
  ln -s "$PWD/$f" "$2/src/$f"
done
"""

_ABSL_FROM_SOURCE = """
cc_library(
    name = "libs",
    srcs = glob(["src/absl/**/*.cc"]),
    hdrs = glob(["src/absl/**/*.h", "src/absl/**/*.inc"]),
    copts = ["-w"],
    includes = ["src"],
    linkopts = ["-lpthread", "-lrt"],
)
"""

def _absl_packages(ctx):
    for pkg, targets in _ABSL.items():
        ctx.file(pkg + "/BUILD", PREAMBLE + "".join([
            wrapper(t, deps = ["//:libs"])
            for t in targets
        ]))

def _absl_impl(ctx):
    workspace_file(ctx)
    src = ctx.os.environ.get("OCTET_ABSL_SRC")
    if src:
        # For sanitizers that must see Abseil's own code: a tree from
        # `apt-get source abseil`, say.
        res = ctx.execute(["bash", "-c", _LINK_SOURCES, "link", src, str(ctx.path("."))])
        if res.return_code != 0:
            fail("cannot read Abseil's sources at %s: %s" % (src, res.stderr))
        ctx.file("BUILD", PREAMBLE + _ABSL_FROM_SOURCE)
        _absl_packages(ctx)
        return

    # Debian's archives are not all PIC, so a .so of this project needs the
    # shared libraries: OCTET_ABSL_SHARED=1.
    names = ["libabsl_base.a", "libabsl_base.so"]
    if ctx.os.environ.get("OCTET_ABSL_SHARED", "0") == "1":
        names = ["libabsl_base.so"]
    require(ctx, "Abseil", "libabsl-dev", "absl/base/config.h", names)
    base = find_library(ctx, names)
    libdir = base.dirname
    static = base.basename.endswith(".a")

    # All archives in one group: order does not matter, and each link line names
    # them once. Archive members that nothing needs are not linked.
    suffix = ".a" if static else ".so"
    libs = sorted([
        f.basename
        for f in libdir.readdir()
        if f.basename.startswith("libabsl_") and f.basename.endswith(suffix)
    ])
    if static:
        linkopts = ["-Wl,--start-group"] + ["-l:" + n for n in libs] + ["-Wl,--end-group"]
    else:
        linkopts = ["-Wl,--push-state,--as-needed"] + ["-l:" + n for n in libs] + ["-Wl,--pop-state"]
    linkopts += ["-lpthread", "-lrt"]
    ctx.file("BUILD", PREAMBLE + wrapper("libs", linkopts))
    _absl_packages(ctx)

absl_repository = repository_rule(
    implementation = _absl_impl,
    environ = ["OCTET_ABSL_SHARED", "OCTET_ABSL_SRC"],
    local = True,
)
