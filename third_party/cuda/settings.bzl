# SPDX-License-Identifier: Apache-2.0

"""Build settings of the CUDA rules."""

SettingInfo = provider("The value of a build setting.", fields = ["value"])

def _impl(ctx):
    return [SettingInfo(value = ctx.build_setting_value)]

string_setting = rule(
    implementation = _impl,
    build_setting = config.string(flag = True),
)
