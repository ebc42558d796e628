#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each rule of layers.py fires on a sample that breaks it, and on no other."""
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import layers

L = "// " + layers.LICENCE + "\n"
B = "# " + layers.LICENCE + "\n"


def header(path, body=""):
    g = layers.guard(path)
    return "%s\n// Contract.\n#ifndef %s\n#define %s\n%s\n#endif  // %s\n" % (L, g, g, body, g)


class LayersTest(unittest.TestCase):
    def good(self, path, text):
        self.assertEqual(layers.check_file(path, text), [])

    def bad(self, path, text, *parts):
        """One finding, whose text holds the parts."""
        found = layers.check_file(path, text)
        self.assertEqual(len(found), 1, found)
        for part in parts:
            self.assertIn(part, found[0][2])

    def test_clean(self):
        self.good("float8/cast.h", header("float8/cast.h", '#include "base/tensor.h"\n'))
        self.good("tools/train.cc", L + '#include "train/step.h"\n#include "toml++/toml.h"\n')

    def test_arrows_of_includes(self):
        self.bad("base/a.cc", L + '#include "float8/cast.h"\n', "base must not use float8")
        self.bad("float8/a.cc", L + '#include "roofline/bound.h"\n', "float8 must not use roofline")
        self.bad("models/a.cc", L + '#include "train/step.h"\n', "models must not use train", "fsdp")
        self.good("models/a.cc", L + '#include "float8/linear.h"\n#include "fsdp/param_store.h"\n')

    def test_arrows_of_labels(self):
        self.bad("io/BUILD", B + 'deps = ["//train:step"]\n', "io must not use train")
        self.bad("io/BUILD", B + 'deps = ["@octet//train:step"]\n', "io must not use train")
        self.good("io/BUILD", B + 'deps = ["//base:dtype", "//testing:goldens", "//third_party/openmp"]\n')
        self.good("io/BUILD", B + '# not a dependency: "//train:step"\n')

    def test_testing_is_for_tests(self):
        self.bad("train/a.cc", L + '#include "testing/goldens.h"\n', "is for tests")
        self.good("train/a_test.cc", L + '#include "testing/goldens.h"\nTEST(A, B) { EXPECT_TRUE(F()); }\n')
        self.good("train/a_benchmark.cc", L + '#include "testing/random.h"\n')

    def test_testonly_libraries_are_tests(self):
        build = 'cc_library(\n    name = "a",\n    testonly = True,\n    srcs = ["suite.cc"],\n)\n\ncc_library(\n    srcs = ["b.cc"],\n)\n'
        testonly = layers.testonly_files("fsdp/BUILD", build)
        self.assertEqual(testonly, {"fsdp/suite.cc"})
        build = '[\n    cc_test(\n        srcs = srcs,\n    )\n    for srcs in [["c.h", "c_test.cc"]]\n]\n\ncc_library(\n    hdrs = ["d.h"],\n)\n'
        self.assertEqual(layers.testonly_files("io/BUILD", build), {"io/c.h", "io/c_test.cc"})
        text = L + '#include "testing/goldens.h"\n'
        self.assertEqual(layers.check_file("fsdp/suite.cc", text, testonly), [])
        self.assertEqual(len(layers.check_file("fsdp/b.cc", text, testonly)), 1)

    def test_external_libraries(self):
        self.bad("base/BUILD", B + '"@nlohmann_json//:json"\n', "base must not use @nlohmann_json")
        self.bad("io/a.cc", L + '#include "dnnl.hpp"\n', "io must not use @onednn")
        self.bad("models/a.cc", L + "#include <toml++/toml.h>\n", "models must not use @tomlplusplus")
        self.good("io/a.cc", L + '#include "nlohmann/json.hpp"\n')

    def test_guards(self):
        self.assertEqual(layers.guard("float8/cast.h"), "OCTET_FLOAT8_CAST_H_")
        self.bad("io/a.h", header("io/b.h").replace("#ifndef OCTET_IO_B_H_", "#ifndef OCTET_IO_A_H_"), "OCTET_IO_A_H_")
        self.bad("base/a.h", L + "#pragma once\nint F();\n", "OCTET_BASE_A_H_")
        self.bad("float8/a.cuh", L + "int F();\n", "OCTET_FLOAT8_A_CUH_")

    def test_licence(self):
        self.bad("io/a.cc", "int F() { return 1; }\n", "first line")
        self.bad("io/BUILD", "cc_library()\n", "first line")
        self.bad("bazelw", "#!/bin/bash\necho\n", "first line")
        self.good("tools/x.sh", "#!/bin/bash\n" + B)

    def test_cuda_headers_stay_in_leaves(self):
        for text in ("#include <cuda_runtime.h>\n", '#include "cublasLt.h"\n', "#include <nccl.h>\n", "#include <cub/cub.cuh>\n"):
            self.bad("float8/cast.cc", L + text, "alone")
            self.bad("float8/cast.h", header("float8/cast.h", text), "alone")
            for leaf in ("base/cuda_status.cc", "float8/cast_cuda.cu", "float8/gemm_cuda_sm90.cc", "fsdp/collectives_nccl.cc",
                         "models/layers/cudnn/library.cc"):
                self.good(leaf, L + text)
        self.good("float8/cast_cuda.cc", L + '#include "float8/cast.h"\n#include "base/cuda_status.h"\n')
        self.bad("float8/cast.cc", L + '#include "base/cuda_status.h"\n', "a CUDA leaf's")
        self.bad("float8/cast.cc", L + '#include "float8/cast_cuda_kernel.h"\n', "a CUDA leaf's")

    def test_conditionals(self):
        for line in ("#if X", "#ifdef X", "#ifndef X"):
            self.bad("float8/a.cc", L + line + "\n#endif\n", "outside base")
        self.good("base/a.cc", L + "#ifdef _OPENMP\n#endif\n")
        x86 = "#if defined(__x86_64__)\n#else\n#endif\n"
        self.good("float8/a_kernel_encode.cc", L + x86)
        self.bad("float8/a_cpu.cc", L + x86, "outside base")
        self.bad("float8/a_kernel.cc", L + "#if defined(X)\n#endif\n", "outside base")
        self.good("float8/a_cuda.cu", L + "#ifdef __CUDA_ARCH_FEAT_SM90_ALL\n#endif\n")
        self.bad("float8/a_cuda.cu", L + "#ifdef X\n#endif\n", "outside base")

    def test_sizes(self):
        self.bad("io/a.cc", L + "//\n" * 400, "401 lines", "400")
        self.good("io/a.cc", L + "//\n" * 399)
        self.bad("io/a.h", header("io/a.h", "//\n" * 150), "150")
        self.bad("io/BUILD", B + "#\n" * 300, "301 lines", "300")

    def test_tests_expect(self):
        self.bad("io/a_test.cc", L + "int x;\n", "without a TEST")
        self.bad("io/a_test.cc", L + "TEST(A, B) { F(); }\n", "expects nothing")
        self.bad("io/a_test.cc", L + "TEST(A, B) { EXPECT_EQ(1, F()); }\nTEST_F(A, C) {\n}\n", "TEST(A, C) is empty")
        self.good("io/a_test.cc", L + "TEST(A, B) { ASSERT_OK(F()); }\n")

    def test_leftovers(self):
        self.bad("io/a.cc", L + "// TO" "DO: more\n", "leftover")
        self.bad("tools/a.py", B + "# FIX" "ME\n", "leftover")

    def test_every_folder_has_a_place(self):
        for name, below in layers.ARROWS.items():
            self.assertNotIn(name, below)
            self.assertLessEqual(below, set(layers.ARROWS))


if __name__ == "__main__":
    unittest.main()
