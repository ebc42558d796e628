#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the sources against the rules of the house, without compiling them.

usage: layers.py [ROOT]    (tracked files of ROOT, default this repository)

Arrows between folders in #include lines and BUILD labels, external libraries by
folder, include guards, licence lines, CUDA headers and #if in leaves alone, sizes,
tests that expect something, leftovers. Prints `path:line: what` and exits 1.
"""
import os
import re
import subprocess
import sys

# Folder -> the folders that it may use, besides itself and third_party.
_BASE = {"base"}
_IO = _BASE | {"io"}
_FSDP = _IO | {"float8", "roofline"}
_MODELS = _FSDP | {"fsdp"}
_TRAIN = _MODELS | {"models"}
ARROWS = {
    "base": set(),
    "io": _BASE,
    "float8": _IO,
    "roofline": _IO,
    "fsdp": _FSDP,
    "models": _MODELS,
    "train": _TRAIN,
    "tools": _TRAIN | {"train"},
    "testing": _IO | {"float8"},
}
# External libraries that not every folder may use -> those that may.
EXTERNAL = {
    "nlohmann_json": set(ARROWS) - _BASE,
    "onednn": set(ARROWS) - _IO,
    "tomlplusplus": {"roofline", "train", "tools"},
}
EXTERNAL_HEADERS = {"nlohmann/": "nlohmann_json", "dnnl": "onednn", "oneapi/dnnl/": "onednn", "toml++/": "tomlplusplus"}
BUDGETS = {".h": 150, ".cc": 400, ".cu": 400, ".cuh": 400, "BUILD": 300}
CODE = (".h", ".cc", ".cu", ".cuh")
LICENSED = CODE + (".py", ".sh", ".bzl", ".bazel", ".bzlmod", "BUILD", "WORKSPACE", "bazelw", ".ci/run")
LICENCE = "SPDX-License-Identifier: Apache-2.0"

_INCLUDE = re.compile(r'\s*#\s*include\s*([<"])([^>"]+)[>"]')
_LABEL = re.compile(r'"(?://|@octet//)([a-z0-9_]+)')
_EXTERNAL_LABEL = re.compile(r'"@([a-z0-9_]+)//')
_CUDA_HEADER = re.compile(r"(cuda|cublas|cudnn|nccl|nvrtc|cooperative_groups|cub/|thrust/|nvtx|mma\.h|vector_types\.h)")
_CUDA_LEAF = re.compile(r"(_cuda|_nccl|/cuda)(_[a-z0-9]+)*\.(h|cc)$|/cuda/[^/]+\.h$|/cudnn/[^/]+\.(h|cc)$|\.cuh?$")
_TEST_MACRO = re.compile(r"^\s*(TYPED_TEST|TYPED_TEST_P|TEST|TEST_F|TEST_P)\s*\(", re.M)
_EMPTY_TEST = re.compile(r"^\s*(?:TYPED_)?TEST(?:_[FP])?\s*\(([^)]*)\)\s*\{\s*\}", re.M)
_EXPECTATION = re.compile(r"\b(EXPECT|ASSERT)_[A-Z]|\bOCTET_(EXPECT|ASSERT)_[A-Z]|\b(FAIL|ADD_FAILURE)\(")
_LEFTOVER = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")


def folder(path):
    return path.split("/")[0] if "/" in path else ""


def is_test(path):
    stem = os.path.splitext(os.path.basename(path))[0]
    return folder(path) == "testing" or stem.endswith(
        ("_test", "_benchmark", "_conformance")
    )


def testonly_files(path, text):
    """Sources of tests, and of targets that a BUILD file declares testonly."""
    out = set()
    # A call, or a list of calls ([... for ...]), up to the bracket that ends it.
    for block in re.findall(r"^(?:\w+\(|\[)\n.*?^[)\]]", text, re.M | re.S):
        if re.search(r"\btestonly\s*=\s*(True|1)|\b(cc|device)_test\(", block):
            out |= {os.path.dirname(path) + "/" + f for f in re.findall(r'"([\w.-]+\.(?:h|cc|cu|cuh))"', block)}
    return out


def guard(path):
    """float8/cast.h -> OCTET_FLOAT8_CAST_H_"""
    return "OCTET_" + re.sub(r"[^A-Z0-9]", "_", path.upper()) + "_"


def check_arrow(path, line, target, test, out):
    here = folder(path)
    if here not in ARROWS or target not in ARROWS or target == here:
        return
    if target == "testing":
        if not test:
            out.append((path, line, "testing/ is for tests, and this is none"))
    elif target not in ARROWS[here]:
        allowed = " ".join(sorted(ARROWS[here])) or "no other folder"
        out.append((path, line, "%s must not use %s; it may use: %s" % (here, target, allowed)))


def check_external(path, line, library, out):
    here = folder(path)
    if here in ARROWS and library in EXTERNAL and here not in EXTERNAL[library]:
        out.append((path, line, "%s must not use @%s" % (here, library)))


def check_includes(path, lines, test, out):
    for number, text in enumerate(lines, 1):
        match = _INCLUDE.match(text)
        if not match:
            continue
        quoted, header = match.group(1) == '"', match.group(2)
        if quoted:
            check_arrow(path, number, folder(header), test, out)
        for prefix, library in EXTERNAL_HEADERS.items():
            if header.startswith(prefix):
                check_external(path, number, library, out)
        ours = quoted and folder(header) in ARROWS
        if _CUDA_HEADER.match(header) and not ours and not _CUDA_LEAF.search(path):
            out.append((path, number, "%s is for *_cuda, *_nccl, cuda_*, cuda/*.h, cudnn/*, .cu and .cuh files alone" % header))
        if ours and _CUDA_LEAF.search(header) and not _CUDA_LEAF.search(path) and not test:
            out.append((path, number, "%s is a CUDA leaf's, and this file is none" % header))


def check_guard(path, lines, out):
    want = guard(path)
    code = [(n, t.strip()) for n, t in enumerate(lines, 1) if t.strip() and not t.lstrip().startswith("//")]
    found = [t for _, t in code[:2]]
    if found != ["#ifndef " + want, "#define " + want] or not code[-1][1].startswith("#endif"):
        out.append((path, code[0][0] if code else 1, "the include guard must be %s, before all else" % want))


def check_conditionals(path, lines, out):
    """#if belongs in base; kernels may ask for the architecture that they are compiled for."""
    if folder(path) == "base":
        return
    for number, text in enumerate(lines, 1):
        match = re.match(r"\s*#\s*(if|ifdef|ifndef|elif)\b(.*)", text)
        if not match or (match.group(1) == "ifndef" and match.group(2).strip() == guard(path)):
            continue
        if path.endswith((".cu", ".cuh")) and "__CUDA_ARCH" in match.group(2):
            continue
        if "_kernel" in path and match.group(2).strip() == "defined(__x86_64__)":
            continue
        out.append((path, number, "#%s outside base" % match.group(1)))


