#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts what one run of the tests and the checks gave.

usage: test_summary.py EVENTS [CHECKS]

EVENTS is what `bazel test --build_event_json_file=EVENTS` wrote: the cases are
read from each target's test.xml, cached ones included; a target that was not
built is one failure. CHECKS has a line `NAME passed|failed|skipped` a check.
Prints `N passed, N failed, N skipped` last; exits 1 if anything failed or nothing
passed.
"""
import json
import sys
import urllib.parse
import xml.etree.ElementTree as ET


def case_result(case):
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    if case.find("skipped") is not None or case.get("result") == "skipped" or case.get("status") == "notrun":
        return "skipped"
    return "passed"


def read_cases(event):
    """The results of the cases in one testResult event's test.xml files."""
    out = []
    for output in event["testResult"].get("testActionOutput", []):
        if output["name"] == "test.xml":
            path = urllib.parse.unquote(urllib.parse.urlparse(output["uri"]).path)
            out += [case_result(c) for c in ET.parse(path).getroot().iter("testcase")]
    return out


def count_events(events, counts, say):
    for event in events:
        if "testResult" in event:
            # Only the last attempt of a shard counts, and here there is one.
            cases = read_cases(event)
            passed = event["testResult"]["status"] in ("PASSED", "FLAKY")
            if not passed and "failed" not in cases:
                say("failed without a failed case: %s (%s)" % (event["id"]["testResult"]["label"], event["testResult"]["status"]))
                cases.append("failed")
            for result in cases:
                counts[result] += 1
        target = event["id"].get("targetCompleted", {}).get("label")
        # Targets that need CUDA, without it, are aborted as SKIPPED.
        reason = event.get("aborted", {}).get("reason")
        if target and ((reason and reason != "SKIPPED") or ("completed" in event and not event["completed"].get("success"))):
            say("not built: %s" % target)
            counts["failed"] += 1
        if "pattern" in event["id"] and reason:
            say("not loaded: %s: %s" % (" ".join(event["id"]["pattern"].get("pattern", [])), event["aborted"].get("description", reason)))
            counts["failed"] += 1


def count_checks(lines, counts, say):
    for line in lines:
        name, result = line.split()
        counts[result] += 1
        if result == "failed":
            say("failed: check %s" % name)


def main(argv):
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    try:
        with open(argv[1], encoding="utf-8") as f:
            count_events([json.loads(line) for line in f if line.strip()], counts, print)
    except (OSError, ValueError) as e:
        print("no events of the tests: %s" % e)
        counts["failed"] += 1
    if len(argv) > 2:
        try:
            with open(argv[2], encoding="utf-8") as f:
                count_checks(f, counts, print)
        except OSError as e:
            print("no results of the checks: %s" % e)
            counts["failed"] += 1
    print("%(passed)d passed, %(failed)d failed, %(skipped)d skipped" % counts)
    return 1 if counts["failed"] or not counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
