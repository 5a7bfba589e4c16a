// The parts of a machine that waker checks, and what it finds.
#ifndef WK_CLI_DOCTOR_H
#define WK_CLI_DOCTOR_H

#include <stdbool.h>

/// State of a part.
typedef enum wk_health {
    WK_HEALTH_OK,
    WK_HEALTH_ABSENT, // optional and not there
    WK_HEALTH_BROKEN, // required, and missing or wrong
} wk_health;

/// One line of the report.
typedef struct wk_examination {
    const char *part; // "MuJoCo"
    wk_health health;
    char found[512];  // what is there, in words
    char advice[512]; // what to do about it, or ""
} wk_examination;

/// Each looks at one part of the machine; they never fail.
void wk_examine_cpu(wk_examination *e);
void wk_examine_memory(wk_examination *e);
void wk_examine_mujoco(wk_examination *e);
void wk_examine_collider(wk_examination *e);
void wk_examine_zlib(wk_examination *e);
void wk_examine_blas(wk_examination *e);
void wk_examine_cuda(wk_examination *e);
/// Which device a run takes unless configured otherwise, and why.
void wk_examine_device(wk_examination *e);
void wk_examine_osmesa(wk_examination *e);
/// What to say of a MuJoCo: the versions that waker was built for and that it runs with, as MuJoCo
/// counts them, and the tested ones in words, "2.2.2, 3.17.0".
void wk_judge_mujoco(int built_for, int loaded, const char *tested, wk_examination *e);
/// Makes every built-in domain, takes a step in it and draws it.
void wk_examine_domains(wk_examination *e);

#endif
