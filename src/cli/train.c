// waker train: trains in a directory, or resumes the run there; with --each, or in a directory that
// holds one, a population. Signals end it cleanly: the iteration is finished and saved, and the
// exit code says that the same command continues it.
#include "base/file.h"
#include "cli/long_run.h"
#include "cli/run_config.h"
#include "run/disk.h"
#include <pthread.h>
#include <stdio.h>
#include <string.h>

typedef struct train_values {
    wk_run_args run;
    const char *directory;
    wk_arg_texts each;
    double lock_wait;
} train_values;

static const train_values defaults = {.lock_wait = WK_LOCK_WAIT_SECONDS};

#define WK_VALUES train_values
static const wk_arg args[] = {
    WK_OPT_REQUIRED(WK_ARG_PATH, "logdir", directory, "DIR",
                    "directory of the run; a run that is already there is resumed"),
    WK_OPT_TEXTS("each", each, "KEY=VALUES",
                 "train one run for each value (a,b or 0..4), all together, in directories below "
                 "--logdir; repeat it for all combinations of several keys"),
    WK_LOCK_WAIT_ARG_ROW,
    WK_RUN_ARG_ROWS(run),
};

static wk_status train_one(wk_cli *cli, const train_values *v, wk_run_plugins *code, wk_error *err)
{
    static wk_run_config config;
    wk_cli_run around;
    const wk_log log = wk_cli_log(cli);
    const wk_run_settings settings = wk_run_args_settings(&v->run);
    WK_TRY(wk_run_settings_resolve(&settings, v->directory, &log, &config, code, err));
    if (cli->threads_given) config.env_threads = cli->threads;

    wk_cli_run_begin(cli, v->lock_wait, false, &around);
    const wk_train_extras extras = {.code = code};
    WK_TRY(wk_train(&config, v->directory, &extras, &around.control, &around.end, err));
    return wk_cli_run_end(cli, &around, v->directory, err);
}

// Everything about the runs of a population, each array with one element for each of them.
typedef struct population {
    const train_values *given;
    wk_each *each; // NULL: those that population.yaml lists
    wk_population names;
    char paths[WK_POPULATION_MAX][WK_PATH_MAX];
    wk_run_config configs[WK_POPULATION_MAX];
    wk_run_plugins code[WK_POPULATION_MAX];
    wk_train_extras extras[WK_POPULATION_MAX];
    wk_train_member members[WK_POPULATION_MAX];
    // Warnings about settings that all runs have are shown once.
    wk_log to;
    pthread_mutex_t lock; // of what follows
    wk_text seen;
} population;

static void log_once(void *context, wk_log_level level, const char *line)
{
    population *p = context;
    pthread_mutex_lock(&p->lock);
    bool seen = strstr(wk_text_get(&p->seen), line);
    if (!seen) wk_text_printf(&p->seen, "%s\n", line);
    pthread_mutex_unlock(&p->lock);
    if (!seen) wk_log_line(&p->to, level, "%s", line);
}

static wk_status name_new_runs(population *p, wk_error *err)
{
    const char *directory = p->given->directory;
    const wk_run_settings settings = wk_run_args_settings(&p->given->run);
    char config[WK_PATH_MAX];
    bool there = false;
    if (wk_path_join(directory, "config.yaml", config, NULL) == WK_OK)
        WK_TRY(wk_file_exists_in(NULL, config, &there, err));
    if (there)
        return wk_fail(err, WK_E_INPUT,
                       "'%s' is itself a run; choose another logdir for the runs of --each",
                       directory);
    WK_TRY(wk_each_create(p->given->each.items, p->given->each.count, &p->each, err));

    // A key that all runs are given cannot be one that they differ in.
    for (size_t i = 0; i < settings.n_keys; i++) {
        const wk_setting *s = &settings.keys[i];
        if (wk_each_has(p->each, s->key, s->key_length))
            return wk_fail(err, WK_E_INPUT, "--%.*s and --each %.*s: leave one of them out",
                           (int)s->key_length, s->key, (int)s->key_length, s->key);
    }
    p->names.count = wk_each_runs(p->each);
    for (int i = 0; i < p->names.count; i++)
        wk_each_name(p->each, i, p->names.names[i]);
    return WK_OK;
}

