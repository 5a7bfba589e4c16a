#include "report/data/paper.h"

#include "base/asset.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

const char *wk_field_name(wk_field field)
{
    static const char *const names[WK_FIELDS] = {"metric", "domain",      "case",
                                                 "task",   "exploration", "curriculum"};
    return names[field];
}

// Cuts the next field off a line that ends in a zero byte.
static char *cut(char **line)
{
    char *field = *line, *end = field + strcspn(field, ",");
    *line = *end ? end + 1 : end;
    *end = 0;
    return field;
}

static wk_paper_row read_row(char *line)
{
    wk_paper_row row = {0};
    for (int i = 0; i < WK_FIELDS; i++)
        row.key.names[i] = cut(&line);
    row.mean = strtod(cut(&line), NULL);
    row.sd = strtod(cut(&line), NULL);
    return row;
}

size_t wk_paper_name_index(const wk_paper *paper, wk_field field, const char *name)
{
    size_t i = 0;
    while (i < paper->names[field].count && strcmp(paper->names[field].items[i], name) != 0)
        i++;
    return i;
}

static bool add_row(wk_paper *paper, wk_paper_row row)
{
    for (int f = 0; f < WK_FIELDS; f++) {
        const char *name = row.key.names[f];
        bool known = wk_paper_name_index(paper, (wk_field)f, name) < paper->names[f].count;
        if (!known && !wk_array_push(&paper->names[f], name)) return false;
    }
    return wk_array_push(&paper->rows, row);
}

wk_status wk_paper_read(wk_paper *out, wk_error *err)
{
    const wk_asset *asset = wk_asset_find("results.csv");
    *out = (wk_paper){.text = malloc(asset->size + 1)};
    bool all = out->text != NULL, heading = true;
    if (all) memcpy(out->text, asset->content, asset->size + 1);
    for (char *line = out->text; all && *line;) {
        char *end = line + strcspn(line, "\r\n"), *next = end + strspn(end, "\r\n");
        *end = 0;
        if (!heading) all = add_row(out, read_row(line));
        heading = false;
        line = next;
    }
    return all ? WK_OK : wk_fail(err, WK_E_MEMORY, "no memory for the paper's tables");
}

void wk_paper_free(wk_paper *paper)
{
    wk_array_free(&paper->rows);
    for (int f = 0; f < WK_FIELDS; f++)
        wk_array_free(&paper->names[f]);
    free(paper->text);
    *paper = (wk_paper){0};
}

static bool same_key(const wk_result_key *a, const wk_result_key *b)
{
    for (int i = 0; i < WK_FIELDS; i++)
        if (strcmp(a->names[i], b->names[i]) != 0) return false;
    return true;
}

const wk_paper_row *wk_paper_find(const wk_paper *paper, const wk_result_key *key)
{
    for (size_t i = 0; i < paper->rows.count; i++)
        if (same_key(&paper->rows.items[i].key, key)) return &paper->rows.items[i];
    return NULL;
}

static bool insert_name(wk_paper *paper, wk_field field, size_t place, const char *name)
{
    if (!wk_array_push(&paper->names[field], name)) return false;
    const char **names = paper->names[field].items;
    memmove(names + place + 1, names + place,
            (paper->names[field].count - 1 - place) * sizeof *names);
    names[place] = name;
    return true;
}

bool wk_paper_add_name(wk_paper *paper, wk_field field, const char *base, const char *name)
{
    size_t place = wk_paper_name_index(paper, field, base);
    if (wk_paper_name_index(paper, field, name) < paper->names[field].count) return true;
    if (place == paper->names[field].count && !wk_array_push(&paper->names[field], base))
        return false;
    if (strcmp(base, name) == 0) return true;
    // Names that only add to the base stand in the order of what they add.
    size_t length = strlen(base);
    const char *const *names = (const char *const *)paper->names[field].items;
    for (place++; place < paper->names[field].count; place++)
        if (strncmp(names[place], base, length) != 0 || strverscmp(names[place], name) > 0) break;
    return insert_name(paper, field, place, name);
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
                        int fields)
{
    int order = 0;
    for (int i = 0; i < fields && order == 0; i++)
        order = wk_paper_order(paper, (wk_field)i, a->names[i], b->names[i]);
    return order;
}
