// Environments that functions of Python make: what becomes of their spaces, rewards and ends, and
// of processes that die, hang, or answer with something else than they said.
#include "base/file.h"
#include "env/host.h"
#include "env/plugins/plugin.h"
#include "env/plugins/resample.h"
#include "support/check.h"
#include "support/python.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define ENVS WAKER_SOURCE_DIR "/tests/plugins/small_envs.py:"

static wk_error err;

// Each start of Python takes a while: functions are described once.
static struct {
    const char *spec;
    wk_plugin *plugin;
} described[8];

static wk_plugin *load(const char *spec)
{
    int i = 0;
    while (described[i].spec && strcmp(described[i].spec, spec) != 0)
        i++;
    if (!described[i].spec) assert_ok(wk_plugin_load(spec, &described[i].plugin, &err));
    described[i].spec = spec;
    return described[i].plugin;
}

static int unload_all(void **state)
{
    for (int i = 0; i < 8; i++)
        wk_plugin_unload(described[i].plugin);
    return 0;
}

typedef struct rig {
    wk_plugin *plugin;
    const wk_domain *domain;
    wk_env *env;
    uint8_t image[WK_IMAGE_BYTES], flags;
    float vector[8], rewards[WK_TASKS_MAX];
    wk_frame frame;
} rig;

static void open_rig(rig *r, const char *spec)
{
    python_for_workers();
    *r = (rig){0};
    r->plugin = load(spec);
    r->domain = wk_plugin_domain(r->plugin);
    assert_ok(wk_env_create(r->domain, NULL, &r->env, &err));
    r->frame = (wk_frame){.image = r->domain->render ? r->image : NULL,
                          .flags = &r->flags,
                          .vector = r->vector,
                          .rewards = r->rewards};
}

static void close_rig(rig *r)
{
    wk_env_destroy(r->env);
}

static wk_status reset(rig *r, const double *theta, uint64_t episode)
{
    return wk_env_reset(r->env, theta, (size_t)r->domain->n_params, 3, episode, &r->frame, &err);
}

static void step_discrete(rig *r, int chosen)
{
    float action[WK_ACTION_MAX] = {0};
    action[chosen] = 1;
    assert_ok(wk_env_step(r->env, action, &r->frame, &err));
}

/* ---- Spaces ---------------------------------------------------------------------------------- */

TEST_CASE(names_of_functions_are_told_from_paths)
{
    assert_int_equal(wk_python_spec_source_length("my_pkg.envs:make_env"), 11);
    assert_int_equal(wk_python_spec_source_length("a b/c.py:Class.make"), 8);
    static const char *const others[] = {"ball.so",  "./a:b",   "a:",        ":b",       "a/b:c",
                                         "x.py",     "a:1b",    "x.py:a..b", "x.py:a b", "a.:b",
                                         ".py:make", "x.py:a-", ""};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (wk_python_spec_source_length(others[i])) fail_msg("'%s' names a function", others[i]);
    assert_true(wk_python_spec_has_file("x.py:f"));
    assert_false(wk_python_spec_has_file("x:f"));
}

TEST_CASE(pictures_are_resized_by_area)
{
    const uint8_t grey[] = {0, 100, 200, 40};
    const wk_source_image small = {.width = 2, .height = 2, .channels = 1, .pixels = grey};
    uint8_t one[3], wide[3 * 3 * 2];
    wk_image_resample(&small, 1, 1, one);
    assert_int_equal(one[0], 85);
    assert_int_equal(one[2], 85);
    wk_image_resample(&small, 3, 2, wide); // the middle column is half of both
    assert_int_equal(wide[0], 0);
    assert_int_equal(wide[3], 50);
    assert_int_equal(wide[6], 100);
    assert_int_equal(wide[9 + 3], 120);
    uint8_t large[130 * 70 * 3], drawn[WK_IMAGE_BYTES];
    memset(large, 137, sizeof large);
    const wk_source_image plain = {.width = 130, .height = 70, .channels = 3, .pixels = large};
    wk_image_resample(&plain, WK_IMAGE_SIDE, WK_IMAGE_SIDE, drawn);
    for (size_t i = 0; i < sizeof drawn; i++)
        assert_int_equal(drawn[i], 137);
}

