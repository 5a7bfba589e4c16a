// Grid files and the plans made of them: which runs there are, how they are called, which shapes
// they have, and what hostile files are told.
#include "base/machine.h"
#include "support/check.h"
#include "sweep/sweep.h"
#include <stdio.h>
#include <stdlib.h>

static wk_status parse(const char *text, wk_sweep_grid *out, wk_error *err)
{
    return wk_sweep_grid_parse("grid.yaml", text, strlen(text), out, err);
}

// A grid with its plan.
typedef struct planned {
    wk_sweep_grid grid;
    wk_sweep_plan plan;
} planned;

static void make(planned *p, const char *text)
{
    wk_error err = {0};
    assert_ok(parse(text, &p->grid, &err));
    assert_ok(wk_sweep_plan_create(&p->grid, "runs", &p->plan, &err));
}

static void drop(planned *p)
{
    wk_sweep_plan_free(&p->plan);
    wk_sweep_grid_free(&p->grid);
}

// The tasks that are not left out, with blanks between their names.
static const char *names(const wk_sweep_plan *plan)
{
    static char all[4096];
    size_t used = 0, count = 0;
    *all = 0;
    for (size_t i = 0; i < plan->tasks.count; i++) {
        if (plan->tasks.items[i].left_out) continue;
        used += (size_t)snprintf(all + used, sizeof all - used, "%s%s", count++ ? " " : "",
                                 plan->tasks.items[i].name);
    }
    assert_int_equal(count, plan->selected);
    return all;
}

static const char *words(const wk_sweep_plan *plan, int task)
{
    static char all[4096];
    wk_sweep_words list = {0};
    wk_text text = {0};
    wk_sweep_train_words(plan, task, &list);
    wk_sweep_words_print(&list, "waker", &text);
    snprintf(all, sizeof all, "%s", wk_text_get(&text));
    wk_text_free(&text);
    wk_sweep_words_free(&list);
    return all;
}

static const char GRID[] = "blocks:\n"
                           "  domain: [toy, clean-up]\n"
                           "  curriculum: [waker-m, dr]\n"
                           "  size: quick\n"
                           "keys:\n"
                           "  seed: 0..1\n"
                           "  steps: 9e3\n"
                           "with:\n"
                           "  clean-up waker-m: {prefill: 700, model.rate: 1e-4}\n"
                           "  seed=1: {log.every: 77}\n"
                           "exclude: [toy dr, clean-up seed=1]\n"
                           "then:\n"
                           "  adapt: --task all\n"
                           "report: ''\n";

TEST_CASE(runs_are_the_product_without_what_is_excluded)
{
    planned p;
    make(&p, "blocks: {domain: toy, curriculum: [waker-m, dr]}\nkeys: {seed: 0..1, units: [8, 9]}");
    assert_string_equal(names(&p.plan), "waker-m-seed0-units8 waker-m-seed0-units9 "
                                        "waker-m-seed1-units8 waker-m-seed1-units9 dr-seed0-units8 "
                                        "dr-seed0-units9 dr-seed1-units8 dr-seed1-units9");
    drop(&p);
    make(&p, "blocks: {domain: [clean-up, car-clean-up], curriculum: [waker-m, dr], size: quick}\n"
             "keys: {seed: 0..1, steps: 9e3}\nexclude: [car-clean-up dr, clean-up seed=1]\n");
    assert_string_equal(names(&p.plan), "clean-up-waker-m-seed0 clean-up-dr-seed0 "
                                        "car-clean-up-waker-m-seed0 car-clean-up-waker-m-seed1");
    assert_string_equal(words(&p.plan, 1),
                        "waker train --logdir runs/clean-up-dr-seed0 --configs clean-up dr quick "
                        "--seed=0 --steps=9000");
    drop(&p);
}

