#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Each public header compiles alone, as C11 and as C++17.   usage: headers.sh INCLUDE_FOLDER
set -eu
cd "$1"
for header in crawlarchive/*.h crawlarchive/sys/*.h; do
  printf "#include <%s>\ntypedef int unused;\n" "$header" | gcc -std=c11 -Wall -Wextra -Wpedantic -Werror -I. -fsyntax-only -x c -
  printf "#include <%s>\n" "$header" | g++ -std=c++17 -Wall -Wextra -Werror -I. -fsyntax-only -x c++ -
done
