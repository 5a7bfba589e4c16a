#include "tensor/cuda/passes/recurrence.h"
#include "tensor/shape.h"

#include <stdio.h>
#include <string.h>

// One node of a step: its op, the roles of its inputs and outputs.
enum { INPUTS_MAX = 7 };
typedef enum rule {
    ALWAYS,
    NOT_LAST, // absent from the last step that runs
} rule;

typedef struct pattern {
    wk_op op;
    rule when;
    int inputs, outputs;
    int in[INPUTS_MAX], out[WK_OUTPUTS_MAX];
} pattern;

#define ROLE(name) WK_ROLE_##name
#define INNER(i) (WK_ROLE_INNER + (i))

static const pattern forward_nodes[] = {
    {WK_OP_scale_rows, ALWAYS, 2, 1, {ROLE(STOCH_BEFORE), ROLE(KEEP)}, {ROLE(KEPT_STOCH)}},
    {WK_OP_scale_rows, ALWAYS, 2, 1, {ROLE(DETER_BEFORE), ROLE(KEEP)}, {ROLE(KEPT_DETER)}},
    {WK_OP_matmul, ALWAYS, 3, 1, {ROLE(KEPT_STOCH), ROLE(IN_W), ROLE(ACTION)}, {INNER(0)}},
    {WK_OP_bias_act, ALWAYS, 2, 1, {INNER(0), ROLE(IN_B)}, {ROLE(X)}},
    {WK_OP_matmul, ALWAYS, 2, 1, {ROLE(KEPT_DETER), ROLE(GRU_H)}, {INNER(1)}},
    {WK_OP_matmul, ALWAYS, 3, 1, {ROLE(X), ROLE(GRU_X), INNER(1)}, {ROLE(GATES)}},
    {WK_OP_gru,
     ALWAYS,
     5,
     2,
     {ROLE(GATES), ROLE(GATE_B), ROLE(GAIN), ROLE(OFFSET), ROLE(KEPT_DETER)},
     {ROLE(DETER), ROLE(STATS)}},
    {WK_OP_matmul, ALWAYS, 3, 1, {ROLE(DETER), ROLE(POST_W), ROLE(IMAGE)}, {INNER(2)}},
    {WK_OP_bias_act, ALWAYS, 2, 1, {INNER(2), ROLE(POST_B)}, {ROLE(POST_X)}},
    {WK_OP_matmul, ALWAYS, 2, 1, {ROLE(POST_X), ROLE(OUT_W)}, {INNER(3)}},
    {WK_OP_bias_act, ALWAYS, 2, 1, {INNER(3), ROLE(OUT_B)}, {ROLE(LOGITS)}},
    {WK_OP_sample_onehot, ALWAYS, 2, 2, {ROLE(LOGITS), ROLE(COUNTER)}, {ROLE(STOCH), ROLE(PROBS)}},
};

