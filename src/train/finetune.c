#include "train/finetune.h"

#include "base/random.h"
#include "replay/codec.h"
#include "run/saved_run.h"
#include "run/world.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct finetune {
    const wk_finetune_config *config;
    wk_saved_run run;            // that it begins with
    wk_run_config own;           // its own configuration
    const wk_run_reward *reward; // of a task that was added to the run later; else NULL
    wk_relabelled *extended;     // the domain with that task
    const wk_domain *domain;     // that it collects in
    uint64_t step;               // of the world model
    char source[WK_PATH_MAX];    // weights to begin with,
    char tasks[WK_RUN_TEXT_MAX]; // the tasks they have policies for
    int member;                  // and ours among them
    char result[WK_PATH_MAX];
    wk_data_cutoff cutoff; // of the run's data
} finetune;

// Where `task` stands in a list of names; -1 when it does not.
static int place_of(const char *task, const char *list)
{
    for (int place = 0; *list; place++) {
        size_t length = strcspn(list, ",");
        if (strlen(task) == length && memcmp(task, list, length) == 0) return place;
        list += length + (list[length] == ',');
    }
    return -1;
}

// Looks for the task's policy among weights of one origin.
static wk_status find_weights(finetune *f, wk_weights_source source, wk_error *err)
{
    const wk_finetune_config *c = f->config;
    WK_TRY(wk_weights_find(c->directory, source, c->snapshot, &f->step, err));
    wk_weights_path(c->directory, source, f->step, f->source);
    WK_TRY(wk_weights_tasks(f->source, f->tasks, err));
    f->member = place_of(c->task, f->tasks);
    if (f->member >= 0) return WK_OK;
    return wk_fail(err, WK_E_NOT_FOUND, "'%s' has policies for %s and not for '%s'", f->source,
                   f->tasks, c->task);
}

// The domain to collect in. New episodes must have the reward by which the old ones were
// relabelled.
static wk_status find_task(finetune *f, wk_error *err)
{
    int task;
    const wk_saved_run *run = &f->run;
    WK_TRY(wk_domain_task(run->world.domain, f->config->task, &task, err));
    if (wk_run_rewards_in_replay(&run->rewards))
        return wk_fail(
            err, WK_E_UNSUPPORTED,
            "'%s' is itself a fine-tuning for a task that was added to its run; fine-tune "
            "that run with more --steps, or another --name",
            f->config->directory);
    f->domain = run->replay_domain;
    if (task < run->replay_domain->n_tasks) return WK_OK;
    WK_TRY(wk_saved_run_playable(run, task, err));
    f->reward = &run->rewards.items[task - run->replay_domain->n_tasks];
    if (f->reward->changed)
        return wk_fail(err, WK_E_INPUT,
                       "the rewards of '%s' in '%s' were computed by other code than this; compute "
                       "them again ('waker relabel --restart') and adapt again",
                       f->config->task, f->config->directory);
    const wk_added_task added = {f->config->task, f->reward->code};
    WK_TRY(wk_relabelled_create(run->replay_domain, &added, 1, &f->extended, err));
    f->domain = f->run.code.relabelled = wk_relabelled_domain(f->extended);
    return WK_OK;
}

static wk_status find_policy(finetune *f, wk_error *err)
{
    wk_error adapted = {0}, other = {0};
    wk_weights_source source = {.kind = WK_WEIGHTS_ADAPTED, .name = f->config->name};
    wk_status status = find_weights(f, source, source.name ? &other : &adapted);
    if (status == WK_E_NOT_FOUND && source.name) {
        source.name = NULL;
        status = find_weights(f, source, &adapted);
    }
    source.kind = WK_WEIGHTS_SNAPSHOT;
    if (status == WK_E_NOT_FOUND) status = find_weights(f, source, &other);
    if (status == WK_OK) return WK_OK;
    return wk_fail(err, status, "there is no policy to start from: %s", adapted.message);
}

// Whether episodes are chosen by the run's own rule.
static bool own_rule(const finetune *f)
{
    return f->config->curriculum && strcmp(f->config->curriculum, "run") == 0;
}