TEST_CASE(presets_apply_where_their_words_do)
{
    planned p;
    wk_merged_config merged;
    wk_error err = {0};
    make(&p, "blocks: {domain: [clean-up], curriculum: [waker-m, dr], size: quick}\n"
             "keys: {seed: [0, 1]}\n"
             "with:\n  clean-up waker-m: {prefill: 700, model.rate: 1e-4}\n"
             "  seed=1: {log: {every: 77}}\n");
    assert_ok(wk_sweep_task_config(&p.plan, 1, &merged, &err)); // waker-m, seed 1
    assert_int_equal(merged.config.prefill, 700);
    assert_int_equal(merged.config.log_every, 77);
    assert_int_equal(merged.config.seed, 1);
    // The grid is a file: what it names is not named by the caller.
    assert_string_equal(merged.origins[WK_RUN_seed_INDEX].file, "grid.yaml");
    assert_ok(wk_sweep_task_config(&p.plan, 2, &merged, &err)); // dr, seed 0
    assert_int_equal(merged.config.prefill, 3000);
    assert_int_equal(merged.config.log_every, 400);
    assert_string_equal(words(&p.plan, 3),
                        "waker train --logdir runs/clean-up-dr-seed1 --configs clean-up dr quick "
                        "--log.every=77 --seed=1");
    drop(&p);
}

TEST_CASE(shapes_gather_runs_of_equal_cost)
{
    planned p;
    make(&p, "blocks: {domain: [clean-up, car-clean-up], curriculum: [dr, ge], size: quick}\n"
             "keys: {seed: 0..2, units: [32, 64], model.rate: [1e-4, 2e-4]}\n");
    assert_int_equal(p.plan.tasks.count, 48);
    assert_int_equal(p.plan.shapes.count, 4);
    assert_int_equal(p.plan.shapes.items[0].count, 12);
    assert_string_equal(p.plan.shapes.items[0].name, "clean-up");
    assert_string_equal(p.plan.shapes.items[1].name, "clean-up-2");
    // ge has a prefill of its own, and more updates.
    const wk_sweep_task *dr = &p.plan.tasks.items[0];
    const wk_sweep_task *ge =
        &p.plan.tasks
             .items[wk_sweep_plan_find(&p.plan, "clean-up-ge-seed0-units32-model.rate0.0001")];
    assert_int_equal(dr->shape, ge->shape);
    assert_int_equal(dr->updates, (20000 - 3000) / 8);
    drop(&p);
}

TEST_CASE(added_values_leave_names_as_they_are)
{
    planned before, after;
    int resized;
    wk_error err = {0};
    const char *text = "blocks: {domain: toy, curriculum: [dr]}\nkeys: {seed: 0, steps: 500}";
    make(&before, text);
    assert_string_equal(names(&before.plan), "dr-seed0");
    assert_ok(parse(text, &after.grid, &err));
    assert_ok(wk_sweep_grid_add(&after.grid, "seed=1..2,7", &err));
    assert_ok(wk_sweep_grid_add(&after.grid, "curriculum=waker-m", &err));
    assert_refused(wk_sweep_grid_add(&after.grid, "seed=2", &err), WK_E_INPUT, "twice");
    wk_sweep_grid_free(&after.grid);
    assert_ok(parse(text, &after.grid, &err));
    assert_ok(wk_sweep_grid_add(&after.grid, "seed=1..2,7", &err));
    assert_refused(wk_sweep_grid_add(&after.grid, "sead=2", &err), WK_E_NOT_FOUND, "seed");
    assert_refused(wk_sweep_grid_add(&after.grid, "steps=2", &err), WK_E_INPUT, "the same in all");
    assert_ok(wk_sweep_plan_create(&after.grid, "runs", &after.plan, &err));
    assert_string_equal(names(&after.plan), "dr-seed0 dr-seed1 dr-seed2 dr-seed7");
    assert_ok(wk_sweep_plan_contains(&after.plan, &before.plan, &resized, &err));
    assert_refused(wk_sweep_plan_contains(&before.plan, &after.plan, &resized, &err), WK_E_INPUT,
                   "the run 'dr-seed1' is not in grid.yaml");
    drop(&before);
    drop(&after);
}

