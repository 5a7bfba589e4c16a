// waker eval and waker openloop as a user runs them, from training to tables: the same bytes twice
// and on any number of threads, every kind of policy, videos, and what is refused with which words.
#include "cli/long_runs.h"
#include "support/ffmpeg.h"

#define FEW " --envs 6 --quiet"
#define QUIETLY " --quiet"

// Two runs that the tests look at: one with task policies alongside, one without.
static int make_runs(void **state)
{
    if (setup(state) != 0) return -1;
    program_succeed("train --logdir tasks " QUIET_OPTIONS " --tasks all");
    program_succeed("train --logdir free " QUIET_OPTIONS);
    return 0;
}

TEST_CASE(the_table_names_tasks_cases_and_the_file)
{
    program_result r = program_succeed("eval tasks --envs 6");
    expect_parts(r.out, "west", "east", "dr", "storm", "CVaR 0.1", "mean", "diverged", "s.d.",
                 "toy", "alongside", "distance", "tasks/eval/alongside-000000000402.json");
    expect_parts(r.err, "west, dr: mean return"); // progress
    // The header, and for each task 6 episodes of dr and 20 of storm.
    shell("test $(wc -l < tasks/eval/alongside-000000000402.csv) = 53");
}

TEST_CASE(all_cases_are_those_of_the_domain)
{
    program_succeed("eval tasks --task west --cases all --out every" FEW);
    // The header, 6 episodes of dr and 20 of storm; nothing of other tasks.
    shell("test $(grep -c '^west,dr,' every/eval/*.csv) = 6");
    shell("test $(grep -c '^west,storm,' every/eval/*.csv) = 20");
    shell("test $(cat every/eval/*.csv | wc -l) = 27");
}

TEST_CASE(results_do_not_depend_on_repetition_or_threads)
{
    program_succeed("eval tasks --threads 1" FEW);
    shell("rm -rf first; cp -r tasks/eval first");
    program_succeed("eval tasks --threads 1" FEW);
    shell("cmp first/alongside-000000000402.json tasks/eval/alongside-000000000402.json");
    program_succeed("eval tasks --threads 2" FEW);
    shell("cmp first/alongside-000000000402.json tasks/eval/alongside-000000000402.json");
    shell("cmp first/alongside-000000000402.csv tasks/eval/alongside-000000000402.csv");
    program_succeed("eval tasks --seed 1" FEW);
    shell("cmp first/alongside-000000000402.json tasks/eval/alongside-000000000402.json");
    shell("grep -l '\"eval_seed\": 1' tasks/eval/alongside-000000000402-????????.json");
}

TEST_CASE(json_is_what_the_files_hold)
{
    program_result r =
        program_succeed("eval tasks --snapshot all --task east --cases dr --json --out told" FEW);
    program_expect_json(r.out);
    FILE *said = fopen("said.json", "w");
    assert_non_null(said);
    fputs(r.out, said);
    fclose(said);
    char command[1200];
    snprintf(command, sizeof command,
             "python3 -c \"import json, sys\n"
             "said = json.load(open('said.json'))\n"
             "for d in said:\n"
             "    assert d == json.load(open('%s/told/eval/alongside-%%012d.json' %% d['step']))\n"
             "sys.exit([d['step'] for d in said] != [201, 402])\"",
             place);
    assert_int_equal(system(command), 0);
}

TEST_CASE(policies_can_be_random)
{
    program_succeed("eval free --policy random --cases storm" FEW);
    shell("grep -q '\"policy\": \"random\"' free/eval/random-000000000000.json");
    program_refuses("eval free --policy random --snapshot 402", "--snapshot");
    program_refuses("eval free --policy random --video", "--video");
}

TEST_CASE(adapted_and_fine_tuned_policies_are_found)
{
    program_refuses("eval free", "waker adapt");
    program_refuses("eval free --policy alongside", "without tasks");
    program_refuses("eval free --policy adapted", "no adapted policies");
    program_succeed("adapt free --task all --updates 5 --quiet");
    program_prints("eval free" FEW, "adapted policies of agent step 402 (control step ");
    program_refuses("eval free --policy finetuned", "waker finetune");
    program_succeed("finetune free --task east --steps 60 --quiet");
    program_result r = program_succeed("eval free --policy finetuned" FEW);
    expect_parts(r.out, "east");
    assert_null(strstr(r.out, "west"));
    program_refuses("eval free --policy finetuned --task west" FEW, "'west'");
}

