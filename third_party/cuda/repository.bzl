# SPDX-License-Identifier: Apache-2.0

"""@local_cuda: the CUDA toolkit of this machine, or empty libraries without one.

Looked for in $CUDA_PATH, $CUDA_HOME, beside nvcc on $PATH, in /usr/local/cuda
and /opt/cuda. OCTET_CUDA (environment or --repo_env) decides:
  auto     CUDA if a toolkit is found (the default)
  off      none (--config=cpu)
  require  a toolkit, else NVIDIA's wheels of wheels.txt, else an error
           (--config=cuda)
"""

load("//third_party:system.bzl", "workspace_file")
load(":archs.bzl", "KNOWN_ARCHS")

_LIB_SUBDIRS = ["lib64", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib", "lib"]
_MODES = ["auto", "off", "require"]

# Where pip puts the wheels of CUDA 13.
_WHEELS_ROOT = "wheels/nvidia/cu13"

def _is_toolkit(ctx, root):
    # nvcc on $PATH may be a script that calls the real one, so that its parent
    # folder is no toolkit.
    return ctx.path(root + "/bin/nvcc").exists and ctx.path(root + "/include/cuda_runtime.h").exists

def _candidates(ctx):
    env = ctx.os.environ
    named = [(v, env[v]) for v in ["CUDA_PATH", "CUDA_HOME"] if env.get(v)]
    nvcc = ctx.which("nvcc")
    if nvcc:
        named.append(("nvcc on PATH", str(nvcc.realpath.dirname.dirname)))
    return named + [("usual place", "/usr/local/cuda"), ("usual place", "/opt/cuda")]

def _find_toolkit(ctx):
    for _, root in _candidates(ctx):
        if _is_toolkit(ctx, root):
            return root
    return None

def _fetch_wheels(ctx):
    """Installs wheels.txt; returns (root, None) or (None, what went wrong)."""
    python = ctx.which("python3")
    if not python:
        return None, "python3 was not found on PATH"
    if ctx.execute([python, "-m", "pip", "--version"]).return_code != 0:
        return None, "%s has no pip: install Debian's python3-pip" % python
    ctx.report_progress("Fetching NVIDIA's wheels (about 530 MB)")
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
        "--requirement=" + str(ctx.path(Label("//third_party/cuda:wheels.txt"))),
    ], timeout = 1800)
    if got.return_code != 0:
        return None, "pip could not install //third_party/cuda:wheels.txt:\n" + got.stderr.strip()
    root = str(ctx.path(_WHEELS_ROOT))
    if not _is_toolkit(ctx, root):
        return None, "the wheels hold no bin/nvcc and include/cuda_runtime.h below " + root
    return root, None

def _require_toolkit(ctx):
    root = _find_toolkit(ctx)
    if root:
        return root
    root, problem = _fetch_wheels(ctx)
    if root:
        return root
    looked = ["  %s (%s)" % (path, why) for why, path in _candidates(ctx)]
    fail("CUDA is required (OCTET_CUDA=require, --config=cuda) and there is none.\n" +
         "No bin/nvcc with include/cuda_runtime.h in\n" + "\n".join(looked) + "\n" +
         "NVIDIA's wheels instead: " + problem + "\n" +
         "Install the CUDA toolkit, or set CUDA_PATH, or build with --config=cpu.")

def _lib_dir(ctx, root):
    for sub in _LIB_SUBDIRS:
        if ctx.path(root + "/" + sub + "/libcudart_static.a").exists:
            return root + "/" + sub
    fail("no libcudart_static.a below %s: is the toolkit complete?" % root)

def _output(ctx, *args):
    got = ctx.execute(list(args))
    if got.return_code != 0:
        fail("%s failed: %s" % (" ".join(args), got.stderr))
    return got.stdout

def _release(text):
    for line in text.splitlines():
        if "release " in line:
            return line.split("release ")[1].split(",")[0].strip()
    fail("no release number in the output of nvcc --version: " + text)

def _archs(text):
    """The output of nvcc --list-gpu-code, with the variants that it leaves out."""
    known = []
    for line in text.splitlines():
        number = line[len("sm_"):]
        known.append(number)
        if number.isdigit() and int(number) >= 90:
            known.append(number + "a")
        if number.isdigit() and int(number) >= 100:
            known.append(number + "f")
    return known

