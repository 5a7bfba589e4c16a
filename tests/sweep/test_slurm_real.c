// A sweep of twelve toy runs on a real Slurm, which the test starts itself (slurm-cluster): jobs
// are preempted and requeued, a slurmd is killed, a time limit is reached, the sweep is cancelled,
// a run fails and is retried. At the end every run has the bytes of the same run made alone, and
// the report is there. Skipped where Slurm cannot be started; WAKER_NEED_SLURM=1 makes that a
// failure.
#include "base/machine.h"
#include "train/runs.h"
#include <stdarg.h>
#include <sys/wait.h>

#define CLUSTER WAKER_SOURCE_DIR "/tests/sweep/slurm-cluster"
#define WAKER WAKER_BINARY_DIR "/waker"
enum { SKIPPED = 77, PATIENCE = 240 };

static char cluster[] = "/tmp/waker-slurm-XXXXXX"; // munge's socket needs a short path
static char home[] = "slurm-XXXXXX";

static const char grid[] = "files: [tiny.yaml]\n"
                           "blocks: {domain: toy, curriculum: [waker-m, dr], size: tiny}\n"
                           "keys: {seed: 0..5}\n"
                           "then: {adapt: --task west --updates 6, eval: --envs 2}\n"
                           "report: \"\"\n";
static const char tiny[] =
    "tiny: {steps: 800, prefill: 60, env.count: 3, env.threads: 1, train_every: 6,\n"
    "  replay.capacity: 2000, encoder.depth: 1, rssm.deter: 6, rssm.hidden: 6, rssm.stoch: 3,\n"
    "  rssm.classes: 3, units: 6, layers: 1, ensemble.size: 2, batch: 2, length: 6, horizon: 3,\n"
    "  checkpoint.every_steps: 50, log.every: 30, log.tensorboard: false}\n";

