#include "report/images.h"

#include "base/file.h"
#include "report/sheet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Adds an image with a copy of its bytes. Names of methods that are cut may agree: then it gets a
// number.
static void add(wk_runs *runs, wk_report_images *out, wk_report_image entry, const uint8_t *png)
{
    const char *name = entry.name;
    for (size_t i = 0, number = 2; i < out->items.count && !runs->memory.failed; i++)
        if (strcmp(out->items.items[i].name, entry.name) == 0) {
            entry.name = wk_report_printf(&runs->memory, "%s-%zu", name, number++);
            i = (size_t)-1; // the new name may be taken, too
        }
    uint8_t *copy = wk_report_alloc(&runs->memory, entry.size, 1);
    if (!copy) return;
    memcpy(copy, png, entry.size);
    entry.png = copy;
    wk_report_push(&runs->memory, &out->items, entry);
}

static wk_status draw_sheet(wk_runs *runs, const wk_domain *domain, wk_report_images *out,
                            wk_error *err)
{
    enum { CELL = 96 };
    wk_image image = {0};
    uint8_t *png = NULL;
    int cells;
    WK_TRY(wk_contact_sheet_draw(domain, NULL, 0, WK_SHEET_STEPS, CELL, &image, &cells, err));
    wk_report_image entry = {
        .kind = WK_REPORT_IMAGE_ENVIRONMENTS,
        .name = wk_report_printf(&runs->memory, "environments-%s", domain->name),
        .caption = wk_report_printf(&runs->memory,
                                    "%s: %d environments after %d random agent steps; below, "
                                    "those outside the training distribution.",
                                    domain->name, cells, WK_SHEET_STEPS),
        .width = (uint32_t)image.width,
        .height = (uint32_t)image.height};
    wk_status status = wk_png_encode(&image, &png, &entry.size, err);
    wk_image_free(&image);
    if (status == WK_OK) add(runs, out, entry, png);
    free(png);
    return status;
}

static bool domain_is_new(const wk_runs *runs, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (strcmp(runs->items.items[k]->domain, runs->items.items[i]->domain) == 0) return false;
    return true;
}

// Domains of plug-ins have no image: reading runs loads no code.
static wk_status draw_sheets(wk_runs *runs, wk_report_images *out, wk_sentences *missing,
                             wk_error *err)
{
    int64_t domains = 0;
    for (size_t i = 0; i < runs->items.count; i++)
        domains += domain_is_new(runs, i);
    wk_progress_next(runs->progress, "images", domains);
    for (size_t i = 0; i < runs->items.count; i++) {
        const wk_domain *domain;
        wk_error problem = {0};
        if (!domain_is_new(runs, i) ||
            wk_domain_find(runs->items.items[i]->domain, &domain, NULL) != WK_OK ||
            domain->n_params == 0)
            continue;
        wk_status status = draw_sheet(runs, domain, out, &problem);
        wk_progress_count(runs->progress, 0);
        if (status == WK_E_MEMORY) return wk_fail(err, status, "%s", problem.message);
        if (status != WK_OK)
            wk_sentences_add(&runs->memory, missing, "%s: no image of its environments: %s",
                             domain->name, problem.message);
    }
    return WK_OK;
}

static uint32_t big_endian(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

// Reads the size from the header; browsers check the rest.
static bool read_png_size(const uint8_t *png, wk_report_image *entry)
{
    enum { SIDE_MAX = 20000 };
    static const uint8_t signature[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    if (entry->size < 24 || memcmp(png, signature, sizeof signature) != 0) return false;
    entry->width = big_endian(png + 16);
    entry->height = big_endian(png + 20);
    return entry->width > 0 && entry->width < SIDE_MAX && entry->height > 0 &&
           entry->height < SIDE_MAX;
}

// The last name of the folder that is an open-loop strip: the largest step. "" for none.
static wk_status find_strip(const char *folder, char name[256], wk_error *err)
{
    static const char prefix[] = "openloop-";
    wk_dir *directory = NULL;
    wk_names names = {0};
    *name = 0;
    wk_status status = wk_dir_open(NULL, folder, &directory, err);
    if (status == WK_OK) status = wk_dir_list(directory, &names, err);
    for (size_t i = 0; i < names.count && status == WK_OK; i++)
        if (strlen(names.items[i]) < 256 && wk_name_ends_in(names.items[i], ".png") &&
            strncmp(names.items[i], prefix, sizeof prefix - 1) == 0)
            snprintf(name, 256, "%s", names.items[i]);
    wk_names_free(&names);
    wk_dir_close(directory);
    return status;
}

static wk_status take_strip(wk_runs *runs, const wk_report_run *run, bool *found,
                            wk_report_images *out, wk_sentences *missing, wk_error *err)
{
    static const size_t size_limit = (size_t)8 << 20;
    char folder[WK_PATH_MAX], path[WK_PATH_MAX], file[256], *bytes = NULL;
    wk_error problem = {0};
    wk_report_image entry = {.kind = WK_REPORT_IMAGE_IMAGINED};
    WK_TRY(wk_path_print(folder, err, "%s/eval", run->directory));
    wk_status status = find_strip(folder, file, &problem);
    if (status == WK_E_NOT_FOUND || (status == WK_OK && !*file)) return WK_OK;
    if (status == WK_OK) WK_TRY(wk_path_join(folder, file, path, err));
    if (status == WK_OK) status = wk_file_read(path, size_limit, &bytes, &entry.size, &problem);
    if (status != WK_OK) {
        wk_sentences_add(&runs->memory, &runs->problems, "%s", problem.message);
        return WK_OK;
    }
    *found = read_png_size((uint8_t *)bytes, &entry);
    if (*found) {
        char *name = wk_report_printf(&runs->memory, "imagined-%.60s-%.60s-%.100s", run->domain,
                                      run->exploration, run->method);
        for (char *c = name; *c; c++)
            if (strchr("/ ,", *c)) *c = '-';
        entry.name = name;
        entry.caption = wk_report_printf(&runs->memory, "%.60s, %.60s, %.200s, seed %llu (%.300s).",
                                         run->domain, run->exploration, run->method,
                                         (unsigned long long)run->seed, file);
        add(runs, out, entry, (uint8_t *)bytes);
    } else {
        wk_sentences_add(&runs->memory, missing, "'%s' is not a PNG image", path);
    }
    free(bytes);
    return WK_OK;
}

wk_status wk_report_images_make(wk_runs *runs, wk_report_images *out, wk_sentences *missing,
                                wk_error *err)
{
    wk_report_run *const *items = runs->items.items;
    bool found = false;
    WK_TRY(draw_sheets(runs, out, missing, err));
    for (size_t i = 0; i < runs->items.count; i++) { // sorted by method
        if (i == 0 || !wk_runs_same_group(items[i], items[i - 1]) ||
            strcmp(items[i]->method, items[i - 1]->method) != 0)
            found = false;
        if (!found) WK_TRY(take_strip(runs, items[i], &found, out, missing, err));
    }
    return wk_report_memory_check(&runs->memory, err);
}
