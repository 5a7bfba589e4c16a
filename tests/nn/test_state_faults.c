// A network recorded, placed, saved and loaded while every allocation and file call fails once in
// turn: a clear error each time, nothing leaks, and a later attempt works.
#include "nn/small_net.h"
#include "support/check.h"
#include "support/faults.h"
#include <stdio.h>

#define PATH "test_state_faults.tmp.safetensors"

static wk_status load(const small_net *net, wk_error *err)
{
    wk_safetensors *file = NULL;
    WK_TRY(wk_safetensors_open(PATH, &file, err));
    wk_status status = wk_state_load(net->state, file, NULL, err);
    wk_safetensors_close(file);
    return status;
}

static void assert_told(long call, wk_status status, const wk_error *err)
{
    if (status != WK_OK && !err->message[0]) fail_msg("call %ld: no message", call);
    if (fault_sweep.blocks != 0) fail_msg("call %ld: %ld blocks leak", call, fault_sweep.blocks);
    if (fault_sweep.files != 0) fail_msg("call %ld: %ld files stay open", call, fault_sweep.files);
}

TEST_CASE(recording_and_placing_survives_every_failed_allocation)
{
    long call = 1, refused = 0;
    for (;; call++) {
        wk_error err = {0};
        small_net net;
        fault_sweep_arm((fault_plan){.call = call});
        wk_status status = small_net_open(&net, 2, 1, &err);
        small_net_close(&net);
        bool fired = fault_sweep_disarm();
        assert_told(call, status, &err);
        if (!fired) {
            assert_ok(status);
            break;
        }
        refused += status != WK_OK;
    }
    assert_true(call > 30 && refused > 30);
}

TEST_CASE(recording_with_no_memory_left_survives)
{
    for (long call = 1;; call++) {
        wk_error err = {0};
        small_net net;
        fault_sweep_arm((fault_plan){.call = call, .persistent = true});
        wk_status status = small_net_open(&net, 0, 1, &err);
        small_net_close(&net);
        bool fired = fault_sweep_disarm();
        assert_told(call, status, &err);
        if (!fired) break;
        assert_true(status != WK_OK);
    }
}

TEST_CASE(saving_survives_every_failed_call)
{
    wk_error err = {0};
    small_net net, other;
    float loss;
    assert_ok(small_net_open(&net, 0, 1, &err));
    assert_ok(small_net_open(&other, 0, 2, &err));
    assert_ok(wk_state_save(net.state, NULL, PATH, NULL, 0, &err));
    for (long call = 1;; call++) {
        assert_ok(small_net_step(&net, &loss, &err));
        fault_sweep_arm((fault_plan){.call = call});
        wk_status status = wk_state_save(net.state, NULL, PATH, NULL, 0, &err);
        bool fired = fault_sweep_disarm();
        assert_told(call, status, &err);
        assert_ok(load(&other, &err));
        if (!fired) break;
    }
    small_net_close(&net);
    small_net_close(&other);
    remove(PATH);
}

TEST_CASE(loading_survives_every_failed_call)
{
    wk_error err = {0};
    small_net net;
    assert_ok(small_net_open(&net, 0, 1, &err));
    assert_ok(wk_state_save(net.state, NULL, PATH, NULL, 0, &err));
    for (long call = 1;; call++) {
        fault_sweep_arm((fault_plan){.call = call});
        wk_status status = load(&net, &err);
        bool fired = fault_sweep_disarm();
        assert_told(call, status, &err);
        if (!fired) {
            assert_ok(status);
            break;
        }
    }
    small_net_close(&net);
    remove(PATH);
}

TEST_MAIN(NULL, NULL)
