// Sweeps as a user runs them: a grid ends as its runs would alone, interrupted, killed or as
// populations; a run that fails leaves the others alone; more runs join later; what cannot be run
// is refused and leaves nothing.
#include "cli/long_runs.h"
#include <fcntl.h>
#include <pty.h>
#include <sys/file.h>

// The smallest runs that do everything (TINY_OPTIONS), with axes, what follows and a report.
static void write_grid(const char *name, int steps)
{
    shell("cat >%s <<'END'\n"
          "blocks: {domain: toy, curriculum: [waker-m, dr]}\n"
          "keys: {seed: 0..1, steps: %d, prefill: 60, env.count: 3, env.threads: 1, "
          "train_every: 6, replay.capacity: 2000, encoder.depth: 1, rssm.deter: 6, "
          "rssm.hidden: 6, rssm.stoch: 3, rssm.classes: 3, units: 6, layers: 1}\n"
          "with:\n"
          "  toy: {ensemble.size: 2, batch: 2, length: 6, horizon: 3, checkpoint.every_steps: 50,\n"
          "        snapshot.every: 0, log.every: 30, log.images_every: 0, log.tensorboard: false}\n"
          "then: {adapt: --task all --updates 3, eval: --envs 2 --cases dr}\n"
          "report: --reps 20\n"
          "END",
          name, steps);
}

static const char *const runs[] = {"waker-m-seed0", "waker-m-seed1", "dr-seed0", "dr-seed1"};
enum { RUNS = sizeof runs / sizeof *runs };

// The same runs by the commands that --launch print gives, one after the other.
static void run_alone(const char *grid, const char *directory)
{
    shell("PATH=" WAKER_BINARY_DIR ":$PATH; waker sweep %s --logdir %s --launch print --quiet "
          ">%s.sh && grep -c '^waker train .* && waker adapt .* && waker eval ' %s.sh | grep -qx 4 "
          "&& sh -e %s.sh >/dev/null 2>&1",
          grid, directory, directory, directory, directory);
}

static void expect_same(const char *sweep, const char *alone)
{
    for (int i = 0; i < RUNS; i++) {
        char a[64], b[64];
        snprintf(a, sizeof a, "%s/%s", sweep, runs[i]);
        snprintf(b, sizeof b, "%s/%s", alone, runs[i]);
        expect_same_end(a, b);
        shell("cd %s/%s && for f in adapt/*/weights.safetensors eval/*.json eval/*.csv; do "
              "cmp $f ../../%s/%s/$f || exit 1; done",
              sweep, runs[i], alone, runs[i]);
    }
    shell("sed 's#%s/#%s/#' %s/report/tables/scores.csv | cmp - %s/report/tables/scores.csv", alone,
          sweep, alone, sweep);
}

TEST_CASE(a_grid_that_was_interrupted_ends_as_its_runs_do_alone)
{
    write_grid("long.yaml", LONG_STEPS);
    run_alone("long.yaml", "alone");
    pid_t child = start("sweep long.yaml --logdir grid --rate 100 --jobs 2 --quiet");
    wait_for_metrics("grid/waker-m-seed0");
    program_refuses("sweep long.yaml --logdir grid --rate 100",
                    "another sweep is running in 'grid' (process ");
    kill(child, SIGINT);
    assert_int_equal(exit_code(child), 75);
    shell("test -d grid/waker-m-seed0/checkpoints && ! test -e grid/report");
    // Now everything is killed at once, the processes of the runs too. A sweep that was too fast
    // for that has its report.
    int status;
    child = start("sweep --logdir grid --rate 100 --jobs 2 --quiet");
    wait_until("ls grid/sweep/tasks/*/attempt.json grid/report 2>/dev/null | grep -q .");
    pause_ms(100); // whatever they are at then
    shell("pkill -KILL -P %d; true", (int)child);
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    // And the sweep alone: its runs save and stop, and the next one waits for that.
    child = start("sweep --logdir grid --rate 100 --jobs 2 --quiet");
    wait_until(WAKER_BINARY_DIR "/waker sweep status grid | grep -q 'seed[01] *running' || "
                                "test -e grid/report");
    pause_ms(100);
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    // And its runs alone: they are begun again. A child that has just been forked has the lock too.
    shell("flock -w %d grid/sweep/lock true", PATIENCE_SECONDS);
    child = start("sweep long.yaml --logdir grid --rate 100 --quiet");
    wait_until("pgrep -P %d >/dev/null || test -e grid/report", (int)child);
    pause_ms(300);
    shell("pkill -KILL -P %d; true", (int)child);
    assert_int_equal(exit_code(child), 0);
    expect_same("grid", "alone");
    // Nothing is done again.
    shell("find grid -newer grid/report/sweep.done -type f | grep -v grid/sweep/ >before; true");
    program_succeed("sweep long.yaml --logdir grid --rate 100 --quiet");
    shell("find grid -newer grid/report/sweep.done -type f | grep -v grid/sweep/ >after; "
          "cmp before after");
}

