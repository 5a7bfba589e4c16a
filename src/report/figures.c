#include "report/figures.h"

#include <stdlib.h>
#include <string.h>

void wk_report_figures_free(wk_report_figures *gallery)
{
    for (size_t i = 0; i < gallery->items.count; i++) {
        wk_report_figure *e = &gallery->items.items[i];
        free(e->name);
        free(e->caption);
        wk_figure_destroy(e->figure);
    }
    wk_array_free(&gallery->items);
}

static void make_file_name(char *name)
{
    static const char fit[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
    for (; *name; name++)
        if (!strchr(fit, *name)) *name = '-';
}

wk_status wk_report_figures_add(wk_report_figures *gallery, wk_figure_section part,
                                wk_figure *figure, const char *name, const char *caption,
                                wk_error *err)
{
    wk_report_figure e = {part, strdup(name), strdup(caption), figure};
    if (e.name && e.caption && wk_array_push(&gallery->items, e)) {
        make_file_name(e.name);
        return WK_OK;
    }
    free(e.name);
    free(e.caption);
    wk_figure_destroy(figure);
    return wk_fail(err, WK_E_MEMORY, "no memory for the figure '%s'", name);
}

int wk_curriculum_style(const wk_paper *paper, const char *curriculum)
{
    size_t place = 0;
    while (place < paper->names[WK_FIELD_CURRICULUM].count &&
           strcmp(paper->names[WK_FIELD_CURRICULUM].items[place], curriculum) != 0)
        place++;
    // Rules of users share the styles behind those of the paper.
    if (place == paper->names[WK_FIELD_CURRICULUM].count)
        for (; *curriculum; curriculum++)
            place += (unsigned char)*curriculum % 2;
    return (int)place;
}
