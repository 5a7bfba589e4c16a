#include "base/utf8.h"

size_t wk_utf8_decode(const char *chars, size_t left, uint32_t *code)
{
    static const uint32_t min[] = {0, 0, 0x80, 0x800, 0x10000}; // anything below is overlong
    const unsigned char *u = (const unsigned char *)chars;
    if (left == 0) return 0;
    *code = u[0];
    if (u[0] < 0x80) return 1;
    if (u[0] < 0xc2 || u[0] > 0xf4) return 0;
    size_t length = u[0] >= 0xf0 ? 4 : u[0] >= 0xe0 ? 3 : 2;
    if (left < length) return 0;
    *code = u[0] & (0xffu >> (length + 1));
    for (size_t i = 1; i < length; i++) {
        if ((u[i] & 0xc0) != 0x80) return 0;
        *code = *code << 6 | (u[i] & 0x3f);
    }
    bool surrogate = *code >= 0xd800 && *code < 0xe000;
    return *code >= min[length] && *code <= 0x10ffff && !surrogate ? length : 0;
}

size_t wk_utf8_width(const char *chars, size_t length)
{
    size_t width = 0;
    for (size_t i = 0; i < length; i++)
        width += ((unsigned char)chars[i] & 0xc0) != 0x80;
    return width;
}

void wk_utf8_tame(char *text, bool lines)
{
    for (unsigned char *c = (unsigned char *)text; *c; c++) {
        bool control = (*c < 0x20 && !(lines && *c == '\n')) || *c == 0x7f;
        bool c1 = *c == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0; // U+0080 to U+009F
        if (c1) c[1] = '?';
        if (control || c1) *c = '?';
    }
}
