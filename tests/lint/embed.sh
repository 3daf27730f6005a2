#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# examples/embed.c against the installed package: by pkg-config, and it runs.   usage: embed.sh PREFIX
set -eu
prefix=$1
folder=$(mktemp -d "${TMPDIR:-/tmp}/cra-embed-XXXXXX")
trap 'rm -rf "$folder"' EXIT
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name crawlarchive.pc)")
export PKG_CONFIG_PATH
# shellcheck disable=SC2046
gcc -std=c11 -Wall -Wextra -Werror $(pkg-config --cflags crawlarchive) examples/embed.c -o "$folder/embed" \
  $(pkg-config --libs crawlarchive)
LD_LIBRARY_PATH=$(dirname "$(find "$prefix" -name 'libcrawlarchive.so.0')") "$folder/embed" "$folder" | tee "$folder/out"
grep -q '^restored 100 records' "$folder/out"
