// Which runs are seeds of one method. Runs are compared by their whole configuration: everything
// that shapes what is learned, except the seed. Those that differ in a setting are different
// methods with names of their own, unless the user gave them one label.
#ifndef WK_REPORT_DATA_METHODS_H
#define WK_REPORT_DATA_METHODS_H

#include "report/data/runs.h"

/// Whether the field is a setting that has to agree: it shapes the results and is none of seed,
/// domain, curriculum and exploration, which reports show anyway.
bool wk_setting_counts(int field);

/// The settings that differ among the runs of one domain and exploration.
void wk_runs_differing(const wk_runs *runs, bool differs[WK_RUN_FIELD_COUNT]);

/// How many settings names and remarks spell out; of more, the table of settings has the values.
enum { WK_SETTINGS_SPELLED_MAX = 3 };

/// Whether runs of some domain and exploration differ in more settings than that.
bool wk_runs_differ_in_many(const wk_runs *runs);

/// Gives every run its method: its label; else its curriculum with the settings `by` and those in
/// which runs of that curriculum differ, or a number where those are many.
wk_status wk_runs_name_methods(wk_runs *runs, const char *const *by, size_t n_by, wk_error *err);

/// Adds a remark for each setting that differs within a domain and exploration, or one for all of
/// them where they are many.
wk_status wk_runs_compare_settings(wk_runs *runs, wk_error *err);

/// Appends the value as people read it: what an empty or automatic one stands for.
void wk_run_setting(const wk_report_run *run, int field, wk_text *out);

#endif
