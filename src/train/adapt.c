#include "train/adapt.h"

#include "base/file.h"
#include "base/machine.h"
#include "config/parts.h"
#include "config/yaml.h"
#include "run/disk.h"
#include "run/saved_run.h"
#include "train/frames.h"
#include "train/metrics.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char SETTINGS[] = "adapt.yaml", WEIGHTS[] = "weights.safetensors",
                  CHECKPOINT[] = "checkpoint.safetensors";

// As adapt.yaml has it.
typedef struct adapt_settings {
    uint64_t snapshot; // its step
    char tasks[WK_RUN_TEXT_MAX];
    uint64_t seed;
    char data[16]; // "snapshot": what had been collected by then; "all"
    uint64_t updates;
    uint64_t rows;                                // of the episodes it learns from
    wk_data_cutoff cutoff;                        // which episodes
    char rewards[WK_TASKS_MAX * WK_SHA256_CHARS]; // hashes of the code of tasks added later, or ""
} adapt_settings;

typedef struct adapt {
    wk_long_run loop; // counts updates
    const wk_adapt_config *config;
    wk_saved_run run;
    char folder[WK_PATH_MAX]; // RUN/adapt/step-...
    adapt_settings settings;
    wk_replay *replay;
    wk_batch_buffer buffer;
    wk_reward_table added[WK_TASKS_MAX]; // of tasks that were added to the run later
    wk_metrics_mark mark;                // of the checkpoint
    wk_task_metrics last;
    wk_nonfinite_updates nonfinite;
    uint64_t done;             // updates
    uint64_t done_in_weights;  // those that weights.safetensors has
    double sampling, learning; // seconds
    bool unfinished;           // there is something left to do
    bool no_data;              // none of its episodes are left
} adapt;

// The lines of adapt.yaml that are one number or one text; the episodes and the rewards follow.
#define NUMBER(member) #member, offsetof(adapt_settings, member), 0
#define TEXT(member) #member, offsetof(adapt_settings, member), sizeof((adapt_settings *)0)->member
static const struct {
    const char *key;
    size_t offset, room; // of a text; 0: it is a number
} lines[] = {{NUMBER(snapshot)}, {TEXT(tasks)},     {NUMBER(seed)},
             {TEXT(data)},       {NUMBER(updates)}, {NUMBER(rows)}};
enum { LINES = sizeof lines / sizeof *lines };

static wk_status write_settings(const adapt_settings *settings, const wk_dir *dir, wk_error *err)
{
    wk_text text = {0};
    for (int i = 0; i < LINES; i++) {
        const void *at = (const char *)settings + lines[i].offset;
        if (lines[i].room > 0)
            wk_text_printf(&text, "%s: %s\n", lines[i].key, (const char *)at);
        else
            wk_text_printf(&text, "%s: %" PRIu64 "\n", lines[i].key, *(const uint64_t *)at);
    }
    wk_text_puts(&text, "episodes: ");
    wk_data_cutoff_print(&settings->cutoff, &text);
    wk_text_puts(&text, "\n");
    if (*settings->rewards) wk_text_printf(&text, "rewards: %s\n", settings->rewards);
    return wk_file_write_text(dir, SETTINGS, &text, err);
}

static wk_status fill(const wk_yaml *yaml, adapt_settings *out, wk_error *err)
{
    const char *episodes = NULL;
    int found = 0;
    for (size_t k = 0; k < yaml->values.count; k++) {
        const char *key = yaml->values.items[k].key, *text = yaml->values.items[k].text;
        if (strcmp(key, "episodes") == 0) episodes = text;
        if (strcmp(key, "rewards") == 0) snprintf(out->rewards, sizeof out->rewards, "%s", text);
        for (int i = 0; i < LINES; i++) {
            char *to = (char *)out + lines[i].offset;
            if (strcmp(key, lines[i].key) != 0) continue;
            found++;
            if (lines[i].room > 0)
                snprintf(to, lines[i].room, "%s", text);
            else
                *(uint64_t *)(void *)to = strtoull(text, NULL, 10);
        }
    }
    if (found == LINES && episodes) return wk_data_cutoff_parse(episodes, &out->cutoff, err);
    return wk_fail(err, WK_E_FORMAT, "'%s' is incomplete; start over with --restart", yaml->name);
}

