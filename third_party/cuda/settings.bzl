# SPDX-License-Identifier: Apache-2.0

"""Build settings of the CUDA rules."""

load("@local_cuda//:defs.bzl", "CUDA")
load(":archs.bzl", "parse_archs")

SettingInfo = provider("The value of a build setting.", fields = ["value"])

def _archs_impl(ctx):
    options, error = parse_archs(ctx.build_setting_value.split(","), CUDA.archs)
    if error:
        compiler = "nvcc " + CUDA.release if CUDA.found else "CUDA 13.0"
        fail("--cuda_archs=%s: %s knows %s" % (ctx.build_setting_value, compiler, error))
    return [SettingInfo(value = options)]

archs_setting = rule(
    implementation = _archs_impl,
    build_setting = config.string(flag = True),
)

def _words_impl(ctx):
    return [SettingInfo(value = [w for w in ctx.build_setting_value.split(" ") if w])]

words_setting = rule(
    implementation = _words_impl,
    build_setting = config.string(flag = True),
)