TEST_CASE(a_population_ends_in_the_same_bytes)
{
    write_grid("grid.yaml", 200);
    run_alone("grid.yaml", "apart");
    program_result r = program_succeed("sweep grid.yaml --logdir pop --rate 100 --populations 3");
    expect_parts(r.err, "up to 3 runs in one", "done dr-seed1 (");
    expect_parts(r.out, "finished: pop");
    expect_same("pop", "apart");
    shell("grep -c '\"state\": \"done\"' pop/sweep/manifest.jsonl | grep -qx 4");
    r = program_succeed("sweep --logdir pop --launch print --quiet");
    assert_string_equal(r.out, ""); // the report is made too
}

// What machines do apart is one sweep when it is copied together.
TEST_CASE(parts_that_were_made_apart_are_the_whole_when_copied_together)
{
    program_result r =
        program_succeed("sweep grid.yaml --logdir one --only curriculum=waker-m --populations 2 "
                        "--rate 100");
    expect_parts(r.err, "2 of 4 runs in 1 shape, 1 population of up to 2 runs\n",
                 "done waker-m-seed1 (2 of 2)");
    expect_parts(r.out, "finished, the runs that --only names: one");
    program_prints("sweep status one", "waker-m  ##\ndr       ..\n");
    // Another call with another part, or none, continues the same sweep.
    const char *const more[] = {"grid.yaml --logdir two --only curriculum=dr,seed=0",
                                "--logdir two --only 'curriculum=dr|waker-m' --only seed=1 "
                                "--launch print",
                                "--logdir two --only curriculum=dr"};
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        r = program_succeed("sweep %s --rate 100 --quiet", more[i]);
    }
    r = program_run("sweep --logdir two --only seed=1 --launch print --quiet");
    expect_parts(r.out, "waker train --logdir two/waker-m-seed1 ");
    assert_null(strstr(r.out, "seed0"));
    assert_null(strstr(r.out, "two/dr-seed1"));
    shell("test ! -e two/waker-m-seed1 && cp -a two/. one && touch stamp");
    program_prints("sweep status one", "waker-m  ##\ndr       ##\n");
    program_succeed("sweep --logdir one --rate 100 --quiet");
    shell("! find one/*-seed* -newer stamp -type f | grep .");
    expect_same("one", "apart");
    shell("for d in one pop; do " WAKER_BINARY_DIR "/waker sweep status $d --json | "
          "sed \"s#\\\"$d#\\\"X#\" >$d.json; done; cmp one.json pop.json && "
          "cmp one/report/sweep.done pop/report/sweep.done && cmp one/sweep/grid.yaml "
          "pop/sweep/grid.yaml");
}

