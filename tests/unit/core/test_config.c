/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <crawlarchive/bson.h>

#include "base/buf.h"
#include "core/config.h"
#include "kit/test_allocator.h"

#define DAY INT64_C(86400000)

static const char *const schemes[] = {"sqlite", "file", "memory", "mongodb", "s3", "jsonl"};
#define SCHEMES 6

/* A line break in a C string is easier to read as its own literal. */
#define STORES "catalog: {uri: 'memory:'}\nhot: {uri: 'memory:'}\narchive: {uri: 'memory:'}\n"

static const char whole_file[] =
    "version: 1\n"
    "catalog:\n"
    "  uri: mongodb://localhost/crawl\n"
    "  runs: runs\n"
    "  fields: {id: _id, report: report_id, collection: coll, outcome: status, delivered_at: deliveredAt,\n"
    "           ended_at: endedAt, archive_at: archiveAt}\n"
    "  outcomes: {success: [delivered, ok], failed: [error, timeout], empty: [no_data], partial: half}\n"
    "hot:\n"
    "  uri: mongodb://user:geheim@localhost/crawl?token=abc&w=1\n"
    "  collection: \"records_{report}\"\n"
    "  run_field: run_id\n"
    "archive:\n"
    "  routes:\n"
    "    - {until: 184000, uri: \"s3://old-bucket/crawl?region=eu-west-1\"}\n"
    "    - {uri: \"file:new\"}\n"
    "  fields: {_id: objectid, price.amount: decimal}\n"
    "retention: {success: 3d, failed: 7d, empty: 30m, restored: 1d12h, partial: {window: 5d, anchor: ended_at},\n"
    "            reports: {prices: {success: 14d, partial: 1d}, a.b: {failed: 1h}}}\n"
    "restore: {batch_docs: 1000, parallel_runs: 4, workers: 2, heartbeat: 30s,\n"
    "          reports: {wide: {batch_docs: 100}, a.b: {batch_bytes: 1MiB}}}\n"
    "lease: {ttl: 30s}\n"
    "verify: {ignore_fields: [last_seen, a.b], level: ids}\n"
    "sweep: {max_share: 25%}\n"
    "indexes:\n"
    "  default: [{key: {run_id: 1}}, {key: {url: -1}, unique: false, name: '5', weights: {t: 2.5}, big: 5000000000,\n"
    "             partialFilterExpression: {a: [1, null, \"x\", 2dsphere]}}]\n"
    "  reports: {prices: [{key: {sku: 1}}], none: []}\n"
    "spool: {folder: spool}\n"
    "import:\n";

static cra_config *new_config(const cra_allocator *allocator)
{
    cra_config *config = NULL;

    assert_int_equal(cra_config_create(allocator, &config, NULL), CRA_OK);
    return config;
}

static cra_status load(cra_config *config, const char *text, cra_error *err)
{
    return cra_config_load_text(config, cra_bytes_of_str(text), "crawl.yaml", "/etc/crawl", err);
}

static cra_status load_and_check(const char *text, cra_error *err)
{
    cra_test_allocator kit;

    cra_test_allocator_init(&kit);
    cra_config *config = new_config(&kit.allocator);
    cra_status status = load(config, text, err);
    if (status == CRA_OK)
        status = cra_config_check(config, schemes, SCHEMES, err);
    cra_config_free(config);
    cra_test_allocator_check(&kit);
    return status;
}

static void defaults_stand_where_nothing_is_set(void **state)
{
    cra_config *config = new_config(NULL);

    (void)state;
    assert_string_equal(cra_config_text(config, "hot.collection"), "records_{report}");
    assert_string_equal(cra_config_text(config, "archive.codec"), "snappy");
    assert_null(cra_config_text(config, "catalog.uri"));
    assert_null(cra_config_text(config, "no.such"));
    assert_int_equal(cra_config_int(config, "lease.ttl", -1), 30000);
    assert_int_equal(cra_config_int(config, "restore.batch_bytes", -1), 8388608);
    assert_int_equal(cra_config_int(config, "restore.parallel_runs", -1), 4);
    assert_int_equal(cra_config_int(config, "archive.settle", -1), 3600000);
    assert_int_equal(cra_config_int(config, "sweep.max_share", -1), -1);
    assert_int_equal(cra_config_int(config, "archive.codec", -7), -7);
    assert_int_equal(cra_config_int(config, "no.such", -7), -7);
    assert_int_equal(cra_config_report_int(config, "restore.workers", "wide", -1), 2);
    assert_int_equal(cra_config_report_int(config, "version", NULL, -1), -1);
    assert_true(cra_config_bool(config, "no.such", true));
    assert_false(cra_config_bool(config, "archive.codec", false));
    assert_non_null(cra_config_policy(config));
    cra_config_free(config);
    cra_config_free(NULL);
}

