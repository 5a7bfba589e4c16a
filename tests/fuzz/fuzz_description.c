// Fuzz target: any bytes as the description of a domain, as a run keeps it of a plug-in. What is
// accepted has a grid and describes itself as a domain that fits it.
#include "base/json.h"
#include "env/description.h"
#include "fuzz/fuzz.h"

static wk_description *read_bytes(const char *bytes, size_t size)
{
    wk_document document;
    wk_description *description = NULL;
    wk_error err = {0};
    if (wk_document_start("fuzz", bytes, size, &document, &err) == WK_OK &&
        wk_description_read(&document, &description, &err) != WK_OK)
        assert(err.message[0] && !description);
    return description;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    wk_description *description = read_bytes((const char *)bytes, size);
    if (!description) return 0;
    wk_error err = {0};
    wk_space *space;
    if (wk_description_space(description, &space, &err) != WK_OK) abort();
    wk_space_destroy(space);
    // It describes itself as the same, but for a grid that was listed.
    wk_text text = {0};
    wk_json json = {.text = &text};
    wk_json_object(&json, NULL);
    if (wk_domain_describe(wk_description_domain(description), &json, &err) != WK_OK) abort();
    wk_json_close(&json, '}');
    wk_description *again = read_bytes(text.chars, text.length);
    if (again && wk_description_fits(again, wk_description_domain(description), &err) != WK_OK)
        abort();
    wk_description_destroy(again);
    wk_description_destroy(description);
    wk_text_free(&text);
    return 0;
}
