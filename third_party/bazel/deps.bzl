# SPDX-License-Identifier: Apache-2.0

"""octet_deps(): external repositories of a WORKSPACE, this one's and a consumer's."""

load("//third_party/bazel:repositories.bzl", "REPOSITORIES")
load(
    "//third_party/bazel:stand_ins.bzl",
    "coverage_tools_stand_in",
    "rules_cc_stand_in",
    "rules_java_stand_in",
    "rules_shell_stand_in",
)

# What Bazel 4 would download for every C++ target and test.
_STAND_INS = {
    "remote_coverage_tools": coverage_tools_stand_in,
    "rules_cc": rules_cc_stand_in,
    "rules_java": rules_java_stand_in,
    "rules_shell": rules_shell_stand_in,
}

def _is_old_bazel():
    # Debian's bazel-bootstrap reports "" (a development build).
    version = native.bazel_version
    return version == "" or version[:2] in ["3.", "4."]

def octet_deps():
    """Defines each repository unless the caller has defined it already."""
    if _is_old_bazel():
        _define(_STAND_INS)
    _define(REPOSITORIES)

def _define(rules):
    for name, rule in rules.items():
        if not native.existing_rule(name):
            rule(name = name)
