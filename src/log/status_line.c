#include "log/status_line.h"

#include "base/machine.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { WIDTH_DEFAULT = 80, HEIGHT_DEFAULT = 24, PART_MAX = 96 };

static const double LIVE_SECONDS = 0.2, PLAIN_SECONDS = 10; // between updates

wk_status_values wk_status_values_empty(void)
{
    return (wk_status_values){
        .updates_per_second = NAN, .seconds_left = NAN, .model_loss = NAN, .mean_error = NAN};
}

const char *wk_duration_text(double seconds, char out[WK_DURATION_TEXT_MAX])
{
    long long s = seconds > 0 ? llround(fmin(seconds, 1e12)) : 0;
    *out = 0;
    if (isnan(seconds)) return out;
    if (s < 60)
        snprintf(out, WK_DURATION_TEXT_MAX, "%llds", s);
    else if (s < 3600)
        snprintf(out, WK_DURATION_TEXT_MAX, "%lldm%02llds", s / 60, s % 60);
    else if (s < 86400)
        snprintf(out, WK_DURATION_TEXT_MAX, "%lldh%02lldm", s / 3600, s / 60 % 60);
    else
        snprintf(out, WK_DURATION_TEXT_MAX, "%lldd%02lldh", s / 86400, s / 3600 % 24);
    return out;
}

void wk_count_text(int64_t value, char out[WK_COUNT_TEXT_MAX])
{
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%lld", (long long)value);
    size_t used = 0;
    for (int i = 0; i < length && used + 2 < WK_COUNT_TEXT_MAX; i++) {
        if (i > 0 && (length - i) % 3 == 0 && digits[i - 1] != '-') out[used++] = ',';
        out[used++] = digits[i];
    }
    out[used] = 0;
}

// The parts of the line, in the order they are shown.
typedef enum part {
    STEPS,
    CONTROL,
    PERCENT,
    SPEED,
    SPLIT,
    LOSS,
    ERROR,
    DIVERGED,
    LEFT,
    DEVICE,
    WHY,
    PARTS
} part;

// Which part goes first when there is no room.
static const part first_to_go[] = {WHY,  SPLIT,   CONTROL, DEVICE, ERROR,
                                   LOSS, PERCENT, LEFT,    SPEED,  DIVERGED};

static void make_parts(const wk_status_values *p, char parts[PARTS][PART_MAX])
{
    static const char *const phases[WK_PHASES] = {"env", "render", "replay", "learn", "log"};
    const char *unit = p->unit ? p->unit : "agent steps";
    char steps[WK_COUNT_TEXT_MAX], total[WK_COUNT_TEXT_MAX];
    memset(parts, 0, PARTS * sizeof *parts);
    wk_count_text(p->steps, steps);
    wk_count_text(p->total, total);
    if (*unit && p->total > 0)
        snprintf(parts[STEPS], PART_MAX, "%s/%s %s", steps, total, unit);
    else if (*unit)
        snprintf(parts[STEPS], PART_MAX, "%s %s", steps, unit);
    if (p->control > 0) {
        char control[WK_COUNT_TEXT_MAX];
        wk_count_text(p->control, control);
        snprintf(parts[CONTROL], PART_MAX, "%s control steps", control);
    }
    if (p->total > 0)
        snprintf(parts[PERCENT], PART_MAX, "%.1f%%", // the last round may go beyond the end
                 fmin(100, 100.0 * (double)p->steps / (double)p->total));
    if (!isnan(p->updates_per_second))
        snprintf(parts[SPEED], PART_MAX, "%.3g updates/s", p->updates_per_second);
    if (p->rate > 0) snprintf(parts[SPEED], PART_MAX, "%.3g %s/s", p->rate, unit);
    // The shares of the time.
    double sum = 0;
    for (int i = 0; i < WK_PHASES; i++)
        sum += p->seconds[i];
    size_t used = 0;
    for (int i = 0; i < WK_PHASES && sum > 0; i++)
        if (p->seconds[i] > 0)
            used += (size_t)snprintf(parts[SPLIT] + used, PART_MAX - used, "%s%s %.0f%%",
                                     used ? " " : "", phases[i], 100 * p->seconds[i] / sum);
    if (!isnan(p->model_loss)) snprintf(parts[LOSS], PART_MAX, "loss %.4g", p->model_loss);
    if (!isnan(p->mean_error)) snprintf(parts[ERROR], PART_MAX, "error %.3g", p->mean_error);
    if (p->diverged > 0)
        snprintf(parts[DIVERGED], PART_MAX, "%lld diverged", (long long)p->diverged);
    char left[WK_DURATION_TEXT_MAX];
    if (*wk_duration_text(p->seconds_left, left)) snprintf(parts[LEFT], PART_MAX, "%s left", left);
    if (p->device) snprintf(parts[DEVICE], PART_MAX, "%s", p->device);
    if (p->device && p->why) snprintf(parts[WHY], PART_MAX, "%s", p->why);
}

