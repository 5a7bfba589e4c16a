// waker theory: the paper's bounds on finite MDPs, computed exactly: do they hold, how tight are
// they, and how much of an oracle's gain do the curricula get?
#include "cli/theory.h"
#include "cli/cli.h"
#include "theory/mdp.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct theory_values {
    const char *part, *family, *exploration, *model, *out;
    wk_curricula_config curricula; // its gamma: unless the next is given
    double gamma;
    int instances;
    wk_arg_seed seed;
    bool json;
} theory_values;

static const theory_values defaults = {.part = "all",
                                       .family = "all",
                                       .exploration = "disagreement",
                                       .model = "separate",
                                       .instances = 100000,
                                       .curricula = WK_CURRICULA_DEFAULT};

#define WK_VALUES theory_values
static const wk_arg args[] = {
    WK_OPT_TEXT("part", part, "check|curricula|all", "what to compute (default: all)"),
    WK_OPT_TEXT("family", family, "random|slippery|windy|chain|all",
                "families of MDPs, separated by commas (default: all)"),
    WK_OPT_INT("instances", instances, "N",
               "check: instances of MDP, model and reward, over all families (default: 100000)", 1,
               1000000000),
    WK_OPT_NUMBER("gamma", gamma, "G",
                  "discount (default: check: random in 0.5 to 0.99; curricula: 0.95)", 0.01, 0.999),
    WK_OPT_INT("episodes", curricula.episodes, "N", "curricula: episodes of a run (default: 2000)",
               1, 1000000),
    WK_OPT_INT("steps", curricula.steps, "N", "curricula: steps of an episode (default: 20)", 1,
               10000),
    WK_OPT_INT("rewards", curricula.rewards, "N",
               "curricula: random rewards for each environment (default: 20)", 1, 10000),
    WK_OPT_INT("seeds", curricula.seeds, "N",
               "curricula: worlds in which each curriculum collects data (default: 20)", 1, 10000),
    WK_OPT_INT("members", curricula.members, "N",
               "curricula: members of each ensemble (default: 10)", 2, WK_TABULAR_MEMBERS_MAX),
    WK_OPT_TEXT("exploration", exploration, "disagreement|random",
                "curricula: exploration within an episode (default: disagreement)"),
    WK_OPT_TEXT(
        "model", model, "separate|shared",
        "curricula: a model for each environment, or one that generalises (default: separate)"),
    WK_SEED_ARG_ROW(WK_VALUES, "everything random", "0"),
    WK_OPT_PATH("out", out, "DIR", "write tables as CSV and figures to DIR"),
    WK_OPT_FLAG("json", json, "print JSON"),
};

// Finds a word in a list; the error has the option's name.
static wk_status choose(const char *option, const char *word, const char *const *names,
                        size_t count, size_t *out, wk_error *err)
{
    for (*out = 0; *out < count; ++*out)
        if (strcmp(names[*out], word) == 0) return WK_OK;
    return wk_arg_unknown(err, option, word, names, count);
}

static wk_status add_family(wk_theory_results *r, const char *name, wk_error *err)
{
    const wk_family *family;
    WK_TRY(wk_family_find(name, &family, err));
    for (size_t k = 0; k < r->count; k++)
        if (r->families[k] == family)
            return wk_fail(err, WK_E_INPUT, "--family has '%s' twice", name);
    r->families[r->count++] = family;
    return WK_OK;
}

static wk_status choose_families(const char *list, wk_theory_results *r, wk_error *err)
{
    if (strcmp(list, "all") == 0) {
        for (size_t i = 0; i < wk_family_count(); i++)
            r->families[r->count++] = wk_family_at(i);
        return WK_OK;
    }
    for (const char *at = list;;) {
        char name[64];
        size_t length = strcspn(at, ",");
        snprintf(name, sizeof name, "%.*s", (int)length, at);
        WK_TRY(add_family(r, name, err));
        if (!at[length]) return WK_OK;
        at += length + 1;
    }
}

// A word option with two choices; `second` is whether it is the second.
static wk_status choose_of_two(const char *option, const char *word, const char *const names[2],
                               bool *second, wk_error *err)
{
    size_t i;
    WK_TRY(choose(option, word, names, 2, &i, err));
    *second = i == 1;
    return WK_OK;
}

static wk_status choose_part(const char *word, wk_theory_results *r, wk_error *err)
{
    static const char *const names[] = {"check", "curricula", "all"};
    size_t i;
    WK_TRY(choose("part", word, names, 3, &i, err));
    r->checked = i != 1;
    r->compared = i != 0;
    return WK_OK;
}

static void count_piece(void *context, size_t total, int thread)
{
    wk_progress_line *line = context;
    if (thread == 0) line->values.total = (int64_t)total;
    wk_progress_count(line, thread);
}

