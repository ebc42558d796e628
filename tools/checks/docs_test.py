#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each rule of docs.py fires on a sample that breaks it, and on no other."""
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import docs

FILES = {
    ".bazelrc": "build -c opt\nbuild:cpu --x\nbuild:asan --copt=y\n",
    "bazelw": "",
    "BUILD": "",
    "README.md": "",
    "docs/build.md": "",
    "float8/BUILD": 'cc_library(\n    name = "cast",\n)\ndevice_test(\n    name = "cast_test",\n)\ncc_library(name = "float8")\n'
    '[\n    cc_library(\n        name = name + "_cuda",\n    )\n    for name in {\n        "amax": [],\n    }\n]\n'
    '[\n    device_test(\n        name = name,\n    )\n    for name, srcs in [\n        ("gemm_test", [\n        ]),\n    ]\n]\n',
    "float8/cast.cc": "",
    "float8/cast.h": "",
    "float8/cast_cuda.cu": "",
    "tools/BUILD": 'cc_binary(name = "train")\n',
    "tools/presubmit.sh": "",
}
TREE = docs.Tree(FILES, FILES.get)


class DocsTest(unittest.TestCase):
    def good(self, text, path="README.md"):
        self.assertEqual(docs.check_file(TREE, path, text), [])

    def bad(self, text, part, path="README.md"):
        found = docs.check_file(TREE, path, text)
        self.assertEqual(len(found), 1, found)
        self.assertIn(part, found[0][2])

    def test_paths(self):
        self.good("`float8/cast.h`, `float8/cast.h:12`, `float8/`, `float8/cast.{h,cc}`, `float8/*_cuda.cu`")
        self.bad("`float8/caste.h`", "float8/caste.h")
        self.bad("`float8/cast.{h,cpp}`", "float8/cast.cpp")
        self.bad("`float8/*_nccl.cc`", "float8/*_nccl.cc")

    def test_template_marks(self):
        self.good("`@@ -1,2 +3,4 @@`, `a@@b`, @@, `@onednn//:onednn`")
        self.bad("Trained: @@TRAIN_OUTPUT@@", "@@TRAIN_OUTPUT@@")
        self.bad("```\n@@TRAIN_OUTPUT@@\n```", "@@TRAIN_OUTPUT@@")
        self.bad("`x @@loss_1@@`", "@@loss_1@@")

    def test_not_paths(self):
        self.good("`a/b`, `and/or`, `1/2`, `~/.cache/octet`, `/usr/local/cuda`, `docs/numbers/<gpu>.md`, float8/none.h")

    def test_labels(self):
        self.good("`//float8:cast`, `//float8`, `//float8:cast_test_cuda`, `//...`, `//float8/...`, `//float8:all`, `//float8:cast.h`")
        self.good("`//float8:amax_cuda`, `//float8:gemm_test_cuda`")
        self.bad("`//float8:amax`", "//float8:amax")
        self.bad("`//float8:caste`", "//float8:caste")
        self.bad("`//float9:cast`", "no package //float9")
        self.bad("`//nothing/...`", "no folder")
        self.bad("```\nbazel build //float8:caste\n```", "//float8:caste")

    def test_not_labels(self):
        self.good("`@onednn//:onednn` `https://x.org/y` `@octet//float8:nothing`\n```cpp\nint x;  // a comment\n```")

    def test_commands(self):
        self.good("```\n./bazelw run //tools:train -- --config=job.toml\n./bazelw test --config=asan --config=cpu //...\n```")
        self.good("`--config=cuda`, `./bazelw`, `./bazelw VERB`".replace(" VERB", ""))
        self.bad("`./bazelw trian //tools:train`", "trian")
        self.bad("```\n./bazelw run //tools:trian\n```", "//tools:trian")
        self.bad("`./bazelw test --config=msan //...`", "msan")

    def test_scripts(self):
        self.good("`tools/presubmit.sh`\n```\ntools/presubmit.sh format\n```")
        self.bad("```\ntools/presubmi.sh format\n```", "tools/presubmi.sh")

    def test_links(self):
        self.good("[a](docs/build.md) [b](docs/build.md#x) [c](#x) [d](https://x.org) [e](float8/cast.h \"t\")")
        self.good("[a](../README.md) [b](build.md)", "docs/build.md")
        self.bad("[a](docs/none.md)", "docs/none.md")
        self.bad("[a](docs/build.md)", "docs/build.md", "docs/build.md")


if __name__ == "__main__":
    unittest.main()
