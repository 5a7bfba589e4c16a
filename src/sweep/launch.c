// What launchers share: which task is next, what is left costs, the commands that --launch print
// shows, and the report.
#include "sweep/sweep.h"

#include "base/file.h"
#include "config/parts.h"
#include "run/world.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// The queue.

wk_status wk_sweep_queue_open(const wk_sweep_plan *plan, int attempts, wk_sweep_queue *out,
                              wk_error *err)
{
    *out = (wk_sweep_queue){plan, attempts > 0 ? attempts : WK_SWEEP_ATTEMPTS,
                            calloc(plan->tasks.count, sizeof *out->entries)};
    if (!out->entries) return wk_fail(err, WK_E_MEMORY, "no memory for the states of the runs");
    for (size_t i = 0; i < plan->tasks.count; i++)
        WK_TRY(wk_sweep_state_read(plan, (int)i, attempts, &out->entries[i].state, err));
    return WK_OK;
}

void wk_sweep_queue_close(wk_sweep_queue *queue)
{
    free(queue->entries);
    *queue = (wk_sweep_queue){0};
}

bool wk_sweep_queue_has(const wk_sweep_queue *queue, int task)
{
    const wk_sweep_entry *entry = &queue->entries[task];
    wk_sweep_task_phase phase = entry->state.phase;
    return !queue->plan->tasks.items[task].left_out && !entry->started &&
           entry->stalls < queue->attempts &&
           (phase == WK_SWEEP_WAITING || phase == WK_SWEEP_STOPPED || phase == WK_SWEEP_TRAINED);
}

int wk_sweep_queue_next(wk_sweep_queue *queue, int max, int *tasks)
{
    const wk_sweep_task *all = queue->plan->tasks.items;
    int count = 0;
    for (int i = 0; i < (int)queue->plan->tasks.count && count < max; i++) {
        wk_sweep_entry *entry = &queue->entries[i];
        if (!wk_sweep_queue_has(queue, i)) continue;
        // A population has one shape, and nothing but training to do.
        if (count > 0 && (all[tasks[0]].shape != all[i].shape || entry->state.trained)) continue;
        entry->started = true;
        entry->progress = wk_sweep_progress(&entry->state);
        tasks[count++] = i;
        if (entry->state.trained) break;
    }
    return count;
}

wk_status wk_sweep_queue_ended(wk_sweep_queue *queue, int task, wk_error *err)
{
    wk_sweep_entry *entry = &queue->entries[task];
    entry->started = false;
    WK_TRY(wk_sweep_state_read(queue->plan, task, queue->attempts, &entry->state, err));
    bool further = wk_sweep_progress(&entry->state) > entry->progress;
    entry->stalls = further ? 0 : entry->stalls + 1;
    return WK_OK;
}

wk_status wk_sweep_queue_refresh(wk_sweep_queue *queue, int *others, wk_error *err)
{
    *others = 0;
    for (size_t i = 0; i < queue->plan->tasks.count; i++) {
        wk_sweep_entry *entry = &queue->entries[i];
        wk_sweep_task_phase phase = entry->state.phase;
        if (queue->plan->tasks.items[i].left_out || entry->started) continue;
        if (phase != WK_SWEEP_RUNNING && phase != WK_SWEEP_FAILED) continue;
        WK_TRY(wk_sweep_state_read(queue->plan, (int)i, queue->attempts, &entry->state, err));
        if (phase == WK_SWEEP_FAILED && entry->state.phase != phase) entry->stalls = 0;
        *others += entry->state.phase == WK_SWEEP_RUNNING;
    }
    return WK_OK;
}

wk_sweep_counts wk_sweep_count(const wk_sweep_plan *plan, const wk_sweep_entry *entries)
{
    wk_sweep_counts counts = {0};
    for (size_t i = 0; i < plan->tasks.count; i++) {
        const wk_sweep_state *state = &entries[i].state;
        uint64_t steps = plan->tasks.items[i].steps;
        if (plan->tasks.items[i].left_out) continue;
        counts.phases[entries[i].started ? WK_SWEEP_RUNNING : state->phase]++;
        counts.total += steps;
        counts.steps += state->steps < steps ? state->steps : steps;
    }
    return counts;
}

// The cost, before anything starts: from the time and memory of one update of each shape.

// Bytes of the replay buffer in memory: the plan of what a run of this length fills.
static double replay_bytes(const wk_run_config *config)
{
    wk_run_world world;
    if (*config->plugin || wk_run_world_open(config, NULL, NULL, &world, NULL) != WK_OK)
        return (double)WK_RUN_FRAME_BYTES * (double)config->steps;
    wk_replay_config replay = wk_run_config_replay(config, world.domain);
    if (replay.capacity > (uint64_t)config->steps) replay.capacity = (uint64_t)config->steps;
    return (double)wk_replay_plan(&replay);
}

