// Fuzz target: any bytes as JSON. Tokens must lie inside the input, in order, and strings must
// unescape into no more room than they take.
#include "base/json.h"
#include "fuzz/fuzz.h"

static void use(wk_json_token token)
{
    uint64_t integer;
    double number;
    wk_json_to_u64(token, &integer);
    wk_json_to_double(token, &number);
    if (token.kind != WK_JSON_STRING && token.kind != WK_JSON_KEY) return;
    char *text = malloc(token.length + 1);
    if (!text) abort();
    size_t length = wk_json_unescape(token, text);
    assert(length <= token.length);
    text[length] = 0;
    // Equal unless the text has zero bytes, which end it early.
    (void)wk_json_equals(token, text);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    wk_json_reader reader = wk_json_reader_start((const char *)bytes, size);
    for (;;) {
        size_t before = reader.at;
        wk_json_token token = wk_json_reader_next(&reader);
        if (token.kind == WK_JSON_ERROR || token.kind == WK_JSON_END) break;
        assert(token.chars >= reader.bytes && token.chars + token.length <= reader.bytes + size);
        assert(reader.at > before);
        use(token);
    }
    return 0;
}
