# SPDX-License-Identifier: Apache-2.0

"""@onednn: CPU matrix products (dnnl.hpp), a shared library over OpenMP (libgomp)."""

load("//third_party:system.bzl", "PREAMBLE", "require", "workspace_file", "wrapper")

def _impl(ctx):
    workspace_file(ctx)
    require(ctx, "oneDNN", "libdnnl-dev", "dnnl.hpp", ["libdnnl.so", "libdnnl.a"])
    ctx.file("BUILD", PREAMBLE + wrapper("onednn", ["-ldnnl"]))

onednn_repository = repository_rule(implementation = _impl, local = True)