def check_build(path, lines, out):
    for number, text in enumerate(lines, 1):
        text = text.split("#")[0]
        for target in _LABEL.findall(text):
            # Bazel itself holds testing (testonly) to tests.
            check_arrow(path, number, target, True, out)
        for library in _EXTERNAL_LABEL.findall(text):
            check_external(path, number, library, out)


def check_licence(path, lines, out):
    first = 1 if lines and lines[0].startswith("#!") else 0
    # A shebang may be followed by an empty line.
    if LICENCE not in "".join(lines[first : first + 2]):
        out.append((path, first + 1, "the first line must say " + LICENCE))


def check_size(path, lines, out):
    name = os.path.basename(path)
    limit = BUDGETS.get(name if name == "BUILD" else os.path.splitext(name)[1])
    if limit and len(lines) > limit:
        out.append((path, limit + 1, "%d lines, the budget is %d" % (len(lines), limit)))


def check_test(path, text, out):
    if not path.endswith(("_test.cc", "_test.cu")):
        return
    if not _TEST_MACRO.search(text):
        out.append((path, 1, "a test file without a TEST"))
    elif not _EXPECTATION.search(text):
        out.append((path, 1, "a test file that expects nothing"))
    for match in _EMPTY_TEST.finditer(text):
        out.append((path, text.count("\n", 0, match.start(1)) + 1, "TEST(%s) is empty" % match.group(1)))


def check_file(path, text, testonly=()):
    """The findings (path, line, what) of one file; `path` is relative to the root."""
    out = []
    lines = text.splitlines()
    if path.endswith(LICENSED):
        check_licence(path, lines, out)
        for number, line in enumerate(lines, 1):
            if _LEFTOVER.search(line):
                out.append((path, number, "a leftover: " + _LEFTOVER.search(line).group(1)))
    check_size(path, lines, out)
    if os.path.basename(path) == "BUILD":
        check_build(path, lines, out)
    if path.endswith(CODE) and folder(path) in ARROWS:
        check_includes(path, lines, is_test(path) or path in testonly, out)
        check_conditionals(path, lines, out)
        check_test(path, text, out)
        if path.endswith((".h", ".cuh")):
            check_guard(path, lines, out)
    return out


def main(argv):
    here = os.path.dirname(os.path.abspath(__file__))
    root = argv[1] if len(argv) > 1 else os.path.dirname(os.path.dirname(here))
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=root, check=True, stdout=subprocess.PIPE, text=True).stdout
    texts = {}
    for path in filter(None, listing.split("\0")):
        full = os.path.join(root, path)
        if path.endswith(LICENSED) and os.path.isfile(full):
            with open(full, encoding="utf-8") as f:
                texts[path] = f.read()
    testonly = set()
    for path, text in texts.items():
        if os.path.basename(path) == "BUILD":
            testonly |= testonly_files(path, text)
    findings = [finding for path, text in texts.items() for finding in check_file(path, text, testonly)]
    for finding in findings:
        print("%s:%d: %s" % finding)
    print("layers: %d files, %d findings" % (len(texts), len(findings)))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
