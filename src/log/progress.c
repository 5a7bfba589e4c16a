#include "log/progress.h"

#include "base/clock.h"

static const double PLAIN_SECONDS = 10;

void wk_progress_start(wk_progress_line *p, int fd, const char *unit)
{
    wk_status_line_start(&p->line, fd, PLAIN_SECONDS);
    p->values = wk_status_values_empty();
    p->values.unit = unit;
    p->started = p->began = wk_clock_seconds();
}

void wk_progress_next(wk_progress_line *p, const char *unit, int64_t total)
{
    if (!p || p->began == 0) return;
    p->values = wk_status_values_empty();
    p->values.unit = unit;
    p->values.total = total;
    p->began = wk_clock_seconds();
    atomic_store(&p->done, 0);
}

static void set_done(wk_progress_line *p, int64_t done, double rate)
{
    p->values.steps = done;
    p->values.rate = rate;
    if (rate > 0) p->values.seconds_left = (double)(p->values.total - done) / rate;
}

static void show(wk_progress_line *p, int64_t done, double now)
{
    double seconds = now - p->began;
    set_done(p, done, seconds > 0 ? (double)done / seconds : 0);
    if (now - p->started >= p->line.interval) wk_status_line_update(&p->line, &p->values, now);
}

void wk_progress_show(wk_progress_line *p, int64_t done, int64_t total, double now)
{
    if (p->began == 0) return;
    atomic_store(&p->done, done);
    p->values.total = total;
    show(p, done, now);
}

void wk_progress_count(wk_progress_line *p, int thread)
{
    if (!p || p->began == 0) return;
    int64_t done = atomic_fetch_add(&p->done, 1) + 1;
    if (thread == 0) show(p, done, wk_clock_seconds());
}

void wk_progress_finish(wk_progress_line *p)
{
    set_done(p, atomic_load(&p->done), p->values.rate); // also what other threads did last
    if (p->line.begun) wk_status_line_finish(&p->line, &p->values);
    *p = (wk_progress_line){0};
}