static void the_table_is_sound(void **state)
{
    (void)state;
    for (size_t i = 0; cra_config_key_at(i) != NULL; i++) {
        const cra_config_key *key = cra_config_key_at(i);
        const cra_config_origin origin = {"table", 0, NULL};
        cra_error err = {0};
        if (key->default_text != NULL &&
            cra_config_check_value(key, key->path, key->default_text, &origin, &err) != CRA_OK)
            fail_msg("%s: %s", key->path, err.message);
        assert_ptr_equal(cra_config_key_find(key->path),
                         strchr(key->path, '*') == NULL ? key : cra_config_key_find(key->path));
        assert_true(strlen(key->help) > 10 && key->help[strlen(key->help) - 1] == '.');
        assert_true(strlen(cra_config_type_name(key->type)) > 0);
        if (key->default_text == NULL)
            assert_non_null(key->example);
    }
}

static void a_whole_file_is_read(void **state)
{
    cra_test_allocator kit;
    cra_error err = {0};
    cra_anchor anchor;

    (void)state;
    cra_test_allocator_init(&kit);
    cra_config *config = new_config(&kit.allocator);
    if (load(config, whole_file, &err) != CRA_OK)
        fail_msg("%s", err.message);
    assert_int_equal(cra_config_set(config, "catalog.outcomes.partial", "half", &err), CRA_OK);
    if (cra_config_check(config, schemes, SCHEMES, &err) != CRA_OK)
        fail_msg("%s", err.message);

    assert_string_equal(cra_config_text(config, "catalog.fields.archive_at"), "archiveAt");
    assert_string_equal(cra_config_text(config, "catalog.outcomes.success"), "delivered,ok");
    assert_string_equal(cra_config_text(config, "archive.fields._id"), "objectid");
    assert_string_equal(cra_config_text(config, "archive.fields.price.amount"), "decimal");
    assert_string_equal(cra_config_text(config, "verify.ignore_fields"), "last_seen,a.b");
    assert_string_equal(cra_config_text(config, "spool.folder"), "/etc/crawl/spool");
    assert_int_equal(cra_config_int(config, "sweep.max_share", -1), 25);
    assert_int_equal(cra_config_report_int(config, "restore.batch_docs", "wide", -1), 100);
    assert_int_equal(cra_config_report_int(config, "restore.batch_docs", "narrow", -1), 1000);
    assert_int_equal(cra_config_report_int(config, "restore.batch_bytes", "a.b", -1), 1048576);

    const cra_policy *policy = cra_config_policy(config);
    assert_string_equal(cra_policy_outcome(policy, "timeout"), "failed");
    assert_string_equal(cra_policy_outcome(policy, "half"), "partial");
    assert_true(cra_policy_anchor(policy, "partial", &anchor));
    assert_int_equal(anchor, CRA_ANCHOR_ENDED_AT);

    cra_route_list routes;
    cra_route_list_init(&routes, &kit.allocator);
    assert_int_equal(cra_config_routes(config, &routes, &err), CRA_OK);
    assert_int_equal(routes.count, 2);
    assert_string_equal(routes.entries[0].until, "184000");
    assert_string_equal(routes.entries[1].uri, "file:/etc/crawl/new");
    cra_route_list_cleanup(&routes);
    cra_config_free(config);
    cra_test_allocator_check(&kit);
}

static void windows_reach_the_policy(void **state)
{
    cra_config *config = new_config(NULL);
    cra_error err = {0};
    cra_run_doc run;
    cra_decision decision;
    char prices[] = "prices", dotted[] = "a.b", success[] = "success", failed[] = "failed", partial[] = "partial";

    (void)state;
    assert_int_equal(load(config, whole_file, &err), CRA_OK);
    assert_int_equal(cra_config_check(config, schemes, SCHEMES, &err), CRA_OK);
    memset(&run, 0, sizeof run);
    run.archive_at = run.explicit_at = run.restored_at = CRA_TIME_NONE;
    run.delivered_at = run.ended_at = 0;
    run.report = prices;
    run.outcome = success;
    assert_int_equal(cra_policy_decide(cra_config_policy(config), &run, 0, false, &decision), CRA_OK);
    assert_int_equal(decision.archive_at, 14 * DAY);
    run.outcome = partial;
    assert_int_equal(cra_policy_decide(cra_config_policy(config), &run, 0, false, &decision), CRA_OK);
    assert_int_equal(decision.archive_at, DAY);
    run.report = dotted;
    assert_int_equal(cra_policy_decide(cra_config_policy(config), &run, 0, false, &decision), CRA_OK);
    assert_int_equal(decision.archive_at, 5 * DAY);
    run.outcome = failed;
    assert_int_equal(cra_policy_decide(cra_config_policy(config), &run, 0, false, &decision), CRA_OK);
    assert_int_equal(decision.archive_at, DAY / 24);
    cra_config_free(config);
}

