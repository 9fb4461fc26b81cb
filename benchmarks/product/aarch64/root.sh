#!/usr/bin/env bash
# Makes a folder with Debian's arm64 Python, numpy and LiteRT in it, to run under qemu-user:
#   bash benchmarks/product/aarch64/root.sh FOLDER
# On Debian or Ubuntu, with apt-get, dpkg-deb, qemu-user-static and debian-archive-keyring; no root
# rights, nothing outside of FOLDER. Packages come from Debian's mirror and from PyPI.
set -euo pipefail

root=$(mkdir -p "${1:?the folder to make}" && cd "$1" && pwd)
suite=bookworm abi=3.11 # Debian 12 has Python 3.11
python=${PYTHON:-python3}
apt=$root/.apt

missing=
for tool in apt-get dpkg-deb qemu-aarch64-static; do
  command -v "$tool" >/dev/null || missing="$missing $tool"
done
keys=/usr/share/keyrings/debian-archive-keyring.gpg
[ -r "$keys" ] || missing="$missing $keys"
if [ -n "$missing" ]; then
  echo "root.sh needs$missing: sudo apt-get install qemu-user-static debian-archive-keyring" >&2
  exit 1
fi

# apt for another architecture, in folders of its own, as if nothing were installed.
mkdir -p "$apt/state/lists/partial" "$apt/cache/archives/partial"
: >"$apt/status"
echo "deb [signed-by=$keys] http://deb.debian.org/debian $suite main" >"$apt/sources.list"
get() {
  apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 \
    -o APT::Sandbox::User="$(id -un)" -o Acquire::Languages=none \
    -o Dir::State="$apt/state" -o Dir::State::status="$apt/status" -o Dir::Cache="$apt/cache" \
    -o Dir::Etc::SourceList="$apt/sources.list" -o Dir::Etc::SourceParts=/dev/null "$@"
}
get update
get install --yes --download-only --no-install-recommends "python$abi" libstdc++6 zlib1g
for package in "$apt"/cache/archives/*.deb; do
  dpkg-deb --extract "$package" "$root"
done

# The runtime of the version that this machine's environment has, and what it needs.
version=$("$python" -c 'from importlib.metadata import version; print(version("ai-edge-litert"))')
"$python" -m pip install --quiet --disable-pip-version-check --upgrade --target "$root/packages" \
  --only-binary=:all: --implementation cp --python-version "$abi" --abi "cp${abi/./}" --abi none \
  --abi abi3 --platform manylinux_2_28_aarch64 --platform manylinux_2_27_aarch64 \
  --platform manylinux_2_17_aarch64 --platform manylinux2014_aarch64 --platform any \
  "ai-edge-litert==$version"

# What an Arm kernel says of its processor: LiteRT crashes on reading that of an x86 one, which an
# older qemu shows. It is of the processor that is emulated below.
mkdir -p "$root/proc"
cat >"$root/proc/cpuinfo" <<END
processor	: 0
Features	: fp asimd aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid asimdrdm lrcpc asimddp
CPU implementer	: 0x41
CPU architecture: 8
CPU variant	: 0x4
CPU part	: 0xd0b
CPU revision	: 1

END

# A command that runs this Python: FOLDER/python script.py ...
# A phone's processor, since qemu 7.2's own "max" has an SME whose sums of int8 are wrong.
cat >"$root/python" <<END
#!/bin/sh
exec qemu-aarch64-static -cpu cortex-a76 -L "$root" -E PYTHONPATH="$root/packages" -E PYTHONNOUSERSITE=1 \\
  "$root/usr/bin/python$abi" "\$@"
END
chmod +x "$root/python"
"$root/python" -c 'import platform, numpy, ai_edge_litert
print("Python", platform.python_version(), platform.machine(), "numpy", numpy.__version__)'
