#include "report/data/runs.h"

#include "curriculum/rules.h"
#include "log/metrics.h"
#include "report/data/methods.h"
#include "run/code.h"
#include "run/disk.h"
#include "run/saved_run.h"
#include "waker/curriculum.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static wk_status add_run(wk_runs *runs, const char *path, wk_error *err)
{
    wk_report_run *run = calloc(1, sizeof *run);
    const char *directory = run ? wk_arena_string(&run->arena, path) : NULL;
    if (directory && wk_array_push(&runs->items, run)) {
        run->directory = directory;
        return WK_OK;
    }
    if (run) wk_arena_reset(&run->arena);
    free(run);
    return wk_fail(err, WK_E_MEMORY, "no memory for the run '%s'", path);
}

// Adds the run that `path` is, or those below it.
static wk_status find_runs(wk_runs *runs, const char *path, wk_error *err)
{
    wk_names found = {0};
    wk_status status = wk_run_list(path, &found, err);
    for (size_t i = 0; status == WK_OK && i < found.count; i++)
        status = add_run(runs, found.items[i], err);
    wk_names_free(&found);
    return status;
}

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

static wk_status give_label(wk_runs *runs, size_t first, const char *label, wk_error *err)
{
    for (size_t i = first; i < runs->items.count && *label; i++) {
        wk_report_run *run = runs->items.items[i];
        run->label = wk_arena_string(&run->arena, label);
        if (!run->label) return wk_fail(err, WK_E_MEMORY, "no memory for the label '%s'", label);
    }
    return WK_OK;
}

// Among the runs of a population, that a shell's * gives too.
static bool is_population_file(const char *path)
{
    const char *slash = strrchr(path, '/');
    return strcmp(slash ? slash + 1 : path, WK_POPULATION_FILE) == 0;
}

static wk_status find_in(wk_runs *runs, const char *path, wk_error *err)
{
    size_t before = runs->items.count;
    char label[WK_METHOD_NAME_MAX];
    bool there, directory;
    WK_TRY(find_label(&path, label, err));
    WK_TRY(wk_path_stat(path, &there, &directory, err));
    if (!there) return wk_fail(err, WK_E_NOT_FOUND, "'%s' does not exist", path);
    if (!directory && is_population_file(path)) return WK_OK;
    if (!directory)
        return wk_fail(err, WK_E_INPUT, "'%s' is not a directory; give runs or directories of runs",
                       path);
    WK_TRY(find_runs(runs, path, err));
    if (runs->items.count == before)
        return wk_fail(err, WK_E_NOT_FOUND,
                       "'%s' holds no run: there is no config.yaml in it or below it", path);
    return give_label(runs, before, label, err);
}

// A problem that is kept; without memory for it the run as a whole fails.
static void add_problem(wk_report_run *run, const char *message)
{
    const char *copy = wk_arena_string(&run->arena, message);
    if (!copy || !wk_array_push(&run->problems, copy))
        wk_fail(&run->error, WK_E_MEMORY, "no memory for what is wrong with '%s'", run->directory);
}

typedef wk_status read_fn(wk_report_run *run, const char *path, wk_error *err);

static void read_or_note(wk_report_run *run, const char *path, read_fn *read)
{
    wk_error err = {0};
    if (read(run, path, &err) != WK_OK) add_problem(run, err.message);
}

static bool ends_in(const char *name, const char *ending)
{
    size_t length = strlen(name), tail = strlen(ending);
    return length > tail && strcmp(name + length - tail, ending) == 0;
}

static read_fn *reader_of(const char *folder, const char *name)
{
    static const char error_prefix[] = "model-error-";
    if (strcmp(folder, "benchmark") == 0) return wk_run_read_benchmark;
    bool errors = strncmp(name, error_prefix, sizeof error_prefix - 1) == 0;
    return errors ? wk_run_read_errors : wk_run_read_scores;
}

// Every .json file in a folder of the run.
static void read_results(wk_report_run *run, const char *in)
{
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
        if (name[0] == '.' || !ends_in(name, ".json")) continue;
        if (wk_path_join(folder, name, path, &err) == WK_OK)
            read_or_note(run, path, reader_of(in, name));
        else
            add_problem(run, err.message);
    }
    wk_names_free(&names);
}

