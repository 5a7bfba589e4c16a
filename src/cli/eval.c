// waker eval: how well the task policies of a run do: in environments like those of training, the
// worst of them, and out of distribution.
#include "base/table.h"
#include "cli/cli.h"
#include "eval/evaluation.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

typedef struct eval_values {
    wk_eval_question asked; // what options fill as it is
    wk_arg_seed seed;
    wk_arg_texts rewards;
    bool json, video, mp4;
} eval_values;

static const eval_values defaults = {
    .asked = {
        .tasks = "all", .step = WK_STEP_LAST, .cases = "", .program = "waker " WAKER_VERSION}};

#define WK_VALUES eval_values
static const wk_arg args[] = {
    WK_OPT_TEXT("task", asked.tasks, "TASK,...|all",
                "tasks to evaluate (default: all that have a policy)"),
    WK_SNAPSHOTS_ARG_ROW(asked.step),
    WK_OPT_TEXT("policy", asked.policy, "adapted|alongside|finetuned|random",
                "which policies (default: adapted if any, else alongside)"),
    WK_OPT_TEXT("name", asked.name, "NAME", "use the adaptation or fine-tuning with this name"),
    WK_OPT_TEXT("cases", asked.cases, "dr|train|CASE,...|all",
                "dr, train and out-of-distribution cases, listed by 'waker envs DOMAIN' (default: "
                "dr and the paper's cases; train for a run with curriculum.theta)"),
    WK_OPT_INT("envs", asked.envs, "N", "environments of case dr, one episode each (default: 100)",
               1, 100000),
    WK_OPT_TEXT(
        "set", asked.set, "robust-v1|FILE",
        "evaluate on a frozen set of environments instead of cases; results go to RUN/benchmark"),
    WK_SEED_ARG_ROW("the environments and episodes",
                    "0; with eval.fresh, derived from the run and its step"),
    WK_DEVICE_ARG_ROW(asked.device, "the run's"),
    WK_PLUGIN_ARG_ROWS(asked.plugins.domain),
    WK_REWARDS_ARG_ROW,
    WK_OPT_FLAG("video", video, "write GIFs of the best, median and worst episode of each case"),
    WK_OPT_FLAG("mp4", mp4, "write the same episodes as MP4 (H.264), which needs ffmpeg"),
    WK_OPT_PATH("out", asked.out, "DIR",
                "write the results to DIR/eval instead of RUN/eval, together with RUN's settings, "
                "so that 'waker report DIR' can read them"),
    WK_OPT_FLAG("json", json, "print the contents of the result files as a JSON list"),
};

static void print_number(wk_table *table, double value)
{
    if (isnan(value))
        wk_table_cell(table, "%s", "");
    else
        wk_table_cell(table, "%.4g", value);
}

static void print_case(wk_table *table, const wk_domain *domain, const wk_task_result *t, int set)
{
    const wk_case_result *c = &t->cases[set];
    const wk_task *task = &domain->tasks[t->task];
    const wk_score *s = task->has_completion ? &c->completion_score : &c->return_score;
    wk_table_cell(table, "%s", set == 0 ? task->name : "");
    wk_table_cell(table, "%s", c->eval_case.name);
    wk_table_cell(table, "%d", c->eval_case.episodes);
    wk_table_cell(table, "%s", wk_eval_score_name(domain, t->task));
    wk_table_cell(table, "%.5g", s->mean);
    wk_table_cell(table, "%.4g", s->sd);
    wk_table_cell(table, "%.5g", s->cvar[WK_SCORE_TENTH]);
    wk_table_cell(table, "%.5g", s->min);
    wk_table_cell(table, "%.5g", s->max);
    wk_table_cell(table, "%d", c->diverged);
    for (int m = 0; m < WK_CASE_METRICS; m++)
        print_number(table, wk_case_metric_mean(c, &wk_case_metrics[m]));
}

// The alignment of columns that begin as `first` says and go on with `numbers` columns of numbers.
static void align_columns(const char *first, size_t numbers, char *align)
{
    size_t length = strlen(first);
    memcpy(align, first, length);
    memset(align + length, 'r', numbers);
    align[length + numbers] = 0;
}

// Where the policies went and what they touched, in a table of their own.
static void print_indicators(const wk_eval_result *r, wk_text *out)
{
    const wk_domain *domain = r->origin.domain;
    char align[sizeof "ll" + WK_INDICATORS_MAX];
    align_columns("ll", WK_INDICATORS_MAX, align);
    wk_table table = {.columns = 2 + (size_t)domain->n_indicators, .align = align};
    if (domain->n_indicators == 0) return;
    wk_table_cell(&table, "%s", "task");
    wk_table_cell(&table, "%s", "case");
    for (int k = 0; k < domain->n_indicators; k++)
        wk_table_cell(&table, "%s", domain->indicators[k].name);
    for (int i = 0; i < r->n_tasks; i++)
        for (int set = 0; set < r->tasks[i].n_cases; set++) {
            const wk_case_result *c = &r->tasks[i].cases[set];
            wk_table_cell(&table, "%s", set == 0 ? domain->tasks[r->tasks[i].task].name : "");
            wk_table_cell(&table, "%s", c->eval_case.name);
            for (int k = 0; k < domain->n_indicators; k++)
                print_number(&table, c->indicators[k]);
        }
    wk_text_puts(out, "\n");
    wk_table_finish(&table, 0, out);
}