TEST_CASE(spaces_become_the_domain)
{
    rig r;
    open_rig(&r, ENVS "Walk");
    const wk_domain *d = r.domain;
    assert_string_equal(d->name, "walk");
    assert_true(d->discrete && !d->ends_early && !d->observation.no_image);
    assert_int_equal(d->action_size, 4);
    assert_int_equal(d->episode_steps, 12);
    assert_int_equal(d->n_params, 2);
    assert_string_equal(d->params[0].name, "speed");
    assert_true(d->params[0].continuous && !d->params[1].continuous);
    assert_near(d->params[0].step, 1, 0);
    assert_near(d->params[1].max, 2, 0);
    assert_int_equal(d->n_tasks, 2);
    assert_string_equal(d->tasks[1].name, "south");
    close_rig(&r);
    open_rig(&r, ENVS "Numbers");
    d = r.domain;
    assert_true(!d->discrete && d->ends_early && d->observation.no_image);
    assert_int_equal(d->action_size, 2);
    assert_int_equal(d->observation.vector, 4);
    assert_int_equal(d->n_params, 1); // of one value
    assert_string_equal(d->tasks[0].name, "reward");
    close_rig(&r);
}

TEST_CASE(theta_seeds_and_actions_reach_the_environment)
{
    rig r, again;
    open_rig(&r, ENVS "Walk");
    open_rig(&again, ENVS "Walk");
    const double slow[] = {1, 1}, fast[] = {3, 2};
    assert_ok(reset(&r, slow, 7));
    assert_ok(reset(&again, slow, 7));
    assert_memory_equal(r.image, again.image, sizeof r.image);
    assert_int_equal(r.flags, WK_IS_FIRST);
    assert_int_equal(r.image[1], 90); // the ground's colour
    step_discrete(&r, 0);
    step_discrete(&again, 0);
    assert_memory_equal(r.image, again.image, sizeof r.image);
    float before = r.rewards[0];
    step_discrete(&r, 0);
    assert_near(r.rewards[0] - before, 1.0 / 47, 1e-5); // one to the east
    step_discrete(&again, 1);
    assert_memory_not_equal(r.image, again.image, sizeof r.image);
    assert_ok(reset(&r, fast, 7));
    assert_int_equal(r.image[2], 90);
    step_discrete(&r, 2);
    before = r.rewards[0];
    step_discrete(&r, 0);
    assert_near(r.rewards[0] - before, 3.0 / 47, 1e-5);
    close_rig(&r);
    close_rig(&again);
}

TEST_CASE(ends_are_those_of_the_environment)
{
    rig r;
    open_rig(&r, ENVS "Numbers");
    const double theta[] = {0};
    const float still[] = {0, 0}, away[] = {1, -1};
    assert_ok(reset(&r, theta, 1));
    assert_near(r.vector[2] + r.vector[3], 1, 0); // one-hot
    for (int i = 0; i < 9; i++) {
        assert_int_equal(r.flags & WK_IS_LAST, 0);
        assert_ok(wk_env_step(r.env, still, &r.frame, &err));
    }
    assert_int_equal(r.flags, WK_IS_LAST); // truncated: neither terminal nor diverged
    assert_ok(reset(&r, theta, 2));
    float row = r.vector[0];
    assert_ok(wk_env_step(r.env, away, &r.frame, &err));
    assert_near(r.vector[0] - row, 2.0 / 16, 1e-6); // the whole of [-1,1] is that of the Box
    for (int i = 1; i < 9 && !(r.flags & WK_IS_LAST); i++)
        assert_ok(wk_env_step(r.env, away, &r.frame, &err));
    assert_int_equal(r.flags, WK_IS_LAST | WK_IS_TERMINAL);
    close_rig(&r);
}

