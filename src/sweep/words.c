#include "sweep/plan.h"

void wk_sweep_words_add(wk_sweep_words *words, const char *word)
{
    const char *copy = wk_arena_string(&words->arena, word);
    if (!copy || !wk_array_push(&words->items, copy)) words->failed = true;
}

void wk_sweep_words_free(wk_sweep_words *words)
{
    wk_array_free(&words->items);
    wk_arena_reset(&words->arena);
    *words = (wk_sweep_words){0};
}

void wk_sweep_words_print(const wk_sweep_words *words, const char *program, wk_text *out)
{
    if (program) wk_text_shell_quote(out, program);
    for (size_t i = 0; i < words->items.count; i++) {
        if (i > 0 || program) wk_text_puts(out, " ");
        wk_text_shell_quote(out, words->items.items[i]);
    }
    out->failed |= words->failed;
}

static void add_path(const wk_sweep_plan *plan, const char *directory, int task,
                     wk_sweep_words *out)
{
    char path[WK_PATH_MAX];
    out->failed |= wk_sweep_task_path(plan, directory, task, path, NULL) != WK_OK;
    wk_sweep_words_add(out, path);
}

// One word: a value that looks like an option is a value all the same.
static void add_setting(const wk_setting *setting, wk_sweep_words *out)
{
    wk_text word = {0};
    wk_text_printf(&word, "--%.*s=%s", (int)setting->key_length, setting->key, setting->value);
    wk_sweep_words_add(out, wk_text_get(&word));
    out->failed |= word.failed;
    wk_text_free(&word);
}

void wk_sweep_train_words(const wk_sweep_plan *plan, const char *directory, int task,
                          wk_sweep_words *out)
{
    const wk_sweep_settings settings = wk_sweep_task_settings(plan, task);
    wk_sweep_words_add(out, "train");
    wk_sweep_words_add(out, "--logdir");
    add_path(plan, directory, task, out);
    for (int i = 0; i < plan->grid->n_files; i++) {
        wk_sweep_words_add(out, "--config-file");
        wk_sweep_words_add(out, plan->grid->files[i]);
    }
    wk_sweep_words_add(out, "--configs");
    for (int i = 0; i < settings.n_blocks; i++)
        wk_sweep_words_add(out, settings.blocks[i]);
    for (int i = 0; i < settings.n_keys; i++)
        add_setting(&settings.keys[i], out);
}

// Code that the command line names is named again: nothing in the sweep's directory can do it.
static void add_code(const char *option, const char *file, wk_sweep_words *out)
{
    if (!file) return;
    wk_sweep_words_add(out, option);
    wk_sweep_words_add(out, file);
}

static void add_options(const wk_sweep_command *command, wk_sweep_words *out)
{
    for (int i = 0; i < command->count; i++)
        wk_sweep_words_add(out, command->options[i]);
}

void wk_sweep_follow_words(const wk_sweep_plan *plan, const char *directory, int task,
                           wk_sweep_follow_kind follow, wk_sweep_words *out)
{
    wk_sweep_words_add(out, wk_sweep_follow_names[follow]);
    add_path(plan, directory, task, out);
    add_options(&plan->grid->follow[follow], out);
    if (follow != WK_SWEEP_ADAPT) add_code("--plugin", plan->plugin, out);
}

void wk_sweep_task_words(const wk_sweep_plan *plan, const char *directory, const int *tasks,
                         int count, wk_sweep_words *out)
{
    wk_sweep_words_add(out, "sweep");
    wk_sweep_words_add(out, "run");
    wk_sweep_words_add(out, directory);
    for (int i = 0; i < count; i++)
        wk_sweep_words_add(out, plan->tasks.items[tasks[i]].name);
    add_code("--plugin", plan->plugin, out);
    add_code("--curriculum.plugin", plan->rule, out);
}

void wk_sweep_report_words(const wk_sweep_plan *plan, const char *directory, wk_sweep_words *out)
{
    char path[WK_PATH_MAX];
    if (wk_path_join(directory, "report", path, NULL) != WK_OK) out->failed = true;
    wk_sweep_words_add(out, "report");
    wk_sweep_words_add(out, directory);
    wk_sweep_words_add(out, "--out");
    wk_sweep_words_add(out, path);
    add_options(&plan->grid->report, out);
}
