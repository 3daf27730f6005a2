/* SPDX-License-Identifier: Apache-2.0 */

/* Partial indexes: which documents are in one. The operators are those that every supported server takes. */

#include <crawlarchive/sys/docstore.h>

#include <string.h>

#include "base/buf.h"

#define CODE_CANNOT_CREATE 67

typedef enum filter_op { OP_EQ, OP_EXISTS, OP_GT, OP_GTE, OP_LT, OP_LTE, OP_TYPE, OP_UNKNOWN } filter_op;
static const char *const op_names[] = {"$eq", "$exists", "$gt", "$gte", "$lt", "$lte", "$type"};

static const struct {
    const char *name;
    int code;
} type_names[] = {
    {"double", CRA_BSON_DOUBLE}, {"string", CRA_BSON_STRING},       {"object", CRA_BSON_DOCUMENT},
    {"array", CRA_BSON_ARRAY},   {"binData", CRA_BSON_BINARY},      {"objectId", CRA_BSON_OBJECTID},
    {"bool", CRA_BSON_BOOL},     {"date", CRA_BSON_DATE},           {"null", CRA_BSON_NULL},
    {"regex", CRA_BSON_REGEX},   {"timestamp", CRA_BSON_TIMESTAMP}, {"int", CRA_BSON_INT32},
    {"long", CRA_BSON_INT64},    {"decimal", CRA_BSON_DECIMAL128},  {"javascript", CRA_BSON_CODE},
    {"symbol", CRA_BSON_SYMBOL}, {"minKey", CRA_BSON_MINKEY},       {"maxKey", CRA_BSON_MAXKEY},
};

static filter_op op_of(const char *name)
{
    for (size_t i = 0; i < sizeof op_names / sizeof op_names[0]; i++) {
        if (strcmp(op_names[i], name) == 0)
            return (filter_op)i;
    }
    return OP_UNKNOWN;
}

/* Whether a value is a document of operators ({$gt: 5}), not a document to be equal to. */
static bool is_operators(cra_value value)
{
    cra_bson_iter iter;
    cra_bson_element element;

    return value.type == CRA_BSON_DOCUMENT && cra_bson_iter_init(&iter, cra_value_document(value), NULL) == CRA_OK &&
           cra_bson_iter_next(&iter, &element, NULL) == CRA_OK && element.name[0] == '$';
}

static bool truthy(cra_value value)
{
    int64_t number;

    if (value.type == CRA_BSON_BOOL)
        return value.size > 0 && value.data[0] != 0;
    return cra_value_as_int64(value, &number) ? number != 0
                                              : value.type != CRA_BSON_NULL && value.type != CRA_BSON_UNDEFINED;
}

static bool is_number_type(int type)
{
    return type == CRA_BSON_INT32 || type == CRA_BSON_INT64 || type == CRA_BSON_DOUBLE || type == CRA_BSON_DECIMAL128;
}

/* The types that are compared with each other; everything else only with itself. */
static int bracket(cra_value value)
{
    if (is_number_type(value.type))
        return CRA_BSON_DOUBLE;
    if (value.type == CRA_BSON_SYMBOL)
        return CRA_BSON_STRING;
    return value.type == CRA_BSON_UNDEFINED ? CRA_BSON_NULL : value.type;
}

static bool type_is(cra_value value, cra_value wanted)
{
    const cra_bytes text = cra_value_text(wanted);
    int64_t code;

    if (cra_value_as_int64(wanted, &code))
        return value.type == (uint8_t)code;
    if (cra_bytes_equal(text, cra_bytes_of_str("number")))
        return is_number_type(value.type);
    for (size_t i = 0; i < sizeof type_names / sizeof type_names[0]; i++) {
        if (cra_bytes_equal(text, cra_bytes_of_str(type_names[i].name)))
            return value.type == type_names[i].code;
    }
    return false;
}

/* ---- checking ---- */

static cra_status refuse(cra_error *err, cra_status status, const char *name)
{
    return cra_error_set_native(err, status, CODE_CANNOT_CREATE, "index",
                                status == CRA_UNSUPPORTED ? "partialFilterExpression: %s is not supported here"
                                                          : "partialFilterExpression: %s is not allowed",
                                name);
}

static cra_status check_operators(cra_bytes operators, cra_error *err)
{
    cra_bson_iter iter;
    cra_bson_element element;

    if (cra_bson_iter_init(&iter, operators, NULL) != CRA_OK)
        return refuse(err, CRA_INVALID, "a damaged document");
    while (cra_bson_iter_next(&iter, &element, NULL) == CRA_OK) {
        const filter_op op = op_of(element.name);
        if (op == OP_UNKNOWN)
            return refuse(err, strcmp(element.name, "$in") == 0 ? CRA_UNSUPPORTED : CRA_INVALID, element.name);
        if (op == OP_EXISTS && !truthy(element.value))
            return refuse(err, CRA_INVALID, "$exists: false");
        int64_t code;
        if (op == OP_TYPE && element.value.type != CRA_BSON_STRING && !cra_value_as_int64(element.value, &code))
            return refuse(err, CRA_INVALID, "$type with anything but one name or number");
    }
    return CRA_OK;
}