def _newest_hosts(text):
    """The newest g++ and clang that crt/host_config.h lets pass, or 0."""
    gcc, clang = 0, 0
    for line in text.splitlines():
        if line.startswith("#if __GNUC__ > "):
            gcc = int(line.split(">")[1].strip())
        elif line.startswith("#if (__clang_major__ >= "):
            clang = int(line.split(">=")[1].split(")")[0].strip()) - 1
    return gcc, clang

def _defs(found, root = "", release = "", archs = KNOWN_ARCHS, gcc = 0, clang = 0):
    return "CUDA = struct(\n" + "".join(["    %s = %s,\n" % (k, repr(v)) for k, v in [
        ("found", found),
        ("root", root),
        ("nvcc", root + "/bin/nvcc" if root else ""),
        ("release", release),
        ("archs", archs),
        ("newest_gcc", gcc),
        ("newest_clang", clang),
    ]]) + ")\n"

_HEAD = """load("@rules_cc//cc:defs.bzl", "cc_library")

package(default_visibility = ["//visibility:public"])

exports_files([
    "fingerprint.txt",
    "root.txt",
])
"""

_LIBRARIES = """
cc_library(
    name = "headers",
    hdrs = glob(
        [
            "include/*.h",
            "include/*.hpp",
            "include/cooperative_groups/**",
            "include/cccl/nv/**",
            "include/crt/**",
        ],
        allow_empty = True,
    ),
    # CUDA 13 moved <nv/target>, <cuda/std/...>, cub and thrust below cccl.
    includes = [
        "include",
        "include/cccl",
    ],
)

# cub, thrust and libcu++ for host compilers; nvcc finds them by itself.
cc_library(
    name = "cccl",
    hdrs = glob(["include/cccl/**"], allow_empty = True),
    deps = [":headers"],
)

cc_library(
    name = "cudart",
    linkopts = [
        "-L{lib}",
        "-l:libcudart_static.a",
        "-ldl",
        "-lrt",
        "-lpthread",
    ],
    deps = [":headers"],
)
"""

# A shared library, of half a gigabyte. A program finds it where it was linked, or
# by the machine's own search path.
_CUBLASLT = """
cc_library(
    name = "cublasLt",
    linkopts = [
        "-L{lib}",
        "-l:{file}",
        "-Wl,-rpath,{lib}",
    ],
    deps = [":cudart"],
)
"""

def _cublaslt(ctx, lib):
    """The target, or an error that names what the toolkit lacks."""
    for file in ["libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"]:
        if ctx.path(lib + "/" + file).exists:
            return _CUBLASLT.format(lib = lib, file = file)
    fail("no libcublasLt.so in %s: install the toolkit's cuBLAS, or build with --config=cpu" % lib)

def _impl(ctx):
    workspace_file(ctx)
    mode = ctx.os.environ.get("OCTET_CUDA", "auto")
    if mode not in _MODES:
        fail("OCTET_CUDA is \"%s\"; it can be %s" % (mode, ", ".join(_MODES)))
    root = None
    if mode == "require":
        root = _require_toolkit(ctx)
    elif mode == "auto":
        root = _find_toolkit(ctx)
    if not root:
        ctx.file("fingerprint.txt", "no CUDA\n")
        ctx.file("root.txt", "")
        ctx.file("defs.bzl", _defs(found = False))
        ctx.file("BUILD", _HEAD + "".join([
            "\ncc_library(name = \"%s\")\n" % name
            for name in ["headers", "cccl", "cudart", "cublasLt"]
        ]))
        return

    version = _output(ctx, root + "/bin/nvcc", "--version")
    gcc, clang = _newest_hosts(ctx.read(root + "/include/crt/host_config.h"))
    ctx.symlink(root + "/include", "include")
    lib = _lib_dir(ctx, root)
    ctx.file("BUILD", _HEAD + _LIBRARIES.format(lib = lib) + _cublaslt(ctx, lib))

    # An input of every CUDA compile action, so that another toolkit rebuilds.
    ctx.file("fingerprint.txt", version)
    ctx.file("root.txt", root)
    ctx.file("defs.bzl", _defs(
        found = True,
        root = root,
        release = _release(version),
        archs = _archs(_output(ctx, root + "/bin/nvcc", "--list-gpu-code")),
        gcc = gcc,
        clang = clang,
    ))

cuda_repository = repository_rule(
    implementation = _impl,
    environ = [
        "CUDA_HOME",
        "CUDA_PATH",
        "OCTET_CUDA",
        "PATH",
    ],
    local = True,
)
