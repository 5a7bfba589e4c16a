// waker completion: what makes a shell complete commands, options and their values.
#include "cli/completion.h"
#include <string.h>

static const struct {
    const char *name;
    wk_status (*write)(wk_text *out, wk_error *err);
} shells[] = {{"bash", wk_completion_bash}, {"zsh", wk_completion_zsh}};
enum { N_SHELLS = sizeof shells / sizeof *shells };

static wk_status run(wk_cli *cli, const void *values, wk_error *err)
{
    (void)values;
    const char *names[N_SHELLS];
    for (size_t i = 0; i < N_SHELLS; i++) {
        names[i] = shells[i].name;
        if (strcmp(cli->words.items[0], names[i]) != 0) continue;
        wk_text text = {0};
        wk_status status = shells[i].write(&text, err);
        return wk_cli_print_if(status, &text, err);
    }
    return wk_arg_unknown(err, "shell", cli->words.items[0], names, N_SHELLS);
}

const wk_command wk_command_completion = {
    .name = "completion",
    .summary = "Print shell completions",
    .usage = "completion bash|zsh",
    .details =
        "An installed waker has them where the shells look. To load them without installing:\n\n"
        "  source <(waker completion bash)\n"
        "  source <(waker completion zsh)\n",
    .examples = "completion bash",
    .min_words = 1,
    .max_words = 1,
    .run = run,
};
