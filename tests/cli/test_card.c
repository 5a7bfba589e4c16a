// waker card: what the folder has, that it is read as a run with the same results, and what is
// refused.
#include "base/hash.h"
#include "cli/long_runs.h"
#include "support/ffmpeg.h"
#include <math.h>

#define REWARD WAKER_BINARY_DIR "/tests/plugins/again_west.so"
#define TRAIN "train --quiet " TINY_OPTIONS " --log.tensorboard false "

static int setup_runs(void **state)
{
    if (setup(state) != 0) return -1;
    program_succeed(TRAIN "--logdir run --tasks all");
    program_succeed("adapt run --task all --updates 3 --quiet");
    program_succeed("finetune run --task west --steps 60 --quiet");
    program_succeed("eval run --envs 3 --quiet");
    ffmpeg_stub(FFMPEG_WORKS);
    program_succeed("card run --out card");
    return 0;
}

static int teardown_runs(void **state)
{
    ffmpeg_stub(NULL);
    return teardown(state);
}

static char *readme(const char *path)
{
    char *text = (char *)program_read(path, NULL);
    if (!text) fail_msg("there is no %s", path);
    return text;
}

TEST_CASE(the_folder_has_all_that_a_hub_wants)
{
    static const char *const files[] = {"README.md",
                                        "LICENSE",
                                        "config.yaml",
                                        "adapt/step-000000000402/weights.safetensors",
                                        "eval/adapted-000000000402.json",
                                        "replay-west.gif",
                                        "replay-west.mp4",
                                        "replay-east.gif",
                                        "replay-east.mp4"};
    char *text = readme("card/README.md");
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[512], name[100], line[300], hash[WK_SHA256_CHARS];
        wk_error err = {0};
        snprintf(name, sizeof name, "card/%s", files[i]);
        assert_ok(wk_sha256_file(inside(name, path), hash, &err));
        snprintf(line, sizeof line, "| `%s` | `%s` |\n", files[i], hash);
        if (i > 0) expect_parts(text, line);
    }
    shell("test $(find card -type f | wc -l) = 9");
    assert_int_equal(strncmp(text, "---\nlicense: mit\nlibrary_name: waker\n", 37), 0);
    expect_parts(text, "pipeline_tag: reinforcement-learning\n",
                 "- name: \"toy-waker-m-adapted\"\n",
                 "      name: \"toy, task west, case storm\"\n", "| west | dr | 3 | 0 | return | ",
                 "policy = waker.Policy(\".\", task=\"west\")");
    free(text);
    shell("cmp card/LICENSE %s/LICENSE && cmp card/config.yaml run/config.yaml", WAKER_SOURCE_DIR);
    shell("cmp card/adapt/step-000000000402/weights.safetensors "
          "run/adapt/step-000000000402/weights.safetensors");
    shell("grep -q ftypisom card/replay-west.mp4 && grep -q NETSCAPE card/replay-west.gif");
    shell("grep -q 'from the world model after 402 agent steps' card/README.md");
}

// By a reader of YAML that is not ours, where there is one.
TEST_CASE(the_front_matter_is_yaml)
{
    static const char script[] =
        "import re, sys, yaml\n"
        "text = open(sys.argv[1]).read()\n"
        "head = yaml.safe_load(re.match('---\\n(.*?)\\n---\\n', text, re.S).group(1))\n"
        "results = head['model-index'][0]['results']\n"
        "assert head['license'] == 'mit' and 'toy' in head['tags'], head\n"
        "assert len(results) == 4, results\n"
        "assert all(isinstance(m['value'], (int, float)) for r in results for m in r['metrics'])\n"
        "assert results[0]['metrics'][0]['type'] == 'mean_reward'\n";
    FILE *file = fopen(inside("yaml-check.py", (char[512]){0}), "w");
    assert_non_null(file);
    fputs(script, file);
    fclose(file);
    if (system("python3 -c 'import yaml' 2>/dev/null") != 0) skip();
    shell("python3 yaml-check.py card/README.md");
}

TEST_CASE(the_folder_is_read_as_a_run_with_the_same_results)
{
    program_succeed("eval card --envs 3 --out again --quiet");
    shell("cmp again/eval/adapted-000000000402.json run/eval/adapted-000000000402.json");
    shell("cmp card/eval/adapted-000000000402.json run/eval/adapted-000000000402.json");
    program_result r = program_succeed("report card --out page");
    expect_parts(r.out, "\n1 run, ");
    // The replay is the first episode of the evaluation.
    char score[64], *text = readme("card/README.md");
    char *csv = (char *)program_read("run/eval/adapted-000000000402.csv", NULL);
    char *line = strstr(csv, "west,dr,0,");
    assert_non_null(line);
    double theta, returned;
    int steps;
    assert_int_equal(sscanf(line, "west,dr,0,%lf,%d,%lf", &theta, &steps, &returned), 3);
    snprintf(score, sizeof score, "return %.5g ([MP4](replay-west.mp4))", returned);
    expect_parts(text, score);
    free(text);
    free(csv);
    // The same card again, elsewhere, is the same bytes.
    program_succeed("card run --out twin --quiet");
    shell("diff -r card twin");
}

