/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_CODEC_AVRO_SCHEMA_INTERNAL_H
#define CRA_CODEC_AVRO_SCHEMA_INTERNAL_H

/* What the files of the schema parser share. */

#include <json-c/json.h>

#include "codec/arena.h"
#include "codec/avro_schema.h"
#include "codec/name_table.h"

struct cra_avro_schema {
    cra_arena arena; /* nodes, fields, names */
    const cra_avro_node *root;
    const char *profile;
    size_t node_count;
};

/* Levels of JSON that a schema or a default may have. */
#define CRA_AVRO_JSON_DEPTH 1000

/* Parse all of `text` as one JSON value (UTF-8 checked, a BOM skipped); `what` names it in messages. The caller puts
 * `*out`, which is NULL for JSON null. @return CRA_OK, CRA_CORRUPT, CRA_NOMEM */
cra_status cra_avro_json_parse(cra_bytes text, const char *what, json_object **out, cra_error *err);

/* Names of the types, as in a schema. */
const char *cra_avro_type_name(cra_avro_type type);

/* Set logical, precision and scale of `node` from the JSON object that describes it; an annotation that is unknown
 * or does not fit is ignored, as the specification asks. */
void cra_avro_logical_set(cra_avro_node *node, json_object *json);

/* Whether two definitions of one name say the same. Named types inside are compared by identity. */
bool cra_avro_definition_equal(const cra_avro_node *a, const cra_avro_node *b);

#endif
