# SPDX-License-Identifier: Apache-2.0

"""OpenMP of the compiler: gcc's libgomp (which oneDNN shares) or clang's libomp.

A target that has omp pragmas says copts = OPENMP_COPTS and depends on
//third_party/openmp. Serial under --config=tsan, whose checker does not see
into either runtime: code must compile and work without -fopenmp.
"""

OPENMP_COPTS = select({
    str(Label("//third_party/openmp:off")): ["-Wno-unknown-pragmas"],
    "//conditions:default": ["-fopenmp"],
})
