// The runs of a population: every combination of the values that some keys take, written as
// KEY=VALUES for each key. Values have commas between them; of keys that are numbers, a..b counts
// whole ones, both ends included: "seed=0..4", "curriculum.rule=waker-m,dr". The last key changes
// fastest.
#ifndef WK_CONFIG_AXES_H
#define WK_CONFIG_AXES_H

#include "agent/learner.h"
#include "base/log.h"
#include "config/blocks.h"

enum { WK_EACH_KEYS_MAX = 16, WK_EACH_NAME_MAX = 128 };

typedef struct wk_each wk_each;

/// Reads `count` texts. Refuses keys that runs of a population share, values that the key would
/// refuse, the same key or value twice, and more than WK_POPULATION_MAX runs; errors begin with the
/// text they are about.
wk_status wk_each_create(const char *const *texts, int count, wk_each **out, wk_error *err);
/// NULL is allowed.
void wk_each_destroy(wk_each *each);

/// Number of runs.
int wk_each_runs(const wk_each *each);

/// The settings of a run, borrowed; returns how many.
int wk_each_settings(const wk_each *each, int run, wk_setting out[WK_EACH_KEYS_MAX]);

/// Whether one of the keys is called key[0 ... length-1].
bool wk_each_has(const wk_each *each, const char *key, size_t length);

/// The name of a run's directory, which says its values: "waker-m-seed0", "model.rate0.001". Made
/// of [A-Za-z0-9._+-] alone; the same for the same values, whatever other values there are.
void wk_each_name(const wk_each *each, int run, char out[WK_EACH_NAME_MAX]);

/// Gives `add` each value that `text` says, as wk_run_config_get writes it: the text itself or, of
/// keys that are numbers, the whole ones of a..b, at most `max` of them.
typedef wk_status wk_run_value_add(void *context, const char *value, wk_error *err);
wk_status wk_run_values_read(int field, const char *text, int max, wk_run_value_add *add,
                             void *context, wk_error *err);

/// What names of runs are made of: adds a field and its value ("temperature0.5"), or with field -1
/// a value that speaks for itself; then makes a name of [A-Za-z0-9._+-] alone. Where that replaces
/// or cuts off characters, the name ends in a checksum of the whole text.
void wk_run_name_add(int field, const char *value, wk_text *name);
void wk_run_name_finish(const wk_text *name, char out[WK_EACH_NAME_MAX]);

/// Why all runs of a population have the same value of a field; NULL where they may differ.
const char *wk_run_field_shared(int field);

/// Makes `count` configurations ready to be trained together. Keys that all runs share and that
/// change no result get the value of the first run, with a remark; others must be the same. `names`
/// are the runs', for messages.
wk_status wk_run_configs_share(wk_run_config *configs, const char *const *names, int count,
                               const wk_log *log, wk_error *err);

#endif
