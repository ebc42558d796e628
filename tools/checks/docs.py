#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that what the .md files name exists.

usage: docs.py [ROOT]    (tracked .md files of ROOT, default this repository)

Links, paths (`float8/cast.h`), labels (`//tools:train`), and in code the commands
`./bazelw VERB ...` with their labels and --config=NAME. A placeholder such as
<name> and a pattern such as float8/*_cuda.cu may stand in a path; a pattern must
match something. Nothing that a template leaves, @@WORD@@, may stand anywhere.
Prints `file:line: what` and exits 1.
"""
import fnmatch
import itertools
import os
import re
import subprocess
import sys

VERBS = {"aquery", "build", "clean", "coverage", "cquery", "fetch", "help", "info", "query", "run", "shutdown", "test", "version"}

_FENCE = re.compile(r"^\s*(```|~~~)")
_SPAN = re.compile(r"`([^`\n]+)`")
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)(?:\s+\"[^\"]*\")?\)")
_LABEL = re.compile(r"(?<![\w:/@.])(//[\w./+-]*(?::[\w./+*-]+)?)")
_COMMAND = re.compile(r"(?:^|[\s;&|(])\./bazelw(?:\s+(?P<args>[^;&|)\n]*))?")
_SCRIPT = re.compile(r"(?:^|[\s;&|(])\.?/?((?:[\w.-]+/)*[\w.-]+\.(?:sh|py))\b")
_MARK = re.compile(r"@@\w+@@")
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}|\[([^\[\]|]*\|[^\[\]]*)\]")


class Tree:
    """The tracked files of a repository."""

    def __init__(self, files, read):
        self.files = set(files)
        self.read = read
        self.folders = {""}
        for path in self.files:
            while "/" in path:
                path = path.rsplit("/", 1)[0]
                self.folders.add(path)
        self.top = {p.split("/")[0] for p in self.files}
        self._names = {}

    def exists(self, path):
        path = path.rstrip("/")
        if path in self.files or path in self.folders:
            return True
        return "*" in path and any(fnmatch.fnmatch(f, path) for f in self.files | self.folders)

    def targets(self, package):
        """Names of the package's targets, or None if there is no such package."""
        build = package + "/BUILD" if package else "BUILD"
        if build not in self.files:
            return None
        if package not in self._names:
            text = self.read(build)
            names = set(re.findall(r'\bname\s*=\s*"([^"]+)"', text))
            for call in re.findall(r'\bdevice_test\(\s*name\s*=\s*"([^"]+)"', text):
                names |= {call + "_cpu", call + "_cuda"}
            # Tables, [RULE(name = name + "_suffix", ...) for name in ...]: a row is "x" as the first of a tuple or a key.
            for table in re.findall(r"^\[\n.*?^\]", text, re.M | re.S):
                rows = set(re.findall(r'^\s*\(?"(\w+)"\s*[,:]', table, re.M))
                suffix = re.search(r'\bname\s*=\s*name\s*\+\s*"(\w+)"', table)
                names |= {row + (suffix.group(1) if suffix else "") for row in rows}
                if "device_test(" in table:
                    names |= {row + device for row in rows for device in ("_cpu", "_cuda")}
            self._names[package] = names
        return self._names[package]

    def configs(self):
        return set(re.findall(r"^\w+:(\w+)\s", self.read(".bazelrc"), re.M)) if ".bazelrc" in self.files else set()


def label_problem(tree, label):
    package, colon, name = label[2:].partition(":")
    package = package.rstrip("/")
    if package == "..." or package.endswith("/..."):
        below = package[: -len("...")].rstrip("/")
        ok = below in tree.folders and not colon
        return None if ok or name in ("all", "*") else "no folder %s" % label
    names = tree.targets(package)
    if names is None:
        return "no package %s (%s)" % ("//" + package, label)
    name = name or package.split("/")[-1]
    if name in names or name in ("all", "*") or (package + "/" + name).lstrip("/") in tree.files:
        return None
    return "no target %s" % label


def expand(path):
    """a.{h,cc} -> a.h, a.cc;  cast[_cpu|_cuda].cc -> cast_cpu.cc, cast_cuda.cc"""
    match = _BRACES.search(path)
    if not match:
        return [path]
    parts = match.group(1).split(",") if match.group(1) is not None else match.group(2).split("|")
    return list(itertools.chain(*[expand(path[: match.start()] + p.strip() + path[match.end() :]) for p in parts]))


def path_problem(tree, text):
    """A code span that is a path below a folder of the repository."""
    text = re.sub(r":\d+(-\d+)?$", "", text)
    if not re.fullmatch(r"[\w.*/{},\[\]|+-]+", text) or "/" not in text.strip("/") + "/":
        return None
    first = text.split("/")[0]
    if "/" not in text or first not in tree.top or first not in tree.folders:
        return None
    for path in expand(text):
        if not tree.exists(path):
            return "no file or folder %s" % path
    return None


