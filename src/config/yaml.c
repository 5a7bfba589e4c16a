#include "config/yaml.h"

#include "base/text.h"
#include <string.h>
#include <yaml.h>

enum { DEPTH_MAX = 8, VALUES_MAX = 4000 };

typedef struct reader {
    yaml_parser_t parser;
    const char *bytes, *end; // the text
    wk_yaml *out;
    bool has_blocks;
    const char *path[DEPTH_MAX]; // keys of the mappings around the current place
    int depth;
    wk_error *err;
} reader;

bool wk_yaml_is_pattern(const char *key)
{
    return key[strspn(key, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-")];
}

static wk_status fail_at(reader *r, size_t line, const char *problem)
{
    return wk_fail(r->err, WK_E_FORMAT, "%s:%zu: %s", r->out->name, line + 1, problem);
}

static wk_status no_memory(reader *r)
{
    return wk_fail(r->err, WK_E_MEMORY, "%s: no memory to read it", r->out->name);
}

// Where a line begins, counted from 0.
static const char *find_line(const reader *r, size_t line)
{
    const char *at = r->bytes;
    for (; line > 0 && at < r->end; line--) {
        const char *end_of_line = memchr(at, '\n', (size_t)(r->end - at));
        at = end_of_line ? end_of_line + 1 : r->end;
    }
    return at;
}

static bool is_indented_by_tab(const reader *r, size_t line)
{
    const char *at = find_line(r, line);
    while (at < r->end && *at == ' ')
        at++;
    return at < r->end && *at == '\t';
}

// What libyaml says of these is true and tells few people what to change.
static wk_status explain(reader *r)
{
    const yaml_mark_t *mark = &r->parser.problem_mark;
    const char *problem = r->parser.problem ? r->parser.problem : "this is not YAML";
    const char *at = find_line(r, mark->line) + mark->column;
    if (is_indented_by_tab(r, mark->line))
        return fail_at(r, mark->line,
                       "this line is indented by a tab, which YAML does not allow; replace the tab "
                       "by spaces");
    if (strcmp(problem, "found character that cannot start any token") == 0 && at < r->end && *at &&
        strchr("@`%", *at))
        return wk_fail(r->err, WK_E_FORMAT,
                       "%s:%zu: '%c' cannot begin a key or a value; put the text in quotes",
                       r->out->name, mark->line + 1, *at);
    return fail_at(r, mark->line, problem);
}

static size_t lines_before(const reader *r, size_t offset)
{
    size_t lines = 0;
    for (const char *at = r->bytes; at < r->end && (size_t)(at - r->bytes) < offset; at++)
        lines += *at == '\n';
    return lines;
}

static wk_status next_event(reader *r, yaml_event_t *event)
{
    if (yaml_parser_parse(&r->parser, event)) return WK_OK;
    if (r->parser.error == YAML_MEMORY_ERROR) return no_memory(r);
    // Bytes that are no text have no mark, but a place.
    if (r->parser.error == YAML_READER_ERROR)
        return fail_at(r, lines_before(r, r->parser.problem_offset),
                       r->parser.problem ? r->parser.problem : "this is not text");
    return explain(r);
}

static wk_status copy_scalar(reader *r, const yaml_event_t *event, const char **out)
{
    const char *text = (const char *)event->data.scalar.value;
    if (strlen(text) != event->data.scalar.length)
        return fail_at(r, event->start_mark.line, "a zero byte in a text");
    *out = wk_arena_string(&r->out->arena, text);
    return *out ? WK_OK : no_memory(r);
}

// A plain scalar that YAML reads as "nothing".
static bool is_null(const yaml_event_t *event)
{
    const char *text = (const char *)event->data.scalar.value;
    return event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
           (!*text || strcmp(text, "~") == 0 || strcmp(text, "null") == 0);
}

// The path below the block as one key. Where a part is a pattern the point between is escaped, so
// that it stays a point.
static wk_status flat_key(reader *r, const char **out)
{
    const char *key = r->path[r->depth - 1];
    for (int i = r->depth - 2; i >= (r->has_blocks ? 1 : 0); i--) {
        bool pattern = wk_yaml_is_pattern(r->path[i]) || wk_yaml_is_pattern(key);
        wk_text joined = {0};
        wk_text_printf(&joined, "%s%s%s", r->path[i], pattern ? "\\." : ".", key);
        key = joined.failed ? NULL : wk_arena_string(&r->out->arena, wk_text_get(&joined));
        wk_text_free(&joined);
        if (!key) return no_memory(r);
    }
    *out = key;
    return WK_OK;
}

// Adds a value whose text, and items of a list, are set.
static wk_status add_value(reader *r, wk_yaml_value value, size_t line)
{
    wk_yaml *out = r->out;
    value.block = r->has_blocks ? (int)out->blocks.count - 1 : -1;
    value.line = (int)line + 1;
    WK_TRY(flat_key(r, &value.key));
    if (out->values.count >= VALUES_MAX) return fail_at(r, line, "too many values");
    for (size_t i = 0; i < out->values.count; i++) {
        const wk_yaml_value *old = &out->values.items[i];
        if (old->block == value.block && strcmp(old->key, value.key) == 0)
            return wk_fail(r->err, WK_E_FORMAT, "%s:%zu: '%.80s' is already defined in line %d",
                           out->name, line + 1, value.key, old->line);
    }
    return wk_array_push(&out->values, value) ? WK_OK : no_memory(r);
}

static wk_status add_block(reader *r, const char *name, size_t line)
{
    wk_yaml *out = r->out;
    for (size_t i = 0; i < out->blocks.count; i++)
        if (strcmp(out->blocks.items[i].name, name) == 0)
            return wk_fail(r->err, WK_E_FORMAT,
                           "%s:%zu: block '%.80s' is already defined in line %d", out->name,
                           line + 1, name, out->blocks.items[i].line);
    if (out->blocks.count >= VALUES_MAX) return fail_at(r, line, "too many blocks");
    const wk_yaml_block block = {name, (int)line + 1};
    return wk_array_push(&out->blocks, block) ? WK_OK : no_memory(r);
}

// A list that is being read.
typedef struct list_reader {
    wk_text text;
    WK_ARRAY(const char *) items;
} list_reader;

static wk_status read_item(reader *r, const yaml_event_t *event, list_reader *list)
{
    if (event->type != YAML_SCALAR_EVENT || is_null(event))
        return fail_at(r, event->start_mark.line, "a list may have plain values only");
    const char *item;
    WK_TRY(copy_scalar(r, event, &item));
    wk_text_printf(&list->text, "%s%s", list->text.length ? "," : "", item);
    return wk_array_push(&list->items, item) ? WK_OK : no_memory(r);
}

static wk_status add_list(reader *r, const list_reader *list, size_t line)
{
    wk_arena *arena = &r->out->arena;
    wk_yaml_value value = {.is_list = true, .n_items = list->items.count};
    value.text = list->text.failed ? NULL : wk_arena_string(arena, wk_text_get(&list->text));
    value.items =
        wk_arena_copy(arena, list->items.items, list->items.count * sizeof *list->items.items);
    return value.text && value.items ? add_value(r, value, line) : no_memory(r);
}

// The items after the beginning of a sequence, up to its end.
static wk_status read_list(reader *r, size_t line)
{
    list_reader list = {0};
    wk_status status = WK_OK;
    for (bool end = false; status == WK_OK && !end;) {
        yaml_event_t event;
        status = next_event(r, &event);
        if (status != WK_OK) break;
        end = event.type == YAML_SEQUENCE_END_EVENT;
        if (!end) status = read_item(r, &event, &list);
        yaml_event_delete(&event);
    }
    if (status == WK_OK) status = add_list(r, &list, line);
    wk_text_free(&list.text);
    wk_array_free(&list.items);
    return status;
}

static wk_status read_mapping(reader *r);

static wk_status read_scalar(reader *r, const yaml_event_t *event)
{
    size_t line = event->start_mark.line;
    if (r->has_blocks && r->depth == 1)
        return fail_at(r, line, "a block needs keys under it, not a value");
    if (is_null(event))
        return fail_at(r, line, "a key without a value (write '' for an empty text)");
    wk_yaml_value value = {.n_items = 1};
    WK_TRY(copy_scalar(r, event, &value.text));
    value.items = wk_arena_copy(&r->out->arena, &value.text, sizeof value.text);
    return value.items ? add_value(r, value, line) : no_memory(r);
}

// What follows a key.
static wk_status read_value(reader *r, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        return read_scalar(r, event);
    case YAML_SEQUENCE_START_EVENT:
        if (r->has_blocks && r->depth == 1)
            return fail_at(r, event->start_mark.line, "a block needs keys under it, not a list");
        return read_list(r, event->start_mark.line);
    case YAML_MAPPING_START_EVENT:
        return read_mapping(r);
    default:
        return fail_at(r, event->start_mark.line, "aliases (*name) are not supported");
    }
}

static wk_status read_entry(reader *r, const yaml_event_t *key)
{
    if (key->type != YAML_SCALAR_EVENT)
        return fail_at(r, key->start_mark.line, "a key must be a plain word");
    if (r->depth == DEPTH_MAX) return fail_at(r, key->start_mark.line, "nested too deeply");
    WK_TRY(copy_scalar(r, key, &r->path[r->depth]));
    if (r->has_blocks && r->depth == 0) WK_TRY(add_block(r, r->path[0], key->start_mark.line));
    yaml_event_t value;
    WK_TRY(next_event(r, &value));
    r->depth++;
    wk_status status = read_value(r, &value);
    r->depth--;
    yaml_event_delete(&value);
    return status;
}

// The entries after the beginning of a mapping, up to its end.
static wk_status read_mapping(reader *r)
{
    for (;;) {
        yaml_event_t event;
        WK_TRY(next_event(r, &event));
        bool end = event.type == YAML_MAPPING_END_EVENT;
        wk_status status = end ? WK_OK : read_entry(r, &event);
        yaml_event_delete(&event);
        if (end || status != WK_OK) return status;
    }
}

// Events that frame the document pass, a mapping is read, everything else is refused.
static wk_status read_stream(reader *r)
{
    int documents = 0;
    for (;;) {
        yaml_event_t event;
        WK_TRY(next_event(r, &event));
        yaml_event_type_t type = event.type;
        size_t line = event.start_mark.line;
        yaml_event_delete(&event);
        if (type == YAML_STREAM_END_EVENT) return WK_OK;
        if (type == YAML_DOCUMENT_START_EVENT && documents++ > 0)
            return fail_at(r, line, "a second document begins here; only one is allowed");
        if (type == YAML_MAPPING_START_EVENT)
            WK_TRY(read_mapping(r));
        else if (type == YAML_SCALAR_EVENT || type == YAML_SEQUENCE_START_EVENT ||
                 type == YAML_ALIAS_EVENT)
            return fail_at(r, line, "expected 'key: value' lines");
    }
}

wk_status wk_yaml_parse(const char *name, const char *bytes, size_t size, bool has_blocks,
                        wk_yaml *out, wk_error *err)
{
    *out = (wk_yaml){.name = name};
    reader r = {
        .bytes = bytes, .end = bytes + size, .out = out, .has_blocks = has_blocks, .err = err};
    out->name = wk_arena_string(&out->arena, name);
    if (!out->name || !yaml_parser_initialize(&r.parser)) {
        wk_yaml_free(out);
        return wk_fail(err, WK_E_MEMORY, "%s: no memory to read it", name);
    }
    yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)bytes, size);
    wk_status status = read_stream(&r);
    yaml_parser_delete(&r.parser);
    if (status != WK_OK) wk_yaml_free(out);
    return status;
}

void wk_yaml_free(wk_yaml *yaml)
{
    wk_array_free(&yaml->blocks);
    wk_array_free(&yaml->values);
    wk_arena_reset(&yaml->arena);
    *yaml = (wk_yaml){0};
}
