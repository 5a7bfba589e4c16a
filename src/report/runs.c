#include "report/runs.h"

#include "curriculum/rules.h"
#include "log/metrics.h"
#include "run/code.h"
#include "run/disk.h"
#include "run/saved_run.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Splits LABEL=PATH at the first '=' that has a path after it. What is a path as a whole has no
// label.
static wk_status find_label(const char **path, char label[WK_METHOD_NAME_MAX], wk_error *err)
{
    const char *word = *path, *equals = word;
    bool there, directory;
    *label = 0;
    WK_TRY(wk_path_stat(word, &there, &directory, err));
    while (!there && (equals = strchr(equals, '=')) != NULL) {
        WK_TRY(wk_path_stat(++equals, &there, &directory, err));
        if (!there) continue;
        size_t length = (size_t)(equals - 1 - word);
        if (length == 0 || length >= WK_METHOD_NAME_MAX)
            return wk_fail(err, WK_E_INPUT, "the label of '%s' has %zu bytes; use 1 to %d", equals,
                           length, WK_METHOD_NAME_MAX - 1);
        snprintf(label, WK_METHOD_NAME_MAX, "%.*s", (int)length, word);
        *path = equals;
    }
    return WK_OK;
}

// Adds the run that the path is, or those below it.
static wk_status find_in(wk_runs *runs, const char *path, wk_error *err)
{
    char label[WK_METHOD_NAME_MAX];
    wk_names found = {0};
    bool there, directory;
    WK_TRY(find_label(&path, label, err));
    WK_TRY(wk_path_stat(path, &there, &directory, err));
    if (!there) return wk_fail(err, WK_E_NOT_FOUND, "'%s' does not exist", path);
    if (!directory) {
        const char *slash = strrchr(path, '/');
        // Among the runs of a population, that a shell's * gives too.
        if (strcmp(slash ? slash + 1 : path, WK_POPULATION_FILE) == 0) return WK_OK;
        return wk_fail(err, WK_E_INPUT, "'%s' is not a directory; give runs or directories of runs",
                       path);
    }
    wk_status status = wk_run_list(path, &found, err);
    for (size_t i = 0; status == WK_OK && i < found.count; i++) {
        wk_report_run *run = wk_report_alloc(&runs->memory, 1, sizeof *run);
        if (!run) break;
        run->directory = wk_report_printf(&runs->memory, "%s", found.items[i]);
        run->label = *label ? wk_report_printf(&runs->memory, "%s", label) : NULL;
        wk_report_push(&runs->memory, &runs->items, run);
    }
    if (status == WK_OK && found.count == 0)
        status = wk_fail(err, WK_E_NOT_FOUND,
                         "'%s' holds no run: there is no config.yaml in it or below it", path);
    wk_names_free(&found);
    return status == WK_OK ? wk_report_memory_check(&runs->memory, err) : status;
}

static void add_problem(wk_report_run *run, const char *message)
{
    wk_sentences_add(&run->memory, &run->problems, "%s", message);
}

// Every .json file in a folder of the run.
static void read_folder(wk_report_run *run, const char *in)
{
    static const char error_prefix[] = "model-error-";
    char folder[WK_PATH_MAX], path[WK_PATH_MAX];
    wk_error err = {0};
    wk_names names = {0};
    bool there, directory;
    wk_status status = wk_path_join(run->directory, in, folder, &err);
    if (status == WK_OK) status = wk_path_stat(folder, &there, &directory, &err);
    if (status == WK_OK && directory) status = wk_path_list(folder, &names, &err);
    if (status != WK_OK) add_problem(run, err.message);
    for (size_t i = 0; i < names.count; i++) {
        const char *name = names.items[i];
        if (name[0] == '.' || !wk_name_ends_in(name, ".json")) continue;
        bool errors = strncmp(name, error_prefix, sizeof error_prefix - 1) == 0;
        wk_result_kind kind = strcmp(in, "benchmark") == 0 ? WK_RESULT_BENCHMARK
                              : errors                     ? WK_RESULT_MODEL_ERROR
                                                           : WK_RESULT_SCORE;
        status = wk_path_join(folder, name, path, &err);
        if (status == WK_OK) status = wk_run_read_results(run, path, kind, &err);
        if (status != WK_OK) add_problem(run, err.message);
        err = (wk_error){0};
    }
    wk_names_free(&names);
}

