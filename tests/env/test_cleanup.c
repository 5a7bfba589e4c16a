// The clean-up domains as a whole: the distribution of worlds, episodes against plain MuJoCo,
// rewards against the formula, exact continuation, break-down, and memory.
#include "env/domains/cleanup_arena.h"
#include "env/domains/domains.h"
#include "support/worlds.h"

#include <stdlib.h>

static wk_error err;

static const wk_domain *const domains[] = {&wk_clean_up, &wk_car_clean_up};
static const wk_cleanup_robot robots[] = {WK_CLEANUP_POINT, WK_CLEANUP_CAR};

static void random_action(wk_rng *rng, float *action)
{
    action[0] = (float)wk_rng_uniform(rng, -1, 1);
    action[1] = (float)wk_rng_uniform(rng, -1, 1);
}

// A copy of an environment's world that is driven by MuJoCo's own functions.
typedef struct twin {
    mjModel *model;
    mjData *data;
    double s;
    int green, blue;
} twin;

static void turn(mjtNum *quaternion, double yaw)
{
    quaternion[0] = cos(yaw / 2);
    quaternion[1] = quaternion[2] = 0;
    quaternion[3] = sin(yaw / 2);
}

static mjtNum *block_qpos(const twin *world, int block)
{
    int body = wk_physics_id(world->model, mjOBJ_BODY, "block0") + block;
    return world->data->qpos + world->model->jnt_qposadr[world->model->body_jntadr[body]];
}

static twin make_twin(int robot, const double *theta, uint64_t seed)
{
    twin world = {.green = (int)theta[1], .blue = (int)theta[2]};
    int arena = (int)theta[0], blocks = world.green + world.blue;
    world.s = arena < 5 ? 0.7 + 0.175 * arena : 1.4;
    assert_ok(wk_cleanup_model_create(robots[robot], arena, blocks, &world.model, &err));
    world.data = mj_makeData(world.model);
    wk_rng rng = wk_rng_stream(seed, "layout", 3);
    wk_cleanup_layout layout;
    assert_ok(wk_cleanup_layout_draw(arena, world.green, world.blue, &rng, &layout, &err));
    int body = wk_physics_id(world.model, mjOBJ_BODY, "robot");
    mjtNum *at = robot ? world.data->qpos : world.model->body_pos + 3 * body;
    at[0] = layout.robot.x;
    at[1] = layout.robot.y;
    turn(robot ? at + 3 : world.model->body_quat + 4 * body, layout.robot.yaw);
    for (int b = 0; b < blocks; b++) {
        block_qpos(&world, b)[0] = layout.blocks[b].x;
        block_qpos(&world, b)[1] = layout.blocks[b].y;
        turn(block_qpos(&world, b) + 3, layout.blocks[b].yaw);
    }
    mj_forward(world.model, world.data);
    return world;
}

static void free_twin(twin *world)
{
    mj_deleteData(world->data);
    mj_deleteModel(world->model);
}

// Puts an environment into the twin's state.
static void follow_twin(const wk_domain *domain, void *env, const twin *world)
{
    const wk_physics_env sim = {.model = world->model, .data = world->data};
    size_t size = wk_physics_env_state_size(&sim);
    void *bytes = malloc(size);
    assert_non_null(bytes);
    wk_physics_env_save(&sim, bytes);
    assert_ok(domain->load(env, bytes, size, &err));
    free(bytes);
}

static void engine_step(twin *world, const float *action)
{
    world->data->ctrl[0] = action[0];
    world->data->ctrl[1] = action[1];
    for (int i = 0; i < 10; i++)
        mj_step(world->model, world->data);
    mj_kinematics(world->model, world->data);
}

// Where the blocks are, and the formulas of the tasks: side of green, side of blue.
static double task_distance(const twin *world, int task, double *completion)
{
    static const double side[3][2] = {{-1, 1}, {1, -1}, {1, 1}};
    int blocks = world->green + world->blue;
    double total = 0, inside = 0;
    for (int b = 0; b < blocks; b++) {
        double goal = side[task][b >= world->green] * (world->s - 0.25);
        double x = block_qpos(world, b)[0];
        total += fabs(x - goal);
        inside += fabs(x - goal) < 0.25;
    }
    *completion = blocks ? inside / blocks : 1;
    return total;
}

