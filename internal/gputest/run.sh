#!/usr/bin/env bash
# Tests and measures the project on a machine with a GPU, from the archive that
# pack.sh makes: run.sh [PART...]. The parts, in this order when none is named:
#   headers    compile the C side against the CUDA headers of the machine
#   images     compile the kernels for the device
#   suite      the tests of the back end, the optimizer, the driver's rules, fits
#   bench      bench stage on all workloads, beside PyTorch where it is installed
#   sanitizer  memcheck, racecheck and initcheck at test scale
# Logs go to the folder OUT (default: out). WORK keeps kernels between calls. CUDA
# is the toolkit's folder; FOLDERS and PRECISIONS limit the kernels. The exit code is 1 when a part has failed.
set -uo pipefail
cd "$(dirname "$0")"
here=$PWD
OUT=$(realpath -m "${OUT:-out}")
WORK=$(realpath -m "${WORK:-work}")
CUDA=${CUDA:-/usr/local/cuda}
TARGETS=${TARGETS:-sm_90}
mkdir -p "$OUT" "$WORK"
export PATH="$CUDA/bin:$PATH" REPRISE_IMAGES="$WORK/images" REPRISE_REQUIRE_CUDA=1 REPRISE_REQUIRE_IMAGES=1
failed=0

# step NAME SECONDS COMMAND...: run with a limit, log, and one line of result.
step() {
  local name=$1 limit=$2 start=$SECONDS code
  shift 2
  timeout "$limit" bash -c '"$@"' bash "$@" >"$OUT/$name.log" 2>&1
  code=$?
  if test $code = 0; then
    echo "ok      $name ($((SECONDS - start)) s)"
  else
    echo "FAILED  $name ($((SECONDS - start)) s, exit code $code)"
    grep -E '^ *(--- FAIL|FAIL|panic|Error|.*error:)' "$OUT/$name.log" | head -20
    tail -5 "$OUT/$name.log"
    failed=1
  fi
}

headers() {
  local flags="-std=gnu11 -fsyntax-only -Wno-deprecated-declarations -Werror=incompatible-pointer-types -Werror=int-conversion -Werror=implicit-function-declaration -Iruntime/cuda/compat -Iruntime/cuda -I$CUDA/include"
  grep -h 'define CUDA_VERSION' "$CUDA/include/cuda.h"
  for folder in cgo/cu cgo/cuda; do
    for file in "$folder"/*.cgo2.c; do
      # shellcheck disable=SC2086
      gcc $flags -I"$folder" "$file" || return 1
    done
  done
  # shellcheck disable=SC2086
  for file in runtime/cuda/*.c; do gcc $flags "$file" || return 1; done
}

# The reference cases are compared in FP32 alone, and of the published networks only
# one is tested in every precision; the others are measured, without an optimizer.
images() {
  local folder precisions
  for folder in ${FOLDERS:-$(find generated internal/testscale -name '*_gen.cu' -printf '%h\n' | sort -u)}; do
    precisions=${PRECISIONS:-bf16,fp16,fp32}
    case $folder in
    internal/testscale/reference/*) precisions=fp32 ;;
    generated/optimizer/*) continue ;;
    generated/obb) ;;
    generated/*) precisions=bf16 ;;
    esac
    bin/reprise image -targets "$TARGETS" -precisions "$precisions" -cache "$WORK/kernels" -out "$REPRISE_IMAGES" "$folder" || return 1
  done
}

# in_folder FOLDER BINARY ARGUMENTS...: tests find their files from their package.
in_folder() { (cd "$1" && shift && exec "$@"); }

export -f headers images in_folder
export here OUT WORK CUDA TARGETS

suite() {
  step back_end "${SUITE_LIMIT:-240}" in_folder runtime/cuda "$here/bin/cuda.test" -test.v ${SHORT:+-test.short}
  step rules 60 in_folder internal/cudasim "$here/bin/cudasim.test" -test.v -test.run 'TestCaptureRules|TestForeignCalls|TestDestroyRunningGraph|TestThreadWithoutContext'
  step optimizer 60 in_folder internal/optim "$here/bin/optim.test" -test.v -test.run TestOptimizerOnTheDevice
  step fits "${FITS_LIMIT:-240}" in_folder internal/contract "$here/bin/contract.test" -test.v -test.run TestFitsOnTheDevice
  grep -hE 'takes .* of its bound|captures broken|driver died|status .* on the other|destroyed after|graph launches' "$OUT"/{back_end,rules,fits}.log | sed 's/^ *//' >"$OUT/figures.txt"
}

# workload TASK BATCH SIZE WAYS: this project, then PyTorch.
workload() {
  local name=$1-b$2-$3
  step "bench-$name" 60 bin/reprise bench stage -task "$1" -batch "$2" -size "$3" -precision bf16 -json
  if python3 -c 'import torch' 2>/dev/null; then
    step "peer-$name" "${PEER_LIMIT:-200}" python3 bench/peer_torch.py --task "$1" --batch "$2" --size "$3" --precision bf16 --ways "$4"
  fi
  grep -h '^{' "$OUT/bench-$name.log" "$OUT/peer-$name.log" 2>/dev/null | tee -a "$OUT/bench.jsonl" | python3 -c '
import json, sys
for text in sys.stdin:
    l = json.loads(text)
    print("  %-14s %-14s forward %7.3f backward %7.3f both %7.3f dispatch %6.3f ms, %5d MiB" % (l["implementation"][:14], l["mode"], l["forward_ms"], l["backward_ms"], l["both_ms"], l["dispatch_ms"], l["peak_allocated_bytes"] >> 20))'
}

bench() {
  rm -f "$OUT/bench.jsonl"
  local ways=${WAYS:-eager,channels_last,graph,compile,compile_graph}
  workload obb 4 1024 "$ways"
  workload detect 4 640 "$ways"
  workload obb 16 1024 "${WAYS:-graph,compile_graph}"
  workload pose 4 640 "${WAYS:-graph,compile_graph}"
  workload segment 4 640 "${WAYS:-graph,compile_graph}"
}

sanitizer() {
  for tool in memcheck racecheck initcheck; do
    step "$tool" "${SANITIZER_LIMIT:-150}" in_folder runtime/cuda compute-sanitizer --tool "$tool" --error-exitcode 1 --target-processes application-only \
      "$here/bin/cuda.test" -test.short -test.run 'TestReplayEqualsNative/(bf16|fp32)/3x24x40|TestTasksReplayEqualsNative/obb/bf16/3x96x64'
    tail -2 "$OUT/$tool.log"
  done
}

for part in "${@:-headers images suite bench sanitizer}"; do
  for p in $part; do
    case $p in
    headers) step headers 60 headers ;;
    images) step images "${IMAGES_LIMIT:-300}" images ;;
    suite | bench | sanitizer) $p ;;
    *)
      echo "part $p is unknown; use headers, images, suite, bench or sanitizer" >&2
      exit 1
      ;;
    esac
  done
done
exit $failed
