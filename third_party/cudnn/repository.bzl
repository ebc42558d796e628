# SPDX-License-Identifier: Apache-2.0

"""@local_cudnn: cuDNN 9 of this machine; @cudnn_frontend: the headers to use it.

Where @local_cuda has a toolkit, cuDNN is looked for in $CUDNN_PATH, in the
toolkit and in /usr. OCTET_CUDNN (environment or --repo_env) decides:
  auto  what was found; with OCTET_CUDA=require (--config=cuda) NVIDIA's wheel of
        wheels.txt where nothing was (the default)
  off   none: attention runs on this project's own kernel, which is far slower

Programs load libcudnn.so.9 when they first need it, from where it was when they
were linked, or by the machine's own search path. The frontend's headers are a
wheel of frontend.txt, fetched by pip once something that needs them is built.
"""

load("//third_party:system.bzl", "workspace_file")

_MODES = ["auto", "off"]
_MULTIARCH = ["x86_64-linux-gnu", "aarch64-linux-gnu"]
_INCLUDE_SUBDIRS = ["include"] + ["include/" + m for m in _MULTIARCH]
_LIB_SUBDIRS = ["lib64", "lib"] + ["lib/" + m for m in _MULTIARCH]

# Where pip puts the wheels.
_WHEEL_ROOT = "wheels/nvidia/cudnn"
_WHEEL_NVRTC = "wheels/nvidia/cu13/include/nvrtc.h"
_FRONTEND_INCLUDE = "wheels/include"

def _mode(ctx):
    mode = ctx.os.environ.get("OCTET_CUDNN", "auto")
    if mode not in _MODES:
        fail("OCTET_CUDNN is \"%s\"; it can be %s" % (mode, ", ".join(_MODES)))
    return mode

def _pip_install(ctx, requirements, arguments = []):
    """Installs into wheels/; returns what went wrong, or None."""
    python = ctx.which("python3")
    if not python:
        return "python3 was not found on PATH"
    if ctx.execute([python, "-m", "pip", "--version"]).return_code != 0:
        return "%s has no pip: install Debian's python3-pip" % python
    got = ctx.execute([
        python,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
        "--only-binary=:all:",
        "--require-hashes",
        "--target=" + str(ctx.path("wheels")),
        "--requirement=" + str(ctx.path(requirements)),
    ] + arguments, timeout = 1800)
    if got.return_code != 0:
        return "pip could not install %s:\n%s" % (requirements, got.stderr.strip())
    return None

def _include_dir(ctx, root):
    """Where the headers of version 9 are below root, or None."""
    for sub in _INCLUDE_SUBDIRS:
        folder = root + "/" + sub
        if not ctx.path(folder + "/cudnn.h").exists:
            continue
        version = ctx.path(folder + "/cudnn_version.h")
        if version.exists and "#define CUDNN_MAJOR 9" in ctx.read(version):
            return folder
    return None

def _find(ctx, cuda_root):
    """(root, include folder) of cuDNN, or (None, None)."""
    named = ctx.os.environ.get("CUDNN_PATH")
    for root in ([named] if named else []) + [cuda_root, "/usr"]:
        include = _include_dir(ctx, root)
        if include:
            return root, include
    return None, None

def _fetch(ctx):
    ctx.report_progress("Fetching NVIDIA's cuDNN and NVRTC (about 460 MB)")
    problem = _pip_install(ctx, Label("//third_party/cudnn:wheels.txt"))
    root = str(ctx.path(_WHEEL_ROOT))
    include = None if problem else _include_dir(ctx, root)
    if not include:
        fail("CUDA is required (OCTET_CUDA=require, --config=cuda) and there is no cuDNN 9: no\n" +
             "cudnn.h in $CUDNN_PATH, the toolkit or /usr. NVIDIA's wheel instead: " +
             (problem or "it holds no cudnn.h below " + root) + "\n" +
             "Install cuDNN, or set CUDNN_PATH, or do without: --repo_env=OCTET_CUDNN=off")
    return root, include

def _rpath(ctx, root):
    for sub in _LIB_SUBDIRS:
        if ctx.path("%s/%s/libcudnn.so.9" % (root, sub)).exists:
            return ["-Wl,-rpath,%s/%s" % (root, sub)]
    return []

_HEAD = """load("@rules_cc//cc:defs.bzl", "cc_library")

package(default_visibility = ["//visibility:public"])
"""

_CUDNN = """
cc_library(
    name = "cudnn",
    hdrs = glob(["include/*.h"]),
    includes = ["include"],
    linkopts = {linkopts},
    deps = ["@local_cuda//:headers"],
)
"""

def _cudnn_impl(ctx):
    workspace_file(ctx)
    mode = _mode(ctx)
    cuda_root = ctx.read(Label("@local_cuda//:root.txt")).strip()
    root, include = None, None
    if cuda_root and mode != "off":
        root, include = _find(ctx, cuda_root)
        if not root and ctx.os.environ.get("OCTET_CUDA") == "require":
            root, include = _fetch(ctx)
    ctx.file("defs.bzl", "CUDNN = struct(found = %s)\n" % bool(root))
    if not root:
        ctx.file("BUILD", _HEAD + "\ncc_library(name = \"cudnn\")\n")
        return
    for header in ctx.path(include).readdir():
        if header.basename.startswith("cudnn") and header.basename.endswith(".h"):
            ctx.symlink(header, "include/" + header.basename)
    if ctx.path(_WHEEL_NVRTC).exists and not ctx.path(cuda_root + "/include/nvrtc.h").exists:
        ctx.symlink(_WHEEL_NVRTC, "include/nvrtc.h")
    ctx.file("BUILD", _HEAD + _CUDNN.format(linkopts = repr(_rpath(ctx, root) + ["-ldl"])))

cudnn_repository = repository_rule(
    implementation = _cudnn_impl,
    environ = [
        "CUDA_HOME",
        "CUDA_PATH",
        "CUDNN_PATH",
        "OCTET_CUDA",
        "OCTET_CUDNN",
        "PATH",
    ],
    local = True,
)

_FRONTEND = """
cc_library(
    name = "frontend",
    hdrs = glob(["{include}/**/*.h", "{include}/**/*.hpp"]),
    # Graphs are not written to files, so that their JSON is not needed.
    defines = ["CUDNN_FRONTEND_SKIP_JSON_LIB"],
    includes = ["{include}"],
    deps = [
        "@local_cuda//:cudart",
        "@local_cudnn//:cudnn",
    ],
)
"""

def _frontend_impl(ctx):
    workspace_file(ctx)
    ctx.report_progress("Fetching the headers of cudnn-frontend (12 MB)")
    problem = _pip_install(ctx, Label("//third_party/cudnn:frontend.txt"), [
        "--implementation=cp",
        "--python-version=3.11",
        "--abi=cp311",
        "--platform=manylinux_2_28_x86_64",
    ])
    if not problem and not ctx.path(_FRONTEND_INCLUDE + "/cudnn_frontend.h").exists:
        problem = "the wheel holds no include/cudnn_frontend.h"
    if problem:
        fail("cuDNN is there, but not the headers of cudnn-frontend: " + problem + "\n" +
             "To do without cuDNN: --repo_env=OCTET_CUDNN=off")
    ctx.file("BUILD", _HEAD + _FRONTEND.format(include = _FRONTEND_INCLUDE))

cudnn_frontend_repository = repository_rule(implementation = _frontend_impl)
