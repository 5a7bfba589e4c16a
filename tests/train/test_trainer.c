// The training loop on the toy domain at a tiny size: exact resumption from any iteration, what
// each curriculum and exploration policy does, damaged checkpoints.
#include "support/trainer.h"
#include "train/runs.h"

static wk_error err;

#define RUN "trainer.tmp"

static wk_trainer *open_run(const wk_run_config *config)
{
    wk_trainer *t;
    assert_ok(trainer_create(config, RUN, &t, &err));
    return t;
}

static wk_trainer *open_fresh(const wk_run_config *config)
{
    remove_tree(RUN);
    return open_run(config);
}

static void close_and_remove(wk_trainer *t)
{
    trainer_destroy(t);
    remove_tree(RUN);
}

static void run(wk_trainer *t, int iterations)
{
    for (int i = 0; i < iterations; i++)
        assert_ok(trainer_step(t, NULL, &err));
}

// Everything that must be equal: weights and optimisers, curriculum, replay, counters.
typedef struct picture {
    uint64_t steps, episodes, updates, replay_rows, curriculum, weights;
} picture;

static uint64_t hash_of(const void *bytes, size_t size)
{
    uint64_t hash = 0xCBF29CE484222325u;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ ((const unsigned char *)bytes)[i]) * 0x100000001B3u;
    return hash;
}

static uint64_t hash_weights(wk_trainer *t)
{
    char path[] = "weights.XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    assert_ok(wk_learner_save(t->learner, NULL, path, NULL, 0, &err));
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    static char bytes[1 << 20];
    size_t size = fread(bytes, 1, sizeof bytes, file);
    assert_true(size > 1000 && size < sizeof bytes);
    fclose(file);
    remove(path);
    return hash_of(bytes, size);
}

static picture look(wk_trainer *t)
{
    wk_progress p = wk_trainer_progress(t);
    size_t size = wk_curriculum_state_size(t->curriculum);
    char *bytes = malloc(size);
    assert_non_null(bytes);
    wk_curriculum_save(t->curriculum, bytes);
    picture out = {p.steps,
                   p.episodes,
                   p.updates,
                   wk_replay_get_stats(t->replay).rows,
                   hash_of(bytes, size),
                   hash_weights(t)};
    free(bytes);
    return out;
}

static picture uninterrupted(const wk_run_config *config, int iterations)
{
    wk_trainer *t = open_fresh(config);
    run(t, iterations);
    picture out = look(t);
    close_and_remove(t);
    return out;
}

// The same with a checkpoint after `stop` iterations, from which a second trainer goes on.
static picture interrupted(const wk_run_config *config, int stop, int iterations)
{
    wk_trainer *t = open_fresh(config);
    run(t, stop);
    assert_ok(wk_checkpoints_save(&t->checkpoints, &err));
    run(t, 3); // goes on and is killed: what it did since must not count
    trainer_destroy(t);
    t = open_run(config);
    assert_true(t->checkpoints.resumed_from >= 0);
    run(t, iterations - stop);
    picture out = look(t);
    close_and_remove(t);
    return out;
}

TEST_CASE(a_run_that_is_saved_and_resumed_ends_in_the_same_bytes)
{
    // Updates in every second iteration and, on batches staged before, in every one.
    for (int every = 6; every >= 3; every -= 3) {
        wk_run_config config = tiny_run();
        config.train_every = every;
        picture whole = uninterrupted(&config, 125);
        // Stops in the prefill, at an episode's end, and between updates.
        static const int stops[] = {7, 101, 113};
        for (int k = 0; k < 3; k++) {
            picture resumed = interrupted(&config, stops[k], 125);
            assert_memory_equal(&whole, &resumed, sizeof whole);
        }
    }
}

TEST_CASE(every_curriculum_and_both_policies_run_and_resume_exactly)
{
    for (size_t r = 0; r < wk_curriculum_rule_count(); r++) {
        wk_run_config config = tiny_run();
        snprintf(config.curriculum_rule, sizeof config.curriculum_rule, "%s",
                 wk_curriculum_rule_at(r)->name);
        if (r % 2) snprintf(config.exploration, sizeof config.exploration, "random");
        picture whole = uninterrupted(&config, 60), resumed = interrupted(&config, 47, 60);
        assert_true(whole.updates > 5);
        assert_memory_equal(&whole, &resumed, sizeof whole);
    }
}

