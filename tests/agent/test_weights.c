// Learners in files: what was saved continues, fits where it should, and is refused where it does
// not, or is damaged.
#include "agent/fixture.h"
#include "base/file.h"
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#define PATH "test_weights.tmp.safetensors"

TEST_CASE(a_restored_learner_continues_bit_for_bit)
{
    wk_learner_config config = tiny(TASKS);
    fixture a = open_fixture(config, 1);
    for (uint64_t n = 0; n < UPDATES; n++)
        update(&a, n);
    assert_ok(wk_learner_save(a.learner, NULL, PATH, NULL, 0, &err));
    config.seed = 5;
    fixture b = open_fixture(config, 1);
    update(&b, 77); // another past, to be forgotten
    assert_ok(wk_learner_restore(b.learner, NULL, PATH, &err));
    assert_same_weights(&a, &b);
    for (uint64_t n = UPDATES; n < 2 * UPDATES; n++) {
        record x = update(&a, n), y = update(&b, n);
        assert_memory_equal(&x, &y, sizeof x);
    }
    assert_same_weights(&a, &b);
    close_fixture(&a);
    close_fixture(&b);
    remove(PATH);
}

TEST_CASE(a_snapshot_of_another_size_is_refused_and_changes_nothing)
{
    wk_learner_config other = tiny(TASKS);
    other.deter++;
    fixture big = open_fixture(other, 1), a = open_fixture(tiny(TASKS), 1),
            twin = open_fixture(tiny(TASKS), 1);
    assert_ok(wk_learner_save(big.learner, NULL, PATH, NULL, 0, &err));
    assert_refused(wk_learner_restore(a.learner, NULL, PATH, &err), WK_E_FORMAT, "model/");
    assert_same_weights(&a, &twin);
    record x = update(&a, 0), y = update(&twin, 0);
    assert_memory_equal(&x, &y, sizeof x);
    close_fixture(&big);
    close_fixture(&a);
    close_fixture(&twin);
    remove(PATH);
}

TEST_CASE(a_truncated_snapshot_is_refused_and_changes_nothing)
{
    fixture a = open_fixture(tiny(0), 1), twin = open_fixture(tiny(0), 1),
            other = open_fixture(tiny(0), 1);
    update(&other, 0);
    assert_ok(wk_learner_save(other.learner, NULL, PATH, NULL, 0, &err));
    char *bytes;
    size_t size;
    assert_ok(wk_file_read(PATH, 1 << 24, &bytes, &size, &err));
    free(bytes);
    const size_t cuts[] = {0, 7, 100, size / 2, size - 1};
    for (size_t i = sizeof cuts / sizeof *cuts; i-- > 0;) {
        assert_int_equal(truncate(PATH, (off_t)cuts[i]), 0);
        assert_int_not_equal(wk_learner_restore(a.learner, NULL, PATH, &err), WK_OK);
        assert_same_weights(&a, &twin);
    }
    assert_refused(wk_learner_restore(a.learner, NULL, "no such file", &err), WK_E_NOT_FOUND,
                   "no such file");
    close_fixture(&a);
    close_fixture(&twin);
    close_fixture(&other);
    remove(PATH);
}

static void save_labelled(const fixture *r)
{
    const wk_weights_label labels[] = {{"domain", "pond"}, {"step", "300"}};
    assert_ok(wk_learner_save_weights(r->learner, NULL, PATH, labels, 2, &err));
}

static bool same_network(const fixture *a, const fixture *b, wk_network_id network)
{
    size_t size, other;
    uint8_t *x = weights(a, network, &size), *y = weights(b, network, &other);
    bool same = size == other && memcmp(x, y, size) == 0;
    free(x);
    free(y);
    return same;
}

TEST_CASE(weights_are_restored_whole_or_in_parts)
{
    fixture a = open_fixture(tiny(TASKS), 1);
    for (uint64_t n = 0; n < UPDATES; n++)
        update(&a, n);
    save_labelled(&a);
    fixture whole = open_fixture(tiny(TASKS), 1), world = open_fixture(tiny(TASKS), 1);
    assert_ok(
        wk_learner_restore_weights(whole.learner, PATH, WK_WEIGHTS_WORLD | WK_WEIGHTS_TASKS, &err));
    assert_same_weights(&a, &whole);
    assert_ok(wk_learner_restore_weights(world.learner, PATH, WK_WEIGHTS_WORLD, &err));
    for (int network = 0; network < WK_NETWORKS; network++)
        assert_int_equal(same_network(&a, &world, network), network < WK_NETWORK_REWARD);
    assert_ok(wk_learner_restore_weights(world.learner, PATH, WK_WEIGHTS_TASKS, &err));
    assert_same_weights(&a, &world);
    close_fixture(&a);
    close_fixture(&whole);
    close_fixture(&world);
    remove(PATH);
}

