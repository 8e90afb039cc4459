#!/usr/bin/env bash
# Runs the fuzz targets of all packages one after another, or those whose
# "package:name" is given:
#   FUZZTIME=10m FUZZFLAGS=-parallel=1 internal/fuzz/run.sh [./internal/data:FuzzReadRaster ...]
# An input that makes a target fail is kept in the package's testdata, where every
# later run of the tests tries it again. Exits with 1 when a target failed.
# Making an input that reaches new code shorter gets a second and not a minute,
# which would be most of the time.
set -euo pipefail
cd "$(dirname "$0")/../.."
targets() {
  git grep -oE '^func Fuzz[A-Za-z0-9]+' -- '*_test.go' | sed -E 's,^(.*)/[^/]*:func (.*)$,./\1:\2,' | sort
}
test $# -gt 0 || set -- $(targets)
failed=()
for target in "$@"; do
  printf '\n== %s\n' "$target"
  # shellcheck disable=SC2086 # flags are several words
  go test ${FUZZFLAGS:-} -fuzzminimizetime 1s -run '^$' -fuzz "^${target##*:}\$" -fuzztime "${FUZZTIME:-10m}" "${target%:*}" || failed+=("$target")
done
if test ${#failed[@]} -gt 0; then
  printf '\nfailed: %s\n' "${failed[*]}"
  exit 1
fi
