// Timing of a program's nodes, gathered by the backend and written for people (a table) and for
// trace viewers (Chrome's event format).
#include "base/json.h"
#include "tensor/plan.h"
#include "tensor/program.h"

#include <stdlib.h>

const char *wk_trace_request(void)
{
    const char *value = getenv("WAKER_TRACE");
    return value && value[0] && !(value[0] == '0' && !value[1]) ? value : NULL;
}

wk_status wk_program_trace(wk_program *p, bool on, wk_error *err)
{
    free(p->seconds);
    p->seconds = NULL;
    p->traced_runs = 0;
    if (!on) return WK_OK;
    p->seconds = calloc(p->plan->node_count + 1, sizeof *p->seconds);
    if (!p->seconds) return wk_fail(err, WK_E_MEMORY, "no memory to trace a program");
    return WK_OK;
}

typedef struct total {
    const char *name;
    size_t calls;
    double seconds;
} total;

static int by_seconds(const void *a, const void *b)
{
    const total *x = a, *y = b;
    if (x->seconds != y->seconds) return x->seconds > y->seconds ? -1 : 1;
    return (x > y) - (x < y);
}

static const wk_node *traced_node(const wk_program *p, size_t step)
{
    return &p->plan->graph->nodes.items[p->plan->nodes[step]];
}

size_t wk_program_section_count(const wk_program *p)
{
    return p->plan->graph->sections.count;
}

wk_section_time wk_program_section_time(const wk_program *p, size_t i)
{
    wk_section_time time = {.name = p->plan->graph->sections.items[i]};
    for (size_t step = 0; step < p->plan->node_count; step++) {
        if ((size_t)traced_node(p, step)->section != i) continue;
        time.nodes++;
        if (p->seconds && p->traced_runs) time.seconds += p->seconds[step] / (double)p->traced_runs;
    }
    return time;
}

static void write_totals(const wk_program *p, const char *title, total *totals, size_t count,
                         wk_text *out)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += totals[i].seconds;
    qsort(totals, count, sizeof *totals, by_seconds);
    wk_text_printf(out, "%-32s %8s %12s %7s\n", title, "nodes", "ms a run", "share");
    double runs = p->traced_runs ? (double)p->traced_runs : 1;
    for (size_t i = 0; i < count; i++) {
        if (totals[i].calls == 0) continue;
        wk_text_printf(out, "%-32s %8zu %12.4f %6.1f%%\n", totals[i].name, totals[i].calls,
                       1e3 * totals[i].seconds / runs, sum > 0 ? 100 * totals[i].seconds / sum : 0);
    }
}

void wk_program_trace_table(const wk_program *p, wk_text *out)
{
    const wk_graph *g = p->plan->graph;
    total *sections = calloc(g->sections.count, sizeof *sections);
    total ops[WK_OP_COUNT] = {0};
    if (!p->seconds || !sections) {
        out->failed |= p->seconds && !sections;
        free(sections);
        return;
    }
    for (int i = 0; i < WK_OP_COUNT; i++)
        ops[i].name = wk_op_table[i].name;
    for (size_t i = 0; i < g->sections.count; i++)
        sections[i].name = g->sections.items[i][0] ? g->sections.items[i] : "(no section)";
    for (size_t step = 0; step < p->plan->node_count; step++) {
        const wk_node *node = traced_node(p, step);
        total *both[] = {&ops[node->op], &sections[node->section]};
        for (int i = 0; i < 2; i++) {
            both[i]->calls++;
            both[i]->seconds += p->seconds[step];
        }
    }
    write_totals(p, "op", ops, WK_OP_COUNT, out);
    wk_text_puts(out, "\n");
    write_totals(p, "section", sections, g->sections.count, out);
    free(sections);
}

static void write_shape(wk_json *json, const char *key, wk_shape shape)
{
    wk_json_array(json, key);
    for (int i = 0; i < shape.rank; i++)
        wk_json_integer(json, NULL, shape.dim[i]);
    wk_json_close(json, ']');
}

// The shapes of the first inputs and outputs say which of many nodes of an op this is.
static void write_shapes(wk_json *json, const wk_graph *g, const wk_node *node)
{
    static const char *const inputs[] = {"in0", "in1", "in2"};
    for (int i = 0; i < node->input_count && i < 3; i++) {
        int id = wk_node_inputs(g, node)[i];
        if (id) write_shape(json, inputs[i], wk_info(g, id)->type.shape);
    }
    if (node->output_count) write_shape(json, "out", wk_info(g, node->outputs)->type.shape);
}

void wk_program_trace_json(const wk_program *p, wk_text *out)
{
    wk_json json = {.text = out};
    wk_json_object(&json, NULL);
    wk_json_array(&json, "traceEvents");
    double now = 0, runs = p->traced_runs ? (double)p->traced_runs : 1;
    for (size_t step = 0; p->seconds && step < p->plan->node_count; step++) {
        const wk_node *node = traced_node(p, step);
        double microseconds = 1e6 * p->seconds[step] / runs;
        wk_json_object(&json, NULL);
        wk_json_string(&json, "name", wk_op_table[node->op].name);
        wk_json_string(&json, "cat", p->plan->graph->sections.items[node->section]);
        wk_json_string(&json, "ph", "X");
        wk_json_number(&json, "ts", now);
        wk_json_number(&json, "dur", microseconds);
        wk_json_integer(&json, "pid", 0);
        wk_json_integer(&json, "tid", 0);
        wk_json_object(&json, "args");
        wk_json_integer(&json, "node", p->plan->nodes[step]);
        write_shapes(&json, p->plan->graph, node);
        wk_json_close(&json, '}');
        wk_json_close(&json, '}');
        now += microseconds;
    }
    wk_json_close(&json, ']');
    wk_json_close(&json, '}');
}
