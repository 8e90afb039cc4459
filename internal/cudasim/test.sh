#!/usr/bin/env bash
# Runs the tests with the tag cuda on the simulated driver, where no GPU is needed:
#   internal/cudasim/test.sh [go test options and packages]
# CUDA_INCLUDE names the folder of cuda.h; without it the headers are fetched.
# Builds go to the folder BUILD, which is kept between runs.
set -euo pipefail
part() { printf '\n-- %s (%ss)\n' "$1" "$SECONDS"; }
root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$root"
build=${BUILD:-$root/.cache/cudasim}
include=${CUDA_INCLUDE:-}
if test -z "$include"; then
  internal/cudasim/headers.sh "$build/headers"
  include=$build/headers/usr/include
fi
if ! test -f "$include/cuda.h"; then
  echo "there is no $include/cuda.h; set CUDA_INCLUDE to a folder with the headers of the CUDA driver (11.8 to 13)" >&2
  exit 1
fi
mkdir -p "$build/bin"
part 'simulator'
make --no-print-directory -s -j2 -C internal/cudasim OUT="$build/lib" CUDA_INCLUDE="$include"

part 'kernel images'
# Kernel images for the simulator, beside copies of the generated packages. The
# copies are laid over the packages, whose own images stay as they are.
go build -o "$build/bin/nvcc" ./internal/cudasim/nvcc
go build -o "$build/bin/reprise" ./cmd/reprise
image() {
  rm -rf "$build/packages/$1"
  mkdir -p "$build/packages/$1"
  cp "$1"/*_gen.cu "$1"/*_gen.c "$1"/*_gen.h "$build/packages/$1"
  PATH="$build/bin:$PATH" "$build/bin/reprise" image --cache "$build/kernels" --targets sm_90 --precisions "$2" "$build/packages/$1" >/dev/null
}
image internal/testscale/small fp32,fp16,bf16
image internal/testscale/obb fp32,fp16,bf16
image internal/testscale/optimizer/obb fp32
image internal/testscale/reference/obb fp32
{
  echo '{"Replace": {'
  (cd "$build/packages" && find . -name '*.image' | sort | sed "s,^\./\(.*\),\"$root/\1\": \"$build/packages/\1\"," | paste -sd,)
  echo '}}'
} >"$build/overlay.json"

# Wrappers are megabytes of C that the compiler optimizes for minutes.
export CGO_CFLAGS="-O0 -I$root/runtime/cuda/compat -I$include" CGO_LDFLAGS="-L$build/lib" LD_LIBRARY_PATH="$build/lib"
export REPRISE_REQUIRE_CUDA=1
run() { go test -tags cuda -overlay "$build/overlay.json" -timeout 20m "$@"; }
if test $# -gt 0; then
  run "$@"
  exit
fi
part 'back end'
# Its tests break captures on purpose, but no kernel may be at fault.
rm -f "$build/reports"
CUDASIM_REPORTS="$build/reports" run -count=1 -short ./runtime/cuda
part 'guards'
CUDASIM_REPORTS="$build/reports" run -count=1 -run '^FuzzGuards$/^seed#' ./internal/fuzz
if grep -s '^kernel ' "$build/reports"; then
  echo "the simulator found faults in kernels" >&2
  exit 1
fi
part 'driver and faults'
run -skip '^TestHost' ./internal/cudasim/...
part 'pointers to Go memory in C'
GOEXPERIMENT=cgocheck2 run -count=1 -run '^TestLaunchesHoldNoGoMemory$' ./runtime/cuda
