#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""coverage_report_generator: joins the lcov files that --reports_file names."""
import os
import sys


def main():
    opts = dict(a.lstrip("-").partition("=")[::2] for a in sys.argv[1:])
    files = {}
    with open(opts["reports_file"]) as f:
        reports = [line.strip() for line in f if line.strip()]
    for report in reports:
        if not os.path.exists(report):
            continue
        cur = None
        with open(report) as f:
            for line in f:
                line = line.strip()
                if line.startswith("SF:"):
                    cur = files.setdefault(line[3:], {"DA": {}, "FN": {}, "FNDA": {}})
                elif line.startswith("DA:"):
                    n, c = line[3:].split(",")[:2]
                    cur["DA"][int(n)] = cur["DA"].get(int(n), 0) + int(c)
                elif line.startswith("FN:"):
                    start, name = line[3:].split(",", 1)
                    cur["FN"][name] = int(start)
                elif line.startswith("FNDA:"):
                    c, name = line[5:].split(",", 1)
                    cur["FNDA"][name] = cur["FNDA"].get(name, 0) + int(c)
    with open(opts["output_file"], "w") as out:
        for name, d in sorted(files.items()):
            out.write("SF:%s\n" % name)
            for fn, start in sorted(d["FN"].items(), key=lambda kv: kv[1]):
                out.write("FN:%d,%s\nFNDA:%d,%s\n" % (start, fn, d["FNDA"].get(fn, 0), fn))
            for n, c in sorted(d["DA"].items()):
                out.write("DA:%d,%d\n" % (n, c))
            out.write("LH:%d\nLF:%d\nend_of_record\n" % (sum(1 for c in d["DA"].values() if c), len(d["DA"])))


main()
