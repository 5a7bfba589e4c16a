// examples/slurm.sbatch as Slurm would run it: srun and scontrol are scripts that write down what
// they were given, and srun exits with the code the test wants.
#include "support/check.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define SCRIPT WAKER_SOURCE_DIR "/examples/slurm.sbatch"

static char folder[] = "slurm-XXXXXX";

static int make_commands(void **state)
{
    char command[512];
    if (!mkdtemp(folder)) return -1;
    snprintf(command, sizeof command,
             "cd %s && for c in srun scontrol; do printf "
             "'#!/bin/sh\\necho %%s \"$@\" >>given\\n' $c >$c; chmod +x $c; done && "
             "echo 'exit $CODE' >>srun",
             folder);
    return system(command);
}

static int remove_commands(void **state)
{
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

// Runs task 7 of job 40 whose waker exits with `code`; what the commands were given is in `given`.
static int run_task(int code, int restarts, char given[1024])
{
    char command[512];
    snprintf(command, sizeof command,
             "cd %s && rm -f given && PATH=.:$PATH CODE=%d SLURM_JOB_ID=47 SLURM_ARRAY_JOB_ID=40 "
             "SLURM_ARRAY_TASK_ID=7 SLURM_CPUS_PER_TASK=3 SLURM_RESTART_COUNT=%d RESTARTS_MAX=5 "
             "bash " SCRIPT " >out",
             folder, code, restarts);
    int status = system(command);
    char path[64];
    snprintf(path, sizeof path, "%s/given", folder);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    given[fread(given, 1, 1023, file)] = 0;
    fclose(file);
    return WEXITSTATUS(status);
}

TEST_CASE(each_task_has_its_own_directory_and_seed)
{
    char given[1024];
    assert_int_equal(run_task(0, 0, given), 0);
    assert_non_null(strstr(given, "waker train --logdir runs/walker-7 --configs terrain-walker "
                                  "waker-m plan2explore paper --seed 7 --threads 3\n"));
    assert_null(strstr(given, "scontrol"));
}

TEST_CASE(only_the_task_that_was_saved_is_put_back)
{
    char given[1024];
    assert_int_equal(run_task(75, 4, given), 0);
    assert_non_null(strstr(given, "scontrol requeue 40_7\n"));
    assert_int_equal(run_task(2, 0, given), 2);
    assert_null(strstr(given, "scontrol"));
}

TEST_CASE(restarts_have_a_limit)
{
    char given[1024];
    assert_int_equal(run_task(75, 5, given), 75);
    assert_null(strstr(given, "scontrol"));
}

TEST_CASE(the_job_asks_for_an_array_with_a_gpu_and_a_log_per_task)
{
    assert_int_equal(system("grep -q '^#SBATCH --array=' " SCRIPT), 0);
    assert_int_equal(system("grep -q '^#SBATCH --gres=gpu:1' " SCRIPT), 0);
    assert_int_equal(system("grep -q '^#SBATCH --output=.*%A_%a' " SCRIPT), 0);
}

TEST_MAIN(make_commands, remove_commands)
