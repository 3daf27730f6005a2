#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every source file says its licence, is of a size that can be read, and names no machine."""
import pathlib
import re
import subprocess
import sys

names = subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True).stdout.splitlines()
bad = 0
for name in names:
    path = pathlib.Path(name)
    if name.startswith("tests/data/") or name.startswith("tests/fuzz/corpus/") or not path.is_file():
        continue
    text = path.read_text(errors="replace")
    if path.suffix in {".c", ".h", ".py", ".sh", ".def"} or path.name == "CMakeLists.txt":
        if "SPDX-License-Identifier: Apache-2.0" not in text[:400]:
            print(name, "has no licence line")
            bad += 1
        limit = 620 if path.suffix in {".c", ".h"} and not name.startswith("tests/") else 900
        if text.count("\n") > limit:
            print(name, "has", text.count("\n"), "lines")
            bad += 1
        if name != "tests/lint/files.py" and re.search(r"/tmp/build|/work/|/home/\w|\bTODO\b|\bFIXME\b", text):
            print(name, "names a machine's path, or leaves something to do")
            bad += 1
sys.exit(1 if bad or not names else 0)
