// The README.md of a card: what hubs read first, then scores, how to load the policies, how they
// were trained, and the hashes of the files. All text that comes from a run's files is escaped.
#include "base/code_file.h"
#include "plot/figure.h"
#include "report/card.h"
#include "run/disk.h"
#include <inttypes.h>
#include <string.h>

// Text in which nothing is Markdown or HTML.
static void put_plain(wk_text *out, const char *text)
{
    while (*text) {
        uint32_t code;
        size_t length = wk_utf8_decode(text, SIZE_MAX, &code);
        char one[8] = {text[0]};
        if (length > 1) memcpy(one, text, length);
        if (length == 1 && code > ' ' && code < 127 && strchr("\\`*_{}[]()#+.!|~@:$^", (int)code))
            wk_text_puts(out, "\\");
        if (length == 1 && code < ' ')
            wk_text_puts(out, " ");
        else
            wk_xml_escape(one, out);
        text += length > 0 ? length : 1;
    }
}

// What hubs read. Strings are as in JSON, which YAML reads alike.
static void put_front_matter(const wk_card *card, const char *name, wk_text *out)
{
    wk_text_puts(out, card->own_licence ? "---\nlicense: other\nlicense_name: see-license-file\n"
                                          "license_link: LICENSE\n"
                                        : "---\nlicense: mit\n");
    wk_text_puts(out, "library_name: waker\npipeline_tag: reinforcement-learning\ntags:\n"
                      "- reinforcement-learning\n- deep-reinforcement-learning\n- world-model\n"
                      "- model-based-rl\n- curriculum-learning\n- robustness\n- ");
    wk_text_quote(out, card->domain->name);
    wk_text_puts(out, "\nmodel-index:\n- name: ");
    wk_text_quote(out, name);
    wk_text_puts(out, "\n  results:\n");
    for (const wk_result *s = card->scores; s < card->scores + card->n_scores; s++) {
        wk_text title = {0};
        bool completion = strcmp(s->score, "completion") == 0;
        wk_text_printf(&title, "%s, task %s, case %s", s->domain, s->task, s->set);
        wk_text_puts(out, "  - task:\n      type: reinforcement-learning\n"
                          "      name: reinforcement-learning\n    dataset:\n      name: ");
        wk_text_quote(out, wk_text_get(&title));
        wk_text_puts(out, "\n      type: ");
        wk_text_quote(out, s->domain);
        wk_text_printf(out, "\n    metrics:\n    - type: %s\n      name: mean %s\n      value: ",
                       completion ? "mean_completion" : "mean_reward",
                       completion ? "completion" : "return");
        wk_text_number(out, s->mean);
        wk_text_puts(out, "\n    - type: cvar_0.1\n      name: mean of the worst tenth\n"
                          "      value: ");
        wk_text_number(out, s->worst_tenth);
        wk_text_puts(out, "\n");
        wk_text_free(&title);
    }
    wk_text_puts(out, "---\n");
}

// What stands for the file of the run's plug-in, which readers have elsewhere: an option, and the
// file alone.
typedef struct plugin_words {
    const char *option, *file;
} plugin_words;

static plugin_words words_of(const wk_card *card)
{
    if (wk_python_spec_source_length(card->config->plugin))
        return (plugin_words){"--python FILE.py:FUNCTION", "FILE.py:FUNCTION"};
    return (plugin_words){"--plugin FILE.so", "FILE.so"};
}

static void put_introduction(const wk_card *card, const char *name, wk_text *out)
{
    wk_text_puts(out, "\n# ");
    put_plain(out, name);
    wk_text_puts(out,
                 "\n\nTask policies and their world model, trained without rewards by waker in "
                 "environments of the domain ");
    put_plain(out, card->domain->name);
    wk_text_puts(out, ", chosen by the curriculum ");
    put_plain(out, card->config->curriculum_rule);
    char steps[WK_STEPS_TEXT_MAX];
    wk_steps_text(card->step, card->domain->action_repeat, steps);
    wk_text_printf(out, ".\nThe policies are %s, from the world model after %s.\n",
                   strcmp(card->policy, "alongside") == 0   ? "those trained alongside"
                   : strcmp(card->policy, "finetuned") == 0 ? "fine-tuned"
                                                            : "adapted",
                   steps);
    if (*card->config->plugin)
        wk_text_printf(out,
                       "\nThe domain comes from a plug-in, which is not part of this folder: "
                       "`plugin.json` has its\ndescription and the SHA-256 of its file. Playing "
                       "needs that file, named by `%s`.\n",
                       words_of(card).option);
}

static void put_results(const wk_card *card, wk_text *out)
{
    wk_text_puts(out,
                 "\n## Results\n\n| task | case | episodes | seed | score | mean | mean of the "
                 "worst tenth (CVaR 0.1) |\n|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < card->n_scores; i++) {
        const wk_result *s = &card->scores[i];
        wk_text_puts(out, "| ");
        put_plain(out, s->task);
        wk_text_puts(out, " | ");
        put_plain(out, s->set);
        wk_text_printf(out, " | %" PRIu64 " | %" PRIu64 " | %s | %.5g | %.5g |\n", s->episodes,
                       s->eval_seed, s->score, s->mean, s->worst_tenth);
    }
    wk_text_puts(out, "\n`dr` is the distribution of environments that training draws from, other "
                      "cases are out of\ndistribution. Every episode is in `eval/`.\n");
}