static wk_status read_settings(const wk_dir *dir, adapt_settings *out, wk_error *err)
{
    char *bytes;
    size_t size;
    WK_TRY(wk_file_read_in(dir, SETTINGS, 1 << 20, &bytes, &size, err));
    wk_yaml yaml = {0};
    *out = (adapt_settings){0};
    wk_status status = wk_yaml_parse(SETTINGS, bytes, size, false, &yaml, err);
    if (status == WK_OK) status = fill(&yaml, out, err);
    wk_yaml_free(&yaml);
    free(bytes);
    return status;
}

// Everything that shapes the result must be equal except updates, rows and cutoff, which follow
// from the data.
static wk_status check_resumable(const adapt_settings *old, const adapt_settings *now,
                                 wk_error *err)
{
    if (strcmp(old->tasks, now->tasks) != 0)
        return wk_fail(err, WK_E_INPUT, "tasks is %s there and %s now", old->tasks, now->tasks);
    if (strcmp(old->rewards, now->rewards) != 0)
        return wk_fail(err, WK_E_INPUT, "its rewards were computed by other code since");
    if (old->seed != now->seed)
        return wk_fail(err, WK_E_INPUT, "seed is %" PRIu64 " there and %" PRIu64 " now", old->seed,
                       now->seed);
    if (strcmp(old->data, now->data) != 0)
        return wk_fail(err, WK_E_INPUT, "it was started %s --all-data",
                       strcmp(old->data, "all") == 0 ? "with" : "without");
    return WK_OK;
}

// An interval in agent steps as one in updates.
static uint64_t in_updates(const adapt *a, int64_t steps)
{
    int64_t updates = steps / a->run.weights.config.train_every;
    return updates > 0 ? (uint64_t)updates : 1;
}

// The run, what is asked of it, and the folder for that.
static wk_status open_run(adapt *a, wk_error *err)
{
    const wk_adapt_config *c = a->config;
    adapt_settings *s = &a->settings;
    WK_TRY(wk_weights_check_name(c->name, err));
    if (strcmp(c->tasks, "none") == 0)
        return wk_fail(err, WK_E_INPUT, "name the tasks to adapt to, or all");
    const wk_weights_choice choice = {.kind = WK_WEIGHTS_SNAPSHOT,
                                      .step = c->snapshot,
                                      .tasks = c->tasks,
                                      .adapt = true,
                                      .seed = c->seed,
                                      .device = c->device,
                                      .threads = c->threads};
    const wk_saved_run_options options = {.weights = &choice};
    WK_TRY(wk_saved_run_open(c->directory, &options, &a->run, err));
    const wk_saved_weights *w = &a->run.weights;
    s->snapshot = w->step;
    s->seed = w->config.seed;
    snprintf(s->data, sizeof s->data, "%s", c->all_data ? "all" : "snapshot");
    s->updates = c->updates > 0 ? (uint64_t)c->updates : in_updates(a, (int64_t)w->step);
    WK_TRY(wk_run_config_task_names(&w->config, a->run.world.domain, s->tasks, err));

    // Which code computed the rewards of tasks that were added to the run later.
    size_t used = 0;
    for (int k = 0; k < w->n_tasks; k++) {
        int added = w->tasks[k] - a->run.replay_domain->n_tasks;
        if (added < 0) continue;
        used += (size_t)snprintf(s->rewards + used, sizeof s->rewards - used, "%s%s",
                                 used ? "," : "", a->run.rewards.items[added].label.file.sha256);
    }

    const wk_weights_source source = {.kind = WK_WEIGHTS_ADAPTED, .name = c->name};
    wk_weights_path(c->directory, source, w->step, a->folder);
    *strrchr(a->folder, '/') = 0;
    return wk_long_run_open(&a->loop, c->directory, a->folder, err);
}

// What the labels of a checkpoint count; the name of the event file is another.
static const struct {
    const char *name;
    size_t offset;
} labels[] = {{"updates", offsetof(adapt, done)},
              {"weights", offsetof(adapt, done_in_weights)},
              {"metrics", offsetof(adapt, mark.jsonl)},
              {"events", offsetof(adapt, mark.events)}};
enum { LABELS = sizeof labels / sizeof *labels };

