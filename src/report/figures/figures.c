#include "report/figures/figures.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void wk_report_figures_free(wk_report_figures *figures)
{
    for (size_t i = 0; i < figures->items.count; i++) {
        wk_report_figure *e = &figures->items.items[i];
        free(e->name);
        free(e->caption);
        wk_figure_destroy(e->figure);
    }
    wk_array_free(&figures->items);
}

// File systems take 255 bytes; the ending and a number go after these.
enum { NAME_CHARS = 200 };

static bool is_taken(const wk_report_figures *figures, const char *name)
{
    for (size_t i = 0; i < figures->items.count; i++)
        if (strcmp(figures->items.items[i].name, name) == 0) return true;
    return false;
}

// A name that is fit for a file and that no other figure has; NULL without memory.
static char *file_name(const wk_report_figures *figures, const char *name)
{
    static const char fit[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
    char *out = malloc(NAME_CHARS + 16);
    size_t length = strnlen(name, NAME_CHARS);
    for (size_t i = 0; out && i <= length; i++)
        out[i] = i == length ? 0 : strchr(fit, name[i]) ? name[i] : '-';
    for (unsigned n = 2; out && is_taken(figures, out); n++)
        snprintf(out + length, 16, "-%u", n);
    return out;
}

wk_status wk_report_figures_add(wk_report_figures *figures, wk_figure_section section,
                                wk_figure *figure, const char *name, const char *caption,
                                wk_error *err)
{
    wk_report_figure e = {section, file_name(figures, name), strdup(caption), figure};
    if (e.name && e.caption && wk_array_push(&figures->items, e)) return WK_OK;
    free(e.name);
    free(e.caption);
    wk_figure_destroy(figure);
    return wk_fail(err, WK_E_MEMORY, "no memory for the figure '%s'", name);
}

int wk_curriculum_style(const wk_paper *paper, const char *curriculum)
{
    return (int)wk_paper_name_index(paper, WK_FIELD_CURRICULUM, curriculum);
}
