# SPDX-License-Identifier: Apache-2.0

"""Checks of archs.bzl: a package that calls archs_test() loads only if they hold."""

load(":archs.bzl", "KNOWN_ARCHS", "parse_archs")

_SM_90A = "arch=compute_90a,code=sm_90a"

_GOOD = {
    "90a": [_SM_90A],
    "9.0a": [_SM_90A],
    "sm_90a": [_SM_90A],
    "90a, sm_90a,9.0a": [_SM_90A],
    "sm_80,90a": ["arch=compute_80,code=sm_80", _SM_90A],
    "12.0f": ["arch=compute_120f,code=sm_120f"],
    "compute_90": ["arch=compute_90,code=compute_90"],
    "90+ptx": ["arch=compute_90,code=sm_90", "arch=compute_90,code=compute_90"],
}

_BAD = {
    "": "no CUDA architecture given",
    "45": "no CUDA architecture \"45\"; known: 75, 80",
    "sm_91z": "no CUDA architecture \"sm_91z\"; known: 75, 80",
    "90a,hopper": "no CUDA architecture \"hopper\"",
    "9.0.a": "no CUDA architecture \"9.0.a\"",
}

def archs_test():
    """Fails the loading of the calling package where parse_archs is wrong."""
    for text, want in _GOOD.items():
        got, error = parse_archs(text.split(","), KNOWN_ARCHS)
        if error or got != want:
            fail("parse_archs(\"%s\") is %s (error: %s), not %s" % (text, got, error, want))
    for text, want in _BAD.items():
        got, error = parse_archs(text.split(","), KNOWN_ARCHS)
        if got != None or not error.startswith(want):
            fail("parse_archs(\"%s\") is %s (error: %s), not an error that starts with: %s" % (text, got, error, want))
