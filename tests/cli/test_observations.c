// The commands on runs of a domain with discrete actions whose agent sees a vector, with and
// without images: what they show of vectors, and what they refuse where there is no image.
#include "cli/long_runs.h"
#include "waker/policy.h"

#define GRID WAKER_BINARY_DIR "/tests/plugins/grid.so"
#define BOTH WAKER_BINARY_DIR "/tests/plugins/grid_both.so"
#define OPTIONS                                                                                    \
    TINY_OPTIONS " --log.tensorboard false --steps 150 --tasks all --eval.every 100 --eval.envs 2"

static int setup_runs(void **state)
{
    if (setup(state) != 0) return -1;
    program_succeed("train --quiet --logdir vector --plugin %s " OPTIONS, GRID);
    program_succeed("train --quiet --logdir both --plugin %s " OPTIONS, BOTH);
    return 0;
}

TEST_CASE(domains_say_what_is_seen_and_done)
{
    program_result r = program_succeed("envs --plugin %s", GRID);
    expect_parts(r.out, "observation  vector of 6 numbers\n", "actions      one of 5\n");
    r = program_run("envs --plugin %s", BOTH);
    expect_parts(r.out, "observation  64 x 64 RGB image, vector of 6 numbers\n");
    r = program_run("envs --plugin %s --json", GRID);
    program_expect_json(r.out);
    expect_parts(r.out, "\"vector_size\": 6");
}

TEST_CASE(what_is_imagined_of_vectors_is_a_table)
{
    char path[512];
    program_result r =
        program_succeed("openloop vector --plugin %s --steps 12 --out imagined.csv", GRID);
    expect_parts(r.out, "sees 5: imagined.csv\n");
    unsigned long size;
    char *table = (char *)program_read("imagined.csv", &size);
    assert_non_null(table);
    const char *head = "episode,frame,seen,number,truth,model\n0,0,1,0,";
    assert_memory_equal(table, head, strlen(head));
    int lines = 0;
    for (unsigned long i = 0; i < size; i++)
        lines += table[i] == '\n';
    assert_int_equal(lines, 1 + 6 * 12 * 6);
    free(table);
    r = program_run("openloop vector --plugin %s --out imagined.gif", GRID);
    program_expect_error(r, 2, "the output is a table, since the domain has no images");
    r = program_succeed("openloop both --plugin %s --steps 8 --out clip.gif", BOTH);
    expect_parts(r.out, "clip.gif, and a still as .png, vectors as .csv");
    assert_int_equal(access(inside("clip.csv", path), R_OK), 0);
    assert_int_equal(access(inside("clip.png", path), R_OK), 0);
}

TEST_CASE(videos_need_a_model_of_pictures)
{
    program_result r = program_run("eval vector --plugin %s --envs 2 --cases dr --video", GRID);
    assert_int_not_equal(r.code, 0);
    expect_parts(r.err, "--video: the world model of domain 'grid' sees 6 numbers and no images");
    program_succeed("eval vector --plugin %s --envs 2 --cases dr", GRID);
    program_succeed("eval both --plugin %s --envs 2 --cases dr --video", BOTH);
}

TEST_CASE(errors_of_models_without_pictures_are_those_of_vectors)
{
    program_result r = program_succeed("model-error vector --plugin %s --envs 2 --steps 9", GRID);
    expect_parts(r.out, "the error is that of the next vector observation");
    r = program_succeed("model-error both --plugin %s --envs 2 --steps 9", BOTH);
    assert_null(strstr(r.out, "the next vector observation"));
}

// Through the public API, from one observation to the next.
TEST_CASE(a_policy_acts_on_vectors)
{
    enum { N = 2, ACTIONS = 5, STEPS = 4 };
    wk_error err = {0};
    wk_policy *policy;
    wk_vec *vec;
    char run[512];
    float actions[N * ACTIONS] = {0};
    wk_policy_config config = wk_policy_config_default();
    config.run = inside("vector", run), config.task = "south-west";
    config.count = N, config.plugin = GRID;
    assert_ok(wk_policy_create(&config, &policy, &err));
    const wk_domain *domain = wk_policy_domain(policy);
    assert_ok(wk_vec_create(domain, wk_policy_options(policy), N, 1, &vec, &err));
    for (int i = 0; i < N; i++)
        assert_ok(wk_vec_plan_reset(vec, i, domain->hardest, 2, 1, (uint64_t)i, &err));
    for (int step = 0; step < STEPS; step++) {
        // The environment refuses actions that are not one-hot.
        assert_ok(wk_vec_step(vec, actions, &err));
        assert_ok(wk_policy_act_on(policy, wk_vec_batch(vec), actions, &err));
    }
    static uint8_t images[N * WK_IMAGE_BYTES], flags[N];
    assert_refused(wk_policy_act(policy, images, flags, actions, &err), WK_E_INPUT,
                   "domain 'grid' is observed by a vector: give vectors");
    wk_vec_destroy(vec);
    wk_policy_destroy(policy);
}

TEST_MAIN(setup_runs, teardown)