static wk_status save(void *context, wk_error *err)
{
    adapt *a = context;
    char texts[LABELS][24];
    wk_weights_label all[LABELS + 1] = {[LABELS] = {"events_file", a->mark.events_file}};
    for (int i = 0; i < LABELS; i++) {
        const void *number = (const char *)a + labels[i].offset;
        snprintf(texts[i], sizeof texts[i], "%" PRIu64, *(const uint64_t *)number);
        all[i] = (wk_weights_label){labels[i].name, texts[i]};
    }
    return wk_learner_save(a->run.weights.learner, a->loop.dir, CHECKPOINT, all, LABELS + 1, err);
}

// Continues from the checkpoint, if there is one; its labels say how far it is.
static wk_status resume(adapt *a, wk_error *err)
{
    bool there;
    wk_safetensors *file;
    WK_TRY(wk_file_exists_in(a->loop.dir, CHECKPOINT, &there, err));
    if (!there) return WK_OK;
    WK_TRY(wk_safetensors_open_in(a->loop.dir, CHECKPOINT, &file, err));
    const char *events = wk_safetensors_metadata(file, "events_file");
    bool whole = events != NULL;
    snprintf(a->mark.events_file, sizeof a->mark.events_file, "%s", events ? events : "");
    for (int i = 0; i < LABELS; i++) {
        const char *text = wk_safetensors_metadata(file, labels[i].name);
        void *to = (char *)a + labels[i].offset;
        whole = whole && text;
        *(uint64_t *)to = text ? strtoull(text, NULL, 10) : 0;
    }
    wk_safetensors_close(file);
    if (!whole)
        return wk_fail(err, WK_E_FORMAT,
                       "'%s/%s' is not a checkpoint of an adaptation; start over with --restart",
                       a->folder, CHECKPOINT);
    WK_TRY(wk_learner_restore(a->run.weights.learner, a->loop.dir, CHECKPOINT, err));
    wk_log_line(&a->loop.control->log, WK_LOG_INFO, "resuming from update %" PRIu64, a->done);
    if (a->done <= a->settings.updates) return WK_OK;
    return wk_fail(err, WK_E_INPUT,
                   "'%s' has %" PRIu64 " updates already, more than the %" PRIu64
                   " asked for; ask for more with --updates, or start over with --restart",
                   a->folder, a->done, a->settings.updates);
}

// An existing adaptation resumes only with the same settings. With `known`, its data cutoff is
// reused.
static wk_status resume_settings(adapt *a, bool *known, wk_error *err)
{
    WK_TRY(wk_file_exists_in(a->loop.dir, SETTINGS, known, err));

    // What an adaptation writes comes after adapt.yaml: without that, it is not one's own.
    const char *const names[] = {CHECKPOINT, WEIGHTS, WK_METRICS_JSONL};
    for (size_t i = 0; !*known && i < sizeof names / sizeof *names; i++) {
        wk_entry entry;
        uint64_t size;
        WK_TRY(wk_dir_stat(a->loop.dir, names[i], &entry, &size, err));
        if (entry != WK_ENTRY_NONE && size > 0)
            return wk_fail(err, WK_E_INPUT,
                           "'%s' has '%s' but no %s, and a new adaptation would overwrite it; put "
                           "the file back, or start over with --restart",
                           a->folder, names[i], SETTINGS);
    }
    if (!*known) return WK_OK;
    adapt_settings before;
    WK_TRY(read_settings(a->loop.dir, &before, err));
    wk_status status = check_resumable(&before, &a->settings, err);
    if (status != WK_OK) {
        wk_fail_context(err,
                        "'%s' holds another adaptation (--restart replaces it, --name NAME creates "
                        "one beside it)",
                        a->folder);
        return status;
    }
    if (a->config->updates == 0) a->settings.updates = before.updates;
    a->settings.cutoff = before.cutoff;
    a->settings.rows = before.rows;
    return WK_OK;
}

