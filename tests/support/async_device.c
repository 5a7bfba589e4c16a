#include "support/async_device.h"

#include "base/memory.h"
#include "support/check.h"
#include "tensor/plan.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

typedef struct lazy_queue lazy_queue;

// Something enqueued; exactly one of the first parts is used.
typedef struct item {
    wk_buffer *to;
    const wk_buffer *from;
    wk_executable *executable;
    lazy_queue *queue; // waits for its first `offset` items
    wk_gather gather;
    size_t offset, from_offset, size;
    void *bytes;
    const void *source;
} item;

struct lazy_queue {
    wk_queue base;
    WK_ARRAY(item) items;
    size_t done;
    bool busy;        // with something that others come before
    lazy_queue *next; // of all queues
};

typedef struct lazy_event {
    wk_event base;
    lazy_queue *queue;
    size_t position;
} lazy_event;

// What was compiled, for the events in its graph.
typedef struct compiled {
    wk_executable *executable;
    const wk_plan *plan;
    struct compiled *next;
} compiled;

static compiled *programs;
static wk_backend_vtable vtables[3]; // by mode
static const wk_backend_vtable *cpu;
static size_t memory;
static int buffers_left = INT_MAX;
static lazy_queue *all;

static void advance(lazy_queue *q, size_t position);

static void execute(const item *x)
{
    wk_error err = {0};
    if (x->queue) {
        if (x->offset > 0) advance(x->queue, x->offset);
    } else if (x->executable)
        assert_ok(cpu->run(x->executable, NULL, &err));
    else if (x->gather.to)
        for (size_t i = 0; i < x->gather.count; i++)
            memcpy((char *)x->gather.to->address + x->gather.offset + i * x->gather.row,
                   x->gather.rows[i], x->gather.row);
    else if (x->source)
        memcpy((char *)x->to->address + x->offset, x->source, x->size);
    else if (x->bytes)
        memcpy(x->bytes, (const char *)x->from->address + x->from_offset, x->size);
    else
        memcpy((char *)x->to->address + x->offset, (const char *)x->from->address + x->from_offset,
               x->size);
}

static void let_others_go_first(lazy_queue *q)
{
    if (q->base.backend->vtable != &vtables[ASYNC_OTHERS_FIRST] || q->busy) return;
    q->busy = true;
    for (lazy_queue *other = all; other; other = other->next)
        if (!other->busy) advance(other, other->items.count);
    q->busy = false;
}

static void advance(lazy_queue *q, size_t position)
{
    while (q->done < position) {
        let_others_go_first(q);
        if (q->done >= position) return;
        item x = q->items.items[q->done++];
        execute(&x);
    }
}

static wk_status put(wk_queue *queue, item x)
{
    lazy_queue *q = (lazy_queue *)queue;
    assert_true(wk_array_push(&q->items, x));
    if (queue->backend->vtable == &vtables[ASYNC_EAGER]) advance(q, q->items.count);
    return WK_OK;
}

static wk_status create(wk_backend *backend, bool high_priority, wk_queue **out, wk_error *err)
{
    (void)high_priority, (void)err;
    lazy_queue *q = calloc(1, sizeof *q);
    assert_non_null(q);
    q->base.backend = backend;
    q->next = all;
    all = q;
    *out = &q->base;
    return WK_OK;
}

// Nobody waits any more for what is done.
static void forget(lazy_queue *q)
{
    lazy_queue **at = &all;
    while (*at != q)
        at = &(*at)->next;
    *at = q->next;
    for (lazy_queue *other = all; other; other = other->next)
        for (size_t i = other->done; i < other->items.count; i++)
            if (other->items.items[i].queue == q) other->items.items[i].offset = 0;
}

static void destroy(wk_queue *queue)
{
    lazy_queue *q = (lazy_queue *)queue;
    advance(q, q->items.count);
    forget(q);
    wk_array_free(&q->items);
    free(q);
}

static wk_status upload(wk_queue *queue, wk_buffer *buffer, size_t offset, const void *bytes,
                        size_t size, wk_error *err)
{
    (void)err;
    return put(queue, (item){.to = buffer, .offset = offset, .source = bytes, .size = size});
}

static wk_status download(wk_queue *queue, const wk_buffer *buffer, size_t offset, void *bytes,
                          size_t size, wk_error *err)
{
    (void)err;
    return put(queue, (item){.from = buffer, .from_offset = offset, .bytes = bytes, .size = size});
}

static wk_status copy(wk_queue *queue, const wk_copy *copies, size_t count, wk_error *err)
{
    (void)err;
    for (const wk_copy *c = copies; c < copies + count; c++)
        WK_TRY(put(queue, (item){.to = c->to,
                                 .from = c->from,
                                 .offset = c->to_offset,
                                 .from_offset = c->from_offset,
                                 .size = c->size}));
    return WK_OK;
}