static void index_documents_keep_their_types(void **state)
{
    cra_config *config = new_config(NULL);
    cra_error err = {0};
    cra_buf out;
    size_t count = 0;
    cra_value value;
    int64_t number;

    (void)state;
    assert_int_equal(load(config, whole_file, &err), CRA_OK);
    cra_buf_init(&out, NULL);
    assert_int_equal(cra_config_indexes(config, "other", &out, &count, &err), CRA_OK);
    assert_int_equal(count, 2);
    cra_bytes stream = cra_buf_bytes(&out);
    cra_bytes document;
    assert_int_equal(cra_bson_next_document(&stream, &document), CRA_OK);
    assert_int_equal(cra_bson_next_document(&stream, &document), CRA_OK);
    assert_int_equal(cra_bson_path(document, "key.url", &value), CRA_OK);
    assert_int_equal(value.type, CRA_BSON_INT32);
    assert_true(cra_value_as_int64(value, &number));
    assert_int_equal(number, -1);
    assert_int_equal(cra_bson_path(document, "unique", &value), CRA_OK);
    assert_int_equal(value.type, CRA_BSON_BOOL);
    assert_int_equal(cra_bson_path(document, "name", &value), CRA_OK);
    assert_int_equal(value.type, CRA_BSON_STRING);
    assert_int_equal(cra_bson_path(document, "weights.t", &value), CRA_OK);
    assert_int_equal(value.type, CRA_BSON_DOUBLE);
    double weight;
    memcpy(&weight, value.data, sizeof weight);
    assert_true(weight == 2.5);
    assert_int_equal(cra_bson_path(document, "big", &value), CRA_OK);
    assert_int_equal(value.type, CRA_BSON_INT64);
    assert_int_equal(cra_bson_path(document, "partialFilterExpression.a.1", &value), CRA_OK);
    assert_int_equal(value.type, CRA_BSON_NULL);
    assert_int_equal(cra_bson_path(document, "partialFilterExpression.a.3", &value), CRA_OK);
    assert_int_equal(value.type, CRA_BSON_STRING);
    cra_buf_clear(&out);
    assert_int_equal(cra_config_indexes(config, "prices", &out, &count, &err), CRA_OK);
    assert_int_equal(count, 1);
    cra_buf_clear(&out);
    assert_int_equal(cra_config_indexes(config, "none", &out, &count, &err), CRA_OK);
    assert_int_equal(count, 0);
    assert_int_equal(out.size, 0);
    /* A later file replaces the list. */
    assert_int_equal(load(config, "version: 1\nindexes: {default: [{key: {a: 1}}]}", &err), CRA_OK);
    assert_int_equal(cra_config_indexes(config, NULL, &out, &count, &err), CRA_OK);
    assert_int_equal(count, 1);
    cra_buf_cleanup(&out);
    cra_config_free(config);
}

