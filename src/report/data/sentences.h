// Sentences about runs and results, for the reader of a report: what is missing, what differs.
#ifndef WK_REPORT_DATA_SENTENCES_H
#define WK_REPORT_DATA_SENTENCES_H

#include "base/array.h"
#include "waker/error.h"

/// Owned. Zero-initialise; free it also after a failure.
typedef struct wk_sentences {
    WK_ARRAY(char *) items;
} wk_sentences;

/// Adds a sentence, without its full stop; one that is there already is not added again.
wk_status wk_sentences_add(wk_sentences *sentences, wk_error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void wk_sentences_free(wk_sentences *sentences);

#endif