TEST_CASE(without_ffmpeg_the_replays_are_gifs)
{
    program_result r = program_run_after("PATH=/nowhere", "card run --out gifs --quiet");
    program_expect_success(r);
    shell("diff -r card gifs | sort >differs; test $(grep -c '^Only in card: replay-.*mp4' differs)"
          " = 2 && test $(grep -c '^Only in' differs) = 2 && ! grep -qi mp4 gifs/README.md && "
          "cmp card/replay-west.gif gifs/replay-west.gif");
    program_expect_error(program_run_after("PATH=/nowhere", "card run --out gifs2"), 0,
                         "the replays are GIFs without MP4: cannot start ffmpeg");
}

// Hubs take two results of one name for a mistake.
TEST_CASE(a_task_and_case_has_one_result)
{
    program_succeed("eval run --envs 5 --seed 3 --quiet");
    program_succeed("eval run --envs 2 --seed 1 --quiet");
    program_prints("card run --out both --no-video", "2 tasks, 4 results, ");
    char *text = readme("both/README.md");
    expect_parts(text, "| west | dr | 5 | 3 | return | ");     // the largest
    expect_parts(text, "| west | storm | 20 | 0 | return | "); // all are as large: the lowest seed
    assert_null(strstr(text, "| west | dr | 3 | 0 |"));
    assert_true(strstr(text, "| west | storm |") < strstr(text, "| east | dr |")); // not by file
    expect_parts(text, "--envs 5 --seed 3 --out again");
    char *first = strstr(text, "name: \"toy, task west, case dr\"");
    assert_non_null(first);
    assert_null(strstr(first + 1, "name: \"toy, task west, case dr\""));
    free(text);
    shell("test $(ls both/eval/*.json | wc -l) = 3"); // every episode is there
    shell("rm run/eval/*-????????.*");
}

TEST_CASE(other_policies_have_cards_of_their_own)
{
    program_refuses("card run --out fine --policy finetuned",
                    "create them with 'waker eval run --policy finetuned'");
    program_succeed("eval run --policy finetuned --task west --envs 2 --cases dr --quiet");
    program_succeed("card run --out fine --policy finetuned");
    shell("test -f fine/finetune/step-000000000402-west/weights.safetensors && ! test -e "
          "fine/adapt");
    char *text = readme("fine/README.md");
    expect_parts(text, "weights=\"finetuned\")");
    free(text);
    program_succeed("eval run --policy alongside --envs 2 --cases dr --quiet");
    program_succeed("card run --out side --policy alongside --no-video");
    shell("test -f side/snapshots/step-000000000402.safetensors && ! ls side/replay* 2>/dev/null");
    program_succeed("adapt run --task all --updates 3 --quiet --name twin --seed 9");
    program_succeed("eval run --name twin --envs 2 --cases dr --quiet");
    program_succeed("card run --out named --name twin --no-video");
    text = readme("named/README.md");
    expect_parts(text, "weights=\"adapted.twin\")", "--name twin --envs 2 --seed 0");
    free(text);
}

// A number of a table of results, by its column.
static double number_of(const char *path, const char *column)
{
    char *csv = (char *)program_read(path, NULL), *row;
    assert_non_null(csv);
    row = strchr(csv, '\n') + 1;
    char *name = strstr(csv, column);
    assert_true(name && name < row);
    for (char *at = csv; at < name; at++)
        if (*at == ',') row = strchr(row, ',') + 1;
    double number = *row == ',' ? NAN : strtod(row, NULL);
    free(csv);
    return number;
}

#define COMPACT "compact/snapshots/step-000000000402.safetensors"