TEST_CASE(another_configuration_under_a_name_is_found)
{
    planned a, b;
    int resized;
    wk_error err = {0};
    make(&a, "blocks: {domain: toy}\nkeys: {seed: 0..1, units: 8}");
    make(&b, "blocks: {domain: toy}\nkeys: {seed: 0..1, units: 9}");
    assert_refused(wk_sweep_plan_contains(&a.plan, &b.plan, &resized, &err), WK_E_INPUT,
                   "other settings in grid.yaml: the run was started with units '9', not '8'");
    drop(&b);
    // Another length is allowed.
    make(&b, "blocks: {domain: toy}\nkeys: {seed: 1, units: 8, steps: 700}");
    assert_ok(wk_sweep_plan_contains(&a.plan, &b.plan, &resized, &err));
    assert_int_equal(resized, 1);
    drop(&a);
    drop(&b);
}

TEST_CASE(a_printed_grid_reads_back_as_the_same)
{
    planned p, again;
    wk_text text = {0}, twice = {0};
    wk_error err = {0};
    assert_ok(parse(GRID, &p.grid, &err));
    wk_sweep_grid_print(&p.grid, &text);
    assert_ok(
        wk_sweep_grid_parse("again.yaml", wk_text_get(&text), text.length, &again.grid, &err));
    wk_sweep_grid_print(&again.grid, &twice);
    assert_string_equal(wk_text_get(&text), wk_text_get(&twice));
    assert_true(again.grid.follow[WK_SWEEP_ADAPT].present);
    assert_int_equal(again.grid.follow[WK_SWEEP_ADAPT].count, 2);
    assert_false(again.grid.follow[WK_SWEEP_EVAL].present);
    assert_true(again.grid.report.present);
    assert_int_equal(again.grid.excludes.count, 2);
    assert_int_equal(again.grid.presets.count, 3);
    wk_text_free(&text);
    wk_text_free(&twice);
    wk_sweep_grid_free(&p.grid);
    wk_sweep_grid_free(&again.grid);
}

// The sizes of a network that no preset has are that many keys.
TEST_CASE(twenty_keys_may_have_one_value_each)
{
    planned p;
    make(&p, "blocks: {domain: toy, curriculum: [waker-m, dr]}\n"
             "keys: {steps: 900, prefill: 100, env.count: 2, train_every: 5, units: 4, layers: 1,\n"
             "  encoder.depth: 1, rssm.deter: 4, rssm.hidden: 4, rssm.stoch: 2, rssm.classes: 2,\n"
             "  ensemble.size: 2, batch: 2, length: 6, horizon: 2, replay.capacity: 4000,\n"
             "  log.every: 100, log.images_every: 0, snapshot.every: 0, eval.every: 0}");
    assert_string_equal(names(&p.plan), "waker-m dr");
    assert_non_null(strstr(words(&p.plan, 1), "--eval.every=0"));
    drop(&p);
}

