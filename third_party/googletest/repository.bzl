# SPDX-License-Identifier: Apache-2.0

"""@com_google_googletest: Debian's prebuilt GoogleTest and GoogleMock."""

load("//third_party:system.bzl", "PREAMBLE", "require", "workspace_file", "wrapper")

def _impl(ctx):
    workspace_file(ctx)
    require(ctx, "GoogleTest", "libgtest-dev and libgmock-dev", "gmock/gmock.h", ["libgmock.a", "libgmock.so"])
    require(ctx, "GoogleTest", "libgtest-dev and libgmock-dev", "gtest/gtest.h", ["libgtest.a", "libgtest.so"])

    # gmock_main serves tests that use gtest alone as well.
    ctx.file("BUILD", PREAMBLE +
                      wrapper("gtest", ["-lgmock", "-lgtest", "-lpthread"]) +
                      wrapper("gtest_main", ["-lgmock_main"], [":gtest"]))

googletest_repository = repository_rule(implementation = _impl, local = True)
