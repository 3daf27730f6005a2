# SPDX-License-Identifier: Apache-2.0
"""The life of a run on the embedded default, and the JSON keys of every command on the way."""

import json
import os
import signal
import subprocess
import time
import unittest

from cli_kit import BINARY, CliTest

RUN = ("report run state outcome records delivered_at ended_at restored_at archive_at rule held hold_reason location")
RESTORED = ("records_read records_new records_identical records_conflict records_failed records_unsent elapsed_ms")
PAST = "2020-01-01T00:00:00Z"


def records(count, first=0):
    return "".join(json.dumps({"url": "http://example.org/%d" % i, "n": i, "site": "s%d" % (i % 3)}) + "\n"
                   for i in range(first, first + count))


class Stores(CliTest):
    """With a configuration and empty stores."""

    def setUp(self):
        super().setUp()
        self.run_cli("init")

    def imported(self, report, run, count=20, first=0):
        self.run_cli("import", report, run, self.write("%s-%s.ndjson" % (report, run), records(count, first)))

    def archived(self, report, run, count=20):
        """Imported, delivered long ago, archived: due."""
        self.imported(report, run, count)
        self.run_cli("deliver", run, "--outcome", "success", "--at", PAST)
        self.run_cli("archive", run)

    def state(self, run):
        return self.run_json("run", "show", run).lines()[0]["state"]


class Start(CliTest):
    def test_init(self):
        outcome = self.run_json("init", "deep/folder")
        self.assert_keys(outcome.lines()[0], "config")
        config = outcome.lines()[0]["config"]
        self.assertTrue(os.path.exists(self.path(config)))
        with open(self.path(config), "a", encoding="utf-8") as file:
            file.write("# mine\n")
        outcome = self.run_cli("init", "deep/folder", code=1)
        self.assertIn("--force", outcome.errors)
        with open(self.path(config), encoding="utf-8") as file:
            self.assertIn("# mine", file.read())
        self.run_cli("init", "deep/folder", "--force")
        with open(self.path(config), encoding="utf-8") as file:
            self.assertNotIn("# mine", file.read())
        self.run_cli("status", "-c", config)
        for name in os.listdir(self.path("deep/folder")):
            if name != "crawlarchive.yaml" and os.path.isfile(self.path("deep/folder/" + name)):
                os.unlink(self.path("deep/folder/" + name))
        self.assertIn("init", self.run_cli("status", "-c", config, code=10).errors)
        self.run_cli("init", "-c", config)
        self.run_cli("init", "elsewhere", "-c", config, code=2)
        self.run_cli("status", env={"CRAWLARCHIVE_CONFIG": config})

    def test_config_check_and_show(self):
        self.run_cli("init")
        outcome = self.run_json("config", "check")
        self.assertGreaterEqual(len(outcome.items()), 3)
        for item in outcome.items():
            self.assert_keys(item, "store uri ok detail", "item")
            self.assertTrue(item["ok"], outcome.describe())
        self.assert_keys(outcome.summary(), "ok", "summary")
        self.assertIs(outcome.summary()["ok"], True)
        shown = {line["path"]: line for line in
                 self.run_json("config", "show", env={"CRAWLARCHIVE_LEASE__TTL": "10s"}).lines()}
        self.assert_keys(shown["lease.ttl"], "path value source")
        self.assertEqual(shown["lease.ttl"]["source"], "environment")

    def test_config_mistakes(self):
        self.run_cli("init")
        with open(self.path("crawlarchive.yaml"), "a", encoding="utf-8") as file:
            file.write("\nsweeep: {rate: 5}\n")
        outcome = self.run_cli("status", code=2)
        self.assertIn("crawlarchive.yaml", outcome.errors)
        self.assertIn("sweeep", outcome.errors)


