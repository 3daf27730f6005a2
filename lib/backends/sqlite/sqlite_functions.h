/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_BACKENDS_SQLITE_FUNCTIONS_H
#define CRA_BACKENDS_SQLITE_FUNCTIONS_H

#include <sqlite3.h>

/* Register bson_get, bson_key, bson_json and their like with a connection. @return an SQLite result code */
int cra_sqlite_register_functions(sqlite3 *db);

#endif