// Runs a command line in the test's folder; its exit code.
static int try_shell(const char *format, va_list args)
{
    char command[2048];
    int used = snprintf(command, sizeof command, "export SLURM_CONF=%s/slurm.conf; cd %s && ",
                        cluster, home);
    vsnprintf(command + used, sizeof command - (size_t)used, format, args);
    int status = system(command);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int shell_code(const char *format, ...) __attribute__((format(printf, 1, 2)));
static int shell_code(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int code = try_shell(format, args);
    va_end(args);
    return code;
}

#define shell(...)                                                                                 \
    do                                                                                             \
        if (shell_code(__VA_ARGS__) != 0) fail_msg("failed: " __VA_ARGS__);                        \
    while (0)

// Slurm keeps a requeued job back for two minutes; an administrator may let it go. Not at once:
// within a second of its end the node takes it for the job that has just been killed.
static void release_requeued(void)
{
    shell_code("squeue -h -r -t PENDING -o '%%A %%r %%S' | while read -r id why begin; do "
               "[ $why != BeginTime ] || [ $(($(date -d $begin +%%s) - $(date +%%s))) -lt 10 ] || "
               "scontrol update JobId=$id StartTime=now+2 2>/dev/null; done");
}

// Waits until a command line succeeds.
static void wait_until(const char *what, const char *condition)
{
    double end = wk_clock_seconds() + PATIENCE;
    while (shell_code("%s", condition) != 0) {
        if (wk_clock_seconds() > end) {
            shell_code("tail -n 20 %s/slurmctld.log; squeue; sinfo; " WAKER
                       " sweep status runs --all; tail -n 5 "
                       "runs/sweep/slurm/logs/*",
                       cluster);
            fail_msg("%s: not within %d s", what, PATIENCE);
        }
        release_requeued();
        usleep(200 * 1000);
    }
}

static bool write_file(const char *name, const char *text)
{
    char path[64];
    snprintf(path, sizeof path, "%s/%s", home, name);
    FILE *file = fopen(path, "w");
    return file && fputs(text, file) >= 0 && fclose(file) == 0;
}

static bool make_folders(void)
{
    return mkdtemp(cluster) && mkdtemp(home) && write_file("grid.yaml", grid) &&
           write_file("tiny.yaml", tiny);
}

static void stop_all(void)
{
    shell_code(WAKER " sweep cancel runs >/dev/null 2>&1; timeout 60 " CLUSTER " stop %s", cluster);
    remove_tree(home);
}

// The process of the run that `target` names; srun and its script are others.
#define PROCESS "pgrep -f \"^[^ ]*/waker sweep run .*/runs $(cat target)\\$\""

// Stops a run until Slurm sends it the signal before its time limit; its node goes to `node`.
static void hold_a_run(void)
{
    wait_until("a run", "pgrep -a -f '^[^ ]*/waker sweep run .*/runs [-a-z0-9]*$' | head -1 | "
                        "sed 's,.* ,,' | grep . >target && kill -STOP $(" PROCESS ")");
    wait_until("its node",
               "k=$(($(grep -nx \"$(cat target)\" runs/sweep/slurm/2.tasks | cut -d: -f1) "
               "- 1)) && squeue -h -r -t RUNNING -o '%K %N' | sed -n \"s/^$k //p\" "
               ">node && test -s node");
}

static void preempt_and_requeue(void)
{
    shell("sed 'y/12/21/' node >other");
    wait_until("runs on the other node", "squeue -h -t RUNNING -w $(cat other) | grep -q .");
    shell("sbatch -p urgent -w $(cat other) -c 2 --output=/dev/null --wrap 'sleep 0.1' >/dev/null");
    wait_until("a preemption", "grep -q PREEMPTION runs/sweep/slurm/logs/*");
    wait_until("a requeue", "id=$(squeue -h -r -t RUNNING -w $(cat other) -o '%A %K' | "
                            "sed -n 's/ [0-9]*$//p' | head -1) && test -n \"$id\" && "
                            "scontrol requeue $id");
}

// What runs on the node lives on, so the runs that are requeued find somebody at work.
static void kill_a_node(void)
{
    wait_until("runs on the other node", "squeue -h -t RUNNING -w $(cat other) | grep -q .");
    shell("kill -9 $(cat %s/slurmd.$(cat other).pid)", cluster);
    wait_until("the node's death", "scontrol show node $(cat other) | grep -q State=DOWN");
    shell(CLUSTER " node %s $(cat other)", cluster);
}

// Slurm's signal wakes the run up, which saves, and its script puts its own task back.
static void reach_the_limit(void)
{
    wait_until("the requeue of exactly the task that reached its limit",
               "k=$(($(grep -nx \"$(cat target)\" runs/sweep/slurm/2.tasks | cut -d: -f1) - 1)) && "
               "grep -q \"saved; task [0-9]*_$k is requeued\" runs/sweep/slurm/logs/2-$k.log");
}

TEST_CASE(a_sweep_survives_a_bad_day_on_slurm)
{
    // A run whose directory is somebody else's: it fails until somebody looks.
    shell("mkdir -p runs/dr-seed5 && echo 'not: a run' >runs/dr-seed5/config.yaml");
    shell(WAKER " sweep grid.yaml --logdir runs --launch slurm --rate 100 --gpus 0 --time 1 "
                "--signal 40 --parallel 8 --sbatch=--nice=0 --quiet");
    wait_until("the first run", "ls runs/*/metrics.jsonl >/dev/null 2>&1");
    shell(WAKER " sweep cancel runs --quiet");
    wait_until("an empty queue", "test -z \"$(squeue -h)\"");
    shell(WAKER " sweep --logdir runs --launch slurm --rate 100 --quiet");
    hold_a_run();
    preempt_and_requeue();
    kill_a_node();
    reach_the_limit();
    wait_until("all but one", WAKER " sweep status runs --json | grep -q '\"done\": 11'");
    wait_until("the failure", WAKER " sweep status runs --json | grep -q '\"failed\": 1'");
    wait_until("the report without it", "test -e runs/report/sweep.done");
    shell("rm -r runs/dr-seed5");
    shell(WAKER " sweep retry runs && " WAKER
                " sweep --logdir runs --launch slurm --quiet --rate 9");
    wait_until("all of them", WAKER " sweep status runs --json | grep -q '\"done\": 12'");
    wait_until("the report", WAKER " sweep status runs | grep -q 'the report is written'");
}

TEST_CASE(every_run_has_the_bytes_of_the_run_alone)
{
    shell(WAKER " sweep grid.yaml --logdir alone --launch print --rate 9 2>/dev/null | "
                "grep -v ' report ' | sed 's,^waker ," WAKER " --quiet ,; s,&& waker ,\\&\\& " WAKER
                " --quiet ,g' >alone.sh");
    shell("test $(wc -l <alone.sh) = 12 && xargs -P 2 -d '\\n' -n 1 sh -c <alone.sh >/dev/null");
    for (int i = 0; i < 12; i++) {
        char name[64], a[256], b[256];
        snprintf(name, sizeof name, "%s-seed%d", i < 6 ? "waker-m" : "dr", i % 6);
        snprintf(a, sizeof a, "%s/alone/%s", home, name);
        snprintf(b, sizeof b, "%s/runs/%s", home, name);
        same_end(a, b);
        shell("diff -r -x lock -x '*.done' alone/%s/adapt runs/%s/adapt && "
              "diff -r -x '*.done' alone/%s/eval runs/%s/eval",
              name, name, name, name);
    }
}

int main(void)
{
    if (!make_folders()) return 1;
    int code = shell_code(CLUSTER " start %s %d >reason", cluster, (int)getpid());
    if (code == 3) {
        printf("!!!!!!!! NO SLURM: ");
        fflush(stdout);
        shell_code("cat reason");
        printf("!!!!!!!! Sweeps on a real Slurm are NOT tested by this run.\n");
        code = getenv("WAKER_NEED_SLURM") ? 1 : SKIPPED;
    } else if (code == 0)
        code = run_all_tests(NULL, NULL);
    stop_all();
    return code;
}
