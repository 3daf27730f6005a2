/* SPDX-License-Identifier: Apache-2.0 */

/* The sqlite3 shell with the loadable extension: our tables and views as its users see them. Skipped where the shell
 * or the extension is not there (an extension with a sanitizer cannot be loaded into a shell without). */

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "backends/sqlite/sqlite_db.h"
#include "base/buf.h"
#include "kit/data.h"
#include "ports/context.h"

extern const cra_backend cra_backend_sqlite;

/* What the shell prints for `sql`. */
static void ask(const char *extension, const char *path, const char *sql, char *out, size_t size)
{
    char command[4096];

    snprintf(command, sizeof command, "sqlite3 -bail -cmd '.load %s' '%s' \"%s\" 2>&1", extension, path, sql);
    FILE *shell = popen(command, "r");
    assert_non_null(shell);
    const size_t got = fread(out, 1, size - 1, shell);
    out[got] = '\0';
    pclose(shell);
}

static void make_store(const char *path)
{
    static const char *const records[] = {
        "{\"_id\":1,\"run_id\":\"night 1\",\"url\":\"http://a/\",\"price\":{\"$numberDecimal\":\"1.50\"}}",
        "{\"_id\":\"two\",\"run_id\":\"night 1\",\"url\":\"http://b/\",\"tags\":[\"x\",\"y\"]}",
    };
    cra_context *context = NULL;
    cra_docstore *store = NULL;
    cra_write_result result;
    cra_index_outcome outcome;
    cra_buf bytes;
    char uri[640];

    cra_buf_init(&bytes, NULL);
    snprintf(uri, sizeof uri, "sqlite:%s", path);
    assert_int_equal(cra_context_new_bare(NULL, &context, NULL), CRA_OK);
    assert_int_equal(cra_backend_register(context, &cra_backend_sqlite, NULL), CRA_OK);
    const cra_open_args args = {sizeof args, context, uri, CRA_OPEN_CREATE, NULL, 0};
    assert_int_equal(cra_docstore_open(&args, &store, NULL), CRA_OK);
    assert_int_equal(cra_bson_from_json(cra_bytes_of_str("{\"key\":{\"url\":1},\"unique\":true}"), &bytes, NULL, NULL),
                     CRA_OK);
    assert_int_equal(cra_docstore_index_ensure(store, "Shop.items", cra_buf_bytes(&bytes), &outcome, NULL), CRA_OK);
    for (size_t i = 0; i < 2; i++) {
        cra_buf_clear(&bytes);
        assert_int_equal(cra_bson_from_json(cra_bytes_of_str(records[i]), &bytes, NULL, NULL), CRA_OK);
        const cra_bytes view = cra_buf_bytes(&bytes);
        assert_int_equal(cra_docstore_write_batch(store, "Shop.items", &view, 1, 0, &result, NULL), CRA_OK);
        assert_int_equal(result.outcome, CRA_WRITE_NEW);
    }
    cra_docstore_free(store);
    cra_context_free(context);
    cra_buf_cleanup(&bytes);
}

static void the_shell_reads_records(void **state)
{
    static const struct {
        const char *sql;
        const char *wanted;
    } questions[] = {
        {"SELECT count(*), min(run) FROM \\\"v_Shop_items\\$1\\\"", "2|night 1\n"},
        {"SELECT _id FROM \\\"v_Shop_items\\$1\\\" ORDER BY typeof(_id)", "1\ntwo\n"},
        {"SELECT json FROM \\\"v_Shop_items\\$1\\\" WHERE _id = 'two'",
         "{\"_id\":\"two\",\"run_id\":\"night 1\",\"url\":\"http://b/\",\"tags\":[\"x\",\"y\"]}\n"},
        {"SELECT bson_get(doc, 'tags.1') FROM c_1 WHERE bson_key(doc, 'url') = bson_key(doc, 'url') AND "
         "bson_has(doc, 'tags')",
         "y\n"},
        {"SELECT name FROM collections", "Shop.items\n"},
        /* Indexes are kept by the shell's writes, too. */
        {"DELETE FROM c_1 WHERE bson_get(doc, '_id') = 'two'; SELECT count(*) FROM c_1; PRAGMA integrity_check",
         "1\nok\n"},
    };
    const char *extension = getenv("CRAWLARCHIVE_SQLITE_EXTENSION");
    char folder[512];
    char path[600];
    char got[4096];

    (void)state;
    if (extension == NULL || *extension == '\0' || system("sqlite3 -version >/dev/null 2>&1") != 0)
        skip();
    cra_test_make_folder(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/s.db", folder);
    make_store(path);
    for (size_t i = 0; i < sizeof questions / sizeof questions[0]; i++) {
        ask(extension, path, questions[i].sql, got, sizeof got);
        assert_string_equal(got, questions[i].wanted);
    }
    cra_test_remove_tree(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_shell_reads_records),
    };

    return cmocka_run_group_tests_name("sqlite_shell", tests, NULL, NULL);
}
