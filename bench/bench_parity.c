// Trains a world model on stored episodes and fixed batches, so that another program can do the
// same: see docs/results.md, and bench/parity, which runs both.
#include "cli/args.h"
#include "config/blocks.h"
#include "parity.h"

#include <stdio.h>
#include <string.h>

static const char usage[] =
    "usage: bench_parity data RUN --out DATA\n"
    "       bench_parity plan DATA --out PLAN [--configs NAME...] [--KEY VALUE]... [options]\n"
    "       bench_parity train DATA PLAN --out DIR [--device NAME] [--precision NAME] [options]\n"
    "\n"
    "data   writes the episodes of a run as plain arrays\n"
    "plan   draws held-out sequences and batches, and makes initial weights; what is trained is\n"
    "       the run's configuration with the blocks and keys given here on top\n"
    "train  trains and measures\n"
    "\n";

typedef struct values {
    const char *out, *device, *precision;
    wk_arg_texts configs;
    wk_arg_settings settings;
    int updates, every, sequences, frames, context;
    double held_out;
    bool exploration, help;
} values;

#define WK_VALUES values
static const wk_arg args[] = {
    WK_OPT_TEXT("out", out, "DIR", "where the files go; made if need be"),
    WK_ARG_ROW(WK_ARG_NAMES, "configs", configs, "NAME...", "blocks of settings, for example paper",
               0, 0),
    WK_OPT_INT("updates", updates, "N", "planned (10000), or trained at most (all)", 1, 1e8),
    WK_OPT_INT("sequences", sequences, "N", "held-out sequences (64)", 1, 100000),
    WK_OPT_INT("frames", frames, "N", "in each (50)", 2, 1024),
    WK_OPT_INT("context", context, "N", "of them seen before open loop (5)", 1, 1023),
    WK_OPT_NUMBER("held-out", held_out, "SHARE",
                  "of the episodes, the newest, not trained on (0.05)", 1e-9, 0.99),
    WK_OPT_FLAG("exploration", exploration, "plan to train ensemble and exploration policy too"),
    WK_OPT_INT("every", every, "N", "updates between measurements (500)", 1, 1e8),
    WK_OPT_TEXT("device", device, "NAME", "to train on: auto (the default), cpu, cuda or cuda:N"),
    WK_OPT_TEXT("precision", precision, "NAME", "to train in: auto (the default), f32 or bf16"),
    WK_OPT_FLAG("help", help, "show this"),
    WK_ARG_ROW(WK_ARG_KEYS, "KEY", settings, "VALUE",
               "of a plan's configuration, for example --length 25", 0, 0),
};
enum { N_ARGS = sizeof args / sizeof *args, DEFAULT_UPDATES = 10000 };

typedef const char *setting[2];

// Where the world model alone is compared, what else an update trains is as small as it can be.
static const setting reward_free[] = {{"tasks", "none"}, {"acting", "exploration"}};
static const setting exploring[] = {{"exploration", "plan2explore"}};
static const setting world_model_only[] = {
    {"exploration", "random"}, {"ensemble.size", "2"}, {"units", "8"},
    {"layers", "1"},           {"horizon", "1"},
};

static wk_status merge_settings(const setting *settings, size_t count, wk_merged_config *merged,
                                wk_error *err)
{
    for (size_t i = 0; i < count; i++) {
        const wk_setting one = {settings[i][0], strlen(settings[i][0]), settings[i][1]};
        WK_TRY(wk_config_merge_setting(&one, merged, err));
    }
    return WK_OK;
}

static wk_status merge(const wk_config_blocks *blocks, const values *v, wk_merged_config *merged,
                       wk_error *err)
{
    for (int i = 0; i < v->configs.count; i++)
        WK_TRY(wk_config_merge_block(blocks, v->configs.items[i], merged, err));
    for (size_t i = 0; i < v->settings.count; i++)
        WK_TRY(wk_config_merge_setting(&v->settings.items[i], merged, err));
    WK_TRY(merge_settings(reward_free, sizeof reward_free / sizeof *reward_free, merged, err));
    return v->exploration
               ? merge_settings(exploring, 1, merged, err)
               : merge_settings(world_model_only,
                                sizeof world_model_only / sizeof *world_model_only, merged, err);
}