// Every one with its line, none with much time or memory.
TEST_CASE(mistakes_are_refused_with_their_line)
{
    static const struct {
        const char *text;
        wk_status status;
        const char *message;
    } cases[] = {
        {"a: &a [x]\nblocks: {domain: *a}", WK_E_FORMAT, "grid.yaml:2: aliases"},
        {"blocks:\n  domain: &a [toy]\n  other: *a", WK_E_FORMAT, "grid.yaml:3: aliases"},
        {"blocks:\n  domain: [toy]\n  domain: [toy]", WK_E_FORMAT, "grid.yaml:3: "},
        {"blocks:\n  domain: [toy, toy]", WK_E_INPUT,
         "grid.yaml:2: domain has the value 'toy' twi"},
        {"blocks: {domain: toy}\nkeys:\n  seed: 0..999999999", WK_E_INPUT,
         "grid.yaml:3: '0..999999999' has more than 100000 values"},
        {"blocks: {domain: toy}\nkeys:\n  seed: 0..999\n  units: 1..999\n  layers: 1..999",
         WK_E_INPUT, "grid.yaml:4: makes 999000 runs"},
        {"blocks: {domain: toy}\nkeys:\n  seed: 4..1", WK_E_INPUT, "counts down"},
        {"blocks: {domain: toy}\nkeys:\n  sead: 1", WK_E_INPUT, "grid.yaml:3: "},
        {"blocks: {domain: toy}\nkeys:\n  model.rate: [7]", WK_E_INPUT, "outside 0 to 1"},
        {"blocks: {domain: toy}\nkeyz:\n  seed: 1", WK_E_NOT_FOUND, "did you mean 'keys'?"},
        {"blocks: {domain: toy}\nthen:\n  evil: 1", WK_E_NOT_FOUND, "grid.yaml:3: "},
        {"blocks: {domain: toy}\nexclude: [walker]", WK_E_INPUT, "'walker' is not a value"},
        {"blocks: {domain: toy}\nexclude: ['']", WK_E_INPUT, "does not say which runs"},
        {"blocks: {domain: toy}\nexclude: [seed=4]", WK_E_INPUT, "no axis is called 'seed'"},
        {"blocks: {domain: toy}\nkeys: {seed: 1}\nexclude: [seed=4]", WK_E_INPUT, "no value '4'"},
        {"blocks: {domain: toy}\nkeys: {seed: 1}\nwith: {toy: {seed: 2}}", WK_E_INPUT,
         "is an axis"},
        {"blocks: {domain: toy}\nwith: {toy: 1}", WK_E_INPUT, "needs keys under it"},
        {"blocks: toy", WK_E_INPUT, "'blocks' needs keys"},
        // Names that would not read back from what is printed, or that look like VALUE=....
        {"blocks: {l=a: [toy], l: x}", WK_E_INPUT,
         "grid.yaml:1: 'l=a' is not a valid name of an axis"},
        {"blocks: {\"a\\tb\": toy}", WK_E_INPUT, "is not a valid name of an axis"},
        {"blocks: {-l: toy}", WK_E_INPUT, "is not a valid name of an axis"},
        {"blocks:\n  domain: [toy]\n  more:\n    [../../etc/passwd]", WK_E_INPUT,
         "grid.yaml:4: '../../etc/passwd' is not a valid name of a block"},
        {"blocks: {domain: --plugin=./evil.so}", WK_E_INPUT, "is not a valid name of a block"},
        {"blocks: {domain: [toy, -x]}", WK_E_INPUT, "'-x' is not a valid name of a block"},
        {"blocks: {domain: 'toy x'}", WK_E_INPUT, "is not a valid name of a block"},
        {"blocks: {domain: ''}", WK_E_INPUT, "is not a valid name of a block"},
        {"blocks\\x: toy", WK_E_INPUT, "is not a valid name of an axis"},
        {"blocks\\: toy", WK_E_INPUT, "is not a valid name of an axis"},
        {"report: {a: 1}\nblocks: {domain: toy}", WK_E_INPUT, "'report' has no keys"},
        {"keys: {seed: 1}", WK_E_INPUT, "no 'blocks'"},
        {"files: [/nowhere/at/all.yaml]\nblocks: {domain: toy}", WK_E_NOT_FOUND, "grid.yaml:1: "},
        {"[1, 2]", WK_E_FORMAT, "grid.yaml:1: "},
        {"", WK_E_INPUT, "no 'blocks'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        wk_sweep_grid grid;
        wk_error err = {0};
        assert_refused(parse(cases[i].text, &grid, &err), cases[i].status, cases[i].message);
    }
}

TEST_CASE(plans_that_cannot_be_are_refused)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"blocks:\n  domain: [toy]\n  more:\n    [passwd]", "grid.yaml:4: no configura"},
        {"blocks: {domain: toy}\nkeys: {seed: 0..1}\nexclude: [toy]", "leaves no run"},
        {"blocks: {domain: toy}\nkeys: {length: 500, seed: 3}", "run seed3: "},
        {"blocks: {domain: toy}\nkeys: {curriculum.rule: [dr, nothing]}", "run nothing: "},
        {"blocks: {domain: toy}\nkeys: {steps: 500..1500}", "more than 1000 shapes"},
        {"blocks: {what: toy}\nkeys: {domain: [toy, moon]}", "run domain-moon: "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        planned p;
        wk_error err = {0};
        assert_ok(parse(cases[i].text, &p.grid, &err));
        wk_status status = wk_sweep_plan_create(&p.grid, "runs", &p.plan, &err);
        assert_true(status != WK_OK);
        if (!strstr(err.message, cases[i].message))
            fail_msg("'%s' lacks '%s'", err.message, cases[i].message);
        wk_sweep_grid_free(&p.grid);
    }
}