wk_sweep_cost wk_sweep_cost_of(const wk_sweep_plan *plan, const wk_sweep_entry *entries, int shape,
                               const wk_sweep_rate *rate)
{
    const wk_sweep_shape *s = &plan->shapes.items[shape];
    wk_sweep_cost cost = {.runs = s->count};
    for (size_t i = 0; i < plan->tasks.count; i++) {
        const wk_sweep_task *task = &plan->tasks.items[i];
        const wk_sweep_state *state = &entries[i].state;
        if (task->left_out || task->shape != shape || state->trained) continue;
        uint64_t left = state->steps < task->steps ? task->steps - state->steps : 0;
        cost.left++;
        cost.steps += left;
        cost.updates += (uint64_t)((double)task->updates * (double)left / (double)task->steps);
    }
    cost.hours = (double)cost.updates * rate->seconds / 3600;
    if (cost.updates == 0) cost.hours = 0;
    cost.memory = replay_bytes(&s->config) + (double)rate->learner_bytes;
    return cost;
}

void wk_sweep_cost_add(wk_sweep_cost *sum, const wk_sweep_cost *cost)
{
    sum->runs += cost->runs;
    sum->left += cost->left;
    sum->steps += cost->steps;
    sum->updates += cost->updates;
    sum->hours += cost->hours;
    sum->memory = fmax(sum->memory, cost->memory);
}

bool wk_sweep_same_rate(const wk_run_config *a, const wk_run_config *b)
{
    static const char *const others[] = {"seed",        "steps",       "domain", "prefill",
                                         "train_every", "curriculum.", "env.",   "replay."};
    for (int i = 0; i < WK_RUN_FIELD_COUNT; i++) {
        bool other = wk_run_fields[i].role == WK_RUN_FREE || wk_run_fields[i].kind == WK_RUN_NUMBER;
        for (size_t k = 0; k < sizeof others / sizeof *others; k++)
            other |= strncmp(wk_run_keys[i], others[k], strlen(others[k])) == 0;
        if (!other && !wk_run_config_same(a, b, i)) return false;
    }
    return wk_run_config_same(a, b, WK_RUN_device_INDEX);
}

// --launch print: the commands of every run that is not done, one line each, for another scheduler
// or a shell.

// Prints a command after `before` and frees its words. A line holds no control character, and
// without it the words would be others.
static wk_status print_words(wk_sweep_words *words, const char *before, wk_text *out, wk_error *err)
{
    wk_status status = WK_OK;
    for (size_t i = 0; i < words->items.count; i++)
        for (const char *c = words->items.items[i]; status == WK_OK && *c; c++)
            if (wk_utf8_control(c))
                status = wk_fail(err, WK_E_INPUT,
                                 "'%s' has a control character, which a printed command cannot "
                                 "have; rename it, or use --launch local",
                                 words->items.items[i]);
    wk_text_puts(out, before);
    wk_sweep_words_print(words, "waker", out);
    wk_sweep_words_free(words);
    return status;
}

// Whether words of the grid's own keys name a plug-in.
static bool name_code(const wk_sweep_words *words)
{
    bool found = false;
    for (size_t i = 0; i < words->items.count; i++)
        found |= strncmp(words->items.items[i], "--plugin=", 9) == 0 ||
                 strncmp(words->items.items[i], "--curriculum.plugin=", 20) == 0;
    return found;
}

// What is left of a task: training, where it is not done, and what follows.
static wk_status print_task(const wk_sweep_launch *launch, int task, const wk_sweep_state *state,
                            wk_error *err)
{
    const wk_sweep_plan *plan = launch->plan;
    const char *between = "";
    wk_sweep_words words = {0};
    wk_sweep_train_words(plan, task, &words);
    // On a command line a plug-in of the grid would be loaded by the user's consent, which a grid
    // cannot give; 'sweep run' knows which runs want the code that the command line names.
    if (plan->plugin || plan->rule || name_code(&words)) {
        wk_sweep_words_free(&words);
        wk_sweep_task_words(plan, &task, 1, &words);
        return print_words(&words, "", launch->output, err);
    }
    if (state->trained) {
        wk_sweep_words_free(&words);
    } else {
        WK_TRY(print_words(&words, "", launch->output, err));
        between = " && ";
    }
    for (int i = 0; i < WK_SWEEP_FOLLOWS; i++) {
        if (state->follow[i]) continue;
        wk_sweep_follow_words(plan, task, (wk_sweep_follow_kind)i, &words);
        WK_TRY(print_words(&words, between, launch->output, err));
        between = " && ";
    }
    return WK_OK;
}

