#include "log/progress.h"

#include "base/clock.h"

static const double PLAIN_SECONDS = 10;

void wk_progress_start(wk_progress_line *p, int fd, const char *unit)
{
    wk_status_line_start(&p->line, fd, PLAIN_SECONDS);
    p->values = wk_status_values_empty();
    p->values.unit = unit;
    p->began = wk_clock_seconds();
}

void wk_progress_show(wk_progress_line *p, int64_t done, int64_t total, double now)
{
    double seconds = now - p->began;
    if (p->began == 0) return;
    p->values.steps = done;
    p->values.total = total;
    if (done > 0 && seconds > 0) {
        p->values.rate = (double)done / seconds;
        p->values.seconds_left = (double)(total - done) / p->values.rate;
    }
    if (seconds >= p->line.interval) wk_status_line_update(&p->line, &p->values, now);
}

void wk_progress_finish(wk_progress_line *p)
{
    if (p->line.begun) wk_status_line_finish(&p->line, &p->values);
    *p = (wk_progress_line){0};
}
