#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A large run from end to end: rate and peak memory of each phase, and the same bytes back.

Usage: run_scale.py BINARY [RECORDS]

Prints a table and fails where a record is lost or differs, or where a phase needs more memory than a run's size could
excuse. SQLite's page cache and the file system's are not counted apart: the limit below includes the former."""
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time

BINARY = str(pathlib.Path(sys.argv[1]).resolve())
RECORDS = int(sys.argv[2]) if len(sys.argv) > 2 else 1000000
PEAK_LIMIT_KIB = 160 * 1024
BIG_EVERY = 50000  # one record of 1 MiB among so many


def record(i):
    text = '{"_id": %d, "url": "https://example.org/category/%d/item-%d", "title": "An item of the crawl, number %d", ' \
           '"status": %d, "fetched_at": {"$date": "2026-01-%02dT10:%02d:%02d.%03dZ"}, "price": %d.%02d, "stock": %d, ' \
           '"tags": ["t%d", "t%d"], "seller": {"name": "s%d", "score": %d.5}, "currency": "EUR"' % (
               i, i % 997, i, i, 200 if i % 50 else 404, i % 28 + 1, i % 60, i % 59, i % 1000, i % 500, i % 100, i % 70,
               i % 13, i % 17, i % 211, i % 5)
    if i % BIG_EVERY == BIG_EVERY - 1:
        text += ', "body": "%s"' % ("x" * (1 << 20))
    return text + "}\n"


def phase(name, *arguments, feed=None, sink=None):
    """Run one command; wall seconds and peak memory of the process, and its output or what `sink` made of it."""
    started = time.monotonic()
    child = subprocess.Popen([BINARY, *arguments], stdin=subprocess.PIPE if feed else subprocess.DEVNULL,
                             stdout=subprocess.PIPE)
    if feed:
        def write():
            batch = []
            for i in range(RECORDS):
                batch.append(record(i))
                if len(batch) == 1000:
                    child.stdin.write("".join(batch).encode())
                    batch = []
            child.stdin.write("".join(batch).encode())
            child.stdin.close()
        threading.Thread(target=write, daemon=True).start()
    output = sink(child.stdout) if sink else child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.monotonic() - started
    code = os.waitstatus_to_exitcode(status)
    print("%-8s %8.1f s %10.0f records/s %8.1f MiB peak" % (name, seconds, RECORDS / seconds, usage.ru_maxrss / 1024),
          flush=True)
    assert code == 0, "%s ended with %d" % (name, code)
    assert usage.ru_maxrss <= PEAK_LIMIT_KIB, "%s needed %d KiB" % (name, usage.ru_maxrss)
    return output


def digest(stream):
    state = hashlib.sha256()
    while chunk := stream.read(1 << 20):
        state.update(chunk)
    return state.hexdigest()


def last(output):
    return json.loads(output.decode().splitlines()[-1])


def main():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="cra-scale-"))
    os.chdir(folder)
    try:
        subprocess.run([BINARY, "init"], check=True, stdout=subprocess.DEVNULL)
        summary = last(phase("import", "--output", "json", "import", "scale", "1", "-", "--format", "ndjson", feed=True))
        assert summary["records"] == RECORDS, summary
        before = phase("cat", "cat", "1", "--format", "bson", sink=digest)
        subprocess.run([BINARY, "deliver", "1", "--outcome", "success"], check=True, stdout=subprocess.DEVNULL)
        phase("archive", "archive", "1")
        phase("count", "verify", "1", "--level", "count")
        phase("content", "verify", "1", "--level", "content")
        subprocess.run([BINARY, "schedule", "1", "--at", "2020-01-01"], check=True, stdout=subprocess.DEVNULL)
        summary = last(phase("sweep", "--output", "json", "sweep"))
        assert summary["records_removed"] == RECORDS, summary
        summary = last(phase("restore", "--output", "json", "restore", "scale", "1"))
        assert summary["records_new"] == RECORDS, summary
        assert phase("cat", "cat", "1", "--format", "bson", sink=digest) == before, "restored records differ"
        size = sum(path.stat().st_size for path in folder.rglob("*.avro"))
        print("archive: %.1f MiB; every record is back, byte for byte" % (size / (1 << 20)))
    finally:
        os.chdir("/")
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
