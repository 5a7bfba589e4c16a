#include "train/metrics.h"

#include "base/memory.h"
#include "base/random.h"
#include "base/text.h"
#include "plot/heatmap.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME = 192 };

// Adds a value under a name made of a prefix and the name of a task or parameter.
static void note(wk_metrics *metrics, const char *prefix, const char *name, double value)
{
    char full[NAME];
    snprintf(full, sizeof full, "%s%s", prefix, name);
    wk_metrics_scalar(metrics, full, value);
}

static void detail(wk_metrics *metrics, const char *prefix, const char *name, double value)
{
    char full[NAME];
    snprintf(full, sizeof full, "%s%s", prefix, name);
    wk_metrics_detail(metrics, full, value);
}

void wk_metrics_add_episodes(wk_metrics *metrics, const wk_domain *domain, const wk_iteration *done)
{
    double length = 0, diverged = 0, count = done->n_ended;
    for (int i = 0; i < done->n_ended; i++) {
        length += done->ended[i].steps / count;
        diverged += done->ended[i].diverged;
    }
    wk_metrics_scalar(metrics, "train_episodes", count);
    wk_metrics_scalar(metrics, "train_length", length);
    wk_metrics_scalar(metrics, "train_diverged", diverged);
    for (int k = 0; k < domain->n_tasks; k++) {
        double returned = 0, completion = 0;
        for (int i = 0; i < done->n_ended; i++) {
            returned += done->ended[i].returns[k] / count;
            completion += done->ended[i].completion[k] / count;
        }
        note(metrics, "train_return_", domain->tasks[k].name, returned);
        if (domain->tasks[k].has_completion)
            note(metrics, "train_completion_", domain->tasks[k].name, completion);
    }
    // Means over the episodes that have the indicator; nothing where none has it.
    for (int k = 0; k < domain->n_indicators; k++) {
        double sum = 0, known = 0;
        for (int i = 0; i < done->n_ended; i++) {
            double value = done->ended[i].indicators[k];
            sum += isnan(value) ? 0 : value;
            known += !isnan(value);
        }
        if (known > 0) note(metrics, "train_indicator_", domain->indicators[k].name, sum / known);
    }
    for (int p = 0; p < domain->n_params; p++) {
        double mean = 0;
        for (int i = 0; i < done->n_ended; i++)
            mean += done->ended[i].theta[p] / count;
        char number[16];
        snprintf(number, sizeof number, "%d", p);
        note(metrics, "train_env/env_param_", number, mean);
    }
}

static void add_policy(wk_metrics *metrics, const char *name, const wk_policy_metrics *p)
{
    wk_named_metric list[WK_NAMED_METRICS_MAX];
    size_t count = wk_policy_metrics_list(p, list);
    for (size_t i = 0; i < count; i++) {
        char prefix[64];
        snprintf(prefix, sizeof prefix, "train/%s", list[i].name);
        note(metrics, prefix, name, list[i].value);
    }
}

void wk_metrics_add_task(wk_metrics *metrics, const char *name, const wk_task_metrics *m, int k)
{
    note(metrics, "train/reward_loss_", name, m->reward_loss[k]);
    add_policy(metrics, name, &m->policy[k]);
}

// How the curriculum sees its environments: spread of the errors, how far its choice is from the
// default.
static void add_curriculum(wk_metrics *metrics, const wk_curriculum *curriculum)
{
    wk_curriculum_view view = wk_curriculum_get_view(curriculum);
    double sum = 0, max = 0, min = INFINITY, known = 0, visited = 0;
    for (size_t i = 0; i < view.count; i++) {
        visited += view.visits[i] > 0;
        if (isnan(view.error[i])) continue;
        known++;
        sum += view.error[i];
        max = fmax(max, view.error[i]);
        min = fmin(min, view.error[i]);
    }
    wk_metrics_scalar(metrics, "env_sampler/visited", visited);
    wk_metrics_scalar(metrics, "env_sampler/with_error", known);
    wk_metrics_scalar(metrics, "env_sampler/ens_uncert_magnitude_mean", known ? sum / known : NAN);
    wk_metrics_scalar(metrics, "env_sampler/ens_uncert_magnitude_max", known ? max : NAN);
    wk_metrics_scalar(metrics, "env_sampler/ens_uncert_magnitude_min", known ? min : NAN);
    wk_metrics_scalar(metrics, "env_sampler/ignored", (double)wk_curriculum_ignored(curriculum));
}