static size_t total_width(char parts[PARTS][PART_MAX])
{
    size_t width = 0;
    for (int i = 0; i < PARTS; i++)
        if (parts[i][0]) width += strlen(parts[i]) + (width ? 2 : 0);
    return width;
}

void wk_status_values_text(const wk_status_values *progress, int width, wk_text *out)
{
    char parts[PARTS][PART_MAX];
    make_parts(progress, parts);
    size_t room = width > 0 ? (size_t)width : SIZE_MAX;
    for (size_t i = 0; i < sizeof first_to_go / sizeof *first_to_go; i++)
        if (total_width(parts) > room) parts[first_to_go[i]][0] = 0;
    const char *gap = "";
    for (int i = 0; i < PARTS; i++) {
        if (!parts[i][0]) continue;
        wk_text_puts(out, i == WHY ? ": " : gap);
        size_t length = strlen(parts[i]);
        wk_text_append(out, parts[i], length < room ? length : room);
        gap = "  ";
    }
}

void wk_status_line_start(wk_status_line *line, int fd, double plain_seconds)
{
    const char *terminal = getenv("TERM");
    bool live = isatty(fd) && terminal && strcmp(terminal, "dumb") != 0;
    *line =
        (wk_status_line){.fd = fd, .live = live, .interval = live ? LIVE_SECONDS : plain_seconds};
}

void wk_status_line_size(const wk_status_line *line, int *columns, int *rows)
{
    struct winsize size = {0};
    if (ioctl(line->fd, TIOCGWINSZ, &size) != 0) size = (struct winsize){0};
    *columns = line->width > 0 ? line->width : size.ws_col > 0 ? size.ws_col : WIDTH_DEFAULT;
    *rows = line->height > 0 ? line->height : size.ws_row > 0 ? size.ws_row : HEIGHT_DEFAULT;
}

// One write, so that a terminal never shows half of it.
static void put(const wk_status_line *line, wk_text *text)
{
    const char *at = wk_text_get(text);
    for (size_t left = text->length; left > 0;) {
        ssize_t n = write(line->fd, at, left);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        at += n;
        left -= (size_t)n;
    }
    wk_text_free(text);
}

static void put_stamp(const wk_status_line *line, wk_text *out)
{
    struct tm local;
    char stamp[32];
    time_t now = time(NULL);
    if (line->live || !line->stamped || !localtime_r(&now, &local)) return;
    strftime(stamp, sizeof stamp, "%F %T  ", &local);
    wk_text_puts(out, stamp);
}

// Appends the lines of `text`, each but the last clearing the rest of its row.
static void put_lines(const char *text, wk_text *out)
{
    for (size_t length; text[length = strcspn(text, "\n")]; text += length + 1) {
        wk_text_append(out, text, length);
        wk_text_puts(out, "\x1b[K\n");
    }
    wk_text_puts(out, text);
}

// Moves to where the live text begins. Rows are counted anew: a terminal that has become narrower
// has wrapped them.
static void put_return(const wk_status_line *line, wk_text *out)
{
    int columns, rows;
    size_t above = 0;
    wk_status_line_size(line, &columns, &rows);
    const char *text = wk_text_get(&line->shown);
    for (size_t length; *text; text += length + (text[length] == '\n')) {
        length = strcspn(text, "\n");
        size_t width = wk_utf8_width(text, length);
        above += (width > 0 ? (width - 1) / (size_t)columns : 0) + (text[length] == '\n');
    }
    wk_text_puts(out, "\r");
    if (line->visible && above > 0) wk_text_printf(out, "\x1b[%zuA", above);
}

