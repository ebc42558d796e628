# SPDX-License-Identifier: Apache-2.0

"""Targets that need cuDNN."""

load("@local_cudnn//:defs.bzl", "CUDNN")

def requires_cudnn():
    """For target_compatible_with: //... skips the target where there is no cuDNN."""
    if CUDNN.found:
        return []
    return [str(Label("//third_party/cuda:unsupported"))]

def if_cudnn(labels):
    """The labels where there is cuDNN, else none: for what works without as well."""
    return labels if CUDNN.found else []