class Runs(Stores):
    def test_import(self):
        outcome = self.run_json("import", "prices", "1", self.write("a.ndjson", records(5)))
        self.assert_keys(outcome.summary(), "records bytes", "summary")
        self.assertEqual(outcome.summary()["records"], 5)
        self.assertGreater(outcome.summary()["bytes"], 100)
        again = self.run_json("import", "prices", "1", "a.ndjson")
        self.assertEqual(len(self.run_cli("cat", "1").lines()), 5, again.describe())
        self.run_cli("import", "prices", "2", "-", stdin=records(3).encode())
        self.assertEqual(len(self.run_cli("cat", "2").lines()), 3)
        self.run_cli("import", "prices", "3", "missing.ndjson", code=10)
        self.run_cli("run", "show", "3", code=10)

    def test_import_names_what_it_does_not_overwrite(self):
        self.run_cli("import", "prices", "1", self.write("a.ndjson", '{"_id":"x","v":1}\n{"_id":"y","v":1}\n'))
        outcome = self.run_json("import", "prices", "1", self.write("b.ndjson", '{"_id":"x","v":2}\n{"_id":"z"}\n'), code=3)
        (error,) = outcome.error_lines()
        self.assertEqual(error["status"], "partial")
        self.assertIn("x", error["message"])
        values = [line["v"] for line in self.run_cli("cat", "1", "--where", "_id=x").lines()]
        self.assertEqual(values, [{"$numberInt": "1"}])
        self.assertEqual(len(self.run_cli("cat", "1").lines()), 3)

    def test_list_show_add(self):
        self.imported("prices", "1", 7)
        added = self.run_json("run", "add", "hotels", "2", "--collection", "other").lines()[0]
        self.assert_keys(added, RUN)
        self.assertEqual((added["run"], added["state"], added["records"]), ("2", "hot", None))
        self.run_cli("run", "add", "hotels", "2", code=1)
        rows = self.run_json("run", "list").lines()
        self.assertEqual([(row["report"], row["run"]) for row in rows], [("hotels", "2"), ("prices", "1")])
        for row in rows:
            self.assert_keys(row, RUN)
        self.assertEqual(rows[1]["records"], 7)
        self.assertEqual(self.run_json("run", "list", "--report", "hotels").lines(), [rows[0]])
        self.assertEqual(self.run_json("run", "list", "--state", "archived").lines(), [])
        self.assertEqual(self.run_json("run", "list", "--held").lines(), [])
        self.assertEqual(self.run_json("run", "show", "prices/1").lines(), [rows[1]])
        self.run_cli("run", "show", "9", code=10)
        self.assertIn("prices", self.run_cli("run", "list").text)

    def test_ambiguous_id(self):
        self.run_cli("run", "add", "a", "1")
        self.run_cli("run", "add", "b", "1")
        errors = self.run_cli("run", "show", "1", code=2).errors
        self.assertIn("a/1", errors)
        self.assertIn("b/1", errors)
        self.run_cli("run", "show", "b/1")
        self.run_cli("archive", "a/1", "1", code=2)

    def test_dates(self):
        self.imported("prices", "1")
        done = self.run_json("deliver", "1", "--outcome", "success", "--at", "2026-01-01").lines()[0]
        self.assert_keys(done, "run outcome archive_at rule")
        self.assertEqual(done["archive_at"], "2026-01-04T00:00:00Z")
        self.assertIn("succes", self.run_cli("deliver", "1", "--outcome", "succes", code=2).errors)
        self.run_cli("deliver", "1", "--outcome", "success", "--at", "2999-01-01", code=2)
        self.assertEqual([row["run"] for row in self.run_json("run", "list", "--due").lines()], ["1"])
        later = self.run_json("schedule", "1", "--in", "2w").lines()[0]
        self.assert_keys(later, "run archive_at rule")
        self.assertEqual(later["rule"], "explicit")
        self.assertEqual(self.run_json("run", "list", "--due").lines(), [])
        self.run_json("schedule", "1", "--at", "2026-02-01T00:00:00+01:00")
        self.assertEqual(self.run_json("run", "show", "1").lines()[0]["archive_at"], "2026-01-31T23:00:00Z")
        self.assertEqual(self.run_json("schedule", "1", "--clear").lines()[0]["archive_at"], "2026-01-04T00:00:00Z")
        self.run_json("schedule", "1", "--recompute")
        why = self.run_json("retention", "explain", "1").lines()[0]
        self.assert_keys(why, "run archive_at due rule anchor anchor_field window_ms steps")
        self.assertEqual((why["due"], why["anchor_field"], why["window_ms"]), (True, "delivered_at", 3 * 86400 * 1000))
        self.assertGreater(len(why["steps"]), 0)

    def test_hold(self):
        self.archived("prices", "1")
        held = self.run_json("hold", "1", "--reason", "an \"audit\"").lines()[0]
        self.assert_keys(held, "run held hold_reason")
        self.assertEqual((held["held"], held["hold_reason"]), (True, "an \"audit\""))
        self.assertEqual([row["run"] for row in self.run_json("run", "list", "--held").lines()], ["1"])
        self.assertEqual(self.run_json("run", "list", "--due").lines(), [])
        outcome = self.run_json("sweep")
        self.assertEqual(outcome.summary()["swept"], 0)
        self.assertEqual(self.state("1"), "hot")
        self.assertEqual(self.run_json("release", "1").lines()[0]["held"], False)
        self.assertEqual(self.run_json("sweep").summary()["swept"], 1)

    def test_cat(self):
        self.imported("prices", "1", 9)
        self.assertEqual(len(self.run_cli("cat", "1", "--limit", "4").lines()), 4)
        self.assertEqual(len(self.run_cli("cat", "1", "--where", "site=s1").lines()), 3)
        self.assertEqual(len(self.run_cli("cat", "1", "--where", "n=5").lines()), 1)
        self.assertEqual(len(self.run_cli("cat", "1", "--where", 'n="5"').lines()), 0)
        self.run_cli("cat", "1", "--where", "nothing", code=2)
        for form in ("ndjson", "bson", "avro"):
            data = self.run_cli("cat", "1", "--format", form).raw
            count = self.run_cli("convert", "--to", "count", self.write("run." + form, data)).text
            self.assertEqual(count, "9\n", form)
        self.run_cli("cat", "1", "--from", "archive", code=10)

    def test_route(self):
        self.run_cli("run", "add", "prices", "1")
        here = self.run_json("route", "1").lines()[0]
        self.assert_keys(here, "run uri route")
        self.assertIn("prices/1", here["uri"])
        self.assertEqual(self.run_json("route", "prices/77").lines()[0]["run"], "77")
        self.run_cli("route", "77", code=10)
        exported = json.loads(self.run_cli("route", "--export").text)
        self.assertEqual(exported["version"], 1)

    def test_indexes(self):
        self.imported("prices", "1")
        self.write("spec.json", '[{"key": {"url": 1}}, {"key": {"site": 1, "n": -1}, "name": "by_site"}]')
        outcome = self.run_json("index", "diff", "prices", "--spec", "spec.json")
        states = {item["name"]: item["state"] for item in outcome.items()}
        self.assertEqual((states["url_1"], states["by_site"]), ("missing", "missing"))
        outcome = self.run_json("index", "ensure", "prices", "--spec", "spec.json")
        for item in outcome.items():
            self.assert_keys(item, "collection name key state detail", "item")
        states = {item["name"]: (item["state"], item["key"]) for item in outcome.items()}
        self.assertEqual(states["by_site"], ("created", {"site": 1, "n": -1}))
        self.assertEqual(outcome.summary(), {"message_type": "summary"})
        names = {item["name"] for item in self.run_json("index", "list", "--run", "1").items()}
        self.assertLessEqual({"url_1", "by_site"}, names)
        self.write("bad.json", '{"key": 1')
        self.run_cli("index", "diff", "prices", "--spec", "bad.json", code=2)