static wk_status name_old_runs(population *p, wk_error *err)
{
    const char *directory = p->given->directory;
    const wk_run_settings settings = wk_run_args_settings(&p->given->run);
    WK_TRY(wk_population_read(directory, &p->names, err));
    if (!wk_run_settings_named(&settings)) return WK_OK;
    return wk_fail(err, WK_E_INPUT,
                   "'%s' holds a population of %d run%s; resume all of them with --logdir alone or "
                   "with the --each they were started with, or one of them with --logdir %s/%s",
                   directory, p->names.count, wk_plural((uint64_t)p->names.count), directory,
                   p->names.names[0]);
}

static wk_status resolve_run(population *p, int run, const wk_log *log, wk_error *err)
{
    bool begun;
    const char *name = p->names.names[run];
    char *path = p->paths[run];
    wk_setting keys[WK_ARG_SETTINGS_MAX + WK_EACH_KEYS_MAX];
    wk_run_settings settings = wk_run_args_settings(&p->given->run);
    memcpy(keys, settings.keys, settings.n_keys * sizeof *keys);
    if (p->each) settings.n_keys += (size_t)wk_each_settings(p->each, run, keys + settings.n_keys);
    settings.keys = keys;
    WK_TRY(wk_population_path(p->given->directory, name, path, &begun, err));
    if (!begun && !p->each)
        return wk_fail(err, WK_E_NOT_FOUND,
                       "'%s' is listed in '%s/" WK_POPULATION_FILE
                       "' but is not there (no config.yaml): put it back, remove its line, or "
                       "start it anew with --each",
                       path, p->given->directory);
    wk_status status =
        wk_run_settings_resolve(&settings, path, log, &p->configs[run], &p->code[run], err);
    return status == WK_OK || !err ? status : wk_fail_context(err, "%s", name);
}

// A line for each run that failed. The command's status is that of the first, unless others are to
// be continued.
static wk_status report_failed(const population *p, wk_run_end end, wk_error *err)
{
    int failed = 0;
    wk_status first = WK_OK;
    for (int i = 0; i < p->names.count; i++) {
        const wk_train_member *m = &p->members[i];
        wk_error why = m->error;
        if (m->status == WK_OK) continue;
        if (failed++ == 0) first = m->status;
        wk_utf8_sanitise(why.message, false);
        fprintf(stderr, "waker train: %s failed: %s\n", m->name, why.message);
    }
    if (first == WK_OK || end != WK_RUN_FINISHED) return WK_OK;
    return wk_fail(err, first, "%d of %d runs failed; the others are finished", failed,
                   p->names.count);
}

static wk_status train_all(wk_cli *cli, population *p, wk_error *err)
{
    const char *directory = p->given->directory, *names[WK_POPULATION_MAX];
    const wk_log log = {log_once, p, WK_LOG_INFO};
    wk_cli_run around;
    bool there;

    // Names and settings of all runs.
    WK_TRY(wk_file_exists_in(NULL, directory, &there, err));
    WK_TRY(p->given->each.count > 0 ? name_new_runs(p, err) : name_old_runs(p, err));
    int count = p->names.count;
    for (int i = 0; i < count; i++) {
        WK_TRY(resolve_run(p, i, &log, err));
        if (cli->threads_given) p->configs[i].env_threads = cli->threads;
        names[i] = p->names.names[i];
        p->extras[i] = (wk_train_extras){.code = &p->code[i]};
        p->members[i] = (wk_train_member){.config = &p->configs[i],
                                          .directory = p->paths[i],
                                          .name = names[i],
                                          .extras = &p->extras[i]};
    }
    WK_TRY(wk_run_configs_share(p->configs, names, count, &log, err));
    if (p->each) WK_TRY(wk_population_record(directory, &p->names, err));

    wk_cli_run_begin(cli, p->given->lock_wait, true, &around);
    wk_status status = wk_train_population(p->members, count, &around.control, err);

    // Runs that cannot begin leave nothing behind; where none is there, the list goes too.
    bool begun = false, found;
    for (int i = 0; i < count && !begun; i++)
        begun = wk_file_exists_in(NULL, p->paths[i], &found, NULL) != WK_OK || found;
    if (p->each && !begun) wk_population_retract(directory, !there);
    WK_TRY(status);

    // To be continued where one of them is.
    around.end = WK_RUN_FINISHED;
    for (int i = 0; i < count && around.end == WK_RUN_FINISHED; i++)
        if (p->members[i].status == WK_OK) around.end = p->members[i].end;
    WK_TRY(report_failed(p, around.end, err));
    return wk_cli_run_end(cli, &around, directory, err);
}