// Values of single θ, as the authors log them; large grids have the heat maps alone.
static void add_environments(wk_metrics *metrics, wk_trainer *trainer)
{
    enum { VALUES_MAX = 64, NUMBER_MAX = 320 }; // chars of any double by %.4f
    const wk_curriculum *curriculum = trainer->curriculum;
    wk_curriculum_view view = wk_curriculum_get_view(curriculum);
    double probability[VALUES_MAX], episodes = 0;
    if (view.count > VALUES_MAX) return;
    wk_curriculum_distribution(curriculum, probability);
    for (size_t i = 0; i < view.count; i++)
        episodes += (double)view.visits[i];
    for (size_t i = 0; i < view.count; i++) {
        char theta[WK_PARAMS_MAX * NUMBER_MAX + sizeof "[]"] = "[";
        const double *numbers = wk_space_params(trainer->space, i);
        for (int p = 0, used = 1; p < trainer->domain->n_params; p++)
            used += snprintf(theta + used, sizeof theta - (size_t)used, "%s%.4f", p ? " " : "",
                             numbers[p]);
        strcat(theta, "]");
        double visits = (double)view.visits[i];
        detail(metrics, "env_sampler/num_episodes/", theta, visits);
        detail(metrics, "env_sampler/proportion_episodes/", theta, visits / episodes);
        detail(metrics, "env_sampler/ensemble_magnitude_sampling_prob/", theta, probability[i]);
        if (isnan(view.error[i])) continue;
        detail(metrics, "env_sampler/ens_uncert_magnitude/", theta, view.error[i]);
        detail(metrics, "env_sampler/ens_uncert_reduction/", theta,
               isnan(view.reduction[i]) ? 0 : view.reduction[i]);
    }
}

void wk_metrics_add_learner(wk_metrics *metrics, wk_trainer *trainer, const wk_iteration *done,
                            const wk_progress *now)
{
    const wk_learner_metrics *m = &done->learner;
    uint64_t updates, skipped;
    wk_error ignored = {0};
    if (wk_learner_counts(trainer->learner, &updates, &skipped, &ignored) != WK_OK) skipped = 0;
    wk_metrics_scalar(metrics, "train_total_steps", (double)now->steps);
    wk_metrics_scalar(metrics, "train_total_episodes", (double)now->episodes);
    wk_metrics_scalar(metrics, "train_updates", (double)now->updates);
    wk_metrics_scalar(metrics, "train/skipped_updates", (double)skipped);
    const wk_learner_config *config = wk_learner_get_config(trainer->learner);
    wk_named_metric list[WK_NAMED_METRICS_MAX];
    size_t count = wk_learner_metrics_list(config, m, list);
    for (size_t i = 0; i < count; i++)
        note(metrics, "train/", list[i].name, list[i].value);
    if (config->exploration == WK_EXPLORE_PLAN2EXPLORE) add_policy(metrics, "expl", &m->explore);
    for (int k = 0; k < config->tasks; k++)
        wk_metrics_add_task(metrics, trainer->domain->tasks[trainer->tasks[k]].name, &done->tasks,
                            k);
    add_curriculum(metrics, trainer->curriculum);
    add_environments(metrics, trainer);
}

