// waker doctor: what this machine and this build have, what is missing, and what to do about it.
#include "cli/doctor.h"
#include "base/table.h"
#include "cli/cli.h"

#include <stdio.h>

typedef struct doctor_values {
    bool json;
} doctor_values;

static const doctor_values defaults;

#define WK_VALUES doctor_values
static const wk_arg args[] = {
    WK_OPT_FLAG("json", json, "print JSON"),
};

static const struct {
    const char *part;
    void (*examine)(wk_doctor_finding *);
} parts[] = {
    {"processor", wk_doctor_cpu},   {"memory", wk_doctor_memory}, {"MuJoCo", wk_doctor_mujoco},
    {"domains", wk_doctor_domains}, {"zlib", wk_doctor_zlib},     {"BLAS", wk_doctor_blas},
    {"CUDA", wk_doctor_cuda},       {"device", wk_doctor_device}, {"OSMesa", wk_doctor_osmesa},
};
enum { N_PARTS = sizeof parts / sizeof *parts };

static const char *health_name(wk_health health)
{
    static const char *const names[] = {"ok", "absent", "BROKEN"};
    return names[health];
}

static void print_table(const wk_doctor_finding *all, wk_text *out)
{
    wk_table table;
    wk_table_begin(&table, "lll", "part", "state", "found");
    for (size_t i = 0; i < N_PARTS; i++)
        wk_table_texts(&table, all[i].part, health_name(all[i].health), all[i].found);
    wk_table_finish(&table, 0, out);
}

static void print_advice(const wk_doctor_finding *all, wk_text *out)
{
    for (size_t i = 0, n = 0; i < N_PARTS; i++) {
        if (!all[i].advice[0]) continue;
        wk_text_printf(out, "%s%s: %s.\n", n++ ? "" : "\n", all[i].part, all[i].advice);
    }
}

static void print_json(const wk_doctor_finding *all, int broken, wk_text *out)
{
    wk_json json = {.text = out};
    wk_json_object(&json, NULL);
    wk_json_string(&json, "version", WAKER_VERSION);
    wk_json_integer(&json, "broken", broken);
    wk_json_array(&json, "parts");
    for (size_t i = 0; i < N_PARTS; i++) {
        wk_json_object(&json, NULL);
        wk_json_string(&json, "part", all[i].part);
        wk_json_string(&json, "state",
                       all[i].health == WK_HEALTH_BROKEN ? "broken" : health_name(all[i].health));
        wk_json_string(&json, "found", all[i].found);
        if (all[i].advice[0]) wk_json_string(&json, "advice", all[i].advice);
        wk_json_close(&json, '}');
    }
    wk_json_close(&json, ']');
    wk_json_close(&json, '}');
}

static wk_status run(wk_cli *cli, const void *given, wk_error *err)
{
    const doctor_values *values = given;
    wk_doctor_finding all[N_PARTS] = {0};
    int broken = 0;
    for (size_t i = 0; i < N_PARTS; i++) {
        all[i].part = parts[i].part;
        parts[i].examine(&all[i]);
        broken += all[i].health == WK_HEALTH_BROKEN;
    }
    cli->findings = broken > 0;
    wk_text out = {0};
    if (values->json) {
        print_json(all, broken, &out);
        return wk_cli_print(&out, err);
    }
    wk_text_puts(&out, "waker " WAKER_VERSION "\n\n");
    print_table(all, &out);
    print_advice(all, &out);
    wk_text_puts(&out,
                 broken ? "\nSomething required is broken.\n" : "\nEverything required works.\n");
    return wk_cli_print(&out, err);
}

const wk_command wk_command_doctor = {
    .name = "doctor",
    .summary = "Show what this machine and this build support, and how to get what is missing",
    .usage = "doctor [--json]",
    .details = "Absent parts are optional. The exit code is 3 if a required part is broken.\n",
    .examples = "doctor",
    WK_COMMAND_OPTIONS(args, defaults),
    .run = run,
};
