/* SPDX-License-Identifier: Apache-2.0 */

/* The order of values, and that keys have the same one: tables for what MongoDB says, random values for the rest. */

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "codec/bson_raw.h"
#include "codec/decimal128.h"
#include "kit/test_allocator.h"

static uint64_t random_state = 88172645463325252u;

static uint64_t random_bits(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static uint64_t random_below(uint64_t limit)
{
    return random_bits() % limit;
}

static int sign(int number)
{
    return (number > 0) - (number < 0);
}

/* One element named "" in a document: the value that owns its bytes. */
typedef struct owned {
    cra_buf buf;
    cra_value value;
} owned;

static void take(owned *o)
{
    cra_bson_iter iter;
    cra_bson_element element;

    assert_int_equal(cra_bson_iter_init(&iter, cra_buf_bytes(&o->buf), NULL), CRA_OK);
    assert_int_equal(cra_bson_iter_next(&iter, &element, NULL), CRA_OK);
    o->value = element.value;
}

static void put_raw(cra_buf *out, const char *name, uint8_t type, const void *data, size_t size)
{
    const cra_value value = {type, data, size};

    assert_int_equal(cra_bson_put_value(out, name, value), CRA_OK);
}

static void put_double(cra_buf *out, const char *name, double number)
{
    uint8_t bytes[8];

    cra_put_le_double(bytes, number);
    put_raw(out, name, CRA_BSON_DOUBLE, bytes, sizeof bytes);
}

static void put_int32(cra_buf *out, const char *name, int32_t number)
{
    uint8_t bytes[4];

    cra_put_le32(bytes, (uint32_t)number);
    put_raw(out, name, CRA_BSON_INT32, bytes, sizeof bytes);
}

static void put_decimal(cra_buf *out, const char *name, const char *text)
{
    uint8_t bytes[16];

    assert_true(cra_decimal128_from_string(text, strlen(text), bytes));
    put_raw(out, name, CRA_BSON_DECIMAL128, bytes, sizeof bytes);
}

static int compare_keys(cra_value a, cra_value b)
{
    cra_buf left;
    cra_buf right;

    cra_buf_init(&left, NULL);
    cra_buf_init(&right, NULL);
    assert_int_equal(cra_value_order_key(a, &left), CRA_OK);
    assert_int_equal(cra_value_order_key(b, &right), CRA_OK);
    const size_t common = left.size < right.size ? left.size : right.size;
    int order = memcmp(left.data, right.data, common);
    if (order == 0)
        order = (left.size > right.size) - (left.size < right.size);
    /* Keys are no prefix of each other: other keys may follow them. */
    if (left.size != right.size)
        assert_int_not_equal(memcmp(left.data, right.data, common), 0);
    cra_buf_cleanup(&left);
    cra_buf_cleanup(&right);
    return order;
}

static void check_pair(cra_value a, cra_value b, int expected)
{
    assert_int_equal(sign(cra_value_compare(a, b)), expected);
    assert_int_equal(sign(cra_value_compare(b, a)), -expected);
    assert_int_equal(sign(compare_keys(a, b)), expected);
}

/* ---- tables ---------------------------------------------------------------------------------------------------- */

/* The elements of `document` ascend; elements of the same name are equal. */
static void check_ascending(const cra_buf *document)
{
    cra_bson_element elements[128];
    cra_bson_iter iter;
    size_t count = 0;

    assert_int_equal(cra_bson_iter_init(&iter, cra_buf_bytes(document), NULL), CRA_OK);
    while (cra_bson_iter_next(&iter, &elements[count], NULL) == CRA_OK)
        assert_true(++count < 128);
    assert_true(count > 2);
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < count; j++) {
            const bool equal = strcmp(elements[i].name, elements[j].name) == 0;
            check_pair(elements[i].value, elements[j].value, equal ? 0 : i < j ? -1 : 1);
        }
    }
}

