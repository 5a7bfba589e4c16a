// waker ckpt: what a run has saved: its checkpoints and snapshots, and whether they are intact.
#include "base/machine.h"
#include "base/table.h"
#include "cli/cli.h"
#include "nn/safetensors.h"
#include "run/checkpoint.h"
#include "run/saved_run.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

typedef struct ckpt_values {
    bool check, json;
} ckpt_values;

static const ckpt_values defaults;

#define WK_VALUES ckpt_values
static const wk_arg args[] = {
    WK_OPT_FLAG("check", check,
                "read everything and verify checksums; the exit code is 3 if anything is damaged"),
    WK_OPT_FLAG("json", json, "print JSON"),
};

// One saved thing.
typedef struct item {
    const char *kind;
    uint64_t step, bytes;
    char content[160];
    char state[600]; // "", "sound", or what is wrong
    bool damaged;
} item;

typedef WK_ARRAY(item) item_list;

// A new item at the end.
static wk_status add_item(item_list *list, const char *kind, uint64_t step, item **out,
                          wk_error *err)
{
    if (!wk_array_push(list, (item){.kind = kind, .step = step}))
        return wk_fail(err, WK_E_MEMORY, "no memory for a list of checkpoints");
    *out = &list->items[list->count - 1];
    return WK_OK;
}

static void judge(item *it, wk_status status, const wk_error *err)
{
    it->damaged |= status != WK_OK;
    snprintf(it->state, sizeof it->state, "%.590s", status == WK_OK ? "sound" : err->message);
}

static wk_status check_config(const wk_run_config *config, uint64_t hash, wk_error *err)
{
    if (wk_run_config_hash(config) == hash) return WK_OK;
    return wk_fail(err, WK_E_FORMAT,
                   "the checkpoint was written with another config.yaml than the run has now");
}

static void look_at_checkpoint(item *it, const char *run, const wk_run_config *config, bool check)
{
    wk_checkpoint_summary s;
    wk_error err = {0};
    wk_status status = wk_checkpoint_summarise(run, it->step, &s, &err);
    if (status == WK_OK) {
        const wk_trainer_counters *n = &s.counters;
        uint64_t environments = s.head.running, rows = s.head.replay.rows;
        it->bytes = s.head.size + s.learner_bytes;
        snprintf(it->content, sizeof it->content,
                 "%" PRIu64 " episode%s, %" PRIu64 " update%s, %" PRIu64
                 " environment%s, replay log of %" PRIu64 " row%s",
                 n->episodes, wk_plural(n->episodes), n->updates, wk_plural(n->updates),
                 environments, wk_plural(environments), rows, wk_plural(rows));
        if (check) status = check_config(config, s.head.config, &err);
        if (check && status == WK_OK) status = wk_checkpoint_verify(run, it->step, &err);
    }
    if (check || status != WK_OK) judge(it, status, &err);
}

// Whether a run that trains has deleted the checkpoint since it was listed.
static bool is_gone(const char *run, uint64_t step)
{
    wk_steps steps = {0};
    bool there = wk_checkpoint_list(run, &steps, NULL) != WK_OK;
    for (size_t i = 0; i < steps.count; i++)
        there |= steps.items[i] == step;
    wk_array_free(&steps);
    return !there;
}

// Commands that read the newest checkpoint take the one before when it is damaged, and say so.
void wk_cli_warn_older(const wk_cli *cli, const char *directory)
{
    wk_steps steps = {0};
    wk_checkpoint_summary summary;
    wk_error fault = {0};
    uint64_t used;
    if (wk_checkpoint_list(directory, &steps, NULL) == WK_OK && steps.count > 1 &&
        wk_checkpoint_newest(directory, &used, NULL) == WK_OK) {
        uint64_t newest = steps.items[steps.count - 1];
        const wk_log log = wk_cli_log(cli);
        if (used < newest &&
            wk_checkpoint_summarise(directory, newest, &summary, &fault) != WK_OK &&
            !is_gone(directory, newest))
            wk_log_line(&log, WK_LOG_WARN,
                        "using the older checkpoint at agent step %" PRIu64 ", because %.500s",
                        used, fault.message);
    }
    wk_array_free(&steps);
}