wk_status wk_training_metrics_open(const wk_run_config *config, const wk_metrics_config *where,
                                   const wk_metrics_mark *mark, wk_metrics **out, wk_error *err)
{
    wk_arena texts = {0};
    wk_log_setting settings[WK_RUN_FIELD_COUNT];
    bool room = true;
    for (int i = 0; i < WK_RUN_FIELD_COUNT; i++) {
        const wk_run_field *field = &wk_run_fields[i];
        wk_text value = {0};
        wk_run_config_get(config, i, &value);
        const char *text = wk_arena_string(&texts, wk_text_get(&value));
        bool is_number = field->kind >= WK_RUN_INT && field->kind <= WK_RUN_NUMBER;
        settings[i] = (wk_log_setting){.key = field->key,
                                       .value = text,
                                       .is_number = is_number,
                                       .number = text && is_number ? strtod(text, NULL) : 0};
        room = room && text && !value.failed;
        wk_text_free(&value);
    }
    wk_metrics_config described = *where;
    described.settings = settings;
    described.n_settings = WK_RUN_FIELD_COUNT;
    wk_status status = room ? wk_metrics_open(&described, mark, out, err)
                            : wk_fail(err, WK_E_MEMORY, "no memory for the settings of the logs");
    wk_arena_reset(&texts);
    return status;
}

// An image for each layer, which a card of TensorBoard shows legibly.
static wk_status add_heatmap(wk_metrics *metrics, wk_trainer *trainer, wk_error *err)
{
    static const char *const names[WK_HEATS] = {[WK_HEAT_VISITS] = "train_env/episodes",
                                                [WK_HEAT_ERROR] = "train_env/error",
                                                [WK_HEAT_PROBABILITY] = "train_env/probability"};
    wk_heatmap map;
    WK_TRY(wk_heatmap_create(trainer->domain, trainer->space, trainer->curriculum, &map, err));
    wk_status status = WK_OK;
    for (int h = 0; status == WK_OK && h < WK_HEATS; h++) {
        wk_image image = {0};
        status = wk_heatmap_draw_layer(&map, (wk_heat)h, &image, err);
        if (status == WK_OK) status = wk_metrics_image(metrics, names[h], &image, err);
        wk_image_free(&image);
    }
    wk_heatmap_free(&map);
    return status;
}

wk_status wk_metrics_add_images(wk_metrics *metrics, wk_trainer *trainer, wk_open_loop **loop,
                                wk_error *err)
{
    enum { SEQUENCES = 6, CONTEXT = 5 };
    const wk_run_config *config = &trainer->config;
    int steps = config->length, context = CONTEXT < steps ? CONTEXT : steps - 1;
    WK_TRY(add_heatmap(metrics, trainer, err));
    if (trainer->domain->observation.no_image) return WK_OK;
    if (wk_replay_sampleable(trainer->replay, steps) == 0) return WK_OK;
    if (!*loop) WK_TRY(wk_open_loop_create(trainer->learner, SEQUENCES, steps, context, loop, err));
    const wk_sequences *input = wk_open_loop_input(*loop);
    wk_replay_batch rows = {.images = input->images,
                            .vectors = input->vectors,
                            .actions = input->actions,
                            .first = input->first};
    uint64_t seed = wk_rng_key(config->seed, "pictures");
    WK_TRY(wk_replay_sample(trainer->replay, seed, trainer->counters.steps, SEQUENCES, steps, &rows,
                            err));
    WK_TRY(wk_open_loop_run(*loop, err));
    const wk_image *frames;
    WK_TRY(wk_open_loop_clip(*loop, &frames, err));
    return wk_metrics_clip(metrics, "train_openl_image", frames, (size_t)steps, err);
}

enum { IN_A_ROW_MIN = 100, REASON_MAX = WK_PYTHON_WHY_MAX + 200 };

static const char ADVICE[] =
    "rewards, completions or observations were not finite numbers, or the simulation broke down; "
    "check the domain with 'waker envs check', or narrow the range of its parameters";

