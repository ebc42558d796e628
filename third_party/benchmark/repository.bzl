# SPDX-License-Identifier: Apache-2.0

"""@com_github_google_benchmark: Debian's Google Benchmark (a shared library)."""

load("//third_party:system.bzl", "PREAMBLE", "require", "workspace_file", "wrapper")

def _impl(ctx):
    workspace_file(ctx)
    require(ctx, "Google Benchmark", "libbenchmark-dev", "benchmark/benchmark.h", ["libbenchmark.so", "libbenchmark.a"])
    ctx.file("BUILD", PREAMBLE +
                      wrapper("benchmark", ["-lbenchmark", "-lpthread"]) +
                      wrapper("benchmark_main", ["-lbenchmark_main"], [":benchmark"]))

benchmark_repository = repository_rule(implementation = _impl, local = True)