static void numbers_compare_by_value_across_types(void **state)
{
    cra_buf doc;
    size_t mark;

    (void)state;
    cra_buf_init(&doc, NULL);
    assert_int_equal(cra_bson_begin(&doc, &mark), CRA_OK);
    put_double(&doc, "nan", (double)NAN);
    put_decimal(&doc, "nan", "NaN");
    put_double(&doc, "-inf", -(double)INFINITY);
    put_decimal(&doc, "-inf", "-Infinity");
    put_decimal(&doc, "-big", "-9.999999999999999999999999999999999E+6144");
    put_double(&doc, "-max", -DBL_MAX);
    put_decimal(&doc, "below int64", "-9223372036854775809");
    assert_int_equal(cra_bson_put_int64(&doc, "int64 min", INT64_MIN), CRA_OK);
    put_double(&doc, "int64 min", -9223372036854775808.0);
    assert_int_equal(cra_bson_put_int64(&doc, "int64 min + 1", INT64_MIN + 1), CRA_OK);
    put_int32(&doc, "-123", -123);
    put_double(&doc, "-12.5", -12.5);
    put_int32(&doc, "-12", -12);
    put_double(&doc, "-1", -1.0);
    put_decimal(&doc, "-1", "-1.000");
    put_double(&doc, "-denormal", -DBL_TRUE_MIN);
    put_decimal(&doc, "-tiny", "-1E-6176");
    put_double(&doc, "zero", -0.0);
    put_double(&doc, "zero", 0.0);
    put_int32(&doc, "zero", 0);
    put_decimal(&doc, "zero", "-0E+10");
    put_decimal(&doc, "tiny", "1E-6176");
    put_double(&doc, "denormal", DBL_TRUE_MIN);
    put_double(&doc, "two denormals", 2 * DBL_TRUE_MIN);
    put_decimal(&doc, "0.1", "0.1");
    put_double(&doc, "a little more than 0.1", 0.1);
    put_double(&doc, "0.5", 0.5);
    put_decimal(&doc, "0.5", "0.50");
    put_int32(&doc, "1", 1);
    assert_int_equal(cra_bson_put_int64(&doc, "1", 1), CRA_OK);
    put_double(&doc, "1", 1.0);
    put_decimal(&doc, "1", "1.00");
    put_int32(&doc, "10", 10);
    put_decimal(&doc, "10", "1E+1");
    put_double(&doc, "2^53", 9007199254740992.0);
    assert_int_equal(cra_bson_put_int64(&doc, "2^53", 9007199254740992), CRA_OK);
    assert_int_equal(cra_bson_put_int64(&doc, "2^53 + 1", 9007199254740993), CRA_OK);
    put_double(&doc, "2^53 + 2", 9007199254740994.0);
    assert_int_equal(cra_bson_put_int64(&doc, "int64 max", INT64_MAX), CRA_OK);
    put_decimal(&doc, "int64 max", "9223372036854775807");
    put_decimal(&doc, "int64 max and a half", "9223372036854775807.5");
    put_double(&doc, "2^63", 9223372036854775808.0);
    put_double(&doc, "max", DBL_MAX);
    put_decimal(&doc, "big", "1E+6111");
    put_double(&doc, "inf", (double)INFINITY);
    put_decimal(&doc, "inf", "Infinity");
    assert_int_equal(cra_bson_end(&doc, mark), CRA_OK);
    check_ascending(&doc);
    cra_buf_cleanup(&doc);
}

static void put_document(cra_buf *doc, const char *name, uint8_t type, const char *key, int32_t first, bool second)
{
    size_t mark;

    assert_int_equal(cra_bson_put_begin(doc, name, type, &mark), CRA_OK);
    if (key != NULL)
        put_int32(doc, key, first);
    if (second)
        assert_int_equal(cra_bson_put_null(doc, "1"), CRA_OK);
    assert_int_equal(cra_bson_end(doc, mark), CRA_OK);
}

