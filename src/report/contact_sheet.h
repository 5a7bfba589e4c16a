// A contact sheet: the worlds of a domain side by side, labelled with their parameters.
#ifndef WK_REPORT_CONTACT_SHEET_H
#define WK_REPORT_CONTACT_SHEET_H

#include "report/random_episode.h"

/// Random agent steps that put every robot on its ground: hoppers begin in the air.
enum { WK_SHEET_STEPS = 20 };

/// Draws the sheet: rows over the first parameter and columns over the second of the training grid
/// (over the total number where the remaining parameters are counts alike), then one row per
/// out-of-distribution case. Each cell is `cell` pixels wide and shows the state after `steps`
/// random actions. `cells` gets the number of worlds drawn.
wk_status wk_contact_sheet_draw(const wk_domain *domain, const int *options, uint64_t seed,
                                int steps, int cell, wk_image *out, int *cells, wk_error *err);

#endif
