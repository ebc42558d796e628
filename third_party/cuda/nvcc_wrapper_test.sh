#!/bin/bash
# SPDX-License-Identifier: Apache-2.0

# Runs the wrapper with a host compiler and an nvcc that are small scripts.
set -euo pipefail
wrapper="$PWD/$1"
cd "$TEST_TMPDIR"

cat > host <<'END'
#!/bin/bash
echo "#define __GNUC__ ${FAKE_GCC:-4}"
[ -z "${FAKE_CLANG:-}" ] || echo "#define __clang_major__ $FAKE_CLANG"
END
cat > nvcc <<'END'
#!/bin/bash
echo "$*" > arguments
printf 'x.o : a.h \\\n  ./dir/b.h\n' > x.d
END
chmod +x host nvcc
printf 'a.h\ndir/b.h\nc.h\n' > x.inputs

run() { "$wrapper" x.inputs x.unused x.d 13.0 15 20 ./host ./nvcc -c x.cu > log 2>&1; }
fail() { echo "FAILED: $*"; cat log; exit 1; }
refused() {
  if run; then fail "$1 was taken"; fi
  for part in "nvcc 13.0" "$1" "g++ 6 to 15" "clang 7 to 20" "--config=cpu"; do
    grep -qF -- "$part" log || fail "the message does not name: $part"
  done
  [ ! -e arguments ] || fail "nvcc ran with $1"
}

# Case 104 (ollama/ollama#8809, NVIDIA/cuda-samples#250).
FAKE_GCC=16 refused "g++ 16"
FAKE_GCC=5 refused "g++ 5"
FAKE_CLANG=21 refused "clang 21"
FAKE_GCC=15 run || fail "g++ 15 was refused"
FAKE_CLANG=20 run || fail "clang 20 was refused"

grep -qx -- "-ccbin ./host -c x.cu -MD -MF x.d" arguments || fail "arguments of nvcc: $(cat arguments)"
if grep -q allow-unsupported arguments; then fail "nvcc's own check is off"; fi
[ "$(cat x.unused)" = c.h ] || fail "unused inputs: $(cat x.unused)"
