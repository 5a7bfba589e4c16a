#include "run/setup/recording.h"

#include "env/plugins/reward_plugin.h"
#include <stdlib.h>
#include <string.h>

// A wk_reward has no context: an episode is played by one thread from its start to its end.
static _Thread_local wk_recording *current;

// A name that ends with '?' may be missing.
static const double *read_named(const wk_reward_view *view, const char *name, int *width)
{
    char plain[WK_RECORDED_NAME_MAX];
    size_t length = strlen(name);
    memcpy(plain, name, length + 1);
    if (length > 0 && name[length - 1] == '?') plain[length - 1] = 0;
    const double *numbers = view->read(view->simulation, plain, width);
    if (!numbers) *width = 0;
    return numbers;
}

static bool copy_states(const wk_reward_view *view, size_t row)
{
    bool whole = true;
    for (int i = 0; i < current->reward->n_reads; i++) {
        int width, expected = current->widths[i];
        const double *numbers = read_named(view, current->reward->reads[i], &width);
        size_t size = (size_t)expected;
        whole &= width == expected;
        if (numbers && width == expected)
            memcpy(current->states[i] + row * size, numbers, size * sizeof *numbers);
    }
    return whole;
}

static wk_status begin(const wk_reward_view *view, void *memory, wk_error *err)
{
    (void)memory;
    const wk_recorded_reward *reward = current->reward;
    for (int i = 0; i < reward->n_reads; i++) {
        int width;
        const char *name = reward->reads[i];
        if (!read_named(view, name, &width) && !strchr(name, '?'))
            return wk_fail(err, WK_E_NOT_FOUND,
                           "its state has no '%s' (docs/relabel.md lists the names)", name);
        current->widths[i] = width;
        current->states[i] =
            calloc((current->capacity + 1) * (size_t)width + 1, sizeof *current->states[i]);
        if (!current->states[i]) return wk_fail(err, WK_E_MEMORY, "no memory to record '%s'", name);
    }
    copy_states(view, 0);
    return WK_OK;
}

static double record(const wk_reward_view *view, void *memory)
{
    (void)memory;
    if (current->count == current->capacity || !copy_states(view, 1 + current->count)) {
        current->uneven = true;
        return 0;
    }
    current->step[current->count++] = current->agent_step;
    return 0;
}

wk_status wk_recording_reward(const wk_recorded_reward *reward, wk_reward *out, wk_error *err)
{
    if (reward->n_reads < 0 || reward->n_reads > WK_RECORDED_READS_MAX)
        return wk_fail(err, WK_E_INPUT, "a reward that reads %d names; at most %d are recorded",
                       reward->n_reads, WK_RECORDED_READS_MAX);
    for (int i = 0; i < reward->n_reads; i++)
        if (strlen(reward->reads[i]) >= WK_RECORDED_NAME_MAX)
            return wk_fail(err, WK_E_INPUT, "a reward that reads '%.40s...': the name is too long",
                           reward->reads[i]);
    if (!reward->reward) return wk_fail(err, WK_E_INPUT, "a reward without a function");
    *out = (wk_reward){.abi = WK_REWARD_ABI,
                       .size = sizeof *out,
                       .name = reward->name,
                       .begin = begin,
                       .reward = record};
    return wk_reward_check(out, err);
}

wk_status wk_recording_begin(wk_recording *recording, const wk_recorded_reward *reward,
                             size_t capacity, wk_error *err)
{
    current = recording;
    if (!recording) return WK_OK;
    recording->reward = reward;
    recording->capacity = capacity;
    recording->step = calloc(capacity + 1, sizeof *recording->step);
    return recording->step ? WK_OK
                           : wk_fail(err, WK_E_MEMORY, "no memory to record %zu steps", capacity);
}

wk_status wk_recording_end(const wk_recording *recording, wk_error *err)
{
    if (!recording->uneven) return WK_OK;
    return wk_fail(err, WK_E_UNSUPPORTED,
                   "the states that the reward '%s' reads change their sizes within an episode; "
                   "only a plug-in can read those",
                   recording->reward->name);
}

void wk_recording_free(wk_recording *recording)
{
    for (int i = 0; i < WK_RECORDED_READS_MAX; i++)
        free(recording->states[i]);
    free(recording->step);
    *recording = (wk_recording){0};
}
