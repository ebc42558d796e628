# SPDX-License-Identifier: Apache-2.0

"""cuda_library, device_test and requires_cuda.

cuda_library compiles .cu files with nvcc and gives a CcInfo, so any cc_* rule
can depend on it and it can depend on any cc_library.
"""

load("@local_cuda//:defs.bzl", "CUDA")
load("@rules_cc//cc:defs.bzl", "cc_library", "cc_test")
load("@rules_cc//cc:find_cc_toolchain.bzl", "find_cc_toolchain", "use_cc_toolchain")
load("@rules_cc//cc/common:cc_common.bzl", "cc_common")
load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")
load(":archs.bzl", "parse_archs")
load(":settings.bzl", "SettingInfo")

_MODE_FLAGS = {
    "opt": ["-O3", "-DNDEBUG"],
    "fastbuild": ["-O2"],
    "dbg": ["-O0", "-g"],
}

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

def _cc_info(ctx):
    """Headers and include folders: this target's and those of its deps."""
    root = ctx.label.workspace_root
    bin_root = ctx.bin_dir.path + ("/" + root if root else "")
    own = CcInfo(compilation_context = cc_common.create_compilation_context(
        headers = depset(ctx.files.hdrs),
        quote_includes = depset([root or ".", bin_root]),
        defines = depset(ctx.attr.defines),
    ))
    return cc_common.merge_cc_infos(
        direct_cc_infos = [own],
        cc_infos = [d[CcInfo] for d in ctx.attr.deps + [ctx.attr._cudart]],
    )

def _gencode(ctx):
    if not ctx.attr.archs:
        return ctx.attr._archs[SettingInfo].value
    options, error = parse_archs(ctx.attr.archs, CUDA.archs)
    if error:
        fail("archs of %s: nvcc %s knows %s" % (ctx.label, CUDA.release, error))
    return options

def _nvcc_arguments(ctx, context):
    nvcc_flags, host_flags = _split_flags(ctx.fragments.cpp.copts + ctx.fragments.cpp.cxxopts)
    args = ctx.actions.args()
    args.add_all(_MODE_FLAGS[ctx.var["COMPILATION_MODE"]])
    args.add_all(_gencode(ctx), before_each = "-gencode")
    args.add_all(nvcc_flags)
    args.add("-Xcompiler=-fPIC")
    args.add_all(host_flags, format_each = "-Xcompiler=%s")
    args.add_all(context.defines, format_each = "-D%s")
    args.add_all(ctx.attr.local_defines, format_each = "-D%s")

    # nvcc has no -iquote, but hands it to each of its preprocessing passes.
    args.add_all(context.quote_includes, format_each = "-Xcompiler=-iquote,%s")
    args.add_all(context.includes, format_each = "-I%s")
    args.add_all(context.system_includes, before_each = "-isystem")
    args.add_all([ctx.expand_make_variables("copts", c, {}) for c in ctx.attr.copts])
    args.add_all(ctx.attr._copts[SettingInfo].value)
    return args

def _compile(ctx, src, headers, host_compiler, flags, tools):
    base = "_nvcc/%s/%s" % (ctx.label.name, src.basename[:-len(".cu")])
    obj = ctx.actions.declare_file(base + ".o")
    depfile = ctx.actions.declare_file(base + ".d")
    unused = ctx.actions.declare_file(base + ".unused")
    listing = ctx.actions.declare_file(base + ".inputs")
    paths = ctx.actions.args()
    paths.set_param_file_format("multiline")
    paths.add_all(headers)
    ctx.actions.write(listing, paths)

    head = ctx.actions.args()
    head.add_all([listing, unused, depfile])
    head.add_all([CUDA.release, str(CUDA.newest_gcc), str(CUDA.newest_clang), host_compiler, CUDA.nvcc])
    tail = ctx.actions.args()
    tail.add_all(["-x", "cu", "-c", src, "-o", obj])
    ctx.actions.run(
        executable = ctx.executable._wrapper,
        arguments = [head, flags, tail],
        inputs = depset([src, listing, ctx.file._fingerprint], transitive = [headers]),
        outputs = [obj, depfile, unused],
        tools = tools,
        unused_inputs_list = unused,
        mnemonic = "CudaCompile",
        progress_message = "Compiling %s with nvcc" % src.short_path,
        use_default_shell_env = True,
    )
    return obj