TEST_CASE(a_run_that_fails_leaves_the_others_alone_and_can_be_tried_again)
{
    write_grid("grid.yaml", 200);
    shell("mkdir broken && touch broken/dr-seed0");
    program_result r = program_run("sweep grid.yaml --logdir broken --rate 100");
    program_expect_error(r, 1, "some runs failed");
    expect_parts(r.err, "failed dr-seed0: ");
    program_prints("sweep status broken", "waker-m  ##\n", "dr       X#\n",
                   "4 runs, 3 done, 1 failed", "broken/dr-seed0"); // the last line of its error
    shell("test -e broken/report/index.html && rm broken/dr-seed0");
    program_expect_error(program_run("sweep --logdir broken --rate 100"), 1, "some runs failed");
    program_prints("sweep retry broken", "1 run can be tried again");
    program_succeed("sweep --logdir broken --rate 100");
    expect_same("broken", "apart"); // the report is made anew
}

// As on a full disk, where it cannot even note an attempt.
TEST_CASE(a_process_that_could_not_begin_is_not_said_to_have_saved)
{
    shell("cp -a pop lost && rm -r lost/dr-seed1 lost/sweep/tasks/dr-seed1 && "
          "mkdir -p lost/sweep/tasks/dr-seed1/lock"); // where a file has to be
    program_result r = program_run("sweep --logdir lost --rate 100");
    program_expect_error(r, 1, "some runs failed");
    if (!strstr(r.err, "dr-seed1 ended with exit code ") || strstr(r.err, "saved dr-seed1"))
        fail_msg("%s", r.err);
}

// What a first user sees: two curricula whose scores differ in the digits that the report prints.
TEST_CASE(the_smallest_sweep_shows_a_difference)
{
    program_succeed("sweep toy --logdir toy --rate 100 --quiet");
    shell("awk -F, 'NR > 1 {mean = sprintf(\"%%.3f\", $7); if (seen[$4] == mean) same = 1; "
          "seen[$4] = mean; rows++} END {exit same || rows != 4}' toy/report/tables/average.csv");
}

TEST_CASE(more_seeds_join_and_what_is_done_stays)
{
    shell("cp -a pop more");
    program_prints("sweep add more seed=2 curriculum=ge", "5 runs added, 9 in total");
    program_prints("sweep status more", "; the report has 4 of 9 runs\n");
    program_refuses("sweep add more units=7", "the same in all runs");
    program_result r = program_run("sweep more.yaml --logdir more");
    program_expect_error(r, 2, "more.yaml");
    // The file has fewer runs than the sweep now.
    program_refuses("sweep grid.yaml --logdir more --rate 100",
                    "holds another sweep, which 'waker sweep --logdir more' resumes; choose "
                    "another logdir: the run 'waker-m-seed2' is not in grid.yaml");
    shell("touch stamp");
    program_succeed("sweep --logdir more --rate 100 --quiet");
    shell("! find more/waker-m-seed0 more/dr-seed1 -newer stamp -type f | grep .");
    r = program_succeed("sweep status more --json");
    program_expect_json(r.out);
    expect_parts(r.out, "\"done\": 9", "\"reported\": true");
    // The state is what is there: a run that was deleted waits, and comes back.
    shell("rm -r more/ge-seed2");
    program_prints("sweep status more", "ge       ##.\n");
}

TEST_CASE(runs_that_were_moved_are_what_they_are)
{
    shell("mkdir moved && cp -a apart/dr-seed1 moved/dr-seed1 && cp -a apart/dr-seed1 "
          "moved/dr-seed0");
    program_succeed("sweep grid.yaml --logdir moved --launch print --quiet");
    // By hand: nothing marks what followed, and the run with another seed is not taken for this
    // one.
    program_result r = program_run("sweep status moved");
    expect_parts(r.out, "waker-m  ..\n", "dr       X+\n",
                 "'moved/dr-seed0' holds a run with other settings");
    program_succeed("sweep run moved dr-seed1 --quiet");
    shell("rm -r moved/dr-seed0 && mv moved/dr-seed1 apart2 && cp -a apart/dr-seed0 moved/");
    program_prints("sweep status moved", "dr       +.\n");
    shell("mv apart2 moved/dr-seed1");
    program_prints("sweep status moved", "dr       +#\n");
}

