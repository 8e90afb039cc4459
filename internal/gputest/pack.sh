#!/usr/bin/env bash
# Packs what a machine with a GPU, but without Go, needs to test and to measure the
# project: internal/gputest/pack.sh FILE.tar.xz
# CUDA_INCLUDE names the folder of cuda.h; without it the headers are fetched. The
# binaries link against the driver library of the simulator, so they run on that
# too. PACKAGES (default: all) are the generated packages whose kernels are taken
# along, as source: the other machine compiles them for its own device.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
out=$(realpath -m "${1:?name the archive, such as gpu.tar.xz}")
cd "$root"
build=${BUILD:-$root/.cache/cudasim}
include=${CUDA_INCLUDE:-}
if test -z "$include"; then
  internal/cudasim/headers.sh "$build/headers"
  include=$build/headers/usr/include
fi
mkdir -p "$build/lib"
make --no-print-directory -s -j2 -C internal/cudasim OUT="$build/lib" CUDA_INCLUDE="$include"
export CGO_CFLAGS="-O1 -I$root/runtime/cuda/compat -I$include" CGO_LDFLAGS="-L$build/lib"

tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree/bin"
test_binary() { go test -c -tags cuda -ldflags '-s -w' -o "$tree/bin/$(basename "$1").test" "./$1"; }
test_binary runtime/cuda
test_binary internal/contract
test_binary internal/cudasim
test_binary internal/optim
go build -tags cuda -ldflags '-s -w' -o "$tree/bin/reprise" ./cmd/reprise

packages=${PACKAGES:-$(find generated internal/testscale -name '*_gen.cu' -printf '%h\n' | sort -u)}
for p in $packages; do
  mkdir -p "$tree/$p"
  cp "$p"/*_gen.cu "$p"/*_gen.c "$p"/*_gen.h "$tree/$p"
done
mkdir -p "$tree/runtime/cuda" "$tree/internal/verify" "$tree/internal/optim" "$tree/internal/contract" "$tree/internal/cudasim" "$tree/bench"
cp -r internal/verify/testdata "$tree/internal/verify/"
cp -r runtime/cuda/*.[ch] runtime/cuda/compat "$tree/runtime/cuda/"
cp bench/peer_torch.py "$tree/bench/"
cp internal/gputest/run.sh "$tree/"

# The C that cgo makes, to be compiled against the headers that are there.
cgo() {
  local folder files
  folder=$(go list -tags cuda -f '{{.Dir}}' "$1")
  files=$(go list -tags cuda -f '{{join .CgoFiles " "}}' "$1")
  mkdir -p "$tree/cgo/$2"
  # shellcheck disable=SC2086
  (cd "$folder" && go tool cgo -objdir "$tree/cgo/$2" -importpath "$1" -- $CGO_CFLAGS -I"$root/runtime/cuda" $files)
  cp "$folder"/*.h "$tree/cgo/$2/" 2>/dev/null || true
}
cgo gorgonia.org/cu cu
cgo github.com/reprise-ml/reprise/runtime/cuda cuda

rm -f "$tree"/cgo/*.o # what cgo left of its questions to the compiler
mkdir -p "$(dirname "$out")"
tar c --sort=name --owner=0 --group=0 -C "$tree" . | xz -T1 --lzma2=preset="${XZ_PRESET:-9}",dict=192MiB >"$out"
ls -l "$out"