class Life(Stores):
    def test_whole_life(self):
        self.imported("prices", "184000", 50)
        self.run_cli("deliver", "184000", "--outcome", "success", "--at", PAST)
        original = self.run_cli("cat", "184000", "--format", "bson").raw

        outcome = self.run_json("archive", "184000")
        (item,) = outcome.items()
        self.assert_keys(item, "run status reason records parts bytes location generation", "item")
        self.assertEqual((item["run"], item["status"], item["reason"], item["records"]), ("184000", "archived", None, 50))
        self.assert_keys(outcome.summary(), "runs archived failed", "summary")

        outcome = self.run_json("verify", "184000", "--level", "content")
        (item,) = outcome.items()
        self.assert_keys(item, "run status reason level records_archived records_hot duplicates", "item")
        self.assertEqual((item["status"], item["level"], item["records_hot"]), ("ok", "content", 50))
        self.assert_keys(outcome.summary(), "runs ok bad unknown", "summary")

        outcome = self.run_json("sweep", "--dry-run")
        self.assertEqual(outcome.items(), [{"message_type": "item", "run": "184000", "action": "sweep", "reason": None,
                                            "records": 50}])
        self.assertEqual(outcome.summary()["records_removed"], 0)
        self.assertEqual(self.state("184000"), "hot")

        outcome = self.run_json("sweep")
        (item,) = outcome.items()
        self.assert_keys(item, "run action reason records", "item")
        self.assertEqual(outcome.summary(), {"message_type": "summary", "selected": 1, "swept": 1, "kept": 0,
                                             "records_removed": 50, "still_due": 0, "stopped_by": None})
        self.assertEqual(self.state("184000"), "archived")
        self.assertEqual([row["run"] for row in self.run_json("run", "list", "--state", "archived").lines()], ["184000"])
        self.assertEqual(self.run_cli("cat", "184000", "--from", "hot").text, "")
        self.assertEqual(len(self.run_cli("cat", "184000").lines()), 50)
        self.assertEqual(self.run_json("sync-needed", "184000", code=4).lines()[0]["sync_needed"], False)
        self.assertEqual(self.run_json("verify", "--all").summary()["ok"], 1)

        outcome = self.run_json("restore", "prices", "184000")
        (item,) = outcome.items()
        self.assert_keys(item, "run status reason " + RESTORED, "item")
        self.assertEqual((item["status"], item["records_read"], item["records_new"]), ("restored", 50, 50))
        self.assert_keys(outcome.summary(), "runs restored failed " + RESTORED, "summary")
        self.assertEqual(self.state("184000"), "restored")
        self.assertEqual(self.run_cli("cat", "184000", "--format", "bson", "--from", "hot").raw, original)

        answer = self.run_json("sync-needed", "184000", code=4).lines()[0]
        self.assert_keys(answer, "run sync_needed reason")
        outcome = self.run_json("sweep")
        self.assertEqual((outcome.summary()["swept"], outcome.summary()["records_removed"]), (0, 0))
        again = self.run_json("restore", "prices", "184000").items()[0]
        self.assertEqual((again["records_new"], again["records_identical"]), (0, 50))

        report = self.run_json("status").lines()[0]
        self.assert_keys(report, "runs_by_state records_by_state due_now due_1d due_7d overdue_kept last_sweep "
                                 "restoring failures")
        self.assertEqual(report["runs_by_state"],
                         {"hot": 0, "sweeping": 0, "archived": 0, "restoring": 0, "restored": 1})
        self.assertIsInstance(report["last_sweep"], dict)
        self.assertIn("restored", self.run_cli("status").text)

    def test_sync_needed_of_a_hot_run(self):
        self.imported("prices", "1")
        self.assertEqual(self.run_json("sync-needed", "1").lines()[0]["sync_needed"], True)
        self.run_cli("sync-needed", "9", code=10)

    def test_several_runs(self):
        self.imported("prices", "1")
        self.imported("prices", "2")
        outcome = self.run_json("archive", "1", "9", "2", code=3)
        self.assertEqual({item["run"]: (item["status"], item["reason"]) for item in outcome.items()},
                         {"1": ("archived", None), "2": ("archived", None), "9": ("failed", "not_found")})
        self.assertEqual(outcome.summary(), {"message_type": "summary", "runs": 3, "archived": 2, "failed": 1})
        (error,) = outcome.error_lines()
        self.assertEqual((error["status"], error["code"]), ("not_found", 10))
        self.run_cli("archive", "8", "9", code=10)
        self.run_cli("verify", "8", code=10)
        self.run_cli("restore", "prices", "8", "9", code=10)
        outcome = self.run_json("restore", "prices", "1", "8", code=3)
        self.assertEqual({item["run"]: item["status"] for item in outcome.items()}, {"1": "restored", "8": "failed"})

    def test_runs_file(self):
        self.archived("prices", "1")
        self.archived("prices", "2")
        self.run_cli("sweep")
        self.write("runs.txt", "# comment\n1\n\n  2\r\n1\n")
        outcome = self.run_json("restore", "prices", "--runs-file", "runs.txt")
        self.assertEqual(outcome.summary()["restored"], 2)
        self.run_cli("restore", "prices", "--runs-file", "missing.txt", code=2)

    def test_sweep_keeps_what_does_not_verify(self):
        self.imported("prices", "1")
        self.run_cli("deliver", "1", "--outcome", "success", "--at", PAST)
        outcome = self.run_json("sweep", code=3)
        self.assertEqual(outcome.items()[0]["reason"], "no_archive")
        self.assertEqual(outcome.summary()["kept"], 1)
        self.assertEqual(len(self.run_cli("cat", "1").lines()), 20)

    def test_sweep_does_not_fail_for_what_is_not_due(self):
        self.imported("prices", "1")
        self.run_cli("deliver", "1", "--outcome", "success")
        self.run_cli("archive", "1")
        outcome = self.run_json("sweep", "--run", "1")
        self.assertEqual(outcome.items()[0]["reason"], "not_due")
        self.run_cli("sweep", "--run", "9", code=10)
        future = self.run_json("sweep", "--dry-run", "--as-of", "2099-01-01").items()
        self.assertEqual([(item["run"], item["action"]) for item in future], [("1", "sweep")])

    def test_sweep_stops_at_the_share(self):
        self.archived("prices", "1")
        self.imported("prices", "2")
        outcome = self.run_json("sweep", "--max-share", "10%", code=1)
        self.assertEqual(outcome.summary()["stopped_by"], "max_share")
        self.assertEqual(self.state("1"), "hot")
        self.run_json("sweep", "--dry-run", "--max-share", "10%", code=1)
        self.run_cli("sweep", "--max-share", "60%")
        self.assertEqual(self.state("1"), "archived")

    def test_sweep_stops_at_the_stop_file(self):
        self.archived("prices", "1")
        outcome = self.run_json("sweep", "--stop-file", self.write("stop", ""))
        self.assertEqual(outcome.summary()["stopped_by"], "stop_file")
        self.assertEqual(self.state("1"), "hot")

    def test_verify_finds_damage(self):
        self.archived("prices", "1")
        self.archived("prices", "2")
        for folder, _, names in os.walk(self.path("archive/prices/1")):
            for name in names:
                if name.endswith(".avro"):
                    with open(os.path.join(folder, name), "r+b") as file:
                        file.truncate(os.path.getsize(file.name) - 10)
        outcome = self.run_json("verify", "1", "2", code=13)
        self.assertEqual([item["status"] for item in outcome.items()], ["bad", "ok"])
        self.assertEqual(self.run_json("verify", "--all", code=13).summary(),
                         {"message_type": "summary", "runs": 2, "ok": 1, "bad": 1, "unknown": 0})
        outcome = self.run_json("sweep", code=3)
        self.assertEqual((outcome.summary()["swept"], outcome.summary()["kept"]), (1, 1))
        self.assertEqual(self.state("1"), "hot")

    def test_restore_into_another_collection(self):
        self.archived("prices", "1")
        self.run_cli("sweep")
        outcome = self.run_json("restore", "prices", "1", "--into", "elsewhere")
        self.assertEqual(outcome.items()[0]["records_new"], 20)
        self.assertEqual(self.state("1"), "archived")
        self.assertEqual(self.run_cli("cat", "1", "--from", "hot").text, "")

    def test_metrics(self):
        self.archived("prices", "1")
        self.run_cli("sweep", "--metrics-file", "sweep.prom")
        with open(self.path("sweep.prom"), encoding="utf-8") as file:
            text = file.read()
        self.assertIn('crawlarchive_records_removed{command="sweep"} 20\n', text)
        self.assertIn('crawlarchive_exit_code{command="sweep"} 0\n', text)
        self.assertEqual([name for name in os.listdir(self.folder) if "prom" in name], ["sweep.prom"])

    def test_quiet_and_progress(self):
        self.imported("prices", "1")
        outcome = self.run_cli("archive", "1", "-q")
        self.assertEqual((outcome.text, outcome.errors), ("", ""))
        self.assertEqual(self.run_cli("verify", "1").errors, "")
        self.run_cli("verify", "1", "--progress", "always")

    def test_interrupt(self):
        """A signal while standard input is silent: out at once, 128 and the signal, nothing registered."""
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            with subprocess.Popen([BINARY, "import", "prices", "5", "-"], cwd=self.folder, stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.environment()) as process:
                time.sleep(1.0)
                process.send_signal(number)
                process.communicate(timeout=30)
                self.assertEqual(process.returncode, code)


if __name__ == "__main__":
    unittest.main()