// Runs of older programs kept the name of something built in next to a plug-in's file: they are
// known by the file's name, without folder and ending.
static const char *plugin_name(wk_report_run *run, const char *path)
{
    const char *slash = strrchr(path, '/');
    char *name = wk_arena_string(&run->arena, slash ? slash + 1 : path);
    if (name && ends_in(name, ".so")) name[strlen(name) - 3] = 0;
    return name;
}

static wk_status identify(wk_report_run *run, wk_error *err)
{
    const wk_run_config *c = &run->config;
    const wk_domain *domain;
    const wk_curriculum_rule *rule;
    bool nameless = *c->plugin && wk_domain_find(c->domain, &domain, NULL) == WK_OK;
    bool ruleless =
        *c->curriculum_plugin && wk_curriculum_rule_find(c->curriculum_rule, &rule, NULL) == WK_OK;
    run->domain = nameless ? plugin_name(run, c->plugin) : c->domain;
    run->curriculum = ruleless ? plugin_name(run, c->curriculum_plugin) : c->curriculum_rule;
    run->exploration = strcmp(c->exploration, "plan2explore") == 0 ? "p2e" : c->exploration;
    run->seed = c->seed;
    if (run->domain && run->curriculum) return WK_OK;
    return wk_fail(err, WK_E_MEMORY, "no memory for the names of '%s'", run->directory);
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
    if (identify(run, &run->error) != WK_OK) return;
    wk_error err = {0};
    if (normalise(run, &err) != WK_OK) add_problem(run, err.message);
    read_results(run, "eval");
    read_results(run, "benchmark");
    bool there, directory;
    if (wk_path_print(path, &err, "%s/metrics.jsonl", run->directory) != WK_OK ||
        wk_path_stat(path, &there, &directory, &err) != WK_OK)
        add_problem(run, err.message);
    else if (there)
        read_or_note(run, path, wk_run_read_choices);
}

static void read_counted(void *context, size_t i, int thread)
{
    wk_runs *runs = context;
    read_run(runs->items.items[i]);
    wk_progress_count(runs->progress, thread);
}

static void free_run(wk_report_run *run)
{
    wk_array_free(&run->scores);
    wk_array_free(&run->errors);
    wk_array_free(&run->cvar_curves);
    wk_array_free(&run->choices);
    wk_array_free(&run->problems);
    wk_arena_reset(&run->arena);
    free(run);
}

// The step of the last evaluation; without one 0.
static uint64_t last_evaluated(const wk_report_run *run)
{
    uint64_t last = 0;
    for (size_t i = 0; i < run->scores.count; i++)
        if (run->scores.items[i].step > last) last = run->scores.items[i].step;
    return last;
}

static uint64_t last_logged(const wk_report_run *run)
{
    return run->choices.count ? run->choices.items[run->choices.count - 1].step : 0;
}

