// What the examination of a domain (env/plugins/plugin_check.h) says, as lines "fault: ..." or
// "advice: ...".
#ifndef WK_TESTS_FINDINGS_H
#define WK_TESTS_FINDINGS_H

#include "base/text.h"
#include "env/plugins/plugin_check.h"
#include "support/check.h"

static inline void collect_finding(void *context, bool fault, const char *sentence)
{
    wk_text_printf(context, "%s: %s\n", fault ? "fault" : "advice", sentence);
}

/// The findings, for the caller to free.
static inline wk_text examine(const wk_domain *domain, int *faults)
{
    wk_error err = {0};
    wk_text found = {0};
    assert_ok(wk_plugin_check(domain, collect_finding, &found, faults, &err));
    return found;
}

/// Fails unless a finding contains `line` and the number of faults is right.
static inline void assert_found(const wk_domain *domain, const char *line, int faults_expected)
{
    int faults = -1;
    wk_text found = examine(domain, &faults);
    if (!strstr(wk_text_get(&found), line))
        fail_msg("expected '%s' in:\n%s", line, wk_text_get(&found));
    if (faults != faults_expected)
        fail_msg("%d faults, expected %d:\n%s", faults, faults_expected, wk_text_get(&found));
    wk_text_free(&found);
}

#endif