static void mistakes_are_named(void **state)
{
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {"", "crawl.yaml:1: version: is missing"},
        {"- a\n", "crawl.yaml:1: file: must be a mapping"},
        {"version: 2\n", "crawl.yaml:1: version: the file is of version 2"},
        {"\nversion: one\n", "crawl.yaml:2: version: must be 1"},
        {"version: 0\n", "crawl.yaml:1: version: must be 1"},
        {"version: [1]\n", "crawl.yaml:1: version: must be 1"},
        {"version: 1\nlease:\n  tll: 30s\n",
         "crawl.yaml:3: lease.tll: unknown key; allowed: ttl; did you mean \"ttl\"?"},
        {"version: 1\nleese:\n  ttl: 30s\n", "crawl.yaml:2: leese: unknown key; allowed: version, catalog,"},
        {"version: 1\nleese: 1\n", "did you mean \"lease\"?"},
        {"version: 1\nlease: {ttl: 30}\n", "crawl.yaml:2: lease.ttl: '30' is not a duration"},
        {"version: 1\nlease: {ttl: 100ms}\n", "lease.ttl: '100ms' is out of range; allowed: 200ms..1d"},
        {"version: 1\nlease: 30s\n", "crawl.yaml:2: lease: must be a section"},
        {"version: 1\nlease: {ttl: [30s]}\n", "lease.ttl: must be a duration"},
        {"version: 1\nrestore: {batch_docs: -5}\n",
         "restore.batch_docs: '-5' is not a whole number; allowed: 1..100000"},
        {"version: 1\nrestore: {batch_docs: 0}\n", "out of range"},
        {"version: 1\nrestore: {batch_docs: 99999999999999999999}\n", "is not a whole number"},
        {"version: 1\nrestore: {batch_docs: }\nlease: {ttl: 5}\n", "crawl.yaml:3: lease.ttl"},
        {"version: 1\nrestore: {batch_bytes: 5 MiB}\n", "is not a size such as 8MiB"},
        {"version: 1\narchive: {codec: snapy}\n",
         "allowed: null, deflate, snappy, zstandard; did you mean \"snappy\"?"},
        {"version: 1\nsweep: {max_share: 101%}\n", "is not a percentage"},
        {"version: 1\nsweep: {max_share: half}\n", "is not a percentage"},
        {"version: 1\nhot: {uri: localhost}\n", "hot.uri: is not a URI"},
        {"version: 1\nhot: {run_field: ''}\n", "hot.run_field: is empty"},
        {"version: 1\nhot: {run_field: \"a\\tb\"}\n", "control character"},
        {"version: 1\nhot: {run_field: \"a\\0b\"}\n", "crawl.yaml:2: a text holds a NUL"},
        {"version: 1\nretention: {sucess: 3d}\n", "crawl.yaml:2: retention.sucess: unknown outcome; allowed: success"},
        {"version: 1\nretention: {sucess: 3d}\n", "did you mean \"success\"?"},
        {"version: 1\nretention: {own: {window: 3d, anchr: ended_at}}\n", "did you mean \"anchor\"?"},
        {"version: 1\nretention: {own: {window: 3d, anchor: restored_at}}\n", "allowed: delivered_at, ended_at"},
        {"version: 1\ncatalog: {fields: {outcme: x}}\n",
         "catalog.fields.outcme: a run has no such field; did you mean \"outcome\"?"},
        {"version: 1\ncatalog: {outcomes: {failed: [a, 'b,c']}}\n", "list of words without commas"},
        {"version: 1\ncatalog: {outcomes: {failed: [[a]]}}\n", "list of words without commas"},
        {"version: 1\nlease: {ttl: 30s}\nlease: {ttl: 40s}\n",
         "crawl.yaml:3: key 'lease' is given twice, first in line 2"},
        {"version: 1\nlease: &a {ttl: 30s}\n", "anchors and aliases are not allowed"},
        {"version: 1\nlease: *a\n", "anchors and aliases are not allowed"},
        {"version: 1\n*a : 1\n", "anchors and aliases are not allowed"},
        {"version: 1\nlease: [&a b]\n", "anchors and aliases are not allowed"},
        {"version: 1\nlease: !x {ttl: 30s}\n", "tags are not allowed"},
        {"version: 1\nlease: !!seq [a]\n", "tags are not allowed"},
        {"version: !!int 1\n", "tags are not allowed"},
        {"version: 1\n? [a]\n: b\n", "a key must be text"},
        {"version: 1\n---\nversion: 1\n", "a second document"},
        {"version: 1\n\t- x: [\n", "crawl.yaml:2:"},
        {"version: 1\nlease: {ttl: 30s\n", "crawl.yaml:"},
        {"version: 1\nlease: {'': 30s}\n", "has an empty key"},
        {"version: 1\narchive: {routes: {uri: 'file:x'}}\n", "archive.routes: must be a list of"},
        {"version: 1\narchive: {routes: [file:x]}\n", "a route is"},
        {"version: 1\narchive: {routes: [{until: 5}]}\n", "a route is"},
        {"version: 1\narchive: {routes: [{until: 5, ury: 'file:x'}]}\n", "a route is"},
        {"version: 1\narchive:\n  routes:\n    - {until: 5, uri: x}\n", "crawl.yaml:4: archive.routes: is not a URI"},
        {"version: 1\narchive:\n  routes:\n    - {until: 5, uri: 'file:x'}\n", "must be open"},
        {"version: 1\narchive: {routes: [{until: 5, uri: 'file:x'}, {until: 4, uri: 'file:y'}, {uri: 'file:z'}]}\n",
         "boundary '4' must be above"},
        {"version: 1\nindexes: {default: {key: {a: 1}}}\n", "must be a list of index documents"},
        {"version: 1\nindexes:\n  default:\n    - {key: {}}\n",
         "crawl.yaml:4: indexes.default: an index document has a 'key'"},
        {"version: 1\nindexes: {default: [a]}\n", "an index document has a 'key'"},
        {"version: 1\nindexes: {default: [{key: {a: 1e5}}]}\n", "cannot be kept exactly"},
        {"version: 1\nindexes: {default: [{key: {a: 99999999999999999999}}]}\n", "cannot be kept exactly"},
        {"version: 1\nimport: {batch_docs: 5}\nrestore: {reports: {x: {batch_dogs: 1}}}\n",
         "did you mean \"batch_docs\"?"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cra_error err = {0};
        assert_int_equal(load_and_check(cases[i].text, &err), CRA_INVALID);
        if (strstr(err.message, cases[i].message) == NULL)
            fail_msg("case %zu: \"%s\" is not in \"%s\"", i, cases[i].message, err.message);
    }
}

