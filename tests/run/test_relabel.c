// Rewards after the fact, in the library: a task that is defined anew gets the stored numbers bit
// for bit, whatever the number of threads; what a file of rewards that is damaged says.
#include "env/plugins/relabelled.h"
#include "run/rewards.h"
#include "run/saved_run.h"
#include "support/toy_domain.h"
#include "train/runs.h"
#include "waker/reward.h"
#include <math.h>
#include <pthread.h>

#define PLUGINS WAKER_BINARY_DIR "/tests/plugins/"
#define RUN "relabel.tmp"

static wk_error err;

static int teardown(void **state)
{
    remove_tree(RUN);
    return 0;
}

static void collect(const char *domain, int64_t steps)
{
    wk_run_config config = quiet_run();
    remove_tree(RUN);
    snprintf(config.domain, sizeof config.domain, "%s", domain);
    config.steps = steps;
    run_to_end(&config, RUN);
}

static wk_relabel_result relabel(const char *reward, int threads)
{
    wk_relabel_result result;
    const wk_relabel_config config = {.directory = RUN, .reward = reward, .threads = threads};
    err = (wk_error){0};
    assert_ok(wk_relabel(&config, NULL, NULL, &result, &err));
    assert_string_equal(err.message, ""); // what was not there and need not be is no error
    return result;
}

// Fails unless the task "again" has the stored rewards of the task number `task`.
static void same_as_stored(int task)
{
    wk_saved_run run = {0};
    wk_replay *replay = NULL;
    wk_reward_table table = {0};
    const wk_saved_run_options options = {.depth = WK_SAVED_CHECKPOINT};
    assert_ok(wk_saved_run_open(RUN, &options, &run, &err));
    assert_ok(wk_saved_run_open_replay(&run, NULL, &replay, &err));
    assert_ok(wk_reward_table_read(RUN, "again", &table, &err));
    assert_int_equal(run.world.domain->n_tasks, run.replay_domain->n_tasks + 1);
    assert_int_equal(table.count, wk_replay_count(replay));
    size_t tasks = (size_t)run.replay_domain->n_tasks;
    int different = 0;
    for (size_t i = 0; i < table.count; i++) {
        wk_replay_episode episode = wk_replay_at(replay, i);
        uint64_t rows;
        const float *again = wk_reward_table_find(&table, episode.id, &rows);
        float *stored = calloc(episode.rows * tasks, sizeof *stored);
        assert_int_equal(rows, episode.rows);
        wk_replay_read(replay, i, 0, episode.rows, &(wk_replay_batch){.rewards = stored});
        for (uint32_t t = 0; t < episode.rows; t++) {
            const float *then = &stored[t * tasks + (size_t)task];
            if (memcmp(&again[t], then, sizeof *then) != 0)
                fail_msg("episode %zu, step %u: %.9g, stored %.9g", i, t, (double)again[t],
                         (double)*then);
            different += again[t] != again[0];
        }
        free(stored);
    }
    assert_true(different > 0);
    wk_reward_table_free(&table);
    wk_replay_destroy(replay);
    wk_saved_run_close(&run);
}

