#include "cli/train_population.h"

#include "base/file.h"
#include "cli/long_run.h"
#include "run/disk.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Warnings about settings that all runs have are shown once.
typedef struct once {
    wk_log to;
    pthread_mutex_t lock; // of what follows
    wk_text seen;
} once;

// Everything about the runs, each array with one element for each of them.
typedef struct population {
    const wk_train_values *given;
    wk_each *each; // NULL: those that population.yaml lists
    wk_population names;
    char paths[WK_POPULATION_MAX][WK_PATH_MAX];
    wk_run_config configs[WK_POPULATION_MAX];
    wk_run_plugins code[WK_POPULATION_MAX];
    wk_train_extras extras[WK_POPULATION_MAX];
    wk_train_member members[WK_POPULATION_MAX];
    once shown;
} population;

wk_status wk_cli_is_population(const wk_train_values *values, bool *out, wk_error *err)
{
    *out = true;
    return values->each.count > 0 ? WK_OK : wk_population_exists(values->directory, out, err);
}

// A key that all runs are given cannot be one that they differ in.
static wk_status check_keys(const population *p, wk_error *err)
{
    const wk_arg_settings *settings = &p->given->run.settings;
    for (size_t i = 0; i < settings->count; i++) {
        const wk_arg_setting *s = &settings->items[i];
        if (wk_each_has(p->each, s->key, s->key_length))
            return wk_fail(err, WK_E_INPUT, "--%.*s and --each %.*s: leave one of them out",
                           (int)s->key_length, s->key, (int)s->key_length, s->key);
    }
    return WK_OK;
}

static wk_status name_new_runs(population *p, wk_error *err)
{
    const char *directory = p->given->directory;
    char config[WK_PATH_MAX];
    bool there = false;
    if (wk_path_join(directory, "config.yaml", config, NULL) == WK_OK)
        WK_TRY(wk_file_exists_in(NULL, config, &there, err));
    if (there)
        return wk_fail(err, WK_E_INPUT,
                       "'%s' is itself a run; choose another logdir for the runs of --each",
                       directory);
    WK_TRY(wk_each_create(p->given->each.items, p->given->each.count, &p->each, err));
    WK_TRY(check_keys(p, err));
    p->names.count = wk_each_runs(p->each);
    for (int i = 0; i < p->names.count; i++)
        wk_each_name(p->each, i, p->names.names[i]);
    return WK_OK;
}

static wk_status name_old_runs(population *p, wk_error *err)
{
    const char *directory = p->given->directory;
    wk_setting keys[WK_RUN_SETTINGS_MAX];
    const wk_run_settings settings = wk_run_args_settings(&p->given->run, keys);
    WK_TRY(wk_population_read(directory, &p->names, err));
    if (!wk_run_settings_named(&settings)) return WK_OK;
    return wk_fail(err, WK_E_INPUT,
                   "'%s' holds a population of %d run%s; resume all of them with --logdir alone or "
                   "with the --each they were started with, or one of them with --logdir %s/%s",
                   directory, p->names.count, wk_plural((uint64_t)p->names.count), directory,
                   p->names.names[0]);
}

static wk_status find_path(population *p, int run, wk_error *err)
{
    bool begun;
    WK_TRY(
        wk_population_path(p->given->directory, p->names.names[run], p->paths[run], &begun, err));
    if (begun || p->each) return WK_OK;
    return wk_fail(err, WK_E_NOT_FOUND,
                   "'%s' is listed in '%s/" WK_POPULATION_FILE
                   "' but is not there (no config.yaml): put it back, remove its line, or start it "
                   "anew with --each",
                   p->paths[run], p->given->directory);
}

static void log_once(void *context, wk_log_level level, const char *line)
{
    once *o = context;
    pthread_mutex_lock(&o->lock);
    bool seen = strstr(wk_text_get(&o->seen), line);
    if (!seen) wk_text_printf(&o->seen, "%s\n", line);
    pthread_mutex_unlock(&o->lock);
    if (!seen) wk_log_line(&o->to, level, "%s", line);
}

