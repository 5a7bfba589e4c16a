// The paper's tables (assets/paper/results.csv, compiled in) and the order of its names.
#include "report/results.h"

#include "base/file.h"
#include <stdlib.h>
#include <string.h>

const char *wk_field_name(wk_field field)
{
    static const char *const names[WK_FIELDS] = {"metric", "domain",      "case",
                                                 "task",   "exploration", "curriculum"};
    return names[field];
}

size_t wk_paper_name_index(const wk_paper *paper, wk_field field, const char *name)
{
    size_t i = 0;
    while (i < paper->names[field].count && strcmp(paper->names[field].items[i], name) != 0)
        i++;
    return i;
}

static void insert_name(wk_paper *paper, wk_field field, size_t place, const char *name)
{
    size_t count = paper->names[field].count;
    wk_report_push(paper->memory, &paper->names[field], name);
    if (paper->names[field].count == count) return;
    const char **names = paper->names[field].items;
    memmove(names + place + 1, names + place, (count - place) * sizeof *names);
    names[place] = name;
}

void wk_paper_add_name(wk_paper *paper, wk_field field, const char *base, const char *name)
{
    size_t place = wk_paper_name_index(paper, field, base);
    if (wk_paper_name_index(paper, field, name) < paper->names[field].count) return;
    if (place == paper->names[field].count)
        wk_report_push(paper->memory, &paper->names[field], base);
    if (strcmp(base, name) == 0 || place >= paper->names[field].count) return;
    // Names that only add to the base stand in the order of what they add.
    size_t length = strlen(base);
    const char *const *names = (const char *const *)paper->names[field].items;
    for (place++; place < paper->names[field].count; place++)
        if (strncmp(names[place], base, length) != 0 || strverscmp(names[place], name) > 0) break;
    insert_name(paper, field, place, name);
}

void wk_paper_read(wk_report_memory *memory, wk_paper *out)
{
    const wk_asset *asset = wk_asset_find("results.csv");
    *out = (wk_paper){.memory = memory};
    char *text = wk_report_printf(memory, "%s", (const char *)asset->content);
    (void)strsep(&text, "\n"); // the heading
    for (char *line; (line = strsep(&text, "\n")) && *line;) {
        wk_paper_row row;
        for (int f = 0; f < WK_FIELDS; f++) {
            row.key.names[f] = strsep(&line, ",");
            wk_paper_add_name(out, (wk_field)f, row.key.names[f], row.key.names[f]);
        }
        row.mean = strtod(strsep(&line, ","), NULL);
        row.sd = strtod(line, NULL);
        wk_report_push(memory, &out->rows, row);
    }
    // Model errors are of policies: those of tasks, and random actions before them.
    insert_name(out, WK_FIELD_TASK, 0, "random");
}

const wk_paper_row *wk_paper_find(const wk_paper *paper, const wk_result_key *key)
{
    for (size_t i = 0; i < paper->rows.count; i++) {
        int f = 0;
        while (f < WK_FIELDS && strcmp(paper->rows.items[i].key.names[f], key->names[f]) == 0)
            f++;
        if (f == WK_FIELDS) return &paper->rows.items[i];
    }
    return NULL;
}

int wk_paper_order(const wk_paper *paper, wk_field field, const char *a, const char *b)
{
    if (strcmp(a, b) == 0) return 0;
    size_t x = wk_paper_name_index(paper, field, a), y = wk_paper_name_index(paper, field, b);
    return x != y ? (x > y) - (x < y) : strcmp(a, b);
}

int wk_paper_compare_curricula(const void *a, const void *b, void *paper)
{
    return wk_paper_order(paper, WK_FIELD_CURRICULUM, *(const char *const *)a,
                          *(const char *const *)b);
}

int wk_paper_order_keys(const wk_paper *paper, const wk_result_key *a, const wk_result_key *b,
                        const wk_field *fields, int count)
{
    int order = 0;
    for (int i = 0; i < count && order == 0; i++)
        order = wk_paper_order(paper, fields[i], a->names[fields[i]], b->names[fields[i]]);
    return order;
}
