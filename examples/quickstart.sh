#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# From a fresh Debian 12 to a restored run in a minute or two: installs what is missing, builds the command, and takes two
# real runs (the Debian package index) through their whole life on the embedded default, SQLite and files.
set -eu
cd "$(dirname "$0")/.."
SOURCE=$PWD
# shellcheck source=tests/packages.sh
. tests/packages.sh
say() { printf '\n%s\n' "$*"; }

install_packages "${BUILD_PACKAGES[@]}" python3
WORK=$(mktemp -d "${TMPDIR:-/tmp}/crawlarchive-quickstart-XXXXXX")
echo "building (about a minute) …"
cmake -S "$SOURCE" -B "$WORK/build" -G Ninja -DCMAKE_BUILD_TYPE=Release >"$WORK/build.log"
ninja -C "$WORK/build" crawlarchive >>"$WORK/build.log" || { tail -n 40 "$WORK/build.log"; exit 1; }
PATH="$WORK/build/cli:$PATH"

cd "$WORK"
[ -n "$(apt-cache dumpavail 2>/dev/null | head -c 1)" ] || { [ "$(id -u)" -eq 0 ] && apt-get update -qq; }
apt-cache dumpavail | python3 -c '
import json, sys
outputs = [open("run-184000.ndjson", "w"), open("run-184001.ndjson", "w")]
count, record = 0, {}
for line in sys.stdin.buffer:
    line = line.decode("utf-8", "replace").rstrip("\n")
    if not line and record:
        if "Depends" in record:
            record["Depends"] = record["Depends"].split(", ")
        outputs[count % 2].write(json.dumps(record) + "\n")
        count, record = count + 1, {}
    elif line and line[0] != " " and ": " in line:
        key, value = line.split(": ", 1)
        record[key] = int(value) if key in ("Size", "Installed-Size") else value
'

say "1. Stores and a configuration: $WORK/crawlarchive.yaml"
crawlarchive init
# What the collection must be indexed by: a line of the file that init wrote.
sed -i 's/^  # default: \[.*/  default: [{key: {run_id: 1}}, {key: {Package: 1}}]/' crawlarchive.yaml
crawlarchive index ensure packages
say "2. Two runs of the report \"packages\" come in"
crawlarchive import packages 184000 run-184000.ndjson
crawlarchive import packages 184001 run-184001.ndjson
crawlarchive cat 184000 --format bson >before.bson
say "3. They are delivered, which gives each its archive date; these two are due at once"
for run in 184000 184001; do
  crawlarchive deliver "$run" --outcome success
  crawlarchive schedule "$run" --at 2020-01-01
done
say "4. Their records go to Avro, and the sweep removes only what the archive is proven to hold"
crawlarchive archive 184000 184001
crawlarchive sweep
crawlarchive run list
say "5. One comes back on demand, indexes first"
crawlarchive restore packages 184000
crawlarchive cat 184000 --format bson >after.bson
cmp before.bson after.bson && echo "every record is back, byte for byte"
crawlarchive index diff --run 184000
say "6. The export's sync step asks, and is told no"
if crawlarchive sync-needed 184000; then
  echo "unexpected: a sync is said to be needed" >&2
  exit 1
elif [ $? -ne 4 ]; then
  exit 1
fi
say "Everything lies in $WORK; remove it when you like."
