// Fuzz target: any bytes as the grid of a sweep. What is accepted is bounded, prints as a grid that
// reads back as the same, and takes no value twice.
#include "base/file.h"
#include "fuzz/fuzz.h"
#include "sweep/sweep.h"

const wk_asset wk_assets[] = {{0}}; // no embedded grids or blocks

static void print_again(const wk_sweep_grid *grid)
{
    wk_sweep_grid back;
    wk_text text = {0}, again = {0};
    wk_error err = {0};
    wk_sweep_grid_print(grid, &text);
    if (wk_sweep_grid_parse("print", wk_text_get(&text), text.length, &back, &err) != WK_OK)
        abort();
    wk_sweep_grid_print(&back, &again);
    assert(strcmp(wk_text_get(&text), wk_text_get(&again)) == 0);
    assert(wk_sweep_grid_combinations(grid) == wk_sweep_grid_combinations(&back));
    wk_sweep_grid_free(&back);
    wk_text_free(&text);
    wk_text_free(&again);
}

static void add_first_value(wk_sweep_grid *grid)
{
    wk_error err = {0};
    wk_text text = {0};
    wk_text_printf(&text, "%s=%s", grid->axes[0].name, grid->axes[0].values.items[0]);
    assert(wk_sweep_grid_add(grid, wk_text_get(&text), &err) != WK_OK && err.message[0]);
    wk_text_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    wk_error err = {0};
    wk_sweep_grid grid;
    if (wk_sweep_grid_parse("fuzz", (const char *)bytes, size, &grid, &err) != WK_OK) {
        assert(err.message[0]);
        return 0;
    }
    assert(wk_sweep_grid_combinations(&grid) <= WK_SWEEP_RUNS_MAX);
    print_again(&grid);
    add_first_value(&grid);
    wk_sweep_grid_free(&grid);
    return 0;
}
