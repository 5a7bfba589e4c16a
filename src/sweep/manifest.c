#include "sweep/manifest.h"

#include "base/file.h"
#include "sweep/folder.h"

static void print_line(const wk_sweep_plan *plan, const char *directory, int task,
                       const wk_sweep_state *state, wk_text *out)
{
    const wk_sweep_task *t = &plan->tasks.items[task];
    char path[WK_PATH_MAX];
    wk_text command = {0};
    wk_sweep_words words = {0};
    wk_sweep_plan without_code = *plan; // a file cannot name code
    without_code.plugin = without_code.rule = NULL;
    wk_sweep_task_words(&without_code, directory, &task, 1, &words);
    wk_sweep_words_print(&words, "waker", &command);
    out->failed |= wk_sweep_task_path(plan, directory, task, path, NULL) != WK_OK;
    wk_text_printf(out, "{\"task\": %d, \"name\": ", task);
    wk_text_quote(out, t->name);
    wk_text_puts(out, ", \"shape\": ");
    wk_text_quote(out, plan->shapes.items[t->shape].name);
    wk_text_puts(out, ", \"command\": ");
    wk_text_quote(out, wk_text_get(&command));
    wk_text_puts(out, ", \"directory\": ");
    wk_text_quote(out, path);
    wk_text_printf(out, ", \"state\": \"%s\"}\n", wk_sweep_phase_names[state->phase]);
    out->failed |= command.failed;
    wk_sweep_words_free(&words);
    wk_text_free(&command);
}

void wk_sweep_manifest_print(const wk_sweep_plan *plan, const char *directory,
                             const wk_sweep_state *states, wk_text *out)
{
    for (size_t i = 0; i < plan->tasks.count; i++)
        print_line(plan, directory, (int)i, &states[i], out);
}

wk_status wk_sweep_manifest_write(const wk_sweep_plan *plan, const char *directory,
                                  const wk_sweep_state *states, wk_error *err)
{
    char path[WK_PATH_MAX];
    wk_text text = {0};
    WK_TRY(wk_path_print(path, err, "%s/" WK_SWEEP_FOLDER "/" WK_SWEEP_MANIFEST, directory));
    wk_sweep_manifest_print(plan, directory, states, &text);
    return wk_file_write_text(NULL, path, &text, err);
}