static bool is_gif(const char *name)
{
    unsigned long size;
    unsigned char *bytes = program_read(name, &size);
    bool is = bytes && size > 1000 && memcmp(bytes, "GIF89a", 6) == 0;
    free(bytes);
    return is;
}

TEST_CASE(results_of_a_run_that_cannot_be_written_to_go_elsewhere)
{
    // A file where the folder would be refuses everybody, root too.
    shell("rm -rf locked && cp -r tasks locked && rm -rf locked/eval && touch locked/eval");
    program_result r = program_run("eval locked --envs 100000");
    program_expect_error(r, 1, "--out DIR");
    assert_null(strstr(r.err, "mean return")); // nothing was played
    program_expect_error(program_run("model-error locked --envs 100000"), 1, "--out DIR");
    // Nor is anything played for a result whose name something unreadable has.
    shell("rm locked/eval && mkdir -p locked/eval/alongside-000000000402.json "
          "locked/eval/model-error-000000000402.json");
    static const char *const unreadable[] = {"eval locked --task west --envs 100000",
                                             "model-error locked --envs 100000"};
    for (int i = 0; i < 2; i++) {
        r = program_run("%s", unreadable[i]);
        program_expect_error(r, 2, "-000000000402.json");
        assert_null(strstr(r.err, "mean return"));
    }
    shell("rm -r locked/eval && touch locked/eval");
    program_succeed("eval locked --task west --out aside" FEW);
    program_succeed("model-error locked --steps 4 --out aside" FEW);
    shell("test ! -s locked/eval");
    program_succeed("eval tasks --task west" FEW);
    shell("test -s aside/eval/alongside-000000000402.csv");
    shell("cmp aside/config.yaml tasks/config.yaml");
    program_prints("report aside --out aside-page --reps 2 --json", "west");
    program_refuses("eval free --policy random --out aside" FEW, "another run");
    program_refuses("model-error tasks free --out both" FEW, "2 runs");
    shell("touch file");
    program_expect_error(program_run("eval tasks --out file/below" FEW), 1, "file");
}

TEST_CASE(long_evaluations_have_a_live_line_and_short_pipes_none)
{
    const char *spawn = "TERM=xterm python3 -c 'import pty, sys; pty.spawn(sys.argv[1:])' " //
        WAKER_BINARY_DIR "/waker";
    shell("%s eval tasks --envs 300 --cases dr --seed 8 > line.txt", spawn);
    shell("grep -q '/12,000 agent steps .* agent steps/s .* left' line.txt");
    shell("%s model-error tasks --envs 60 --seed 8 > line.txt", spawn);
    shell("grep -q '/60 episodes .* episodes/s .* left' line.txt");
    shell("%s openloop tasks --steps 500 --out long.gif > line.txt", spawn);
    shell("grep -q ' images .* images/s .* left' line.txt");
    shell("%s eval tasks --envs 300 --cases dr --seed 8 --quiet > line.txt", spawn);
    shell("! grep -q 'agent steps/s' line.txt");
    program_result r = program_succeed("eval tasks --task west --cases dr" FEW);
    assert_null(strstr(r.out, "agent steps/s"));
    assert_string_equal(r.err, "");
}

TEST_CASE(videos_show_the_best_median_and_worst)
{
    // Named as the result files are; each question has its own.
    static const struct {
        const char *options;
        int gifs, mp4s;
    } asked[] = {{"--video --envs 3", 3, 0},
                 {"--video --envs 4 --seed 5", 3, 0},
                 {"--mp4 --envs 3 --seed 6", 0, 3},
                 {"--video --mp4 --envs 2 --seed 7", 3, 3}};
    program_succeed("eval tasks --task west --cases dr --out clips" FEW);
    int gifs = 0, mp4s = 0;
    ffmpeg_stub(FFMPEG_WORKS);
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        program_succeed("eval tasks --task west --cases dr --out clips %s" QUIETLY,
                        asked[i].options);
        gifs += asked[i].gifs;
        mp4s += asked[i].mp4s;
        shell("cd clips/eval && test $(ls | grep -c gif$) = %d && test $(ls | grep -c mp4$) = %d",
              gifs, mp4s);
    }
    shell("cd clips/eval && for rank in best median worst; do for clip in "
          "alongside-000000000402-*-west-dr-$rank.gif; do "
          "test \"$(head -c 6 $clip)\" = GIF89a && test -f ${clip%%-west*}.json || exit 1; done; "
          "grep -q ftypisom *-west-dr-$rank.mp4 || exit 1; done");
    ffmpeg_stub(NULL);
    program_refuses("eval free --policy random --mp4", "--mp4 shows");
    program_expect_error(program_run_after("PATH=/nowhere", "eval tasks --mp4 --task west"), 2,
                         "cannot start ffmpeg");
}