static void print_text(const char *run, const wk_eval_answer *answer, wk_text *out)
{
    static const char scores[] = "llrlrrrrrr";
    const wk_eval_result *r = answer->result;
    const wk_domain *domain = r->origin.domain;
    char align[sizeof scores + WK_CASE_METRICS];
    wk_table table = {0};
    wk_table_begin(&table, scores, "task", "case", "episodes", "score", "mean", "s.d.", "CVaR 0.1",
                   "min", "max", "diverged");
    align_columns(scores, WK_CASE_METRICS, align);
    table.align = align;
    table.columns += WK_CASE_METRICS;
    for (int m = 0; m < WK_CASE_METRICS; m++)
        wk_table_cell(&table, "%s", wk_case_metrics[m].heading);
    for (int i = 0; i < r->n_tasks; i++)
        for (int k = 0; k < r->tasks[i].n_cases; k++)
            print_case(&table, domain, &r->tasks[i], k);
    wk_text_printf(out,
                   "%s, %s, %s policies of agent step %" PRIu64 " (control step %" PRIu64
                   "), seed %" PRIu64 "\n",
                   run, domain->name, r->origin.policy, r->origin.step,
                   r->origin.step * (uint64_t)domain->action_repeat, r->seed);
    wk_table_finish(&table, 0, out);
    print_indicators(r, out);
    for (int i = 0; i < r->n_tasks && answer->set; i++) {
        char path[WK_PATH_MAX];
        wk_benchmark_path(answer->set, r, r->tasks[i].task, path);
        wk_text_printf(out, "written to %s/%s\n", answer->directory, path);
    }
    if (!answer->set)
        wk_text_printf(out, "written to %s/eval/%s.json\n", answer->directory, r->name);
}

// The output so far.
typedef struct output {
    const char *run;
    bool as_json;
    wk_text text;
    wk_json json;
} output;

static wk_status add_results(void *context, const wk_eval_answer *answer, wk_error *err)
{
    output *out = context;
    (void)err;
    if (out->as_json)
        wk_eval_result_json(answer->result, &out->json);
    else
        print_text(out->run, answer, &out->text);
    return WK_OK;
}

static wk_status run(wk_cli *cli, const void *values, wk_error *err)
{
    const eval_values *v = values;
    wk_progress_line progress = {0};
    wk_log log = wk_cli_progress(cli, "agent steps", &progress);
    output out = {.run = cli->words.items[0], .as_json = v->json, .json.text = &out.text};
    wk_eval_question asked = v->asked;
    asked.run = out.run;
    asked.seed = v->seed.given ? &v->seed.value : NULL;
    asked.clips = (v->video ? WK_VIDEO_GIF : 0U) | (v->mp4 ? WK_VIDEO_MP4 : 0U);
    asked.plugins.rewards = v->rewards.items;
    asked.plugins.n_rewards = v->rewards.count;
    asked.threads = cli->threads;
    asked.log = &log;
    asked.progress = &progress;
    asked.on_answer = add_results;
    asked.context = &out;
    if (v->json) wk_json_array(&out.json, NULL);
    wk_status status = wk_eval_run(&asked, err);
    if (v->json) wk_json_close(&out.json, ']');
    wk_progress_finish(&progress);
    return wk_cli_print_if(status, &out.text, err);
}

const wk_command wk_command_eval = {
    .name = "eval",
    .summary = "Evaluate the task policies of a run: mean, worst cases, out of distribution",
    .usage =
        "eval RUN [--task TASK,...|all] [--snapshot STEP|all|last] [--policy KIND] [--name NAME]\n"
        "eval RUN [--cases CASE,...] [--envs N] [--seed N] [--video] [--mp4] [--out DIR] [--json]\n"
        "eval RUN --set robust-v1|FILE [--task TASK,...|all] [--policy KIND] [--out DIR]",
    .details =
        "Plays one episode in each of 100 environments of the default distribution (case dr) and\n"
        "in the domain's out-of-distribution cases. CVaR 0.1 is the mean of the worst tenth.\n"
        "Column 'promised' is the value that the critic predicted at the start of the episode,\n"
        "'discounted' the discounted return that followed: where a policy exploits errors of the\n"
        "model, the first is far above the second.\n"
        "'reward error' is the error of the reward head along the episodes, on frames that the\n"
        "model has observed. 'open-loop image' and 'open-loop reward' are the errors of what the\n"
        "model imagines from the actions alone, up to 45 steps ahead, along these episodes.\n"
        "The second table has the domain's indicators: where the policies went and what they\n"
        "touched ('waker envs DOMAIN' describes its columns).\n"
        "Scores and all episodes are written to RUN/eval/POLICY-STEP.json and .csv. The same\n"
        "weights, seed and cases give the same bytes, with any number of threads.\n"
        "--set evaluates on a frozen set of environments, in and out of distribution, and writes\n"
        "RUN/benchmark/SET-POLICY-STEP-TASK.json: CVaR for every worst fraction with confidence\n"
        "bands, and everything needed to compare it with other programs.\n",
    .examples = "eval runs/a --task walk\n"
                "eval runs/a --snapshot all --cases dr --json",
    WK_COMMAND_OPTIONS(args, defaults),
    .words = {1, 1},
    .run = run,
};
