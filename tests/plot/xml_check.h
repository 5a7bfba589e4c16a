// A small check of XML well-formedness, written from the XML specification for the tests alone:
// tags nest, attributes are quoted and named once, and only known entities appear.
#ifndef WK_TESTS_REPORT_XML_CHECK_H
#define WK_TESTS_REPORT_XML_CHECK_H

#include "base/text.h"
#include "support/check.h"
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>

enum { XML_DEPTH = 16, XML_NAME = 32 };

static inline size_t xml_name(const char *at, char *name)
{
    size_t length = strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_:");
    if (length == 0 || length >= XML_NAME) fail_msg("no name at '%.40s'", at);
    snprintf(name, XML_NAME, "%.*s", (int)length, at);
    return length;
}

/// One character of text or of an attribute's value.
static inline size_t xml_character(const char *at)
{
    static const char *const entities[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
    uint32_t code;
    if (*at == '<') fail_msg("a bare < at '%.40s'", at);
    for (size_t i = 0; *at == '&' && i < 5; i++)
        if (strncmp(at, entities[i], strlen(entities[i])) == 0) return strlen(entities[i]);
    if (*at == '&') fail_msg("a bare & at '%.40s'", at);
    size_t length = wk_utf8_decode(at, SIZE_MAX, &code);
    if (length == 0) fail_msg("not UTF-8 at '%.40s'", at);
    if (code < 0x20 && code != '\n' && code != '\t' && code != '\r')
        fail_msg("a control character U+%04X", (unsigned)code);
    return length;
}

static inline const char *xml_attributes(const char *at)
{
    char names[16][XML_NAME];
    int count = 0;
    while (*at == ' ') {
        at++;
        assert_true(count < 16);
        at += xml_name(at, names[count]);
        for (int i = 0; i < count; i++)
            if (strcmp(names[i], names[count]) == 0) fail_msg("%s twice", names[i]);
        count++;
        if (at[0] != '=' || at[1] != '"') fail_msg("an attribute without quotes at '%.40s'", at);
        for (at += 2; *at != '"';)
            at += xml_character(at);
        at++;
    }
    return at;
}

/// Fails unless `text` is one well-formed element; returns how many elements of `name` it has.
static inline int xml_check(const char *text, const char *name)
{
    char open[XML_DEPTH][XML_NAME];
    int depth = 0, found = 0;
    const char *at = text;
    do {
        if (*at != '<') {
            at += xml_character(at);
            continue;
        }
        char tag[XML_NAME];
        if (at[1] == '/') {
            at += 2 + xml_name(at + 2, tag);
            if (depth == 0 || strcmp(open[depth - 1], tag) != 0)
                fail_msg("</%s> closes nothing", tag);
            depth--;
        } else {
            assert_true(depth < XML_DEPTH);
            at = xml_attributes(at + 1 + xml_name(at + 1, tag));
            snprintf(open[depth++], XML_NAME, "%s", tag);
            found += strcmp(tag, name) == 0;
            if (*at == '/') {
                at++;
                depth--;
            }
        }
        if (*at++ != '>') fail_msg("a tag without end at '%.40s'", at - 1);
    } while (depth > 0);
    assert_int_equal(strspn(at, "\n "), strlen(at));
    return found;
}

#endif