static void the_whole_is_checked(void **state)
{
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {"version: 1\n", "catalog.uri is not set"},
        {"version: 1\ncatalog: {uri: 'memory:'}\n", "hot.uri is not set"},
        {"version: 1\ncatalog: {uri: 'memory:'}\nhot: {uri: 'memory:'}\n", "archive.uri is not set"},
        {"version: 1\ncatalog: {uri: 'memory:'}\nhot: {uri: 'memory:'}\narchive:\n  uri: 'file:x'\n  routes: [{uri: "
         "'file:y'}]\n",
         "crawl.yaml:5: archive.uri: stands beside archive.routes"},
        {"version: 1\ncatalog: {uri: 'sqlit:x'}\nhot: {uri: 'memory:'}\narchive: {uri: 'file:x'}\n",
         "crawl.yaml:2: catalog.uri: no store of this build has the scheme 'sqlit:'; allowed: sqlite, file, memory"},
        {"version: 1\ncatalog: {uri: 'sqlit:x'}\nhot: {uri: 'memory:'}\narchive: {uri: 'file:x'}\n",
         "did you mean \"sqlite\"?"},
        {"version: 1\ncatalog: {uri: 'memory:'}\nhot: {uri: 'memory:'}\narchive: {routes: [{uri: 'ftp:y'}]}\n",
         "archive.routes: no store"},
        {"version: 1\ncatalog: {uri: 'memory:?a=1&a=2'}\nhot: {uri: 'memory:'}\narchive: {uri: 'file:x'}\n",
         "given twice"},
        {"version: 1\ncatalog: {uri: 'memory:'}\nhot: {uri: 'memory:'}\narchive: {uri: 'file:x', template: '{date}'}\n",
         "archive.template: template '{date}'"},
        {"version: 1\ncatalog: {uri: 'memory:'}\nhot: {uri: 'memory:', collection: '{x}'}\narchive: {uri: 'file:x'}\n",
         "hot.collection: unknown placeholder"},
        {"version: 1\n" STORES "retention: {reports: {prices: {succes: 3d}}}\n",
         "retention.reports.prices.succes: 'succes' is no outcome"},
        {"version: 1\n" STORES "retention: {own: {anchor: ended_at}}\n", "stands without a window"},
        {"version: 1\n" STORES "retention: {success: {anchor: ended_at}}\n", "cannot be changed"},
        {"version: 1\n" STORES "retention: {success: {window: 3d, anchor: ended_at}}\n", "starts at delivered_at"},
        {"version: 1\n" STORES "retention: {a.b: {window: 3d}}\n", "no dots"},
    };
    cra_error err = {0};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        err = (cra_error){0};
        assert_int_equal(load_and_check(cases[i].text, &err), CRA_INVALID);
        if (strstr(err.message, cases[i].message) == NULL)
            fail_msg("case %zu: \"%s\" is not in \"%s\"", i, cases[i].message, err.message);
    }
    assert_int_equal(
        load_and_check("version: 1\n" STORES "retention: {own: {window: 3d, anchor: delivered_at}}\n", &err), CRA_OK);
    assert_int_equal(
        load_and_check("version: 1\n" STORES "retention: {success: {window: 3d, anchor: delivered_at}}\n", &err),
        CRA_OK);

    /* Words under two outcomes, and for an outcome that nobody defines. */
    static const char *const outcomes[] = {"catalog.outcomes.failed", "catalog.outcomes.what"};
    for (size_t i = 0; i < 2; i++) {
        cra_config *config = new_config(NULL);
        assert_int_equal(load(config, "version: 1\n" STORES, &err), CRA_OK);
        assert_int_equal(cra_config_set(config, "catalog.outcomes.empty", "nothing", &err), CRA_OK);
        assert_int_equal(cra_config_set(config, outcomes[i], "nothing", &err), CRA_OK);
        assert_int_equal(cra_config_check(config, schemes, SCHEMES, &err), CRA_INVALID);
        assert_non_null(strstr(err.message, i == 0 ? "cannot stand for" : "'what' is no outcome"));
        cra_config_free(config);
    }
}

static void limits_hold(void **state)
{
    cra_buf text;
    cra_error err = {0};

    (void)state;
    cra_buf_init(&text, NULL);
    assert_int_equal(cra_buf_append_str(&text, "version: 1\na: "), CRA_OK);
    for (int i = 0; i < 400; i++)
        assert_int_equal(cra_buf_append_byte(&text, '['), CRA_OK);
    assert_int_equal(load_and_check(cra_buf_cstr(&text), &err), CRA_INVALID);
    assert_non_null(strstr(err.message, "nested too deeply"));

    cra_buf_clear(&text);
    assert_int_equal(cra_buf_append_str(&text, "version: 1\na: ["), CRA_OK);
    for (int i = 0; i < CRA_YAML_MAX_NODES; i++)
        assert_int_equal(cra_buf_append_str(&text, "b,"), CRA_OK);
    assert_int_equal(cra_buf_append_str(&text, "]"), CRA_OK);
    assert_int_equal(load_and_check(cra_buf_cstr(&text), &err), CRA_INVALID);
    assert_non_null(strstr(err.message, "too many values"));

    cra_buf_clear(&text);
    for (int i = 0; i <= CRA_YAML_MAX_KEYS; i++)
        assert_int_equal(cra_buf_appendf(&text, "k%d: \n", i), CRA_OK);
    assert_int_equal(load_and_check(cra_buf_cstr(&text), &err), CRA_INVALID);
    assert_non_null(strstr(err.message, "too many keys"));

    cra_buf_clear(&text);
    for (int i = 0; i < 150000; i++)
        assert_int_equal(cra_buf_append_str(&text, "# comment\n"), CRA_OK);
    assert_int_equal(load_and_check(cra_buf_cstr(&text), &err), CRA_INVALID);
    assert_non_null(strstr(err.message, "at most 1048576"));
    cra_buf_cleanup(&text);
}