// DDETER_CARRIED is absent from the first step that runs. What the gradient before a step is
// called there is what the next one finds: DSTOCH_BEFORE below is its DSTOCH.
enum { DSTOCH_BEFORE = INNER(6), DDETER_BEFORE = INNER(7) };
static const pattern backward_nodes[] = {
    {WK_OP_softmax_grad, ALWAYS, 2, 1, {ROLE(PROBS), ROLE(DSTOCH)}, {INNER(0)}},
    {WK_OP_add_n, ALWAYS, 2, 1, {INNER(0), ROLE(DLOGITS_MORE)}, {ROLE(DLOGITS)}},
    {WK_OP_matmul, ALWAYS, 2, 1, {ROLE(DLOGITS), ROLE(OUT_W)}, {INNER(1)}},
    {WK_OP_act_grad, ALWAYS, 2, 1, {INNER(1), ROLE(POST_X)}, {ROLE(DPOST)}},
    {WK_OP_matmul, ALWAYS, 2, 1, {ROLE(DPOST), ROLE(POST_W)}, {INNER(2)}},
    {WK_OP_add_n, ALWAYS, 3, 1, {INNER(2), ROLE(DDETER_CARRIED), ROLE(DDETER_MORE)}, {INNER(3)}},
    {WK_OP_gru_grad,
     ALWAYS,
     7,
     5,
     {ROLE(GATES), ROLE(GATE_B), ROLE(GAIN), ROLE(OFFSET), ROLE(KEPT_DETER), ROLE(STATS), INNER(3)},
     {ROLE(DGATES), INNER(4), ROLE(DGATE_B), ROLE(DGAIN), ROLE(DOFFSET)}},
    {WK_OP_matmul, ALWAYS, 2, 1, {ROLE(DGATES), ROLE(GRU_X)}, {INNER(5)}},
    {WK_OP_matmul, NOT_LAST, 2, 1, {ROLE(DGATES), ROLE(GRU_H)}, {INNER(0)}},
    {WK_OP_act_grad, ALWAYS, 2, 1, {INNER(5), ROLE(X)}, {ROLE(DX)}},
    {WK_OP_matmul, NOT_LAST, 2, 1, {ROLE(DX), ROLE(IN_W)}, {INNER(1)}},
    {WK_OP_add_n, NOT_LAST, 2, 1, {INNER(0), INNER(4)}, {INNER(2)}},
    {WK_OP_scale_rows, NOT_LAST, 2, 1, {INNER(2), ROLE(KEEP)}, {DDETER_BEFORE}},
    {WK_OP_scale_rows, NOT_LAST, 2, 1, {INNER(1), ROLE(KEEP)}, {INNER(3)}},
    {WK_OP_add_n, NOT_LAST, 2, 1, {INNER(3), ROLE(DSTOCH_MORE)}, {DSTOCH_BEFORE}},
};

typedef struct template
{
    const pattern *nodes;
    int count;
}
template;

static const template templates[] = {
    {forward_nodes, sizeof forward_nodes / sizeof *forward_nodes},
    {backward_nodes, sizeof backward_nodes / sizeof *backward_nodes},
};

typedef struct search {
    const wk_plan *plan;
    const int *last_use;
    wk_recurrence *r;
    int begin, at;  // steps of the plan: the first, and the next
    int inner_used; // the last step that reads what one kernel for all steps does not write
} search;

static bool same_place(const wk_graph *g, int a, int b)
{
    if (!a || !b) return a == b;
    const wk_tensor_info *x = wk_info(g, a), *y = wk_info(g, b);
    return x->root == y->root && x->offset == y->offset &&
           wk_shape_count(x->type.shape) == wk_shape_count(y->type.shape);
}

// Whether the tensor can have this role: the one that has it already, or the first.
static bool bind(const wk_graph *g, wk_recurrence_step *step, int role, int tensor)
{
    if (step->tensor[role]) return same_place(g, step->tensor[role], tensor);
    step->tensor[role] = tensor;
    return tensor != 0;
}

// What the attributes of a node must be, beyond its op.
static bool attributes_fit(const pattern *p, const wk_node *node, bool backward)
{
    const wk_attrs *a = &node->attrs;
    switch (node->op) {
    case WK_OP_matmul:
        return !a->matmul.transpose_a && a->matmul.transpose_b == backward && !a->matmul.reduce;
    case WK_OP_bias_act:
        return a->bias_act.stack == 1 &&
               a->bias_act.activation == (p->in[1] == WK_ROLE_OUT_B ? WK_IDENTITY : WK_ELU);
    case WK_OP_act_grad:
        return a->bias_act.activation == WK_ELU;
    case WK_OP_gru_grad:
        return a->norm.params;
    default:
        return true;
    }
}

