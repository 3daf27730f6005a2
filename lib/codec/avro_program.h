/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_CODEC_AVRO_PROGRAM_H
#define CRA_CODEC_AVRO_PROGRAM_H

/* A pair of schemas compiled into a flat list of instructions: one a value, which reads Avro and emits one BSON element
 * (or none). Instructions refer to others by index, so that recursive types need nothing special. */

#include <crawlarchive/codec.h>

/* X(OP, what it does; a and b are its operands). */
#define CRA_OPS(X)                                                                                                    \
    X(NULL_, "null: nothing is read")                                                                                 \
    X(ABSENT, "nothing is read, no element")                                                                          \
    X(BOOL, "one byte 0 or 1")                                                                                        \
    X(INT, "int as int32")                                                                                            \
    X(LONG, "long as int64")                                                                                          \
    X(INT_AS_LONG, "int as int64: promoted")                                                                          \
    X(INT_AS_DOUBLE, "int as double: promoted")                                                                       \
    X(LONG_AS_DOUBLE, "long as double: promoted")                                                                     \
    X(FLOAT, "float as double")                                                                                       \
    X(DOUBLE, "double")                                                                                               \
    X(BYTES, "bytes as binary 0")                                                                                     \
    X(STRING, "string; by the policy for invalid UTF-8")                                                              \
    X(FIXED, "a bytes as binary 0")                                                                                   \
    X(ENUM, "index of b symbols; their strings begin at ref a")                                                       \
    X(RECORD, "record: body a")                                                                                       \
    X(ARRAY, "array of items by instruction a")                                                                       \
    X(MAP, "map of values by instruction a")                                                                          \
    X(UNION, "index of b branches; their instructions begin at ref a")                                                \
    X(DATE, "int days as date")                                                                                       \
    X(MILLIS, "long milliseconds as date")                                                                            \
    X(FLOOR, "long as date, divided by a, rounded down")                                                              \
    X(DECIMAL, "bytes, or a bytes where a > 0, as decimal of scale b")                                                \
    X(BIG_DECIMAL, "bytes that hold an unscaled number and its scale")                                                \
    X(UUID, "string as binary 4 where it is canonical")                                                               \
    X(UUID_FIXED, "16 bytes as binary 4")                                                                             \
    X(DURATION, "12 bytes as months, days, millis")                                                                   \
    X(CONST_, "nothing is read: the element of type a whose bytes are constant b")                                    \
    X(FAIL, "the schemas do not resolve here: message is constant b")                                                 \
    X(SKIP, "read and dropped: skipper a")                                                                            \
    X(RAW, "bytes: the whole document, in place of all fields")                                                       \
    X(NATIVE_FIXED, "b bytes as BSON type a")                                                                         \
    X(NATIVE_SYMBOL, "enum of one symbol as BSON type a, without value")                                              \
    X(NATIVE_TIMESTAMP, "record t, i as timestamp")                                                                   \
    X(NATIVE_BINARY, "record subtype, data as binary")                                                                \
    X(NATIVE_REGEX, "record pattern, options as regex")                                                               \
    X(NATIVE_DBPOINTER, "record ref, id as DBPointer")                                                                \
    X(NATIVE_TEXT, "string as BSON type a: code, symbol")                                                             \
    X(NATIVE_SCOPED, "record code, scope as code_w_scope")                                                            \
    X(NATIVE_OPAQUE, "record of bytes as BSON type a: document, array")

typedef enum cra_op {
#define CRA_OP_NAME(op, help) CRA_OP_##op,
    CRA_OPS(CRA_OP_NAME)
#undef CRA_OP_NAME
} cra_op;

typedef struct cra_instruction {
    uint8_t op;
    uint32_t a, b;
    uint32_t key;      /* constant offset of the element's name with its NUL; fields only */
    uint32_t key_size; /* with the NUL; 0 where the container gives the name */
} cra_instruction;

/* Fields of a record: instructions at refs[first … first + count). */
typedef struct cra_body {
    uint32_t first, count;
} cra_body;

/* How a value is skipped: a tree over the writer's schema, by node index. */
struct cra_avro_program {
    const cra_allocator *allocator;
    cra_avro_options options;
    struct cra_avro_schema *writer; /* skippers walk its nodes */
    struct cra_avro_schema *reader;
    cra_instruction *code;
    size_t code_count, code_capacity;
    cra_body *bodies;
    size_t bodies_count, bodies_capacity;
    uint32_t *refs;
    size_t refs_count, refs_capacity;
    const struct cra_avro_node **skips;
    size_t skips_count, skips_capacity;
    cra_buf constants;
    uint32_t root;
    bool root_is_record;
    bool native;     /* our typed or raw profile */
    size_t max_key;  /* longest field name */
};

#endif
