// Sizes of the presets for programs that are built without the configurations (the engine alone, on
// a GPU machine). configs/presets.yaml is the source; tests/config/test_presets.c compares.
#ifndef WK_BENCH_SIZES_H
#define WK_BENCH_SIZES_H

#include "model/config.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

typedef struct bench_preset {
    const char *name;
    int depth, deter, hidden, stoch, classes, units, layers, ensemble, batch, length, horizon;
} bench_preset;

static const bench_preset bench_presets[] = {
    {"paper", 48, 600, 600, 32, 32, 400, 4, 10, 16, 50, 15},
    {"small", 24, 256, 256, 24, 24, 256, 3, 7, 16, 32, 12},
    {"quick", 12, 128, 128, 16, 16, 128, 2, 5, 8, 16, 8},
};
enum { BENCH_PRESETS = sizeof bench_presets / sizeof *bench_presets };

static inline void bench_use_preset(wk_learner_config *config, const bench_preset *p)
{
    config->depth = p->depth, config->deter = p->deter, config->hidden = p->hidden;
    config->stoch = p->stoch, config->classes = p->classes, config->units = p->units;
    config->layers = p->layers, config->ensemble = p->ensemble, config->batch = p->batch;
    config->length = p->length, config->horizon = p->horizon;
}

/// Changes one size, given as NAME=N; false when there is none of that name.
static inline bool bench_use_size(wk_learner_config *c, const char *text)
{
    const struct {
        const char *name;
        int *value;
    } sizes[] = {{"depth", &c->depth},   {"deter", &c->deter},       {"hidden", &c->hidden},
                 {"stoch", &c->stoch},   {"classes", &c->classes},   {"units", &c->units},
                 {"layers", &c->layers}, {"ensemble", &c->ensemble}, {"batch", &c->batch},
                 {"length", &c->length}, {"horizon", &c->horizon}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t length = strlen(sizes[i].name);
        if (strncmp(text, sizes[i].name, length) != 0 || text[length] != '=') continue;
        *sizes[i].value = atoi(text + length + 1);
        return *sizes[i].value > 0;
    }
    return false;
}

/// Gives `config` the sizes of PRESET[,NAME=N...]; false when there are none of these names.
static inline bool bench_sizes(wk_learner_config *config, const char *text)
{
    size_t length = strcspn(text, ",");
    for (int i = 0; i < BENCH_PRESETS; i++) {
        const char *name = bench_presets[i].name;
        if (strlen(name) != length || strncmp(text, name, length) != 0) continue;
        bench_use_preset(config, &bench_presets[i]);
        bool known = true;
        for (text += length; known && *text; text += 1 + strcspn(text + 1, ","))
            known = bench_use_size(config, text + 1);
        return known;
    }
    return false;
}

#endif
