# SPDX-License-Identifier: Apache-2.0
"""What the tests of the command share: a folder of their own, the command run in it, its output taken apart."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BINARY = os.environ.get("CRAWLARCHIVE_BINARY", "")


class Outcome:
    """Exit code, text and parsed JSON lines of one invocation."""

    def __init__(self, arguments, process):
        self.arguments = arguments
        self.code = process.returncode
        self.raw = process.stdout
        self.text = process.stdout.decode("utf-8", "replace")
        self.errors = process.stderr.decode("utf-8", "replace")

    def lines(self):
        return [json.loads(line) for line in self.text.splitlines()]

    def error_lines(self):
        return [json.loads(line) for line in self.errors.splitlines()]

    def items(self):
        return [line for line in self.lines() if line.get("message_type") == "item"]

    def summary(self):
        lines = self.lines()
        assert lines and lines[-1]["message_type"] == "summary", self.describe()
        assert sum(line["message_type"] == "summary" for line in lines) == 1, self.describe()
        return lines[-1]

    def describe(self):
        return "crawlarchive %s: exit code %d\n%s\n%s" % (
            " ".join(self.arguments), self.code, self.text[-2000:], self.errors[-4000:])


class CliTest(unittest.TestCase):
    """Each test has an empty folder, and no configuration unless it makes one."""

    maxDiff = None

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="cli-test-")
        self.addCleanup(shutil.rmtree, self.folder)

    def environment(self, **extra):
        keep = {name: value for name, value in os.environ.items() if not name.startswith("CRAWLARCHIVE")}
        keep.update(extra)
        return keep

    def run_cli(self, *arguments, code=0, stdin=b"", env=None):
        process = subprocess.run([BINARY, *arguments], cwd=self.folder, input=stdin, capture_output=True,
                                 env=self.environment(**(env or {})), timeout=120, check=False)
        outcome = Outcome(arguments, process)
        self.assertNotIn("Sanitizer", outcome.errors, outcome.describe())
        if code is not None:
            self.assertEqual(outcome.code, code, outcome.describe())
        return outcome

    def run_json(self, *arguments, **options):
        return self.run_cli(*arguments, "--output", "json", **options)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, content):
        with open(self.path(name), "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        return name

    def assert_keys(self, line, keys, message_type=None):
        expected = set(keys.split())
        if message_type:
            expected.add("message_type")
            self.assertEqual(line["message_type"], message_type)
        self.assertEqual(set(line), expected)


def read_table():
    """Commands and options as options.def declares them."""
    with open(os.path.join(REPOSITORY, "cli", "options.def"), encoding="utf-8") as file:
        text = file.read()
    commands = dict(re.findall(r'^COMMAND\((\w+), \w+, "([^"]+)"', text, re.M))
    options = {}  # one name may stand in several rows
    for body in re.findall(r"^OPTION\((.*?)\)$", text, re.M | re.S):
        name = re.search(r'"([^"]+)"', body).group(1)
        letter = re.search(r"'(.)'", body.split(",")[2])
        where = commands if body.rstrip().endswith("EVERY") else re.findall(r"ON\((\w+)", body)
        places = options.setdefault(name, (letter.group(1) if letter else None, set()))[1]
        places.update(where)
    return commands, [(name, letter, places) for name, (letter, places) in options.items()]