static void the_environment_wins(void **state)
{
    static const char *const environment[] = {
        "PATH=/bin",
        "CRAWLARCHIVE_LEASE__TTL=500ms",
        "CRAWLARCHIVE_CONFIG=/etc/x",
        "CRAWLARCHIVE_TEST_DATA=/x",
        "CRAWLARCHIVE_HOT__URI=memory:two",
        "CRAWLARCHIVE_CATALOG__FIELDS__OUTCOME=status",
        "CRAWLARCHIVE_RETENTION__REPORTS={Prices: {success: 14d}}",
        "CRAWLARCHIVE_ARCHIVE__ROUTES=[{until: 5, uri: 'file:a'}, {uri: 'file:b'}]",
        "CRAWLARCHIVE_INDEXES__DEFAULT=[{key: {a: 1}}]",
        "CRAWLARCHIVE_VERIFY__IGNORE_FIELDS=[a, b]",
        "NO_EQUALS",
        NULL};
    static const struct {
        const char *variable;
        const char *message;
    } wrong[] = {{"CRAWLARCHIVE_LEASE__TL=5s", "did you mean \"CRAWLARCHIVE_LEASE__TTL\"?"},
                 {"CRAWLARCHIVE_LEASE_TTL=5s", "CRAWLARCHIVE_LEASE_TTL names no key"},
                 {"CRAWLARCHIVE_=x", "names no key"},
                 {"CRAWLARCHIVE_LEASE__TTL=5", "environment: lease.ttl: '5' is not a duration"},
                 {"CRAWLARCHIVE_LEASE=5s", "environment: lease: must be a section"},
                 {"CRAWLARCHIVE_RETENTION__REPORTS={a", "environment:"},
                 {"CRAWLARCHIVE_ARCHIVE__ROUTES=file:x", "must be a list of"}};
    cra_config *config = new_config(NULL);
    cra_error err = {0};

    (void)state;
    assert_int_equal(load(config, "version: 1\nlease: {ttl: 10s}\n", &err), CRA_OK);
    if (cra_config_load_environment(config, environment, &err) != CRA_OK)
        fail_msg("%s", err.message);
    assert_int_equal(cra_config_load_environment(config, NULL, &err), CRA_OK);
    assert_int_equal(cra_config_int(config, "lease.ttl", -1), 500);
    assert_string_equal(cra_config_text(config, "hot.uri"), "memory:two");
    assert_string_equal(cra_config_text(config, "catalog.fields.outcome"), "status");
    assert_string_equal(cra_config_text(config, "retention.reports.Prices.success"), "14d");
    assert_string_equal(cra_config_text(config, "verify.ignore_fields"), "a,b");
    assert_string_equal(cra_config_find(config, "lease.ttl")->source, "environment");
    assert_int_equal(config->routes.count, 2);
    assert_string_equal(config->routes.entries[0].uri, "file:a");
    cra_config_free(config);

    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        const char *const variables[] = {wrong[i].variable, NULL};
        config = new_config(NULL);
        err = (cra_error){0};
        assert_int_equal(cra_config_load_environment(config, variables, &err), CRA_INVALID);
        if (strstr(err.message, wrong[i].message) == NULL)
            fail_msg("\"%s\" is not in \"%s\"", wrong[i].message, err.message);
        cra_config_free(config);
    }
}

static void programs_set_values(void **state)
{
    cra_config *config = new_config(NULL);
    cra_error err = {0};

    (void)state;
    assert_int_equal(cra_config_set(config, "lease.ttl", "1s", &err), CRA_OK);
    assert_int_equal(cra_config_set(config, "lease.ttl", "2s", &err), CRA_OK);
    assert_int_equal(cra_config_int(config, "lease.ttl", -1), 2000);
    assert_int_equal(cra_config_set(config, "archive.uri", "file:archive", &err), CRA_OK);
    assert_string_equal(cra_config_text(config, "archive.uri"), "file:archive");
    assert_int_equal(cra_config_set(config, "lease.tl", "1s", &err), CRA_INVALID);
    assert_non_null(strstr(err.message, "program: lease.tl: unknown key"));
    assert_int_equal(cra_config_set(config, "", "1s", &err), CRA_INVALID);
    assert_int_equal(cra_config_set(config, NULL, "1s", &err), CRA_INVALID);
    assert_int_equal(cra_config_set(config, "lease.ttl", NULL, &err), CRA_INVALID);
    cra_config_free(config);
}

