// waker envs check: examines a plug-in by running it, for its author.
#include "base/json.h"
#include "cli/chosen_domain.h"
#include "cli/cli.h"
#include "env/plugins/plugin_check.h"

#include <stdio.h>

typedef struct check_values {
    bool json;
} check_values;

static const check_values defaults;

#define WK_VALUES check_values
static const wk_arg args[] = {
    WK_OPT_FLAG("json", json, "print JSON"),
};

// Where findings go as they are made: a list of lines, or the JSON document.
typedef struct findings {
    wk_text text;
    wk_json json;
    bool as_json;
    int advice;
} findings;

static void note_finding(void *context, bool fault, const char *sentence)
{
    findings *f = context;
    size_t start = f->text.length;
    if (!fault) f->advice++;
    if (f->as_json) {
        wk_json_object(&f->json, NULL);
        wk_json_string(&f->json, "kind", fault ? "fault" : "advice");
        wk_json_string(&f->json, "text", sentence);
        wk_json_close(&f->json, '}');
    } else {
        wk_text_printf(&f->text, "%s: %s", fault ? "fault" : "advice", sentence);
        if (!f->text.failed) wk_utf8_sanitise(f->text.chars + start, false); // one line each
        wk_text_puts(&f->text, "\n");
        (void)wk_cli_print(&f->text, NULL); // now: the plug-in may crash later
        fflush(stdout);
    }
}

static void begin_findings(findings *f, const wk_domain *domain)
{
    f->json = (wk_json){.text = &f->text};
    if (!f->as_json) return;
    wk_json_object(&f->json, NULL);
    wk_json_string(&f->json, "domain", domain->name);
    wk_json_array(&f->json, "findings");
}

static void end_findings(findings *f, const wk_domain *domain, int faults)
{
    if (f->as_json) {
        wk_json_close(&f->json, ']');
        wk_json_integer(&f->json, "faults", faults);
        wk_json_close(&f->json, '}');
        return;
    }
    if (faults == 0)
        wk_text_printf(&f->text, "domain '%s' is sound", domain->name);
    else
        wk_text_printf(&f->text, "domain '%s' has %d fault%s", domain->name, faults,
                       wk_plural((uint64_t)faults));
    if (f->advice > 0) wk_text_printf(&f->text, " (%d advice)", f->advice);
    wk_text_puts(&f->text, "\n");
}

static wk_status check_world(wk_cli *cli, const wk_domain *domain, bool json, wk_error *err)
{
    findings f = {.as_json = json};
    int faults = 0;
    begin_findings(&f, domain);
    wk_status status = wk_plugin_check(domain, note_finding, &f, &faults, err);
    if (status != WK_OK) {
        wk_text_free(&f.text);
        return status;
    }
    end_findings(&f, domain, faults);
    cli->findings = faults > 0;
    return wk_cli_print(&f.text, err);
}

// A description that loading already refuses is the one finding there is.
static wk_status report_refusal(wk_cli *cli, const char *path, bool json, const wk_error *refusal,
                                wk_error *err)
{
    const wk_domain unknown = {.name = path};
    findings f = {.as_json = json};
    begin_findings(&f, &unknown);
    note_finding(&f, true, refusal->message);
    end_findings(&f, &unknown, 1);
    cli->findings = true;
    return wk_cli_print(&f.text, err);
}

static wk_status run(wk_cli *cli, const void *given, wk_error *err)
{
    const check_values *values = given;
    const char *path = cli->words.items[0];
    wk_chosen_domain chosen;
    wk_error refusal = {0};
    wk_status opened = wk_chosen_domain_open(cli, NULL, path, NULL, &chosen, &refusal);
    if (opened == WK_E_INPUT) return report_refusal(cli, path, values->json, &refusal, err);
    if (opened != WK_OK) return wk_fail(err, opened, "%s", refusal.message);
    wk_status status = check_world(cli, chosen.domain, values->json, err);
    wk_chosen_domain_close(&chosen);
    return status;
}

const wk_command wk_command_envs_check = {
    .name = "envs check",
    .summary = "Check a plug-in by running its domain",
    .usage = "envs check PLUGIN.so [--json]",
    .details = "Faults would spoil training and make the exit code 3; advice does not. To check\n"
               "environments in Python, give FILE.py:FUNCTION instead of a file.\n",
    .examples = "envs check ./my_world.so",
    WK_COMMAND_OPTIONS(args, defaults),
    .words = {1, 1},
    .run = run,
};
