# SPDX-License-Identifier: Apache-2.0

"""@nlohmann_json: JSON for Modern C++, headers only."""

load("//third_party:system.bzl", "PREAMBLE", "require", "workspace_file", "wrapper")

def _impl(ctx):
    workspace_file(ctx)
    require(ctx, "nlohmann/json", "nlohmann-json3-dev", "nlohmann/json.hpp")
    ctx.file("BUILD", PREAMBLE + wrapper("json"))

nlohmann_json_repository = repository_rule(implementation = _impl, local = True)