static wk_status upload_pinned(wk_queue *queue, const wk_upload *uploads, size_t count,
                               wk_error *err)
{
    for (const wk_upload *u = uploads; u < uploads + count; u++)
        WK_TRY(upload(queue, u->to, u->offset, u->bytes, u->size, err));
    return WK_OK;
}

static wk_status gather(wk_queue *queue, const wk_gather *gathers, size_t count, wk_error *err)
{
    (void)err;
    for (size_t i = 0; i < count; i++)
        WK_TRY(put(queue, (item){.gather = gathers[i]}));
    return WK_OK;
}

static wk_status event_create(wk_backend *backend, wk_event **out, wk_error *err)
{
    (void)err;
    lazy_event *m = calloc(1, sizeof *m);
    assert_non_null(m);
    m->base.backend = backend;
    *out = &m->base;
    return WK_OK;
}

static void event_destroy(wk_event *event)
{
    free(event);
}

static wk_status put_event(wk_queue *queue, wk_event *event, wk_error *err)
{
    (void)err;
    lazy_event *m = (lazy_event *)event;
    m->queue = (lazy_queue *)queue;
    m->position = m->queue->items.count;
    return WK_OK;
}

static wk_status after(wk_queue *queue, const wk_event *event, wk_error *err)
{
    (void)err;
    const lazy_event *m = (const lazy_event *)event;
    return m->queue ? put(queue, (item){.queue = m->queue, .offset = m->position}) : WK_OK;
}

static const wk_plan *plan_of(const wk_executable *executable)
{
    for (const compiled *c = programs;; c = c->next)
        if (c->executable == executable) return c->plan;
}

// All of a run is done before what it marks.
static wk_status run(wk_queue *queue, wk_executable *executable, wk_error *err)
{
    const wk_plan *plan = plan_of(executable);
    const wk_node *nodes = plan->graph->nodes.items;
    WK_TRY(put(queue, (item){.executable = executable}));
    for (size_t i = 0; i < plan->node_count; i++)
        if (nodes[plan->nodes[i]].op == WK_OP_mark)
            WK_TRY(put_event(queue, nodes[plan->nodes[i]].attrs.event, err));
    return WK_OK;
}

static wk_status wait(const wk_event *event, wk_error *err)
{
    (void)err;
    const lazy_event *m = (const lazy_event *)event;
    if (m->queue) advance(m->queue, m->position);
    return WK_OK;
}

static wk_status drain(wk_queue *queue, wk_error *err)
{
    (void)err;
    lazy_queue *q = (lazy_queue *)queue;
    advance(q, q->items.count);
    return WK_OK;
}

static wk_status pinned_create(wk_backend *backend, size_t size, void **out, wk_error *err)
{
    (void)backend, (void)err;
    *out = calloc(1, size ? size : 1);
    assert_non_null(*out);
    return WK_OK;
}

static void pinned_destroy(wk_backend *backend, void *bytes)
{
    (void)backend;
    free(bytes);
}

static const wk_queue_vtable queues = {create,       destroy,       upload,        download,
                                       copy,         upload_pinned, gather,        run,
                                       event_create, event_destroy, put_event,     after,
                                       wait,         drain,         pinned_create, pinned_destroy};

static wk_status buffer_create(wk_backend *backend, size_t size, wk_buffer **out, wk_error *err)
{
    if (buffers_left-- <= 0) return wk_fail(err, WK_E_MEMORY, "the device is full");
    return cpu->buffer_create(backend, size, out, err);
}

static wk_status compile(wk_backend *backend, const wk_plan *const *plans, int count,
                         wk_executable **out, wk_error *err)
{
    WK_TRY(cpu->compile(backend, plans, count, out, err));
    compiled *c = malloc(sizeof *c);
    assert_non_null(c);
    *c = (compiled){*out, plans[0], programs};
    programs = c;
    return WK_OK;
}

static void executable_destroy(wk_executable *executable)
{
    compiled **at = &programs;
    while ((*at)->executable != executable)
        at = &(*at)->next;
    compiled *gone = *at;
    *at = gone->next;
    free(gone);
    cpu->executable_destroy(executable);
}

static wk_memory_info room(const wk_backend *backend)
{
    (void)backend;
    return (wk_memory_info){.free = memory}; // total 0: learners may take what they need
}

void async_device_make(wk_backend *backend, async_mode mode)
{
    cpu = backend->vtable;
    vtables[mode] = *cpu;
    vtables[mode].queue = &queues;
    vtables[mode].buffer_create = buffer_create;
    vtables[mode].compile = compile;
    vtables[mode].executable_destroy = executable_destroy;
    vtables[mode].memory_info = room;
    backend->vtable = &vtables[mode];
}

void async_device_set_memory(size_t bytes, int buffers)
{
    memory = bytes;
    buffers_left = buffers;
}