static wk_status resolve_run(population *p, int run, const wk_log *log, wk_error *err)
{
    wk_setting keys[WK_RUN_SETTINGS_MAX + WK_EACH_KEYS_MAX];
    wk_run_settings settings = wk_run_args_settings(&p->given->run, keys);
    if (p->each) settings.n_keys += (size_t)wk_each_settings(p->each, run, keys + settings.n_keys);
    WK_TRY(find_path(p, run, err));
    wk_status status = wk_run_settings_resolve(&settings, p->paths[run], log, &p->configs[run],
                                               &p->code[run], err);
    return status == WK_OK || !err ? status : wk_fail_context(err, "%s", p->names.names[run]);
}

static wk_status resolve(wk_cli *cli, population *p, wk_error *err)
{
    const char *names[WK_POPULATION_MAX];
    const wk_log log = {log_once, &p->shown, WK_LOG_INFO};
    wk_status status = p->given->each.count > 0 ? name_new_runs(p, err) : name_old_runs(p, err);
    for (int i = 0; status == WK_OK && i < p->names.count; i++) {
        status = resolve_run(p, i, &log, err);
        if (cli->threads_given) p->configs[i].env_threads = cli->threads;
        names[i] = p->names.names[i];
    }
    if (status != WK_OK) return status;
    return wk_run_configs_share(p->configs, names, p->names.count, &log, err);
}

static wk_status train_all(population *p, const wk_run_control *control, wk_error *err)
{
    for (int i = 0; i < p->names.count; i++) {
        p->extras[i] = (wk_train_extras){.code = &p->code[i]};
        p->members[i] = (wk_train_member){.config = &p->configs[i],
                                          .directory = p->paths[i],
                                          .name = p->names.names[i],
                                          .extras = &p->extras[i]};
    }
    return wk_train_population(p->members, p->names.count, control, err);
}

// Whether one of them is there, or may be: what cannot begin leaves nothing behind.
static bool has_begun(const population *p)
{
    bool there;
    for (int i = 0; i < p->names.count; i++)
        if (wk_file_exists_in(NULL, p->paths[i], &there, NULL) != WK_OK || there) return true;
    return false;
}

// How all of them ended: to be continued where one is.
static wk_run_end end_of(const population *p)
{
    for (int i = 0; i < p->names.count; i++)
        if (p->members[i].status == WK_OK && p->members[i].end != WK_RUN_FINISHED)
            return p->members[i].end;
    return WK_RUN_FINISHED;
}

// A line for each run that failed. What becomes of the command is the first one's status,
// unless others are to be continued.
static wk_status report_failed(population *p, wk_error *err)
{
    int failed = 0;
    const wk_train_member *first = NULL;
    for (int i = 0; i < p->names.count; i++) {
        wk_train_member *m = &p->members[i];
        if (m->status == WK_OK) continue;
        if (failed++ == 0) first = m;
        wk_utf8_sanitise(m->error.message, false);
        fprintf(stderr, "waker train: %s failed: %s\n", m->name, m->error.message);
    }
    if (!first || end_of(p) != WK_RUN_FINISHED) return WK_OK;
    return wk_fail(err, first->status, "%d of %d runs failed; the others are finished", failed,
                   p->names.count);
}

static wk_status train(wk_cli *cli, population *p, wk_error *err)
{
    wk_cli_run around;
    bool there;
    WK_TRY(wk_file_exists_in(NULL, p->given->directory, &there, err));
    WK_TRY(resolve(cli, p, err));
    if (p->each) WK_TRY(wk_population_record(p->given->directory, &p->names, err));
    wk_cli_run_begin_population(cli, p->given->lock_wait, &around);
    wk_status status = train_all(p, &around.control, err);
    if (p->each && !has_begun(p)) wk_population_retract(p->given->directory, !there);
    WK_TRY(status);
    WK_TRY(report_failed(p, err));
    around.end = end_of(p);
    return wk_cli_run_end(cli, &around, p->given->directory, err);
}

wk_status wk_cli_train_population(wk_cli *cli, const wk_train_values *values, wk_error *err)
{
    population *p = calloc(1, sizeof *p);
    if (!p) return wk_fail(err, WK_E_MEMORY, "no memory for the settings of the runs");
    p->given = values;
    p->shown.to = wk_cli_log(cli);
    pthread_mutex_init(&p->shown.lock, NULL);
    wk_status status = train(cli, p, err);
    for (int i = 0; i < WK_POPULATION_MAX; i++)
        wk_run_plugins_close(&p->code[i]);
    wk_text_free(&p->shown.seen);
    pthread_mutex_destroy(&p->shown.lock);
    wk_each_destroy(p->each);
    free(p);
    return status;
}
