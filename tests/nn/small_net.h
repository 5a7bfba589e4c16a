// A small network with an optimizer, for tests of saving, resuming and failing: two dense layers
// and a GRU cell trained to reproduce a fixed target.
#ifndef WK_TESTS_NN_SMALL_NET_H
#define WK_TESTS_NN_SMALL_NET_H

#include "nn/state.h"
#include "tensor/program.h"

typedef struct small_net {
    wk_backend *backend;
    wk_graph *g;
    wk_params *params;
    wk_scope *scope;
    wk_optimizer *optimizer;
    wk_program *program;
    wk_state *state;
    wk_tensor x, loss;
} small_net;

/// Records and places the network; on failure everything is released.
wk_status small_net_open(small_net *net, int stack, uint64_t seed, wk_error *err);
void small_net_close(small_net *net);

/// Trains one step and gives the loss before it.
wk_status small_net_step(small_net *net, float *loss, wk_error *err);

#endif
