// The decoder against the code points' own encoding rule, and every kind of malformed bytes.
#include "base/text.h"
#include "support/check.h"
#include <stdbool.h>
#include <stdio.h>

// RFC 3629, section 3.
static size_t encode(uint32_t code, char *out)
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    size_t length = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = length - 1; i > 0; i--, code >>= 6)
        out[i] = (char)(0x80 | (code & 0x3f));
    out[0] = (char)(0xf00 >> length | code);
    return length;
}

static void every_character_is_read_back(void **state)
{
    for (uint32_t code = 1; code <= 0x10ffff; code++) {
        char bytes[8] = {0};
        uint32_t got = 0;
        size_t length = encode(code, bytes);
        bool surrogate = code >= 0xd800 && code < 0xe000;
        if (wk_utf8_decode(bytes, SIZE_MAX, &got) != (surrogate ? 0 : length))
            fail_msg("U+%04X is taken wrongly", (unsigned)code);
        if (!surrogate && got != code)
            fail_msg("U+%04X is read as U+%04X", (unsigned)code, (unsigned)got);
        if (wk_utf8_decode(bytes, length - 1, &got) != 0)
            fail_msg("U+%04X is accepted when cut off", (unsigned)code);
    }
}

static void malformed_bytes_are_refused(void **state)
{
    static const char *const bad[] = {"\x80",
                                      "\xbf",
                                      "\xc0\x80",
                                      "\xc1\xbf",
                                      "\xc3",
                                      "\xc3(",
                                      "\xe0\x9f\xbf",
                                      "\xe2\x82",
                                      "\xe2(\xa1",
                                      "\xed\xa0\x80",
                                      "\xf0\x8f\xbf\xbf",
                                      "\xf4\x90\x80\x80",
                                      "\xf5\x80\x80\x80",
                                      "\xff",
                                      "\xfe"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        uint32_t code;
        if (wk_utf8_decode(bad[i], SIZE_MAX, &code) != 0) fail_msg("case %zu is accepted", i);
    }
}

static void control_characters_and_malformed_bytes_are_replaced(void **state)
{
    char line[] = "a\x1b[2Jb\nc\x7f \xc2\x9b caf\xc3\xa9\t", text[] = "x\ny\r";
    wk_utf8_sanitise(line, true);
    assert_string_equal(line, "a?[2Jb\nc? ?? caf\xc3\xa9?");
    wk_utf8_sanitise(text, false);
    assert_string_equal(text, "x?y?");
    char other[] = "caf\xe9s \xf0\x9f\x98", cut[] = "\xe2\x82"; // Latin-1, cut off
    wk_utf8_sanitise(other, false);
    assert_string_equal(other, "caf?s ???");
    wk_utf8_sanitise(cut, false);
    assert_string_equal(cut, "??");
}

// A name with one of these is shown as another: "x\u202egnp.exe" looks like "xexe.png".
static void characters_that_turn_text_around_are_replaced(void **state)
{
    static const char *const turning[] = {"\u061c", "\u200e", "\u200f", "\u202a",
                                          "\u202b", "\u202c", "\u202d", "\u202e",
                                          "\u2066", "\u2067", "\u2068", "\u2069"};
    for (size_t i = 0; i < sizeof turning / sizeof *turning; i++) {
        char name[16], shown[16];
        size_t length = strlen(turning[i]);
        snprintf(name, sizeof name, "a%sb", turning[i]);
        snprintf(shown, sizeof shown, "a%.*sb", (int)length, "???");
        assert_int_equal(wk_utf8_control(turning[i]), length);
        wk_utf8_sanitise(name, false);
        assert_string_equal(name, shown);
    }
    // Their neighbours, right-to-left letters and the joiners of scripts and emoji are text.
    char text[] = "\u200d\u2028\u202f\u2065\u206a \u05d0\u0627 \u061b\u061d", same[sizeof text];
    memcpy(same, text, sizeof text);
    wk_utf8_sanitise(text, false);
    assert_string_equal(text, same);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_character_is_read_back),
        cmocka_unit_test(malformed_bytes_are_refused),
        cmocka_unit_test(control_characters_and_malformed_bytes_are_replaced),
        cmocka_unit_test(characters_that_turn_text_around_are_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
