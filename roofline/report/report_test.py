#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads what example wrote with a parser of its own.

usage: report_test.py BINARY
"""
import html.parser
import os
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

BINARY = sys.argv.pop(1)
SVG = "{http://www.w3.org/2000/svg}"
WIDTH = 324.0


class Page(html.parser.HTMLParser):
    """A browser's view: open elements, text, and what would be fetched."""

    VOID = {"meta", "br", "hr", "img", "input"}

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.links, self.text = [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [v for k, v in attrs if k in ("src", "href", "xlink:href")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, (self.open, tag)
        self.open.pop()

    def handle_data(self, data):
        self.text.append(data)


class ReportTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        subprocess.run([BINARY, cls.folder.name], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def files(self, ending):
        found = [
            os.path.join(at, name)
            for at, _, names in os.walk(self.folder.name)
            for name in names
            if name.endswith(ending)
        ]
        self.assertTrue(found, ending)
        return sorted(found)

    def test_every_file_is_well_formed(self):
        for path in self.files(".svg"):
            self.assertEqual(ElementTree.parse(path).getroot().tag, SVG + "svg", path)
        for path in self.files(".html"):
            self.assertEqual(ElementTree.parse(path).getroot().tag, "html", path)
        self.assertEqual(len(self.files(".html")), 3)
        self.assertEqual(len(self.files(".svg")), 8)

    def test_pages_need_no_script_and_no_other_file(self):
        for path in self.files(".html"):
            page = Page()
            page.feed(open(path, encoding="utf-8").read())
            page.close()
            self.assertEqual(page.open, [], path)
            self.assertNotIn("script", page.tags, path)
            self.assertEqual(page.links, [], path)

    def test_odd_names_are_text(self):
        path = os.path.join(self.folder.name, "odd.html")
        root = ElementTree.parse(path).getroot()
        self.assertEqual(root.find("body/h1").text, "<b>&\"' \u00e9 ? ? ]]> --")
        self.assertIsNone(root.find(".//b"))

    def test_every_number_of_the_table_is_in_the_page(self):
        path = os.path.join(self.folder.name, "full.html")
        root = ElementTree.parse(path).getroot()
        rows = [[c.text or "" for c in r.iter("td")] for r in root.iter("tr")]
        rows = [r for r in rows if len(r) == 5]
        self.assertEqual(len(rows), 7 * 8)
        sizes = {(m, n) for m, n, *_ in rows}
        self.assertEqual(len(sizes), 7 * 8)
        for m, n, _, _, speed in rows:
            want = 2.0 - 6.0 / (int(m).bit_length() - 1) + 0.01 * int(n) / 4096
            self.assertAlmostEqual(float(speed), want, delta=1e-4 * want)

    def test_shapes_and_text_stay_inside(self):
        for path in self.files(".svg"):
            root = ElementTree.parse(path).getroot()
            height = float(root.get("height"))
            self.assertEqual(float(root.get("width")), WIDTH)
            for rect in root.iter(SVG + "rect"):
                x, w = float(rect.get("x")), float(rect.get("width"))
                y, h = float(rect.get("y")), float(rect.get("height"))
                self.assertTrue(-0.1 <= x and x + w <= WIDTH + 0.1, path)
                self.assertTrue(-0.1 <= y and y + h <= height + 0.1, path)
            for circle in root.iter(SVG + "circle"):
                self.assertTrue(0 <= float(circle.get("cx")) <= WIDTH, path)
                self.assertTrue(0 <= float(circle.get("cy")) <= height, path)
            for text in root.iter(SVG + "text"):
                width = 6.2 * len(text.text)
                x = float(text.get("x"))
                anchor = text.get("class").split()[0]
                left = {"end": x - width, "middle": x - width / 2}.get(anchor, x)
                self.assertTrue(-1 <= left and left + width <= WIDTH + 20, (path, text.text))
                self.assertTrue(0 <= float(text.get("y")) <= height, (path, text.text))

    def test_letters_are_large_enough_for_a_phone(self):
        for path in self.files(".svg") + self.files(".html"):
            for size in re.findall(r"font(?:-size)?:\s*([\d.]+)px", open(path, encoding="utf-8").read()):
                self.assertGreaterEqual(float(size), 12, path)


if __name__ == "__main__":
    unittest.main()
