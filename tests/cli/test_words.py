# SPDX-License-Identifier: Apache-2.0
"""Words: help, misspellings, usage, pages and completions of one table."""

import glob
import os
import re
import shutil
import subprocess
import unittest

from cli_kit import BINARY, CliTest, read_table

PAGES = os.path.join(os.path.dirname(BINARY), "generated")


class Help(CliTest):
    def test_overview_lists_every_command(self):
        commands, _ = read_table()
        self.assertGreater(len(commands), 20)
        for arguments in ((), ("--help",), ("-h",), ("help",)):
            text = self.run_cli(*arguments).text
            for name in commands.values():
                self.assertIn("\n  %s " % name, text)
        self.assertNotIn("sink", text)

    def test_help_of_each_command(self):
        commands, options = read_table()
        for identifier, name in commands.items():
            text = self.run_cli(*name.split(), "--help").text
            self.assertIn("Usage: crawlarchive %s" % name, text)
            self.assertIn("Exit codes\n  0 ", text)
            self.assertEqual(text.split("Examples\n")[1].split("\n\n")[0].count("  # "), 2)
            for option, letter, where in options:
                listed = re.search(r"^  (-., |    )--%s( |$)" % option, text, re.M)
                self.assertEqual(listed is not None, identifier in where, "%s --%s" % (name, option))
                if letter and identifier in where:
                    self.assertIn("-%s, --%s" % (letter, option), text)
            self.assertTrue(all(len(line) <= 81 for line in text.splitlines()), text)

    def test_help_needs_no_arguments_and_no_configuration(self):
        self.assertEqual(self.run_cli("help", "import").text, self.run_cli("import", "--help").text)

    def test_version(self):
        outcome = self.run_cli("--version")
        self.assertRegex(outcome.text, r"^crawlarchive \d+\.\d+\.\d+\n")
        self.assertIn("file", outcome.text)


class Pages(CliTest):
    def test_every_option_is_in_its_page(self):
        commands, options = read_table()
        for identifier, name in commands.items():
            with open(os.path.join(PAGES, "man1", "crawlarchive-%s.1" % name.replace(" ", "-"))) as file:
                page = file.read()
            for option, _, where in options:
                if identifier in where:
                    self.assertIn("\\-\\-%s\\fR" % option.replace("-", "\\-"), page, name)

    def test_every_word_is_in_each_completion(self):
        commands, options = read_table()
        for shell in ("bash", "zsh", "fish"):
            script = self.run_cli("completion", shell).text
            for name in commands.values():
                self.assertIn(name.split()[-1], script)
            for option, _, _ in options:
                self.assertIn("-l %s " % option if shell == "fish" else "--%s" % option, script, shell)

    def test_generated_completions_are_the_command_s(self):
        for shell, name in (("bash", "crawlarchive"), ("zsh", "_crawlarchive"), ("fish", "crawlarchive.fish")):
            with open(os.path.join(PAGES, "completion", name), encoding="utf-8") as file:
                self.assertEqual(file.read(), self.run_cli("completion", shell).text)

    @unittest.skipUnless(shutil.which("bash"), "no bash")
    def test_bash_completes(self):
        script = self.run_cli("completion", "bash").text
        for words, expected in (
            (["crawlarchive", "sw"], {"sweep"}),
            (["crawlarchive", "run", "sh"], {"show"}),
            (["crawlarchive", "sweep", "--dry"], {"--dry-run"}),
            (["crawlarchive", "--output", "js"], {"json"}),
            (["crawlarchive", "-c", "x.yaml", "cat", "--format", "b"], {"bson"}),
            (["crawlarchive", "completion", "f"], {"fish"}),
        ):
            program = script + "\nCOMP_WORDS=(%s)\nCOMP_CWORD=%d\n_crawlarchive\nprintf '%%s\\n' \"${COMPREPLY[@]}\"" % (
                " ".join("'%s'" % word for word in words), len(words) - 1)
            answer = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=True)
            self.assertEqual(set(answer.stdout.split()), expected, words)

    @unittest.skipUnless(shutil.which("zsh"), "no zsh")
    def test_zsh_parses(self):
        script = self.run_cli("completion", "zsh").raw
        subprocess.run(["zsh", "-n"], input=script, check=True)

    @unittest.skipUnless(shutil.which("fish"), "no fish")
    def test_fish_parses(self):
        script = self.run_cli("completion", "fish").raw
        subprocess.run(["fish", "-n"], input=script, check=True)

    @unittest.skipUnless(shutil.which("mandoc"), "no mandoc")
    def test_pages_are_clean(self):
        pages = glob.glob(os.path.join(PAGES, "man?", "*"))
        self.assertGreater(len(pages), 25)
        lint = subprocess.run(["mandoc", "-Tlint", *pages], capture_output=True, text=True, check=False)
        self.assertEqual(lint.stdout, "")

    def test_formats_have_pages(self):
        with open(os.path.join(PAGES, "man5", "crawlarchive.yaml.5")) as file:
            self.assertIn("\\fBlease.ttl\\fR", file.read())
        with open(os.path.join(PAGES, "man5", "crawlarchive-catalog.5")) as file:
            self.assertIn("\\fBarchive_at\\fR", file.read())


