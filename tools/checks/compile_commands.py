#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes compile_commands.json, for clangd and clang-tidy, at the top of the tree.

usage: ./bazelw run //tools:compile_commands [-- TARGET_PATTERN]

Build first, so that what Bazel links below bazel-* exists. CUDA sources are given
as a recent clang (22) takes them.
"""
import json
import os
import subprocess
import sys

# g++'s alone; clang complains of them.
_GCC_ONLY = {"-fno-canonical-system-headers", "-Wno-free-nonheap-object", "-Wunused-but-set-parameter"}


def bazel(root, *args):
    run = subprocess.run(["bazel", *args], cwd=root, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if run.returncode != 0:
        sys.exit("bazel %s failed:\n%s" % (" ".join(args), run.stderr))
    return run.stdout


def rebase(argument, output_base):
    """External repositories lie in the output base, whatever links there are."""
    for prefix in ("", "-I", "-isystem", "-iquote"):
        if argument.startswith(prefix + "external/"):
            return prefix + output_base + "/" + argument[len(prefix) :]
    return argument


def clang_cuda(arguments, cuda_root):
    """nvcc's arguments as clang's, for the host's pass."""
    out = ["clang++", "-x", "cuda", "--cuda-path=" + cuda_root, "--cuda-gpu-arch=sm_90a", "--cuda-host-only"]
    out += ["-nocudalib", "-Wno-unknown-cuda-version", "-Xclang", "-target-sdk-version=12.9"]
    out += ["-isystem", cuda_root + "/include/cccl"]
    it = iter(arguments)
    for a in it:
        if a in ("-gencode", "-x", "-o"):
            next(it)
        elif a.startswith("-Xcompiler="):
            out += a[len("-Xcompiler=") :].split(",")
        elif not a.startswith(("-Xptxas", "-lineinfo", "-O", "-Werror=", "--")):
            out.append(a)
    return out


def command(action, root, output_base):
    """The entry of one action of `bazel aquery`, or None for foreign code."""
    arguments = action["arguments"]
    if action["mnemonic"] == "CudaCompile":
        nvcc = next(i for i, a in enumerate(arguments) if os.path.basename(a) == "nvcc")
        arguments = clang_cuda(arguments[nvcc + 1 :], os.path.dirname(os.path.dirname(arguments[nvcc])))
    source = arguments[arguments.index("-c") + 1]
    if source.startswith("external/"):
        return None
    kept = [rebase(a, output_base) for a in arguments if a not in _GCC_ONLY]
    return {"directory": root, "file": source, "arguments": kept}


def main(argv):
    root = os.environ.get("BUILD_WORKSPACE_DIRECTORY")
    if not root:
        sys.exit("run me with: ./bazelw run //tools:compile_commands")
    pattern = argv[1] if len(argv) > 1 else "//..."
    output_base = bazel(root, "info", "output_base").strip()
    query = 'mnemonic("CppCompile|CudaCompile", %s)' % pattern
    actions = json.loads(bazel(root, "aquery", query, "--output=jsonproto")).get("actions", [])
    commands = filter(None, (command(a, root, output_base) for a in actions))
    by_file = {c["file"]: c for c in commands}
    path = os.path.join(root, "compile_commands.json")
    with open(path, "w", encoding="utf-8") as f:
        json.dump([by_file[k] for k in sorted(by_file)], f, indent=1)
    print("%d commands in %s" % (len(by_file), path))


if __name__ == "__main__":
    main(sys.argv)