// It would find no run at the old place and begin all of them again.
TEST_CASE(a_sweep_whose_directory_was_moved_stops)
{
    write_grid("endless.yaml", 1000000000);
    pid_t child = start("sweep endless.yaml --logdir here --rate 100 --jobs 1 --quiet");
    wait_for_metrics("here/waker-m-seed0");
    shell("mv here there");
    assert_int_equal(exit_code(child), 1);
    shell("test ! -e here && test -s there/waker-m-seed0/metrics.jsonl");
}

TEST_CASE(a_sweep_can_be_cancelled)
{
    // Also where Slurm's scripts could not name the directory.
    pid_t child = start("sweep endless.yaml --logdir 'o\"ff' --rate 100 --jobs 1 --quiet");
    wait_for_metrics("o\"ff/waker-m-seed0");
    program_succeed("sweep cancel 'o\"ff'");
    assert_int_equal(exit_code(child), 75);
    assert_string_equal(program_run("sweep status 'o\"ff'").err, "");
    child = start("sweep endless.yaml --logdir off --rate 100 --jobs 1 --quiet");
    wait_for_metrics("off/waker-m-seed0");
    program_prints("sweep status off", "waker-m-seed0  running");
    program_succeed("sweep cancel off");
    assert_int_equal(exit_code(child), 75);
    program_result r = program_succeed("sweep cancel off");
    expect_parts(r.err, "nothing to cancel: no sweep is at work on 'off'");
}

TEST_CASE(one_run_is_worked_on_by_one_process)
{
    pid_t child = start("sweep run off waker-m-seed1 --quiet");
    wait_for_metrics("off/waker-m-seed1");
    program_refuses("sweep run off waker-m-seed1", "is already working on the task");
    kill(child, SIGUSR2);
    assert_int_equal(exit_code(child), 75);
    program_refuses("sweep run off nobody", "has no run 'nobody'");
}

