// waker ckpt --repair: a run whose replay log is damaged goes on, says what it lost, and is known
// as no longer exact from then on.
#include "cli/long_runs.h"

static const char more[] =
    "train --logdir hurt " TINY_OPTIONS " --log.tensorboard false --steps 600";

static int setup_run(void **state)
{
    if (setup(state) != 0) return -1;
    program_expect_success(program_run("train --quiet --logdir run " TINY_OPTIONS
                                       " --log.tensorboard false --steps 500"));
    return 0;
}

static void expect(program_result r, int code, const char *part)
{
    if (r.code != code || (!strstr(r.out, part) && !strstr(r.err, part)))
        fail_msg("%d instead of %d and '%s': %s%s", r.code, code, part, r.out, r.err);
}

// Repairs the copy `hurt`, which cannot be continued, and trains on.
static void repair_and_go_on(void)
{
    expect(program_run("ckpt hurt --check"), 3, "replay");
    expect(program_run("%s", more), 2, "waker ckpt hurt --repair");
    expect(program_run("ckpt hurt --repair"), 0, "whole episodes kept: ");
    expect(program_run("ckpt hurt --check"), 0, "no longer exact");
    expect(program_run("ckpt hurt --repair"), 0, "nothing to repair");
    expect(program_run("%s", more), 0, "no longer exact");
    expect(program_run("ckpt hurt --check"), 0, "sound");
}

static void flip_in(const char *run, long at)
{
    shell("python3 -c \"f = open('%s/replay/replay-00000000.log', 'r+b'); f.seek(%ld); b = "
          "f.read(1); f.seek(%ld); f.write(bytes([b[0] ^ 1]))\"",
          run, at, at);
}

static void flip(long at)
{
    flip_in("hurt", at);
}

static void damage_of_any_kind_is_repaired(void **state)
{
    (void)state;
    static const long places[] = {20, 70, 5000, 200000};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        shell("rm -rf hurt && cp -r run hurt");
        flip(places[i]);
        repair_and_go_on();
    }
    shell("rm -rf hurt && cp -r run hurt && truncate -s 100000 hurt/replay/replay-00000000.log");
    repair_and_go_on();
    shell("rm -rf hurt && cp -r run hurt && rm hurt/replay/replay-00000000.log");
    repair_and_go_on();
}

static void nothing_is_deleted_and_the_loss_is_recorded(void **state)
{
    (void)state;
    shell("rm -rf hurt && cp -r run hurt");
    flip(5000);
    shell("cp -r hurt before");
    program_result r = program_run("ckpt hurt --repair --json");
    program_expect_success(r);
    program_expect_json(r.out);
    assert_non_null(strstr(r.out, "\"episodes_lost\": 1"));
    shell("cmp hurt/replay/damaged-replay-00000000.log before/replay/replay-00000000.log");
    shell("for step in before/checkpoints/step-*; do name=$(basename $step); "
          "cmp $step/run.bin hurt/checkpoints/damaged-$name/run.bin || exit 1; done");
    shell("test $(wc -l < hurt/repairs.jsonl) = 1 && grep -q episodes_lost hurt/repairs.jsonl");
    expect(program_run("report hurt --out page"), 0, "no longer exact");
    shell("grep -q 'no longer exact' page/index.html");
    expect(program_run("export hurt --out episodes"), 0, "");
    expect(program_run("adapt hurt --task all --quiet --updates 3"), 0, "");
}

// Its replay begins with the episodes of the run that it was made from.
static void a_fine_tuning_loses_only_what_is_damaged(void **state)
{
    (void)state;
    shell("rm -rf hurt && cp -r run hurt");
    expect(program_run("adapt hurt --task west --quiet --updates 3"), 0, "");
    expect(program_run("finetune hurt --task west --quiet --steps 45"), 0, "");
    shell("rm -rf tuned && mv hurt/finetune/step-*-west tuned");
    flip_in("tuned", 5000);
    expect(program_run("ckpt tuned --repair"), 0, "lost: 1 (21 rows)\n");
    expect(program_run("ckpt tuned --check"), 0, "no longer exact");
    shell("mv tuned hurt/finetune/step-000000000501-west");
    expect(program_run("finetune hurt --task west --quiet --steps 90"), 0, "");
}

// The same run, trained once more, is better than one with a hole.
static void a_run_that_can_be_continued_exactly_is_left_as_it_is(void **state)
{
    (void)state;
    expect(program_run("ckpt run --repair"), 0, "nothing to repair");
    shell("test ! -e run/repairs.jsonl && rm -rf hurt && cp -r run hurt");
    shell("truncate -s -100 hurt/replay/replay-00000000.log"); // the older checkpoint has its rows
    expect(program_run("ckpt hurt --repair"), 0, "can be resumed exactly from agent step");
    shell("test ! -e hurt/repairs.jsonl && test ! -e hurt/replay/damaged-replay-00000000.log");
}

static void what_cannot_be_repaired_is_refused(void **state)
{
    (void)state;
    expect(program_run("ckpt run --repair --check"), 2, "give --repair or --check, not both");
    expect(program_run("ckpt nowhere --repair"), 2, "nowhere");
    shell("rm -rf hurt && cp -r run hurt");
    flip(5000);
    shell("for f in hurt/checkpoints/*/run.bin; do truncate -s -1 $f; done");
    expect(program_run("ckpt hurt --repair"), 2, "every checkpoint of 'hurt' is itself damaged");
    shell("rm -rf hurt && cp -r run hurt");
    flip(5000);
    shell("echo nonsense > hurt/repairs.jsonl");
    expect(program_run("ckpt hurt"), 2, "repairs.jsonl");
}

static void a_run_in_training_is_not_touched(void **state)
{
    (void)state;
    char options[1200];
    snprintf(options, sizeof options,
             "train --quiet --logdir busy " TINY_OPTIONS " --log.tensorboard false --steps %d",
             LONG_STEPS);
    pid_t child = start(options);
    wait_for_metrics("busy");
    expect(program_run("ckpt busy --repair"), 2, "another process");
    kill(child, SIGTERM);
    int status;
    waitpid(child, &status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damage_of_any_kind_is_repaired),
        cmocka_unit_test(nothing_is_deleted_and_the_loss_is_recorded),
        cmocka_unit_test(a_fine_tuning_loses_only_what_is_damaged),
        cmocka_unit_test(a_run_that_can_be_continued_exactly_is_left_as_it_is),
        cmocka_unit_test(what_cannot_be_repaired_is_refused),
        cmocka_unit_test(a_run_in_training_is_not_touched),
    };
    return cmocka_run_group_tests(tests, setup_run, teardown);
}