static char fault_file[64];

static void set_fault(const char *fault)
{
    assert_ok(wk_file_write(fault_file, fault, strlen(fault), &err));
}

static void expect_event(const rig *r, const char *part)
{
    wk_text events = {0};
    wk_plugin_take_events(r->plugin, &events);
    if (!strstr(wk_text_get(&events), part))
        fail_msg("'%s' is not in '%s'", part, wk_text_get(&events));
    wk_text_free(&events);
    wk_plugin_take_events(r->plugin, &events);
    assert_string_equal(wk_text_get(&events), ""); // once is enough
    wk_text_free(&events);
}

/* ---- States ---------------------------------------------------------------------------------- */

TEST_CASE(a_restored_environment_has_no_episode)
{
    rig r;
    open_rig(&r, ENVS "Walk");
    assert_ok(reset(&r, r.domain->hardest, 1));
    step_discrete(&r, 0);
    size_t size = wk_env_state_size(r.env);
    void *bytes = malloc(size);
    assert_ok(wk_env_save(r.env, bytes, size, &err));
    assert_true(wk_env_has_episode(r.env));
    assert_ok(wk_env_load(r.env, bytes, size, &err));
    assert_false(wk_env_has_episode(r.env));
    const float action[4] = {1};
    assert_refused(wk_env_step(r.env, action, &r.frame, &err), WK_E_INPUT, "no episode is running");
    assert_ok(reset(&r, r.domain->hardest, 1));
    step_discrete(&r, 0);
    memset((char *)bytes + 4, 9, 1); // its version
    assert_refused(wk_env_load(r.env, bytes, size, &err), WK_E_UNSUPPORTED, "has version 9");
    free(bytes);
    close_rig(&r);
}

TEST_CASE(a_state_that_is_saved_continues)
{
    rig r, other;
    unlink(fault_file);
    open_rig(&r, ENVS "Saved");
    open_rig(&other, ENVS "Saved");
    const double theta[] = {2, 1};
    assert_ok(reset(&r, theta, 1));
    for (int i = 0; i < 3; i++)
        step_discrete(&r, i);
    size_t size = wk_env_state_size(r.env);
    void *bytes = malloc(size);
    uint8_t picture[WK_IMAGE_BYTES];
    assert_ok(wk_env_save(r.env, bytes, size, &err));
    assert_ok(wk_env_load(other.env, bytes, size, &err));
    assert_int_equal(wk_env_steps(other.env), 3);
    assert_ok(wk_env_render(other.env, WK_IMAGE_SIDE, WK_IMAGE_SIDE, picture, &err));
    assert_memory_equal(picture, r.image, sizeof picture);
    for (int i = 3; i < r.domain->episode_steps; i++) {
        step_discrete(&r, i % 4);
        step_discrete(&other, i % 4);
        assert_memory_equal(other.image, r.image, sizeof r.image);
        assert_memory_equal(other.rewards, r.rewards, 2 * sizeof *r.rewards);
    }
    assert_int_equal(other.flags, WK_IS_LAST);
    // One that cannot be saved ends the episode, and is no state.
    assert_ok(reset(&r, theta, 2));
    set_fault("any");
    assert_ok(wk_env_save(r.env, bytes, size, &err));
    unlink(fault_file);
    expect_event(&r, "ArithmeticError: the film is full");
    step_discrete(&r, 0);
    assert_int_equal(r.flags, WK_IS_LAST | WK_IS_DIVERGED);
    assert_refused(wk_env_load(other.env, bytes, size, &err), WK_E_FORMAT,
                   "did not save its state");
    assert_ok(reset(&r, theta, 3));
    step_discrete(&r, 0);
    free(bytes);
    close_rig(&r);
    close_rig(&other);
}