void wk_status_line_show(wk_status_line *line, wk_text *now)
{
    const char *text = wk_text_get(now), *shown = wk_text_get(&line->shown);
    wk_text out = {0};
    line->begun = true;
    if (line->visible && strcmp(text, shown) == 0) {
        wk_text_free(now);
        return;
    }
    if (line->live) {
        put_return(line, &out);
        put_lines(text, &out);
        wk_text_puts(&out, "\x1b[K");
        if (strchr(shown, '\n')) wk_text_puts(&out, "\x1b[J"); // it had more lines
    }
    for (size_t length; !line->live && *text; text += length + (text[length] == '\n')) {
        length = strcspn(text, "\n");
        put_stamp(line, &out);
        wk_text_append(&out, text, length);
        wk_text_puts(&out, "\n");
    }
    put(line, &out);
    wk_text_free(&line->shown);
    line->shown = *now;
    line->visible = line->live;
}

static void show(wk_status_line *line, const wk_status_values *progress)
{
    wk_text text = {0};
    int columns, rows;
    wk_status_line_size(line, &columns, &rows);
    wk_status_values_text(progress, line->live ? columns - 1 : 0, &text); // the last would wrap
    wk_status_line_show(line, &text);
}

bool wk_status_line_is_due(const wk_status_line *line, double now)
{
    return !line->begun || now - line->last >= line->interval;
}

void wk_status_line_update(wk_status_line *line, const wk_status_values *progress, double now)
{
    if (!wk_status_line_is_due(line, now)) return;
    show(line, progress);
    line->last = now;
}

void wk_status_line_message(wk_status_line *line, const char *message)
{
    wk_text out = {0};
    put_stamp(line, &out);
    if (line->visible) {
        // Cleared before it is written: behind a message that fills its row exactly the cursor
        // still stands on the last character, which clearing would take away.
        put_return(line, &out);
        wk_text_printf(&out, "\x1b[J%s\n", message);
        put_lines(wk_text_get(&line->shown), &out);
    } else
        wk_text_printf(&out, "%s\n", message);
    put(line, &out);
}

void wk_status_line_log(void *line, wk_log_level level, const char *message)
{
    wk_text text = {0};
    if (level == WK_LOG_WARN || level == WK_LOG_ERROR)
        wk_text_printf(&text, "waker: %s: ", wk_log_level_name(level));
    wk_text_puts(&text, message);
    wk_status_line_message(line, wk_text_get(&text));
    wk_text_free(&text);
}

void wk_status_line_end(wk_status_line *line)
{
    if (line->visible) {
        wk_text out = {0};
        wk_text_puts(&out, "\n");
        put(line, &out);
    }
    wk_text_free(&line->shown);
    line->visible = line->begun = false;
}

void wk_status_line_finish(wk_status_line *line, const wk_status_values *progress)
{
    // A printed line that says the same already is not repeated.
    wk_text text = {0};
    wk_status_values_text(progress, 0, &text);
    bool same = !line->live && line->begun && !text.failed &&
                strcmp(wk_text_get(&text), wk_text_get(&line->shown)) == 0;
    wk_text_free(&text);
    if (!same) show(line, progress);
    wk_status_line_end(line);
}

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

static void show_done(wk_progress_line *p, int64_t done, double now)
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
    show_done(p, done, now);
}

void wk_progress_count(wk_progress_line *p, int thread)
{
    if (!p || p->began == 0) return;
    int64_t done = atomic_fetch_add(&p->done, 1) + 1;
    if (thread == 0) show_done(p, done, wk_clock_seconds());
}

void wk_progress_finish(wk_progress_line *p)
{
    set_done(p, atomic_load(&p->done), p->values.rate); // also what other threads did last
    if (p->line.begun) wk_status_line_finish(&p->line, &p->values);
    *p = (wk_progress_line){0};
}
