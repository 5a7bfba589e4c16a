// Fuzz target: the small files beside runs. The first byte of an input says which it is: a frozen
// set of environments, the list of a population, attempts and options of a sweep, a job of Slurm's
// queue, or rewards that were added to a run. Each is accepted, or refused with a message; what is
// accepted is used. Built by tools/fuzz/run.
#include "env/domains/domains.h"
#include "eval/cases.h"
#include "fuzz/fuzz.h"
#include "run/disk.h"
#include "run/rewards.h"
#include "sweep/sweep.h"
#include <math.h>

static wk_sweep_grid grid;
static wk_sweep_plan plan;

static void prepare(void)
{
    static const char text[] = "blocks: {domain: toy}\nkeys: {seed: 0..2}\nthen: {eval: ''}\n";
    wk_error err = {0};
    fuzz_enter();
    if (wk_sweep_grid_parse("grid", text, strlen(text), &grid, &err) != WK_OK ||
        wk_sweep_plan_create(&grid, "many", &plan, &err) != WK_OK)
        abort();
}

// With the right hash behind it where the first byte is odd.
static void try_set(const char *bytes, size_t size)
{
    wk_error err = {0};
    wk_theta_set set = {0};
    wk_text text = {0};
    wk_eval_case cases[WK_THETA_SET_PARTS];
    if (size == 0) return;
    wk_text_append(&text, bytes + 1, size - 1);
    if (bytes[0] & 1) {
        char hash[WK_SHA256_CHARS];
        wk_sha256 sum = wk_sha256_start();
        wk_sha256_add(&sum, bytes + 1, size - 1);
        wk_sha256_finish(&sum, hash);
        wk_text_printf(&text, "sha256 %s\n", hash);
    }
    fuzz_write(".", "a.set", wk_text_get(&text), text.length);
    wk_text_free(&text);
    wk_status status = wk_theta_set_open("a.set", &wk_toy, &set, &err);
    fuzz_expect_message(status, &err);
    if (status != WK_OK) return;
    assert(wk_theta_set_cases(&set, cases) > 0);
    wk_theta_set_print(&set, &wk_toy, &text);
    wk_text_free(&text);
    wk_theta_set_free(&set);
}

static void try_population(const char *bytes, size_t size)
{
    wk_error err = {0};
    wk_population population = {0}, added = {.count = 1, .names = {"seed9"}};
    fuzz_write("many", WK_POPULATION_FILE, bytes, size);
    wk_status status = wk_population_read("many", &population, &err);
    fuzz_expect_message(status, &err);
    for (int i = 0; status == WK_OK && i < population.count; i++) {
        char path[WK_PATH_MAX];
        bool begun;
        assert(!strchr(population.names[i], '/') && population.names[i][0] != '.');
        fuzz_expect_message(wk_population_path("many", population.names[i], path, &begun, &err),
                            &err);
    }
    if (status == WK_OK) fuzz_expect_message(wk_population_record("many", &added, &err), &err);
}

static void try_attempt(const char *bytes, size_t size)
{
    wk_error err = {0};
    wk_sweep_state state;
    wk_sweep_claim claim;
    fuzz_write("many/sweep/tasks", "seed0/attempt.json", bytes, size);
    fuzz_expect_message(wk_sweep_state_read(&plan, 0, 3, &state, &err), &err);
    assert(state.attempt.count >= 0 && state.phase != WK_SWEEP_RUNNING);
    wk_status status = wk_sweep_claim_take(&plan, 0, &claim, &err);
    fuzz_expect_message(status, &err);
    if (status == WK_OK)
        fuzz_expect_message(wk_sweep_claim_end(&claim, 1, state.attempt.error, &err), &err);
}

static void try_options(const char *bytes, size_t size)
{
    wk_error err = {0};
    wk_text text = {0};
    wk_text_append(&text, bytes, size);
    fuzz_expect_message(wk_slurm_options_check(wk_text_get(&text), &err), &err);
    wk_text_free(&text);
}

static void try_job(const char *bytes, size_t size)
{
    wk_slurm_job job;
    wk_text line = {0};
    wk_text_append(&line, bytes, size);
    if (wk_slurm_job_parse(wk_text_get(&line), "0123abcd", &job))
        assert(job.index >= -1 && job.submission >= 0 && job.task == -1);
    wk_text_free(&line);
}

// The input is the file behind its first eight bytes, which say how long the header is: up to the
// first zero.
static void try_reward(const char *bytes, size_t size)
{
    wk_error err = {0};
    wk_run_plugins code = {0};
    wk_run_rewards labels = {0};
    wk_reward_table table;
    wk_text text = {0};
    uint64_t header = size ? strnlen(bytes, size) : 0, rows;
    wk_text_append(&text, (const char *)&header, sizeof header);
    wk_text_append(&text, bytes, header);
    if (header < size) wk_text_append(&text, bytes + header + 1, size - header - 1);
    fuzz_write("run/rewards", "a.safetensors", wk_text_get(&text), text.length);
    wk_text_free(&text);
    fuzz_expect_message(wk_run_rewards_open("run", &wk_toy, NULL, NULL, &code, &labels, &err),
                        &err);
    wk_run_rewards_close(&labels);
    wk_status status = wk_reward_table_read("run", "a", &table, &err);
    fuzz_expect_message(status, &err);
    if (status != WK_OK) return;
    for (size_t i = 0; i < table.count; i++) {
        const float *rewards = wk_reward_table_find(&table, table.episodes[i], &rows);
        assert(rewards);
        for (uint64_t k = 0; k < rows; k++)
            assert(isfinite(rewards[k]));
    }
    wk_reward_table_free(&table);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static void (*const kinds[])(const char *, size_t) = {try_set,     try_population, try_attempt,
                                                          try_options, try_job,        try_reward};
    if (!*fuzz_root) prepare();
    if (size == 0) return 0;
    kinds[bytes[0] % (sizeof kinds / sizeof *kinds)]((const char *)bytes + 1, size - 1);
    return 0;
}
