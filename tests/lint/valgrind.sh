#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The command under valgrind, through a run's life.   usage: valgrind.sh BINARY
set -eu
binary=$1
folder=$(mktemp -d "${TMPDIR:-/tmp}/cra-valgrind-XXXXXX")
trap 'rm -rf "$folder"' EXIT
cd "$folder"
run() { valgrind -q --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite "$binary" "$@" >/dev/null; }
for i in $(seq 1 200); do echo "{\"_id\": $i, \"url\": \"/page/$i\", \"tags\": [\"a\", $i]}"; done >records.ndjson
run init
run import prices 17 records.ndjson
run deliver 17 --outcome success
run archive 17
run verify 17 --level content
run schedule 17 --at 2020-01-01
run sweep
run restore prices 17
run cat 17 --format avro
run status --output json
