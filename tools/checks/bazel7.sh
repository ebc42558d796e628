#!/bin/bash
# SPDX-License-Identifier: Apache-2.0

# usage: tools/checks/bazel7.sh [BAZEL TEST ARGUMENT...]     default: --config=cpu //...
#
# Builds and tests this tree with Debian sid's Bazel 7 (Bzlmod), its compiler and
# its libraries, in a chroot and without network. Needs root, debootstrap and a
# Debian mirror. The chroot ($OCTET_SID, default ~/.cache/octet-sid, 2.3 GB) is made
# once and kept.
set -euo pipefail
tree="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
root="${OCTET_SID:-$HOME/.cache/octet-sid}"
[ $# -gt 0 ] || set -- --config=cpu //...
[ "$(id -u)" = 0 ] || { echo "bazel7: run me as root: I make a chroot"; exit 1; }

# Runs a bash script in the chroot; mounts end with their namespace.
# usage: inside UNSHARE_OPTION SCRIPT ARGUMENT...
inside() {
  unshare "$1" --mount --propagation private bash -ec '
    root="$1"; shift
    ip link set lo up 2> /dev/null || true
    for folder in proc dev sys; do mount --rbind "/$folder" "$root/$folder"; done
    exec chroot "$root" env -i HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
      PATH=/usr/sbin:/usr/bin:/sbin:/bin bash -ec "$@"' bash "$root" "$2" bash "${@:3}"
}

if [ ! -e "$root/.ready" ]; then
  command -v debootstrap > /dev/null || { echo "bazel7: install debootstrap"; exit 1; }
  mkdir -p "$root"
  if [ ! -e "$root/.base" ]; then
    debootstrap --variant=minbase sid "$root" ${MIRROR:+"$MIRROR"}
    touch "$root/.base"
  fi
  cp /etc/resolv.conf "$root/etc/"
  # Packages without a tag, and the modules that Bazel would download.
  packages="$(sed -e 's/#.*//' -e '/@/d' "$tree/third_party/apt.txt" | tr '\n' ' ')"
  # A mirror may lag, hence the expired lists.
  inside --uts '
    apt-get update -qq -o Acquire::Check-Valid-Until=false
    apt-get install -y -qq --no-install-recommends "$@"' $packages iproute2 \
    bazel-rules-cc bazel-rules-shell bazel-platforms bazel-skylib bazel-features \
    bazel-rules-java bazel-rules-python bazel-rules-license bazel-rules-proto
  touch "$root/.ready"
fi

# Modules that bazel_tools names and Debian does not carry: nothing here uses them.
for module in buildozer protobuf zlib apple_support; do
  mkdir -p "$root/tmp/modules/$module"
  echo "module(name = \"$module\", version = \"0\")" > "$root/tmp/modules/$module/MODULE.bazel"
  : > "$root/tmp/modules/$module/BUILD"
done
cat > "$root/tmp/modules/buildozer/buildozer_binary.bzl" <<'END'
def _repository_impl(ctx):
    ctx.file("BUILD")

_repository = repository_rule(implementation = _repository_impl)

def _impl(_ctx):
    _repository(name = "buildozer_binary")

buildozer_binary = module_extension(implementation = _impl)
END
rm -rf "$root/tmp/tree"
mkdir -p "$root/tmp/tree"
git -C "$tree" ls-files -z | tar -C "$tree" --null -T - -cf - | tar -C "$root/tmp/tree" -xf -

# A network namespace of its own keeps Bazel offline.
inside --net '
  cd /tmp/tree
  overrides=(--override_module=rules_shell=/usr/share/bazel/rules/shell)
  for module in buildozer protobuf zlib apple_support; do
    overrides+=("--override_module=$module=/tmp/modules/$module")
  done
  result=0
  bazel test "${overrides[@]}" "$@" || result=$?
  bazel shutdown
  exit $result' "$@"
