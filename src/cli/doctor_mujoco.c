// Which MuJoCo runs, whether waker was built for it, and whether it is one that waker is tested
// with.
#include "cli/doctor.h"

#include "env/domain.h"
#include <mujoco/mujoco.h>
#include <stdio.h>
#include <string.h>

// Whether `version` is one of the items of `list`, which ", " separates.
static bool is_listed(const char *version, const char *list)
{
    size_t length = strlen(version);
    for (const char *item = list; *item; item += strspn(item, ", ")) {
        size_t end = strcspn(item, ", ");
        if (end == length && strncmp(item, version, length) == 0) return true;
        item += end;
    }
    return false;
}

void wk_doctor_mujoco_versions(int built_for, int loaded, const char *tested, wk_doctor_finding *e)
{
    char built_text[WK_ENGINE_CHARS], loaded_text[WK_ENGINE_CHARS];
    wk_engine_print((uint64_t)built_for, built_text);
    wk_engine_print((uint64_t)loaded, loaded_text);
    if (loaded != built_for) {
        e->health = WK_HEALTH_BROKEN;
        snprintf(e->found, sizeof e->found, "%s at run time, but built for %s", loaded_text,
                 built_text);
        snprintf(e->advice, sizeof e->advice,
                 "build waker again, or set LD_LIBRARY_PATH to the MuJoCo %s it was built for",
                 built_text);
    } else if (is_listed(loaded_text, tested)) {
        snprintf(e->found, sizeof e->found, "%s", loaded_text);
    } else {
        snprintf(e->found, sizeof e->found, "%s, a version that waker is not tested with",
                 loaded_text);
        snprintf(e->advice, sizeof e->advice,
                 "waker is tested with %s; run `make test` against this one, or build with one of "
                 "those (MUJOCO_DIR)",
                 tested);
    }
}

void wk_doctor_mujoco(wk_doctor_finding *e)
{
    wk_doctor_mujoco_versions(mjVERSION_HEADER, mj_version(), WAKER_MUJOCO_TESTED, e);
}
