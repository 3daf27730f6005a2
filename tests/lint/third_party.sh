#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A third party's backend, built with find_package, passes the installed conformance suite.   usage: third_party.sh PREFIX
set -eu
prefix=$1
folder=$(mktemp -d "${TMPDIR:-/tmp}/cra-third-XXXXXX")
trap 'rm -rf "$folder"' EXIT
cmake -S examples/custom_blobstore -B "$folder" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Debug
ninja -C "$folder"
export LD_LIBRARY_PATH
LD_LIBRARY_PATH=$(dirname "$(find "$prefix" -name 'libcrawlarchive.so.0')")
ctest --test-dir "$folder" --output-on-failure --no-tests=error