// The episodes to learn from: those of the adaptation's cutoff, which is chosen once.
static wk_status open_data(adapt *a, bool known, wk_error *err)
{
    wk_saved_weights *w = &a->run.weights;
    const char *directory = a->config->directory;
    WK_TRY(wk_saved_run_open_replay(&a->run, w->pool, &a->replay, err));
    wk_data_cutoff now = wk_data_cutoff_now(a->replay), *wanted = &a->settings.cutoff;
    if (!known && a->config->all_data) *wanted = now;
    if (!known && !a->config->all_data) WK_TRY(wk_weights_data_cutoff(w->path, wanted, err));
    if (now.begun < wanted->begun)
        return wk_fail(
            err, WK_E_INPUT,
            "the newest checkpoint of '%s' is older than its snapshot of agent step %" PRIu64
            ": wait for the next checkpoint",
            directory, w->step);

    wk_data_cutoff_apply(a->replay, &now);
    bool later = wk_replay_sampleable(a->replay, w->config.length) > 0;
    wk_data_cutoff_apply(a->replay, wanted);
    uint64_t rows = wk_replay_get_stats(a->replay).rows;
    if (known && rows != a->settings.rows)
        return wk_fail(err, WK_E_INPUT,
                       "the run in '%s' has dropped episodes that this adaptation was started "
                       "with; start over with --restart",
                       directory);
    a->settings.rows = rows;
    bool enough = wk_replay_sampleable(a->replay, w->config.length) > 0;
    a->no_data = !enough && later;
    if (!enough && !later)
        return wk_fail(err, WK_E_INPUT,
                       "'%s' has no finished episode of at least %d agent steps yet; resume the "
                       "run ('waker train --logdir %s --steps N') and adapt a later snapshot",
                       directory, w->config.length, directory);
    if (!enough)
        return wk_fail(err, WK_E_INPUT,
                       "'%s' no longer has any episode that it had collected by agent step %" PRIu64
                       " with at least %d agent steps; take a later snapshot, or --all-data for "
                       "what the run has now",
                       directory, w->step, w->config.length);

    // Rewards of tasks that were added to the run later.
    const wk_domain *domain = a->run.world.domain;
    WK_TRY(wk_batch_buffer_create(&w->config, domain, w->backend, &a->buffer, err));
    for (int k = 0; k < w->n_tasks; k++) {
        int added = w->tasks[k] - a->run.replay_domain->n_tasks;
        if (added < 0) continue;
        const char *task = domain->tasks[w->tasks[k]].name;
        WK_TRY(wk_reward_table_read(directory, task, &a->added[added], err));
        WK_TRY(wk_run_reward_covers(directory, &a->added[added], a->replay, err));
        a->buffer.added[added] = &a->added[added];
    }
    return WK_OK;
}

static wk_status open_parts(adapt *a, wk_error *err)
{
    bool known = false, weights;
    WK_TRY(open_run(a, err));
    if (!a->config->restart) {
        WK_TRY(resume_settings(a, &known, err));
        WK_TRY(resume(a, err));
    }
    // The data is not needed to find out that nothing is left to do.
    WK_TRY(wk_file_exists_in(a->loop.dir, WEIGHTS, &weights, err));
    a->unfinished = a->done < a->settings.updates || a->done_in_weights != a->done || !weights;
    if (!a->unfinished) return WK_OK;
    WK_TRY(open_data(a, known, err));
    int64_t save_every = a->run.config.checkpoint_every_steps;
    a->loop.config = &a->run.config;
    a->loop.total = (int64_t)a->settings.updates;
    a->loop.save_every = save_every > 0 ? (int64_t)in_updates(a, save_every) : 0;
    wk_long_run_start(&a->loop);
    return WK_OK;
}

// Makes the folder that of this adaptation. What a restart replaces is there until then; metrics
// are emptied when they are opened without a mark.
static wk_status open_files(adapt *a, wk_error *err)
{
    WK_TRY(wk_lock_check(&a->loop.lock, err));
    if (a->config->restart) {
        WK_TRY(wk_dir_remove(a->loop.dir, CHECKPOINT, err));
        WK_TRY(wk_dir_remove(a->loop.dir, WEIGHTS, err));
    }
    WK_TRY(wk_leftovers_remove(a->loop.dir, err));
    WK_TRY(write_settings(&a->settings, a->loop.dir, err));
    return wk_long_run_metrics(&a->loop, &a->mark, 1, err); // steps of the logs are updates
}

