# SPDX-License-Identifier: Apache-2.0

"""cuda_library, device_test and requires_cuda.

cuda_library compiles .cu files with nvcc and gives a CcInfo, so any cc_* rule
can depend on it and it can depend on any cc_library.
"""

load("@local_cuda//:defs.bzl", "CUDA")
load("@rules_cc//cc:defs.bzl", "cc_test")
load("@rules_cc//cc:find_cc_toolchain.bzl", "find_cc_toolchain", "use_cc_toolchain")
load("@rules_cc//cc/common:cc_common.bzl", "cc_common")
load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")
load(":settings.bzl", "SettingInfo")

_MODE_FLAGS = {
    "opt": ["-O3", "-DNDEBUG"],
    "fastbuild": ["-O2"],
    "dbg": ["-O0", "-g"],
}

def _gencode(archs):
    """"sm_90a" -> machine code, "compute_90a" -> PTX, "sm_90a+ptx" -> both."""
    out = []
    for a in archs:
        a = a.strip()
        if not a:
            continue
        ptx = a.endswith("+ptx")
        if ptx:
            a = a[:-len("+ptx")]
        if a.startswith("compute_"):
            num = a[len("compute_"):]
            codes = ["compute_" + num]
        else:
            num = a[len("sm_"):] if a.startswith("sm_") else a
            codes = ["sm_" + num] + (["compute_" + num] if ptx else [])
        for c in codes:
            out.append("arch=compute_%s,code=%s" % (num, c))
    if not out:
        fail("no CUDA architecture given")
    return out

def _split_flags(flags):
    """Splits --copt/--cxxopt values into (nvcc's, the host compiler's)."""
    nvcc = []
    host = []
    std = []
    for f in flags:
        if f.startswith("-std="):
            std = [f]  # nvcc warns of a second one
        elif f[:2] in ["-D", "-U", "-I"] and len(f) > 2:
            nvcc.append(f)
        elif f.startswith("-O") or f == "-g":
            pass  # the compilation mode says
        else:
            host.append(f)
    return std + nvcc, host

def _cuda_objects_impl(ctx):
    if not CUDA.found:
        fail("no CUDA toolkit was found; this target should have been skipped")
    cc_toolchain = find_cc_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = cc_toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )

    root = ctx.label.workspace_root
    bin_root = ctx.bin_dir.path + ("/" + root if root else "")
    pkg = "/".join([p for p in [root, ctx.label.package] if p])
    include_dirs = []
    for i in ctx.attr.includes:
        rel = "/".join([p for p in [pkg, i] if p and p != "."]) or "."
        include_dirs += [rel, ctx.bin_dir.path + "/" + rel]

    own = CcInfo(compilation_context = cc_common.create_compilation_context(
        headers = depset(ctx.files.hdrs),
        quote_includes = depset([root or ".", bin_root]),
        system_includes = depset(include_dirs),
        defines = depset(ctx.attr.defines),
    ))
    dep_infos = [d[CcInfo] for d in ctx.attr.deps + [ctx.attr._cudart]]
    merged = cc_common.merge_cc_infos(direct_cc_infos = [own], cc_infos = dep_infos)
    comp = merged.compilation_context

    nvcc_flags, host_flags = _split_flags(ctx.fragments.cpp.copts + ctx.fragments.cpp.cxxopts)
    archs = ctx.attr.archs or ctx.attr._archs[SettingInfo].value.split(",")
    extra = [c for c in ctx.attr._copts[SettingInfo].value.split(" ") if c]
    host_compiler = cc_common.get_tool_for_action(
        feature_configuration = features,
        action_name = "c++-compile",
    )

    common = ctx.actions.args()
    common.add("-ccbin", host_compiler)
    common.add_all(_MODE_FLAGS[ctx.var["COMPILATION_MODE"]])
    common.add_all(_gencode(archs), before_each = "-gencode")
    common.add_all(nvcc_flags)
    common.add("-Xcompiler=-fPIC")
    common.add_all(host_flags, format_each = "-Xcompiler=%s")
    common.add_all(comp.defines, format_each = "-D%s")
    common.add_all(ctx.attr.local_defines, format_each = "-D%s")
    common.add_all(comp.quote_includes, format_each = "-Xcompiler=-iquote,%s")
    common.add_all(comp.includes, format_each = "-I%s")
    common.add_all(comp.system_includes, before_each = "-isystem")
    common.add_all([ctx.expand_make_variables("copts", c, {}) for c in ctx.attr.copts])
    common.add_all(extra)

    private_hdrs = [f for f in ctx.files.srcs if f.extension != "cu"]
    inputs_common = depset(
        private_hdrs + [ctx.file._fingerprint],
        transitive = [comp.headers],
    )
    objects = []
    for src in ctx.files.srcs:
        if src.extension != "cu":
            continue
        base = "_nvcc/%s/%s" % (ctx.label.name, src.basename[:-len(".cu")])
        obj = ctx.actions.declare_file(base + ".o")
        dep = ctx.actions.declare_file(base + ".d")
        unused = ctx.actions.declare_file(base + ".unused")
        listing = ctx.actions.declare_file(base + ".inputs")

        paths = ctx.actions.args()
        paths.set_param_file_format("multiline")
        paths.add_all(depset(private_hdrs, transitive = [comp.headers]))
        ctx.actions.write(listing, paths)

        head = ctx.actions.args()
        head.add_all([listing, unused, dep])
        head.add(CUDA.nvcc)
        tail = ctx.actions.args()
        tail.add("-x", "cu")
        tail.add("-c", src)
        tail.add("-o", obj)
        ctx.actions.run(
            executable = ctx.executable._wrapper,
            arguments = [head, common, tail],
            inputs = depset([src, listing], transitive = [inputs_common]),
            outputs = [obj, dep, unused],
            tools = cc_toolchain.all_files,
            unused_inputs_list = unused,
            mnemonic = "CudaCompile",
            progress_message = "Compiling %s with nvcc" % src.short_path,
            use_default_shell_env = True,
        )
        objects.append(obj)

    objs = depset(objects)
    linking_context, _ = cc_common.create_linking_context_from_compilation_outputs(
        actions = ctx.actions,
        feature_configuration = features,
        cc_toolchain = cc_toolchain,
        name = ctx.label.name,
        compilation_outputs = cc_common.create_compilation_outputs(
            objects = objs,
            pic_objects = objs,
        ),
        linking_contexts = [i.linking_context for i in dep_infos],
        user_link_flags = ctx.attr.linkopts,
        alwayslink = ctx.attr.alwayslink,
        disallow_dynamic_library = True,
    )
    return [
        DefaultInfo(files = objs),
        CcInfo(compilation_context = comp, linking_context = linking_context),
        OutputGroupInfo(compilation_outputs = objs),
    ]

