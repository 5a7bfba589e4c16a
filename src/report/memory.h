// Memory of a report: one arena holds what is read and made, and goes as a whole. A failed
// allocation is remembered, as in a wk_text: a string that could not be made is "", an item that
// could not be kept is left out, and one check at the end of a step is enough.
#ifndef WK_REPORT_MEMORY_H
#define WK_REPORT_MEMORY_H

#include "base/memory.h"
#include "base/text.h"
#include <stdarg.h>

/// Zero-initialise; free it with wk_arena_reset. Threads need one each.
typedef struct wk_report_memory {
    wk_arena arena;
    bool failed;
} wk_report_memory;

/// Zeroed memory for `count` items, or NULL.
void *wk_report_alloc(wk_report_memory *memory, size_t count, size_t size);

/// A formatted string; "" without memory.
char *wk_report_printf(wk_report_memory *memory, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
char *wk_report_vprintf(wk_report_memory *memory, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));
/// The text as a string of the memory; the text is freed.
char *wk_report_take(wk_report_memory *memory, wk_text *text);

/// Appends a value to a WK_ARRAY that lives in the memory: never free the array.
#define wk_report_push(memory, list, ...)                                                          \
    (wk_report_grow_((memory), (void **)&(list)->items, &(list)->capacity, (list)->count,          \
                     sizeof *(list)->items)                                                        \
         ? (void)((list)->items[(list)->count++] = (__VA_ARGS__))                                  \
         : (void)0)
bool wk_report_grow_(wk_report_memory *memory, void **items, size_t *capacity, size_t count,
                     size_t size);

/// WK_E_MEMORY if an allocation failed since the memory was made.
wk_status wk_report_memory_check(const wk_report_memory *memory, wk_error *err);

/// Sentences for the reader of a report: what is missing, what differs. Without full stops.
typedef struct wk_sentences {
    WK_ARRAY(const char *) items;
} wk_sentences;

/// Adds a sentence; one that is there already is not added again.
void wk_sentences_add(wk_report_memory *memory, wk_sentences *sentences, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
