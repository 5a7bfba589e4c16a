// A plug-in that leaves a mark as soon as it is loaded, before anything of it is called: the file
// that the environment variable MARK_FILE names, and the signal MARK_SIGNAL. In all else it is the
// template domain and the template rule in one. BUILD makes contents that differ: 1 and 2 are the
// same domain, 3 has longer episodes.
#include <signal.h>
#define wk_plugin_entry ball_entry
#include "../../examples/plugin/ball.c"
#undef wk_plugin_entry
#include "../../examples/curriculum/even.c"

__attribute__((constructor)) static void leave_mark(void)
{
    const char *path = getenv("MARK_FILE");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (file) fclose(file);
    if (getenv("MARK_SIGNAL")) raise(atoi(getenv("MARK_SIGNAL")));
}

const wk_domain *wk_plugin_entry(void);
const wk_domain *wk_plugin_entry(void)
{
    static wk_domain changed;
    changed = *ball_entry();
    changed.episode_steps = BUILD == 3 ? 60 : 50;
    if (BUILD == 2) changed.summary = "The same, built again.";
    return &changed;
}
