#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import compile_commands


class CompileCommandsTest(unittest.TestCase):
    def test_cpp(self):
        got = compile_commands.command(
            {
                "mnemonic": "CppCompile",
                "arguments": ["gcc", "-iquote", "external/x", "-isystemexternal/y", "-fno-canonical-system-headers", "-c", "io/a.cc", "-o", "a.o"],
            },
            "/tree",
            "/base",
        )
        self.assertEqual((got["directory"], got["file"]), ("/tree", "io/a.cc"))
        self.assertEqual(got["arguments"], ["gcc", "-iquote", "/base/external/x", "-isystem/base/external/y", "-c", "io/a.cc", "-o", "a.o"])

    def test_foreign_sources_are_left_out(self):
        action = {"mnemonic": "CppCompile", "arguments": ["gcc", "-c", "external/x/a.cc"]}
        self.assertIsNone(compile_commands.command(action, "/tree", "/base"))

    def test_cuda(self):
        wrapper = ["wrapper.sh", "a.inputs", "13.0", "gcc", "/cuda/bin/nvcc"]
        flags = ["-O3", "-gencode", "arch=x", "-std=c++17", "-Xcompiler=-iquote,.", "-x", "cu", "-c", "io/a.cu", "-o", "a.o"]
        got = compile_commands.command({"mnemonic": "CudaCompile", "arguments": wrapper + flags}, "/tree", "/base")
        self.assertEqual(got["file"], "io/a.cu")
        self.assertEqual(got["arguments"][:4], ["clang++", "-x", "cuda", "--cuda-path=/cuda"])
        self.assertEqual(got["arguments"][-5:], ["-std=c++17", "-iquote", ".", "-c", "io/a.cu"])


if __name__ == "__main__":
    unittest.main()
