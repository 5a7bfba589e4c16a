// Loading plug-ins, the message for each way it can fail, and the examination that finds what is
// wrong with a plug-in's behaviour.
#include "base/file.h"
#include "support/findings.h"
#include "support/toy_domain.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define PLUGINS WAKER_BINARY_DIR "/tests/plugins/"

static wk_error err;

/* ---- Loading --------------------------------------------------------------------------------- */

static void the_template_loads_and_runs(void **state)
{
    wk_plugin *plugin;
    assert_ok(wk_plugin_load(PLUGINS "ball.so", &plugin, &err));
    const wk_domain *domain = wk_plugin_domain(plugin);
    assert_string_equal(domain->name, "ball-on-table");
    wk_env *env;
    assert_ok(wk_env_create(domain, NULL, &env, &err));
    wk_frame nothing = {0};
    const float push[] = {1, 0};
    assert_ok(wk_env_reset(env, domain->hardest, 2, 1, 1, &nothing, &err));
    for (int i = 0; i < domain->episode_steps; i++)
        assert_ok(wk_env_step(env, push, &nothing, &err));
    wk_env_destroy(env);
    wk_plugin_unload(plugin);
    wk_plugin_unload(NULL);
}

static void a_name_without_a_folder_is_a_file_here(void **state)
{
    char before[4096];
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(PLUGINS), 0);
    wk_plugin *plugin;
    assert_ok(wk_plugin_load("ball.so", &plugin, &err));
    wk_plugin_unload(plugin);
    assert_int_equal(chdir(before), 0);
}

static void files_that_are_no_plugins_are_told_apart(void **state)
{
    wk_plugin *plugin;
    assert_refused(wk_plugin_load("no/such/file.so", &plugin, &err), WK_E_NOT_FOUND,
                   "there is no file 'no/such/file.so'");
    assert_refused(wk_plugin_load(PLUGINS, &plugin, &err), WK_E_IO, "Is a directory");
    const char *text = "text.so", *stump = "stump.so";
    assert_ok(wk_file_write(text, "#include <waker/env.h>\n", 23, &err));
    assert_refused(wk_plugin_load(text, &plugin, &err), WK_E_FORMAT, "cc -shared -fPIC");
    assert_ok(wk_file_write(stump, "\177ELF and no more", 16, &err));
    assert_refused(wk_plugin_load(stump, &plugin, &err), WK_E_FORMAT, "cannot load plug-in");
    if (geteuid() != 0) {
        assert_int_equal(chmod(text, 0), 0);
        assert_refused(wk_plugin_load(text, &plugin, &err), WK_E_IO, "check the permissions");
    }
    // The loader would map what is not there and die of it.
    char *bytes;
    size_t size;
    assert_ok(wk_file_read(PLUGINS "ball.so", 1 << 24, &bytes, &size, &err));
    assert_ok(wk_file_write(stump, bytes, 3000, &err));
    free(bytes);
    assert_refused(wk_plugin_load(stump, &plugin, &err), WK_E_FORMAT, "is cut off");
    unlink(text);
    unlink(stump);
}

static void every_broken_plugin_gets_a_message_for_its_author(void **state)
{
    const struct {
        const char *file;
        wk_status status;
        const char *message;
    } broken[] = {
        {"entry_missing.so", WK_E_FORMAT,
         "add a function `const wk_domain *wk_plugin_entry(void)`"},
        {"entry_null.so", WK_E_INPUT, "returns NULL; return the address of your wk_domain"},
        {"other_abi.so", WK_E_UNSUPPORTED, "built for version 42 of the environment interface"},
        {"other_size.so", WK_E_UNSUPPORTED, "set size = sizeof(wk_domain)"},
        {"bad_name.so", WK_E_INPUT, "'Ball On Table' is not a domain name; use"},
        {"symbol_missing.so", WK_E_FORMAT, "defined_nowhere"},
        {"hardest_illegal.so", WK_E_INPUT, "hardest, θ number 0: 'friction' = 9"},
    };
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s%s", PLUGINS, broken[i].file);
        wk_plugin *plugin;
        assert_refused(wk_plugin_load(path, &plugin, &err), broken[i].status, broken[i].message);
        assert_non_null(strstr(err.message, broken[i].file));
    }
}

static void the_name_of_a_built_in_domain_is_refused(void **state)
{
    const wk_domain *builtin;
    if (wk_domain_find("terrain-walker", &builtin, NULL) != WK_OK) skip();
    wk_plugin *plugin;
    assert_refused(wk_plugin_load(PLUGINS "name_taken.so", &plugin, &err), WK_E_INPUT,
                   "'terrain-walker' has the name of a built-in one; rename it");
}