static wk_status train_population(wk_cli *cli, const train_values *values, wk_error *err)
{
    static population p; // too large for the stack
    memset(&p, 0, sizeof p);
    p.given = values;
    p.to = wk_cli_log(cli);
    pthread_mutex_init(&p.lock, NULL);
    wk_status status = train_all(cli, &p, err);
    for (int i = 0; i < WK_POPULATION_MAX; i++)
        wk_run_plugins_close(&p.code[i]);
    wk_text_free(&p.seen);
    pthread_mutex_destroy(&p.lock);
    wk_each_destroy(p.each);
    return status;
}

static wk_status run(wk_cli *cli, const void *values, wk_error *err)
{
    const train_values *v = values;
    wk_run_plugins code = {0};
    bool several = v->each.count > 0;
    if (!several) WK_TRY(wk_population_exists(v->directory, &several, err));
    if (several) return train_population(cli, v, err);
    wk_status status = train_one(cli, v, &code, err);
    wk_run_plugins_close(&code);
    return status;
}

const wk_command wk_command_train = {
    .name = "train",
    .summary = "Train a world model without rewards, or resume a run",
    .usage = "train --logdir DIR --configs BLOCK... [--KEY VALUE]...\n"
             "train --logdir DIR --configs BLOCK... --python MODULE:FUNCTION [--KEY VALUE]...\n"
             "train --logdir DIR --from RUN [--KEY VALUE]...\n"
             "train --logdir DIR --configs BLOCK... --each KEY=VALUES... [--KEY VALUE]...\n"
             "train --logdir DIR",
    .details =
        "Blocks of settings apply from left to right over the defaults ('waker config --list'\n"
        "shows them), then single keys. --from starts from the settings of another run instead\n"
        "of the defaults. The same command on the same directory, or --logdir alone, resumes a\n"
        "run; the results are byte-identical to those of a run that was never interrupted. On\n"
        "SIGINT, SIGTERM, SIGUSR1, SIGUSR2, a lost terminal or a closed pipe, the run finishes\n"
        "the iteration, saves and exits with code 75; run the same command to resume. A second\n"
        "SIGINT quits at once.\n\n"
        "--python trains in Gymnasium environments that your function creates, each in a\n"
        "process of its own (docs/plugins.md).\n\n"
        "--each trains a population: its runs share one device and give the same results as\n"
        "alone. Each has a directory of its own, such as DIR/waker-m-seed0, that every command\n"
        "accepts. If a run fails, the others continue, and the exit code is that of the first\n"
        "failure.\n",
    .examples = "train --logdir runs/a --configs terrain-walker waker-m plan2explore paper\n"
                "train --logdir runs/b --configs clean-up dr quick --steps 20000 --seed 1\n"
                "train --logdir runs/mine --configs quick --python my_package.envs:make_env\n"
                "train --logdir runs/cu --configs clean-up plan2explore small "
                "--each curriculum.rule=waker-m,dr --each seed=0..4",
    WK_COMMAND_OPTIONS(args, defaults),
    .resumes = true,
    .run = run,
};
