// Directories that look like runs, with results chosen by the test.
#ifndef WK_TESTS_MADE_RUNS_H
#define WK_TESTS_MADE_RUNS_H

#include "base/file.h"
#include "base/json.h"
#include "support/check.h"
#include "train/runs.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/// Who a run is.
typedef struct made_run {
    const char *domain, *rule, *exploration; // exploration as the configuration has it
    uint64_t seed;
} made_run;

/// What it scored on one task in one case.
typedef struct made_score {
    const char *task, *variant, *part; // variant "dr" is the default distribution; part may be NULL
    double mean, cvar;
    bool completion;
} made_score;

/// Writes a file, with the directories above it.
static inline void made_file(const char *path, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static inline void made_file(const char *path, const char *format, ...)
{
    wk_error err = {0};
    char folder[1024], text[16384];
    snprintf(folder, sizeof folder, "%s", path);
    *strrchr(folder, '/') = 0;
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    assert_true(length >= 0 && (size_t)length < sizeof text);
    assert_ok(wk_dir_create(folder, &err));
    assert_ok(wk_file_write(path, text, (size_t)length, &err));
}

/// The default configuration of such a run.
static inline wk_run_config made_configuration(const made_run *run)
{
    wk_run_config config = wk_run_config_default();
    config.seed = run->seed;
    snprintf(config.domain, sizeof config.domain, "%s", run->domain);
    snprintf(config.curriculum_rule, sizeof config.curriculum_rule, "%s", run->rule);
    snprintf(config.exploration, sizeof config.exploration, "%s", run->exploration);
    return config;
}

/// Makes DIRECTORY a run without results that has another value for `key`, unless that is NULL.
static inline void made_write_with(const char *directory, wk_run_config *config, const char *key,
                                   const char *value)
{
    char path[1024];
    wk_error err = {0};
    if (key) assert_ok(wk_run_config_set(config, wk_run_field_find(key, strlen(key)), value, &err));
    snprintf(path, sizeof path, "%s/config.yaml", directory);
    assert_ok(wk_dir_create(directory, &err));
    assert_ok(wk_run_config_write_in(config, NULL, path, &err));
}

static inline void made_write(const char *directory, wk_run_config *config)
{
    made_write_with(directory, config, NULL, NULL);
}

static inline void made_config_with(const char *directory, const made_run *run, const char *key,
                                    const char *value)
{
    wk_run_config config = made_configuration(run);
    made_write_with(directory, &config, key, value);
}

/// Makes DIRECTORY a run without results.
static inline void made_config(const char *directory, const made_run *run)
{
    made_config_with(directory, run, NULL, NULL);
}

/// The beginning of a file of results.
static inline void made_head(const made_run *run, const char *format, uint64_t step,
                             const char *policy, wk_json *json)
{
    wk_json_object(json, NULL);
    wk_json_string(json, "format", format);
    wk_json_string(json, "domain", run->domain);
    wk_json_string(json, "curriculum", run->rule);
    wk_json_string(json, "exploration", run->exploration);
    wk_json_integer(json, "seed", (int64_t)run->seed);
    wk_json_integer(json, "step", (int64_t)step);
    if (policy) wk_json_string(json, "policy", policy);
}

static inline void made_spread(wk_json *json, const char *key, double mean, double cvar)
{
    wk_json_object(json, key);
    wk_json_number(json, "mean", mean);
    wk_json_number(json, "sd", 1);
    wk_json_object(json, "cvar");
    wk_json_number(json, "0.05", cvar - 1);
    wk_json_number(json, "0.1", cvar);
    wk_json_close(json, '}');
    wk_json_close(json, '}');
}

/// Which episodes were played, and how the file is called that says so.
typedef struct made_sample {
    int episodes;
    uint64_t seed;
    const char *name; // POLICY-STEP and this
} made_sample;

/// Writes DIRECTORY/eval/POLICY-STEP.json: one task with one case for each score.
static inline void made_eval_of(const char *directory, const made_run *run, const char *policy,
                                uint64_t step, made_sample sample, const made_score *scores,
                                size_t count)
{
    wk_text text = {0};
    wk_json json = {.text = &text};
    made_head(run, "waker-eval-1", step, policy, &json);
    wk_json_integer(&json, "eval_seed", (int64_t)sample.seed);
    wk_json_array(&json, "tasks");
    for (size_t i = 0; i < count; i++) {
        const made_score *s = &scores[i];
        wk_json_object(&json, NULL);
        wk_json_string(&json, "task", s->task);
        wk_json_array(&json, "cases");
        wk_json_object(&json, NULL);
        wk_json_string(&json, "case", s->variant);
        wk_json_integer(&json, "episodes", sample.episodes);
        // The other kind of score is there too and must not be taken.
        made_spread(&json, s->completion ? "completion" : "return", s->mean, s->cvar);
        made_spread(&json, s->completion ? "return" : "completion", -77, -88);
        wk_json_close(&json, '}');
        wk_json_close(&json, ']');
        wk_json_string(&json, "score", s->completion ? "completion" : "return");
        if (s->part) wk_json_string(&json, "part", s->part);
        wk_json_close(&json, '}');
    }
    wk_json_close(&json, ']');
    wk_json_close(&json, '}');
    char path[1024];
    snprintf(path, sizeof path, "%s/eval/%s-%012" PRIu64 "%s.json", directory, policy, step,
             sample.name);
    made_file(path, "%s\n", wk_text_get(&text));
    wk_text_free(&text);
}

static inline void made_eval(const char *directory, const made_run *run, const char *policy,
                             uint64_t step, const made_score *scores, size_t count)
{
    made_eval_of(directory, run, policy, step, (made_sample){100, 0, ""}, scores, count);
}

/// A whole run with results of one evaluation.
static inline void made_whole(const char *directory, made_run run, const made_score *scores,
                              size_t count)
{
    made_config(directory, &run);
    made_eval(directory, &run, "adapted", 500000, scores, count);
}

/// A folder of the test's own, the working directory while it runs.
static inline int made_setup(void **state)
{
    static char home[] = "report-XXXXXX";
    *state = home;
    return mkdtemp(home) && chdir(home) == 0 ? 0 : -1;
}

static inline int made_teardown(void **state)
{
    if (chdir("..") != 0) return -1;
    remove_tree(*state);
    return 0;
}

#endif