// Matches one node. An inner result takes the place of an earlier one of the same number, which no
// node reads any more.
static bool match_node(search *s, const pattern *p, wk_recurrence_step *step)
{
    const wk_graph *g = s->plan->graph;
    if (s->at >= (int)s->plan->node_count) return false;
    const wk_node *node = wk_plan_node(s->plan, s->at);
    bool first = s->r->backward && s->r->count == 0;
    bool lacks_carried = first && p->in[1] == WK_ROLE_DDETER_CARRIED;
    if (node->op != p->op || node->input_count != p->inputs - lacks_carried) return false;
    if (!attributes_fit(p, node, s->r->backward)) return false;
    for (int i = 0, k = 0; i < p->inputs; i++) {
        if (lacks_carried && i == 1) continue;
        if (!bind(g, step, p->in[i], wk_node_inputs(g, node)[k++])) return false;
    }
    for (int i = 0; i < p->outputs; i++) {
        step->tensor[p->out[i]] = node->outputs + i;
        step->node_of[p->out[i]] = s->at - s->begin;
        int used = s->last_use[node->outputs + i];
        if (p->out[i] >= WK_ROLE_INNER && used > s->inner_used) s->inner_used = used;
    }
    if (node->op == WK_OP_gru || node->op == WK_OP_gru_grad)
        s->r->epsilon = node->attrs.norm.epsilon;
    s->at++;
    return true;
}

// What a step has in common with the one that ran before it.
static void take_over(wk_recurrence_step *step, const wk_recurrence_step *before, bool backward)
{
    memcpy(step->tensor, before->tensor, WK_ROLES_SHARED * sizeof *step->tensor);
    if (backward) {
        step->tensor[WK_ROLE_DSTOCH] = before->tensor[DSTOCH_BEFORE];
        step->tensor[WK_ROLE_DDETER_CARRIED] = before->tensor[DDETER_BEFORE];
    } else {
        step->tensor[WK_ROLE_STOCH_BEFORE] = before->tensor[WK_ROLE_STOCH];
        step->tensor[WK_ROLE_DETER_BEFORE] = before->tensor[WK_ROLE_DETER];
    }
}

static bool match_step(search *s, bool last)
{
    const template *t = &templates[s->r->backward];
    search before = *s;
    wk_recurrence_step *step = &s->r->step[s->r->count];
    memset(step, 0, sizeof *step);
    if (s->r->count > 0) take_over(step, step - 1, s->r->backward);
    for (int i = 0; i < t->count; i++) {
        if (last && t->nodes[i].when == NOT_LAST) continue;
        if (match_node(s, &t->nodes[i], step)) continue;
        *s = before;
        return false;
    }
    s->r->count++;
    return true;
}

// Whether another step follows the ones that were found.
static bool has_more(search *s)
{
    search found = *s;
    bool more = match_step(s, false);
    s->r->count -= more;
    *s = found;
    return more;
}

static bool match_steps(search *s)
{
    while (s->r->count < WK_RECURRENCE_STEPS_MAX && match_step(s, false))
        continue;
    bool full = s->r->count == WK_RECURRENCE_STEPS_MAX;
    if (s->r->backward && (full || !match_step(s, true))) return false;
    s->r->truncated = full && has_more(s);
    s->r->nodes = s->at - s->begin;
    return s->r->count >= 2 && s->inner_used < s->at;
}

static bool is_zero(const wk_graph *g, int tensor)
{
    const wk_tensor_info *root = wk_info(g, wk_info(g, tensor)->root);
    if (root->kind != WK_CONSTANT || !root->value) return false;
    for (size_t i = 0; i < wk_shape_count(root->type.shape); i++)
        if (root->value[i] != 0) return false;
    return true;
}

static bool has_shape(const wk_graph *g, int tensor, int rows, int cols)
{
    wk_shape shape = wk_info(g, tensor)->type.shape;
    return wk_shape_count(shape) == (size_t)rows * (size_t)cols;
}

static int last_dim(const wk_graph *g, int tensor)
{
    wk_shape shape = wk_info(g, tensor)->type.shape;
    return shape.dim[shape.rank - 1];
}