static void count_checked(const item_list *list, wk_progress_line *check)
{
    if (check)
        wk_progress_show(check, (int64_t)list->count, check->values.total, wk_clock_seconds());
}

// In all that follows `check` is the line that shows how far checking is; NULL: nothing is checked.
static wk_status add_checkpoints(item_list *list, const char *run, const wk_run_config *config,
                                 wk_progress_line *check, wk_error *err)
{
    wk_steps steps = {0};
    item *it = NULL;
    wk_status status = wk_checkpoint_list(run, &steps, err);
    for (size_t i = steps.count; status == WK_OK && i-- > 0;) {
        status = add_item(list, "checkpoint", steps.items[i], &it, err);
        if (status != WK_OK) break;
        look_at_checkpoint(it, run, config, check != NULL);
        count_checked(list, check);
        if (it->damaged && is_gone(run, it->step)) list->count--;
    }
    wk_array_free(&steps);
    return status;
}

static void look_at_weights(item *it, const char *path, const char *name, bool check)
{
    struct stat info;
    if (stat(path, &info) == 0) it->bytes = (uint64_t)info.st_size;
    wk_error err = {0};
    wk_safetensors *file = NULL;
    wk_status status = wk_safetensors_open(path, &file, &err);
    if (status == WK_OK) {
        const char *tasks = wk_safetensors_metadata(file, "tasks");
        bool policies = tasks && strcmp(tasks, "none") != 0;
        snprintf(it->content, sizeof it->content, "weights: %zu tensor%s%s%.80s%s%s",
                 wk_safetensors_count(file), wk_plural(wk_safetensors_count(file)),
                 policies ? ", tasks " : "", policies ? tasks : "", name ? ", name " : "",
                 name ? name : "");
    }
    if (status == WK_OK && check) status = wk_safetensors_verify_weights(file, &err);
    if (check || status != WK_OK) judge(it, status, &err);
    wk_safetensors_close(file);
}

static wk_status add_weights(item_list *list, const char *run, wk_weights_source source,
                             wk_progress_line *check, wk_error *err)
{
    wk_steps steps = {0};
    char path[WK_PATH_MAX];
    item *it = NULL;
    wk_status status = wk_weights_steps(run, source, &steps, err);
    for (size_t i = steps.count; status == WK_OK && i-- > 0;) {
        status = add_item(list, wk_weights_kind_name(source.kind), steps.items[i], &it, err);
        if (status != WK_OK) break;
        wk_weights_path(run, source, steps.items[i], path);
        look_at_weights(it, path, source.name, check != NULL);
        count_checked(list, check);
    }
    wk_array_free(&steps);
    return status;
}

// Adapted or fine-tuned policies, whatever their tasks and names.
static wk_status add_policies(item_list *list, const char *run, wk_weights_kind kind,
                              wk_progress_line *check, wk_error *err)
{
    wk_weights_folders folders = {0};
    wk_status status = wk_weights_list(run, kind, &folders, err);
    for (size_t i = 0; status == WK_OK && i < folders.count; i++)
        status =
            add_weights(list, run, wk_weights_folder_source(kind, &folders.items[i]), check, err);
    wk_array_free(&folders);
    return status;
}

static wk_status add_all(item_list *list, const char *run, const wk_run_config *config,
                         wk_progress_line *check, wk_error *err)
{
    WK_TRY(add_checkpoints(list, run, config, check, err));
    const wk_weights_source snapshots = {.kind = WK_WEIGHTS_SNAPSHOT};
    WK_TRY(add_weights(list, run, snapshots, check, err));
    WK_TRY(add_policies(list, run, WK_WEIGHTS_ADAPTED, check, err));
    return add_policies(list, run, WK_WEIGHTS_FINETUNED, check, err);
}

