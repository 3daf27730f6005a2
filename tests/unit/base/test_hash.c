/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "base/buf.h"

static void digests_are_those_of_the_standard(void **state)
{
    uint8_t digest[CRA_SHA256_SIZE];
    char hex[CRA_SHA256_HEX_SIZE];
    cra_sha256 hash;

    (void)state;
    cra_sha256_of(cra_bytes_of_str("abc"), digest);
    cra_hex_encode(digest, sizeof digest, hex);
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    cra_sha256_init(&hash);
    cra_sha256_update(&hash, "a", 1);
    cra_sha256_update(&hash, "bc", 2);
    uint8_t again[CRA_SHA256_SIZE];
    cra_sha256_final(&hash, again);
    assert_memory_equal(digest, again, sizeof digest);
}

static void hexadecimal_goes_both_ways(void **state)
{
    uint8_t bytes[2] = {0};

    (void)state;
    assert_true(cra_hex_decode("fF09", bytes, 2));
    assert_memory_equal(bytes, "\xFF\x09", 2);
    assert_false(cra_hex_decode("ff0", bytes, 2));
    assert_false(cra_hex_decode("ff09a", bytes, 2));
    assert_false(cra_hex_decode("fg09", bytes, 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digests_are_those_of_the_standard),
        cmocka_unit_test(hexadecimal_goes_both_ways),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