// To be stopped is no failure, at whatever moment: three of those would end the tries of a run.
TEST_CASE(a_run_that_is_stopped_while_it_begins_has_not_failed)
{
    char path[512];
    shell("mkdir -p off/sweep/tasks/dr-seed0");
    int lock =
        open(inside("off/sweep/tasks/dr-seed0/lock", path), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    assert_true(lock >= 0);
    assert_int_equal(flock(lock, LOCK_SH), 0); // as 'sweep status' has it for a moment
    pid_t child = start("sweep run off dr-seed0 --quiet");
    wait_until("readlink /proc/%d/exe | grep -q /waker && "
               "ls -l /proc/%d/fd | grep -q tasks/dr-seed0/lock",
               (int)child, (int)child);
    kill(child, SIGTERM);
    close(lock);
    assert_int_equal(exit_code(child), 75);
    shell("! test -e off/sweep/tasks/dr-seed0/attempt.json");
}

// Everything that the program writes to a terminal of so many columns.
static void run_in_terminal(int columns, const char *options, char *text, size_t size)
{
    int terminal, program;
    size_t used = 0;
    struct winsize window = {.ws_row = 24, .ws_col = (unsigned short)columns};
    assert_int_equal(openpty(&terminal, &program, NULL, NULL, &window), 0);
    char command[512]; // the comment hides where start() sends messages
    snprintf(command, sizeof command, "%s 2>&%d #", options, program);
    setenv("TERM", "xterm", 1);
    pid_t child = start(command);
    close(program);
    for (ssize_t n; used < size - 1 && (n = read(terminal, text + used, size - 1 - used)) > 0;)
        used += (size_t)n;
    text[used] = 0;
    close(terminal);
    assert_int_equal(exit_code(child), 0);
}

// Behind a row that fills the terminal the cursor stands on the last character: what clears the
// rest of the row would take that away.
TEST_CASE(the_table_leaves_the_last_column_empty)
{
    static char text[1 << 20];
    const char totals[] = "3 of 4 runs done, 1 running, 0 failed";
    enum { COLUMNS = sizeof totals - 1 };
    shell("cp -a pop tty && rm -r tty/dr-seed1");
    run_in_terminal(COLUMNS, "sweep --logdir tty --rate 100", text, sizeof text);
    int rows = 0;
    for (const char *end = text; (end = strstr(end, "\x1b[K")); end++, rows++) {
        size_t width = 0;
        while (end - width > text && end[-(ptrdiff_t)width - 1] >= ' ' &&
               end[-(ptrdiff_t)width - 1] != 'A')
            width++;
        if (width >= COLUMNS) fail_msg("%zu columns: %.*s", width, (int)width, end - width);
    }
    assert_true(rows > 3);
    expect_parts(text, "3 of 4 runs done, 1 running, 0 faile");
}

TEST_CASE(when_all_is_trained_no_time_of_training_is_shown)
{
    static char text[1 << 20];
    shell("cp -a pop trained && rm -r trained/dr-seed1/eval");
    run_in_terminal(120, "sweep --logdir trained --rate 100", text, sizeof text);
    expect_parts(text, "3 of 4 runs done, 1 running, 0 failed; all are trained");
    assert_null(strstr(text, "training takes about"));
}

TEST_CASE(mistakes_are_refused_and_leave_nothing)
{
    static const struct {
        const char *grid, *message;
    } cases[] = {
        {"blocks: {domain: toy}\\nkeys: {seed: 0..999999999}", "more than 100000 values"},
        {"blocks: {domain: [../x]}", "bad.yaml:1: '../x' is not a valid name of a block"},
        {"blocks: {domain: toy}\\nthen: {eval: --help}", "bad.yaml:2: eval: --help: the command"},
        {"blocks: {domain: toy}\\nthen: {eval: [--envs, 3, -h]}", "eval: -h: the command would"},
        {"blocks: {domain: toy}\\nthen: {model-error: --version}", "--version: the command"},
        {"blocks: {domain: toy}\\nthen: {adapt: --task all --}", "adapt: --: the command would"},
        {"blocks: {domain: toy}\\nreport: --help", "bad.yaml:2: report: --help: the command"},
        {"blocks: {domain: toy}\\nthen: {eval: --envz 3}", "bad.yaml:2: eval: "},
        {"blocks: {domain: toy}\\nthen: {eval: --cases nocase}",
         "bad.yaml:2: eval of run run: no case of this domain"},
        {"blocks: {domain: toy}\\nthen: {eval: --task=nowhere}", "bad.yaml:2: eval of run run: "},
        {"blocks: {domain: toy}\\nthen: {eval: --set noset}", "bad.yaml:2: eval of run run: "},
        {"blocks: {domain: [clean-up, toy]}\\nthen: {adapt: --task nowhere}",
         "bad.yaml:2: adapt of run clean-up: "},
        {"blocks: {domain: toy}\\nthen: {adapt: --updates 3}", "adapt of run run: which task?"},
        {"blocks: {domain: toy}\\nthen: {model-error: --policy nowhere}",
         "bad.yaml:2: model-error of run run: no task of this domain"},
        {"blocks: {domain: toy}\\nthen: {eval: runs/other}", "'runs/other' is not an option"},
        {"blocks: {domain: toy}\\nreport: --out /tmp/x", "--out"},
        {"blocks: {domain: toy}\\nkeys: {plugin: ./evil.so}\\nlogdir: 1", "no part of a grid"},
        {"blocks: {domain: toy}\\nthen: {eval: --plugin ./evil.so}", "a grid cannot load code"},
        {"blocks: {domain: toy}\\nthen: {eval: --reward=./evil.so}", "a grid cannot load code"},
        {"blocks: {domain: toy}\\nthen: {eval: --python evil.py:make}", "a grid cannot load code"},
        {"blocks: {domain: toy}\\nthen: {model-error: [--plugin, ./evil.so]}", "cannot load code"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        shell("printf '%s' >bad.yaml", cases[i].grid);
        program_refuses("sweep bad.yaml --logdir bad", cases[i].message);
    }
    program_refuses("sweep paper-man --logdir bad", "paper-main");
    program_refuses("sweep grid.yaml", "--logdir");
    program_refuses("sweep --logdir bad", "holds no sweep");
    program_refuses("sweep grid.yaml --logdir bad --launch slurmy",
                    "--launch: 'slurmy' is none of");
    program_refuses("sweep grid.yaml --logdir bad --partition gpu", "--launch slurm");
    program_refuses("sweep grid.yaml --logdir bad --gpus 1", "--launch slurm");
    program_refuses("sweep grid.yaml --logdir bad --launch slurm --jobs 2", "--launch local");
    program_refuses("sweep grid.yaml --logdir bad --only seed=7",
                    "the axis 'seed' has no value '7', but 0, 1");
    program_refuses("sweep status bad", "holds no sweep");
    program_result r = program_succeed("sweep paper-main --logdir bad --dry-run --rate 100");
    expect_parts(r.err, "120 runs in 4 shapes");
    shell("! test -e bad");
    program_refuses("sweep paper-eta --logdir pop --rate 100", "'pop' holds another sweep");
}

TEST_CASE(another_grid_in_the_same_directory_is_refused_unless_it_has_all_runs)
{
    shell("cp -a pop kept && sed 's/\\[waker-m, dr\\]/[ge]/; s/seed: 0..1/seed: 5/' grid.yaml "
          ">other.yaml && ls -R kept >before");
    program_result r = program_run("sweep other.yaml --logdir kept --rate 100");
    program_expect_error(r, 2, "'kept' holds another sweep");
    expect_parts(r.err, "the run 'waker-m-seed0' is not in other.yaml");
    shell("ls -R kept | cmp - before");
    // A file with more values, and another length, which is said.
    shell("sed 's/steps: 200/steps: 210/; s/seed: 0..1/seed: 0..2/' grid.yaml >longer.yaml");
    r = program_succeed("sweep longer.yaml --logdir kept --rate 100 --dry-run");
    expect_parts(r.err, "4 runs of the sweep have another number of steps now",
                 "longer.yaml: 6 runs");
}

// A grid is a file like others: it cannot make the program load code.
TEST_CASE(a_grid_cannot_load_code)
{
    shell("printf 'blocks: {domain: toy}\\nkeys: {plugin: ./evil.so, seed: 0}' >evil.yaml; "
          "cp " WAKER_BINARY_DIR "/tests/plugins/ball.so evil.so");
    program_expect_error(program_run("sweep evil.yaml --logdir evil --rate 100"), 1, "failed");
    program_prints("sweep status evil", "evil.so");
    shell("! test -e evil/seed0");
    // Nor can one that lies in the directory of a sweep already.
    shell("mkdir -p given/sweep && printf 'blocks: {domain: toy}\\nkeys: {seed: 0, steps: 20}\\n"
          "then: {eval: --policy random --plugin ./evil.so}' >given/sweep/grid.yaml");
    static const char *const commands[] = {"sweep --logdir given --rate 100",
                                           "sweep run given seed0", "sweep status given",
                                           "sweep retry given", "sweep add given seed=1"};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        program_refuses(commands[i], "a grid cannot load code");
    shell("! test -e given/seed0");
}

static void write_text(const char *name, const char *text)
{
    char path[512];
    FILE *file = fopen(inside(name, path), "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

// What is printed for a shell has the words that are meant, whatever the texts of the grid are.
TEST_CASE(printed_commands_have_the_words_that_are_meant)
{
    static const char value[] =
        "--plugin=./evil.so 'a' \"b\" $(touch PWNED) `touch PWNED`; touch PWNED",
                      name[] = "$(touch PWNED)'\"x";
    write_text("texts $(touch PWNED) 'x'.yaml", "ball: {plugin: /nowhere/ball.so}\n");
    write_text("texts.yaml", "blocks: {kind: ball}\n"
                             "files: [\"texts $(touch PWNED) 'x'.yaml\"]\n"
                             "keys: {seed: [0], domain: \"--plugin=./evil.so 'a' \\\"b\\\" "
                             "$(touch PWNED) `touch PWNED`; touch PWNED\"}\n"
                             "then: {adapt: [--task, all, --name, \"$(touch PWNED)'\\\"x\"]}\n"
                             "report: [--by, \"$(touch PWNED)'\\\"x\"]\n");
    write_text("stub-waker", "#!/bin/sh\nprintf '%s\\n' \"$@\" >>words\n");
    program_succeed("sweep texts.yaml --logdir \"it's \\$(touch PWNED)\" "
                    "--launch print --quiet >printed.sh");
    shell("mkdir stub && mv stub-waker stub/waker && chmod +x stub/waker && "
          "PATH=\"$PWD/stub:$PATH\" sh -e printed.sh && ! test -e PWNED");
    char *words = (char *)program_read("words", NULL), expected[4096];
    snprintf(expected, sizeof expected,
             "train\n--logdir\nit's $(touch PWNED)/seed0\n--config-file\n"
             "%s/texts $(touch PWNED) 'x'.yaml\n--configs\nball\n--seed=0\n--domain=%s\n"
             "adapt\nit's $(touch PWNED)/seed0\n--task\nall\n--name\n%s\n"
             "report\nit's $(touch PWNED)\n--out\nit's $(touch PWNED)/report\n--by\n%s\n",
             place, value, name, name);
    assert_string_equal(words, expected);
    free(words);
    // A line cannot have these.
    write_text("line\nbreak.yaml", "ball: {plugin: /nowhere/ball.so}\n");
    write_text("texts.yaml", "blocks: {kind: ball}\nfiles: [\"line\\nbreak.yaml\"]\n");
    program_refuses("sweep texts.yaml --logdir broken-line --launch print",
                    "has a control character");
}

// The printed commands are run, by the program itself: a file that is loaded leaves a mark.
TEST_CASE(printed_commands_load_no_code_of_the_grid)
{
    static const struct {
        const char *grid, *blocks;
        int code;
    } cases[] = {
        {"blocks: {domain: toy, x: '--plugin=./evil.so'}\nfiles: evil-blocks.yaml\n",
         "'--plugin=./evil.so': {log.every: 77}\n", 2},
        {"blocks: {domain: toy, x: '--curriculum.plugin=./evil.so'}\nfiles: evil-blocks.yaml\n",
         "'--curriculum.plugin=./evil.so': {log.every: 77}\n", 2},
        {"blocks: {domain: toy}\nkeys: {plugin: %s/evil.so, seed: 0}\n", "", 0},
        {"blocks: {domain: toy}\nkeys: {seed: 0}\nwith: {toy: {curriculum.plugin: %s/evil.so}}\n",
         "", 0},
        {"blocks: {domain: toy, x: evil}\nfiles: evil-blocks.yaml\n",
         "evil: {plugin: %s/evil.so}\n", 0},
    };
    char text[1024];
    shell("cp " WAKER_BINARY_DIR "/tests/plugins/marker1.so evil.so");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(text, sizeof text, cases[i].grid, place); // NOLINT: a table above
        write_text("evil-grid.yaml", text);
        snprintf(text, sizeof text, cases[i].blocks, place); // NOLINT: a table above
        write_text("evil-blocks.yaml", text);
        shell("rm -rf printed && MARK_FILE=$PWD/LOADED PATH=" WAKER_BINARY_DIR ":$PATH && export "
              "PATH MARK_FILE && { waker sweep evil-grid.yaml --logdir printed --launch print "
              ">printed.sh 2>said; code=$?; test $code = %d && ! sh -e printed.sh >/dev/null "
              "2>>said || test $code = 2 && ! test -e LOADED; }",
              cases[i].code);
        shell(cases[i].code ? "! test -s printed.sh" : "grep -q 'evil.so.* not named' said");
    }
}

// Code that the command line names is for the runs that want it; others of the sweep are built in.
TEST_CASE(named_code_is_for_the_runs_that_want_it)
{
    shell("rm -rf mixed* && cp " WAKER_BINARY_DIR "/tests/plugins/ball.so ball.so && "
          "echo \"ball: {plugin: $PWD/ball.so}\" >ball.yaml && "
          "sed 's/domain: toy, curriculum:.*/domain: [toy, ball], curriculum: dr}/; "
          "s/seed: 0..1/seed: 0/; s/^  toy:/  dr:/; s/^then:.*/then: {eval: --envs 1 --policy "
          "random}/; /^report/d' grid.yaml >mixed.yaml && echo 'files: ball.yaml' >>mixed.yaml");
    program_succeed("sweep mixed.yaml --logdir mixed --rate 100 --plugin ball.so");
    shell("! grep -rl 'plugin ball.so' mixed/sweep");
    shell("PATH=" WAKER_BINARY_DIR ":$PATH; waker sweep mixed.yaml --logdir mixed-printed "
          "--launch print --plugin ball.so --quiet >mixed.sh && sh -e mixed.sh >said 2>&1 || "
          "{ cat said; false; }");
    program_prints("sweep status mixed-printed", "2 runs, 2 done");
}

// A sweep from anywhere leads nowhere: neither what it keeps, nor its runs, nor its report may be
// links.
TEST_CASE(links_in_a_sweep_are_not_followed)
{
    static const char *const places[] = {"sweep", "sweep/tasks", "sweep/tasks/dr-seed0",
                                         "sweep/slurm", "dr-seed0"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        bool whole = i == 0, slurm = i == 3;
        shell("rm -rf linked thesis && mkdir -p thesis linked/$(dirname %s)", places[i]);
        shell("%s",
              whole ? "true" : "mkdir -p linked/sweep && cp off/sweep/grid.yaml linked/sweep");
        shell("ln -s \"$(pwd)/thesis\" linked/%s", places[i]);
        program_refuses(whole   ? "sweep grid.yaml --logdir linked --rate 100"
                        : slurm ? "sweep --logdir linked --rate 100 --launch slurm"
                                : "sweep run linked dr-seed0",
                        "is a symbolic link");
        shell("test -z \"$(ls -A thesis)\"");
    }
    // A launcher leaves such a run alone; reports are not made through links either.
    shell(
        "rm -rf linked thesis && mkdir -p linked thesis && ln -s ../thesis linked/report && cp -r "
        "pop/sweep pop/dr-* pop/waker-* linked");
    program_refuses("sweep --logdir linked --rate 100", "is a symbolic link");
    shell("test -z \"$(ls -A thesis)\"");
}

// The number of a process that stands in a file is not believed: only one that holds the sweep's
// lock is signalled.
TEST_CASE(cancelling_ends_no_process_but_that_of_the_sweep)
{
    char host[256] = "", path[512];
    gethostname(host, sizeof host - 1);
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    pid_t other = fork();
    assert_true(other >= 0);
    if (other == 0) {
        setsid();
        close(ready[0]);
        close(ready[1]);
        for (;;)
            pause();
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], path, 1), 0); // it leads a group of its own now
    close(ready[0]);
    int lock = open(inside("off/sweep/lock", path), O_RDWR);
    assert_true(lock >= 0);
    assert_int_equal(flock(lock, LOCK_EX | LOCK_NB), 0);
    for (int sign = -1; sign <= 1; sign += 2) {
        shell("echo %d %s >off/sweep/holder", sign * (int)other, host);
        program_refuses("sweep cancel off", "which runs no sweep here");
    }
    close(lock);
    assert_int_equal(waitpid(other, NULL, WNOHANG), 0); // lives
    kill(other, SIGKILL);
    waitpid(other, NULL, 0);
}

TEST_MAIN(setup, teardown)