static void announce(const adapt *a)
{
    const wk_log *log = &a->loop.control->log;
    wk_replay_stats stats = wk_replay_get_stats(a->replay);
    char snapshot[WK_STEPS_TEXT_MAX], data[WK_STEPS_TEXT_MAX];
    wk_steps_text(a->run.weights.step, a->run.world.domain->action_repeat, snapshot);
    wk_steps_text(stats.steps, a->run.world.domain->action_repeat, data);
    wk_log_line(log, WK_LOG_INFO,
                "%s, snapshot of %s, tasks %s, %" PRIu64 " update%s (one for each %.3g agent steps "
                "collected by then), on %s: %s; %" PRIu64 " episode%s, %s of data",
                a->run.world.domain->name, snapshot, a->settings.tasks, a->settings.updates,
                wk_plural(a->settings.updates),
                (double)a->run.weights.step / (double)a->settings.updates,
                a->run.weights.device.name, a->run.weights.device.why, stats.episodes,
                wk_plural(stats.episodes), data);
    uint64_t ended = a->settings.cutoff.begun - a->settings.cutoff.n_running;
    if (stats.episodes < ended)
        wk_log_line(log, WK_LOG_WARN,
                    "%" PRIu64 " of the %" PRIu64
                    " episode%s collected by then %s left the run's replay since",
                    ended - stats.episodes, ended, wk_plural(ended),
                    ended - stats.episodes == 1 ? "has" : "have");
}

static wk_run_position position(const void *context)
{
    const adapt *a = context;
    return (wk_run_position){a->done, a->done, false};
}

static wk_status step(void *context, wk_error *err)
{
    adapt *a = context;
    wk_saved_weights *w = &a->run.weights;
    double began = wk_clock_seconds();
    WK_TRY(wk_batch_buffer_draw(&a->buffer, a->replay, NULL, a->settings.seed, a->done, err));
    wk_batch_buffer_choose_tasks(&a->buffer, w->tasks, w->n_tasks);
    a->sampling += wk_clock_seconds() - began;
    began = wk_clock_seconds();
    wk_learner_batch batch = wk_batch_buffer_view(&a->buffer);
    WK_TRY(wk_learner_observe(w->learner, &batch, err));
    WK_TRY(wk_learner_update_tasks(w->learner, &batch, &a->last, err));
    a->done++;
    a->learning += wk_clock_seconds() - began;

    // Files are opened after the first update: what cannot be computed replaces nothing.
    if (!a->loop.metrics) WK_TRY(open_files(a, err));
    wk_nonfinite_updates_clear(&a->nonfinite);
    wk_nonfinite_updates_add(&a->nonfinite, wk_task_metrics_nonfinite(&a->last, w->n_tasks));
    return wk_long_run_check_updates(&a->loop, &a->nonfinite, "the step is skipped", "", err);
}

static wk_status record(void *context, wk_error *err)
{
    adapt *a = context;
    const wk_saved_weights *w = &a->run.weights;
    wk_metrics *metrics = a->loop.metrics;
    if (a->done % in_updates(a, w->config.log_every) != 0) return WK_OK;
    wk_metrics_scalar(metrics, "train_updates", (double)a->done);
    for (int k = 0; k < w->n_tasks; k++)
        wk_metrics_add_task(metrics, a->run.world.domain->tasks[w->tasks[k]].name, &a->last, k);
    double updates = wk_speed_updates(&a->loop.speed); // unknown after the very first
    if (!isnan(updates)) wk_metrics_timing(metrics, "time/updates_per_second", updates);
    return wk_metrics_write(metrics, (int64_t)a->done, err);
}

static void show(const void *context, wk_run_row *row)
{
    const adapt *a = context;
    wk_status_values *values = &row->values;
    values->unit = "updates";
    values->seconds[WK_PHASE_REPLAY] = a->sampling;
    values->seconds[WK_PHASE_LEARN] = a->learning;
    values->device = a->run.weights.device.name;
    values->why = a->run.weights.device.why;
}

