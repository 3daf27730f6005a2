#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# All tests, from a fresh Debian 12 on: installs what is missing, builds, tests. No server outlives it.
#
#   tests/run.sh               everything that belongs to every change
#   tests/run.sh --all[=fuzz]  and the slow rest: long fuzzing, a run of a million records
#
# Builds lie in a scratch folder of $TMPDIR, never in the source tree.
set -u
cd "$(dirname "$0")/.."
SOURCE=$PWD
# shellcheck source=tests/packages.sh
. tests/packages.sh

all=""
for argument in "$@"; do
  case "$argument" in
    --all) all=all ;;
    --all=*) all=${argument#--all=} ;;
    *) echo "usage: tests/run.sh [--all[=fuzz]]" >&2; exit 2 ;;
  esac
done

SCRATCH=$(mktemp -d "${TMPDIR:-/tmp}/cra-tests-XXXXXX")
trap 'rm -rf "$SCRATCH"' EXIT
passed=0
failed=0
skipped=0
failures=()

# step NAME COMMAND…: one counted step; its output is shown only where it fails.
step() {
  local name=$1 log="$SCRATCH/log" started=$SECONDS
  shift
  if "$@" >"$log" 2>&1; then
    passed=$((passed + 1))
    echo "ok      $name ($((SECONDS - started)) s)"
  else
    failed=$((failed + 1))
    failures+=("$name")
    echo "FAILED  $name ($((SECONDS - started)) s)"
    tail -n 60 "$log"
    return 1
  fi
}

# ctest_step NAME FOLDER [ARGUMENTS]: every test of a build counts on its own.
ctest_step() {
  local name=$1 folder=$2 log="$SCRATCH/ctest-log" started=$SECONDS
  shift 2
  ctest --test-dir "$folder" --output-on-failure -j2 "$@" >"$log" 2>&1
  local code=$? good bad
  good=$(grep -c ' Passed ' "$log")
  bad=$(grep -cE '\*\*\*(Failed|Timeout|Exception|Not Run)' "$log")
  [ "$code" -ne 0 ] && [ "$bad" -eq 0 ] && bad=1
  [ "$good" -eq 0 ] && [ "$bad" -eq 0 ] && bad=1
  passed=$((passed + good))
  failed=$((failed + bad))
  skipped=$((skipped + $(grep -c 'Skipped' "$log")))
  echo "$([ "$bad" -eq 0 ] && echo 'ok     ' || echo FAILED) $name: $good passed, $bad failed ($((SECONDS - started)) s)"
  if [ "$bad" -ne 0 ]; then
    failures+=("$name")
    tail -n 150 "$log"
  fi
}

configure() { # FOLDER [OPTIONS]
  local folder=$1 launcher=()
  shift
  command -v ccache >/dev/null && launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache)
  cmake -S "$SOURCE" -B "$SCRATCH/$folder" -G Ninja -DCRAWLARCHIVE_WERROR=ON "${launcher[@]}" "$@"
}

build() { ninja -C "$SCRATCH/$1" -j2 "${@:2}"; }

install_packages "${BUILD_PACKAGES[@]}" "${TEST_PACKAGES[@]}" || exit 1
python3 -c 'import fastavro' 2>/dev/null || {
  # An oracle for Avro written by others; its tests skip without it.
  python3 -m venv --system-site-packages "$SCRATCH/venv" >/dev/null 2>&1 &&
    "$SCRATCH/venv/bin/pip" install -q fastavro >/dev/null 2>&1 && export PATH="$SCRATCH/venv/bin:$PATH"
}

echo "== gcc, address and undefined sanitizers"
if step "configure" configure asan -DCRAWLARCHIVE_TESTS=ON -DCMAKE_BUILD_TYPE=Debug \
    -DCRAWLARCHIVE_SANITIZE=address,undefined && step "build" build asan; then
  ctest_step "tests under the sanitizers" "$SCRATCH/asan" --timeout 900
fi