// Reads the sizes off the first step, and checks that they belong together.
static bool measure(const wk_graph *g, wk_recurrence *r)
{
    const int *tensor = r->step[0].tensor;
    int flat = wk_info(g, tensor[WK_ROLE_IN_W])->type.shape.dim[0];
    r->hidden = last_dim(g, tensor[WK_ROLE_IN_W]);
    r->deter = wk_info(g, tensor[WK_ROLE_POST_W])->type.shape.dim[0];
    r->classes = last_dim(g, tensor[WK_ROLE_PROBS]);
    r->variables = flat / r->classes;
    r->rows = (int)(wk_shape_count(wk_info(g, tensor[WK_ROLE_X])->type.shape) / (size_t)r->hidden);
    return r->variables * r->classes == flat &&
           has_shape(g, tensor[WK_ROLE_GRU_X], r->hidden, 3 * r->deter) &&
           has_shape(g, tensor[WK_ROLE_GRU_H], r->deter, 3 * r->deter) &&
           has_shape(g, tensor[WK_ROLE_OUT_W], r->hidden, flat) &&
           has_shape(g, tensor[WK_ROLE_PROBS], r->rows, flat) &&
           has_shape(g, tensor[WK_ROLE_KEEP], r->rows, 1);
}

bool wk_recurrence_find(const wk_plan *plan, const int *last_use, int begin, wk_recurrence *out)
{
    const wk_graph *g = plan->graph;
    for (int backward = 0; backward < 2; backward++) {
        out->backward = backward;
        out->count = 0;
        search s = {plan, last_use, out, begin, begin, 0};
        if (!match_steps(&s) || !measure(g, out)) continue;
        const int *first = out->step[0].tensor;
        if (backward ||
            (is_zero(g, first[WK_ROLE_STOCH_BEFORE]) && is_zero(g, first[WK_ROLE_DETER_BEFORE])))
            return true;
    }
    return false;
}

// A model that kernels are compiled for.
typedef struct version {
    int hidden, deter, variables, classes;
    size_t shared[2]; // of a block, forward and backward
} version;

static const version versions[] = {
#define MODEL(name, hidden, deter, variables, classes, forward, backward, together)                \
    {hidden, deter, variables, classes, {forward, backward}},
#include "tensor/cuda/passes/model_sizes.def"
#undef MODEL
};

static const version *find_version(const wk_recurrence *r)
{
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        const version *v = &versions[i];
        if (v->hidden == r->hidden && v->deter == r->deter && v->variables == r->variables &&
            v->classes == r->classes)
            return v;
    }
    return NULL;
}

static int larger(int a, int b)
{
    return a > b ? a : b;
}

// Blocks have eight units of the state or of a hidden layer, or a categorical variable, and all
// must run at once.
static bool device_holds(const version *v, bool backward, const wk_cuda_limits *limits)
{
    enum { UNITS = 8 };
    int blocks = larger(larger(v->deter, v->hidden) / UNITS, v->variables);
    return blocks <= limits->processors && v->shared[backward] <= limits->shared_memory;
}

bool wk_recurrence_why_not(const wk_recurrence *r, const wk_cuda_limits *limits, char *why,
                           size_t size)
{
    const version *v = find_version(r);
    if (v && r->rows <= WK_RECURRENCE_ROWS_MAX && device_holds(v, r->backward, limits))
        return false;
    if (!v)
        snprintf(why, size,
                 "no kernel for a recurrence of %d hidden and %d deterministic units and %d x %d "
                 "classes, which are not a preset's",
                 r->hidden, r->deter, r->variables, r->classes);
    else if (r->rows > WK_RECURRENCE_ROWS_MAX)
        snprintf(why, size, "the kernel of the recurrence takes %d sequences, not %d",
                 WK_RECURRENCE_ROWS_MAX, r->rows);
    else
        snprintf(why, size, "the device is too small for the kernel of the recurrence");
    return true;
}

void wk_recurrence_last_use(const wk_plan *plan, int *last_use)
{
    const wk_graph *g = plan->graph;
    for (size_t i = 0; i < g->tensors.count; i++)
        last_use[i] = wk_info(g, (int)i)->output ? (int)plan->node_count : -1;
    for (int step = 0; step < (int)plan->node_count; step++) {
        const wk_node *node = wk_plan_node(plan, step);
        for (int i = 0; i < node->input_count; i++) {
            int *last = &last_use[wk_info(g, wk_node_inputs(g, node)[i])->root];
            if (*last < step) *last = step;
        }
    }
}
