#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The shared library exports exactly the functions that the installed headers mark.   usage: exports.py PREFIX"""
import pathlib
import re
import subprocess
import sys

prefix = pathlib.Path(sys.argv[1])
library = next(prefix.glob("lib*/**/libcrawlarchive.so*"))
symbols = subprocess.run(["nm", "-D", "--defined-only", str(library)], capture_output=True, text=True, check=True)
exported = {line.split()[2].split("@")[0] for line in symbols.stdout.splitlines() if line.split()[1] in "TDBR"}
exported.discard("CRAWLARCHIVE_0")
declared = set()
for header in prefix.glob("include/crawlarchive/**/*.h"):
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", header.read_text(), flags=re.S)
    for match in re.finditer(r"CRA_EXPORT\b[^;{]*?\b(cra_\w+)\s*\(", text):
        declared.add(match.group(1))
missing, extra = declared - exported, exported - declared
for name in sorted(missing):
    print("declared, not exported:", name)
for name in sorted(extra):
    print("exported, not declared:", name)
soname = subprocess.run(["readelf", "-d", str(library)], capture_output=True, text=True, check=True).stdout
if "libcrawlarchive.so.0]" not in soname:
    print("the SONAME is not libcrawlarchive.so.0")
    extra.add("soname")
sys.exit(1 if missing or extra or not declared else 0)
