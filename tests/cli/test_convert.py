# SPDX-License-Identifier: Apache-2.0
"""convert: the codec alone. Round trips, damaged input, and what becomes of bad records."""

import base64
import glob
import gzip
import json
import os
import signal
import struct
import subprocess
import time

from cli_kit import BINARY, REPOSITORY, CliTest

LINES = (b'{"a":{"$numberInt":"1"},"b":"x"}\n'
         b'{"a":{"$numberLong":"9007199254740993"},"t":{"$date":{"$numberLong":"1"}},"e":{"":{"$numberInt":"1"}}}\n'
         b'{"z":[{"$numberInt":"1"},"two",null,{"$numberDouble":"-0.0"}],"a.b":true}\n')
BAD = os.path.join(REPOSITORY, "tests", "data", "avro-bad")

# What each file comes to: exit code, records written. A codec that is not there is no damage: 1.
EXPECTED = {
    "00_good.avro": (0, 3),
    "02_header_only.avro": (0, 0),
    "04_trunc_in_sync.avro": (13, 2),
    "06_trunc_in_count_varint.avro": (13, 2),
    "08_zero_count_block_first.avro": (0, 1),
    "10_concat.avro": (0, 6),
    "12_count_too_big.avro": (13, 0),
    "14_neg_count.avro": (13, 0),
    "16_huge_string.avro": (13, 0),
    "18_varint11.avro": (13, 0),
    "20_invalid_utf8.avro": (13, 0),
    "22_null_array_bomb.avro": (13, 0),
    "24_neg_array_wrongsize.avro": (13, 0),
    "26_map_key_nul.avro": (13, 0),
    "28_union_bad_index.avro": (13, 0),
    "30_enum_oob.avro": (13, 0),
    "32_dotted_field.avro": (0, 1),
    "34_recursive_deep.avro": (13, 0),
    "36_nan.avro": (0, 3),
    "38_meta_neg_count.avro": (0, 1),
    "40_unknown_codec.avro": (1, 0),
    "42_zlib_wrapped_deflate.avro": (13, 0),
    "44_deflate_trunc.avro": (13, 0),
    "46_snappy.avro": (0, 1),
    "48_snappy_short.avro": (13, 0),
    "50_xz.avro": (1, 0),
    "52_zero_size_block_nullrec.avro": (0, 5),
    "54_error_type.avro": (0, 1),
    "56_unicode_fieldname.avro": (0, 1),
    "58_union_in_union_dup.avro": (13, 0),
    "60_codec_empty.avro": (0, 1),
    "62_len0_block_after_full.avro": (0, 5),
    "64_zero_count_but_bytes.avro": (0, 1),
    "66_dup_named_type.avro": (13, 0),
    "68_fixed_zero.avro": (0, 2),
    "70_default_missing_big_int.avro": (0, 1),
}


def document(*elements):
    body = b"".join(elements)
    return struct.pack("<i", len(body) + 5) + body + b"\0"


def text(name, value):
    return b"\x02" + name + b"\0" + struct.pack("<i", len(value) + 1) + value + b"\0"