def command_problems(tree, text):
    for match in _COMMAND.finditer(text):
        words = (match.group("args") or "").split()
        verbs = [w for w in words if not w.startswith("-")]
        if verbs and not re.search(r"[.<\[]", verbs[0]) and verbs[0] not in VERBS:
            yield "bazel has no command %s" % verbs[0]
        for word in words[: words.index("--")] if "--" in words else words:
            if word.startswith("--config="):
                for name in re.split(r"\W", word[len("--config=") :]):
                    if name and name not in tree.configs():
                        yield ".bazelrc has no configuration %s" % name
        if "bazelw" not in tree.files:
            yield "no file bazelw"
    for match in _SCRIPT.finditer(text):
        script = match.group(1)
        if "/" in script and script.split("/")[0] in tree.folders and not tree.exists(script):
            yield "no file %s" % script


def code_problems(tree, text):
    """Of a line of a code block, or of a code span."""
    for label in _LABEL.findall(text):
        if label != "//":
            problem = label_problem(tree, label if label.endswith("...") else label.rstrip("."))
            if problem:
                yield problem
    yield from command_problems(tree, text)


def link_problem(tree, path, link):
    if re.match(r"[a-z]+:|#", link):
        return None
    target = os.path.normpath(os.path.join(os.path.dirname(path), link.split("#")[0]))
    return None if tree.exists("" if target == "." else target) else "a broken link: %s" % link


def check_file(tree, path, text):
    out, fenced = [], False
    for number, line in enumerate(text.splitlines(), 1):
        out += [(path, number, "left over from a template: %s" % mark) for mark in _MARK.findall(line)]
        if _FENCE.match(line):
            fenced = not fenced
            continue
        problems = []
        if fenced:
            # What follows // in a block of C++ is a comment, with a space.
            problems += code_problems(tree, line)
        else:
            for span in _SPAN.findall(line):
                problems += code_problems(tree, span)
                problems.append(path_problem(tree, span))
            for link in _LINK.findall(_SPAN.sub("", line)):
                problems.append(link_problem(tree, path, link))
        out += [(path, number, p) for p in dict.fromkeys(problems) if p]
    return out


def main(argv):
    here = os.path.dirname(os.path.abspath(__file__))
    root = argv[1] if len(argv) > 1 else os.path.dirname(os.path.dirname(here))
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=root, check=True, stdout=subprocess.PIPE, text=True).stdout

    def read(path):
        with open(os.path.join(root, path), encoding="utf-8") as f:
            return f.read()

    files = [f for f in listing.split("\0") if f and os.path.lexists(os.path.join(root, f))]
    tree = Tree(files, read)
    texts = sorted(f for f in files if f.endswith(".md"))
    findings = [finding for f in texts for finding in check_file(tree, f, read(f))]
    for finding in findings:
        print("%s:%d: %s" % finding)
    print("docs: %d files, %d findings" % (len(texts), len(findings)))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
