#include "cli/snapshot_arg.h"

#include "cli/args.h"
#include "run/weights_file.h"
#include <math.h>
#include <string.h>

wk_status wk_snapshot_arg(const char *text, int64_t *step, wk_error *err)
{
    double number;
    *step = WK_STEP_LAST;
    if (!text || strcmp(text, "last") == 0) return WK_OK;
    WK_TRY(wk_parse_number("--snapshot", text, &number, err));
    if (number < 0 || number > 1e15 || number != floor(number))
        return wk_fail(err, WK_E_INPUT, "--snapshot '%s' is no step; write its number or last",
                       text);
    *step = (int64_t)number;
    return WK_OK;
}