/* ---- Examining ------------------------------------------------------------------------------- */

static void sound_domains_have_no_findings(void **state)
{
    toy t = toy_make(TOY_SOUND);
    t.domain.episode_steps = 49; // those of a sequence
    wk_plugin *plugin;
    assert_ok(wk_plugin_load(PLUGINS "ball.so", &plugin, &err));
    const wk_domain *domains[] = {&t.domain, wk_plugin_domain(plugin)};
    for (int i = 0; i < 2; i++) {
        int faults = -1;
        wk_text found = examine(domains[i], &faults);
        assert_string_equal(wk_text_get(&found), "");
        assert_int_equal(faults, 0);
        wk_text_free(&found);
    }
    wk_plugin_unload(plugin);
    assert_int_equal(toy_worlds(), 0);
}

static void a_task_that_ends_early_is_no_fault(void **state)
{
    toy t = toy_make(TOY_TERMINAL);
    assert_found(&t.domain,
                 "advice: random actions end all of 8 episodes of the hardest θ (0.5, 2) within 4 "
                 "rows; episodes shorter than a sequence train nothing: train with --length 4",
                 0);
}

static void every_fault_of_behaviour_is_found_by_its_cause(void **state)
{
    const struct {
        toy_fault fault;
        const char *line;
    } faults[] = {
        {TOY_CREATE_FAILS, "fault: create fails: the toy is broken."},
        {TOY_CREATE_SILENT, "fault: create fails: it gives no message."},
        {TOY_CREATE_NOTHING, "fault: create returns no world; set *env."},
        {TOY_RESET_FAILS, "fault: reset refuses θ (0.1, 0) although check accepts it"},
        {TOY_TERMINAL_UNDECLARED, "ends at step 3 (terminal) although ends_early is false"},
        {TOY_TERMINAL_AT_RESET, "the episode is over at its reset (terminal)"},
        {TOY_DIVERGES, "diverges at step 3"},
        {TOY_DIVERGES_AT_RESET, "diverges at step 0"},
        {TOY_NAN_REWARD, "gives the reward nan for task 'left'"},
        {TOY_NAN_COMPLETION, "gives the completion inf for task 'right'"},
        {TOY_BIG_COMPLETION, "gives the completion 1.5 for task 'right'"},
        {TOY_BAD_CELL, "step 3 of θ (0.1, 0) gives 8 for the indicator 'cells'"},
        {TOY_PAINTS_OUTSIDE, "render writes outside an image of 64 x 64"},
        {TOY_PAINTS_HOLES, "render leaves byte 99 of a 64 x 64 image unwritten"},
        {TOY_PAINTS_STILL, "does not change in 12 steps"},
        {TOY_RANDOM, "take all randomness from (seed, episode)"},
        {TOY_REMEMBERS, "reset must set everything that an episode changes"},
        {TOY_SHARES, "keep all that changes in the world made by create"},
        {TOY_STATE_GROWS, "state_size gives 24 after reset and 30 after 6 steps"},
        {TOY_SAVES_OUTSIDE, "save writes outside the 24 bytes"},
        {TOY_SAVES_HOLES, "save leaves byte 23 of 24 unwritten"},
        {TOY_FORGETS_SPEED, "save and load must hold everything that a step changes"},
        {TOY_LOAD_REFUSES, "load refuses what save wrote for θ (0.1, 0): the toy forgot"},
        {TOY_LOADS_ANY_SIZE, "load accepts 23 bytes instead of 24"},
    };
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        toy t = toy_make(faults[i].fault);
        assert_found(&t.domain, faults[i].line, 1);
    }
    assert_int_equal(toy_worlds(), 0);
}

static void what_drawing_does_wrong_is_found(void **state)
{
    // Both also show up as episodes that differ, since images are part of them.
    toy noise = toy_make(TOY_PAINTS_NOISE), moves = toy_make(TOY_DRAWING_MOVES);
    assert_found(&noise.domain, "fault: render draws two different 64 x 64 images", 2);
    assert_found(&moves.domain, "render must not change the state", 2);
}

static void a_simulation_that_breaks_down_late_is_found(void **state)
{
    toy t = toy_make(TOY_DIVERGES_LATE);
    t.domain.episode_steps = 100;
    assert_found(&t.domain, "hardest θ (0.5, 2) diverges at step 51", 1);
}

