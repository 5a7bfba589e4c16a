// waker model-error: how well the world models of runs predict, side by side on the same episodes:
// the true error of the next picture, beside what the curriculum's ensemble estimates.
#include "cli/cli.h"
#include "cli/saved_run.h"
#include "cli/table.h"
#include "eval/image_error.h"
#include "train/subject.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct error_values {
    int episodes, steps;
    uint64_t seed;
    bool json;
} error_values;

static const error_values defaults = {.episodes = 200, .steps = 100};

static const wk_arg args[] = {
    {"episodes", "N", "environments from the default distribution, one episode each (200)",
     WK_ARG_INT, offsetof(error_values, episodes), 1, 100000},
    {"steps", "N", "random actions in each (100)", WK_ARG_INT, offsetof(error_values, steps), 1,
     1000},
    {"seed", "N", "of the episodes (0)", WK_ARG_SEED, offsetof(error_values, seed), 0, 0},
    {"json", NULL, "print JSON", WK_ARG_FLAG, offsetof(error_values, json), 0, 0},
};

// What is found about one run.
typedef struct finding {
    char name[256], rule[64];
    uint64_t step, episodes;
    double image_mean, image_worst, estimate_mean, estimate_worst;
} finding;

static wk_status measure_images(const wk_saved_run *run, int threads, const error_values *v,
                                finding *out, wk_error *err)
{
    wk_subject_config which = {.directory = run->directory,
                               .kind = WK_WEIGHTS_CHECKPOINT,
                               .step = (int64_t)run->at.steps,
                               .tasks = "none",
                               .threads = threads};
    wk_subject subject = {0};
    wk_image_error_config config = {v->episodes, v->steps, v->seed, run->world.options};
    double *errors = calloc((size_t)v->episodes, sizeof *errors);
    wk_status status = errors ? wk_subject_open(&which, &subject, err)
                              : wk_fail(err, WK_E_MEMORY, "no memory for %d errors", v->episodes);
    if (status == WK_OK)
        status = wk_image_error_measure(subject.learner, run->world.domain, &config, errors, err);
    if (status == WK_OK)
        wk_mean_and_worst(errors, (size_t)v->episodes, &out->image_mean, &out->image_worst);
    free(errors);
    wk_subject_close(&subject);
    return status;
}

static wk_status sum_up_estimates(const wk_saved_run *run, finding *out, wk_error *err)
{
    wk_curriculum_view view = wk_curriculum_look(run->curriculum.curriculum);
    double *errors = malloc(view.count * sizeof *errors);
    if (!errors) return wk_fail(err, WK_E_MEMORY, "no memory for %zu errors", view.count);
    size_t known = 0;
    for (size_t i = 0; i < view.count; i++)
        if (!isnan(view.error[i])) errors[known++] = view.error[i];
    wk_mean_and_worst(errors, known, &out->estimate_mean, &out->estimate_worst);
    free(errors);
    return WK_OK;
}

static wk_status look_at(const char *directory, int threads, const error_values *v, finding *out,
                         wk_error *err)
{
    wk_saved_run run = {0};
    wk_status status = wk_saved_run_open(directory, &run, err);
    if (status == WK_OK) {
        snprintf(out->name, sizeof out->name, "%s", directory);
        snprintf(out->rule, sizeof out->rule, "%s",
                 wk_curriculum_get_rule(run.curriculum.curriculum)->name);
        out->step = run.at.steps;
        out->episodes = run.at.episodes;
        status = sum_up_estimates(&run, out, err);
    }
    if (status == WK_OK) status = measure_images(&run, threads, v, out, err);
    wk_saved_run_close(&run);
    return status;
}

static void print_text(const finding *found, int count, const error_values *v, wk_text *out)
{
    wk_table table = {0};
    wk_table_begin(&table, "llrrrrrr", "run", "curriculum", "step", "episodes", "image\nmean",
                   "error\nworst 10 %", "estimate\nmean", "\nworst 10 %");
    for (int i = 0; i < count; i++) {
        wk_table_cell(&table, "%s", found[i].name);
        wk_table_cell(&table, "%s", found[i].rule);
        wk_table_cell(&table, "%" PRIu64, found[i].step);
        wk_table_cell(&table, "%" PRIu64, found[i].episodes);
        wk_table_cell(&table, "%.6f", found[i].image_mean);
        wk_table_cell(&table, "%.6f", found[i].image_worst);
        wk_table_cell(&table, "%.4g", found[i].estimate_mean);
        wk_table_cell(&table, "%.4g", found[i].estimate_worst);
    }
    wk_table_print(&table, 0, out);
    wk_table_free(&table);
    wk_text_printf(out,
                   "image error: mean squared error of the next picture's pixels (0 to 1) in %d "
                   "fresh environments,\n%d random actions each, the same for every run. estimate: "
                   "the run's own ensemble, per environment;\nits scale differs from run to run.\n",
                   v->episodes, v->steps);
}

static void print_json(const finding *found, int count, wk_text *out)
{
    wk_json json = {.text = out};
    wk_json_array(&json, NULL);
    for (int i = 0; i < count; i++) {
        wk_json_object(&json, NULL);
        wk_json_string(&json, "run", found[i].name);
        wk_json_string(&json, "rule", found[i].rule);
        wk_json_integer(&json, "step", (int64_t)found[i].step);
        wk_json_number(&json, "image_error_mean", found[i].image_mean);
        wk_json_number(&json, "image_error_worst_10_percent", found[i].image_worst);
        wk_json_number(&json, "estimate_mean", found[i].estimate_mean);
        wk_json_number(&json, "estimate_worst_10_percent", found[i].estimate_worst);
        wk_json_close(&json, '}');
    }
    wk_json_close(&json, ']');
    wk_text_puts(out, "\n");
}

static wk_status run(wk_cli *cli, const void *values, wk_error *err)
{
    const error_values *v = values;
    finding found[WK_ARG_WORDS_MAX] = {0};
    for (int i = 0; i < cli->words.count; i++)
        WK_TRY(look_at(cli->words.items[i], cli->threads, v, &found[i], err));
    wk_text text = {0};
    if (v->json)
        print_json(found, cli->words.count, &text);
    else
        print_text(found, cli->words.count, v, &text);
    return wk_cli_print(&text, err);
}

const wk_command wk_command_model_error = {
    .name = "model-error",
    .summary = "Measure how well the world models of runs predict the next picture",
    .usage = "model-error RUN... [--episodes N] [--steps N] [--json]",
    .details = "Plays fresh episodes of random actions in environments from the default\n"
               "distribution and predicts every picture one step ahead with the weights of the\n"
               "newest checkpoint: mean, and mean of the worst tenth of the environments.\n",
    .examples = "model-error runs/waker-m runs/dr --episodes 100",
    .args = args,
    .n_args = sizeof args / sizeof *args,
    .values_size = sizeof(error_values),
    .defaults = &defaults,
    .least_words = 1,
    .most_words = WK_ARG_WORDS_MAX,
    .run = run,
};
