#include "report/memory.h"

#include <stdio.h>
#include <string.h>

void *wk_report_alloc(wk_report_memory *memory, size_t count, size_t size)
{
    size_t bytes;
    void *out =
        __builtin_mul_overflow(count, size, &bytes) ? NULL : wk_arena_alloc(&memory->arena, bytes);
    memory->failed |= !out;
    return out;
}

char *wk_report_vprintf(wk_report_memory *memory, const char *format, va_list args)
{
    static char empty[1];
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    char *out = wk_report_alloc(memory, (size_t)length + 1, 1);
    if (!out) return empty;
    vsnprintf(out, (size_t)length + 1, format, args);
    return out;
}

char *wk_report_printf(wk_report_memory *memory, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *out = wk_report_vprintf(memory, format, args);
    va_end(args);
    return out;
}

char *wk_report_take(wk_report_memory *memory, wk_text *text)
{
    char *out = wk_report_printf(memory, "%s", wk_text_get(text));
    memory->failed |= text->failed;
    wk_text_free(text);
    return out;
}

bool wk_report_grow_(wk_report_memory *memory, void **items, size_t *capacity, size_t count,
                     size_t size)
{
    if (count < *capacity) return true;
    size_t wanted = *capacity ? 2 * *capacity : 8;
    void *larger = wk_report_alloc(memory, wanted, size);
    if (!larger) return false;
    if (count) memcpy(larger, *items, count * size);
    *items = larger;
    *capacity = wanted;
    return true;
}

wk_status wk_report_memory_check(const wk_report_memory *memory, wk_error *err)
{
    return memory->failed ? wk_fail(err, WK_E_MEMORY, "no memory for the report") : WK_OK;
}

void wk_sentences_add(wk_report_memory *memory, wk_sentences *sentences, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *sentence = wk_report_vprintf(memory, format, args);
    va_end(args);
    for (size_t i = 0; i < sentences->items.count; i++)
        if (strcmp(sentences->items.items[i], sentence) == 0) return;
    wk_report_push(memory, &sentences->items, sentence);
}