static void observe_until_late(void *env, float *vector)
{
    struct {
        double x, v;
        int64_t steps;
    } now; // what the toy saves
    toy_make(TOY_SOUND).domain.save(env, &now);
    *vector = now.steps > 50 ? NAN : (float)now.x;
}

static void a_vector_that_breaks_down_late_is_found(void **state)
{
    toy t = toy_make(TOY_SOUND);
    t.domain.episode_steps = 100;
    t.domain.observation.vector = 1;
    t.domain.observe = observe_until_late;
    assert_found(&t.domain, "step 51 of θ (0.5, 2) observes nan as number 0", 1);
}

static void questionable_things_are_advice(void **state)
{
    toy reward = toy_make(TOY_BIG_REWARD), extra = toy_make(TOY_EXTRA_REWARD),
        undeclared = toy_make(TOY_UNDECLARED_COMPLETION), silent = toy_make(TOY_LOAD_SILENT);
    assert_found(&reward.domain, "advice: step 0 of θ (0.1, 0) gives the reward 1e+06", 0);
    assert_found(&extra.domain, "advice: step writes the reward or completion of task number 2", 0);
    assert_found(&undeclared.domain, "advice: the completion of task 'left' is reported", 0);
    assert_found(&silent.domain, "advice: load refuses bytes without a message", 0);
}

// Sanitizers replace malloc, and with it the count of bytes in use.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
static void lost_memory_is_noticed(void **state)
{
    toy t = toy_make(TOY_LOSES_MEMORY);
    assert_found(&t.domain, "advice: each world that is created and destroyed leaks about 1", 0);
    toy large = toy_make(TOY_LOSES_MEGABYTES); // blocks that malloc maps
    assert_found(&large.domain, "advice: each world that is created and destroyed leaks about 105",
                 0);
}
#endif

static void a_faulty_description_is_the_only_finding(void **state)
{
    toy t = toy_make(TOY_SOUND);
    t.domain.action_size = 0;
    assert_found(&t.domain, "fault: domain 'toy': action_size is 0; it must lie in 1 to 32.", 1);
}

static void what_makes_a_description_less_useful_is_told(void **state)
{
    toy t = toy_make(TOY_SOUND);
    t.domain.summary = "two\nlines";
    assert_found(&t.domain, "fault: summary holds the control character 0xa;", 1);
    t = toy_make(TOY_SOUND);
    t.domain.episode_steps = 48;
    assert_found(&t.domain, "advice: episodes have at most 49 rows (episode_steps and the", 0);
    t = toy_make(TOY_SOUND);
    const double between[] = {0.123, 0};
    t.domain.hardest = between;
    assert_found(&t.domain, "advice: hardest (0.123, 0) is not on the training grid", 0);
    t = toy_make(TOY_SOUND);
    t.domain.most_complex = between;
    t.domain.n_complex = 1;
    assert_found(&t.domain, "advice: most_complex (0.123, 0) is not on the training grid", 0);
}

static void faults_of_a_loaded_plugin_are_found(void **state)
{
    wk_plugin *plugin;
    assert_ok(wk_plugin_load(PLUGINS "reward_nan.so", &plugin, &err));
    assert_found(wk_plugin_domain(plugin), "gives the reward nan for task 'circle'", 1);
    wk_plugin_unload(plugin);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_template_loads_and_runs),
        cmocka_unit_test(a_name_without_a_folder_is_a_file_here),
        cmocka_unit_test(files_that_are_no_plugins_are_told_apart),
        cmocka_unit_test(every_broken_plugin_gets_a_message_for_its_author),
        cmocka_unit_test(the_name_of_a_built_in_domain_is_refused),
        cmocka_unit_test(sound_domains_have_no_findings),
        cmocka_unit_test(a_task_that_ends_early_is_no_fault),
        cmocka_unit_test(every_fault_of_behaviour_is_found_by_its_cause),
        cmocka_unit_test(what_drawing_does_wrong_is_found),
        cmocka_unit_test(a_simulation_that_breaks_down_late_is_found),
        cmocka_unit_test(a_vector_that_breaks_down_late_is_found),
        cmocka_unit_test(questionable_things_are_advice),
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
        cmocka_unit_test(lost_memory_is_noticed),
#endif
        cmocka_unit_test(a_faulty_description_is_the_only_finding),
        cmocka_unit_test(what_makes_a_description_less_useful_is_told),
        cmocka_unit_test(faults_of_a_loaded_plugin_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
