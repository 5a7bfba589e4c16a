#include "sweep/slurm_store.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

wk_status wk_slurm_read(const wk_slurm_system *system, const char *name, bool *there, wk_text *out,
                        wk_error *err)
{
    wk_status status = system->read(system->context, name, out, err);
    *there = status == WK_OK;
    if (status == WK_E_NOT_FOUND) return WK_OK;
    if (status == WK_OK && out->failed)
        return wk_fail(err, WK_E_MEMORY, "no memory for '%s'", name);
    return status;
}

static bool is_id(const char *text, size_t length)
{
    return length > 0 && length < WK_SLURM_ID_MAX && strspn(text, "0123456789abcdef") == length;
}

wk_status wk_slurm_id(const wk_slurm_system *system, char out[WK_SLURM_ID_MAX], wk_error *err)
{
    wk_text text = {0};
    bool there;
    wk_status status = wk_slurm_read(system, "id", &there, &text, err);
    size_t length = strcspn(wk_text_get(&text), "\n");
    if (status == WK_OK && there && !is_id(wk_text_get(&text), length))
        status = wk_fail(err, WK_E_FORMAT,
                         "'%s/sweep/slurm/id' is damaged: jobs of this sweep cannot be found by "
                         "it; cancel them with scancel and delete '%s/sweep/slurm'",
                         system->directory, system->directory);
    snprintf(out, WK_SLURM_ID_MAX, "%.*s", status == WK_OK ? (int)length : 0, wk_text_get(&text));
    wk_text_free(&text);
    return status;
}

wk_status wk_slurm_id_make(const wk_slurm_system *system, char out[WK_SLURM_ID_MAX], wk_error *err)
{
    uint64_t random;
    WK_TRY(wk_slurm_id(system, out, err));
    if (*out) return WK_OK;
    if (getrandom(&random, sizeof random, 0) != sizeof random)
        return wk_fail(err, WK_E_IO, "no random number for the names of the jobs");
    snprintf(out, WK_SLURM_ID_MAX, "%08" PRIx64, random & 0xffffffff);
    return system->write(system->context, "id", out, err);
}

// N of "N.tasks", or 0.
static int submission_of(const char *name)
{
    size_t digits = strspn(name, "0123456789");
    if (digits == 0 || digits > 9 || strcmp(name + digits, ".tasks") != 0) return 0;
    return (int)strtol(name, NULL, 10);
}

wk_status wk_slurm_newest(const wk_slurm_system *system, int *out, wk_error *err)
{
    wk_names names = {0};
    wk_status status = system->list(system->context, &names, err);
    *out = 0;
    for (size_t i = 0; status == WK_OK && i < names.count; i++) {
        int number = submission_of(names.items[i]);
        if (number > *out) *out = number;
    }
    wk_names_free(&names);
    return status;
}

wk_status wk_slurm_task_of(const wk_slurm_system *system, wk_slurm_cache *cache, int submission,
                           int index, int *task, wk_error *err)
{
    char name[WK_SLURM_NAME_MAX];
    bool there;
    *task = -1;
    if (cache->submission != submission) {
        wk_text_free(&cache->text);
        cache->submission = submission;
        snprintf(name, sizeof name, "%d.tasks", submission);
        WK_TRY(wk_slurm_read(system, name, &there, &cache->text, err));
    }
    const char *line = wk_text_get(&cache->text);
    for (; index > 0 && *line; index--)
        line += strcspn(line, "\n") + (line[strcspn(line, "\n")] == '\n');
    snprintf(name, sizeof name, "%.*s", (int)strcspn(line, "\n"), line);
    if (index == 0 && *name) *task = wk_sweep_plan_find(system->plan, name);
    return WK_OK;
}

typedef struct option {
    const char *key;
    size_t offset;
    bool is_text;
} option;

static const option options_table[] = {
    {"partition", offsetof(wk_slurm_options, partition), true},
    {"time", offsetof(wk_slurm_options, time), true},
    {"account", offsetof(wk_slurm_options, account), true},
    {"mail", offsetof(wk_slurm_options, mail), true},
    {"memory", offsetof(wk_slurm_options, memory), true},
    {"gpus", offsetof(wk_slurm_options, gpus), false},
    {"cpus", offsetof(wk_slurm_options, cpus), false},
    {"parallel", offsetof(wk_slurm_options, parallel), false},
    {"restarts", offsetof(wk_slurm_options, restarts), false},
    {"signal", offsetof(wk_slurm_options, signal_seconds), false},
};
enum { N_OPTIONS = sizeof options_table / sizeof *options_table };