static wk_status end_run(void *context, wk_run_end *end, wk_error *err)
{
    adapt *a = context;
    const wk_saved_weights *w = &a->run.weights;
    if (*end != WK_RUN_FINISHED) return a->loop.metrics ? wk_long_run_save(&a->loop, err) : WK_OK;
    if (!a->loop.metrics) WK_TRY(open_files(a, err));
    const wk_weights_origin origin = {&w->config, a->run.world.domain, w->step,
                                      &a->settings.cutoff};
    WK_TRY(wk_lock_check(&a->loop.lock, err));
    WK_TRY(wk_weights_save(w->learner, &origin, a->loop.dir, WEIGHTS, err));
    // The last checkpoint says that the weights are there, so it comes after them.
    a->done_in_weights = a->done;
    return wk_long_run_save(&a->loop, err);
}

// One snapshot. `no_data`: it failed because none of its episodes are left.
static wk_status adapt_snapshot(const wk_adapt_config *config, const wk_run_control *control,
                                wk_run_end *end, bool *no_data, wk_error *err)
{
    static const wk_long_run_job job = {.position = position,
                                        .step = step,
                                        .record = record,
                                        .save = save,
                                        .end = end_run,
                                        .show = show};
    adapt *a = calloc(1, sizeof *a);
    if (!a) return wk_fail(err, WK_E_MEMORY, "no memory to adapt");
    a->config = config;
    a->loop = (wk_long_run){.control = control, .job = &job, .context = a, .unit = "update"};
    wk_status status = open_parts(a, err);
    if (status == WK_OK && a->unfinished) {
        wk_long_run *loop = &a->loop;
        announce(a);
        status = wk_long_run_loop(&loop, 1, NULL, NULL, err);
        if (status == WK_OK && (status = loop->status) != WK_OK && err) *err = loop->error;
        if (status == WK_OK)
            wk_log_line(&control->log, WK_LOG_INFO, "%s in %s",
                        loop->end == WK_RUN_FINISHED ? "policies" : "unfinished policies",
                        a->folder);
    }
    *end = a->unfinished ? a->loop.end : WK_RUN_FINISHED;
    *no_data = a->no_data;
    wk_batch_buffer_free(&a->buffer);
    for (int i = 0; i < WK_TASKS_MAX; i++)
        wk_reward_table_free(&a->added[i]);
    wk_replay_destroy(a->replay);
    wk_long_run_close(&a->loop);
    wk_saved_run_close(&a->run);
    free(a);
    return status;
}

wk_status wk_adapt(const wk_adapt_config *config, const wk_run_control *control, wk_run_end *end,
                   wk_error *err)
{
    bool no_data = false;
    wk_steps steps = {0};
    wk_text missing = {0};
    wk_adapt_config one = *config;
    *end = WK_RUN_FINISHED;
    if (config->snapshot != WK_STEP_ALL) return adapt_snapshot(config, control, end, &no_data, err);
    const wk_weights_source snapshots = {.kind = WK_WEIGHTS_SNAPSHOT};
    wk_status status = wk_weights_steps(config->directory, snapshots, &steps, err);
    if (status == WK_OK && steps.count == 0) { // the error names what there is instead of snapshots
        one.snapshot = WK_STEP_LAST;
        status = adapt_snapshot(&one, control, end, &no_data, err);
    }

    // Every snapshot, the oldest first; what is finished already is left as it is. Snapshots whose
    // episodes are gone do not stop the others, and are named at the end.
    for (size_t i = 0; i < steps.count && status == WK_OK && *end == WK_RUN_FINISHED; i++) {
        wk_error why = {0};
        no_data = false;
        one.snapshot = (int64_t)steps.items[i];
        status = adapt_snapshot(&one, control, end, &no_data, &why);
        if (status != WK_OK && !no_data) wk_fail(err, status, "%s", why.message);
        if (!no_data) continue;
        wk_log_line(&control->log, WK_LOG_WARN, "%s", why.message);
        wk_text_printf(&missing, "%s%" PRIu64, missing.length ? ", " : "", steps.items[i]);
        status = WK_OK;
    }
    if (status == WK_OK && *end == WK_RUN_FINISHED && (missing.length > 0 || missing.failed))
        status = wk_fail(err, WK_E_INPUT,
                         "the snapshots of agent steps %s have no policies, because their episodes "
                         "have left the replay of '%s'; the others have. --all-data takes the "
                         "episodes that the run has now",
                         wk_text_get(&missing), config->directory);
    wk_text_free(&missing);
    wk_array_free(&steps);
    return status;
}
