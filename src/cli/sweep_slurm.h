// Options of waker sweep for its jobs on Slurm.
#ifndef WK_CLI_SWEEP_SLURM_H
#define WK_CLI_SWEEP_SLURM_H

#include "cli/args.h"
#include "sweep/slurm.h"

/// Their values; initialise with WK_SLURM_ARGS_INIT.
typedef struct wk_slurm_args {
    wk_slurm_options jobs; // without its lines
    wk_arg_texts lines;
} wk_slurm_args;

#define WK_SLURM_ARGS_INIT                                                                         \
    {                                                                                              \
        .jobs = {.gpus = -1 } /* not given */                                                      \
    }

/// Rows for the option table; `m` is the wk_slurm_args in WK_VALUES.
#define WK_SLURM_ARG_ROWS(m)                                                                       \
    WK_OPT_TEXT("partition", m.jobs.partition, "NAME", "Slurm partition"),                         \
        WK_OPT_TEXT(                                                                               \
            "time", m.jobs.time, "LIMIT",                                                          \
            "time limit of a job: MINUTES, HH:MM:SS, DAYS-HH; runs that take longer are resumed"), \
        WK_OPT_TEXT("account", m.jobs.account, "NAME", "Slurm account"),                           \
        WK_OPT_INT("gpus", m.jobs.gpus, "N", "GPUs per job (default: 1)", 0, 64),                  \
        WK_OPT_INT("cpus", m.jobs.cpus, "N", "CPU cores per job", 1, 1024),                        \
        WK_OPT_TEXT("mem", m.jobs.memory, "SIZE", "memory per job, for example 16G"),              \
        WK_OPT_INT("parallel", m.jobs.parallel, "N",                                               \
                   "maximum tasks of an array that run at a time", 1, 100000),                     \
        WK_OPT_TEXT("mail", m.jobs.mail, "ADDRESS",                                                \
                    "send mail about failures and the end to this address"),                       \
        WK_OPT_INT("signal", m.jobs.signal_seconds, "SECONDS",                                     \
                   "time before the limit at which runs save and stop (default: 120)", 1, 86400),  \
        WK_OPT_INT("restarts", m.jobs.restarts, "N", "maximum restarts of a job (default: 100)",   \
                   1, 100000),                                                                     \
        WK_OPT_TEXTS(                                                                              \
            "sbatch", m.lines, "OPTION",                                                           \
            "another option of sbatch, as in --sbatch=--constraint=a100; may be repeated")

/// The options, or NULL where none was given: those of the submission before.
const wk_slurm_options *wk_slurm_args_options(const wk_slurm_args *given, wk_slurm_options *out);

#endif
