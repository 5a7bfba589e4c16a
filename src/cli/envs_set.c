// waker envs set: makes a frozen set of environments to compare policies on.
#include "base/file.h"
#include "cli/cli.h"
#include "cli/world.h"
#include "eval/theta_set.h"

typedef struct set_values {
    const char *plugin, *out, *name;
    int count;
    uint64_t seed;
} set_values;

static const set_values defaults = {.name = "own-v1", .count = 1000};

#define AT(field) offsetof(set_values, field)
static const wk_arg args[] = {
    {"out", "FILE", "where the set goes", WK_ARG_PATH, AT(out), 0, 0},
    {"name", "NAME", "what results call it (own-v1)", WK_ARG_TEXT, AT(name), 0, 0},
    {"count", "N", "environments in, and as many out of distribution (1000)", WK_ARG_INT, AT(count),
     1, WK_SET_COUNT_MAX},
    {"seed", "N", "of the draws, and of everything random in the episodes (0)", WK_ARG_SEED,
     AT(seed), 0, 0},
    {"plugin", "FILE", "a set of the domain of this plug-in", WK_ARG_PATH, AT(plugin), 0, 0},
    WK_PYTHON_ARG_ROW("environments of this function of Python", AT(plugin)),
};

static wk_status write_set(const wk_world *world, const set_values *v, wk_error *err)
{
    wk_theta_set set = {0};
    wk_text text = {0};
    WK_TRY(wk_theta_set_draw(world->domain, v->name, v->count, v->seed, &set, err));
    wk_theta_set_print(&set, world->domain, &text);
    wk_theta_set_free(&set);
    wk_status status = text.failed ? wk_fail(err, WK_E_MEMORY, "no memory for '%s'", v->out)
                                   : wk_file_write(v->out, text.chars, text.length, err);
    wk_text_free(&text);
    if (status != WK_OK) return status;
    WK_TRY(wk_theta_set_open(v->out, world->domain, &set, err));
    wk_text_printf(&text, "%s: %d environments of %s in distribution, %d out of it, SHA-256 %s\n",
                   v->out, v->count, world->domain->name, v->count, set.sha256);
    wk_theta_set_free(&set);
    return wk_cli_print(&text, err);
}

static wk_status run(wk_cli *cli, const void *values, wk_error *err)
{
    const set_values *v = values;
    wk_world world = {0};
    const char *domain = cli->words.count > 0 ? cli->words.items[0] : NULL;
    if (!v->out) return wk_fail(err, WK_E_INPUT, "say where the set goes with --out FILE");
    if (!domain == !v->plugin)
        return wk_fail(err, WK_E_INPUT, "which domain? give its name, or --plugin FILE");
    WK_TRY(wk_world_open(domain, v->plugin, &(wk_arg_texts){0}, &world, err));
    wk_status status = write_set(&world, v, err);
    wk_world_close(&world);
    return status;
}

const wk_command wk_command_envs_set = {
    .name = "envs set",
    .summary = "Make a frozen set of environments for 'waker eval --set'",
    .usage = "envs set DOMAIN --out FILE [--name NAME] [--count N] [--seed N]\n"
             "envs set --plugin FILE --out FILE [--name NAME] [--count N] [--seed N]",
    .details =
        "In distribution: drawn from the domain's default distribution. Out of it: one half\n"
        "from the domain's cases in turn, the other from up to half a range beyond the\n"
        "training ranges. The file ends with its SHA-256, which is checked whenever it is\n"
        "read. The same options give the same bytes.\n",
    .examples = "envs set terrain-walker --out terrain-walker.set",
    .args = args,
    .n_args = sizeof args / sizeof *args,
    .values_size = sizeof(set_values),
    .defaults = &defaults,
    .min_words = 0,
    .max_words = 1,
    .run = run,
};