// Values with commas, blanks or slashes are one value. Names that only differ in characters that no
// name has, or are long, stay apart.
TEST_CASE(names_are_safe_short_and_stay_apart)
{
    planned p;
    make(&p, "blocks: {domain: toy}\nkeys: {curriculum.rule: fixed, tasks: ['west,east', none], "
             "curriculum.theta: ['0;1', '0 ;1', "
             "'0.01;0.02;0.03;0.04;0.05;0.06;0.07;0.08;0.09;0.10;0.11;0.12;0.13;0.14;0.15;0.16;0."
             "17;0.18;0.19;0.20;0.21;0.22;0.23;0.24;0.25;0.26;0.27;0.28;0.29;0.30;0.31;0.32;0.33;0."
             "34;0.35;0.36;0.37;0.38;0.39;0.40']}");
    assert_int_equal(p.plan.tasks.count, 6); // a plan has no name twice
    for (size_t i = 0; i < p.plan.tasks.count; i++) {
        const char *name = p.plan.tasks.items[i].name;
        assert_true(strlen(name) < WK_EACH_NAME_MAX);
        assert_int_equal(strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                      "0123456789._+-"),
                         strlen(name));
    }
    drop(&p);
}

TEST_CASE(the_papers_grids_have_its_runs)
{
    static const struct {
        const char *name;
        size_t runs, shapes;
        uint64_t steps; // of the first run
    } grids[] = {
        {"paper-main", 120, 4, 3700000},
        {"paper-random", 60, 4, 3700000},
        {"paper-combined", 10, 1, 4000000},
        {"paper-eta", 12, 1, 2500000},
        {"paper-curves", 120, 4, 3700000},
        {"small-paper", 240, 8, 3000000},
        {"toy", 4, 1, 1600},
    };
    size_t count = 0;
    while (wk_sweep_grid_embedded(count))
        count++;
    assert_int_equal(count, sizeof grids / sizeof *grids);
    for (size_t i = 0; i < count; i++) {
        planned p;
        wk_error err = {0};
        char path[512];
        snprintf(path, sizeof path, WAKER_SOURCE_DIR "/configs/sweeps/%s.yaml", grids[i].name);
        assert_ok(wk_sweep_grid_open(path, &p.grid, &err)); // by its path too
        wk_sweep_grid_free(&p.grid);
        assert_ok(wk_sweep_grid_open(grids[i].name, &p.grid, &err));
        assert_ok(wk_sweep_plan_create(&p.grid, "runs", &p.plan,
                                       &err)); // which checks every configuration
        assert_int_equal(p.plan.tasks.count, grids[i].runs);
        assert_int_equal(p.plan.shapes.count, grids[i].shapes);
        assert_int_equal(p.plan.tasks.items[0].steps, grids[i].steps);
        drop(&p);
    }
    wk_sweep_grid grid;
    wk_error err = {0};
    assert_refused(wk_sweep_grid_open("paper-man", &grid, &err), WK_E_NOT_FOUND, "paper-main");
}