TEST_CASE(a_world_model_fits_learners_with_other_tasks)
{
    fixture a = open_fixture(tiny(0), 1), b = open_fixture(tiny(TASKS), 1),
            none = open_fixture(tiny(0), 1);
    update(&a, 0);
    save_labelled(&a);
    assert_ok(wk_learner_restore_weights(b.learner, PATH, WK_WEIGHTS_WORLD, &err));
    assert_same_weights(&a, &b);
    update(&b, 1);
    save_labelled(&b);
    assert_ok(wk_learner_restore_weights(none.learner, PATH, WK_WEIGHTS_WORLD, &err));
    assert_same_weights(&b, &none);
    close_fixture(&a);
    close_fixture(&b);
    close_fixture(&none);
    remove(PATH);
}

TEST_CASE(weights_are_read_from_a_checkpoint_too)
{
    fixture a = open_fixture(tiny(TASKS), 1), b = open_fixture(tiny(TASKS), 1);
    update(&a, 0);
    assert_ok(wk_learner_save(a.learner, NULL, PATH, NULL, 0, &err));
    assert_ok(
        wk_learner_restore_weights(b.learner, PATH, WK_WEIGHTS_WORLD | WK_WEIGHTS_TASKS, &err));
    assert_same_weights(&a, &b);
    uint64_t updates, skipped;
    assert_ok(wk_learner_counts(b.learner, &updates, &skipped, &err));
    assert_int_equal(updates, 0);
    close_fixture(&a);
    close_fixture(&b);
    remove(PATH);
}

// Saves weights of `other` and finds that a learner of `config` refuses them and stays as it was.
static void assert_foreign(wk_learner_config other, wk_learner_config config, unsigned parts,
                           const char *part)
{
    fixture from = open_fixture(other, 1), to = open_fixture(config, 1),
            twin = open_fixture(config, 1);
    update(&from, 0);
    save_labelled(&from);
    assert_refused(wk_learner_restore_weights(to.learner, PATH, parts, &err), WK_E_FORMAT, part);
    assert_non_null(strstr(err.message, "domain pond, step 300"));
    assert_same_weights(&to, &twin);
    close_fixture(&from);
    close_fixture(&to);
    close_fixture(&twin);
    remove(PATH);
}

TEST_CASE(weights_that_do_not_fit_are_refused_and_name_their_run)
{
    wk_learner_config other = tiny(TASKS);
    assert_foreign(tiny(0), tiny(TASKS), WK_WEIGHTS_WORLD | WK_WEIGHTS_TASKS, "missing: reward/");
    assert_foreign(tiny(1), tiny(TASKS), WK_WEIGHTS_TASKS, "different: reward/");
    other.layers++;
    assert_foreign(other, tiny(TASKS), WK_WEIGHTS_WORLD, "unexpected: ensemble/");
    other = tiny(TASKS);
    other.hidden++;
    assert_foreign(other, tiny(TASKS), WK_WEIGHTS_WORLD, "different: model/");
    other = tiny(TASKS);
    other.exploration = WK_EXPLORE_RANDOM;
    assert_foreign(other, tiny(TASKS), WK_WEIGHTS_WORLD, "missing: explore.actor/");
    assert_foreign(tiny(TASKS), other, WK_WEIGHTS_WORLD, "unexpected: explore.");
}

// One task's networks out of a file with several: what is left of each stack is that member.
TEST_CASE(a_single_task_is_taken_from_a_file_with_several)
{
    fixture all = open_fixture(tiny(TASKS), 1), one = open_fixture(tiny(1), 1),
            twin = open_fixture(tiny(1), 1);
    for (uint64_t n = 0; n < UPDATES; n++)
        update(&all, n);
    save_labelled(&all);
    assert_refused(wk_learner_restore_task(one.learner, PATH, TASKS, &err), WK_E_FORMAT, "reward/");
    assert_same_weights(&one, &twin);
    assert_ok(wk_learner_restore_task(one.learner, PATH, 1, &err));
    for (int network = WK_NETWORK_REWARD; network < WK_NETWORKS; network++) {
        size_t size, other;
        uint8_t *x = weights(&all, network, &size), *y = weights(&one, network, &other);
        for (size_t i = 0; i < one.learner->params[network]->weights.count; i++) {
            const wk_weight *from = &all.learner->params[network]->weights.items[i],
                            *to = &one.learner->params[network]->weights.items[i];
            size_t bytes = to->count * sizeof(float);
            assert_int_equal(from->count, TASKS * to->count);
            assert_memory_equal(x + from->offset + bytes, y + to->offset, bytes);
        }
        free(x);
        free(y);
    }
    assert_true(same_network(&one, &twin, WK_NETWORK_MODEL));
    close_fixture(&all);
    close_fixture(&one);
    close_fixture(&twin);
    remove(PATH);
}