// A plug-in is known by its bytes, wherever the file was.
static void name_code(const wk_code_file *file, char value[WK_RUN_TEXT_MAX])
{
    const char *slash = strrchr(file->path, '/');
    if (*file->sha256)
        snprintf(value, WK_RUN_TEXT_MAX, "%.200s (%.12s)", slash ? slash + 1 : file->path,
                 file->sha256);
}

// One spelling for settings that mean the same, so that they can be compared.
static wk_status normalise(wk_report_run *run, wk_error *err)
{
    wk_plugin_record record = {0};
    wk_run_config *c = &run->config;
    if (c->temperature == wk_rule_temperature(c->curriculum_rule, 0)) c->temperature = 0;
    if (!*c->plugin && !*c->curriculum_plugin) return WK_OK;
    WK_TRY(wk_plugin_record_read(run->directory, &record, err));
    if (*c->plugin) name_code(&record.domain_file, c->plugin);
    if (*c->curriculum_plugin) name_code(&record.rule_file, c->curriculum_plugin);
    wk_plugin_record_free(&record);
    return WK_OK;
}

static void read_run(wk_report_run *run)
{
    char path[WK_PATH_MAX];
    wk_saved_run saved = {0};
    const wk_saved_run_options options = {.depth = WK_SAVED_CONFIG};
    wk_status status = wk_saved_run_open(run->directory, &options, &saved, &run->error);
    run->config = saved.config;
    wk_saved_run_close(&saved);
    if (status != WK_OK) return;
    const wk_run_config *c = &run->config;
    run->domain = c->domain;
    run->curriculum = c->curriculum_rule;
    run->exploration = strcmp(c->exploration, "plan2explore") == 0 ? "p2e" : c->exploration;
    run->seed = c->seed;
    wk_error err = {0};
    if (normalise(run, &err) != WK_OK) add_problem(run, err.message);
    read_folder(run, "eval");
    read_folder(run, "benchmark");
    bool there = false, directory;
    err = (wk_error){0};
    status = wk_path_print(path, &err, "%s/metrics.jsonl", run->directory);
    if (status == WK_OK) status = wk_path_stat(path, &there, &directory, &err);
    if (status == WK_OK && there) status = wk_run_read_log(run, path, &err);
    if (status != WK_OK) add_problem(run, err.message);
    (void)wk_report_memory_check(&run->memory, &run->error);
}

static void read_counted(void *context, size_t i, int thread)
{
    wk_runs *runs = context;
    read_run(runs->items.items[i]);
    wk_progress_count(runs->progress, thread);
}

// The step of the last evaluation, plus one; 0 without one.
static uint64_t last_evaluated(const wk_report_run *run)
{
    uint64_t last = 0;
    for (size_t i = 0; i < run->results.count; i++) {
        const wk_result *row = &run->results.items[i];
        if (row->kind == WK_RESULT_SCORE && row->step >= last) last = row->step + 1;
    }
    return last;
}

// Of copies of a run the one with the latest evaluation comes first, then the one that got
// furthest.
static int compare_copies(const wk_report_run *x, const wk_report_run *y)
{
    uint64_t evaluated_x = last_evaluated(x), evaluated_y = last_evaluated(y);
    int order = (evaluated_x < evaluated_y) - (evaluated_x > evaluated_y);
    if (!order) order = (x->last_step < y->last_step) - (x->last_step > y->last_step);
    return order ? order : strcmp(x->directory, y->directory);
}

static int compare_runs(const void *a, const void *b)
{
    const wk_report_run *x = *(wk_report_run *const *)a, *y = *(wk_report_run *const *)b;
    int order = strcmp(x->domain, y->domain);
    if (!order) order = strcmp(x->exploration, y->exploration);
    if (!order) order = strverscmp(x->method, y->method);
    if (!order) order = (x->seed > y->seed) - (x->seed < y->seed);
    return order ? order : compare_copies(x, y);
}

static bool is_copy(const wk_report_run *a, const wk_report_run *b)
{
    bool same = wk_runs_same_group(a, b) && a->seed == b->seed &&
                strcmp(a->method, b->method) == 0 && strcmp(a->curriculum, b->curriculum) == 0;
    for (int f = 0; f < WK_RUN_FIELD_COUNT && same; f++)
        same = !wk_setting_counts(f) || wk_run_config_same(&a->config, &b->config, f);
    return same;
}