static void begin_family(const wk_cli *cli, const char *what, const wk_family *family,
                         const char *unit, wk_progress_line *line)
{
    const wk_log log = wk_cli_progress(cli, unit, line);
    wk_log_line(&log, WK_LOG_INFO, "%s: %s", what, family->domain.name);
}

static wk_status check_families(const theory_values *v, wk_pool *pool, const wk_cli *cli,
                                wk_theory_results *r, wk_error *err)
{
    wk_progress_line line = {0};
    wk_theory_check_config config = {
        .gamma = v->gamma, .seed = v->seed.value, .progress = count_piece, .context = &line};
    config.instances = (v->instances + (int64_t)r->count - 1) / (int64_t)r->count;
    for (size_t i = 0; i < r->count; i++) {
        config.family = r->families[i];
        begin_family(cli, "checking the bounds", config.family, "trials", &line);
        wk_status status = wk_theory_check_run(&config, pool, &r->checks[i], err);
        wk_progress_finish(&line);
        WK_TRY(status);
    }
    return WK_OK;
}

static wk_status compare_curricula(const theory_values *v, wk_pool *pool, const wk_cli *cli,
                                   wk_theory_results *r, wk_error *err)
{
    static const char *const explorations[] = {"disagreement", "random"};
    static const char *const models[] = {"separate", "shared"};
    wk_progress_line line = {0};
    wk_curricula_config config = v->curricula;
    config.progress = count_piece;
    config.context = &line;
    if (v->gamma > 0) config.gamma = v->gamma;
    config.seed = v->seed.value;
    WK_TRY(choose_of_two("exploration", v->exploration, explorations, &config.random, err));
    WK_TRY(choose_of_two("model", v->model, models, &config.shared, err));
    for (size_t i = 0; i < r->count; i++) {
        config.family = r->families[i];
        begin_family(cli, "comparing curricula", config.family, "runs", &line);
        wk_status status = wk_curricula_run(&config, pool, &r->comparisons[i], err);
        wk_progress_finish(&line);
        WK_TRY(status);
        for (int m = 0; m < WK_MEASURES; m++)
            WK_TRY(wk_curricula_summarise(&r->comparisons[i], (wk_curricula_measure)m,
                                          r->summaries[i][m], err));
    }
    return WK_OK;
}

static wk_status show(wk_cli *cli, const theory_values *v, const wk_theory_results *r,
                      wk_error *err)
{
    wk_text text = {0};
    for (size_t i = 0; i < r->count; i++)
        cli->findings |= r->checks[i].total.violations > 0;
    if (v->out) WK_TRY(wk_theory_write(r, v->out, err));
    if (v->json)
        wk_theory_json(r, &text);
    else
        wk_theory_text(r, &text);
    if (v->out && !v->json) wk_text_printf(&text, "\nTables and figures are in %s.\n", v->out);
    return wk_cli_print(&text, err);
}

static wk_status run(wk_cli *cli, const void *values, wk_error *err)
{
    const theory_values *v = values;
    wk_theory_results *r = calloc(1, sizeof *r);
    wk_pool *pool = NULL;
    wk_status status = r ? wk_pool_create(cli->threads, &pool, err)
                         : wk_fail(err, WK_E_MEMORY, "no memory for the results");
    if (status == WK_OK) r->seed = v->seed.value;
    if (status == WK_OK) status = choose_part(v->part, r, err);
    if (status == WK_OK) status = choose_families(v->family, r, err);
    // Curricula first: their options are checked before any long work.
    if (status == WK_OK && r->compared) status = compare_curricula(v, pool, cli, r, err);
    if (status == WK_OK && r->checked) status = check_families(v, pool, cli, r, err);
    if (status == WK_OK) status = show(cli, v, r, err);
    for (size_t i = 0; r && i < r->count; i++) {
        wk_theory_check_free(&r->checks[i]);
        wk_curricula_free(&r->comparisons[i]);
    }
    wk_pool_destroy(pool);
    free(r);
    return status;
}

const wk_command wk_command_theory = {
    .name = "theory",
    .summary = "Compute the paper's regret bounds exactly on finite MDPs, and compare curricula",
    .usage = "theory [--part check|curricula|all] [--family NAME,...] [--out DIR] [--json]",
    .details =
        "check: verifies regret <= bound of Proposition 1 <= reward-free bound, and the\n"
        "Simulation Lemma, on random MDPs, models of them and rewards in [0,1]. If an\n"
        "inequality does not hold, the exit code is 3.\n"
        "curricula: collects data with DR, WAKER-M, WAKER-R and an oracle that sees the true\n"
        "error of the model, and compares the maximum regret over the environments as data\n"
        "grows. Results depend on the options alone, not on --threads.\n",
    .examples = "theory --out theory\n"
                "theory --part check --instances 1000000\n"
                "theory --part curricula --family chain --model shared",
    WK_COMMAND_OPTIONS(args, defaults),
    .run = run,
};