_cuda_library = rule(
    implementation = _cuda_objects_impl,
    attrs = {
        "alwayslink": attr.bool(),
        "archs": attr.string_list(doc = "Overrides //third_party/cuda:archs."),
        "copts": attr.string_list(doc = "For nvcc."),
        "defines": attr.string_list(),
        "deps": attr.label_list(providers = [CcInfo]),
        "hdrs": attr.label_list(allow_files = True),
        "includes": attr.string_list(),
        "linkopts": attr.string_list(),
        "local_defines": attr.string_list(),
        "srcs": attr.label_list(allow_files = [".cu", ".cuh", ".h", ".hpp", ".inc"]),
        "_archs": attr.label(default = "//third_party/cuda:archs"),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
        "_copts": attr.label(default = "//third_party/cuda:copts"),
        "_cudart": attr.label(default = "@local_cuda//:cudart"),
        "_fingerprint": attr.label(
            default = "@local_cuda//:fingerprint.txt",
            allow_single_file = True,
        ),
        "_wrapper": attr.label(
            default = "//third_party/cuda:nvcc_wrapper",
            executable = True,
            cfg = "exec",
        ),
    },
    fragments = ["cpp"],
    toolchains = use_cc_toolchain(),
)

def requires_cuda():
    """For target_compatible_with: //... skips the target where there is no CUDA."""
    if CUDA.found:
        return []
    return [str(Label("//third_party/cuda:unsupported"))]

def cuda_library(name, **kwargs):
    """A library of .cu sources; skipped, with all that needs it, without CUDA.

    Args:
      name: the target's name.
      **kwargs: as for cc_library, with copts for nvcc and archs to override
        --cuda_archs.
    """
    _cuda_library(
        name = name,
        target_compatible_with = kwargs.pop("target_compatible_with", []) + requires_cuda(),
        **kwargs
    )

def device_test(name, srcs, deps, cuda_deps, tags = [], **kwargs):
    """One source tested on both devices: NAME_cpu and NAME_cuda.

    Args:
      name: the stem of both names.
      srcs: sources; they test the devices that are linked and present, and skip
        themselves in NAME_cuda without a GPU.
      deps: of both.
      cuda_deps: the CUDA leaves that NAME_cuda links as well.
      tags: of both; NAME_cuda also has "gpu".
      **kwargs: as for cc_test.
    """
    cc_test(
        name = name + "_cpu",
        srcs = srcs,
        deps = deps,
        tags = tags,
        **kwargs
    )
    cc_test(
        name = name + "_cuda",
        srcs = srcs,
        deps = deps + cuda_deps,
        tags = tags + ["gpu"],
        target_compatible_with = requires_cuda(),
        **kwargs
    )
