// --snapshot STEP|last, as commands about saved weights take it.
#ifndef WK_CLI_SNAPSHOT_ARG_H
#define WK_CLI_SNAPSHOT_ARG_H

#include "waker/error.h"
#include <stdint.h>

/// Reads a step, or "last" (or nothing, NULL) as WK_STEP_LAST.
wk_status wk_snapshot_arg(const char *text, int64_t *step, wk_error *err);

#endif