static cra_status check_and(cra_value list, cra_error *err)
{
    cra_bson_iter iter;
    cra_bson_element element;

    if (list.type != CRA_BSON_ARRAY || cra_bson_iter_init(&iter, cra_value_document(list), NULL) != CRA_OK)
        return refuse(err, CRA_INVALID, "$and without an array");
    while (cra_bson_iter_next(&iter, &element, NULL) == CRA_OK) {
        cra_bytes inner = cra_value_document(element.value);
        cra_value nested;
        if (element.value.type != CRA_BSON_DOCUMENT)
            return refuse(err, CRA_INVALID, "$and of anything but documents");
        if (cra_bson_find(inner, "$and", 4, &nested) == CRA_OK)
            return refuse(err, CRA_INVALID, "$and inside $and");
        CRA_TRY(cra_index_filter_check(inner, err));
    }
    return CRA_OK;
}

cra_status cra_index_filter_check(cra_bytes filter, cra_error *err)
{
    cra_bson_iter iter;
    cra_bson_element element;

    if (cra_bson_validate(filter, 0, NULL) != CRA_OK || cra_bson_iter_init(&iter, filter, NULL) != CRA_OK)
        return refuse(err, CRA_INVALID, "a damaged document");
    while (cra_bson_iter_next(&iter, &element, NULL) == CRA_OK) {
        if (strcmp(element.name, "$and") == 0)
            CRA_TRY(check_and(element.value, err));
        else if (element.name[0] == '$')
            return refuse(err, strcmp(element.name, "$or") == 0 ? CRA_UNSUPPORTED : CRA_INVALID, element.name);
        else if (is_operators(element.value))
            CRA_TRY(check_operators(cra_value_document(element.value), err));
    }
    return CRA_OK;
}

/* ---- matching ---- */

typedef struct question {
    filter_op op;
    cra_value wanted;
    bool any; /* a value was there */
    bool yes;
} question;

static cra_status ask(void *user, cra_value value)
{
    question *q = user;

    q->any = true;
    if (q->op == OP_TYPE) {
        q->yes = q->yes || type_is(value, q->wanted);
        return CRA_OK;
    }
    if (bracket(value) != bracket(q->wanted))
        return CRA_OK;
    const int order = cra_value_compare(value, q->wanted);
    q->yes = q->yes || (q->op == OP_EQ    ? order == 0
                        : q->op == OP_GT  ? order > 0
                        : q->op == OP_GTE ? order >= 0
                        : q->op == OP_LT  ? order < 0
                                          : order <= 0);
    return CRA_OK;
}

static bool holds(cra_bytes document, const char *path, filter_op op, cra_value wanted)
{
    question q = {op, wanted, false, false};

    if (cra_bson_path_each(document, path, ask, &q) != CRA_OK)
        return false;
    if (op == OP_EXISTS)
        return q.any;
    /* A missing field equals null. */
    const bool closed = op == OP_EQ || op == OP_GTE || op == OP_LTE;
    return q.yes || (!q.any && closed && bracket(wanted) == CRA_BSON_NULL);
}

static bool operators_hold(cra_bytes document, const char *path, cra_bytes operators)
{
    cra_bson_iter iter;
    cra_bson_element element;

    if (cra_bson_iter_init(&iter, operators, NULL) != CRA_OK)
        return false;
    while (cra_bson_iter_next(&iter, &element, NULL) == CRA_OK) {
        if (!holds(document, path, op_of(element.name), element.value))
            return false;
    }
    return true;
}

static bool all_hold(cra_bytes document, cra_bytes list)
{
    cra_bson_iter iter;
    cra_bson_element element;

    if (cra_bson_iter_init(&iter, list, NULL) != CRA_OK)
        return false;
    while (cra_bson_iter_next(&iter, &element, NULL) == CRA_OK) {
        if (!cra_index_filter_matches(cra_value_document(element.value), document))
            return false;
    }
    return true;
}

bool cra_index_filter_matches(cra_bytes filter, cra_bytes document)
{
    cra_bson_iter iter;
    cra_bson_element element;

    if (cra_bson_iter_init(&iter, filter, NULL) != CRA_OK)
        return false;
    while (cra_bson_iter_next(&iter, &element, NULL) == CRA_OK) {
        const bool yes = strcmp(element.name, "$and") == 0 ? all_hold(document, cra_value_document(element.value))
                         : is_operators(element.value)
                             ? operators_hold(document, element.name, cra_value_document(element.value))
                             : holds(document, element.name, OP_EQ, element.value);
        if (!yes)
            return false;
    }
    return true;
}