/* ---- Failures -------------------------------------------------------------------------------- */

// Plays up to the step that breaks.
static void play_to_the_fault(rig *r, uint64_t episode)
{
    assert_ok(reset(r, r->domain->hardest, episode));
    for (int i = 0; i < 6; i++) {
        assert_int_equal(r->flags & WK_IS_LAST, 0);
        step_discrete(r, 0);
    }
    assert_int_equal(r->flags, WK_IS_LAST | WK_IS_DIVERGED);
}

TEST_CASE(a_failure_ends_the_episode_and_another_begins)
{
    static const struct {
        const char *fault, *said;
    } cases[] = {{"hang", "did not answer for 4 s"},
                 {"kill", "was ended by signal 9"},
                 {"exit", "exited with code 7"},
                 {"raise", "ArithmeticError: the point fell off (" WAKER_SOURCE_DIR}};
    setenv("WAKER_PYTHON_TIMEOUT", "4", 1); // of the first
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rig r;
        set_fault(cases[i].fault);
        open_rig(&r, i == 0 ? ENVS "Slow" : ENVS "Broken");
        play_to_the_fault(&r, 1);
        expect_event(&r, cases[i].said);
        assert_ok(reset(&r, r.domain->hardest, 2));
        for (int k = 0; k < r.domain->episode_steps; k++)
            step_discrete(&r, k % 4);
        assert_int_equal(r.flags, WK_IS_LAST);
        close_rig(&r);
        unsetenv("WAKER_PYTHON_TIMEOUT");
    }
}

TEST_CASE(failures_in_a_row_are_an_error)
{
    rig r;
    set_fault("raise always");
    open_rig(&r, ENVS "Broken");
    for (uint64_t i = 0; i < 3; i++)
        play_to_the_fault(&r, i);
    assert_refused(reset(&r, r.domain->hardest, 4), WK_E_DIVERGED,
                   "failed in 3 episodes in a row, the last time because ArithmeticError: the "
                   "point fell off");
    close_rig(&r);
}