static void one_archive_is_one_open_route(void **state)
{
    cra_config *config = new_config(NULL);
    cra_error err = {0};
    cra_route_list routes;
    cra_buf out;
    size_t count = 9;

    (void)state;
    cra_route_list_init(&routes, NULL);
    cra_buf_init(&out, NULL);
    assert_int_equal(cra_config_routes(config, &routes, &err), CRA_INVALID);
    assert_non_null(strstr(err.message, "archive.uri or archive.routes"));
    assert_int_equal(cra_config_set(config, "archive.uri", "memory:", &err), CRA_OK);
    assert_int_equal(cra_config_routes(config, &routes, &err), CRA_OK);
    assert_int_equal(routes.count, 1);
    assert_null(routes.entries[0].until);
    assert_string_equal(routes.entries[0].uri, "memory:");
    assert_int_equal(cra_config_indexes(config, "prices", &out, &count, &err), CRA_OK);
    assert_int_equal(count, 0);
    cra_route_list_cleanup(&routes);
    cra_buf_cleanup(&out);
    cra_config_free(config);
}

static void relative_paths_begin_at_the_file(void **state)
{
    static const struct {
        const char *uri;
        const char *folder;
        const char *resolved;
    } cases[] = {{"sqlite:crawl.db", "/etc/crawl", "sqlite:/etc/crawl/crawl.db"},
                 {"sqlite:crawl.db", "/", "sqlite:/crawl.db"},
                 {"sqlite:/x/crawl.db", "/etc/crawl", "sqlite:/x/crawl.db"},
                 {"sqlite::memory:", "/etc/crawl", "sqlite::memory:"},
                 {"file:a?sync=no", "/odd 100%?", "file:/odd 100%25%3F/a?sync=no"},
                 {"memory:x", "/etc/crawl", "memory:x"},
                 {"mongodb://host/db", "/etc/crawl", "mongodb://host/db"},
                 {"file:x", NULL, "file:x"},
                 {"file:x", "", "file:x"}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cra_config *config = new_config(NULL);
        char text[128];
        snprintf(text, sizeof text, "version: 1\nhot: {uri: '%s'}\n", cases[i].uri);
        assert_int_equal(cra_config_load_text(config, cra_bytes_of_str(text), "f", cases[i].folder, NULL), CRA_OK);
        assert_string_equal(cra_config_text(config, "hot.uri"), cases[i].resolved);
        cra_config_free(config);
    }
}

/* ---- showing --------------------------------------------------------------------------------- */

static cra_status append_entry(void *user, const cra_config_entry *entry)
{
    return cra_buf_appendf(user, "%s=%s (%s)\n", entry->path, entry->value == NULL ? "-" : entry->value, entry->source);
}

static void every_value_is_shown_without_secrets(void **state)
{
    cra_config *config = new_config(NULL);
    cra_buf out;
    cra_error err = {0};

    (void)state;
    assert_int_equal(load(config, whole_file, &err), CRA_OK);
    cra_buf_init(&out, NULL);
    assert_int_equal(cra_config_each(config, append_entry, &out), CRA_OK);
    const char *text = cra_buf_cstr(&out);
    static const char *const lines[] = {
        "hot.uri=mongodb://user:(redacted)@localhost/crawl?token=(redacted)&w=1 (crawl.yaml:9)\n",
        "archive.routes.0.until=184000 (crawl.yaml:13)\n",
        "archive.routes.0.uri=s3://old-bucket/crawl?region=eu-west-1 (crawl.yaml:13)\n",
        "archive.routes.1.uri=file:/etc/crawl/new (crawl.yaml:13)\n",
        "lease.ttl=30s (crawl.yaml:21)\n",
        "archive.codec=snappy (default)\n",
        "archive.uri=- (default)\n",
        "catalog.fields.outcome=status (crawl.yaml:5)\n",
        "retention.reports.a.b.failed=1h (crawl.yaml:18)\n",
        "indexes.reports.prices=[{",
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        if (strstr(text, lines[i]) == NULL)
            fail_msg("%s is missing in %s", lines[i], text);
    }
    assert_null(strstr(text, "geheim"));
    assert_null(strstr(text, "abc"));
    /* The order of the table. */
    assert_true(strstr(text, "catalog.uri=") < strstr(text, "hot.uri="));
    assert_true(strstr(text, "hot.uri=") < strstr(text, "archive.template="));
    cra_buf_cleanup(&out);
    cra_config_free(config);
}

static cra_status stop_at_once(void *user, const cra_config_entry *entry)
{
    (void)user;
    (void)entry;
    return CRA_CANCELLED;
}

static void visitors_may_stop(void **state)
{
    cra_config *config = new_config(NULL);

    (void)state;
    assert_int_equal(cra_config_each(config, stop_at_once, NULL), CRA_CANCELLED);
    cra_config_free(config);
}

