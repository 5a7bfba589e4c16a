#include "report/images.h"

#include "base/dir.h"
#include "base/file.h"
#include "report/contact_sheet.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CELL = 96, SIDE_MAX = 20000 };
static const size_t PNG_LIMIT = (size_t)8 << 20;

static void free_image(wk_report_image *p)
{
    free(p->name);
    free(p->caption);
    free(p->png);
}

void wk_report_images_free(wk_report_images *images)
{
    for (size_t i = 0; i < images->items.count; i++)
        free_image(&images->items.items[i]);
    wk_array_free(&images->items);
}

// Makes the name of a file one that no other image has: names of methods that are cut may agree.
static void make_unique(const wk_report_images *images, char *name, size_t size)
{
    size_t length = strlen(name);
    unsigned number = 1;
    for (size_t i = 0; i < images->items.count; i++) {
        if (strcmp(images->items.items[i].name, name) != 0) continue;
        snprintf(name + length, size - length, "-%u", ++number);
        i = (size_t)-1; // the new name may be taken, too
    }
}

// Takes the bytes over, also on failure.
static wk_status add(wk_report_images *out, wk_report_image entry, const char *name,
                     const char *caption, wk_error *err)
{
    wk_report_image *place =
        wk_array_reserve(&out->items, 1) ? out->items.items + out->items.count : &entry;
    *place = entry;
    place->name = strdup(name);
    place->caption = strdup(caption);
    if (place != &entry && place->name && place->caption) {
        out->items.count++;
        return WK_OK;
    }
    free_image(place);
    return wk_fail(err, WK_E_MEMORY, "no memory for the image '%s'", name);
}

static wk_status draw_sheet(const wk_domain *domain, wk_report_images *out, wk_error *err)
{
    wk_image image = {0};
    int cells;
    char name[128], caption[256];
    WK_TRY(wk_contact_sheet_draw(domain, NULL, 0, WK_SHEET_STEPS, CELL, &image, &cells, err));
    wk_report_image entry = {.kind = WK_REPORT_IMAGE_ENVIRONMENTS,
                             .width = (uint32_t)image.width,
                             .height = (uint32_t)image.height};
    wk_status status = wk_png_encode(&image, &entry.png, &entry.size, err);
    wk_image_free(&image);
    WK_TRY(status);
    snprintf(name, sizeof name, "environments-%s", domain->name);
    snprintf(caption, sizeof caption,
             "%s: %d environments after %d random agent steps; below, those outside the training "
             "distribution.",
             domain->name, cells, WK_SHEET_STEPS);
    return add(out, entry, name, caption, err);
}

static bool domain_is_new(const wk_runs *runs, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (strcmp(runs->items.items[k]->domain, runs->items.items[i]->domain) == 0) return false;
    return true;
}

// Domains of plug-ins have no image: reading runs loads no code.
static wk_status draw_sheets(const wk_runs *runs, wk_report_images *out, wk_sentences *missing,
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
        wk_status status = draw_sheet(domain, out, &problem);
        wk_progress_count(runs->progress, 0);
        if (status == WK_OK) continue;
        if (problem.status == WK_E_MEMORY) return wk_fail(err, WK_E_MEMORY, "%s", problem.message);
        WK_TRY(wk_sentences_add(missing, err, "%s: no image of its environments: %s", domain->name,
                                problem.message));
    }
    return WK_OK;
}

static uint32_t big_endian(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

// Reads the size from the header; browsers check the rest.
static bool read_png_size(wk_report_image *entry)
{
    static const uint8_t signature[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    if (entry->size < 24 || memcmp(entry->png, signature, sizeof signature) != 0) return false;
    entry->width = big_endian(entry->png + 16);
    entry->height = big_endian(entry->png + 20);
    return entry->width > 0 && entry->width < SIDE_MAX && entry->height > 0 &&
           entry->height < SIDE_MAX;
}

// The last name of the folder that is an open-loop strip: the largest step. "" for none.
static wk_status find_strip(const char *folder, char name[256], wk_error *err)
{
    static const char prefix[] = "openloop-", ending[] = ".png";
    wk_dir *directory = NULL;
    wk_names names = {0};
    *name = 0;
    wk_status status = wk_dir_open(NULL, folder, &directory, err);
    if (status == WK_OK) status = wk_dir_list(directory, &names, err);
    for (size_t i = 0; i < names.count && status == WK_OK; i++) {
        const char *item = names.items[i];
        size_t length = strlen(item), tail = sizeof ending - 1;
        if (length < 256 && length > tail && strncmp(item, prefix, sizeof prefix - 1) == 0 &&
            strcmp(item + length - tail, ending) == 0)
            snprintf(name, 256, "%s", item);
    }
    wk_names_free(&names);
    wk_dir_close(directory);
    return status;
}

static wk_status take_strip(wk_runs *runs, const wk_report_run *run, bool *found,
                            wk_report_images *out, wk_sentences *missing, wk_error *err)
{
    char folder[WK_PATH_MAX], path[WK_PATH_MAX], file[256], name[512], caption[1024];
    wk_error problem = {0};
    wk_report_image entry = {.kind = WK_REPORT_IMAGE_IMAGINED};
    WK_TRY(wk_path_print(folder, err, "%s/eval", run->directory));
    wk_status status = find_strip(folder, file, &problem);
    if (status == WK_E_NOT_FOUND) return WK_OK; // no folder, no strip
    if (status != WK_OK) return wk_runs_leave_out(runs, err, "%s", problem.message);
    if (!*file) return WK_OK;
    WK_TRY(wk_path_join(folder, file, path, err));
    char *bytes = NULL;
    if (wk_file_read(path, PNG_LIMIT, &bytes, &entry.size, &problem) != WK_OK)
        return wk_runs_leave_out(runs, err, "%s", problem.message);
    entry.png = (uint8_t *)bytes;
    if (!read_png_size(&entry)) {
        free(bytes);
        return wk_sentences_add(missing, err, "'%s' is not a PNG image", path);
    }
    *found = true;
    snprintf(name, sizeof name, "imagined-%.60s-%.60s-%.100s", run->domain, run->exploration,
             run->method);
    snprintf(caption, sizeof caption, "%.60s, %.60s, %.200s, seed %llu (%.300s).", run->domain,
             run->exploration, run->method, (unsigned long long)run->seed, file);
    for (char *c = name; *c; c++)
        if (strchr("/ ,", *c)) *c = '-';
    make_unique(out, name, sizeof name);
    return add(out, entry, name, caption, err);
}

static bool same_method(const wk_report_run *a, const wk_report_run *b)
{
    return wk_runs_same_group(a, b) && strcmp(a->method, b->method) == 0;
}

// Runs are sorted by method.
static wk_status take_strips(wk_runs *runs, wk_report_images *out, wk_sentences *missing,
                             wk_error *err)
{
    bool found = false;
    for (size_t i = 0; i < runs->items.count; i++) {
        const wk_report_run *run = runs->items.items[i];
        if (i == 0 || !same_method(run, runs->items.items[i - 1])) found = false;
        if (!found) WK_TRY(take_strip(runs, run, &found, out, missing, err));
    }
    return WK_OK;
}

wk_status wk_report_images_make(wk_runs *runs, wk_report_images *out, wk_sentences *missing,
                                wk_error *err)
{
    WK_TRY(draw_sheets(runs, out, missing, err));
    return take_strips(runs, out, missing, err);
}