// The configuration of the data with what the command line says on top.
static wk_status make_config(const char *data, const values *v, wk_run_config *out, wk_error *err)
{
    static wk_merged_config merged;
    wk_config_blocks *blocks = NULL;
    char path[WK_PATH_MAX];
    wk_path_join(data, "config.yaml", path, NULL);
    WK_TRY(wk_run_config_read(path, &merged.config, err));
    WK_TRY(wk_config_blocks_create(&blocks, err));
    wk_status status = wk_config_blocks_add_embedded(blocks, err);
    if (status == WK_OK) status = merge(blocks, v, &merged, err);
    wk_config_blocks_destroy(blocks);
    *out = merged.config;
    return status;
}

static wk_status write_data(const values *v, const char *const *words, wk_error *err)
{
    return parity_data_write(words[0], v->out, err);
}

static wk_status write_plan(const values *v, const char *const *words, wk_error *err)
{
    static wk_run_config config;
    parity_data data = {0};
    parity_choice choice = {.config = &config,
                            .updates = (uint32_t)(v->updates ? v->updates : DEFAULT_UPDATES),
                            .sequences = (uint32_t)v->sequences,
                            .frames = (uint32_t)v->frames,
                            .context = (uint32_t)v->context,
                            .held_out = v->held_out};
    WK_TRY(make_config(words[0], v, &config, err));
    wk_status status = parity_data_open(words[0], &data, err);
    if (status == WK_OK) status = parity_plan_write(&data, &choice, v->out, err);
    parity_data_close(&data);
    return status;
}

static wk_status train(const values *v, const char *const *words, wk_error *err)
{
    static parity_plan plan;
    parity_data data = {0};
    parity_training how = {.data = &data,
                           .plan = &plan,
                           .plan_directory = words[1],
                           .directory = v->out,
                           .device = v->device,
                           .precision = v->precision,
                           .updates = v->updates ? (uint32_t)v->updates : UINT32_MAX,
                           .every = (uint32_t)v->every};
    wk_status status = parity_data_open(words[0], &data, err);
    if (status == WK_OK) status = parity_plan_open(words[1], &data, &plan, err);
    if (status == WK_OK) status = parity_train(&how, err);
    parity_plan_close(&plan);
    parity_data_close(&data);
    return status;
}

static const struct command {
    const char *name;
    int words;
    wk_status (*run)(const values *v, const char *const *words, wk_error *err);
} commands[] = {{"data", 1, write_data}, {"plan", 1, write_plan}, {"train", 2, train}};

static wk_status run(values *v, const wk_arg_words *words, wk_error *err)
{
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        const struct command *c = &commands[i];
        if (words->count != c->words + 1 || strcmp(words->items[0], c->name) != 0) continue;
        if (!v->out) return wk_fail(err, WK_E_INPUT, "say where the files go with --out DIR");
        return c->run(v, words->items + 1, err);
    }
    return wk_fail(err, WK_E_INPUT, "nothing that can be done; --help lists the commands");
}

int main(int count, char **words)
{
    static wk_arg_words rest;
    static values v = {.device = "auto",
                       .precision = "auto",
                       .every = 500,
                       .sequences = 64,
                       .frames = 50,
                       .context = 5,
                       .held_out = 0.05};
    const wk_arg_table table = {args, N_ARGS, &v};
    wk_error err = {0};
    int taken;
    wk_status status = wk_args_parse(&table, 1, count - 1, words + 1, &rest, &taken, &err);
    if (status == WK_OK && v.help) {
        printf("%s", usage);
        for (size_t i = 0; i < N_ARGS; i++)
            printf("  --%-12s %-10s %s\n", args[i].name, args[i].value ? args[i].value : "",
                   args[i].help);
        return 0;
    }
    if (status == WK_OK) status = run(&v, &rest, &err);
    if (status == WK_OK) return 0;
    fprintf(stderr, "bench_parity: %s\n", err.message);
    return 1;
}