static void put_replay(const wk_card *card, const wk_card_replay *replay, wk_text *out)
{
    const wk_result *score = card->scores;
    while (strcmp(score->task, replay->task) != 0)
        score++;
    wk_text_puts(out, "\n**");
    put_plain(out, replay->task);
    wk_text_printf(out, "**, first episode of case %s, seed %" PRIu64 ", ", replay->set,
                   replay->seed);
    put_plain(out, replay->theta);
    wk_text_printf(out, ": %s %.5g", score->score, replay->score);
    if (card->has_mp4) wk_text_printf(out, " ([MP4](replay-%s.mp4))", replay->task);
    wk_text_printf(out, "\n\n![](replay-%s.gif)\n", replay->task);
}

static void put_loading(const wk_card *card, wk_text *out)
{
    const char *task = card->scores[0].task;
    bool usual = strcmp(card->policy, "finetuned") != 0 && !card->name;
    wk_text_puts(out, "\n## Load a policy\n\n```python\nimport waker\npolicy = waker.Policy(\".\", "
                      "task=");
    wk_text_quote(out, task);
    if (!usual)
        wk_text_printf(out, ", weights=\"%s%s%s\"", card->policy, card->name ? "." : "",
                       card->name ? card->name : "");
    if (*card->config->plugin) wk_text_printf(out, ", plugin=\"%s\"", words_of(card).file);
    wk_text_puts(out, ")  # \".\": this folder\nenv, state = waker.WakerEnv(policy.domain, task=");
    wk_text_quote(out, task);
    wk_text_puts(out, ", options=policy.options), None\nobservation, info = env.reset(seed=1)\n"
                      "action, state = policy.act(observation, state)\n```\n\n");
    if (*card->config->plugin)
        wk_text_printf(out,
                       "Put the path of the domain's plug-in in place of `%s`. Its code is loaded "
                       "to make the\nenvironment; to act alone the policy needs no `plugin=`.\n\n",
                       words_of(card).file);
    const wk_result *first = card->scores;
    bool dr = strcmp(first->set, "dr") == 0 || strcmp(first->set, "train") == 0;
    wk_text_printf(out, "The folder is read as a run: `waker eval . --policy %s", card->policy);
    if (card->name) wk_text_printf(out, " --name %s", card->name);
    if (dr) wk_text_printf(out, " --envs %" PRIu64, first->episodes);
    if (*card->config->plugin) wk_text_printf(out, " %s", words_of(card).option);
    wk_text_printf(out,
                   " --seed %" PRIu64 " --out again` plays the first episodes\nof the table "
                   "again.\n",
                   first->eval_seed);
    if (card->compact)
        wk_text_puts(out, "\nThe weights are compact: rounded to 16 bits, decoder and reward heads "
                          "to 8, without what only\ntraining needs. They act and imagine. The "
                          "results above are those of the weights before that.\n");
}

static void put_settings(const wk_card *card, wk_text *out)
{
    static const int fields[] = {
        WK_RUN_domain_INDEX,
        WK_RUN_env_options_INDEX,
        WK_RUN_curriculum_rule_INDEX,
        WK_RUN_curriculum_theta_INDEX,
        WK_RUN_exploration_INDEX,
        WK_RUN_steps_INDEX,
        WK_RUN_seed_INDEX,
        WK_RUN_prefill_INDEX,
        WK_RUN_train_every_INDEX,
        WK_RUN_replay_capacity_INDEX,
        WK_RUN_batch_INDEX,
        WK_RUN_length_INDEX,
        WK_RUN_horizon_INDEX,
        WK_RUN_precision_INDEX,
    };
    wk_text_puts(out, "\n## Training\n\n| setting | value |\n|---|---|\n");
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        wk_text value = {0};
        wk_run_config_get(card->config, fields[i], &value);
        if (value.length > 0) {
            wk_text_printf(out, "| %s | ", wk_run_fields[fields[i]].key);
            put_plain(out, wk_text_get(&value));
            wk_text_puts(out, " |\n");
        }
        wk_text_free(&value);
    }
    wk_text_printf(out, "\nAll of them are in `config.yaml` (hash %016" PRIx64 ").\n",
                   wk_run_config_hash(card->config));
}

static void put_files(const wk_card *card, wk_text *out)
{
    wk_text_puts(out, "\n## Files\n\n| file | SHA-256 |\n|---|---|\n");
    for (size_t i = 0; i < card->n_files; i++) {
        // In the type of code where it is a name that we would give.
        const char *path = card->files[i].path;
        bool usual = !path[strspn(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                        "0123456789-_./")];
        wk_text_puts(out, usual ? "| `" : "| ");
        usual ? wk_text_puts(out, path) : put_plain(out, path);
        wk_text_printf(out, "%s | `%s` |\n", usual ? "`" : "", card->files[i].sha256);
    }
    wk_text_printf(out,
                   "\nWeights are safetensors files of %s; what their tensors are is in "
                   "waker's docs/python.md.\n",
                   card->compact ? "float16 and int8" : "float32");
}

void wk_card_readme(const wk_card *card, wk_text *out)
{
    wk_text name = {0};
    wk_text_printf(&name, "%s-%s-%s", card->domain->name, card->config->curriculum_rule,
                   card->policy);
    put_front_matter(card, wk_text_get(&name), out);
    put_introduction(card, wk_text_get(&name), out);
    wk_text_free(&name);
    put_results(card, out);
    if (card->n_replays > 0) wk_text_puts(out, "\n## Replays\n");
    for (size_t i = 0; i < card->n_replays; i++)
        put_replay(card, &card->replays[i], out);
    put_loading(card, out);
    put_settings(card, out);
    put_files(card, out);
}