TEST_CASE(damaged_weights_are_refused_and_change_nothing)
{
    fixture a = open_fixture(tiny(0), 1), b = open_fixture(tiny(0), 1),
            twin = open_fixture(tiny(0), 1);
    update(&a, 0);
    save_labelled(&a);
    FILE *file = fopen(PATH, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, -1, SEEK_END), 0);
    int last = fgetc(file);
    assert_int_equal(fseek(file, -1, SEEK_END), 0);
    fputc(last ^ 1, file);
    fclose(file);
    assert_refused(wk_learner_restore_weights(b.learner, PATH, WK_WEIGHTS_WORLD, &err), WK_E_FORMAT,
                   "damaged");
    assert_same_weights(&b, &twin);
    close_fixture(&a);
    close_fixture(&b);
    close_fixture(&twin);
    remove(PATH);
}

// World model, reward heads and actors, rounded; all else stays as it was initialised.
TEST_CASE(compact_weights_have_what_acting_and_imagining_need)
{
    const char *compact = PATH ".compact";
    const unsigned parts = WK_WEIGHTS_WORLD | WK_WEIGHTS_TASKS;
    wk_learner_config config = tiny(TASKS);
    config.depth = 4; // a decoder that is worth 8 bits
    fixture a = open_fixture(config, 1);
    for (uint64_t n = 0; n < UPDATES; n++)
        update(&a, n);
    save_labelled(&a);
    assert_ok(wk_weights_write_compact(PATH, compact, &err));
    config.seed = 5;
    fixture b = open_fixture(config, 1), twin = open_fixture(config, 1);
    assert_refused(wk_learner_restore_weights(b.learner, compact, parts, &err), WK_E_INPUT,
                   "has compact weights ('waker card --compact')");
    assert_same_weights(&b, &twin);
    assert_false(wk_learner_is_compact(b.learner));
    assert_ok(wk_learner_restore_weights(b.learner, compact, parts | WK_WEIGHTS_COMPACT, &err));
    assert_true(wk_learner_is_compact(b.learner));
    for (int network = 0; network < WK_NETWORKS; network++) {
        bool has = network == WK_NETWORK_MODEL || network == WK_NETWORK_REWARD ||
                   network == WK_NETWORK_TASK_ACTOR;
        assert_int_equal(same_network(&b, &twin, (wk_network_id)network), !has);
        if (!has) continue;
        size_t size;
        uint8_t *x = weights(&a, (wk_network_id)network, &size),
                *y = weights(&b, (wk_network_id)network, &size);
        for (size_t at = 0; at < size; at += sizeof(float)) {
            float was, is;
            memcpy(&was, x + at, sizeof was);
            memcpy(&is, y + at, sizeof is);
            if (!(fabsf(is - was) <= 0.01f)) fail_msg("%g became %g", (double)was, (double)is);
        }
        free(x);
        free(y);
    }
    wk_safetensors *file;
    assert_ok(wk_safetensors_open(compact, &file, &err));
    assert_string_equal(wk_safetensors_metadata(file, "step"), "300");
    assert_int_equal(wk_safetensors_find(file, "model/decoder/1/w")->dtype, WK_ST_I8);
    assert_int_equal(wk_safetensors_find(file, "model/encoder/1/w")->dtype, WK_ST_F16);
    wk_safetensors_close(file);
    assert_refused(wk_weights_write_compact(compact, PATH, &err), WK_E_FORMAT, "is not of float32");
    // A learner without tasks takes the world model.
    config.tasks = 0;
    fixture none = open_fixture(config, 1);
    assert_ok(wk_learner_restore_weights(none.learner, compact,
                                         WK_WEIGHTS_WORLD | WK_WEIGHTS_COMPACT, &err));
    assert_true(same_network(&none, &b, WK_NETWORK_MODEL));
    close_fixture(&a);
    close_fixture(&b);
    close_fixture(&twin);
    close_fixture(&none);
    remove(PATH);
    remove(compact);
}

// Training the tasks on observed states changes the task networks and nothing else.
TEST_CASE(tasks_can_be_trained_from_a_snapshot)
{
    fixture a = open_fixture(tiny(TASKS), 1), twin = open_fixture(tiny(TASKS), 1);
    batch *b = make_batch(0);
    wk_learner_batch v = view(b);
    wk_task_metrics tasks;
    assert_ok(wk_learner_observe(a.learner, &v, &err));
    assert_ok(wk_learner_update_tasks(a.learner, &v, &tasks, &err));
    for (int k = 0; k < TASKS; k++)
        assert_true(tasks.reward_loss[k] > 0 && tasks.policy[k].actor_norm > 0);
    for (int network = 0; network < WK_NETWORK_REWARD; network++) {
        size_t size;
        uint8_t *x = weights(&a, network, &size), *y = weights(&twin, network, &size);
        assert_memory_equal(x, y, size);
        free(x);
        free(y);
    }
    size_t size;
    uint8_t *x = weights(&a, WK_NETWORK_TASK_ACTOR, &size),
            *y = weights(&twin, WK_NETWORK_TASK_ACTOR, &size);
    assert_memory_not_equal(x, y, size);
    free(x);
    free(y);
    free(b);
    close_fixture(&a);
    close_fixture(&twin);
}

TEST_MAIN(NULL, NULL)
