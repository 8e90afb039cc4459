#!/usr/bin/env bash
# Unpacks the headers of the CUDA driver below a folder, without installing
# anything: headers.sh FOLDER leaves FOLDER/usr/include/cuda.h. They come from the
# non-free component of Debian 12, whose package has much else, so only the
# beginning of it is unpacked.
set -euo pipefail
folder=$(mkdir -p "$1" && cd "$1" && pwd)
if test -s "$folder/usr/include/cuda.h"; then
  exit 0
fi
sources=$(mktemp -d)
trap 'rm -rf "$sources"' EXIT
mkdir -p "$sources/lists/partial" "$sources/parts"
sed 's/^Components:.*/Components: non-free/' /etc/apt/sources.list.d/debian.sources >"$sources/parts/non-free.sources"
options=(-oDir::Etc::SourceList=/dev/null "-oDir::Etc::SourceParts=$sources/parts" "-oDir::State::Lists=$sources/lists" -oAPT::Sandbox::User=root)
apt-get "${options[@]}" -qq update
cd "$sources"
apt-get "${options[@]}" -qq download nvidia-cuda-dev
(dpkg-deb --fsys-tarfile nvidia-cuda-dev_*.deb 2>/dev/null || true) | head -c 20000000 | tar x -C "$folder" --wildcards './usr/include/*' 2>/dev/null || true
test -s "$folder/usr/include/cuda.h"
