#include "base/python_spec.h"

#include <string.h>

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"

// Names with dots between them, [0 ... length-1].
static bool is_dotted(const char *text, size_t length)
{
    bool begins = true;
    for (size_t i = 0; i < length; i++) {
        bool letter = text[i] && strchr(LETTERS, text[i]);
        bool digit = text[i] >= '0' && text[i] <= '9';
        if (!(letter || (!begins && (digit || text[i] == '.')))) return false;
        begins = text[i] == '.';
    }
    return !begins;
}

static bool is_file(const char *text, size_t length)
{
    return length > 3 && memcmp(text + length - 3, ".py", 3) == 0;
}

size_t wk_python_spec_source_length(const char *text)
{
    const char *colon = strrchr(text, ':');
    if (!colon || !is_dotted(colon + 1, strlen(colon + 1))) return 0;
    size_t length = (size_t)(colon - text);
    return is_file(text, length) || is_dotted(text, length) ? length : 0;
}

bool wk_python_spec_has_file(const char *text)
{
    return is_file(text, wk_python_spec_source_length(text));
}