TEST_CASE(theta_must_be_whole_numbers_that_fit_the_arena)
{
    for (int d = 0; d < 2; d++) {
        assert_ok(domains[d]->check((double[]){5, 3, 2}, &err));
        assert_ok(domains[d]->check((double[]){0, 0, 0}, &err));
        assert_refused(domains[d]->check((double[]){2.5, 0, 0}, &err), WK_E_INPUT, "arena = 2.5");
        assert_refused(domains[d]->check((double[]){3, 0, 0.5}, &err), WK_E_INPUT, "whole number");
        assert_refused(domains[d]->check((double[]){3, 2, 2}, &err), WK_E_INPUT,
                       "arena 3 holds at most 3");
        assert_refused(domains[d]->check((double[]){0, 0, 1}, &err), WK_E_INPUT, "do not fit");
    }
}

TEST_CASE(the_grid_has_the_probabilities_of_the_sampling_procedure)
{
    enum { DRAWS = 200000 };
    assert_int_equal(wk_clean_up.grid_count(), 35);
    double probability[5][5][5] = {{{0}}}, sum = 0;
    for (size_t i = 0; i < 35; i++) {
        double theta[3], p = 0;
        wk_clean_up.grid_point(i, theta, &p);
        assert_ok(wk_clean_up.check(theta, &err));
        double *cell = &probability[(int)theta[0]][(int)theta[1]][(int)theta[2]];
        assert_near(*cell, 0, 0); // every world once
        *cell = p;
        sum += p;
    }
    assert_near(sum, 1, 1e-12);
    int seen[5][5][5] = {{{0}}};
    wk_rng rng = wk_rng_stream(11, "test", 0);
    for (int i = 0; i < DRAWS; i++) {
        uint64_t arena = wk_rng_below(&rng, 5), blocks = wk_rng_below(&rng, arena + 1);
        uint64_t green = wk_rng_below(&rng, blocks + 1);
        seen[arena][green][blocks - green]++;
    }
    double chi = 0;
    for (int i = 0; i < 125; i++) {
        double expected = DRAWS * (&probability[0][0][0])[i], got = (&seen[0][0][0])[i];
        if (expected == 0)
            assert_near(got, 0, 0);
        else
            chi += (got - expected) * (got - expected) / expected;
    }
    assert_true(chi < 65.2); // 34 degrees of freedom, exceeded once in a thousand times
}

TEST_CASE(the_named_worlds_are_the_published_ones)
{
    for (int d = 0; d < 2; d++) {
        const wk_domain *domain = domains[d];
        assert_string_equal(domain->cases[0].name, "extra-block");
        assert_int_equal(domain->cases[0].count, 6);
        assert_int_equal(domain->cases[0].episodes, 24);
        for (int i = 0; i < 6; i++) {
            const double *theta = domain->cases[0].params + 3 * i;
            assert_near(theta[0], 5, 0);
            assert_near(theta[1] + theta[2], 5, 0);
            assert_near(theta[1], i, 0);
            assert_ok(domain->check(theta, &err));
        }
        assert_memory_equal(domain->hardest, ((double[]){4, 2, 2}), 3 * sizeof(double));
        assert_int_equal(domain->n_complex, 5);
        for (int i = 0; i < 5; i++) {
            const double *theta = domain->most_complex + 3 * i;
            assert_near(theta[0], 4, 0);
            assert_near(theta[1], i, 0);
            assert_near(theta[2], 4 - i, 0);
        }
        assert_int_equal(domain->episode_steps * domain->action_repeat, 1000);
        assert_near(domain->step_seconds, d == 0 ? 0.04 : 0.08, 1e-15);
        assert_string_equal(domain->tasks[1].alias, "sort-reversed");
    }
}

TEST_CASE(episodes_follow_plain_mujoco_bit_for_bit)
{
    static const double thetas[][3] = {{0, 0, 0}, {1, 1, 0}, {3, 1, 2}, {4, 2, 2}, {5, 1, 4}};
    for (int d = 0; d < 2; d++)
        for (int t = 0; t < 5; t++) {
            void *env = make_env(domains[d], default_options);
            start_env(domains[d], env, thetas[t], 21, 3);
            twin world = make_twin(d, thetas[t], 21);
            wk_rng rng = wk_rng_stream(5, "test", 0);
            for (int i = 0; i < 60; i++) {
                float action[2];
                random_action(&rng, action);
                assert_false(step_env(domains[d], env, action).diverged);
                engine_step(&world, action);
                engine_step(&world, action);
            }
            const wk_physics_env sim = {.model = world.model, .data = world.data};
            size_t size = wk_physics_env_state_size(&sim);
            void *theirs = malloc(size), *ours = saved_numbers(domains[d], env);
            assert_non_null(theirs);
            wk_physics_env_save(&sim, theirs);
            assert_int_equal(domains[d]->state_size(env), size);
            assert_memory_equal(ours, theirs, size);
            free(ours);
            free(theirs);
            free_twin(&world);
            domains[d]->destroy(env);
        }
}