echo "== release, installed"
if step "build for release" bash -c "$(declare -f configure build); SOURCE='$SOURCE' SCRATCH='$SCRATCH';
    configure release -DCMAKE_BUILD_TYPE=Release && build release"; then
  step "install" cmake --install "$SCRATCH/release" --prefix "$SCRATCH/prefix"
  step "the headers compile alone" bash tests/lint/headers.sh "$SCRATCH/prefix/include"
  step "the exports are the headers'" python3 tests/lint/exports.py "$SCRATCH/prefix"
  step "an embedding program" bash tests/lint/embed.sh "$SCRATCH/prefix"
  step "a backend of a third party" bash tests/lint/third_party.sh "$SCRATCH/prefix"
  step "real collections" python3 tests/live/run_real_input.py "$SCRATCH/prefix/bin/crawlarchive" \
    "$(find "$SCRATCH/prefix" -name crawlarchive_sqlite.so)"
  step "valgrind" bash tests/lint/valgrind.sh "$SCRATCH/prefix/bin/crawlarchive"
fi

echo "== the house"
step "arrows between layers" python3 tests/lint/layers.py "$SCRATCH/release"
step "files" python3 tests/lint/files.py

echo "== clang"
step "build with clang" bash -c "$(declare -f configure build); SOURCE='$SOURCE' SCRATCH='$SCRATCH';
  configure clang -DCRAWLARCHIVE_TESTS=ON -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_COMPILER=clang && build clang" &&
  ctest_step "tests under clang" "$SCRATCH/clang" -L 'unit_(base|core|codec)' --timeout 600

echo "== thread sanitizer"
step "build with the thread sanitizer" bash -c "$(declare -f configure build); SOURCE='$SOURCE' SCRATCH='$SCRATCH';
  configure tsan -DCRAWLARCHIVE_TESTS=ON -DCMAKE_BUILD_TYPE=Debug -DCRAWLARCHIVE_SANITIZE=thread && build tsan" &&
  ctest_step "concurrency" "$SCRATCH/tsan" -L 'unit_(exec|ops)|conformance' --timeout 900

echo "== without any optional backend"
step "minimal build" bash -c "$(declare -f configure build); SOURCE='$SOURCE' SCRATCH='$SCRATCH';
  configure minimal -DCMAKE_BUILD_TYPE=Debug -DCRAWLARCHIVE_SQLITE=OFF -DCRAWLARCHIVE_FILE=OFF \
    -DCRAWLARCHIVE_JSONL=OFF -DCRAWLARCHIVE_MEMORY=OFF && build minimal"

echo "== fuzzing"
seconds=10
[ "$all" = all ] || [ "$all" = fuzz ] && seconds=900
step "build the fuzz targets" bash -c "$(declare -f configure build); SOURCE='$SOURCE' SCRATCH='$SCRATCH';
  configure fuzz -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_C_COMPILER=clang -DCRAWLARCHIVE_WERROR=OFF \
    -DCRAWLARCHIVE_CLI=OFF -DCRAWLARCHIVE_FUZZ=ON && build fuzz" &&
  for target in "$SCRATCH"/fuzz/tests/fuzz/fuzz_*; do
    [ -x "$target" ] && [ -f "$target" ] || continue
    name=$(basename "$target")
    mkdir -p "$SCRATCH/corpus/$name"
    seeds=()
    [ -d "tests/fuzz/corpus/$name" ] && seeds+=("tests/fuzz/corpus/$name")
    case "$name" in *container* | *decode*) seeds+=(tests/data/avro-bad) ;; esac
    step "$name" "$target" -max_total_time=$seconds -timeout=20 -rss_limit_mb=3000 -max_len=65536 -verbosity=0 \
      "$SCRATCH/corpus/$name" "${seeds[@]}"
  done

if [ "$all" = all ]; then
  echo "== scale"
  step "a run of a million records" python3 tests/live/run_scale.py "$SCRATCH/prefix/bin/crawlarchive" 1000000
fi

for name in ${failures+"${failures[@]}"}; do
  echo "failed: $name"
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
