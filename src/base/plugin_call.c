#include "base/plugin_call.h"

static _Thread_local wk_plugin_call *running;

void wk_plugin_call_enter(wk_plugin_call *call)
{
    call->outer = running;
    running = call;
}

void wk_plugin_call_leave(const wk_plugin_call *call)
{
    running = call->outer;
}

const wk_plugin_call *wk_plugin_call_running(void)
{
    return running;
}
