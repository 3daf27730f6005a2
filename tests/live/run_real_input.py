#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Real collections through a run's whole life, from the shell: import, archive with each codec, verify by content,
sweep, restore; every document comes back byte for byte, with its indexes, used by a query.

Usage: run_real_input.py BINARY [EXTENSION]

Data that may only be used in place is looked for in $CRAWLARCHIVE_TEST_DATA (default ../shared/data); where it is
absent that part is skipped with a message. The Debian package index is any Debian machine's own."""
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

BINARY = str(pathlib.Path(sys.argv[1]).resolve())
DATA = pathlib.Path(os.environ.get("CRAWLARCHIVE_TEST_DATA") or "../shared/data").resolve()
EXTENSION = str(pathlib.Path(sys.argv[2]).resolve()) if len(sys.argv) > 2 else None
CODECS = ["null", "deflate", "snappy", "zstandard"]
UNSUPPORTED = {"arrow-alltypes_plain.bzip2.avro", "arrow-alltypes_plain.xz.avro"}
passed = failed = skipped = 0


def run(*arguments, expect=0, stdin=None):
    done = subprocess.run([BINARY, *arguments], capture_output=True, input=stdin)
    if done.returncode != expect:
        raise AssertionError("crawlarchive %s: exit %d, expected %d\n%s%s" % (
            " ".join(arguments), done.returncode, expect, done.stdout.decode(errors="replace")[-2000:],
            done.stderr.decode(errors="replace")[-2000:]))
    return done.stdout


def lines(output):
    return [json.loads(line) for line in output.decode().splitlines()]


def digest(run_name):
    """Number and digest of a run's documents, in order of _id, as bytes."""
    documents = run("cat", run_name, "--from", "hot", "--format", "bson")
    count = at = 0
    while at < len(documents):
        at += int.from_bytes(documents[at:at + 4], "little")
        count += 1
    assert at == len(documents), "a cut document"
    return count, hashlib.sha256(documents).hexdigest()


def case(name, function, *arguments):
    global passed, failed
    try:
        function(*arguments)
        passed += 1
        print("ok    ", name)
    except Exception as problem:  # noqa: BLE001 - each case on its own
        failed += 1
        print("FAILED", name, "-", problem)


def life(report, run_id, files, codec, minimum):
    name = report + "/" + run_id
    summary = lines(run("--output", "json", "import", report, run_id, *files))[-1]
    before = digest(name)
    assert before[0] == summary["records"] >= minimum, (before, summary, minimum)
    # Twice changes nothing.
    run("import", report, run_id, *files)
    assert digest(name) == before, "a second import changed something"

    run("deliver", name, "--outcome", "success")
    item = lines(run("--output", "json", "archive", name, "--codec", codec))[0]
    assert item["status"] == "archived" and item["records"] == before[0], item
    for level in ("auto", "count", "ids", "content"):
        item = lines(run("--output", "json", "verify", name, "--level", level))[0]
        assert item["status"] == "ok", item
    run("schedule", name, "--at", "2020-01-01")
    summary = lines(run("--output", "json", "sweep", "--run", name))[-1]
    assert summary["swept"] == 1 and summary["records_removed"] == before[0], summary
    assert digest(name)[0] == 0, "records are left"
    assert lines(run("--output", "json", "verify", name, "--level", "content"))[0]["status"] == "ok"
    archived = run("cat", name, "--from", "archive", "--format", "bson")
    assert len(archived) > 0

    item = [i for i in lines(run("--output", "json", "restore", report, run_id)) if i["message_type"] == "item"][0]
    assert item["status"] == "restored" and item["records_new"] == before[0], item
    assert digest(name) == before, "restored documents differ"
    run("sync-needed", name, expect=4)
    summary = lines(run("--output", "json", "sweep", "--run", name))[-1]
    assert summary["swept"] == 0, "a sweep right after the restore removed something"
    assert digest(name) == before