static const char **text_of(const wk_slurm_options *options, const option *o)
{
    return (const char **)((char *)(uintptr_t)options + o->offset);
}

static int *number_of(const wk_slurm_options *options, const option *o)
{
    return (int *)(void *)((char *)(uintptr_t)options + o->offset);
}

void wk_slurm_options_print(const wk_slurm_options *options, wk_text *out)
{
    for (int i = 0; i < N_OPTIONS; i++) {
        const option *o = &options_table[i];
        if (o->is_text && *text_of(options, o))
            wk_text_printf(out, "%s %s\n", o->key, *text_of(options, o));
        if (!o->is_text) wk_text_printf(out, "%s %d\n", o->key, *number_of(options, o));
    }
    for (int i = 0; i < options->n_lines; i++)
        wk_text_printf(out, "line %s\n", options->lines[i]);
}

static bool parse_line(char *key, char *value, wk_slurm_options *out)
{
    if (strcmp(key, "line") == 0) {
        if (out->n_lines == WK_SLURM_LINES_MAX) return false;
        out->lines[out->n_lines++] = value;
        return true;
    }
    for (int i = 0; i < N_OPTIONS; i++) {
        const option *o = &options_table[i];
        double number;
        if (strcmp(key, o->key) != 0) continue;
        if (o->is_text)
            *text_of(out, o) = value;
        else if (wk_text_to_integer(value, &number) && number >= 0 && number <= 1e9)
            *number_of(out, o) = (int)number;
        else
            return false;
        return true;
    }
    return false;
}

wk_slurm_options wk_slurm_options_default(void)
{
    return (wk_slurm_options){.gpus = 1};
}

wk_status wk_slurm_options_parse(wk_text *text, wk_slurm_options *out, wk_error *err)
{
    *out = wk_slurm_options_default();
    for (char *line = text->chars, *next; line && *line; line = next) {
        size_t length = strcspn(line, "\n");
        next = line + length + (line[length] == '\n');
        line[length] = 0;
        char *blank = strchr(line, ' ');
        if (blank) *blank = 0;
        if (!blank || !parse_line(line, blank + 1, out))
            return wk_fail(
                err, WK_E_FORMAT,
                "'%.100s' in sweep/slurm/options is not an option; give the options again", line);
    }
    return wk_slurm_options_check(out, err);
}

static wk_status check_text(const char *what, const char *text, bool blanks, wk_error *err)
{
    if (!text) return WK_OK;
    for (const char *c = text; *c; c++)
        if (iscntrl((unsigned char)*c) || (!blanks && *c == ' '))
            return wk_fail(err, WK_E_INPUT, "--%s contains a blank or a control character", what);
    if (!*text || strlen(text) > 1000)
        return wk_fail(err, WK_E_INPUT, "--%s is %s", what, *text ? "too long" : "empty");
    return WK_OK;
}

// Options that a line may not have: files and programs, and what the scripts set themselves. Lines
// are remembered in the sweep's directory, which may come from anywhere. Slurm takes beginnings of
// long names for them.
static bool is_refused(const char *word, size_t length)
{
    static const char *const names[] = {
        "output",      "error",     "input",        "open-mode",  "chdir", "wrap",
        "export-file", "nodefile",  "bb",           "bbf",        "bcast", "array",
        "job-name",    "container", "get-user-env", "dependency", "uid"};
    if (length < 2 || word[1] != '-') return length < 2 || strchr("oeiDFaJd", word[1]);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (length < 4 || strncmp(names[i], word + 2, length - 2) == 0) return true;
    return false;
}

static wk_status check_line(const char *line, wk_error *err)
{
    for (const char *at = line; *at; at += strcspn(at, " ")) {
        at += strspn(at, " \"'");
        size_t length = strcspn(at, "= \"'");
        if (strchr(at, '\\') || (*at == '-' && is_refused(at, length)))
            return wk_fail(
                err, WK_E_INPUT,
                "--sbatch '%.*s': the sweep itself sets the files, programs and names of its jobs",
                (int)length, at);
    }
    return WK_OK;
}

