#include "eval/cases.h"

#include "base/file.h"
#include "base/random.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char FORMAT[] = "waker-set-1", HASH[] = "sha256 ";

const char *wk_theta_set_part_name(wk_theta_set_part part)
{
    return part == WK_THETA_SET_IN ? "in" : "out";
}

static bool is_name(const char *name)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
    size_t length = strlen(name);
    return length > 0 && length < WK_THETA_SET_NAME_MAX && strspn(name, allowed) == length;
}

// Memory for so many θ of each part.
static wk_status make_room(wk_theta_set *set, const int counts[WK_THETA_SET_PARTS], wk_error *err)
{
    size_t all = (size_t)counts[WK_THETA_SET_IN] + (size_t)counts[WK_THETA_SET_OUT];
    set->params = calloc(all * (size_t)set->n_params + 1, sizeof *set->params);
    if (!set->params) return wk_fail(err, WK_E_MEMORY, "no memory for %zu θ", all);
    const double *params = set->params;
    for (int p = 0; p < WK_THETA_SET_PARTS; p++) {
        snprintf(set->part_names[p], sizeof set->part_names[p], "%s/%s", set->name,
                 wk_theta_set_part_name((wk_theta_set_part)p));
        set->parts[p] = (wk_case){.name = set->part_names[p],
                                  .help = "",
                                  .count = counts[p],
                                  .params = params,
                                  .episodes = counts[p]};
        params += (size_t)counts[p] * (size_t)set->n_params;
    }
    return WK_OK;
}

/* ---- Drawing a new set ----------------------------------------------------------------------- */

// Draws values from the training ranges or up to half of their lengths beyond, until they are a
// world that training does not have.
static bool draw_beyond(const wk_domain *domain, const wk_space *space, wk_rng *rng, double *theta)
{
    enum { ATTEMPTS = 2000000 };
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        bool outside = false, between = false;
        for (int i = 0; i < domain->n_params; i++) {
            const wk_param *p = &domain->params[i];
            double reach = (p->max - p->min) / 2;
            double value = wk_rng_uniform(rng, p->min - reach, p->max + reach);
            if (!p->continuous && p->step > 0)
                value = p->min + p->step * round((value - p->min) / p->step);
            value = fmin(fmax(value, p->legal_min), p->legal_max);
            theta[i] = round(value * 1e6) / 1e6; // a few digits, the same wherever they are read
            outside |= theta[i] < p->min || theta[i] > p->max;
            between |= p->continuous;
        }
        if (wk_domain_check_params(domain, theta, (size_t)domain->n_params, NULL) == WK_OK &&
            (outside || (!between && wk_space_find(space, theta) == SIZE_MAX)))
            return true;
    }
    return false;
}

// θ out of distribution: case after case, the θ of each in turn, and between them θ from beyond the
// training ranges. The cases are the paper's out-of-distribution ones; without any, all there are.
static wk_status draw_outside(const wk_domain *domain, const wk_space *space, wk_theta_set *set,
                              wk_error *err)
{
    size_t n = (size_t)domain->n_params;
    const wk_case *part = &set->parts[WK_THETA_SET_OUT], *cases[WK_EVAL_CASES_MAX] = {NULL};
    double *theta = set->params + (part->params - set->params);
    int n_cases = 0, paper = 0;
    for (int i = 0; i < domain->n_cases; i++)
        paper += !domain->cases[i].extra;
    for (int i = 0; i < domain->n_cases && n_cases < WK_EVAL_CASES_MAX; i++)
        if (!domain->cases[i].extra || paper == 0) cases[n_cases++] = &domain->cases[i];
    for (int i = 0; i < part->count; i++, theta += n) {
        wk_rng rng = wk_rng_stream(set->seed, "set beyond", (uint64_t)i);
        const wk_case *c = n_cases > 0 ? cases[i / 2 % n_cases] : NULL;
        if (i % 2 == 0 && c)
            memcpy(theta, c->params + (size_t)(i / 2 / n_cases % c->count) * n, n * sizeof *theta);
        else if (!draw_beyond(domain, space, &rng, theta))
            return wk_fail(err, WK_E_INPUT, "domain '%s' has no worlds beyond its training ranges",
                           domain->name);
    }
    return WK_OK;
}

wk_status wk_theta_set_draw(const wk_domain *domain, const char *name, int count, uint64_t seed,
                            wk_theta_set *out, wk_error *err)
{
    if (!is_name(name))
        return wk_fail(err, WK_E_INPUT,
                       "'%s' is not a valid name of a set; use 1 to %d of a-z 0-9 -", name,
                       WK_THETA_SET_NAME_MAX - 1);
    *out = (wk_theta_set){.seed = seed, .n_params = domain->n_params};
    snprintf(out->name, sizeof out->name, "%s", name);
    snprintf(out->domain, sizeof out->domain, "%s", domain->name);
    WK_TRY(make_room(out, (const int[]){count, count}, err));
    wk_space *space = NULL;
    wk_status status = wk_space_create(domain, false, &space, err);
    for (int i = 0; i < count && status == WK_OK; i++)
        wk_space_sample(space, seed, (uint64_t)i, out->params + (size_t)i * (size_t)out->n_params);
    if (status == WK_OK) status = draw_outside(domain, space, out, err);
    wk_space_destroy(space);
    if (status != WK_OK) wk_theta_set_free(out);
    return status;
}

