// A graph written for people, one node a line.
#include "tensor/graph.h"
#include "tensor/node.h"

static const char *const kind_names[] = {[WK_TEMPORARY] = "temporary",
                                         [WK_INPUT] = "input",
                                         [WK_PERSISTENT] = "persistent",
                                         [WK_CONSTANT] = "constant"};

// "%12 encoder/h0 f32[16,600]"
static void write_tensor(const wk_graph *g, int id, wk_text *out)
{
    if (!id) {
        wk_text_puts(out, "none");
        return;
    }
    const wk_tensor_info *info = wk_info(g, id);
    wk_text_printf(out, "%%%d ", id);
    if (info->name) wk_text_printf(out, "%s ", info->name);
    wk_text_printf(out, "%s[", wk_dtype_name(info->type.dtype));
    for (int i = 0; i < info->type.shape.rank; i++)
        wk_text_printf(out, "%s%d", i ? "," : "", info->type.shape.dim[i]);
    wk_text_puts(out, "]");
}

static void write_leaves(const wk_graph *g, wk_text *out)
{
    for (size_t i = 1; i < g->tensors.count; i++) {
        const wk_tensor_info *info = wk_info(g, (int)i);
        if (info->producer >= 0) continue;
        wk_text_printf(out, "%s ", kind_names[info->kind]);
        write_tensor(g, (int)i, out);
        wk_text_puts(out, "\n");
    }
}

static void write_node(const wk_graph *g, const wk_node *node, wk_text *out)
{
    for (int i = 0; i < node->output_count; i++) {
        if (i) wk_text_puts(out, ", ");
        write_tensor(g, node->outputs + i, out);
    }
    wk_text_printf(out, "%s%s(", node->output_count ? " = " : "", wk_op_table[node->op].name);
    for (int i = 0; i < node->input_count; i++) {
        if (i) wk_text_puts(out, ", ");
        int id = wk_node_inputs(g, node)[i];
        if (id)
            wk_text_printf(out, "%%%d", id);
        else
            wk_text_puts(out, "none");
    }
    wk_text_puts(out, ")");
    if (wk_node_is_view(g, node)) wk_text_puts(out, " view");
    const char *section = g->sections.items[node->section];
    if (section[0]) wk_text_printf(out, " ; %s", section);
}

void wk_graph_dump_text(const wk_graph *g, wk_text *out)
{
    write_leaves(g, out);
    for (size_t i = 0; i < g->nodes.count; i++) {
        write_node(g, &g->nodes.items[i], out);
        wk_text_puts(out, "\n");
    }
    for (size_t i = 1; i < g->tensors.count; i++)
        if (wk_info(g, (int)i)->output) wk_text_printf(out, "output %%%zu\n", i);
}