wk_status wk_slurm_options_check(const wk_slurm_options *options, wk_error *err)
{
    for (int i = 0; i < N_OPTIONS; i++)
        if (options_table[i].is_text)
            WK_TRY(
                check_text(options_table[i].key, *text_of(options, &options_table[i]), false, err));
    for (int i = 0; i < options->n_lines; i++) {
        WK_TRY(check_text("sbatch", options->lines[i], true, err));
        if (options->lines[i][0] != '-')
            return wk_fail(err, WK_E_INPUT,
                           "--sbatch '%s' is not an option of sbatch: options begin with a dash",
                           options->lines[i]);
        WK_TRY(check_line(options->lines[i], err));
    }
    return WK_OK;
}

wk_status wk_slurm_call(const wk_slurm_system *system, const char *const *words, wk_text *output,
                        wk_error *err)
{
    int code = 0;
    size_t before = output->length;
    WK_TRY(system->call(system->context, words, output, &code, err));
    if (output->failed)
        return wk_fail(err, WK_E_MEMORY, "no memory for the output of %s", words[0]);
    if (code == 0) return WK_OK;
    const char *said = wk_text_get(output) + before;
    return wk_fail(err, WK_E_IO, "%s failed with exit code %d: %.*s", words[0], code,
                   (int)strcspn(said, "\n"), said);
}

// What the names of files say of a node.
typedef struct node_record {
    const char *name;
    size_t length;
    int failures;
} node_record;

// "ok.NODE" or "failed.NODE.REST"; NODE may have points itself, REST has none.
static bool parse_node(const char *file, node_record *out)
{
    static const char failed[] = "failed.", ok[] = "ok.";
    bool fails = strncmp(file, failed, sizeof failed - 1) == 0;
    if (!fails && strncmp(file, ok, sizeof ok - 1) != 0) return false;
    const char *name = file + (fails ? sizeof failed : sizeof ok) - 1;
    const char *end = fails ? strrchr(name, '.') : name + strlen(name);
    if (!end || end == name) return false;
    *out = (node_record){name, (size_t)(end - name), fails};
    return true;
}

static bool same_node(const node_record *a, const char *name, size_t length)
{
    return a->length == length && memcmp(a->name, name, length) == 0;
}

typedef WK_ARRAY(node_record) node_records;

static bool add_record(node_records *all, const node_record *now)
{
    for (size_t i = 0; i < all->count; i++)
        if (same_node(&all->items[i], now->name, now->length)) {
            all->items[i].failures += now->failures;
            return true;
        }
    return wk_array_push(all, *now);
}

// Nodes are to blame where most others do well; else it is a disk, or the program.
static void put_excluded(const node_records *all, wk_text *out)
{
    size_t excluded = 0;
    for (size_t i = 0; i < all->count; i++)
        excluded += all->items[i].failures >= WK_SLURM_NODE_FAILURES;
    if (excluded * 2 > all->count) return;
    for (size_t i = 0; i < all->count; i++)
        if (all->items[i].failures >= WK_SLURM_NODE_FAILURES)
            wk_text_printf(out, "%s%.*s", out->length ? "," : "", (int)all->items[i].length,
                           all->items[i].name);
}

wk_status wk_slurm_excluded(const wk_slurm_system *system, wk_text *out, wk_error *err)
{
    wk_names names = {0};
    node_records all = {0};
    node_record now;
    wk_status status = system->list(system->context, &names, err);
    for (size_t i = 0; status == WK_OK && i < names.count; i++)
        if (parse_node(names.items[i], &now) && !add_record(&all, &now))
            status = wk_fail(err, WK_E_MEMORY, "no memory for the names of nodes");
    if (status == WK_OK) put_excluded(&all, out);
    wk_array_free(&all);
    wk_names_free(&names);
    return status;
}

wk_status wk_slurm_clear_failures(const wk_slurm_system *system, const char *node, wk_error *err)
{
    wk_names names = {0};
    node_record now;
    wk_status status = system->list(system->context, &names, err);
    for (size_t i = 0; status == WK_OK && i < names.count; i++)
        if (parse_node(names.items[i], &now) && now.failures > 0 &&
            same_node(&now, node, strlen(node)))
            status = system->remove(system->context, names.items[i], err);
    wk_names_free(&names);
    return status;
}

bool wk_slurm_is_excluded(const char *list, const char *node)
{
    size_t length = strlen(node);
    for (; *list; list += strcspn(list, ",") + (list[strcspn(list, ",")] == ','))
        if (length > 0 && strncmp(list, node, length) == 0 && strchr(",", list[length]))
            return true;
    return false;
}
