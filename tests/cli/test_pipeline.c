// From nothing to a page: runs of two curricula with two seeds each are trained on the toy domain,
// adapted, evaluated, measured and reported, all by the program, on the device that
// support/backend.h names. The report's numbers are those that Python computes from the episodes
// themselves.
#include "cli/long_runs.h"
#include "support/backend.h"
#include "tensor/cuda/cuda.h"

static const char *const runs[] = {"runs/dr/0", "runs/dr/1", "runs/waker-m/0", "runs/waker-m/1"};
enum { RUNS = sizeof runs / sizeof *runs };
static const char *device = "cpu", *precision = "auto";

static void train_and_measure(const char *run)
{
    char rule[32];
    snprintf(rule, sizeof rule, "%.*s", (int)strcspn(run + 5, "/"), run + 5);
    program_succeed("train " TINY_OPTIONS " --log.tensorboard false --log.images_every 0 --quiet "
                    "--curriculum.rule %s --seed %s --logdir %s --device %s "
                    "--precision %s",
                    rule, strrchr(run, '/') + 1, run, device, precision);
    program_succeed("adapt %s --task all --updates 10 --quiet --device %s", run, device);
    program_succeed("eval %s --envs 12 --quiet --device %s", run, device);
    program_succeed("model-error %s --envs 6 --steps 10 --quiet --device %s", run, device);
}

// CVaR and average of every task and case from the episodes, over seeds, against the report's.
static const char compare[] =
    "import glob, json, math, statistics\n"
    "scores, found = {}, {}\n"
    "for path in glob.glob('runs/*/*/eval/adapted-*.json'):\n"
    "    e = json.load(open(path))\n"
    "    for t in e['tasks']:\n"
    "        for c in t['cases']:\n"
    "            r = sorted(c['returns'])\n"
    "            tail = math.ceil(len(r) / 10)\n"
    "            dr = c['case'] == 'dr'\n"
    "            values = {'average' if dr else 'ood-average': sum(r) / len(r)}\n"
    "            if dr: values['cvar0.1'] = sum(r[:tail]) / tail\n"
    "            for metric, value in values.items():\n"
    "                key = metric, '' if dr else c['case'], t['task'], e['curriculum']\n"
    "                scores.setdefault(key, []).append(value)\n"
    // The means over tasks, seed by seed.
    "cases = {(v, c) for m, v, t, c in scores if m == 'ood-average'}\n"
    "for v, c in cases:\n"
    "    tasks = [x for k, x in scores.items() if k[:2] == ('ood-average', v) and k[3] == c]\n"
    "    scores['ood-tasks', v, 'all', c] = [statistics.fmean(x) for x in zip(*tasks)]\n"
    "for s in json.load(open('report.json'))['scores']:\n"
    "    key = s['metric'], s['variant'], s['task'], s['curriculum']\n"
    "    assert s['seeds'] == len(scores[key]) == 2, key\n"
    "    assert math.isclose(s['mean'], statistics.fmean(scores[key]), rel_tol=1e-9, "
    "abs_tol=1e-12), key\n"
    "    assert math.isclose(s['sd'], statistics.pstdev(scores[key]), rel_tol=1e-6, abs_tol=1e-9), "
    "key\n"
    "    found[key] = True\n"
    "assert len(found) == len(scores) == 14, (len(found), len(scores))\n";

TEST_CASE(runs_become_a_report_with_their_numbers)
{
    char path[512], command[600];
    wk_error err = {0};
    for (int i = 0; i < RUNS; i++)
        train_and_measure(runs[i]);
    program_succeed("report runs --out report --json > report.json");
    snprintf(path, sizeof path, "%s/compare.py", place);
    assert_ok(wk_file_write(path, compare, sizeof compare - 1, &err));
    snprintf(command, sizeof command, "cd %s && python3 compare.py", place);
    assert_int_equal(system(command), 0);
    expect_file_parts("report/index.html", "Nothing: every run of the grid is there and evaluated.",
                      "Model errors", "What the curricula chose");
}

// After the report, whose runs they would change.
TEST_CASE(a_run_is_shown_and_trained_further)
{
    unsigned long size;
    program_succeed("openloop %s --context 3 --steps 10 --out imagined.gif --quiet "
                    "--device %s",
                    runs[0], device);
    unsigned char *picture = program_read("imagined.gif", &size);
    assert_non_null(picture);
    free(picture);
    program_succeed("finetune %s --task east --steps 100 --quiet --device %s", runs[0], device);
}

// What WAKER_TEST_DEVICE says, in the program's words; false where there is no such device.
static bool choose_device(void)
{
    const char *asked = getenv("WAKER_TEST_DEVICE");
    if (!asked || strcmp(asked, "cpu") == 0) return true;
    device = "cuda";
    precision = strcmp(asked, "cuda-bf16") == 0 ? "bf16" : "f32";
    return wk_cuda_device_count() > 0;
}

int main(void)
{
    if (!choose_device()) {
        puts("skipped: no GPU");
        return TEST_SKIPPED;
    }
    return run_all_tests(setup, teardown);
}