static wk_status make_config(finetune *f, wk_error *err)
{
    const wk_finetune_config *c = f->config;
    wk_run_config *own = &f->own;
    *own = f->run.config;
    // Environments and weights draw from other streams than the run's did.
    wk_rng rng = wk_rng_stream(f->run.config.seed, "finetune", f->step);
    own->seed = c->seed ? *c->seed : wk_rng_u32(&rng);
    own->steps = c->steps;
    own->minutes = 0;
    own->prefill = 0;
    snprintf(own->tasks, sizeof own->tasks, "%s", c->task);
    snprintf(own->acting, sizeof own->acting, "%s", c->task);
    if (c->device) snprintf(own->device, sizeof own->device, "%s", c->device);
    if (c->threads > 0) own->env_threads = c->threads;
    if (!own_rule(f)) {
        snprintf(own->curriculum_rule, sizeof own->curriculum_rule, "%s",
                 c->curriculum ? c->curriculum : "dr");
        own->curriculum_plugin[0] = 0;
    }
    return wk_run_config_check(own, f->domain, err);
}

// Rows on their way from one replay to the other: whole blocks, so that each is unpacked once.
enum { ROWS = 4 * WK_BLOCK_ROWS };
typedef struct rows {
    uint8_t images[ROWS * WK_IMAGE_BYTES], flags[ROWS];
    float vectors[ROWS * WK_VECTOR_MAX];
    float actions[ROWS * WK_ACTION_MAX];
    float rewards[ROWS * WK_TASKS_MAX], completion[ROWS * WK_TASKS_MAX];
    const float *added; // of the episode: rewards of the last task of the new replay; NULL: none
} rows;

static wk_status copy_episode(wk_replay *from, size_t i, wk_replay *to, rows *r, wk_error *err)
{
    const wk_replay_config *sizes = wk_replay_settings(from);
    size_t width = (size_t)sizes->action_size, tasks = (size_t)sizes->n_tasks;
    size_t numbers = (size_t)sizes->observation.vector;
    bool has_images = !sizes->observation.no_image;
    const wk_replay_batch out = {.images = r->images,
                                 .vectors = r->vectors,
                                 .actions = r->actions,
                                 .rewards = r->rewards,
                                 .completion = r->completion,
                                 .flags = r->flags};
    wk_replay_episode episode = wk_replay_at(from, i);
    for (uint32_t t = 0; t < episode.rows; t++) {
        uint32_t left = episode.rows - t;
        size_t at = t % ROWS;
        if (at == 0) wk_replay_read(from, i, t, left < ROWS ? left : ROWS, &out);
        float rewards[WK_TASKS_MAX] = {0}, completion[WK_TASKS_MAX] = {0};
        memcpy(rewards, r->rewards + at * tasks, tasks * sizeof *rewards);
        memcpy(completion, r->completion + at * tasks, tasks * sizeof *completion);
        if (r->added) rewards[tasks] = r->added[t];
        const wk_replay_row row = {.slot = 0,
                                   .image = has_images ? r->images + at * WK_IMAGE_BYTES : NULL,
                                   .vector = numbers > 0 ? r->vectors + at * numbers : NULL,
                                   .action = t ? r->actions + at * width : NULL,
                                   .rewards = rewards,
                                   .completion = completion,
                                   .flags = r->flags[at],
                                   .theta = episode.theta,
                                   .theta_index = episode.theta_index};
        WK_TRY(wk_replay_append(to, &row, 1, err));
    }
    const wk_replay_row end = {.slot = 0};
    return wk_replay_running(to, 0) ? wk_replay_append(to, &end, 1, err) : WK_OK;
}

// The run's episodes, as they were when the policy's world model was saved.
static wk_status copy_data(finetune *f, wk_replay *to, wk_error *err)
{
    const wk_finetune_config *c = f->config;
    wk_replay *from = NULL;
    wk_reward_table table = {0};
    WK_TRY(wk_saved_run_open_replay(&f->run, NULL, &from, err));
    wk_data_cutoff_apply(from, &f->cutoff);
    rows *r = malloc(sizeof *r);
    wk_status status = r ? WK_OK : wk_fail(err, WK_E_MEMORY, "no memory for %d rows", ROWS);
    if (status == WK_OK && f->reward)
        status = wk_reward_table_read(c->directory, c->task, &table, err);
    if (status == WK_OK && f->reward)
        status = wk_run_reward_covers(c->directory, &table, from, err);
    for (size_t i = 0; i < wk_replay_count(from) && status == WK_OK; i++) {
        uint64_t length, id = wk_replay_at(from, i).id;
        r->added = f->reward ? wk_reward_table_find(&table, id, &length) : NULL;
        status = copy_episode(from, i, to, r, err);
    }
    free(r);
    wk_reward_table_free(&table);
    wk_replay_destroy(from);
    return status;
}