// θ between those of the grid, chosen by a regression of the error; the same for any number of
// threads, and after resuming.
TEST_CASE(a_continuous_space_is_exact_too)
{
    static const char *const rules[] = {"waker-m", "waker-r"};
    for (int r = 0; r < 2; r++) {
        wk_run_config config = tiny_run();
        snprintf(config.curriculum_rule, sizeof config.curriculum_rule, "%s", rules[r]);
        picture grid = uninterrupted(&config, 60);
        snprintf(config.curriculum_space, sizeof config.curriculum_space, "continuous");
        config.reduction_start = 80;
        config.reduction_every = 20;
        picture whole = uninterrupted(&config, 60), resumed = interrupted(&config, 47, 60);
        assert_memory_equal(&whole, &resumed, sizeof whole);
        assert_true(whole.weights != grid.weights);
        config.env_threads = 3;
        picture threads = uninterrupted(&config, 60);
        assert_memory_equal(&whole, &threads, sizeof whole);
    }
}

// Six parameters: after a round of episodes the error is known all over the space, and the next
// ones are chosen by it.
TEST_CASE(a_run_chooses_among_six_parameters)
{
    wk_run_config config = tiny_run();
    snprintf(config.domain, sizeof config.domain, "terrain-body");
    snprintf(config.curriculum_space, sizeof config.curriculum_space, "continuous");
    config.train_every = 120;
    wk_trainer *t = open_fresh(&config);
    run(t, 505);
    assert_true(wk_trainer_progress(t).episodes == 6);
    wk_curriculum_view view = wk_curriculum_get_view(t->curriculum);
    assert_int_equal(view.count, 1024);
    double probability[1024], least = 1, most = 0;
    wk_curriculum_distribution(t->curriculum, probability);
    for (size_t i = 0; i < view.count; i++) {
        assert_true(isfinite(view.error[i]));
        least = fmin(least, probability[i]);
        most = fmax(most, probability[i]);
    }
    assert_true(least > 0 && most > 2 * least);
    for (size_t e = 0; e < 6; e++) {
        const double *theta = wk_replay_at(t->replay, e).theta;
        for (int k = 0; k < 6; k++) {
            const wk_param *p = &t->domain->params[k];
            assert_true(theta[k] >= p->min && theta[k] <= p->max);
        }
        assert_true(wk_space_find(t->space, theta) == SIZE_MAX);
    }
    close_and_remove(t);
}

// What robust PLR draws from the default distribution is stored and scored, never learned from; but
// for the first episodes of a run without a prefill.
static void assert_curated(int64_t prefill)
{
    wk_run_config config = tiny_run();
    snprintf(config.curriculum_rule, sizeof config.curriculum_rule, "plr-robust");
    config.dr_probability = 0.5;
    config.prefill = prefill;
    wk_trainer *t = open_fresh(&config);
    run(t, 150);
    const wk_replay *replay = t->replay;
    size_t held_out = 0, drawable = wk_replay_sampleable(replay, 1),
           count = wk_replay_count(replay);
    for (size_t i = 0; i < count; i++)
        held_out += wk_replay_at(replay, i).theta_index <= WK_REPLAY_HELD_OUT;
    assert_true(held_out > 0 && held_out < count);
    assert_int_equal(held_out + drawable, count);
    assert_true(scored_thetas(t->curriculum) > 0);
    close_and_remove(t);
}

TEST_CASE(a_curated_rule_learns_from_what_it_chose)
{
    assert_curated(60);
    assert_curated(0);
}

TEST_CASE(task_policies_alongside_do_not_change_the_curriculum)
{
    wk_run_config config = tiny_run();
    picture without = uninterrupted(&config, 80);
    snprintf(config.tasks, sizeof config.tasks, "all");
    picture with = uninterrupted(&config, 80);
    assert_int_equal(with.curriculum, without.curriculum);
    assert_int_equal(with.steps, without.steps);
    assert_int_equal(with.replay_rows, without.replay_rows);
    snprintf(config.tasks, sizeof config.tasks, "eats");
    wk_trainer *t;
    assert_refused(trainer_create(&config, "trainer.none", &t, &err), WK_E_NOT_FOUND, "east");
    remove_tree("trainer.none");
}

TEST_CASE(a_damaged_checkpoint_gives_way_to_the_one_before)
{
    wk_run_config config = tiny_run();
    char newest[80];
    wk_trainer *t = open_fresh(&config);
    uint64_t first = 0;
    for (int k = 0; k < 3; k++) {
        run(t, 30);
        if (k == 1) first = wk_trainer_progress(t).steps;
        assert_ok(wk_checkpoints_save(&t->checkpoints, &err));
    }
    snprintf(newest, sizeof newest, RUN "/checkpoints/step-%012d/run.bin",
             (int)wk_trainer_progress(t).steps);
    trainer_destroy(t);
    damage(newest, 200);
    t = open_run(&config);
    assert_int_equal(t->checkpoints.resumed_from, first);
    assert_non_null(strstr(t->checkpoints.trouble, "damaged"));
    run(t, 5);
    trainer_destroy(t);

    config.batch = 3;
    assert_refused(trainer_create(&config, RUN, &t, &err), WK_E_INPUT, "another");
    remove_tree(RUN);
}

