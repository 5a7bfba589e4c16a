#include "plot/xml.h"
#include "base/text.h"

// XML 1.0, section 2.2; HTML also refuses the controls from U+007F on.
static bool is_allowed(uint32_t code)
{
    if (code < 0x20) return code == '\t' || code == '\n' || code == '\r';
    return !wk_utf8_is_control(code) && (code & 0xfffe) != 0xfffe &&
           !(code >= 0xfdd0 && code <= 0xfdef);
}

static const char *entity_of(uint32_t code)
{
    switch (code) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

void wk_xml_escape(const char *text, wk_text *out)
{
    while (*text) {
        uint32_t code;
        size_t length = wk_utf8_decode(text, SIZE_MAX, &code);
        const char *entity = length ? entity_of(code) : NULL;
        if (entity)
            wk_text_puts(out, entity);
        else if (length && is_allowed(code))
            wk_text_append(out, text, length);
        else
            wk_text_puts(out, "\xef\xbf\xbd");
        text += length ? length : 1;
    }
}
