# SPDX-License-Identifier: Apache-2.0

"""@local_cuda: the CUDA toolkit of this machine, or a stub without one.

Looked for in $CUDA_PATH, $CUDA_HOME, next to nvcc on $PATH, /usr/local/cuda,
/opt/cuda. OCTET_CUDA=0 in the environment (or --repo_env) hides it.
"""

_LIB_SUBDIRS = ["lib64", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib", "lib", "lib/x64"]
_SYSTEM_INCLUDES = ["/usr/include"]
_SYSTEM_LIBS = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64"]

_ENV = ["CUDA_PATH", "CUDA_HOME", "OCTET_CUDA", "PATH", "NCCL_HOME", "CUDNN_HOME"]

# name -> (header, library file for the linker, linkopt)
_COMPONENTS = {
    "cublas": ("cublas_v2.h", "libcublas.so", "-lcublas"),
    "cublasLt": ("cublasLt.h", "libcublasLt.so", "-lcublasLt"),
    "cudnn": ("cudnn.h", "libcudnn.so", "-lcudnn"),
    "nccl": ("nccl.h", "libnccl.so", "-lnccl"),
    "nvrtc": ("nvrtc.h", "libnvrtc.so", "-lnvrtc"),
}

def _toolkit_root(ctx):
    env = ctx.os.environ
    if env.get("OCTET_CUDA", "").lower() in ["0", "off", "no", "false"]:
        return None
    candidates = [env.get("CUDA_PATH"), env.get("CUDA_HOME")]
    nvcc = ctx.which("nvcc")
    if nvcc:
        candidates.append(str(nvcc.realpath.dirname.dirname))
    candidates += ["/usr/local/cuda", "/opt/cuda"]
    for c in candidates:
        # nvcc on $PATH may be a wrapper script, so its parent need not be a toolkit.
        if c and ctx.path(c + "/bin/nvcc").exists and ctx.path(c + "/include/cuda_runtime.h").exists:
            return c
    return None

def _lib_dirs(ctx, root, extra_homes):
    dirs = []
    for home in [root] + [h for h in extra_homes if h]:
        for sub in _LIB_SUBDIRS:
            p = ctx.path(home + "/" + sub)
            if p.exists and str(p.realpath) not in [str(ctx.path(d).realpath) for d in dirs]:
                dirs.append(home + "/" + sub)
    return dirs + [d for d in _SYSTEM_LIBS if ctx.path(d).exists]

def _version(ctx, root):
    res = ctx.execute([root + "/bin/nvcc", "--version"])
    if res.return_code != 0:
        fail("%s/bin/nvcc --version failed: %s" % (root, res.stderr))
    for line in res.stdout.splitlines():
        if "release " in line:
            return line.split("release ")[1].split(",")[0].strip(), res.stdout
    fail("cannot read the version of nvcc from: " + res.stdout)

_BUILD_HEAD = """load("@rules_cc//cc:defs.bzl", "cc_library")

# Searched before the directory where this build found the library: a bundle's
# own lib/, then the usual place. DT_RUNPATH, so LD_LIBRARY_PATH goes first.
RPATH = [
    "-Wl,--enable-new-dtags",
    "-Wl,-rpath,$$ORIGIN/../lib",
    "-Wl,-rpath,/usr/local/cuda/lib64",
]

package(default_visibility = ["//visibility:public"])

exports_files(["fingerprint.txt"])
"""

def _cuda_repository_impl(ctx):
    ctx.file("WORKSPACE", "workspace(name = \"local_cuda\")\n")
    root = _toolkit_root(ctx)
    names = ["headers", "cccl", "cudart", "cuda_driver_stub"] + sorted(_COMPONENTS)
    if not root:
        ctx.file("fingerprint.txt", "no CUDA\n")
        ctx.file("defs.bzl", "CUDA = struct(found = False, root = \"\", nvcc = \"\", version = \"\")\n" +
                             "CUDA_COMPONENTS = []\n")
        ctx.file("BUILD", _BUILD_HEAD + "".join([
            "\ncc_library(name = \"%s\")\n" % n
            for n in names
        ]))
        return

    version, text = _version(ctx, root)
    env = ctx.os.environ
    homes = [env.get("NCCL_HOME"), env.get("CUDNN_HOME")]
    dirs = _lib_dirs(ctx, root, homes)
    ctx.symlink(root + "/include", "include")

    found = {}
    out = [_BUILD_HEAD, """
cc_library(
    name = "headers",
    hdrs = glob(
        [
            "include/*.h",
            "include/*.hpp",
            "include/cooperative_groups/**",
            "include/cccl/nv/**",
            "include/crt/**",
            "include/nccl_device/**",
            "include/nvtx3/**",
        ],
        exclude = ["include/*EGL*", "include/*VDPAU*"],
        allow_empty = True,
    ),
    # CUDA 13 moved <nv/target>, <cuda/std/...>, cub and thrust below cccl.
    includes = ["include", "include/cccl"],
)

# cub, thrust and libcu++ for host compilers; nvcc finds them by itself.
cc_library(
    name = "cccl",
    hdrs = glob(["include/cccl/**"], allow_empty = True),
    deps = [":headers"],
)

cc_library(
    name = "cudart",
    linkopts = ["-L{lib}", "-l:libcudart_static.a", "-ldl", "-lrt", "-lpthread"],
    deps = [":headers"],
)

cc_library(
    name = "cuda_driver_stub",
    linkopts = ["-L{lib}/stubs", "-lcuda"],
    deps = [":headers"],
)
""".format(lib = dirs[0])]
    for name in sorted(_COMPONENTS):
        header, lib, opt = _COMPONENTS[name]
        libdir = None
        for d in dirs:
            if ctx.path(d + "/" + lib).exists:
                libdir = d
                break
        has_header = False
        for inc in [root + "/include"] + [h + "/include" for h in homes if h] + _SYSTEM_INCLUDES:
            if ctx.path(inc + "/" + header).exists:
                has_header = True
        if libdir and has_header:
            found[name] = libdir
            out.append("""
cc_library(
    name = "{name}",
    defines = ["OCTET_HAVE_{upper}=1"],
    linkopts = ["-L{dir}", "{opt}"] + RPATH + ["-Wl,-rpath,{dir}"],
    deps = [":headers"],
)
""".format(name = name, upper = name.upper(), dir = libdir, opt = opt))
        else:
            out.append("\ncc_library(name = \"%s\")\n" % name)
    ctx.file("BUILD", "".join(out))

    # An input of every CUDA compile action: another toolkit rebuilds.
    ctx.file("fingerprint.txt", text + "\n".join(["%s %s" % kv for kv in found.items()]) + "\n")
    ctx.file("defs.bzl", "CUDA = struct(found = True, root = %r, nvcc = %r, version = %r)\nCUDA_COMPONENTS = %r\n" % (
        root,
        root + "/bin/nvcc",
        version,
        sorted(found),
    ))

cuda_repository = repository_rule(
    implementation = _cuda_repository_impl,
    environ = _ENV,
    local = True,
)