static void secrets_are_redacted(void **state)
{
    static const struct {
        const char *uri;
        const char *shown;
    } cases[] = {{"postgresql://u:p@ss@h:5432/db", "postgresql://u:(redacted)@h:5432/db"},
                 {"mongodb://u@h/db", "mongodb://u@h/db"},
                 {"mongodb://h:1/db?x=a@b:c", "mongodb://h:1/db?x=a@b:c"},
                 {"s3://b/p?Secret_Key=x&region=y&session-token=z",
                  "s3://b/p?Secret_Key=(redacted)&region=y&session-token=(redacted)"},
                 {"file:a?flag", "file:a?flag"},
                 {"file:a?secret", "file:a?secret"},
                 {"x:y?u=http://a:b@c", "x:y?u=http://a:b@c"},
                 {"sqlite:", "sqlite:"}};
    cra_buf out;

    (void)state;
    cra_buf_init(&out, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cra_buf_clear(&out);
        assert_int_equal(cra_config_redact(cases[i].uri, &out), CRA_OK);
        assert_string_equal(cra_buf_cstr(&out), cases[i].shown);
    }
    cra_buf_cleanup(&out);
}

/* ---- the commented file ---------------------------------------------------------------------- */

static void the_template_loads(void **state)
{
    cra_buf text;
    cra_error err = {0};
    cra_config *config = new_config(NULL);

    (void)state;
    cra_buf_init(&text, NULL);
    assert_int_equal(cra_config_template(&text), CRA_OK);
    if (load(config, cra_buf_cstr(&text), &err) != CRA_OK || cra_config_check(config, schemes, SCHEMES, &err) != CRA_OK)
        fail_msg("%s", err.message);
    assert_string_equal(cra_config_text(config, "catalog.uri"), "sqlite:/etc/crawl/crawlarchive.db");
    assert_string_equal(cra_config_text(config, "hot.uri"), "sqlite:/etc/crawl/crawlarchive.db");
    assert_string_equal(cra_config_text(config, "archive.uri"), "file:/etc/crawl/archive");
    assert_int_equal(config->values_count, 4);
    cra_config_free(config);

    /* Each commented line is right as well: taken alone into a file, it loads. */
    char section[64] = "";
    int lines = 0;
    for (char *line = strtok((char *)text.data, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        char one[400];
        const char *key = line + 4;
        if (line[0] != ' ' && line[0] != '#')
            snprintf(section, sizeof section, "%s", line);
        const bool is_key = strncmp(line, "  # ", 4) == 0 && key[0] >= 'a' && key[0] <= 'z' && strchr(key, ':') != NULL;
        if (!is_key)
            continue;
        snprintf(one, sizeof one, "version: 1\n%s\n  %s\n", section, key);
        config = new_config(NULL);
        if (load(config, one, &err) != CRA_OK)
            fail_msg("%s: %s", one, err.message);
        cra_config_free(config);
        lines++;
    }
    assert_true(lines > 40);
    cra_buf_cleanup(&text);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static cra_status use_everything(const cra_allocator *allocator, void *user)
{
    static const char *const environment[] = {"CRAWLARCHIVE_LEASE__TTL=500ms",
                                              "CRAWLARCHIVE_RETENTION__REPORTS={x: {success: 14d}}", NULL};
    cra_config *config = NULL;
    cra_route_list routes;
    cra_buf out;
    size_t count;
    cra_error err = {0};

    (void)user;
    cra_route_list_init(&routes, allocator);
    cra_buf_init(&out, allocator);
    cra_status status = cra_config_create(allocator, &config, &err);
    if (status == CRA_OK)
        status = load(config, whole_file, &err);
    if (status == CRA_OK)
        status = load(config, whole_file, &err);
    if (status == CRA_OK)
        status = cra_config_load_environment(config, environment, &err);
    if (status == CRA_OK)
        status = cra_config_check(config, schemes, SCHEMES, &err);
    if (status == CRA_OK)
        status = cra_config_routes(config, &routes, &err);
    if (status == CRA_OK)
        status = cra_config_indexes(config, "other", &out, &count, &err);
    if (status == CRA_OK)
        status = cra_config_each(config, append_entry, &out);
    if (status == CRA_OK)
        status = cra_config_template(&out);
    if (status != CRA_OK)
        assert_int_equal(status, CRA_NOMEM);
    cra_route_list_cleanup(&routes);
    cra_buf_cleanup(&out);
    cra_config_free(config);
    return status;
}

static void memory_may_run_out(void **state)
{
    (void)state;
    cra_torture(use_everything, NULL, CRA_OK, 1500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_stand_where_nothing_is_set),
        cmocka_unit_test(the_table_is_sound),
        cmocka_unit_test(a_whole_file_is_read),
        cmocka_unit_test(windows_reach_the_policy),
        cmocka_unit_test(index_documents_keep_their_types),
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(the_whole_is_checked),
        cmocka_unit_test(limits_hold),
        cmocka_unit_test(the_environment_wins),
        cmocka_unit_test(programs_set_values),
        cmocka_unit_test(one_archive_is_one_open_route),
        cmocka_unit_test(relative_paths_begin_at_the_file),
        cmocka_unit_test(every_value_is_shown_without_secrets),
        cmocka_unit_test(visitors_may_stop),
        cmocka_unit_test(secrets_are_redacted),
        cmocka_unit_test(the_template_loads),
        cmocka_unit_test(memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
