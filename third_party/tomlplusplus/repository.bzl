# SPDX-License-Identifier: Apache-2.0

"""@tomlplusplus: TOML parser, used as headers so that programs carry it."""

load("//third_party:system.bzl", "PREAMBLE", "require", "workspace_file", "wrapper")

def _impl(ctx):
    workspace_file(ctx)
    require(ctx, "toml++", "libtomlplusplus-dev", "toml++/toml.h")
    ctx.file("BUILD", PREAMBLE + wrapper("tomlplusplus", defines = ["TOML_HEADER_ONLY=1"]))

tomlplusplus_repository = repository_rule(implementation = _impl, local = True)