class RoundTrip(CliTest):
    def test_every_format_to_every_other(self):
        self.write("start.ndjson", LINES)
        previous = "start.ndjson"
        for form in ("bson", "avro", "json", "avro", "bson", "json", "bson", "ndjson"):
            following = "next-%s.%s" % (previous[:20].replace(".", ""), form)
            self.run_cli("convert", "--to", form, "-o", following, previous)
            previous = following
        with open(self.path(previous), "rb") as file:
            self.assertEqual(file.read(), LINES)

    def test_codecs(self):
        self.write("a.ndjson", LINES * 200)
        sizes = {}
        for codec in ("null", "deflate", "snappy", "zstandard"):
            self.run_cli("convert", "--to", "avro", "--codec", codec, "-o", codec, "a.ndjson")
            self.assertEqual(self.run_cli("convert", "--to", "ndjson", codec).raw, LINES * 200)
            sizes[codec] = os.path.getsize(self.path(codec))
        self.assertEqual(max(sizes, key=sizes.get), "null")

    def test_streams(self):
        data = self.run_cli("convert", "--to", "bson", "-", stdin=LINES).raw
        self.assertEqual(self.run_cli("convert", "--to", "ndjson", "-", stdin=data).raw, LINES)
        self.assertEqual(self.run_cli("convert", "--from", "bson", "--to", "count", "-", stdin=data).text, "3\n")

    def test_several_inputs(self):
        self.write("a.ndjson", LINES)
        self.run_cli("convert", "--to", "bson", "-o", "b.bson", "a.ndjson")
        self.assertEqual(self.run_cli("convert", "--to", "count", "a.ndjson", "b.bson", "a.ndjson").text, "9\n")
        self.assertEqual(self.run_cli("convert", "--to", "ndjson", "a.ndjson", "b.bson").raw, LINES + LINES)

    def test_json_shapes(self):
        pretty = json.dumps([{"a": 1, "s": "}{][,\\\""}, {"a": [1, {"b": 2}]}], indent=2)
        self.assertEqual(self.run_cli("convert", "--to", "count", "-", stdin=pretty.encode()).text, "2\n")
        self.assertEqual(self.run_cli("convert", "--to", "count", "-", stdin=b"\xef\xbb\xbf " + LINES).text, "3\n")
        self.assertEqual(self.run_cli("convert", "--to", "count", "-", stdin=b'{\n"a": 1}\n{"a":\n2}').text, "2\n")
        self.assertEqual(self.run_cli("convert", "--to", "json", "-", stdin=b"[]").text, "[]\n")
        self.assertEqual(self.run_cli("convert", "--to", "count", "-", stdin=b" \n ").text, "0\n")
        for broken in (b"[1]", b"[{},", b"[{} {}]", b"{", b"]", b'{"a":"'):
            self.run_cli("convert", "--to", "count", "-", stdin=broken, code=13)

    def test_empty_input(self):
        outcome = self.run_cli("convert", "--to", "ndjson", self.write("nothing", ""))
        self.assertEqual(outcome.text, "")
        self.assertIn("nothing is empty", outcome.errors)

    def test_long_documents(self):
        line = json.dumps({"s": "y" * 3_000_000}).encode() + b"\n"
        data = self.run_cli("convert", "--to", "bson", "-", stdin=line * 2).raw
        self.assertEqual(len(data), 2 * (3_000_000 + 13))
        self.assertEqual(self.run_cli("convert", "--to", "ndjson", "-", stdin=data).raw, (line * 2).replace(b": ", b":"))

    def test_schema(self):
        self.write("a.ndjson", LINES)
        self.run_cli("convert", "--to", "avro", "-o", "a.avro", "a.ndjson")
        schema = json.loads(self.run_cli("convert", "--to", "schema", "a.avro", "a.avro").text)
        self.assertEqual(schema["type"], "record")
        self.assertEqual(json.loads(self.run_cli("convert", "--to", "schema", "a.ndjson").text)["type"], "record")