def _cuda_library_impl(ctx):
    if not CUDA.found:
        fail("no CUDA toolkit was found; this target should have been skipped")
    cc_toolchain = find_cc_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = cc_toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    host_compiler = cc_common.get_tool_for_action(
        feature_configuration = features,
        action_name = "c++-compile",
    )
    info = _cc_info(ctx)
    private = [f for f in ctx.files.srcs if f.extension != "cu"]
    headers = depset(private, transitive = [info.compilation_context.headers])
    flags = _nvcc_arguments(ctx, info.compilation_context)
    objects = depset([
        _compile(ctx, src, headers, host_compiler, flags, cc_toolchain.all_files)
        for src in ctx.files.srcs
        if src.extension == "cu"
    ])
    linking_context, _ = cc_common.create_linking_context_from_compilation_outputs(
        actions = ctx.actions,
        feature_configuration = features,
        cc_toolchain = cc_toolchain,
        name = ctx.label.name,
        compilation_outputs = cc_common.create_compilation_outputs(
            objects = objects,
            pic_objects = objects,
        ),
        linking_contexts = [info.linking_context],
        user_link_flags = ctx.attr.linkopts,
        alwayslink = ctx.attr.alwayslink,
        disallow_dynamic_library = True,
    )
    return [
        DefaultInfo(files = objects),
        CcInfo(compilation_context = info.compilation_context, linking_context = linking_context),
        OutputGroupInfo(compilation_outputs = objects),
    ]

_cuda_library = rule(
    implementation = _cuda_library_impl,
    attrs = {
        "alwayslink": attr.bool(),
        "archs": attr.string_list(doc = "Overrides //third_party/cuda:archs."),
        "copts": attr.string_list(doc = "For nvcc."),
        "defines": attr.string_list(),
        "deps": attr.label_list(providers = [CcInfo]),
        "hdrs": attr.label_list(allow_files = True),
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

def if_cuda(labels):
    """The labels where there is CUDA, else none: for programs that link the leaves."""
    return labels if CUDA.found else []

def cuda_library(name, **kwargs):
    """A library of .cu sources; skipped, with all that needs it, without CUDA.

    Args:
      name: the target's name.
      **kwargs: as for cc_library, with copts for nvcc and archs to override
        --cuda_archs.
    """
    compatible = kwargs.pop("target_compatible_with", []) + requires_cuda()
    visibility = kwargs.pop("visibility", None)
    shared = {k: kwargs[k] for k in ["hdrs", "deps", "testonly"] if k in kwargs}
    _cuda_library(
        name = name + ".nvcc",
        target_compatible_with = compatible,
        visibility = ["//visibility:private"],
        **kwargs
    )

    # The headers are a cc_library's, which clang's layering check knows.
    shared["deps"] = shared.get("deps", []) + [":" + name + ".nvcc"]
    cc_library(
        name = name,
        target_compatible_with = compatible,
        visibility = visibility,
        **shared
    )

def device_test(name, srcs, deps, cuda_deps, tags = [], env = {}, **kwargs):
    """One source tested on both devices: NAME_cpu and NAME_cuda.

    Args:
      name: the stem of both names.
      srcs: sources; they test the device that is asked for, and skip themselves in
        NAME_cuda without a GPU.
      deps: of both.
      cuda_deps: the CUDA leaves that NAME_cuda links as well.
      tags: of both; NAME_cuda also has "gpu".
      env: of both, with OCTET_TEST_DEVICE (cpu or cuda) added: the device that
        this run is about, so that a leaf which does not register is no silent pass.
      **kwargs: as for cc_test.
    """
    cc_test(
        name = name + "_cpu",
        srcs = srcs,
        deps = deps,
        tags = tags,
        env = dict(env, OCTET_TEST_DEVICE = "cpu"),
        **kwargs
    )
    cc_test(
        name = name + "_cuda",
        srcs = srcs,
        deps = deps + cuda_deps,
        tags = tags + ["gpu"],
        target_compatible_with = requires_cuda(),
        env = dict(env, OCTET_TEST_DEVICE = "cuda"),
        **kwargs
    )
