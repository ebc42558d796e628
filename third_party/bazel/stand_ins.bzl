# SPDX-License-Identifier: Apache-2.0

"""Repositories that Bazel 4 would otherwise download, written from here.

Bazel 4's own tools load @rules_cc and @rules_java for every C++ target, and
each test target depends on @remote_coverage_tools. None of them is needed for
what this project builds, so small stand-ins keep the build offline.
"""

_CC_RULES = [
    "cc_binary",
    "cc_import",
    "cc_library",
    "cc_proto_library",
    "cc_test",
    "cc_toolchain",
    "cc_toolchain_suite",
    "objc_library",
]

_JAVA_RULES = [
    "java_binary",
    "java_import",
    "java_library",
    "java_proto_library",
    "java_runtime",
    "java_test",
    "java_toolchain",
]

def _forward(rules):
    return "".join(["%s = native.%s\n" % (r, r) for r in rules])

def _rules_cc_impl(ctx):
    ctx.file("WORKSPACE", "workspace(name = \"rules_cc\")\n")
    ctx.file("BUILD")
    ctx.file("cc/BUILD", "exports_files([\"defs.bzl\"])\n")
    ctx.file("cc/defs.bzl", _forward(_CC_RULES))

    # The load paths of current rules_cc, so that .bzl files here work with both.
    ctx.file("cc/private_builtins.bzl", "builtin_CcInfo = CcInfo\nbuiltin_cc_common = cc_common\n")
    ctx.file("cc/common/BUILD")
    ctx.file(
        "cc/common/cc_info.bzl",
        "load(\"//cc:private_builtins.bzl\", \"builtin_CcInfo\")\nCcInfo = builtin_CcInfo\n",
    )
    ctx.file(
        "cc/common/cc_common.bzl",
        "load(\"//cc:private_builtins.bzl\", \"builtin_cc_common\")\ncc_common = builtin_cc_common\n",
    )
    ctx.file(
        "cc/find_cc_toolchain.bzl",
        """
CC_TOOLCHAIN_ATTRS = {
    "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
}

def find_cc_toolchain(ctx):
    return ctx.attr._cc_toolchain[cc_common.CcToolchainInfo]

find_cpp_toolchain = find_cc_toolchain

def use_cc_toolchain(mandatory = False):
    return ["@bazel_tools//tools/cpp:toolchain_type"]
""",
    )

rules_cc_stand_in = repository_rule(implementation = _rules_cc_impl)

def _rules_java_impl(ctx):
    ctx.file("WORKSPACE", "workspace(name = \"rules_java\")\n")
    ctx.file("BUILD")
    ctx.file("java/BUILD", "exports_files([\"defs.bzl\"])\n")
    ctx.file("java/defs.bzl", _forward(_JAVA_RULES))

rules_java_stand_in = repository_rule(implementation = _rules_java_impl)

def _coverage_tools_impl(ctx):
    ctx.file("WORKSPACE", "workspace(name = \"remote_coverage_tools\")\n")
    ctx.file("BUILD", """
package(default_visibility = ["//visibility:public"])
sh_binary(name = "coverage_report_generator", srcs = ["report.py"])
sh_binary(name = "lcov_merger", srcs = ["merge.py"])
""")
    for f in ["report.py", "merge.py"]:
        ctx.symlink(Label("//third_party/bazel:coverage_" + f), f)

coverage_tools_stand_in = repository_rule(implementation = _coverage_tools_impl)

def _rules_shell_impl(ctx):
    ctx.file("WORKSPACE", "workspace(name = \"rules_shell\")\n")
    ctx.file("BUILD")
    ctx.file("shell/BUILD")
    for r in ["sh_binary", "sh_library", "sh_test"]:
        ctx.file("shell/%s.bzl" % r, _forward([r]))

rules_shell_stand_in = repository_rule(implementation = _rules_shell_impl)