TEST_CASE(rewards_and_completion_follow_the_formula)
{
    static const double theta[3] = {4, 2, 2};
    for (int d = 0; d < 2; d++) {
        void *env = make_env(domains[d], default_options);
        start_env(domains[d], env, theta, 8, 3);
        twin world = make_twin(d, theta, 8);
        // Blocks sliding in and out of their goals: two start just outside, two just inside.
        static const double x[] = {-0.89, -0.905, 0.895, 0.92}, speed[] = {-0.5, 0.5, 0.4, -0.4};
        for (int b = 0; b < 4; b++) {
            mjtNum *qpos = block_qpos(&world, b);
            qpos[0] = x[b];
            qpos[1] = 0.6 * (b - 1.5);
            turn(qpos + 3, 0);
            int dof =
                world.model->body_dofadr[wk_physics_id(world.model, mjOBJ_BODY, "block0") + b];
            world.data->qvel[dof] = speed[b];
        }
        mj_forward(world.model, world.data);
        follow_twin(domains[d], env, &world);
        int changes = 0;
        for (int i = 0; i < 40; i++) {
            const float action[2] = {0.3f, -0.2f};
            double before[3], middle[3], after[3], c0, c1[3], c2[3];
            for (int task = 0; task < 3; task++)
                before[task] = task_distance(&world, task, &c0);
            engine_step(&world, action);
            for (int task = 0; task < 3; task++)
                middle[task] = task_distance(&world, task, &c1[task]);
            engine_step(&world, action);
            wk_outcome out = step_env(domains[d], env, action);
            for (int task = 0; task < 3; task++) {
                after[task] = task_distance(&world, task, &c2[task]);
                double reward = 100 * (before[task] - middle[task]) + 0.5 * c1[task] +
                                100 * (middle[task] - after[task]) + 0.5 * c2[task];
                assert_near(out.rewards[task], reward, 1e-5);
                assert_near(out.completion[task], c2[task], 1e-7);
                changes += fabs(100 * (before[task] - after[task])) > 0.01;
            }
        }
        assert_true(changes > 3); // the blocks did move
        free_twin(&world);
        domains[d]->destroy(env);
    }
}

TEST_CASE(an_episode_without_blocks_earns_five_hundred)
{
    void *env = make_env(&wk_clean_up, default_options);
    wk_outcome first = start_env(&wk_clean_up, env, (double[]){2, 0, 0}, 1, 3);
    assert_near(first.completion[0], 1, 0);
    double total[3] = {0};
    for (int i = 0; i < wk_clean_up.episode_steps; i++) {
        wk_outcome out = step_env(&wk_clean_up, env, (float[]){0.5f, 0.1f});
        for (int task = 0; task < 3; task++)
            total[task] += out.rewards[task];
    }
    for (int task = 0; task < 3; task++)
        assert_near(total[task], 500, 0);
    wk_clean_up.destroy(env);
}

TEST_CASE(the_point_accelerates_along_its_heading_against_damping_alone)
{
    void *env = make_env(&wk_clean_up, default_options);
    start_env(&wk_clean_up, env, (double[]){4, 0, 0}, 2, 3);
    double mass = 4.0 / 3 * 3.14159265358979 * (pow(0.15, 3) + pow(0.12, 3));
    double position = 0, velocity = 0, dt = 0.002;
    for (int i = 0; i < 5 * 20; i++) {
        // Euler with implicit damping: the force of 0.015 N acts on the mass plus dt times damping.
        velocity += dt * (0.015 - 0.01 * velocity) / (mass + dt * 0.01);
        position += dt * velocity;
    }
    for (int i = 0; i < 5; i++)
        step_env(&wk_clean_up, env, (float[]){1, 0});
    double *bytes = saved_numbers(&wk_clean_up, env); // time, then the slides x, y and the hinge
    assert_near(bytes[0], 5 * 20 * dt, 1e-12);
    assert_near(bytes[1], position, 1e-9);
    assert_near(bytes[2], 0, 1e-9);
    assert_near(bytes[3], 0, 1e-9);
    assert_true(position > 0.005);
    free(bytes);
    wk_clean_up.destroy(env);
}

static void assert_same_state(const wk_domain *domain, const void *a, const void *b)
{
    void *ours = saved_numbers(domain, a), *theirs = saved_numbers(domain, b);
    assert_memory_equal(ours, theirs, domain->state_size(a));
    free(ours);
    free(theirs);
}

