/* SPDX-License-Identifier: Apache-2.0 */

/* The SQL functions as a loadable extension, so that the sqlite3 shell can read a database of ours:
 *   sqlite3> .load crawlarchive_sqlite
 *   sqlite3> SELECT bson_get(doc, 'url') FROM …; */

#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT1

#include "backends/sqlite/sqlite_functions.c"

__attribute__((visibility("default"))) int sqlite3_crawlarchivesqlite_init(sqlite3 *db, char **message,
                                                                           const sqlite3_api_routines *api);

int sqlite3_crawlarchivesqlite_init(sqlite3 *db, char **message, const sqlite3_api_routines *api)
{
    (void)message;
    SQLITE_EXTENSION_INIT2(api);
    return cra_sqlite_register_functions(db);
}