// Of copies of a run the one with the latest evaluation comes first, then the one that got
// furthest.
static int compare_copies(const wk_report_run *x, const wk_report_run *y)
{
    bool scored_x = x->scores.count > 0, scored_y = y->scores.count > 0;
    uint64_t evaluated_x = last_evaluated(x), evaluated_y = last_evaluated(y);
    uint64_t logged_x = last_logged(x), logged_y = last_logged(y);
    int order = scored_y - scored_x;
    if (!order) order = (evaluated_x < evaluated_y) - (evaluated_x > evaluated_y);
    if (!order) order = (logged_x < logged_y) - (logged_x > logged_y);
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

// The run before number `end` that has the same settings and seed, or NULL.
static const wk_report_run *original(const wk_runs *runs, size_t end, const wk_report_run *run)
{
    for (size_t i = 0; i < end; i++)
        if (is_copy(runs->items.items[i], run)) return runs->items.items[i];
    return NULL;
}

wk_status wk_runs_leave_out(wk_runs *runs, wk_error *err, const char *format, ...)
{
    char message[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    const char *copy = wk_arena_string(&runs->arena, message);
    if (copy && wk_array_push(&runs->problems, copy)) return WK_OK;
    return wk_fail(err, WK_E_MEMORY, "no memory for a list of problems");
}

// Passes the runs' problems on, and takes out runs that could not be read.
static wk_status drop_unreadable(wk_runs *runs, wk_error *err)
{
    size_t kept = 0;
    wk_status status = WK_OK;
    for (size_t i = 0; i < runs->items.count; i++) {
        wk_report_run *run = runs->items.items[i];
        for (size_t k = 0; k < run->problems.count && status == WK_OK; k++)
            status = wk_runs_leave_out(runs, err, "%s", run->problems.items[k]);
        if (run->error.status == WK_OK) {
            runs->items.items[kept++] = run;
            continue;
        }
        if (runs->first_fault == WK_OK) runs->first_fault = run->error.status;
        if (status == WK_OK)
            status = wk_runs_leave_out(runs, err, "'%s': %s", run->directory, run->error.message);
        free_run(run);
    }
    runs->items.count = kept;
    return status;
}

// One run counts once, whatever it is copied to.
static wk_status drop_copies(wk_runs *runs, wk_error *err)
{
    size_t kept = 0;
    wk_status status = WK_OK;
    for (size_t i = 0; i < runs->items.count; i++) {
        wk_report_run *run = runs->items.items[i];
        const wk_report_run *first = original(runs, kept, run);
        if (!first) {
            runs->items.items[kept++] = run;
            continue;
        }
        if (status == WK_OK && strcmp(first->directory, run->directory) != 0)
            status = wk_runs_leave_out(runs, err,
                                       "'%s': all its settings and its seed are those of "
                                       "'%s', which is used (it has the later evaluations or got "
                                       "further); 'waker report LABEL=%s' shows this one too, in a "
                                       "column of its own",
                                       run->directory, first->directory, run->directory);
        free_run(run);
    }
    runs->items.count = kept;
    return status;
}

// Seeds whose exploration stood still are no fair seeds of their method.
static wk_status remark_on_exploration(wk_runs *runs, wk_error *err)
{
    for (size_t i = 0; i < runs->items.count; i++) {
        const wk_report_run *run = runs->items.items[i];
        bool acts = strcmp(run->config.acting, "exploration") == 0;
        if (!acts || run->idle_lines * 10 <= run->exploring_lines) continue;
        WK_TRY(wk_sentences_add(&runs->remarks, err,
                                "'%s': the exploration policy learned nothing in %zu of %zu lines "
                                "of its " WK_METRICS_JSONL ", because it was saturated "
                                "(docs/not-learning.md)",
                                run->directory, run->idle_lines, run->exploring_lines));
    }
    return WK_OK;
}

wk_status wk_runs_read(const wk_runs_config *config, wk_runs *out, wk_error *err)
{
    for (size_t i = 0; i < config->n_paths; i++)
        WK_TRY(find_in(out, config->paths[i], err));
    out->progress = config->progress;
    wk_progress_next(out->progress, "runs", (int64_t)out->items.count);
    wk_pool_run(config->pool, out->items.count, read_counted, out);
    WK_TRY(drop_unreadable(out, err));
    // What the system would not let be read says nothing about the runs.
    bool failed = out->first_fault == WK_E_IO || out->first_fault == WK_E_MEMORY;
    if (out->items.count == 0)
        return wk_fail(err, failed ? out->first_fault : WK_E_FORMAT,
                       "none of the runs can be read: %s",
                       out->problems.count ? out->problems.items[0] : "no reason known");
    WK_TRY(wk_runs_name_methods(out, config->by, config->n_by, err));
    qsort(out->items.items, out->items.count, sizeof *out->items.items, compare_runs);
    WK_TRY(drop_copies(out, err));
    WK_TRY(remark_on_exploration(out, err));
    return wk_runs_compare_settings(out, err);
}

void wk_runs_free(wk_runs *runs)
{
    for (size_t i = 0; i < runs->items.count; i++)
        free_run(runs->items.items[i]);
    wk_array_free(&runs->items);
    wk_array_free(&runs->problems);
    wk_sentences_free(&runs->remarks);
    wk_arena_reset(&runs->arena);
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
