#include "report/data/sentences.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

wk_status wk_sentences_add(wk_sentences *sentences, wk_error *err, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    size_t size = (size_t)vsnprintf(NULL, 0, format, again) + 1;
    va_end(again);
    char *sentence = malloc(size);
    if (sentence) vsnprintf(sentence, size, format, args);
    va_end(args);
    if (!sentence) return wk_fail(err, WK_E_MEMORY, "no memory for a remark");
    for (size_t i = 0; i < sentences->items.count; i++)
        if (strcmp(sentences->items.items[i], sentence) == 0) {
            free(sentence);
            return WK_OK;
        }
    if (wk_array_push(&sentences->items, sentence)) return WK_OK;
    free(sentence);
    return wk_fail(err, WK_E_MEMORY, "no memory for a remark");
}

void wk_sentences_free(wk_sentences *sentences)
{
    for (size_t i = 0; i < sentences->items.count; i++)
        free(sentences->items.items[i]);
    wk_array_free(&sentences->items);
}