// A small file that is read as a snapshot by what acts and imagines, and refused by all else.
TEST_CASE(compact_weights_are_read_like_others_where_they_do)
{
    program_succeed("eval run --policy alongside --envs 2 --cases dr --quiet");
    program_succeed("card run --out compact --policy alongside --compact");
    shell("test $(stat -c %%s " COMPACT ") -lt $(($(stat -c %%s "
          "run/snapshots/step-000000000402.safetensors) / 2)) && grep -aq '\"I8\"' " COMPACT
          " && ! grep -aqE 'ensemble/|critic/|slow/|explore' " COMPACT);
    char *text = readme("compact/README.md");
    expect_parts(text, "The weights are compact: rounded to 16 bits",
                 "safetensors files of float16 and int8");
    free(text);
    // The same policies, rounded: no critic promises anything.
    program_succeed("eval compact --policy alongside --envs 2 --cases dr --out rounded --quiet");
    const char *was = "run/eval/alongside-000000000402.csv",
               *is = "rounded/eval/alongside-000000000402.csv";
    double whole = number_of(was, "return"), rounded = number_of(is, "return");
    if (!(fabs(whole - rounded) < 0.02 * fabs(whole))) fail_msg("%g, not %g", rounded, whole);
    assert_false(isnan(number_of(was, "promised_value")));
    assert_true(isnan(number_of(is, "promised_value")));
    program_succeed("openloop compact --policy west --out west.gif --quiet");
    program_succeed("openloop compact --out random.gif --quiet");
    program_succeed("report compact --out page2");
    program_succeed("ckpt compact --check");
    static const char *const refused[] = {
        "openloop compact --policy explore --out explore.gif",
        "adapt compact --task west --updates 2",
        "finetune compact --task west --steps 60",
        "model-error compact --envs 2",
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        program_refuses(refused[i], "has compact weights");
    program_refuses("train --logdir compact", "no checkpoint to resume from");
    // A card of the card is a copy.
    program_succeed("card compact --out copy --compact --no-video");
    shell("cmp copy/snapshots/step-000000000402.safetensors " COMPACT);
    // Damaged or cut short.
    shell("cp -r compact cut && truncate -s -9 cut/snapshots/*.safetensors");
    program_refuses("eval cut --envs 2 --cases dr --out again2", "cut short");
    shell("rm -r cut && cp -r compact cut && printf XX | dd of=cut/snapshots/step-000000000402"
          ".safetensors bs=1 seek=$(($(stat -c %%s " COMPACT ") - 9)) conv=notrunc 2>/dev/null");
    program_refuses("eval cut --envs 2 --cases dr --out again2", "is damaged");
    // Adapted and fine-tuned ones too.
    program_succeed("card run --out adapted --compact --no-video");
    program_succeed("eval adapted --envs 2 --cases dr --out again2 --quiet");
}

// A run that began there would lie among the weights and results of another.
TEST_CASE(training_does_not_begin_in_a_card)
{
    static const char *const cards[] = {"card", "fine", "side"};
    for (int i = 0; i < 3; i++) {
        shell("find %s | grep -v lock | sort >before", cards[i]);
        program_expect_error(program_run("train --logdir %s", cards[i]), 2,
                             "no checkpoint to resume from");
        shell("find %s | grep -v lock | sort | cmp - before", cards[i]);
    }
    program_succeed("train --logdir after --from card --steps 100 --quiet");
}

TEST_CASE(adaptations_with_names_alone_are_listed)
{
    program_succeed(TRAIN "--logdir calls --steps 100");
    program_refuses("eval calls", "has no task policies");
    program_succeed("adapt calls --task all --updates 3 --quiet --name twin");
    program_refuses("card calls --out call",
                    "'calls' has adaptations with names only: twin; add --name twin");
    program_refuses("eval calls", "add --name twin");
}

// A task that was added later travels with its labels; playing it needs its code, a card without
// replays does not.
TEST_CASE(rewards_that_were_added_are_part_of_it)
{
    shell("rm -rf later && cp -r run later && rm -r later/eval later/adapt later/finetune");
    program_succeed("relabel later --quiet --reward " REWARD);
    program_succeed("adapt later --task again --updates 2 --quiet");
    program_succeed("eval later --envs 2 --cases dr --quiet --reward " REWARD);
    program_refuses("card later --out rewarded", "add --reward ");
    program_succeed("card later --out rewarded --no-video");
    program_succeed("eval rewarded --envs 2 --cases dr --quiet --out scored --reward " REWARD);
    shell("cmp scored/eval/adapted-000000000402.json later/eval/adapted-000000000402.json");
}

TEST_CASE(another_licence_can_be_given)
{
    shell("echo 'All rights reserved.' > terms");
    program_succeed("card run --out own --no-video --license terms");
    shell("cmp terms own/LICENSE && grep -q '^license: other$' own/README.md");
    program_refuses("card run --out own2 --no-video --license none", "none");
}

// A full disk or an interrupt: the same command is not refused afterwards.
TEST_CASE(what_was_not_finished_is_made_anew)
{
    program_result r = program_run_after("ulimit -f 8; trap '' XFSZ;", "card run --out full");
    assert_int_not_equal(r.code, 0);
    shell("! test -e full");
    // As an interrupt leaves it.
    shell("mkdir -p full/.unfinished-card/snapshots && echo x >full/.unfinished-card/stale && "
          "ln -s ../../../terms full/.unfinished-card/snapshots/link");
    program_succeed("card run --out full --no-video");
    shell("test -s terms && test -s full/README.md && test -s full/config.yaml && "
          "! test -e full/stale && ! test -e full/.unfinished-card && "
          "test -z \"$(find full -type l)\"");
}

// Killed while it moved what was whole to its place.
TEST_CASE(what_was_half_moved_is_made_anew)
{
    shell("mkdir -p half/.unfinished-card half/adapt half/eval && echo x >half/eval/stale && "
          "touch half/.unfinished-card/config.yaml half/.unfinished-card/README.md half/LICENSE && "
          "printf 'LICENSE\\nREADME.md\\nadapt\\nconfig.yaml\\neval\\n../terms\\n' "
          ">half/.moving-card && touch half/mine");
    shell("cp -r half before-half");
    program_refuses("card run --out half", "is not empty");
    shell("diff -r half before-half && rm half/mine");
    program_succeed("card run --out half --no-video --quiet");
    program_succeed("card run --out unharmed --no-video --quiet");
    shell("diff -r half unharmed && test -s terms");
}

// What lies behind a link is neither published nor deleted.
TEST_CASE(a_link_in_place_of_the_unfinished_folder_is_refused)
{
    shell("mkdir -p theses linked && echo secret >theses/thesis && cp -r theses before-link && "
          "ln -s ../theses linked/.unfinished-card");
    program_refuses("card run --out linked --no-video",
                    "'linked/.unfinished-card' is a symbolic link");
    shell("test -L linked/.unfinished-card && test $(ls -A linked | wc -l) = 1 && "
          "diff -r theses before-link");
}

TEST_CASE(what_cannot_be_a_card_is_refused)
{
    int before = program_count_files();
    program_refuses("card run", "--out DIR");
    program_refuses("card nowhere --out x", "holds no run");
    program_refuses("card run --out card", "is not empty");
    program_refuses("card run --out run", "is not empty");
    program_refuses("card run --out x --policy random", "without weights");
    program_refuses("card run --out x --policy best", "no policy is called");
    program_refuses("card run --out x --snapshot 17", "402");
    program_refuses("card run --out x --name ../y", "a-z");
    program_refuses("card run --out x --plugin a.so", "whose domain is built in");
    assert_int_equal(program_count_files(), before);
    program_succeed(TRAIN "--logdir taskless");
    program_refuses("card taskless --out x", "waker adapt");
    shell("cp -r run unscored && rm -r unscored/eval");
    program_refuses("card unscored --out x",
                    "'unscored' has no results of its adapted policies at agent step 402, which "
                    "the card needs; create them with 'waker eval unscored'");
    shell("! test -e x");
}

TEST_CASE(a_damaged_run_makes_no_card)
{
    static const struct {
        const char *damage, *message;
    } damages[] = {
        {"truncate -s 5000 bad/adapt/step-000000000402/weights.safetensors", "weights.safetensors"},
        {"printf XXXX | dd of=bad/adapt/step-000000000402/weights.safetensors bs=1 seek=9000 "
         "conv=notrunc 2>/dev/null",
         "checksum"},
        {"truncate -s 300 bad/eval/adapted-000000000402.json", "adapted-000000000402.json"},
        {"sed -i 's/\"step\": 402/\"step\": 403/' bad/eval/adapted-000000000402.json",
         "another agent step"},
        {"sed -i 's/\"seed\": 5/\"seed\": 6/' bad/eval/adapted-000000000402.json", "another run"},
        {"sed -i 's/\"task\": \"west\"/\"task\": \"`<b>\"/' bad/eval/adapted-000000000402.json",
         "results of 'bad'"},
        {"echo rubbish > bad/config.yaml", "config.yaml"},
    };
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        shell("rm -rf bad x && cp -r run bad && %s", damages[i].damage);
        program_refuses("card bad --out x", damages[i].message);
        shell("! test -e x");
    }
}

// Names in files of results are somebody's text: nothing of it is markup in the card.
TEST_CASE(text_of_others_is_neutral)
{
    shell("rm -rf odd && cp -r run odd && sed -i "
          "'s/\"case\": \"storm\"/\"case\": \"a|b<script>`x`[l](u)\\\\n# y\"/' "
          "odd/eval/adapted-000000000402.json");
    program_succeed("card odd --out neutral --no-video");
    char *text = readme("neutral/README.md");
    expect_parts(text, "a\\|b&lt;script&gt;\\`x\\`\\[l\\]\\(u\\) \\# y |",
                 "case a|b<script>`x`[l](u)\\u000a# y\"\n"); // in quotes, in the front matter
    assert_null(strstr(text, "\n# y"));
    free(text);
}

TEST_MAIN(setup_runs, teardown_runs)
