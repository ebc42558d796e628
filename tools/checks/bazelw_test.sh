#!/bin/bash
# SPDX-License-Identifier: Apache-2.0

# Runs bazelw with a dpkg, an apt-get, a sudo and a bazel that are small scripts.
set -euo pipefail
tree="$TEST_TMPDIR/tree" bin="$TEST_TMPDIR/bin" state="$TEST_TMPDIR/state"
mkdir -p "$tree/third_party" "$tree/sub" "$bin" "$state"
cp -L bazelw "$tree/"
cat > "$tree/third_party/apt.txt" <<'END'
# a comment
one        # first
two
three@cuda # third
END
for tool in bash cat dirname env grep mktemp rm tail touch; do ln -s "$(command -v $tool)" "$bin/$tool"; done

stub() { printf '#!/bin/bash\nS=%q\n%s\n' "$state" "$2" > "$bin/$1"; chmod +x "$bin/$1"; }
stub bazel 'echo "$PWD" > "$S/cwd"; printf "%s|" "$@" > "$S/bazel"'
stub dpkg-query 'shift 3; for p in "$@"; do [ ! -e "$S/has-$p" ] || echo "$p installed"; done; exit 1'
stub apt-get 'echo "$*" >> "$S/apt"
  if [[ "$*" == *update* ]]; then touch "$S/lists"; exit; fi
  [ -e "$S/lists" ] || { echo "Unable to locate package"; exit 100; }
  [ ! -e "$S/broken" ] || { echo "no space left"; exit 100; }
  for p in "$@"; do case "$p" in one|two|three) touch "$S/has-$p" ;; esac; done'
stub id 'cat "$S/uid"'
echo 0 > "$state/uid"

run() { (cd "${from:-$tree}" && PATH="$bin" "$tree/bazelw" "$@") > "$state/log" 2>&1; }
fail() { echo "FAILED: $*"; cat "$state/log" "$state/apt" 2>/dev/null; exit 1; }
says() { grep -qF -- "$1" "$state/log" || fail "the output lacks: $1"; }
updates() { grep -c update "$state/apt" || true; }
reset() { rm -f "$state"/{has-*,apt,bazel,lists,broken}; }

# A fresh machine: no lists yet, so one update.
reset
run test //... || fail "a fresh machine"
says "bazelw: installing with apt-get: one two"
[ "$(updates)" = 1 ] || fail "updates: $(updates)"
[ "$(cat "$state/bazel")" = "test|//...|" ] || fail "bazel got: $(cat "$state/bazel")"

# All there: silent, and no apt-get.
rm "$state/apt"
run run //tools:train -- 'a b' --config=cuda || fail "all installed"
[ ! -s "$state/log" ] && [ ! -e "$state/apt" ] || fail "it should be silent"
[ "$(cat "$state/bazel")" = "run|//tools:train|--|a b|--config=cuda|" ] || fail "bazel got: $(cat "$state/bazel")"

# Only what is missing, the lists being there.
reset; touch "$state/lists" "$state/has-one"
run build //x || fail "one missing"
says "apt-get: two"
[ "$(updates)" = 0 ] || fail "it refreshed the lists"

# A tag's package with its --config, or by name.
run build --config=cuda //x || fail "--config=cuda"
says "apt-get: three"
rm "$state/has-three"
OCTET_APT_TAGS="cuda" run build //x || fail "OCTET_APT_TAGS"
says "apt-get: three"

# Not root: sudo, or what to do without it.
reset; touch "$state/lists"; echo 1000 > "$state/uid"
if run build //x; then fail "neither root nor sudo"; fi
says "apt-get install --no-install-recommends one two"
[ ! -e "$state/bazel" ] || fail "bazel ran"
stub sudo 'touch "$S/sudo"; exec "$@"'
run build //x || fail "sudo"
says "installing with sudo apt-get: one two"
[ -e "$state/sudo" ] || fail "sudo was not used"
echo 0 > "$state/uid"

# apt-get fails: its own words.
reset; touch "$state/lists" "$state/broken"
if run build //x; then fail "apt-get failed"; fi
says "could not install: one two"
says "no space left"

# From another folder, and one more bazelrc.
touch "$state"/has-{one,two}
from=/ OCTET_BAZELRC=/x/rc run build //x || fail "from /"
[ "$(cat "$state/cwd")" = "$tree" ] || fail "cwd: $(cat "$state/cwd")"
[ "$(cat "$state/bazel")" = "--bazelrc=/x/rc|build|//x|" ] || fail "bazel got: $(cat "$state/bazel")"
from="$tree/sub" run build :x || fail "from a package"
[ "$(cat "$state/cwd")" = "$tree/sub" ] || fail "cwd: $(cat "$state/cwd")"

# Not Debian: bazel if it is there, else what is missing.
rm "$bin/apt-get"
run build //x || fail "bazel without apt-get"
rm "$bin/bazel"
if run build //x; then fail "neither bazel nor apt-get"; fi
says "neither bazel nor apt-get"
says "one two"
