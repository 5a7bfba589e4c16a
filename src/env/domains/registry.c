// The table of built-in domains, in the order users see them.
#include "base/text.h"
#include "env/domains/domains.h"

#include "env/domain.h"
#include <assert.h>
#include <mujoco/mujoco.h>
#include <stdio.h>
#include <string.h>

// One row per domain; the last is NULL.
static const wk_domain *const builtin[] = {
    &wk_terrain_walker, &wk_terrain_hopper, &wk_terrain_body, &wk_clean_up, &wk_car_clean_up,
    &wk_combined,       &wk_dmc_walker,     &wk_dmc_hopper,   &wk_toy,      NULL,
};

size_t wk_domain_count(void)
{
    return sizeof builtin / sizeof *builtin - 1;
}

const wk_domain *wk_domain_at(size_t i)
{
    assert(i < wk_domain_count());
    return builtin[i];
}

wk_status wk_domain_find(const char *name, const wk_domain **out, wk_error *err)
{
    const char *names[sizeof builtin / sizeof *builtin];
    for (size_t i = 0; i < wk_domain_count(); i++) {
        names[i] = builtin[i]->name;
        if (strcmp(names[i], name) != 0) continue;
        *out = builtin[i];
        return WK_OK;
    }
    return wk_fail_unknown(err, "domain", name, names, wk_domain_count());
}

uint64_t wk_domain_engine(const wk_domain *domain)
{
    for (size_t i = 0; i < wk_domain_count(); i++)
        if (builtin[i] == domain && domain != &wk_toy) return (uint64_t)mj_version();
    return 0;
}

// MuJoCo 2 counts 222 for 2.2.2; later ones count 3017000 for 3.17.0.
void wk_engine_print(uint64_t version, char out[WK_ENGINE_CHARS])
{
    unsigned base = version < 10000 ? 10 : 1000, v = (unsigned)version;
    snprintf(out, WK_ENGINE_CHARS, "%u.%u.%u", v / base / base, v / base % base, v % base);
}