/* ---- The file -------------------------------------------------------------------------------- */

static void hash_bytes(const char *bytes, size_t size, char out[WK_SHA256_CHARS])
{
    wk_sha256 hash = wk_sha256_start();
    wk_sha256_add(&hash, bytes, size);
    wk_sha256_finish(&hash, out);
}

void wk_theta_set_print(const wk_theta_set *set, const wk_domain *domain, wk_text *out)
{
    size_t began = out->length;
    wk_text_printf(out, "%s\nname %s\ndomain %s\nseed %" PRIu64 "\nparams ", FORMAT, set->name,
                   set->domain, set->seed);
    for (int i = 0; i < set->n_params; i++)
        wk_text_printf(out, "%s%s", i ? "," : "", domain->params[i].name);
    for (int p = 0; p < WK_THETA_SET_PARTS; p++) {
        wk_text_printf(out, "\n%s %d", wk_theta_set_part_name((wk_theta_set_part)p),
                       set->parts[p].count);
        for (int i = 0; i < set->parts[p].count * set->n_params; i++) {
            wk_text_puts(out, i % set->n_params ? "," : "\n");
            wk_text_number(out, set->parts[p].params[i]);
        }
    }
    wk_text_puts(out, "\n");
    char sha256[WK_SHA256_CHARS] = "";
    if (!out->failed) hash_bytes(out->chars + began, out->length - began, sha256);
    wk_text_printf(out, "%s%s\n", HASH, sha256);
}

// A file line by line; lines end in the text that was copied for it.
typedef struct lines {
    const char *path;
    char *rest;
    int number;
} lines;

static wk_status fail_line(const lines *l, const char *what, wk_error *err)
{
    return wk_fail(err, WK_E_FORMAT, "'%s', line %d: %s", l->path, l->number, what);
}

static char *next_line(lines *l)
{
    l->number++;
    return l->rest ? strsep(&l->rest, "\n") : NULL;
}

// What follows "KEY " in the next line.
static wk_status read_value(lines *l, const char *key, char **out, wk_error *err)
{
    char what[64], *line = next_line(l);
    size_t length = strlen(key);
    snprintf(what, sizeof what, "expected '%s VALUE'", key);
    if (!line || strncmp(line, key, length) != 0 || line[length] != ' ')
        return fail_line(l, what, err);
    *out = line + length + 1;
    return WK_OK;
}

static wk_status read_head(lines *l, const wk_domain *domain, wk_theta_set *set, wk_error *err)
{
    char *format = next_line(l), *value;
    if (!format || strcmp(format, FORMAT) != 0)
        return fail_line(l, "this is not a set of environments (waker-set-1)", err);
    WK_TRY(read_value(l, "name", &value, err));
    if (!is_name(value)) return fail_line(l, "this is not a valid name of a set", err);
    snprintf(set->name, sizeof set->name, "%s", value);
    WK_TRY(read_value(l, "domain", &value, err));
    if (strcmp(value, domain->name) != 0)
        return wk_fail(err, WK_E_INPUT, "the set '%s' is for the domain '%.60s', the run for '%s'",
                       l->path, value, domain->name);
    snprintf(set->domain, sizeof set->domain, "%s", domain->name);
    WK_TRY(read_value(l, "seed", &value, err));
    if (!wk_text_to_unsigned(value, &set->seed)) return fail_line(l, "this is not a seed", err);
    WK_TRY(read_value(l, "params", &value, err));
    bool same = true;
    for (int i = 0; i < domain->n_params && same; i++) {
        const char *param = value ? strsep(&value, ",") : "";
        same = strcmp(param, domain->params[i].name) == 0;
    }
    return same && !value ? WK_OK : fail_line(l, "the domain has other parameters", err);
}