TEST_CASE(a_part_has_the_runs_with_all_of_its_values)
{
    static const char text[] = "blocks: {domain: toy, curriculum: [waker-m, dr, ge]}\n"
                               "keys: {seed: 0..2, tasks: ['west,east', none]}\n"
                               "exclude: [dr seed=2]\n";
    static const struct {
        const char *only[2], *names;
    } parts[] = {
        {{"curriculum=dr,seed=1"}, "dr-seed1-tasks-west_east-91678b05 dr-seed1-tasks-none"},
        {{"curriculum=dr|waker-m,tasks=none", "seed=1..2"},
         "waker-m-seed1-tasks-none waker-m-seed2-tasks-none dr-seed1-tasks-none"},
        {{"tasks=west,east,seed=0", "curriculum=ge"}, "ge-seed0-tasks-west_east-0dd28337"},
        {{"seed=2,curriculum=ge", "seed=0,tasks=none"}, "ge-seed0-tasks-none ge-seed2-tasks-none"},
    };
    static const struct {
        const char *only, *message;
    } mistakes[] = {
        {"sead=1", "--only sead=1: no axis of the grid is called 'sead'; did you mean 'seed'?"},
        {"x=1", "there is domain, curriculum, seed, tasks"},
        {"curriculum=drr", "the axis 'curriculum' has no value 'drr', but waker-m, dr, ge"},
        {"seed=1..4", "the axis 'seed' has no value '3', but 0, 1, 2"},
        {"seed=1,dr", "'1,dr' is not a whole number"},
        {"dr", "write AXIS=VALUE, not 'dr'"},
        {"", "write AXIS=VALUE, not ''"},
        {"curriculum=dr,seed=2", "--only leaves no run"},
    };
    wk_error err = {0};
    planned p;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        make(&p, text);
        assert_ok(wk_sweep_plan_select(&p.plan, parts[i].only, parts[i].only[1] ? 2 : 1, &err));
        assert_string_equal(names(&p.plan), parts[i].names);
        drop(&p);
    }
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        make(&p, text);
        wk_status status = wk_sweep_plan_select(&p.plan, &mistakes[i].only, 1, &err);
        if (status == WK_OK || !strstr(err.message, mistakes[i].message))
            fail_msg("%s: %s", mistakes[i].only, err.message);
        drop(&p);
    }
}

// As one machine of several gets it.
TEST_CASE(a_part_of_the_small_paper_is_one_population)
{
    planned p;
    wk_error err = {0};
    wk_sweep_queue queue = {0};
    const char *only = "domain=car-clean-up,exploration=random,curriculum=waker-m|dr,seed=0";
    int tasks[2];
    assert_ok(wk_sweep_grid_open("small-paper", &p.grid, &err));
    assert_ok(wk_sweep_plan_create(&p.grid, "runs", &p.plan, &err));
    assert_ok(wk_sweep_plan_select(&p.plan, &only, 1, &err));
    assert_string_equal(names(&p.plan),
                        "car-clean-up-waker-m-random-seed0 car-clean-up-dr-random-seed0");
    assert_ok(wk_sweep_queue_open(&p.plan, 0, &queue, &err));
    assert_int_equal(wk_sweep_queue_next(&queue, 2, tasks), 2);
    assert_int_equal(p.plan.tasks.items[tasks[0]].shape, p.plan.tasks.items[tasks[1]].shape);
    assert_int_equal(wk_sweep_queue_next(&queue, 2, tasks), 0);
    assert_int_equal(wk_sweep_count(&p.plan, queue.entries).total, 2 * 3000000);
    wk_sweep_queue_close(&queue);
    drop(&p);
}

TEST_CASE(ten_thousand_runs_are_planned_at_once)
{
    planned p;
    double began = wk_clock_thread_seconds();
    make(&p, "blocks: {domain: toy, curriculum: [waker-m, dr]}\n"
             "keys: {curriculum.temperature: [0.5, 1], seed: 0..2499}\n");
    double seconds = wk_clock_thread_seconds() - began;
    assert_int_equal(p.plan.tasks.count, 10000);
    drop(&p);
    print_message("10,000 runs planned in %.2f s\n", seconds);
#ifndef __SANITIZE_ADDRESS__
    assert_true(seconds < 2);
#endif
}

TEST_MAIN(NULL, NULL)
