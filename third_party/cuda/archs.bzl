# SPDX-License-Identifier: Apache-2.0

"""What --cuda_archs takes, and the -gencode options that it means."""

# CUDA 13.0's, for builds without a toolkit, which still refuse a wrong name.
KNOWN_ARCHS = [
    "75",
    "80",
    "86",
    "87",
    "88",
    "89",
    "90",
    "90a",
    "100",
    "100a",
    "100f",
    "103",
    "103a",
    "103f",
    "110",
    "110a",
    "110f",
    "120",
    "120a",
    "120f",
    "121",
    "121a",
    "121f",
]

def _number(text):
    """"9.0a" and "90a" are both "90a"."""
    major, dot, minor = text.partition(".")
    return major + minor if dot else text

def parse_archs(values, known):
    """Reads a list of architectures.

    Args:
      values: strings such as 90a, 9.0a, sm_90a (all machine code for sm_90a),
        compute_90 (PTX) or 90+ptx (both).
      known: numbers that the compiler takes: "90", "90a", ...

    Returns:
      (the arguments of nvcc's -gencode options, None) or (None, the error).
    """
    out = []
    for value in [v.strip() for v in values if v.strip()]:
        name = value
        ptx = name.endswith("+ptx")
        if ptx:
            name = name[:-len("+ptx")]
        virtual = name.startswith("compute_")
        for prefix in ["sm_", "compute_"]:
            if name.startswith(prefix):
                name = name[len(prefix):]
        number = _number(name)
        if number not in known:
            return None, "no CUDA architecture \"%s\"; known: %s" % (value, ", ".join(known))
        codes = ([] if virtual else ["sm_"]) + (["compute_"] if virtual or ptx else [])
        for code in codes:
            option = "arch=compute_%s,code=%s%s" % (number, code, number)
            if option not in out:
                out.append(option)
    if not out:
        return None, "no CUDA architecture given; known: " + ", ".join(known)
    return out, None