// Lists first, so that it is known how much there is to check.
static wk_status check_all(item_list *list, const char *run, const wk_run_config *config,
                           const wk_cli *cli, wk_error *err)
{
    wk_progress_line progress = {0};
    wk_cli_progress(cli, "files", &progress);
    wk_status status = add_all(list, run, config, NULL, err);
    progress.values.total = (int64_t)list->count;
    list->count = 0;
    if (status == WK_OK) status = add_all(list, run, config, &progress, err);
    wk_progress_finish(&progress);
    return status;
}

// Control steps of an agent step, or 0 where the run no longer knows its plug-in's domain.
static int action_repeat(const char *directory)
{
    wk_saved_run run = {0};
    const wk_saved_run_options options = {.depth = WK_SAVED_WORLD, .own_tasks = true};
    wk_status status = wk_saved_run_open(directory, &options, &run, NULL);
    int repeat = status == WK_OK ? run.world.domain->action_repeat : 0;
    wk_saved_run_close(&run);
    return repeat;
}

static void fill_table(const item_list *list, int repeat, wk_table *table)
{
    static const wk_column columns[] = {
        {WK_COLUMN_TEXT, "kind", "saved", NULL, 0},
        {WK_COLUMN_NUMBER, "step", "agent steps", NULL, 0},
        {WK_COLUMN_NUMBER, "control_step", "control steps", NULL, 0},
        {WK_COLUMN_NUMBER, "bytes", "MiB", NULL, 0},
        {WK_COLUMN_TEXT, "content", "inside", NULL, 0},
        {WK_COLUMN_TEXT, "state", "state", NULL, 0}};
    wk_table_start(table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < list->count; i++) {
        const item *it = &list->items[i];
        wk_table_text(table, it->kind);
        wk_table_unsigned(table, it->step);
        if (repeat > 0)
            wk_table_unsigned(table, it->step * (uint64_t)repeat);
        else {
            wk_table_absent(table);
            wk_table_shown(table, "unknown");
        }
        wk_table_unsigned(table, it->bytes);
        wk_table_shown(table, "%.2f", (double)it->bytes / (1 << 20));
        wk_table_text(table, it->content);
        if (*it->state)
            wk_table_text(table, it->state);
        else {
            wk_table_absent(table);
            wk_table_shown(table, "not checked");
        }
    }
}

static wk_status run(wk_cli *cli, const void *values, wk_error *err)
{
    const ckpt_values *v = values;
    const char *directory = cli->words.items[0];
    wk_saved_run saved = {0};
    WK_TRY(wk_saved_run_open(directory, &(wk_saved_run_options){.depth = WK_SAVED_CONFIG}, &saved,
                             err));
    item_list list = {0};
    wk_text text = {0};
    wk_status status = v->check ? check_all(&list, directory, &saved.config, cli, err)
                                : add_all(&list, directory, &saved.config, NULL, err);
    wk_saved_run_close(&saved);
    wk_table table;
    fill_table(&list, action_repeat(directory), &table);
    if (v->json) {
        wk_table_json(&table, NULL, &(wk_json){.text = &text});
        wk_text_puts(&text, "\n");
    } else if (list.count > 0)
        wk_table_print(&table, 0, &text);
    else
        wk_text_printf(&text, "'%s' has no checkpoints or snapshots yet\n", directory);
    wk_table_free(&table);
    for (size_t i = 0; i < list.count; i++)
        cli->findings |= list.items[i].damaged;
    wk_array_free(&list);
    return wk_cli_print_if(status, &text, err);
}

const wk_command wk_command_ckpt = {
    .name = "ckpt",
    .summary = "List and verify the checkpoints and weights that a run has saved",
    .usage = "ckpt RUN [--check] [--json]",
    .details =
        "A checkpoint holds everything needed to resume a run: weights, optimisers, counters,\n"
        "environments, recurrent states, curriculum, and the position in the replay log. A\n"
        "snapshot holds weights alone, for evaluation. Adapted and fine-tuned policies are\n"
        "listed too. 'waker train' resumes from the newest checkpoint that is sound.\n",
    .examples = "ckpt runs/a --check",
    WK_COMMAND_OPTIONS(args, defaults),
    .words = {1, 1},
    .run = run,
};