// The θ of both parts, one after the other, which make room for themselves in `all`.
static wk_status read_parts(lines *l, const wk_domain *domain, int counts[WK_THETA_SET_PARTS],
                            double **all, wk_error *err)
{
    size_t n = (size_t)domain->n_params, done = 0;
    for (int p = 0; p < WK_THETA_SET_PARTS; p++) {
        char *text;
        uint64_t count = 0;
        WK_TRY(read_value(l, wk_theta_set_part_name((wk_theta_set_part)p), &text, err));
        if (!wk_text_to_unsigned(text, &count) || count > WK_THETA_SET_COUNT_MAX)
            return fail_line(l, "this is not a number of environments", err);
        counts[p] = (int)count;
        double *more = realloc(*all, ((done + count) * n + 1) * sizeof *more);
        if (!more) return wk_fail(err, WK_E_MEMORY, "no memory for a set");
        *all = more;
        for (uint64_t i = 0; i < count; i++) {
            double *theta = *all + n * done++;
            char *rest = next_line(l);
            for (size_t k = 0; k < n; k++) {
                const char *number = rest ? strsep(&rest, ",") : "";
                if (!wk_text_to_number(number, &theta[k]))
                    return fail_line(l, "this is not a θ", err);
            }
            if (rest) return fail_line(l, "a θ with too many numbers", err);
            wk_status status = wk_domain_check_params(domain, theta, n, err);
            if (status != WK_OK && err) wk_fail_context(err, "'%s', line %d", l->path, l->number);
            WK_TRY(status);
        }
    }
    return done > 0 ? WK_OK : fail_line(l, "the set is empty", err);
}

// Reads a text whose last line must have the hash of all before it.
static wk_status parse(const char *path, const char *bytes, size_t size, const wk_domain *domain,
                       wk_theta_set *out, wk_error *err)
{
    enum { DIGITS = WK_SHA256_CHARS - 1 };
    size_t line = strlen(HASH) + DIGITS + 1;
    char sha256[WK_SHA256_CHARS];
    *out = (wk_theta_set){.n_params = domain->n_params};
    if (size < line || bytes[size - 1] != '\n' ||
        strncmp(bytes + size - line, HASH, strlen(HASH)) != 0)
        return wk_fail(err, WK_E_FORMAT,
                       "'%s' does not end with its SHA-256: it is not a set of environments, or it "
                       "was truncated",
                       path);
    hash_bytes(bytes, size - line, sha256);
    if (strncmp(bytes + size - 1 - DIGITS, sha256, DIGITS) != 0)
        return wk_fail(err, WK_E_FORMAT,
                       "'%s' was changed: its SHA-256 is not the one it ends with. A set is "
                       "frozen; create another with 'waker envs set'",
                       path);
    char *copy = malloc(size + 1);
    if (!copy) return wk_fail(err, WK_E_MEMORY, "no memory for '%s'", path);
    memcpy(copy, bytes, size);
    copy[size] = 0;
    lines l = {path, copy, 0};
    int counts[WK_THETA_SET_PARTS];
    double *all = NULL;
    wk_status status = read_head(&l, domain, out, err);
    if (status == WK_OK) status = read_parts(&l, domain, counts, &all, err);
    if (status == WK_OK) status = make_room(out, counts, err);
    if (status == WK_OK) {
        size_t numbers = (size_t)(counts[0] + counts[1]) * (size_t)domain->n_params;
        memcpy(out->params, all, numbers * sizeof *all);
        hash_bytes(bytes, size, out->sha256);
    } else {
        wk_theta_set_free(out);
    }
    free(all);
    free(copy);
    return status;
}

wk_status wk_theta_set_open(const char *name, const wk_domain *domain, wk_theta_set *out,
                            wk_error *err)
{
    // Those of the program are assets, NAME.DOMAIN.set.
    char ending[96], known[256] = "", *bytes;
    size_t size, used = 0;
    bool there;
    snprintf(ending, sizeof ending, ".%.64s.set", domain->name);
    for (const wk_asset *a = wk_assets; a->name; a++) {
        const char *dot = strchr(a->name, '.');
        if (!dot || strcmp(dot, ending) != 0) continue;
        size_t length = (size_t)(dot - a->name);
        if (strlen(name) == length && strncmp(name, a->name, length) == 0)
            return parse(a->name, a->content, a->size, domain, out, err);
        if (used < 200)
            used += (size_t)snprintf(known + used, sizeof known - used, "%s%.*s", used ? ", " : "",
                                     (int)length, a->name);
    }
    WK_TRY(wk_file_exists_in(NULL, name, &there, err));
    if (!there)
        return wk_fail(err, WK_E_NOT_FOUND,
                       "there is no set '%s' of domain '%s' and no file of that name; %s%s", name,
                       domain->name, *known ? "there is " : "create one with 'waker envs set'",
                       known);
    WK_TRY(wk_file_read(name, (size_t)1 << 27, &bytes, &size, err));
    wk_status status = parse(name, bytes, size, domain, out, err);
    free(bytes);
    return status;
}

void wk_theta_set_free(wk_theta_set *set)
{
    free(set->params);
    *set = (wk_theta_set){0};
}

int wk_theta_set_cases(const wk_theta_set *set, wk_eval_case cases[WK_THETA_SET_PARTS])
{
    int count = 0;
    for (int p = 0; p < WK_THETA_SET_PARTS; p++)
        if (set->parts[p].count > 0)
            cases[count++] =
                (wk_eval_case){set->parts[p].name, &set->parts[p], set->parts[p].episodes};
    return count;
}