class Usage(CliTest):
    def refused(self, *arguments, near=None):
        outcome = self.run_cli(*arguments, code=2)
        self.assertEqual(outcome.text, "")
        self.assertTrue(outcome.errors.startswith("crawlarchive: "), outcome.errors)
        if near:
            self.assertIn("did you mean %s?" % near, outcome.errors)
        return outcome.errors

    def test_nearest_words(self):
        self.refused("swep", near="'sweep'")
        self.refused("imprt", "a", "b", "c", near="'import'")
        self.refused("runs", "list", near="'run'")
        self.refused("run", "lst", near="'run list'")
        self.refused("config", "chekc", near="'config check'")
        self.refused("sweep", "--dry-rnu", near="--dry-run")
        self.refused("--ouput", "json", "status", near="--output")
        self.refused("import", "a", "b", "c", "--format", "jsn", near="'json'")
        self.refused("verify", "--all", "--level", "contents", near="'content'")
        self.refused("status", "--output", "jsno", near="'json'")

    def test_no_nearest_word(self):
        self.assertNotIn("did you mean", self.refused("xyzzy"))
        self.assertNotIn("did you mean", self.refused("status", "--xyzzy"))

    def test_arguments(self):
        self.assertIn("list, show, add", self.refused("run"))
        self.refused("deliver")
        self.refused("deliver", "1")
        self.refused("run", "show", "1", "2")
        self.refused("verify")
        self.refused("verify", "--all", "1")
        self.refused("route")
        self.refused("route", "1", "--export")
        self.refused("schedule", "1")
        self.refused("schedule", "1", "--clear", "--in", "3d")
        self.refused("sweep", "1")
        self.refused("sweep", "--as-of", "2026-12-01")
        self.refused("restore", "prices")
        self.refused("convert", "x.avro")
        self.refused("index", "list")
        self.refused("completion", "csh")
        self.refused("status", "--config")
        self.refused("sweep", "--dry-run=yes")
        self.refused("archive", "1", "--rate", "5")

    def test_values(self):
        self.refused("sweep", "--rate", "0")
        self.refused("sweep", "--rate", "-1")
        self.refused("sweep", "--rate", "1x")
        self.refused("sweep", "--rate", "99999999999999999999")
        self.refused("sweep", "--max-share", "101%")
        self.refused("sweep", "--max-share", "nan")
        self.refused("sweep", "--time-budget", "5 minutes")
        self.refused("sweep", "--dry-run", "--as-of", "yesterday")
        self.refused("restore", "p", "1", "--batch-bytes", "8MiBs")
        self.refused("convert", "--to", "bson", "--bad-records", "divert=", "x")
        self.refused("convert", "--to", "bson", "--bad-records", "divert", "x")

    def test_errors_as_json(self):
        for arguments in (("--output", "json", "swep"), ("swep", "--output=json"), ("swep", "--output", "json")):
            outcome = self.run_cli(*arguments, code=2)
            (error,) = outcome.error_lines()
            self.assert_keys(error, "status code message hint", "error")
            self.assertEqual((error["status"], error["code"]), ("invalid", 2))
            self.assertEqual(outcome.text, "")

    def test_global_options_before_and_after(self):
        for arguments in (("-c", "no.yaml", "status"), ("status", "-c", "no.yaml"), ("status", "-cno.yaml"),
                          ("run", "--config=no.yaml", "list"), ("-vq", "run", "list", "--config", "no.yaml")):
            self.assertIn("no.yaml", self.refused(*arguments))

    def test_without_configuration(self):
        errors = self.refused("status")
        self.assertIn("no configuration file", errors)
        self.assertIn("crawlarchive init", errors)

    def test_double_dash_ends_options(self):
        self.assertIn("--nothing", self.refused("run", "show", "1", "--", "--nothing"))