// The task that the run has besides its domain's is labelled there, so that its data can be read.
static wk_status label_task(const finetune *f, const wk_dir *directory, wk_error *err)
{
    wk_dir *folder = NULL;
    wk_reward_table table;
    wk_status status = wk_reward_table_create(NULL, 0, &table, err);
    table.label = f->reward->label;
    table.label.in_replay = true;
    if (status == WK_OK) status = wk_dir_make(directory, WK_REWARD_FOLDER, &folder, err);
    if (status == WK_OK) status = wk_reward_table_write(&table, folder, err);
    wk_dir_close(folder);
    wk_reward_table_free(&table);
    return status;
}

// What a new run begins with: the policy, its world model, and the data of both.
static wk_status prepare(void *context, wk_trainer *trainer, wk_error *err)
{
    finetune *f = context;
    wk_learner *learner = trainer->learner;
    WK_TRY(wk_learner_restore_weights(learner, f->source, WK_WEIGHTS_WORLD, err));
    WK_TRY(wk_learner_restore_task(learner, f->source, f->member, err));
    if (f->reward) WK_TRY(label_task(f, trainer->directory, err));
    WK_TRY(copy_data(f, trainer->replay, err));
    trainer->schedule.copied_episodes = wk_data_cutoff_now(trainer->replay).begun;
    return WK_OK;
}

static wk_status finish(void *context, wk_trainer *trainer, wk_error *err)
{
    finetune *f = context;
    wk_weights_origin origin = {&f->own, f->domain, f->step, &f->cutoff};
    return wk_weights_save(trainer->learner, &origin, trainer->directory, "weights.safetensors",
                           err);
}

// Weights of fewer steps may be there, when a longer run was killed before it wrote its own.
static wk_status is_finished(void *context, wk_trainer *trainer, bool *out, wk_error *err)
{
    finetune *f = context;
    char snapshot[WK_PATH_MAX];
    wk_weights_path(wk_dir_path(trainer->directory),
                    (wk_weights_source){.kind = WK_WEIGHTS_SNAPSHOT},
                    wk_trainer_progress(trainer).steps, snapshot);
    return wk_weights_same(f->result, snapshot, out, err);
}

static wk_status open_parts(finetune *f, const wk_log *log, wk_error *err)
{
    const wk_saved_run_options options = {
        .depth = WK_SAVED_WORLD, .plugins = &f->config->named, .rule = own_rule(f), .log = log};
    WK_TRY(wk_weights_check_name(f->config->name, err));
    if (f->config->named.rule && !own_rule(f))
        return wk_fail(err, WK_E_INPUT,
                       "--curriculum.plugin provides the run's own rule: add --curriculum run");
    WK_TRY(wk_saved_run_open(f->config->directory, &options, &f->run, err));
    WK_TRY(find_task(f, err));
    WK_TRY(find_policy(f, err));
    WK_TRY(wk_weights_data_cutoff(f->source, &f->cutoff, err));
    WK_TRY(make_config(f, err));
    const wk_weights_source source = {WK_WEIGHTS_FINETUNED, f->config->task, f->config->name};
    wk_weights_path(f->config->directory, source, f->step, f->result);
    wk_log_line(log, WK_LOG_INFO, "starts from the policy in '%s'", f->source);
    return WK_OK;
}

wk_status wk_finetune(const wk_finetune_config *config, const wk_run_control *control,
                      wk_run_end *end, wk_error *err)
{
    finetune *f = calloc(1, sizeof *f);
    if (!f) return wk_fail(err, WK_E_MEMORY, "no memory to fine-tune");
    f->config = config;
    const wk_train_extras extras = {.code = &f->run.code,
                                    .within = config->directory,
                                    .prepare = prepare,
                                    .finish = finish,
                                    .is_finished = is_finished,
                                    .context = f};
    wk_status status = open_parts(f, &control->log, err);
    if (status == WK_OK) {
        char folder[WK_PATH_MAX];
        snprintf(folder, sizeof folder, "%s", f->result);
        *strrchr(folder, '/') = 0;
        status = wk_train(&f->own, folder, &extras, control, end, err);
    }
    wk_saved_run_close(&f->run);
    wk_relabelled_destroy(f->extended);
    free(f);
    return status;
}
