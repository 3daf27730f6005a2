#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Arrows between layers run one way: includes, and the undefined symbols of the pure layers.

usage: layers.py BUILD_FOLDER"""
import pathlib
import re
import subprocess
import sys

# Folder of a file: folders it may include from, beside the public headers.
ARROWS = {
    "base": {"base"},
    "os": {"base", "os"},
    "codec": {"base", "codec"},
    "core": {"base", "codec", "core"},
    "exec": {"base", "os", "exec"},
    "ports": {"base", "os", "ports"},
    "backends": {"base", "os", "backends"},
    "ops": {"base", "os", "codec", "core", "exec", "ports", "ops"},
}
# What backends may see of the public headers: the ports and what these are made of.
BACKEND_PUBLIC = re.compile(r"crawlarchive/(sys/.*|bson|types|error|context|export|version)\.h")
# No I/O, clock, environment or thread below these layers. Formatting into memory is no I/O.
PURE = {"cra_base", "cra_codec", "cra_core"}
IMPURE = re.compile(
    r"^(open|openat|creat|read|pread|write|pwrite|close|fopen|fclose|fread|fwrite|fprintf|vfprintf|printf|puts|putchar|"
    r"fputs|fputc|unlink|rename|mkdir|stat|fstat|lstat|socket|connect|send|recv|time|clock|clock_gettime|gettimeofday|"
    r"localtime|localtime_r|gmtime|gmtime_r|mktime|nanosleep|usleep|sleep|getenv|setenv|setlocale|fork|execve|system|"
    r"exit|_exit|abort|signal|sigaction|rand|random|getrandom|pthread_.*|mtx_.*|thrd_.*|cnd_.*)(@.*)?$")
bad = 0
seen = 0


def complain(*words):
    global bad
    bad += 1
    print(*words)


for path in sorted(pathlib.Path("lib").rglob("*.[ch]")):
    layer = path.parts[1]
    if layer == "builtin.c" or path.name.endswith("_extension.c"):
        continue
    for name in re.findall(r'^#include "([^"]+)"', path.read_text(), flags=re.M):
        seen += 1
        target = name.split("/")[0]
        if target not in ARROWS[layer]:
            complain(path, "includes", name)
        if layer == "backends" and target == "backends" and name.split("/")[1] != path.parts[2]:
            complain(path, "includes another backend:", name)
    if layer == "backends":
        for name in re.findall(r"^#include <(crawlarchive/[^>]+)>", path.read_text(), flags=re.M):
            if not BACKEND_PUBLIC.match(name):
                complain(path, "includes", name)
    if layer != "backends" and re.search(r"\bcra_backend_(sqlite|memory|file|jsonl)\b", path.read_text()):
        complain(path, "names a backend")
for path in sorted(pathlib.Path("cli").rglob("*.c")):
    for name in re.findall(r'^#include "([^"]+)"', path.read_text(), flags=re.M):
        if name.split("/")[0] in ARROWS and not (path.parent.name == "man" and name == "core/config_keys.def"):
            complain(path, "includes", name)

objects = 0
for folder in sorted(pathlib.Path(sys.argv[1]).glob("lib/CMakeFiles/cra_*.dir")):
    if folder.name[:-4] not in PURE:
        continue
    for path in sorted(folder.rglob("*.o")):
        objects += 1
        symbols = subprocess.run(["nm", "-u", str(path)], capture_output=True, text=True, check=True).stdout
        for line in symbols.splitlines():
            symbol = line.split()[-1]
            if IMPURE.match(symbol):
                complain(path.name, "of", folder.name[:-4], "calls", symbol)
sys.exit(1 if bad or seen == 0 or objects == 0 else 0)
