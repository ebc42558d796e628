#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
import contextlib
import io
import json
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import test_summary

XML = """<testsuites><testsuite>
<testcase name="a" status="run" result="completed"/>
<testcase name="b" status="run" result="completed">%s</testcase>
<testcase name="c" status="run" result="skipped"><skipped message=""/></testcase>
<testcase name="d" status="notrun" result="suppressed"/>
</testsuite></testsuites>"""


class TestSummaryTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def write(self, name, text):
        path = os.path.join(self.folder.name, name)
        with open(path, "w") as f:
            f.write(text)
        return path

    def result(self, name, status, xml=None):
        outputs = [{"name": "test.log", "uri": "file:///none"}]
        if xml:
            outputs.append({"name": "test.xml", "uri": "file://" + self.write(name + ".xml", xml)})
        return {"id": {"testResult": {"label": "//x:" + name}}, "testResult": {"status": status, "testActionOutput": outputs}}

    def run_main(self, events, checks=None):
        argv = ["", self.write("events", "".join(json.dumps(e) + "\n" for e in events))]
        if checks is not None:
            argv.append(self.write("checks", checks))
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            code = test_summary.main(argv)
        return code, out.getvalue().splitlines()

    def test_counts_cases_and_checks(self):
        code, out = self.run_main([self.result("a b", "PASSED", XML % "")], "format passed\ncuda skipped\n")
        self.assertEqual((code, out), (0, ["3 passed, 0 failed, 3 skipped"]))

    def test_failed_case(self):
        code, out = self.run_main([self.result("a", "FAILED", XML % "<failure/>")])
        self.assertEqual((code, out), (1, ["1 passed, 1 failed, 2 skipped"]))

    def test_crash_after_passed_cases(self):
        code, out = self.run_main([self.result("a", "FAILED", XML % "")])
        self.assertEqual((code, out[-1]), (1, "2 passed, 1 failed, 2 skipped"))

    def test_timeout_without_cases(self):
        code, out = self.run_main([self.result("a", "TIMEOUT"), self.result("b", "PASSED", XML % "")])
        self.assertEqual((code, out[-1]), (1, "2 passed, 1 failed, 2 skipped"))

    def test_failed_check(self):
        code, out = self.run_main([self.result("a", "PASSED", XML % "")], "docs failed\n")
        self.assertEqual((code, out), (1, ["failed: check docs", "2 passed, 1 failed, 2 skipped"]))

    def test_not_built_and_incompatible(self):
        done = {"id": {"targetCompleted": {"label": "//x:y"}}, "completed": {"success": True}}
        broken = {"id": {"targetCompleted": {"label": "//x:z"}}, "completed": {}}
        skipped = {"id": {"targetCompleted": {"label": "//x:cuda"}}, "aborted": {"reason": "SKIPPED"}}
        good = self.result("a", "PASSED", XML % "")
        self.assertEqual(self.run_main([good, done, skipped])[0], 0)
        self.assertEqual(self.run_main([good, broken]), (1, ["not built: //x:z", "2 passed, 1 failed, 2 skipped"]))

    def test_broken_build_file(self):
        event = {"id": {"pattern": {"pattern": ["//..."]}}, "aborted": {"reason": "LOADING_FAILURE", "description": "syntax"}}
        self.assertEqual(self.run_main([event])[1][0], "not loaded: //...: syntax")

    def test_nothing_ran(self):
        self.assertEqual(self.run_main([]), (1, ["0 passed, 0 failed, 0 skipped"]))
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            self.assertEqual(test_summary.main(["", "/none/events", "/none/checks"]), 1)
        self.assertIn("0 passed, 2 failed, 0 skipped", out.getvalue())


if __name__ == "__main__":
    unittest.main()