def packages(folder):
    """The Debian package index as NDJSON in two files."""
    try:
        text = subprocess.run(["apt-cache", "dumpavail"], capture_output=True, check=True).stdout.decode(
            errors="replace")
    except (OSError, subprocess.CalledProcessError):
        return []
    paths = [folder / "packages-1.ndjson", folder / "packages-2.ndjson"]
    outputs = [open(path, "w", encoding="utf-8") for path in paths]
    count = 0
    for stanza in text.split("\n\n"):
        record = {}
        for line in stanza.splitlines():
            if line[:1] not in (" ", "") and ": " in line:
                key, value = line.split(": ", 1)
                record[key] = int(value) if key in ("Size", "Installed-Size") else value
        if "Depends" in record:
            record["Depends"] = record["Depends"].split(", ")
        if record:
            outputs[count % 2].write(json.dumps(record) + "\n")
            count += 1
    for output in outputs:
        output.close()
    return [str(path) for path in paths] if count > 1000 else []


def index_is_used():
    """The restored collection's index serves a query: the planner says so."""
    assert EXTENSION is not None, "the loadable extension was not built"
    script = (".load %s sqlite3_crawlarchivesqlite_init\n"
              "EXPLAIN QUERY PLAN SELECT doc FROM c_%d WHERE bson_key(doc, 'Package') = x'00';\n"
              "SELECT count(*), max(run) FROM \"v_records_packages\";\n")
    number = subprocess.run(["sqlite3", "crawlarchive.db", "SELECT id FROM collections WHERE name = 'records_packages'"],
                            capture_output=True, text=True, check=True).stdout
    done = subprocess.run(["sqlite3", "crawlarchive.db"], input=script % (EXTENSION, int(number)), capture_output=True,
                          text=True, check=True)
    assert "USING INDEX" in done.stdout, done.stdout + done.stderr
    assert "184001" in done.stdout, done.stdout + done.stderr


def main():
    global skipped
    folder = pathlib.Path(tempfile.mkdtemp(prefix="cra-real-"))
    os.chdir(folder)
    os.environ["TZ"] = "Asia/Kathmandu"
    run("init")
    config = (folder / "crawlarchive.yaml").read_text()
    before = config
    config = config.replace("  # default: [{key", "  default: [{key: {run_id: 1}}]\n  # default: [{key", 1)
    config = config.replace("  # reports: {prices: [{key: {sku: 1}}]}",
                            "  reports: {packages: [{key: {run_id: 1}}, {key: {Package: 1}}, "
                            "{key: {Section: 1, Size: -1}}]}", 1)
    assert config.count("\n") == before.count("\n") + 1 and "Section" in config, "the template has changed"
    (folder / "crawlarchive.yaml").write_text(config)
    try:
        files = packages(folder)
        if files:
            run("index", "ensure", "packages")
            items = [i for i in lines(run("--output", "json", "index", "diff", "packages"))
                     if i["message_type"] == "item"]
            assert {i["state"] for i in items if i["name"] != "_id_"} == {"same"} and len(items) >= 3, items
            for number, path in enumerate(files):
                case("packages %d" % (number + 1), life, "packages", str(184000 + number), [path],
                     CODECS[number + 2], 1000)
            case("the index is used", index_is_used)
        else:
            skipped += 1
            print("skip   the package index: no apt-cache here")
        if (DATA / "json").is_dir():
            for number, path in enumerate(sorted((DATA / "json").glob("*.json"))):
                case("json " + path.name, life, path.stem, "nightly-%d" % number, [str(path)], CODECS[number % 4], 400)
        else:
            skipped += 1
            print("skip   json: no test data at hand")
        if (DATA / "avro-good").is_dir():
            for number, path in enumerate(sorted((DATA / "avro-good").glob("*.avro"))):
                if path.name in UNSUPPORTED:
                    continue
                count = int(subprocess.run([BINARY, "convert", "--to", "count", str(path)], capture_output=True,
                                           check=True).stdout or b"0")
                if count == 0:
                    continue
                case("avro " + path.name, life, "avro", path.stem, [str(path)], CODECS[number % 4], 1)
        else:
            skipped += 1
            print("skip   avro-good: no test data at hand")
    finally:
        os.chdir("/")
        shutil.rmtree(folder, ignore_errors=True)
    print("%d passed, %d failed, %d skipped" % (passed, failed, skipped))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
