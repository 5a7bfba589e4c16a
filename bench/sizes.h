// Sizes of the presets for programs that are built without the configurations (the engine alone, on
// a GPU machine). configs/presets.yaml is the source; tests/config/test_presets.c compares.
#ifndef WK_BENCH_SIZES_H
#define WK_BENCH_SIZES_H

#include "model/config.h"
#include <stdbool.h>
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

/// Gives `config` the sizes of a preset; false when there is none of that name.
static inline bool bench_sizes(wk_learner_config *config, const char *name)
{
    for (int i = 0; i < BENCH_PRESETS; i++) {
        const bench_preset *p = &bench_presets[i];
        if (strcmp(p->name, name) != 0) continue;
        config->depth = p->depth, config->deter = p->deter, config->hidden = p->hidden;
        config->stoch = p->stoch, config->classes = p->classes, config->units = p->units;
        config->layers = p->layers, config->ensemble = p->ensemble, config->batch = p->batch;
        config->length = p->length, config->horizon = p->horizon;
        return true;
    }
    return false;
}

#endif
