/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "codec/avro_schema_internal.h"

/* A byte more than any precision that a fixed of this many bytes could be asked for. */
#define FIXED_DIGITS_LIMIT 1000000

static bool small_int(json_object *json, const char *key, int32_t absent, int32_t *out)
{
    json_object *value;

    *out = absent;
    if (!json_object_object_get_ex(json, key, &value))
        return true;
    if (json_object_get_type(value) != json_type_int)
        return false;
    const int64_t number = json_object_get_int64(value);
    if (number < 0 || number > INT32_MAX)
        return false;
    *out = (int32_t)number;
    return true;
}

/* Decimal digits that a two's complement integer of `size` bytes always holds: floor(log10(2^(8·size−1) − 1)). */
static int64_t fixed_digits(int64_t size)
{
    /* log10(2) as a fraction of integers; exact enough far beyond any size that is in use. */
    return size <= 0 ? 0 : (size > FIXED_DIGITS_LIMIT ? INT64_MAX : (8 * size - 1) * 30103 / 100000);
}

static void set_decimal(cra_avro_node *node, json_object *json)
{
    int32_t precision;
    int32_t scale;

    if (node->type != CRA_AVRO_BYTES && node->type != CRA_AVRO_FIXED)
        return;
    if (!small_int(json, "precision", 0, &precision) || !small_int(json, "scale", 0, &scale))
        return;
    if (precision < 1 || scale > precision)
        return;
    if (node->type == CRA_AVRO_FIXED && precision > fixed_digits(node->as.fixed_size))
        return;
    node->logical = CRA_LOGICAL_DECIMAL;
    node->precision = precision;
    node->scale = scale;
}

void cra_avro_logical_set(cra_avro_node *node, json_object *json)
{
    static const struct {
        const char *name;
        cra_avro_type type;
        int64_t fixed_size;
        cra_avro_logical logical;
    } table[] = {
        {"big-decimal", CRA_AVRO_BYTES, 0, CRA_LOGICAL_BIG_DECIMAL},
        {"uuid", CRA_AVRO_STRING, 0, CRA_LOGICAL_UUID},
        {"uuid", CRA_AVRO_FIXED, 16, CRA_LOGICAL_UUID},
        {"date", CRA_AVRO_INT, 0, CRA_LOGICAL_DATE},
        {"time-millis", CRA_AVRO_INT, 0, CRA_LOGICAL_TIME_MILLIS},
        {"time-micros", CRA_AVRO_LONG, 0, CRA_LOGICAL_TIME_MICROS},
        {"timestamp-millis", CRA_AVRO_LONG, 0, CRA_LOGICAL_TIMESTAMP_MILLIS},
        {"timestamp-micros", CRA_AVRO_LONG, 0, CRA_LOGICAL_TIMESTAMP_MICROS},
        {"timestamp-nanos", CRA_AVRO_LONG, 0, CRA_LOGICAL_TIMESTAMP_NANOS},
        {"local-timestamp-millis", CRA_AVRO_LONG, 0, CRA_LOGICAL_LOCAL_TIMESTAMP_MILLIS},
        {"local-timestamp-micros", CRA_AVRO_LONG, 0, CRA_LOGICAL_LOCAL_TIMESTAMP_MICROS},
        {"local-timestamp-nanos", CRA_AVRO_LONG, 0, CRA_LOGICAL_LOCAL_TIMESTAMP_NANOS},
        {"duration", CRA_AVRO_FIXED, 12, CRA_LOGICAL_DURATION},
    };
    json_object *value;

    if (!json_object_object_get_ex(json, "logicalType", &value) || json_object_get_type(value) != json_type_string)
        return;
    const char *name = json_object_get_string(value);
    if (strcmp(name, "decimal") == 0) {
        set_decimal(node, json);
        return;
    }
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (strcmp(name, table[i].name) == 0 && node->type == table[i].type &&
            (node->type != CRA_AVRO_FIXED || node->as.fixed_size == table[i].fixed_size)) {
            node->logical = table[i].logical;
            return;
        }
    }
}
