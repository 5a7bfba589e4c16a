// Options of waker sweep for its jobs on Slurm.
#ifndef WK_CLI_SWEEP_SLURM_H
#define WK_CLI_SWEEP_SLURM_H

#include "cli/args.h"
#include "sweep/slurm.h"

/// Their values; initialise with WK_SLURM_ARGS_INIT.
typedef struct wk_slurm_args {
    const char *partition, *time, *account, *mail, *memory;
    int gpus, cpus, parallel, restarts, signal_seconds;
    wk_arg_texts lines;
} wk_slurm_args;

#define WK_SLURM_ARGS_INIT                                                                         \
    {                                                                                              \
        .gpus = 1                                                                                  \
    }

/// Rows for the option table; `field` is the wk_slurm_args in `values`.
#define WK_SLURM_ARG_ROWS(values, field)                                                            \
    {"partition", "NAME", "of Slurm", WK_ARG_TEXT, offsetof(values, field.partition), 0, 0},        \
        {"time",                                                                                    \
         "LIMIT",                                                                                   \
         "of a job: MINUTES, HH:MM:SS, DAYS-HH; what takes longer is continued",                    \
         WK_ARG_TEXT,                                                                               \
         offsetof(values, field.time),                                                              \
         0,                                                                                         \
         0},                                                                                        \
        {"account", "NAME", "of Slurm", WK_ARG_TEXT, offsetof(values, field.account), 0, 0},        \
        {"gpus", "N", "for each job (1)", WK_ARG_INT, offsetof(values, field.gpus), 0, 64},         \
        {"cpus", "N", "cores for each job", WK_ARG_INT, offsetof(values, field.cpus), 1, 1024},     \
        {"mem", "SIZE", "memory for each job: 16G", WK_ARG_TEXT, offsetof(values, field.memory),    \
         0,     0},                                                                                 \
        {"parallel",                                                                                \
         "N",                                                                                       \
         "jobs of an array at a time",                                                              \
         WK_ARG_INT,                                                                                \
         offsetof(values, field.parallel),                                                          \
         1,                                                                                         \
         100000},                                                                                   \
        {"mail", "ADDRESS", "gets failures and the end", WK_ARG_TEXT, offsetof(values, field.mail), \
         0,      0},                                                                                \
        {"signal",                                                                                  \
         "SECONDS",                                                                                 \
         "before the limit in which a run saves (120)",                                             \
         WK_ARG_INT,                                                                                \
         offsetof(values, field.signal_seconds),                                                    \
         1,                                                                                         \
         86400},                                                                                    \
        {"restarts", "N",   "of a job at most (100)", WK_ARG_INT, offsetof(values, field.restarts), \
         1,          100000},                                                                       \
    {                                                                                               \
        "sbatch", "OPTION", "another option of sbatch: --sbatch=--constraint=a100", WK_ARG_TEXTS,   \
            offsetof(values, field.lines), 0, 0                                                     \
    }

/// The options, or NULL where none was given: those of the submission before.
const wk_slurm_options *wk_slurm_args_options(const wk_slurm_args *given, wk_slurm_options *out);

#endif
