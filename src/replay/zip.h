// Writes zip archives of deflated files, all sizes in the local headers, as numpy's and every other
// reader likes them. The archive appears under its name when it is complete.
#ifndef WK_REPLAY_ZIP_H
#define WK_REPLAY_ZIP_H

#include "waker/error.h"
#include <stddef.h>

typedef struct wk_zip wk_zip;

wk_status wk_zip_begin(const char *path, wk_zip **out, wk_error *err);
/// Adds a file whose content is `head` followed by `body`; 4 GB at most.
wk_status wk_zip_add(wk_zip *zip, const char *name, const void *head, size_t head_size,
                     const void *body, size_t body_size, wk_error *err);
/// Completes the archive. The writer is gone afterwards, also on failure.
wk_status wk_zip_commit(wk_zip *zip, wk_error *err);
/// Gives it up; NULL is allowed.
void wk_zip_discard(wk_zip *zip);

#endif
