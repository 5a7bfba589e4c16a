#include "model/config.h"

#include "base/text.h"
#include <string.h>

wk_learner_config wk_learner_config_default(void)
{
    return (wk_learner_config){
#define FIELD(type, name, value, least, largest, meaning) .name = value,
        WK_LEARNER_FIELDS(FIELD)
#undef FIELD
    };
}

typedef struct preset {
    const char *name;
    int depth, deter, hidden, stoch, classes, units, layers, ensemble, batch, length, horizon;
} preset;

static const preset presets[] = {
    {"paper", 48, 600, 600, 32, 32, 400, 4, 10, 16, 50, 15},
    {"small", 24, 256, 256, 24, 24, 256, 3, 7, 16, 32, 12},
    {"quick", 12, 128, 128, 16, 16, 128, 2, 5, 8, 16, 8},
};
enum { PRESETS = sizeof presets / sizeof *presets };

wk_status wk_learner_config_preset(wk_learner_config *config, const char *name, wk_error *err)
{
    const char *names[PRESETS];
    for (int i = 0; i < PRESETS; i++) {
        const preset *p = &presets[i];
        names[i] = p->name;
        if (strcmp(p->name, name) != 0) continue;
        config->depth = p->depth;
        config->deter = p->deter;
        config->hidden = p->hidden;
        config->stoch = p->stoch;
        config->classes = p->classes;
        config->units = p->units;
        config->layers = p->layers;
        config->ensemble = p->ensemble;
        config->batch = p->batch;
        config->length = p->length;
        config->horizon = p->horizon;
        return WK_OK;
    }
    const char *nearest = wk_text_nearest(name, names, PRESETS);
    return wk_fail(err, WK_E_NOT_FOUND, "no preset '%s' (paper, small, quick)%s%s%s", name,
                   nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
}

void wk_learner_config_domain(wk_learner_config *config, const char *domain)
{
    if (!strstr(domain, "clean-up") && strcmp(domain, "combined") != 0) return;
    config->kl_scale = 3;
    config->model_rate = 2e-4f;
    config->entropy_scale = 1e-3f;
}

wk_status wk_learner_config_check(const wk_learner_config *config, wk_error *err)
{
#define FIELD(type, name, value, least, largest, meaning)                                          \
    if (!(config->name >= (type)(least) && config->name <= (type)(largest)))                       \
        return wk_fail(err, WK_E_INPUT, "learner: " #name " = %g is not within %g to %g (%s)",     \
                       (double)config->name, (double)(least), (double)(largest), meaning);
    WK_LEARNER_FIELDS(FIELD)
#undef FIELD
    if (config->action_size < 1 || config->action_size > 32)
        return wk_fail(err, WK_E_INPUT, "learner: action_size = %d is not within 1 to 32",
                       config->action_size);
    if (config->tasks < 0 || config->tasks > 16)
        return wk_fail(err, WK_E_INPUT, "learner: tasks = %d is not within 0 to 16", config->tasks);
    return WK_OK;
}