// Passes the runs' problems on, and takes out runs that could not be read.
static void drop_unreadable(wk_runs *runs)
{
    size_t kept = 0;
    for (size_t i = 0; i < runs->items.count; i++) {
        wk_report_run *run = runs->items.items[i];
        for (size_t k = 0; k < run->problems.items.count; k++)
            wk_sentences_add(&runs->memory, &runs->problems, "%s", run->problems.items.items[k]);
        if (run->error.status == WK_OK) {
            runs->items.items[kept++] = run;
            continue;
        }
        if (runs->first_fault == WK_OK) runs->first_fault = run->error.status;
        wk_sentences_add(&runs->memory, &runs->problems, "'%s': %s", run->directory,
                         run->error.message);
        wk_arena_reset(&run->memory.arena);
    }
    runs->items.count = kept;
}

// One run counts once, whatever it is copied to.
static void drop_copies(wk_runs *runs)
{
    size_t kept = 0;
    for (size_t i = 0; i < runs->items.count; i++) {
        wk_report_run *run = runs->items.items[i];
        const wk_report_run *first = NULL;
        for (size_t k = 0; k < kept && !first; k++)
            if (is_copy(runs->items.items[k], run)) first = runs->items.items[k];
        if (!first) {
            runs->items.items[kept++] = run;
            continue;
        }
        if (strcmp(first->directory, run->directory) != 0)
            wk_sentences_add(&runs->memory, &runs->problems,
                             "'%s': all its settings and its seed are those of '%s', which is used "
                             "(it has the later evaluations or got further); 'waker report "
                             "LABEL=%s' shows this one too, in a column of its own",
                             run->directory, first->directory, run->directory);
        wk_arena_reset(&run->memory.arena);
    }
    runs->items.count = kept;
}

wk_status wk_runs_read(const wk_runs_config *config, wk_runs *out, wk_error *err)
{
    for (size_t i = 0; i < config->n_paths; i++)
        WK_TRY(find_in(out, config->paths[i], err));
    out->progress = config->progress;
    wk_progress_next(out->progress, "runs", (int64_t)out->items.count);
    wk_pool_run(config->pool, out->items.count, read_counted, out);
    drop_unreadable(out);
    // What the system would not let be read says nothing about the runs.
    bool failed = out->first_fault == WK_E_IO || out->first_fault == WK_E_MEMORY;
    if (out->items.count == 0)
        return wk_fail(
            err, failed ? out->first_fault : WK_E_FORMAT, "none of the runs can be read: %s",
            out->problems.items.count ? out->problems.items.items[0] : "no reason known");
    WK_TRY(wk_runs_name_methods(out, config->by, config->n_by, err));
    qsort(out->items.items, out->items.count, sizeof *out->items.items, compare_runs);
    drop_copies(out);
    // Seeds whose exploration stood still are no fair seeds of their method.
    for (size_t i = 0; i < out->items.count; i++) {
        const wk_report_run *run = out->items.items[i];
        bool acts = strcmp(run->config.acting, "exploration") == 0;
        if (acts && run->idle_lines * 10 > run->exploring_lines)
            wk_sentences_add(&out->memory, &out->remarks,
                             "'%s': the exploration policy learned nothing in %zu of %zu lines of "
                             "its " WK_METRICS_JSONL
                             ", because it was saturated (docs/training.md)",
                             run->directory, run->idle_lines, run->exploring_lines);
    }
    wk_runs_remark_on_settings(out);
    return wk_report_memory_check(&out->memory, err);
}

void wk_runs_free(wk_runs *runs)
{
    for (size_t i = 0; i < runs->items.count; i++)
        wk_arena_reset(&runs->items.items[i]->memory.arena);
    wk_arena_reset(&runs->memory.arena);
    *runs = (wk_runs){0};
}

bool wk_runs_same_group(const wk_report_run *a, const wk_report_run *b)
{
    return strcmp(a->domain, b->domain) == 0 && strcmp(a->exploration, b->exploration) == 0;
}

size_t wk_runs_group_end(const wk_runs *runs, size_t first)
{
    wk_report_run *const *items = runs->items.items;
    size_t end = first + 1;
    while (end < runs->items.count && wk_runs_same_group(items[first], items[end]))
        end++;
    return end;
}
