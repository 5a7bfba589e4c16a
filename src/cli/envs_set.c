// waker envs set: makes a frozen set of environments to compare policies on.
#include "base/file.h"
#include "cli/chosen_domain.h"
#include "cli/cli.h"
#include "eval/cases.h"

typedef struct set_values {
    const char *plugin, *out, *name;
    int count;
    wk_arg_seed seed;
} set_values;

static const set_values defaults = {.name = "own-v1", .count = 1000};

#define WK_VALUES set_values
static const wk_arg args[] = {
    WK_OPT_REQUIRED(WK_ARG_PATH, "out", out, "FILE", "file to write"),
    WK_OPT_TEXT("name", name, "NAME", "name of the set in results (default: own-v1)"),
    WK_OPT_INT("count", count, "N",
               "environments in distribution, and as many out of distribution (default: 1000)", 1,
               WK_THETA_SET_COUNT_MAX),
    WK_SEED_ARG_ROW("the draws and of everything random in the episodes", "0"),
    WK_DOMAIN_PLUGIN_ARG_ROWS(plugin),
};

static wk_status write_set(const wk_chosen_domain *chosen, const set_values *v, wk_error *err)
{
    wk_theta_set set = {0};
    wk_text text = {0};
    WK_TRY(wk_theta_set_draw(chosen->domain, v->name, v->count, v->seed.value, &set, err));
    wk_theta_set_print(&set, chosen->domain, &text);
    wk_theta_set_free(&set);
    WK_TRY(wk_file_write_text(NULL, v->out, &text, err));
    WK_TRY(wk_theta_set_open(v->out, chosen->domain, &set, err));
    wk_text_printf(&text, "%s: %d environment%s of %s in distribution, %d out of it, SHA-256 %s\n",
                   v->out, v->count, wk_plural((uint64_t)v->count), chosen->domain->name, v->count,
                   set.sha256);
    wk_theta_set_free(&set);
    return wk_cli_print(&text, err);
}

static wk_status run(wk_cli *cli, const void *values, wk_error *err)
{
    const set_values *v = values;
    wk_chosen_domain chosen = {0};
    const char *domain = cli->words.count > 0 ? cli->words.items[0] : NULL;
    if (!domain == !v->plugin)
        return wk_fail(err, WK_E_INPUT, "a domain is required: give its name, or --plugin FILE");
    WK_TRY(wk_chosen_domain_open(cli, domain, v->plugin, &(wk_arg_texts){0}, &chosen, err));
    wk_status status = write_set(&chosen, v, err);
    wk_chosen_domain_close(&chosen);
    return status;
}

const wk_command wk_command_envs_set = {
    .name = "envs set",
    .summary = "Create a frozen set of environments for 'waker eval --set'",
    .usage = "envs set DOMAIN --out FILE [--name NAME] [--count N] [--seed N]\n"
             "envs set --plugin FILE --out FILE [--name NAME] [--count N] [--seed N]",
    .details =
        "Environments in distribution are drawn from the domain's default distribution. Of\n"
        "those out of distribution, one half takes the domain's cases in turn, the other is\n"
        "drawn up to half a range beyond the training ranges. The file ends with its SHA-256,\n"
        "which is verified whenever it is read. The same options give the same bytes.\n",
    .examples = "envs set terrain-walker --out terrain-walker.set",
    WK_COMMAND_OPTIONS(args, defaults),
    .words = {0, 1},
    .run = run,
};
