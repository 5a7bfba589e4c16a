#include "waker/relabel.h"

#include "api/c_locale.h"
#include "run/rewards.h"

wk_status wk_relabel_run(const wk_relabel_config *config, wk_relabel_result *out, wk_error *err)
{
    if (!config->directory || !*config->directory)
        return wk_fail(err, WK_E_INPUT, "directory: say which run");
    if (!config->reward == !config->recorded)
        return wk_fail(err, WK_E_INPUT, "give the file of a reward or a function, one of them");
    locale_t callers = wk_c_locale_enter();
    wk_status status = wk_relabel(config, NULL, NULL, out, err);
    wk_c_locale_leave(callers);
    return status;
}