#define LOG RUN "/replay/replay-00000000.log"

// A run killed after iteration 95 with checkpoints at 60 and 90; tells what they say.
static void two_checkpoints(const wk_run_config *config, wk_checkpoint_summary at[2])
{
    wk_trainer *t = open_fresh(config);
    for (int k = 0; k < 2; k++) {
        run(t, k == 0 ? 60 : 30);
        assert_ok(wk_checkpoints_save(&t->checkpoints, &err));
        assert_ok(wk_checkpoint_summarise(RUN, wk_trainer_progress(t).steps, &at[k], &err));
        assert_int_equal(at[k].head.replay.segment, 0);
    }
    run(t, 5);
    trainer_destroy(t);
}

static bool has_file(const char *format, uint64_t step)
{
    char name[256];
    snprintf(name, sizeof name, format, step); // NOLINT: the callers' own
    return wk_path_exists(name);
}

TEST_CASE(a_replay_log_damaged_after_an_older_checkpoint_goes_back_to_that_one)
{
    wk_run_config config = tiny_run();
    picture whole = uninterrupted(&config, 125);
    char *before, *after;
    size_t before_size, after_size;
    wk_checkpoint_summary at[2];
    two_checkpoints(&config, at);
    damage(LOG, (at[0].head.replay.offset + at[1].head.replay.offset) / 2);
    assert_ok(wk_file_read(LOG, 1 << 24, &before, &before_size, &err));

    wk_trainer *t = open_run(&config);
    assert_int_equal(t->checkpoints.resumed_from, at[0].counters.steps);
    assert_non_null(strstr(t->checkpoints.trouble, "replay-00000000.log' is damaged at byte"));
    // Nothing is lost: what could not be used lies beside what is.
    assert_ok(wk_file_read(RUN "/replay/damaged-replay-00000000.log", 1 << 24, &after, &after_size,
                           &err));
    assert_int_equal(after_size, before_size);
    assert_memory_equal(after, before, before_size);
    assert_true(
        has_file(RUN "/checkpoints/damaged-step-%012" PRIu64 "/run.bin", at[1].counters.steps));
    assert_false(has_file(RUN "/checkpoints/step-%012" PRIu64, at[1].counters.steps));

    run(t, 125 - 60);
    picture resumed = look(t);
    assert_memory_equal(&whole, &resumed, sizeof whole);
    trainer_destroy(t);
    free(before);
    free(after);
    remove_tree(RUN);
}

TEST_CASE(a_replay_log_damaged_before_every_checkpoint_is_reported_and_left_alone)
{
    wk_run_config config = tiny_run();
    wk_checkpoint_summary at[2];
    two_checkpoints(&config, at);
    damage(LOG, at[0].head.replay.offset - 10);
    wk_trainer *t;
    assert_refused(trainer_create(&config, RUN, &t, &err), WK_E_FORMAT,
                   "cannot resume from any of the 2 checkpoints");
    assert_non_null(strstr(err.message, "restore a sound copy"));
    for (int k = 0; k < 2; k++)
        assert_true(has_file(RUN "/checkpoints/step-%012" PRIu64 "/run.bin", at[k].counters.steps));
    // With the file as it was everything is there again.
    damage(LOG, at[0].head.replay.offset - 10);
    t = open_run(&config);
    assert_int_equal(t->checkpoints.resumed_from, at[1].counters.steps);
    close_and_remove(t);
}

TEST_CASE(prefill_takes_random_actions_and_no_updates)
{
    wk_run_config config = tiny_run();
    config.prefill = 100000;
    wk_trainer *t = open_fresh(&config);
    int ended = 0;
    for (int i = 0; i < 110; i++) {
        const wk_iteration *done;
        assert_ok(trainer_step(t, &done, &err));
        assert_int_equal(done->updates, 0);
        for (int k = 0; k < done->n_ended; k++) {
            assert_int_equal(done->ended[k].steps, t->domain->episode_steps);
            assert_true(done->ended[k].returns[0] >= 0 && done->ended[k].returns[0] <= 100);
        }
        ended += done->n_ended;
    }
    assert_int_equal(ended, 3 * (109 / (t->domain->episode_steps + 1)));
    assert_true(wk_trainer_progress(t).prefilling);
    close_and_remove(t);
}

TEST_MAIN(NULL, NULL)