class Refusals(CliTest):
    def test_usage(self):
        self.run_cli("convert", "--to", "bson", "missing", code=10)
        self.run_cli("convert", "--to", "bson", ".", code=2)
        self.run_cli("convert", "--to", "bson", self.write("x", "what is this"), code=13)
        outcome = self.run_cli("convert", "--to", "bson", self.write("x.gz", gzip.compress(LINES)), code=1)
        self.assertIn("zcat", outcome.errors)

    def test_output_appears_whole_or_not_at_all(self):
        self.write("a.ndjson", LINES)
        self.write("out", "before")
        self.run_cli("convert", "--to", "bson", "-o", "out", "a.ndjson", "missing", code=10)
        with open(self.path("out"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "before")
        self.assertEqual(sorted(os.listdir(self.folder)), ["a.ndjson", "out"])

    def test_cut_input_gives_what_was_whole(self):
        data = self.run_cli("convert", "--to", "bson", "-", stdin=LINES).raw
        self.write("cut.bson", data[:-3])
        outcome = self.run_json("convert", "--to", "ndjson", "-o", "out", "cut.bson", code=13)
        with open(self.path("out"), "rb") as file:
            self.assertEqual(file.read(), b"".join(LINES.splitlines(True)[:2]))
        summary, error = outcome.error_lines()
        self.assert_keys(summary, "records bytes_in bytes_out bad_records", "summary")
        self.assertEqual((summary["records"], summary["bytes_in"]), (2, len(data) - 3))
        self.assertEqual((error["status"], error["code"]), ("corrupt", 13))
        self.assertIn("cut.bson", error["message"])

    def test_bad_records(self):
        good = document(text(b"a", b"x"))
        bad = document(b"\x02a\0" + struct.pack("<i", 99) + b"x\0")
        self.write("mixed.bson", good + bad + good)
        outcome = self.run_json("convert", "--to", "ndjson", "mixed.bson", code=13)
        self.assertEqual(outcome.text, '{"a":"x"}\n')
        outcome = self.run_json("convert", "--to", "ndjson", "--bad-records", "skip", "mixed.bson", code=3)
        self.assertEqual(outcome.text, '{"a":"x"}\n' * 2)
        self.assertEqual(outcome.error_lines()[0]["bad_records"], 1)
        self.run_cli("convert", "--to", "ndjson", "--bad-records", "divert=dead", "mixed.bson", code=3)
        with open(self.path("dead"), encoding="utf-8") as file:
            (letter,) = [json.loads(line) for line in file]
        self.assert_keys(letter, "file offset record reason payload")
        self.assertEqual((letter["file"], letter["offset"], letter["record"]), ("mixed.bson", len(good), 1))
        self.assertEqual(base64.b64decode(letter["payload"]), bad)

    def test_bad_lines(self):
        lines = b'{"a":1}\n{"a":\n[2]\n{"a":3}\n'
        outcome = self.run_json("convert", "--to", "count", "--bad-records", "skip", "-", stdin=lines, code=3)
        self.assertEqual((outcome.text, outcome.error_lines()[0]["bad_records"]), ("2\n", 2))

    def test_signals(self):
        """The first signal ends a read from a silent pipe, and nothing of the output is left."""
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            with subprocess.Popen([BINARY, "convert", "--to", "bson", "-o", "out", "-"], cwd=self.folder,
                                  stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=self.environment()) as process:
                process.stdin.write(LINES)
                process.stdin.flush()
                while not any(name.endswith(".tmp") for name in os.listdir(self.folder)):
                    time.sleep(0.01)
                time.sleep(0.1)
                process.send_signal(number)
                self.assertEqual(process.wait(timeout=30), code)
            self.assertEqual(os.listdir(self.folder), [])

    def test_closed_pipe_is_quiet(self):
        self.write("big.ndjson", (b'{"a":"' + b"x" * 1000 + b'"}\n') * 2000)
        with subprocess.Popen([BINARY, "convert", "--to", "ndjson", "big.ndjson"], cwd=self.folder,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.environment()) as process:
            process.stdout.read(10)
            process.stdout.close()
            errors = process.stderr.read()
            self.assertEqual((process.wait(timeout=60), errors), (1, b""))

    def test_full_disk_is_told(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        self.write("a.ndjson", LINES)
        with open("/dev/full", "wb") as full:
            process = subprocess.run([BINARY, "convert", "--to", "ndjson", "a.ndjson"], cwd=self.folder, stdout=full,
                                     stderr=subprocess.PIPE, env=self.environment(), check=False)
        self.assertEqual(process.returncode, 1)
        self.assertIn(b"standard output", process.stderr)


class DamagedAvro(CliTest):
    def test_invalid_utf8(self):
        name = os.path.join(BAD, "20_invalid_utf8.avro")
        outcome = self.run_cli("convert", "--to", "ndjson", "--invalid-utf8", "replace", name)
        self.assertIn("\ufffd", outcome.lines()[0]["s"])
        outcome = self.run_cli("convert", "--to", "ndjson", "--invalid-utf8", "binary", name)
        self.assertIn("$binary", outcome.lines()[0]["s"])
        self.run_cli("convert", "--to", "ndjson", "--bad-records", "divert=dead", name, code=3)
        with open(self.path("dead"), encoding="utf-8") as file:
            letter = json.loads(file.read())
        self.assertEqual(base64.b64decode(letter["payload"]), b"\x02\x06\xff\xfe\x80")

    def test_salvage(self):
        with open(os.path.join(BAD, "00_good.avro"), "rb") as file:
            good = bytearray(file.read())
        good[-20] ^= 0xFF  # in the last block
        self.write("damaged.avro", bytes(good))
        self.run_cli("convert", "--to", "ndjson", "damaged.avro", code=13)
        outcome = self.run_cli("convert", "--to", "ndjson", "--salvage", "damaged.avro", code=3)
        self.assertEqual(len(outcome.lines()), 2)

    def test_every_file(self):
        files = sorted(glob.glob(os.path.join(BAD, "*.avro")))
        self.assertEqual({os.path.basename(name) for name in files}, set(EXPECTED))
        for name in files:
            with self.subTest(os.path.basename(name)):
                outcome = self.run_cli("convert", "--to", "ndjson", name, code=None)
                self.assertEqual((outcome.code, len(outcome.lines())), EXPECTED[os.path.basename(name)],
                                 outcome.describe())
                self.assertEqual(outcome.code == 0, outcome.errors == "", outcome.describe())
