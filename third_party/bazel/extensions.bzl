# SPDX-License-Identifier: Apache-2.0

"""Module extension (Bazel 7 and later): what deps.bzl does for a WORKSPACE."""

load("//third_party/bazel:repositories.bzl", "REPOSITORIES")

def _system_impl(_ctx):
    for name, rule in REPOSITORIES.items():
        rule(name = name)

system = module_extension(implementation = _system_impl)