TEST_CASE(what_is_not_as_declared_is_an_error)
{
    static const struct {
        const char *fault, *said;
    } cases[] = {
        {"shape", "observation_space says uint8 (32, 48, 3), the environment gave uint8 (5, 5, 3)"},
        {"dtype", "the environment gave float64 (32, 48, 3)"},
        {"tuple", "step returned a tuple of 4; Gymnasium's returns (observation, reward, "},
        {"rewards", "step gave no number as info['rewards']['south']: there is no such entry"},
        {"rewards-array", "as info['rewards']['east'] but a ndarray [3] float64; give a float"},
        {"rewards-none", "as info['rewards']['east'] but None; give a float"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rig r;
        set_fault(cases[i].fault);
        open_rig(&r, ENVS "Broken");
        play_to_the_fault(&r, 1);
        for (uint64_t k = 2; k < 4; k++)
            assert_refused(reset(&r, r.domain->hardest, k), WK_E_INPUT, cases[i].said);
        close_rig(&r);
    }
}

TEST_CASE(functions_that_make_no_environment_are_refused)
{
    static const struct {
        const char *spec, *said;
        wk_status status;
    } cases[] = {
        {ENVS "no_length", "set the environment's attribute episode_steps", WK_E_INPUT},
        {ENVS "no_bounds", "action_space has no finite bounds", WK_E_INPUT},
        {ENVS "grey_without_channel",
         "'observation' [64,64] uint8 looks like an image; images are uint8 [height,width,3 or 1]",
         WK_E_INPUT},
        {ENVS "channels_first", "'camera' [3,32,32] uint8 looks like an image", WK_E_INPUT},
        {ENVS "floats_as_image", "'observation' [32,32,3] float32 looks like an image", WK_E_INPUT},
        {ENVS "many_numbers", "16388 numbers, 16384 of them from 'map' [128,128]; at most 4096",
         WK_E_INPUT},
        {ENVS "task_called_explore", "'explore', which stands for the exploration policy",
         WK_E_INPUT},
        {ENVS "raises", "ValueError: no such arena (" WAKER_SOURCE_DIR, WK_E_INPUT},
        {ENVS "broken_pipe", "BrokenPipeError: the simulator has gone (" WAKER_SOURCE_DIR,
         WK_E_INPUT},
        {ENVS "connection_reset", "ConnectionResetError: the simulator hung up (", WK_E_INPUT},
        {ENVS "nothing", "return a Gymnasium environment", WK_E_INPUT},
        {ENVS "absent", "defines no function 'absent'", WK_E_INPUT},
        {"no_such_module:f", "there is no Python module 'no_such_module'", WK_E_NOT_FOUND},
        {"sys:exit", "is no file of Python code", WK_E_NOT_FOUND},
        {"none.py:f", "there is no file 'none.py:f'; give FILE.py:FUNCTION", WK_E_NOT_FOUND}};
    wk_plugin *plugin;
    python_for_workers();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_refused(wk_plugin_load(cases[i].spec, &plugin, &err), cases[i].status,
                       cases[i].said);
    setenv("WAKER_PYTHON_TIMEOUT", "soon", 1);
    assert_refused(wk_plugin_load(ENVS "Walk", &plugin, &err), WK_E_INPUT, "positive number");
    unsetenv("WAKER_PYTHON_TIMEOUT");
    // A table of numbers is no image.
    assert_ok(wk_plugin_load(ENVS "table_of_floats", &plugin, &err));
    assert_int_equal(wk_plugin_domain(plugin)->observation.vector, 400);
    wk_plugin_unload(plugin);
}

TEST_CASE(a_missing_interpreter_is_named)
{
    wk_plugin *plugin;
    char before[1024] = "";
    if (getenv("WAKER_PYTHON")) snprintf(before, sizeof before, "%s", getenv("WAKER_PYTHON"));
    setenv("WAKER_PYTHON", "./no-python", 1);
    assert_refused(wk_plugin_load(ENVS "Walk", &plugin, &err), WK_E_NOT_FOUND,
                   "cannot start './no-python'");
    if (*before)
        setenv("WAKER_PYTHON", before, 1);
    else
        unsetenv("WAKER_PYTHON");
}

// Environments may hold windows and files.
TEST_CASE(environments_are_closed)
{
    wk_plugin *plugin;
    wk_env *env;
    const wk_frame nothing = {0};
    char closed[] = "closed-XXXXXX", *text;
    python_for_workers();
    int file = mkstemp(closed);
    assert_true(file >= 0);
    setenv("SMALL_ENVS_CLOSED", closed, 1);
    assert_ok(wk_plugin_load(ENVS "Walk", &plugin, &err));
    const wk_domain *domain = wk_plugin_domain(plugin);
    for (int i = 0; i < 2; i++) { // the second has the process of the first
        assert_ok(wk_env_create(domain, NULL, &env, &err));
        assert_ok(wk_env_reset(env, domain->hardest, 2, 1, 1, &nothing, &err));
        wk_env_destroy(env);
    }
    wk_plugin_unload(plugin);
    unsetenv("SMALL_ENVS_CLOSED");
    assert_ok(wk_file_read(closed, 100, &text, NULL, &err));
    assert_string_equal(text, "closed\nclosed\n"); // and the one that was described
    free(text);
    close(file);
    unlink(closed);
}

/* ---- Logs and leftovers ---------------------------------------------------------------------- */

typedef struct lines {
    wk_text text;
    int count;
} lines;

static void take_line(void *context, wk_log_level level, const char *line)
{
    lines *l = context;
    assert_int_equal(level, WK_LOG_WARN);
    wk_text_printf(&l->text, "%s\n", line);
    l->count++;
}

static void expect_one_line(lines *l, const char *part)
{
    if (l->count != 1 || !strstr(wk_text_get(&l->text), part))
        fail_msg("%d lines, expected one with '%s': %s", l->count, part, wk_text_get(&l->text));
    wk_text_free(&l->text);
}

TEST_CASE(one_that_cannot_be_closed_is_used_and_told_of_once)
{
    lines told = {0};
    const wk_log log = {take_line, &told, WK_LOG_INFO};
    rig r = {0};
    python_for_workers();
    assert_ok(wk_plugin_open(ENVS "Unclosed", &log, &r.plugin, &err));
    wk_plugin *plugin = r.plugin;
    for (int i = 0; i < 2; i++) {
        r = (rig){.plugin = plugin, .domain = wk_plugin_domain(plugin)};
        r.frame = (wk_frame){.image = r.image, .flags = &r.flags, .rewards = r.rewards};
        assert_ok(wk_env_create(r.domain, NULL, &r.env, &err));
        assert_ok(reset(&r, r.domain->hardest, 1));
        for (int k = 0; k < r.domain->episode_steps; k++)
            step_discrete(&r, k % 4);
        assert_int_equal(r.flags, WK_IS_LAST);
        close_rig(&r);
    }
    wk_plugin_unload(plugin);
    expect_one_line(&told, "small_envs.py:Unclosed raises OSError: the window is stuck (");
}

TEST_CASE(a_function_that_takes_long_is_told_of)
{
    lines told = {0};
    const wk_log log = {take_line, &told, WK_LOG_INFO};
    wk_plugin *plugin;
    python_for_workers();
    assert_ok(wk_plugin_open(ENVS "late", &log, &plugin, &err));
    wk_plugin_unload(plugin);
    expect_one_line(&told, "still waiting for " ENVS "late to make an environment: process ");
}

static int count_detached(const char *file)
{
    char *text, *at, state[2];
    int pid, there = 0;
    assert_ok(wk_file_read(file, 1000, &text, NULL, &err));
    for (at = text; sscanf(at, "%d", &pid) == 1; at = strchr(at, '\n') + 1) {
        char path[64];
        snprintf(path, sizeof path, "/proc/%d/stat", pid);
        FILE *stat = fopen(path, "r");
        there += stat && fscanf(stat, "%*d %*s %1s", state) == 1 && *state != 'Z';
        if (stat) fclose(stat);
    }
    free(text);
    return there;
}

TEST_CASE(what_an_environment_started_ends_with_it)
{
    char started[] = "started-XXXXXX";
    int file = mkstemp(started);
    assert_true(file >= 0);
    setenv("SMALL_ENVS_DETACHED", started, 1);
    rig r;
    open_rig(&r, ENVS "Detached"); // which makes one, and ends it
    assert_int_equal(count_detached(started), 0);
    set_fault("kill");
    assert_ok(reset(&r, r.domain->hardest, 0));
    assert_int_equal(count_detached(started), 1);
    play_to_the_fault(&r, 1);
    expect_event(&r, "was ended by signal 9");
    assert_int_equal(count_detached(started), 0);
    assert_ok(reset(&r, r.domain->hardest, 2));
    assert_int_equal(count_detached(started), 1);
    close_rig(&r);
    wk_plugin_unload(r.plugin);
    for (int i = 0; i < 8; i++)
        if (described[i].plugin == r.plugin) described[i].plugin = NULL;
    assert_int_equal(count_detached(started), 0);
    unsetenv("SMALL_ENVS_DETACHED");
    close(file);
    unlink(started);
}

int main(void)
{
    snprintf(fault_file, sizeof fault_file, "fault-%d", (int)getpid());
    setenv("SMALL_ENVS_FAULT", fault_file, 1);
    int failed = run_all_tests(NULL, unload_all);
    unlink(fault_file);
    return failed;
}