// Why episodes diverged: the plug-in's own reason, where it has one, says more than advice for all.
static const char *reason(const wk_divergence *divergence, char out[REASON_MAX])
{
    if (!*divergence->why) return ADVICE;
    snprintf(out, REASON_MAX,
             "an environment failed, the last time because %s; see what 'waker envs check' says "
             "about the domain",
             divergence->why);
    return out;
}

wk_status wk_divergence_check(wk_divergence *divergence, const wk_run_config *config,
                              const wk_iteration *done, const wk_log *log, wk_error *err)
{
    for (int i = 0; i < done->n_ended; i++) {
        const wk_episode_end *end = &done->ended[i];
        int rows = end->steps + 1;
        bool too_short = rows < config->length && !end->diverged;
        divergence->diverged_in_a_row = end->diverged ? divergence->diverged_in_a_row + 1 : 0;
        divergence->empty_in_a_row = end->steps == 0 ? divergence->empty_in_a_row + 1 : 0;
        divergence->short_in_a_row = too_short ? divergence->short_in_a_row + 1 : 0;
        if (too_short && rows > divergence->longest) divergence->longest = rows;
        if (end->diverged && !divergence->warned)
            wk_log_line(log, WK_LOG_WARN,
                        "episode %" PRIu64
                        " diverged after %d agent step%s and ends there; further ones are "
                        "counted in the status line and in metrics.jsonl",
                        end->episode, end->steps, wk_plural((uint64_t)end->steps));
        if (too_short && !divergence->warned_short)
            wk_log_line(log, WK_LOG_WARN,
                        "episode %" PRIu64
                        " has %d row%s, fewer than a sequence of %d, and is not trained "
                        "on; set a smaller length to use it",
                        end->episode, rows, wk_plural((uint64_t)rows), config->length);
        divergence->warned |= end->diverged;
        divergence->warned_short |= too_short;
    }

    // All environments several times over, so that a few bad θ are not taken for all.
    int many = 4 * config->env_count > IN_A_ROW_MIN ? 4 * config->env_count : IN_A_ROW_MIN;
    char why[REASON_MAX];
    if (divergence->diverged_in_a_row >= many)
        return wk_fail(err, WK_E_DIVERGED, "the last %d episodes all diverged: %s",
                       divergence->diverged_in_a_row, reason(divergence, why));
    if (divergence->empty_in_a_row >= many)
        return wk_fail(err, WK_E_DIVERGED,
                       "the last %d episodes all ended at their reset, so no step is made; check "
                       "the domain with 'waker envs check'",
                       divergence->empty_in_a_row);
    if (divergence->short_in_a_row >= many)
        return wk_fail(err, WK_E_INPUT,
                       "the last %d episodes were all shorter than a sequence of %d rows, so "
                       "nothing is learned from them; set length to %d or less",
                       divergence->short_in_a_row, config->length, divergence->longest);
    return WK_OK;
}

wk_status wk_divergence_finish(const wk_divergence *divergence, const wk_run_config *config,
                               const wk_progress *now, wk_error *err)
{
    char why[REASON_MAX];
    if (now->ended > 0 && now->diverged == now->ended)
        return wk_fail(err, WK_E_DIVERGED, "all %" PRIu64 " episodes of the run diverged: %s",
                       now->ended, reason(divergence, why));
    bool complete = strcmp(config->replay_episodes, "complete") == 0;
    // By then every environment could have filled a sequence and an update was due.
    int64_t due = config->prefill + (int64_t)config->length * config->env_count;
    if (now->updates == 0 && (int64_t)now->steps > due + config->train_every)
        return wk_fail(err, WK_E_INPUT,
                       "no update was made in %" PRIu64
                       " agent steps: no %sepisode has the %d rows of a "
                       "sequence; set a smaller length%s",
                       now->steps, complete ? "finished " : "", config->length,
                       complete ? ", or more agent steps, or replay.episodes all" : "");
    return WK_OK;
}
