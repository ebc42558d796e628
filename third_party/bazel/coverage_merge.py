#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""lcov_merger for `bazel coverage`: gcov's JSON files of one test -> one lcov file."""
import glob
import gzip
import json
import os
import re
import sys


def main():
    opts = {"filter_sources": []}
    for arg in sys.argv[1:]:
        key, _, value = arg.lstrip("-").partition("=")
        if key == "filter_sources":
            opts[key].append(re.compile(value))
        else:
            opts[key] = value
    lines = {}
    functions = {}
    for path in glob.glob(os.path.join(opts["coverage_dir"], "**", "*.gcov.json.gz"), recursive=True):
        with gzip.open(path) as f:
            data = json.load(f)
        for entry in data["files"]:
            name = entry["file"]
            name = name.split("/proc/self/cwd/")[-1]
            if os.path.isabs(name) or any(r.fullmatch(name) for r in opts["filter_sources"]):
                continue
            hits = lines.setdefault(name, {})
            for line in entry["lines"]:
                n = line["line_number"]
                hits[n] = hits.get(n, 0) + line["count"]
            fns = functions.setdefault(name, {})
            for fn in entry["functions"]:
                key = (fn["start_line"], fn["name"])
                fns[key] = fns.get(key, 0) + fn["execution_count"]
    with open(opts["output_file"], "w") as out:
        for name in sorted(lines):
            out.write("SF:%s\n" % name)
            for (start, fn), count in sorted(functions[name].items()):
                out.write("FN:%d,%s\nFNDA:%d,%s\n" % (start, fn, count, fn))
            for n, count in sorted(lines[name].items()):
                out.write("DA:%d,%d\n" % (n, count))
            out.write("LH:%d\nLF:%d\nend_of_record\n" % (sum(1 for c in lines[name].values() if c), len(lines[name])))


main()