static void types_compare_in_mongodbs_order(void **state)
{
    static const uint8_t nul_text[] = {3, 0, 0, 0, 'a', 0, 0};
    static const uint8_t symbol[] = {2, 0, 0, 0, 'b', 0};
    static const uint8_t scoped[] = {15, 0, 0, 0, 2, 0, 0, 0, 'c', 0, 5, 0, 0, 0, 0};
    static const uint8_t scoped_more[] = {18, 0, 0, 0, 2, 0, 0, 0, 'c', 0, 8, 0, 0, 0, 10, 'x', 0, 0};
    static const uint8_t pointer[] = {2, 0, 0, 0, 'c', 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    cra_buf doc;
    size_t mark;

    (void)state;
    cra_buf_init(&doc, NULL);
    assert_int_equal(cra_bson_begin(&doc, &mark), CRA_OK);
    put_raw(&doc, "minkey", CRA_BSON_MINKEY, "", 0);
    put_raw(&doc, "undefined", CRA_BSON_UNDEFINED, "", 0);
    assert_int_equal(cra_bson_put_null(&doc, "null"), CRA_OK);
    put_int32(&doc, "number", 7);
    assert_int_equal(cra_bson_put_string(&doc, "empty", ""), CRA_OK);
    assert_int_equal(cra_bson_put_string(&doc, "a", "a"), CRA_OK);
    put_raw(&doc, "a nul", CRA_BSON_STRING, nul_text, sizeof nul_text);
    assert_int_equal(cra_bson_put_string(&doc, "a 1", "a\x01"), CRA_OK);
    assert_int_equal(cra_bson_put_string(&doc, "ab", "ab"), CRA_OK);
    put_raw(&doc, "b", CRA_BSON_SYMBOL, symbol, sizeof symbol);
    assert_int_equal(cra_bson_put_string(&doc, "b", "b"), CRA_OK);
    assert_int_equal(cra_bson_put_string(&doc, "high", "\xF0\x9F\x98\x80"), CRA_OK);
    put_document(&doc, "{}", CRA_BSON_DOCUMENT, NULL, 0, false);
    put_document(&doc, "{1: null}", CRA_BSON_DOCUMENT, NULL, 0, true);
    put_document(&doc, "{a: 1}", CRA_BSON_DOCUMENT, "a", 1, false);
    put_document(&doc, "{a: 1, 1: null}", CRA_BSON_DOCUMENT, "a", 1, true);
    put_document(&doc, "{a: 2}", CRA_BSON_DOCUMENT, "a", 2, false);
    put_document(&doc, "{ab: 1}", CRA_BSON_DOCUMENT, "ab", 1, false);
    put_document(&doc, "[]", CRA_BSON_ARRAY, NULL, 0, false);
    put_document(&doc, "[1]", CRA_BSON_ARRAY, "0", 1, false);
    put_document(&doc, "[1]", CRA_BSON_ARRAY, "other name", 1, false);
    put_document(&doc, "[1, null]", CRA_BSON_ARRAY, "0", 1, true);
    assert_int_equal(cra_bson_put_binary(&doc, "bin", 0, cra_bytes_of_str("zz")), CRA_OK);
    assert_int_equal(cra_bson_put_binary(&doc, "bin subtype", 5, cra_bytes_of_str("aa")), CRA_OK);
    assert_int_equal(cra_bson_put_binary(&doc, "longer bin", 0, cra_bytes_of_str("aaa")), CRA_OK);
    put_raw(&doc, "oid", CRA_BSON_OBJECTID, "abcdefghijkl", 12);
    put_raw(&doc, "next oid", CRA_BSON_OBJECTID, "abcdefghijkm", 12);
    assert_int_equal(cra_bson_put_bool(&doc, "false", false), CRA_OK);
    assert_int_equal(cra_bson_put_bool(&doc, "true", true), CRA_OK);
    assert_int_equal(cra_bson_put_date(&doc, "before 1970", -5), CRA_OK);
    assert_int_equal(cra_bson_put_date(&doc, "1970", 0), CRA_OK);
    put_raw(&doc, "stamp", CRA_BSON_TIMESTAMP, "\1\0\0\0\1\0\0\0", 8);
    put_raw(&doc, "unsigned stamp", CRA_BSON_TIMESTAMP, "\0\0\0\0\xFF\xFF\xFF\xFF", 8);
    put_raw(&doc, "regex", CRA_BSON_REGEX, "a\0x", 4);
    put_raw(&doc, "regex y", CRA_BSON_REGEX, "a\0y", 4);
    put_raw(&doc, "regex b", CRA_BSON_REGEX, "b\0", 3);
    put_raw(&doc, "pointer", CRA_BSON_DBPOINTER, pointer, sizeof pointer);
    put_raw(&doc, "code", CRA_BSON_CODE, symbol, sizeof symbol);
    put_raw(&doc, "scoped", CRA_BSON_CODE_W_SCOPE, scoped, sizeof scoped);
    put_raw(&doc, "scoped more", CRA_BSON_CODE_W_SCOPE, scoped_more, sizeof scoped_more);
    put_raw(&doc, "maxkey", CRA_BSON_MAXKEY, "", 0);
    assert_int_equal(cra_bson_end(&doc, mark), CRA_OK);
    check_ascending(&doc);
    cra_buf_cleanup(&doc);
}

/* ---- random values --------------------------------------------------------------------------------------------- */

static double random_double(void)
{
    static const double special[] = {0.0,
                                     -0.0,
                                     1.0,
                                     -1.0,
                                     0.1,
                                     9007199254740992.0,
                                     9223372036854775808.0,
                                     -9223372036854775808.0,
                                     DBL_MAX,
                                     DBL_MIN,
                                     DBL_TRUE_MIN,
                                     DBL_EPSILON};
    double number;
    uint64_t bits;

    switch (random_below(4)) {
    case 0:
        return special[random_below(sizeof special / sizeof special[0])];
    case 1:
        return (double)(int64_t)random_below(200) - 100;
    case 2:
        return ((double)(int64_t)random_below(2000) - 1000) / 8;
    default:
        bits = random_bits();
        memcpy(&number, &bits, sizeof number);
        return number;
    }
}

static int64_t random_int64(void)
{
    static const int64_t special[] = {0, 1, -1, INT64_MAX, INT64_MIN, 9007199254740993, 9007199254740992};

    switch (random_below(3)) {
    case 0:
        return special[random_below(sizeof special / sizeof special[0])];
    case 1:
        return (int64_t)random_below(200) - 100;
    default:
        return (int64_t)(random_bits() >> random_below(64));
    }
}

static void put_random_text(cra_buf *out, const char *name, uint8_t type)
{
    uint8_t bytes[4 + 4 + 1] = {0};
    const size_t size = random_below(4);

    for (size_t i = 0; i < size; i++)
        bytes[4 + i] = (uint8_t) "\0\1ab"[random_below(4)];
    cra_put_le32(bytes, (uint32_t)size + 1);
    put_raw(out, name, type, bytes, 4 + size + 1);
}

static void put_random_number(cra_buf *out, const char *name)
{
    uint8_t decimal[16];
    const uint64_t low = random_bits();

    switch (random_below(4)) {
    case 0:
        put_double(out, name, random_double());
        break;
    case 1:
        assert_int_equal(cra_bson_put_int64(out, name, random_int64()), CRA_OK);
        break;
    case 2:
        put_int32(out, name, (int32_t)random_int64());
        break;
    default:
        /* Small coefficients and exponents meet the other types; any bits are a decimal of some kind. */
        cra_put_le64(decimal, low >> random_below(64));
        cra_put_le64(decimal + 8,
                     random_below(3) == 0 ? random_bits() : (6176 - 4 + random_below(8)) << 49 | random_below(2) << 63);
        put_raw(out, name, CRA_BSON_DECIMAL128, decimal, sizeof decimal);
        break;
    }
}

static void put_random_value(cra_buf *out, const char *name, unsigned depth)
{
    size_t mark;
    uint8_t bytes[16];

    switch (random_below(depth < 3 ? 12 : 8)) {
    case 0:
    case 1:
    case 2:
        put_random_number(out, name);
        break;
    case 3:
        put_random_text(out, name, random_below(2) ? CRA_BSON_STRING : CRA_BSON_SYMBOL);
        break;
    case 4:
        put_random_text(out, name, CRA_BSON_CODE);
        break;
    case 5:
        assert_int_equal(cra_bson_put_null(out, name), CRA_OK);
        break;
    case 6:
        assert_int_equal(
            cra_bson_put_binary(out, name, (uint8_t)random_below(4), cra_bytes_of("\0\0\1", random_below(4))), CRA_OK);
        break;
    case 7:
        cra_put_le64(bytes, random_bits());
        put_raw(out, name, random_below(2) ? CRA_BSON_DATE : CRA_BSON_TIMESTAMP, bytes, 8);
        break;
    default:
        assert_int_equal(cra_bson_put_begin(out, name, random_below(2) ? CRA_BSON_DOCUMENT : CRA_BSON_ARRAY, &mark),
                         CRA_OK);
        for (uint64_t i = random_below(3); i > 0; i--)
            put_random_value(out, random_below(2) ? "a" : "ab", depth + 1);
        assert_int_equal(cra_bson_end(out, mark), CRA_OK);
        break;
    }
}

static void random_owned(owned *o, bool number)
{
    size_t mark;

    o->buf.size = 0;
    assert_int_equal(cra_bson_begin(&o->buf, &mark), CRA_OK);
    if (number)
        put_random_number(&o->buf, "");
    else
        put_random_value(&o->buf, "", 0);
    assert_int_equal(cra_bson_end(&o->buf, mark), CRA_OK);
    take(o);
}

static void check_random(bool numbers)
{
    owned o[3];
    long equal = 0;

    for (int i = 0; i < 3; i++)
        cra_buf_init(&o[i].buf, NULL);
    for (int round = 0; round < 20000; round++) {
        for (int i = 0; i < 3; i++)
            random_owned(&o[i], numbers);
        const int ab = sign(cra_value_compare(o[0].value, o[1].value));
        const int bc = sign(cra_value_compare(o[1].value, o[2].value));
        const int ac = sign(cra_value_compare(o[0].value, o[2].value));
        check_pair(o[0].value, o[1].value, ab);
        assert_int_equal(cra_value_compare(o[0].value, o[0].value), 0);
        /* Transitive. */
        if (ab == bc || bc == 0)
            assert_int_equal(ac, ab);
        else if (ab == 0)
            assert_int_equal(ac, bc);
        equal += ab == 0;
    }
    assert_true(equal > 10);
    for (int i = 0; i < 3; i++)
        cra_buf_cleanup(&o[i].buf);
}

static void random_numbers_have_keys_of_their_order(void **state)
{
    (void)state;
    check_random(true);
}

static void random_values_have_keys_of_their_order(void **state)
{
    (void)state;
    check_random(false);
}

/* ---- bad input ------------------------------------------------------------------------------------------------- */

static void what_is_no_value_has_no_key_and_comes_first(void **state)
{
    static const uint8_t bad_inner[] = {13, 0, 0, 0, 2, 'a', 0, 9, 0, 0, 0, 'x', 0};
    static const cra_value none = {0, NULL, 0};
    static const cra_value cut = {CRA_BSON_INT32, (const uint8_t *)"\1", 1};
    static const cra_value minkey = {CRA_BSON_MINKEY, NULL, 0};
    static const cra_value whole = {CRA_BSON_DOCUMENT, (const uint8_t *)"\5\0\0\0", 5};
    const cra_value bad = {CRA_BSON_DOCUMENT, bad_inner, sizeof bad_inner};
    cra_buf key;

    (void)state;
    cra_buf_init(&key, NULL);
    assert_int_equal(cra_buf_append_str(&key, "kept"), CRA_OK);
    assert_int_equal(cra_value_order_key(none, &key), CRA_CORRUPT);
    assert_int_equal(cra_value_order_key(cut, &key), CRA_CORRUPT);
    assert_int_equal(cra_value_order_key(bad, &key), CRA_CORRUPT);
    assert_int_equal(key.size, 4);
    cra_buf_cleanup(&key);

    assert_true(cra_value_compare(none, cut) < 0);
    assert_true(cra_value_compare(cut, minkey) < 0);
    assert_true(cra_value_compare(minkey, none) > 0);
    assert_int_equal(cra_value_compare(cut, cut), 0);
    assert_true(cra_value_compare(bad, whole) > 0);
    assert_true(cra_value_compare(whole, bad) < 0);
    assert_int_equal(cra_value_compare(bad, bad), 0);
}

static void nesting_beyond_the_limit_is_refused(void **state)
{
    cra_buf doc;
    cra_buf key;
    size_t marks[CRA_BSON_MAX_DEPTH + 8];

    (void)state;
    cra_buf_init(&doc, NULL);
    cra_buf_init(&key, NULL);
    for (int depth = CRA_BSON_MAX_DEPTH; depth <= CRA_BSON_MAX_DEPTH + 1; depth++) {
        doc.size = 0;
        assert_int_equal(cra_bson_begin(&doc, &marks[0]), CRA_OK);
        for (int i = 1; i < depth; i++)
            assert_int_equal(cra_bson_put_begin(&doc, "a", CRA_BSON_DOCUMENT, &marks[i]), CRA_OK);
        for (int i = depth; i-- > 0;)
            assert_int_equal(cra_bson_end(&doc, marks[i]), CRA_OK);
        const cra_value value = {CRA_BSON_DOCUMENT, doc.data, doc.size};
        assert_int_equal(cra_value_order_key(value, &key), depth > CRA_BSON_MAX_DEPTH ? CRA_CORRUPT : CRA_OK);
        assert_int_equal(cra_value_compare(value, value), 0);
    }
    cra_buf_cleanup(&doc);
    cra_buf_cleanup(&key);
}

static cra_status attempt_key(const cra_allocator *allocator, void *user)
{
    const owned *o = user;
    cra_buf key;

    cra_buf_init(&key, allocator);
    const cra_status status = cra_value_order_key(o->value, &key);
    if (status != CRA_OK)
        assert_int_equal(key.size, 0);
    cra_buf_cleanup(&key);
    return status;
}

static void keys_survive_want_of_memory(void **state)
{
    owned o;
    size_t mark;
    size_t inner;

    (void)state;
    cra_buf_init(&o.buf, NULL);
    assert_int_equal(cra_bson_begin(&o.buf, &mark), CRA_OK);
    assert_int_equal(cra_bson_put_begin(&o.buf, "d", CRA_BSON_DOCUMENT, &inner), CRA_OK);
    for (int i = 0; i < 8; i++) {
        put_double(&o.buf, "n", DBL_TRUE_MIN);
        assert_int_equal(cra_bson_put_string(&o.buf, "a long name of an element", "and a text"), CRA_OK);
    }
    assert_int_equal(cra_bson_end(&o.buf, inner), CRA_OK);
    assert_int_equal(cra_bson_end(&o.buf, mark), CRA_OK);
    take(&o);
    cra_torture(attempt_key, &o, CRA_OK, 100);
    cra_buf_cleanup(&o.buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_compare_by_value_across_types),
        cmocka_unit_test(types_compare_in_mongodbs_order),
        cmocka_unit_test(random_numbers_have_keys_of_their_order),
        cmocka_unit_test(random_values_have_keys_of_their_order),
        cmocka_unit_test(what_is_no_value_has_no_key_and_comes_first),
        cmocka_unit_test(nesting_beyond_the_limit_is_refused),
        cmocka_unit_test(keys_survive_want_of_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
