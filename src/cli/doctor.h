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
typedef struct wk_doctor_finding {
    const char *part; // "MuJoCo"
    wk_health health;
    char found[512];  // what is there, in words
    char advice[512]; // what to do about it, or ""
} wk_doctor_finding;

/// Each looks at one part of the machine; they never fail.
void wk_doctor_cpu(wk_doctor_finding *e);
void wk_doctor_memory(wk_doctor_finding *e);
void wk_doctor_mujoco(wk_doctor_finding *e);
void wk_doctor_zlib(wk_doctor_finding *e);
void wk_doctor_blas(wk_doctor_finding *e);
void wk_doctor_cuda(wk_doctor_finding *e);
/// Which device a run takes unless configured otherwise, and why.
void wk_doctor_device(wk_doctor_finding *e);
void wk_doctor_osmesa(wk_doctor_finding *e);
/// What to say of a MuJoCo: the versions that waker was built for and that it runs with, as MuJoCo
/// counts them, and the tested ones in words, "2.2.2, 3.17.0".
void wk_doctor_mujoco_versions(int built_for, int loaded, const char *tested, wk_doctor_finding *e);
/// Makes every built-in domain, takes a step in it and draws it.
void wk_doctor_domains(wk_doctor_finding *e);

#endif