TEST_CASE(open_loop_predictions_are_a_clip_and_a_still)
{
    static const char *const policies[] = {"random", "explore", "east"};
    for (int i = 0; i < 3; i++) {
        shell("rm -f clip.*");
        program_succeed("openloop tasks --policy %s --out clip.gif", policies[i]);
        assert_true(is_gif("clip.gif"));
        unsigned long size;
        unsigned char *png = program_read("clip.png", &size);
        assert_true(png && memcmp(png, "\211PNG", 4) == 0);
        free(png);
    }
    shell("cp clip.gif before.gif");
    program_succeed("openloop tasks --policy east --threads 2 --out clip.gif");
    shell("cmp clip.gif before.gif");
    ffmpeg_stub(FFMPEG_WORKS);
    program_succeed("openloop tasks --policy east --out clip.mp4");
    shell("grep -q ftypisom clip.mp4 && test -f clip.png");
    ffmpeg_stub(NULL);
    program_result r = program_run_after("PATH=/nowhere",
                                         "openloop tasks --policy east --threads 1 --out none.mp4");
    program_expect_error(r, 2, "cannot start ffmpeg");
    program_succeed("openloop tasks --policy east --quiet");
    assert_true(is_gif("tasks/eval/openloop-000000000402-east.gif"));
    shell("test -s tasks/eval/openloop-000000000402-east.png");
}

TEST_CASE(what_is_not_there_is_refused_naming_what_is)
{
    static const struct {
        const char *command, *part;
    } refused[] = {
        {"eval tasks --task west,,east", "empty name"},
        {"eval tasks --task wset", "'west'"},
        {"eval tasks --task none", "nothing to evaluate"},
        {"eval tasks --task west,west", "twice"},
        {"eval tasks --cases strom", "'storm'"},
        {"eval tasks --policy adpated", "'adapted'"},
        {"eval tasks --policy bold", "alongside, finetuned"},
        {"eval tasks --snapshot 17", "201, 402"},
        {"eval tasks --snapshot soon", "--snapshot"},
        {"eval tasks --envs 0", "--envs"},
        {"eval", "missing argument"},
        {"eval empty", "holds no run"},
        {"eval nowhere", "holds no run"},
        {"eval bare", "no snapshot"},
        {"eval bare --snapshot all", "no snapshot"},
        {"openloop bare --out c.gif", "no snapshot"},
        {"openloop nowhere --out c.gif", "holds no run"},
        {"openloop tasks --out clip.png", ".gif"},
        {"openloop tasks --out c.gif --policy wset", "'west'"},
        {"openloop tasks --out c.gif --context 9 --steps 9", "--context"},
        {"openloop tasks --out c.gif --case tempest", "storm"},
        {"openloop free --out c.gif --policy west --name none", "named 'none'"},
    };
    shell("mkdir -p empty bare && cp tasks/config.yaml bare");
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        program_refuses(refused[i].command, refused[i].part);
}

TEST_CASE(damaged_and_foreign_snapshots_are_refused_naming_the_file)
{
    const char *file = "step-000000000402.safetensors";
    shell("rm -rf bad && mkdir bad && cp -r tasks/config.yaml tasks/snapshots bad");
    shell("printf xyz | dd of=bad/snapshots/%s bs=1 seek=$(($(stat -c %%s bad/snapshots/%s) - 9)) "
          "conv=notrunc 2>/dev/null",
          file, file);
    program_result r = program_run("eval bad" FEW);
    assert_int_equal(r.code, 2);
    expect_parts(r.err, file, "checksum");
    shell("head -c 100 tasks/snapshots/%s > bad/snapshots/%s", file, file);
    program_refuses("eval bad" FEW, file);
    // Weights of another domain: its actions have another size.
    shell("sed 's/^domain: .*/domain: terrain-walker/' tasks/config.yaml > bad/config.yaml");
    shell("cp tasks/snapshots/%s bad/snapshots/%s", file, file);
    r = program_run("eval bad --cases dr" FEW);
    assert_int_equal(r.code, 2);
    expect_parts(r.err, file, "toy"); // what the file says it belongs to
    shell("test ! -e bad/eval");
}

TEST_MAIN(make_runs, teardown)