// Restores at every step: a rolling car finds each rotation whose bits depend on the way it is
// reached.
TEST_CASE(a_restored_world_continues_bit_for_bit)
{
    static const double theta[3] = {4, 3, 1};
    for (int d = 0; d < 2; d++) {
        void *env = make_env(domains[d], default_options),
             *other = make_env(domains[d], default_options);
        start_env(domains[d], env, theta, 6, 3);
        start_env(domains[d], other, theta, 6, 3);
        wk_rng rng = wk_rng_stream(6, "test", 0);
        for (int i = 0; i < 120; i++) {
            void *bytes = saved_numbers(domains[d], env);
            assert_ok(domains[d]->load(other, bytes, domains[d]->state_size(env), &err));
            free(bytes);
            assert_same_state(domains[d], env, other);
            float action[2];
            random_action(&rng, action);
            wk_outcome a = step_env(domains[d], env, action),
                       b = step_env(domains[d], other, action);
            assert_memory_equal(&a, &b, sizeof a);
            assert_same_state(domains[d], env, other);
        }
        domains[d]->destroy(env);
        domains[d]->destroy(other);
    }
}

TEST_CASE(a_break_down_is_flagged_and_the_next_episode_is_sound)
{
    for (int d = 0; d < 2; d++) {
        void *env = make_env(domains[d], default_options);
        static const double theta[3] = {2, 1, 1};
        start_env(domains[d], env, theta, 6, 3);
        twin world = make_twin(d, theta, 6);
        // A tumbling block too fast for the integrator.
        int dof = world.model->body_dofadr[wk_physics_id(world.model, mjOBJ_BODY, "block0")];
        world.data->qvel[dof] = 9e9;
        world.data->qvel[dof + 3] = 9e9;
        world.data->qvel[dof + 4] = -9e9;
        follow_twin(domains[d], env, &world);
        bool diverged = false;
        for (int i = 0; i < 50 && !diverged; i++) {
            wk_outcome out = step_env(domains[d], env, (float[]){0, 0});
            diverged = out.diverged;
            for (int task = 0; task < 3; task++)
                assert_true(isfinite(out.rewards[task]));
        }
        assert_true(diverged);
        start_env(domains[d], env, theta, 6, 3);
        assert_false(step_env(domains[d], env, (float[]){0, 0}).diverged);
        free_twin(&world);
        domains[d]->destroy(env);
    }
}

TEST_CASE(every_world_runs_fifty_steps)
{
    for (int d = 0; d < 2; d++) {
        void *env = make_env(domains[d], default_options);
        wk_rng rng = wk_rng_stream(3, "test", (uint64_t)d);
        for (int i = 0; i < 41; i++) {
            double theta[3], p;
            if (i < 35)
                wk_clean_up.grid_point((size_t)i, theta, &p);
            else
                memcpy(theta, wk_clean_up.cases[0].params + 3 * (i - 35), sizeof theta);
            start_env(domains[d], env, theta, 100 + (uint64_t)i, 3);
            for (int t = 0; t < 50; t++) {
                float action[2];
                random_action(&rng, action);
                assert_false(step_env(domains[d], env, action).diverged);
            }
        }
        domains[d]->destroy(env);
    }
}

// The pixel that shows the point (x, y) at height z: the camera hangs at 3.5 m and sees 45 degrees.
static const uint8_t *pixel(const uint8_t *image, double x, double y, double z)
{
    double half_view = tan(3.14159265358979 / 8) * (3.5 - z);
    int column = (int)floor(32 + 32 * x / half_view), row = (int)floor(32 - 32 * y / half_view);
    return image + 3 * (64 * row + column);
}

TEST_CASE(the_image_shows_robot_and_blocks_where_they_are_in_their_colours)
{
    static const double theta[3] = {4, 1, 2};
    static uint8_t image[WK_IMAGE_BYTES];
    for (int d = 0; d < 2; d++)
        for (uint64_t seed = 0; seed < 5; seed++) {
            void *env = make_env(domains[d], default_options);
            start_env(domains[d], env, theta, seed, 3);
            domains[d]->render(env, 64, 64, image);
            wk_rng rng = wk_rng_stream(seed, "layout", 3);
            wk_cleanup_layout layout;
            assert_ok(wk_cleanup_layout_draw(4, 1, 2, &rng, &layout, &err));
            for (int b = 0; b < 3; b++) {
                const uint8_t *rgb = pixel(image, layout.blocks[b].x, layout.blocks[b].y, 0.4);
                int own = b < 1 ? 1 : 2;
                assert_in_range(rgb[own], 100, 255);
                assert_true(rgb[own] > 2 * rgb[0] && rgb[own] > 2 * rgb[3 - own]);
            }
            const uint8_t *rgb = pixel(image, layout.robot.x, layout.robot.y, d ? 0.15 : 0.3);
            assert_true(rgb[0] > 100 && rgb[0] > 2 * rgb[1] && rgb[0] > 2 * rgb[2]);
            domains[d]->destroy(env);
        }
}

TEST_MAIN(NULL, NULL)
