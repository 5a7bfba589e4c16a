// How fast a run goes and how long it will still take. The prefill makes no updates, so it has a
// rate of its own; both rates are those of the last minutes, and pauses (evaluations, checkpoints)
// are spread over the time between them. Times are wk_clock_seconds().
#ifndef WK_LOG_SPEED_H
#define WK_LOG_SPEED_H

#include <stdbool.h>
#include <stdint.h>

/// What was done lately: sums in which a minute ago counts 1/e.
typedef struct wk_speed_window {
    double seconds, steps, updates;
} wk_speed_window;

/// How far a run is.
typedef struct wk_speed_point {
    double time, paused; // seconds paused since the start
    uint64_t steps, updates;
} wk_speed_point;

/// The state; set up by wk_speed_start.
typedef struct wk_speed {
    wk_speed_point last;
    wk_speed_window prefill, learning;
    double learned_seconds, paused_seconds; // all since learning began
    bool learns;                            // the last point was after the prefill
} wk_speed;

void wk_speed_start(wk_speed *speed, const wk_speed_point *now);

/// Takes in what was done since the last point; `prefilling` says in which part.
void wk_speed_observe(wk_speed *speed, const wk_speed_point *now, bool prefilling);

/// Updates per second of late; NaN before there are any.
double wk_speed_updates(const wk_speed *speed);
/// Steps per second of late, in the part the run is in (prefill or learning); NaN before there are
/// any.
double wk_speed_steps(const wk_speed *speed);

/// Seconds until `total` steps are done, of which the first `prefill` are without updates; NaN
/// while nothing is known about what is left.
double wk_speed_left(const wk_speed *speed, int64_t prefill, int64_t total);

#endif