wk_status wk_sweep_print_start(const wk_sweep_launch *launch, wk_sweep_end *end, wk_error *err)
{
    const wk_sweep_plan *plan = launch->plan;
    bool reported, left = false;
    *end = WK_SWEEP_SUBMITTED;
    for (size_t i = 0; i < plan->tasks.count; i++) {
        wk_sweep_state state;
        if (plan->tasks.items[i].left_out) continue;
        WK_TRY(wk_sweep_state_read(plan, (int)i, launch->options->attempts, &state, err));
        if (state.phase == WK_SWEEP_DONE) continue;
        WK_TRY(print_task(launch, (int)i, &state, err));
        wk_text_puts(launch->output, "\n");
        left = true;
    }
    WK_TRY(wk_sweep_report_done(plan, &reported, err));
    if (!plan->grid->report.present || (!left && reported)) return WK_OK;
    wk_sweep_words words = {0};
    wk_sweep_report_words(plan, &words);
    WK_TRY(print_words(&words, "", launch->output, err));
    wk_text_puts(launch->output, "\n");
    return WK_OK;
}

// The report.

// What the report is to be made of (`mark`): its options, and the runs that are done with what
// followed them. `made`: the one that is there was.
static wk_status compare_report(const wk_sweep_plan *plan, wk_text *mark, bool *made, wk_error *err)
{
    enum { LIMIT = 1 << 26 };
    char path[WK_PATH_MAX], *there = NULL;
    size_t size;
    for (int i = 0; i < plan->grid->report.count; i++)
        wk_text_printf(mark, "%s ", plan->grid->report.options[i]);
    wk_text_puts(mark, "\n");
    for (size_t i = 0; i < plan->tasks.count; i++) {
        wk_sweep_state state;
        WK_TRY(wk_sweep_state_read(plan, (int)i, 0, &state, err));
        if (state.phase == WK_SWEEP_DONE)
            wk_text_printf(mark, "%s %" PRIu64 "\n", plan->tasks.items[i].name,
                           wk_sweep_progress(&state));
    }
    if (mark->failed) return wk_fail(err, WK_E_MEMORY, "no memory for the report's runs");
    *made = false;
    WK_TRY(wk_path_join(plan->directory, WK_SWEEP_REPORT_MARK, path, err));
    wk_status status = wk_file_read(path, LIMIT, &there, &size, err);
    if (status == WK_OK) *made = strcmp(there, wk_text_get(mark)) == 0;
    free(there);
    return status == WK_E_NOT_FOUND ? WK_OK : status;
}

wk_status wk_sweep_report_done(const wk_sweep_plan *plan, bool *out, wk_error *err)
{
    wk_text mark = {0};
    *out = true;
    if (!plan->grid->report.present) return WK_OK;
    wk_status status = compare_report(plan, &mark, out, err);
    wk_text_free(&mark);
    return status;
}

static wk_status make_report(const wk_sweep_launch *launch, const wk_text *mark, wk_sweep_end *end,
                             wk_error *err)
{
    enum { LEFT_OUT = 3 }; // exit code of a report that is made, but not of everything
    char line[WK_SWEEP_LINE_MAX], path[WK_PATH_MAX];
    int code = 0;
    wk_sweep_words words = {0};
    WK_TRY(wk_dir_make_below(launch->plan->directory, WK_SWEEP_REPORT, err));
    WK_TRY(wk_path_join(launch->plan->directory, WK_SWEEP_FOLDER "/report.log", path, err));
    wk_sweep_report_words(launch->plan, &words);
    if (launch->options->quiet) wk_sweep_words_add(&words, "--quiet");
    const wk_sweep_process process = {
        .program = launch->program, .words = &words, .log = path, .stop = launch->stop};
    wk_status status = wk_sweep_process_run(&process, &code, line, err);
    wk_sweep_words_free(&words);
    WK_TRY(status);
    if (code != 0 && code != LEFT_OUT) {
        *end = WK_SWEEP_SAVED; // interrupted
        if (launch->stop && *launch->stop) return WK_OK;
        return wk_fail(err, WK_E_IO, "the report failed: %s", line);
    }
    if (code == LEFT_OUT && *end == WK_SWEEP_FINISHED) *end = WK_SWEEP_FINDINGS;
    WK_TRY(wk_path_join(launch->plan->directory, WK_SWEEP_REPORT_MARK, path, err));
    return wk_file_write(path, wk_text_get(mark), mark->length, err);
}

wk_status wk_sweep_report_make(const wk_sweep_launch *launch, wk_sweep_end *end, wk_error *err)
{
    bool made = false;
    wk_text mark = {0};
    if (!launch->plan->grid->report.present) return WK_OK;
    wk_status status = compare_report(launch->plan, &mark, &made, err);
    if (status == WK_OK && !made) status = make_report(launch, &mark, end, err);
    wk_text_free(&mark);
    return status;
}
