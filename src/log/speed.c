#include "log/speed.h"

#include <math.h>

static const double WINDOW_SECONDS = 60;

void wk_speed_start(wk_speed *speed, const wk_speed_point *now)
{
    *speed = (wk_speed){.last = *now};
}

static void add(wk_speed_window *window, double seconds, double steps, double updates)
{
    double keep = exp(-seconds / WINDOW_SECONDS);
    window->seconds = window->seconds * keep + seconds;
    window->steps = window->steps * keep + steps;
    window->updates = window->updates * keep + updates;
}

void wk_speed_observe(wk_speed *speed, const wk_speed_point *now, bool prefilling)
{
    double paused = now->paused - speed->last.paused;
    double seconds = now->time - speed->last.time - paused;
    double steps = (double)(now->steps - speed->last.steps);
    double updates = (double)(now->updates - speed->last.updates);
    speed->last = *now;
    if (prefilling) {
        add(&speed->prefill, seconds, steps, updates);
        return;
    }
    // The first update also makes what all need (plans, pages of memory) and says little.
    if (speed->learns) {
        add(&speed->learning, seconds, steps, updates);
        speed->learned_seconds += seconds;
        speed->paused_seconds += paused;
    }
    speed->learns = speed->learns || updates > 0;
}

double wk_speed_updates(const wk_speed *speed)
{
    const wk_speed_window *w = &speed->learning;
    return w->updates > 0 && w->seconds > 0 ? w->updates / w->seconds : NAN;
}

double wk_speed_steps(const wk_speed *speed)
{
    const wk_speed_window *w = speed->learning.steps > 0 ? &speed->learning : &speed->prefill;
    return w->steps > 0 && w->seconds > 0 ? w->steps / w->seconds : NAN;
}

static double seconds_per_step(const wk_speed_window *window)
{
    return window->steps > 0 ? window->seconds / window->steps : NAN;
}

// With the pauses between them; before any update was measured nothing is known.
static double learning_seconds_per_step(const wk_speed *speed)
{
    if (speed->learning.updates == 0) return NAN;
    return seconds_per_step(&speed->learning) *
           (1 + speed->paused_seconds / speed->learned_seconds);
}

double wk_speed_left(const wk_speed *speed, int64_t prefill, int64_t total)
{
    double steps = (double)speed->last.steps, end = (double)total;
    double filled = fmin(fmax((double)prefill, steps), end);
    double left = 0;
    if (filled > steps) left += (filled - steps) * seconds_per_step(&speed->prefill);
    if (end > filled) left += (end - filled) * learning_seconds_per_step(speed);
    return left;
}
