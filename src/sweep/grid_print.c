#include "sweep/grid.h"

static void print_axis(const wk_sweep_axis *axis, wk_text *out)
{
    wk_text_puts(out, "  ");
    wk_text_quote(out, axis->name);
    wk_text_puts(out, ": ");
    if (axis->named) wk_text_puts(out, "[");
    for (size_t i = 0; i < axis->values.count; i++) {
        if (i > 0) wk_text_puts(out, ", ");
        wk_text_quote(out, axis->values.items[i]);
    }
    wk_text_puts(out, axis->named ? "]\n" : "\n");
}

static void print_axes(const wk_sweep_grid *grid, const char *part, bool blocks, wk_text *out)
{
    bool begun = false;
    for (int i = 0; i < grid->n_axes; i++) {
        if ((grid->axes[i].field < 0) != blocks) continue;
        if (!begun) wk_text_printf(out, "%s:\n", part);
        begun = true;
        print_axis(&grid->axes[i], out);
    }
}

static void print_presets(const wk_sweep_grid *grid, wk_text *out)
{
    if (grid->presets.count > 0) wk_text_puts(out, "with:\n");
    for (size_t i = 0; i < grid->presets.count; i++) {
        const wk_sweep_preset *preset = &grid->presets.items[i];
        wk_text_puts(out, "  ");
        wk_text_quote(out, preset->when.text);
        wk_text_puts(out, ": {");
        wk_text_quote(out, wk_run_keys[preset->field]);
        wk_text_puts(out, ": ");
        wk_text_quote(out, preset->value);
        wk_text_puts(out, "}\n");
    }
}

static void print_command(const char *name, const wk_sweep_command *command, wk_text *out)
{
    wk_text_printf(out, "%s: [", name);
    for (int i = 0; i < command->count; i++) {
        if (i > 0) wk_text_puts(out, ", ");
        wk_text_quote(out, command->options[i]);
    }
    wk_text_puts(out, "]\n");
}

static void print_follows(const wk_sweep_grid *grid, wk_text *out)
{
    bool begun = false;
    for (int i = 0; i < WK_SWEEP_FOLLOWS; i++) {
        if (!grid->follow[i].present) continue;
        if (!begun) wk_text_puts(out, "then:\n");
        begun = true;
        wk_text_puts(out, "  ");
        print_command(wk_sweep_follow_names[i], &grid->follow[i], out);
    }
}

static void print_item(const char *item, wk_text *out)
{
    wk_text_puts(out, "  - ");
    wk_text_quote(out, item);
    wk_text_puts(out, "\n");
}

void wk_sweep_grid_print(const wk_sweep_grid *grid, wk_text *out)
{
    if (grid->n_files > 0) wk_text_puts(out, "files:\n");
    for (int i = 0; i < grid->n_files; i++)
        print_item(grid->files[i], out);
    print_axes(grid, "blocks", true, out);
    print_axes(grid, "keys", false, out);
    print_presets(grid, out);
    if (grid->excludes.count > 0) wk_text_puts(out, "exclude:\n");
    for (size_t i = 0; i < grid->excludes.count; i++)
        print_item(grid->excludes.items[i].text, out);
    print_follows(grid, out);
    if (grid->report.present) print_command("report", &grid->report, out);
}
