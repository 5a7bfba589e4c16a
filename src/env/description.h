// A domain's description as JSON and back: everything of a wk_domain that is data but indicators,
// whose names stand in the results. A run whose domain comes from a plug-in keeps it, so that its
// results can be read without loading code.
#ifndef WK_ENV_DESCRIPTION_H
#define WK_ENV_DESCRIPTION_H

#include "base/json.h"
#include "waker/env.h"

/// Writes the members of the JSON object that is open. The grid is listed where only the domain's
/// functions can make it.
wk_status wk_domain_describe(const wk_domain *domain, wk_json *json, wk_error *err);

/// Its params alone, as the member "params", and its tasks.
void wk_domain_describe_params(const wk_domain *domain, wk_json *json);
void wk_domain_describe_tasks(const wk_domain *domain, wk_json *json);

/// A domain of which the description is known and nothing else: its functions are NULL, and
/// wk_env_create refuses it.
typedef struct wk_description wk_description;

/// Reads the object that is open to its end; what it says is checked like a plug-in's domain.
/// Errors are the document's.
wk_status wk_description_read(wk_document *document, wk_description **out, wk_error *err);
/// NULL is allowed.
void wk_description_destroy(wk_description *description);
const wk_domain *wk_description_domain(const wk_description *description);

/// Its default distribution; wk_space_create does not know a grid that was listed.
wk_status wk_description_space(const wk_description *description, wk_space **out, wk_error *err);

/// Whether weights, replay and checkpoints of the one domain are of use to the other: the same
/// params, tasks, options, grid, and sizes. Cases and texts may differ. The error names what does
/// not.
wk_status wk_description_fits(const wk_description *description, const wk_domain *domain,
                              wk_error *err);

#endif