TEST_CASE(tasks_defined_anew_get_the_stored_numbers_bit_for_bit)
{
    static const struct {
        const char *domain, *reward;
        int64_t steps;
        int task;
    } cases[] = {{"terrain-walker", PLUGINS "again_stand.so", 150, 0},
                 {"dmc-walker", PLUGINS "again_stand.so", 90, -1},
                 {"clean-up", PLUGINS "again_sort.so", 150, 0},
                 {"toy", PLUGINS "again_west.so", 400, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        collect(cases[i].domain, cases[i].steps);
        wk_relabel_result result = relabel(cases[i].reward, 2);
        assert_string_equal(result.name, "again");
        assert_int_equal(result.simulated, result.episodes);
        // The suite's walker measures its height from the floor.
        if (cases[i].task >= 0) same_as_stored(cases[i].task);
    }
}

TEST_CASE(threads_and_repetition_change_nothing)
{
    char *first, *second;
    size_t sizes[2];
    collect("toy", 400);
    relabel(PLUGINS "again_west.so", 1);
    assert_ok(wk_file_read(RUN "/rewards/again.safetensors", 1 << 20, &first, &sizes[0], &err));
    assert_int_equal(relabel(PLUGINS "again_west.so", 2).simulated, 0);
    assert_int_equal(unlink(RUN "/rewards/again.safetensors"), 0);
    relabel(PLUGINS "again_west.so", 3);
    assert_ok(wk_file_read(RUN "/rewards/again.safetensors", 1 << 20, &second, &sizes[1], &err));
    assert_int_equal(sizes[0], sizes[1]);
    assert_memory_equal(first, second, sizes[0]);
    free(first);
    free(second);
}

TEST_CASE(episodes_that_came_since_are_added)
{
    collect("toy", 200);
    wk_relabel_result before = relabel(PLUGINS "again_west.so", 1);
    wk_run_config config = quiet_run();
    run_to_end(&config, RUN);
    wk_relabel_result after = relabel(PLUGINS "again_west.so", 1);
    assert_true(after.episodes > before.episodes);
    // Those that had ended are not simulated again; the three that were running are.
    assert_true(after.simulated <= after.episodes - before.episodes + 3);
    same_as_stored(0);
}

// `west` of toy, as a function of the caller's; at `stop` it gives up, at `nan` it is no number.
typedef struct caller {
    int episodes, stop, nan;
    pthread_t thread;
} caller;

static bool west_of_caller(void *context, const wk_recorded_episode *e, double *rewards)
{
    caller *c = context;
    assert_true(pthread_equal(c->thread, pthread_self()));
    assert_int_equal(e->widths[0], 2);
    assert_int_equal(e->widths[1], 0); // "altitude?" is missing
    assert_string_equal(e->domain->name, "toy");
    if (c->episodes++ == c->stop) return false;
    for (size_t i = 0; i < e->control_steps; i++) {
        const double *at = e->states[0] + 2 * (1 + i);
        rewards[i] = fmax(0, 1 - hypot(at[0] + 0.7, at[1]));
        assert_int_equal(e->step[i], i); // one control step in each agent step
    }
    for (size_t t = 0; t < e->steps; t++)
        assert_true((float)rewards[t] == e->rewards[t * (size_t)e->domain->n_tasks]);
    if (c->episodes == c->nan) rewards[0] = NAN;
    return true;
}

static const char *const west_reads[] = {"position", "altitude?"};

static wk_recorded_reward west_recorded(caller *c)
{
    *c = (caller){.stop = -1, .nan = -1, .thread = pthread_self()};
    return (wk_recorded_reward){
        .name = "again",
        .reads = west_reads,
        .n_reads = 2,
        .path = "/somewhere/west.py",
        .sha256 = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        .reward = west_of_caller,
        .context = c};
}

TEST_CASE(a_function_of_the_caller_gets_whole_episodes)
{
    caller c;
    wk_relabel_result result;
    wk_recorded_reward reward = west_recorded(&c);
    const wk_relabel_config config = {.directory = RUN, .recorded = &reward, .threads = 3};
    collect("toy", 400);
    assert_ok(wk_relabel_run(&config, &result, &err));
    assert_int_equal(c.episodes, result.episodes);
    same_as_stored(0);
    // What is there is not asked for again, nor can it be played by the program.
    assert_ok(wk_relabel_run(&config, &result, &err));
    assert_int_equal(c.episodes, result.episodes);
    wk_saved_run run = {0};
    const wk_named_plugins none = {0};
    const wk_saved_run_options options = {.depth = WK_SAVED_WORLD, .plugins = &none};
    assert_ok(wk_saved_run_open(RUN, &options, &run, &err));
    assert_refused(wk_saved_run_playable(&run, run.replay_domain->n_tasks, &err), WK_E_INPUT,
                   "/somewhere/west.py, which is not a plug-in");
    wk_saved_run_close(&run);
}

static void refused(const wk_recorded_reward *reward, wk_status status, const char *message)
{
    wk_relabel_result result;
    const wk_relabel_config config = {.directory = RUN, .recorded = reward, .threads = 2};
    assert_refused(wk_relabel_run(&config, &result, &err), status, message);
    assert_int_not_equal(access(RUN "/rewards", F_OK), 0);
}

TEST_CASE(a_function_that_fails_leaves_the_run_as_it_was)
{
    caller c;
    wk_recorded_reward reward = west_recorded(&c);
    collect("toy", 400);
    c.stop = 3;
    refused(&reward, WK_E_INPUT, "'again' failed at episode");
    reward = west_recorded(&c);
    c.nan = 2;
    refused(&reward, WK_E_INPUT, "'again' is not a finite number at step 1 of episode");
    reward.reads = (const char *const[]){"position", "altitude"};
    refused(&reward, WK_E_NOT_FOUND, "no 'altitude'");
    reward = west_recorded(&c);
    reward.sha256 = "none";
    refused(&reward, WK_E_INPUT, "the SHA-256 of its code");
    reward.name = "all";
    refused(&reward, WK_E_INPUT, "'all'");
    reward.reward = NULL;
    refused(&reward, WK_E_INPUT, "without a function");
    refused(NULL, WK_E_INPUT, "one of them");
}

// A byte of a file of rewards flipped, at many places: never taken for another.
TEST_CASE(damaged_files_are_refused)
{
    char *bytes;
    size_t size;
    wk_reward_table table;
    collect("toy", 120);
    relabel(PLUGINS "again_west.so", 1);
    assert_ok(wk_file_read(RUN "/rewards/again.safetensors", 1 << 20, &bytes, &size, &err));
    for (size_t i = 0; i < size; i += 31) { // each is a file that is made durable
        bytes[i] ^= 1;
        assert_ok(wk_file_write(RUN "/rewards/again.safetensors", bytes, size, &err));
        if (wk_reward_table_read(RUN, "again", &table, &err) == WK_OK)
            fail_msg("byte %zu of %zu was changed and nobody noticed", i, size);
        bytes[i] ^= 1;
    }
    assert_refused(wk_reward_table_read(RUN, "none", &table, &err), WK_E_NOT_FOUND, "none");
    assert_ok(wk_file_write(RUN "/rewards/other.safetensors", bytes, size, &err));
    assert_refused(wk_reward_table_read(RUN, "other", &table, &err), WK_E_FORMAT, "'again'");
    free(bytes);
}

static double position(const wk_reward_view *view, void *memory)
{
    (void)memory;
    int count;
    const double *x = view->read(view->simulation, "x", &count);
    return x ? *x : 0;
}

TEST_CASE(domains_that_cannot_be_read_say_so)
{
    toy sound = toy_make(TOY_SOUND);
    const wk_reward reward = {
        .abi = WK_REWARD_ABI, .size = sizeof reward, .name = "x", .reward = position};
    wk_relabelled *r = NULL;
    const wk_added_task added = {"x", &reward}, taken = {"right", &reward}, described = {"x", NULL};
    sound.domain.read = NULL;
    assert_refused(wk_relabelled_create(&sound.domain, &added, 1, &r, &err), WK_E_UNSUPPORTED,
                   "does not let its state be read");
    // One that was built before there was anything to read.
    sound.domain.size = offsetof(wk_domain, read);
    assert_ok(wk_domain_check(&sound.domain, &err));
    assert_refused(wk_relabelled_create(&sound.domain, &added, 1, &r, &err), WK_E_UNSUPPORTED,
                   "the function `read`");
    assert_refused(wk_relabelled_create(&sound.domain, &taken, 1, &r, &err), WK_E_INPUT,
                   "has the name of a task");
    assert_ok(wk_relabelled_create(&sound.domain, &described, 1, &r, &err));
    assert_int_equal(wk_relabelled_domain(r)->n_tasks, sound.domain.n_tasks + 1);
    wk_relabelled_destroy(r);
    toy worldless = toy_make(TOY_CREATE_NOTHING);
    const wk_domain *readable;
    wk_env *env;
    assert_ok(wk_domain_find("toy", &readable, &err));
    worldless.domain.read = readable->read;
    assert_ok(wk_relabelled_create(&worldless.domain, &added, 1, &r, &err));
    assert_refused(wk_env_create(wk_relabelled_domain(r), NULL, &env, &err), WK_E_INPUT,
                   "create returns no world; set *env");
    wk_relabelled_destroy(r);
}

static double counted(const wk_reward_view *view, void *memory)
{
    int count;
    assert_non_null(view->action);
    return (*(double *)memory += 1) + view->read(view->simulation, "position", &count)[0];
}

// A saved state continues with what the reward kept of the episode.
TEST_CASE(a_saved_state_has_the_memory_of_the_reward)
{
    const wk_domain *inner;
    const wk_reward reward = {.abi = WK_REWARD_ABI,
                              .size = sizeof reward,
                              .name = "counted",
                              .memory = sizeof(double),
                              .reward = counted};
    const wk_added_task added = {"counted", &reward};
    wk_relabelled *r = NULL;
    wk_env *a, *b;
    assert_ok(wk_domain_find("toy", &inner, &err));
    assert_ok(wk_relabelled_create(inner, &added, 1, &r, &err));
    const wk_domain *domain = wk_relabelled_domain(r);
    assert_ok(wk_env_create(domain, NULL, &a, &err));
    assert_ok(wk_env_create(domain, NULL, &b, &err));
    const double theta = 0.5;
    const float action[] = {0.5F, -0.25F};
    float first[3], second[3];
    assert_ok(wk_env_reset(a, &theta, 1, 1, 2, &(wk_frame){0}, &err));
    for (int i = 0; i < 5; i++)
        assert_ok(wk_env_step(a, action, &(wk_frame){.rewards = first}, &err));
    char bytes[1024];
    assert_ok(wk_env_save(a, bytes, wk_env_state_size(a), &err));
    assert_ok(wk_env_load(b, bytes, wk_env_state_size(a), &err));
    assert_ok(wk_env_step(a, action, &(wk_frame){.rewards = first}, &err));
    assert_ok(wk_env_step(b, action, &(wk_frame){.rewards = second}, &err));
    assert_memory_equal(first, second, sizeof first);
    assert_true(first[2] > 5 && first[2] < 7);
    wk_env_destroy(a);
    wk_env_destroy(b);
    wk_relabelled_destroy(r);
}

// A domain of vectors that draws nothing and saves no states.
static void observe_position(void *env, float *vector)
{
    const wk_domain *inner;
    int count;
    assert_ok(wk_domain_find("toy", &inner, &err));
    const double *at = inner->read(env, "position", &count);
    vector[0] = (float)at[0];
    vector[1] = (float)at[1];
}

static size_t no_state(const void *env)
{
    (void)env;
    return WK_STATE_NONE;
}

static double aligned(const wk_reward_view *view, void *memory)
{
    (void)view;
    assert_int_equal((uintptr_t)memory % _Alignof(max_align_t), 0);
    return 1;
}

TEST_CASE(a_reward_leaves_what_is_seen_and_saved_as_it_is)
{
    const wk_domain *inner;
    assert_ok(wk_domain_find("toy", &inner, &err));
    wk_domain domain = *inner;
    domain.observation = (wk_observation_spec){.vector = 2, .no_image = true};
    domain.observe = observe_position;
    domain.render = NULL;
    domain.state_size = no_state;
    const wk_reward odd = {
        .abi = WK_REWARD_ABI, .size = sizeof odd, .name = "odd", .memory = 1, .reward = aligned};
    wk_reward even = odd;
    even.name = "even";
    const wk_added_task added[] = {{"odd", &odd}, {"even", &even}};
    wk_relabelled *r = NULL;
    wk_env *plain, *with;
    assert_ok(wk_relabelled_create(&domain, added, 2, &r, &err));
    assert_ok(wk_env_create(&domain, NULL, &plain, &err));
    assert_ok(wk_env_create(wk_relabelled_domain(r), NULL, &with, &err));
    const double theta = 0.5;
    const float action[] = {0.5F, -0.25F};
    float seen[2], expected[2], rewards[4];
    assert_ok(wk_env_reset(plain, &theta, 1, 1, 2, &(wk_frame){.vector = expected}, &err));
    assert_ok(wk_env_reset(with, &theta, 1, 1, 2, &(wk_frame){.vector = seen}, &err));
    assert_memory_equal(seen, expected, sizeof seen);
    assert_ok(wk_env_step(plain, action, &(wk_frame){.vector = expected}, &err));
    assert_ok(wk_env_step(with, action, &(wk_frame){.vector = seen, .rewards = rewards}, &err));
    assert_memory_equal(seen, expected, sizeof seen);
    assert_true(rewards[2] == 1 && rewards[3] == 1);
    assert_int_equal(wk_env_state_size(with), wk_env_state_size(plain));
    uint8_t pixels[12];
    assert_refused(wk_env_render(with, 2, 2, pixels, &err), WK_E_UNSUPPORTED, "draws no images");
    wk_env_destroy(plain);
    wk_env_destroy(with);
    wk_relabelled_destroy(r);
}

TEST_MAIN(NULL, teardown)
