#include "base/json.h"

#include "base/file.h"
#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Comma and new line before an item, then its key.
static void json_item(wk_json *json, const char *key)
{
    if (json->has_items[json->depth]) wk_text_puts(json->text, ",");
    if (json->depth > 0) wk_text_printf(json->text, "\n%*s", 2 * json->depth, "");
    json->has_items[json->depth] = true;
    if (key) {
        wk_text_quote(json->text, key);
        wk_text_puts(json->text, ": ");
    }
}

static void json_open(wk_json *json, const char *key, const char *bracket)
{
    json_item(json, key);
    wk_text_puts(json->text, bracket);
    assert(json->depth < 32);
    json->has_items[++json->depth] = false;
}

void wk_json_object(wk_json *json, const char *key)
{
    json_open(json, key, "{");
}

void wk_json_array(wk_json *json, const char *key)
{
    json_open(json, key, "[");
}

void wk_json_close(wk_json *json, char bracket)
{
    assert(json->depth > 0);
    bool had_items = json->has_items[json->depth--];
    if (had_items) wk_text_printf(json->text, "\n%*s", 2 * json->depth, "");
    wk_text_append(json->text, &bracket, 1);
    if (json->depth == 0) wk_text_puts(json->text, "\n");
}

void wk_json_string(wk_json *json, const char *key, const char *value)
{
    json_item(json, key);
    wk_text_quote(json->text, value ? value : "");
}

void wk_json_number(wk_json *json, const char *key, double value)
{
    json_item(json, key);
    wk_text_number(json->text, value);
}

void wk_json_integer(wk_json *json, const char *key, int64_t value)
{
    json_item(json, key);
    wk_text_printf(json->text, "%lld", (long long)value);
}

void wk_json_unsigned(wk_json *json, const char *key, uint64_t value)
{
    json_item(json, key);
    wk_text_printf(json->text, "%llu", (unsigned long long)value);
}

void wk_json_numbers(wk_json *json, const char *key, const double *first, size_t stride, int count)
{
    wk_json_array(json, key);
    for (int i = 0; i < count; i++) {
        double number; // stands in a struct: `stride` bytes from one to the next
        memcpy(&number, (const char *)first + (size_t)i * stride, sizeof number);
        wk_json_number(json, NULL, number);
    }
    wk_json_close(json, ']');
}

void wk_json_raw(wk_json *json, const char *key, const char *value, size_t length)
{
    json_item(json, key);
    wk_text_append(json->text, value, length);
}

void wk_json_bool(wk_json *json, const char *key, bool value)
{
    json_item(json, key);
    wk_text_puts(json->text, value ? "true" : "false");
}

_Static_assert(WK_JSON_DEPTH_MAX <= 64, "in_object has one bit for each level");

// What may come next.
enum {
    EXPECT_VALUE,
    EXPECT_FIRST, // of a container that was just opened, or its end
    EXPECT_COMMA_OR_CLOSE,
    EXPECT_END,
};

wk_json_reader wk_json_reader_start(const char *bytes, size_t size)
{
    return (wk_json_reader){.bytes = bytes, .size = size, .expect = EXPECT_VALUE};
}

static wk_json_token fail(wk_json_reader *reader, const char *problem)
{
    reader->problem = problem;
    return (wk_json_token){.kind = WK_JSON_ERROR};
}

static int peek(const wk_json_reader *reader)
{
    return reader->at < reader->size ? (unsigned char)reader->bytes[reader->at] : -1;
}

static void skip_space(wk_json_reader *reader)
{
    for (int c = peek(reader); c == ' ' || c == '\t' || c == '\n' || c == '\r'; c = peek(reader))
        reader->at++;
}

// A value that began at `begin` and ends here.
static wk_json_token value_done(wk_json_reader *reader, wk_json_kind kind, size_t begin)
{
    reader->expect = reader->depth > 0 ? EXPECT_COMMA_OR_CLOSE : EXPECT_END;
    return (wk_json_token){kind, reader->bytes + begin, reader->at - begin};
}

// The 16 bits of four hex digits at `chars`, or -1.
static int hex_unit(const char *chars, size_t left)
{
    int unit = 0;
    for (int i = 0; i < 4; i++) {
        if (left < 4 || !isxdigit((unsigned char)chars[i])) return -1;
        unit = unit << 4 | (chars[i] <= '9' ? chars[i] - '0' : (chars[i] & 7) + 9);
    }
    return unit;
}

// Reads the escape at `chars`, which begins with a backslash; its bytes, or 0 when it is not one.
static size_t read_escape(const char *chars, size_t left, uint32_t *code)
{
    static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    if (left < 2 || !chars[1]) return 0;
    const char *letter = strchr(letters, chars[1]);
    if (letter) *code = (uint32_t)meanings[letter - letters];
    if (letter) return 2;

    int unit = chars[1] == 'u' ? hex_unit(chars + 2, left - 2) : -1;
    bool high = unit >= 0xd800 && unit < 0xdc00, low = unit >= 0xdc00 && unit < 0xe000;
    *code = (uint32_t)unit;
    if (!high) return unit < 0 || low ? 0 : 6;

    // The second half of a pair of surrogates must follow.
    int second = left >= 12 && memcmp(chars + 6, "\\u", 2) == 0 ? hex_unit(chars + 8, 4) : -1;
    if (second < 0xdc00 || second >= 0xe000) return 0;
    *code = 0x10000 + (((uint32_t)unit - 0xd800) << 10) + ((uint32_t)second - 0xdc00);
    return 12;
}

// A string, or a key with the colon after it. The token excludes the quotes.
static wk_json_token read_string(wk_json_reader *reader, wk_json_kind kind)
{
    size_t begin = ++reader->at;
    for (int c = peek(reader); c != '"'; c = peek(reader)) {
        const char *chars = reader->bytes + reader->at;
        size_t left = reader->size - reader->at;
        uint32_t code = 0;
        if (c < 0) return fail(reader, "the input ends inside a string");
        if (c < 0x20) return fail(reader, "a control character inside a string");
        bool escape = c == '\\';
        size_t length =
            escape ? read_escape(chars, left, &code) : wk_utf8_decode(chars, left, &code);
        if (length == 0)
            return fail(reader, escape ? "a bad escape inside a string"
                                       : "bytes inside a string that are not UTF-8");
        reader->at += length;
    }
    wk_json_token token = value_done(reader, kind, begin);
    reader->at++;
    if (kind == WK_JSON_STRING) return token;
    skip_space(reader);
    if (peek(reader) != ':') return fail(reader, "a key without a colon after it");
    reader->at++;
    reader->expect = EXPECT_VALUE;
    return token;
}

static bool skip_digits(wk_json_reader *reader)
{
    size_t begin = reader->at;
    while (peek(reader) >= '0' && peek(reader) <= '9')
        reader->at++;
    return reader->at > begin;
}

static wk_json_token read_number(wk_json_reader *reader)
{
    size_t begin = reader->at;
    if (peek(reader) == '-') reader->at++;
    if (peek(reader) == '0')
        reader->at++;
    else if (!skip_digits(reader))
        return fail(reader, "a number without digits");
    if (peek(reader) == '.') {
        reader->at++;
        if (!skip_digits(reader)) return fail(reader, "a number without digits after the point");
    }
    if (peek(reader) == 'e' || peek(reader) == 'E') {
        reader->at++;
        if (peek(reader) == '+' || peek(reader) == '-') reader->at++;
        if (!skip_digits(reader)) return fail(reader, "a number without digits in its exponent");
    }
    return value_done(reader, WK_JSON_NUMBER, begin);
}

static wk_json_token read_word(wk_json_reader *reader, const char *word, wk_json_kind kind)
{
    size_t begin = reader->at, length = strlen(word);
    if (reader->size - begin < length || memcmp(reader->bytes + begin, word, length) != 0)
        return fail(reader, "a value was expected");
    reader->at += length;
    return value_done(reader, kind, begin);
}

static wk_json_token read_value(wk_json_reader *reader)
{
    uint64_t bit = (uint64_t)1 << (reader->depth % 64);
    int c = peek(reader);
    switch (c) {
    case -1:
        return fail(reader, "the input ends where a value was expected");
    case '{':
    case '[':
        if (reader->depth == WK_JSON_DEPTH_MAX) return fail(reader, "nested too deeply");
        reader->depth++;
        reader->in_object = c == '{' ? reader->in_object | bit : reader->in_object & ~bit;
        reader->expect = EXPECT_FIRST;
        return (wk_json_token){c == '{' ? WK_JSON_OBJECT : WK_JSON_ARRAY,
                               reader->bytes + reader->at++, 1};
    case '"':
        return read_string(reader, WK_JSON_STRING);
    case 't':
        return read_word(reader, "true", WK_JSON_TRUE);
    case 'f':
        return read_word(reader, "false", WK_JSON_FALSE);
    case 'n':
        return read_word(reader, "null", WK_JSON_NULL);
    default:
        if (c == '-' || isdigit(c)) return read_number(reader);
        return fail(reader, "a value was expected");
    }
}

wk_json_token wk_json_reader_next(wk_json_reader *reader)
{
    if (reader->problem) return (wk_json_token){.kind = WK_JSON_ERROR};
    skip_space(reader);
    int c = peek(reader);
    if (reader->expect == EXPECT_END) {
        if (c >= 0) return fail(reader, "more text after the end of the value");
        return (wk_json_token){.kind = WK_JSON_END};
    }
    if (reader->expect == EXPECT_VALUE) return read_value(reader);

    // In a container: its end, or a comma and the next item.
    bool object = reader->in_object >> (reader->depth - 1) & 1;
    if (c == (object ? '}' : ']')) {
        reader->depth--;
        reader->at++;
        return value_done(reader, object ? WK_JSON_OBJECT_END : WK_JSON_ARRAY_END, reader->at - 1);
    }
    if (reader->expect == EXPECT_COMMA_OR_CLOSE) {
        if (c != ',')
            return fail(reader, object ? "a comma or } was expected" : "a comma or ] was expected");
        reader->at++;
        skip_space(reader);
    }
    if (!object) return read_value(reader);
    if (peek(reader) != '"') return fail(reader, "a key in quotes was expected");
    return read_string(reader, WK_JSON_KEY);
}

bool wk_json_reader_skip(wk_json_reader *reader, wk_json_token first)
{
    if (first.kind == WK_JSON_ERROR) return false;
    if (first.kind != WK_JSON_OBJECT && first.kind != WK_JSON_ARRAY) return true;
    int outer = reader->depth - 1;
    while (reader->depth > outer)
        if (wk_json_reader_next(reader).kind == WK_JSON_ERROR) return false;
    return true;
}

// Writes the next character of a token that has been read, as UTF-8, and moves past it.
static size_t next_character(const char **chars, const char *end, char out[4])
{
    uint32_t code = 0;
    out[0] = **chars;
    if (**chars != '\\') return (*chars)++, 1;
    *chars += read_escape(*chars, (size_t)(end - *chars), &code);
    size_t length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = length - 1; i > 0; i--, code >>= 6)
        out[i] = (char)(0x80 | (code & 0x3f));
    out[0] = (char)(lead[length] | code);
    return length;
}

size_t wk_json_unescape(wk_json_token token, char *out)
{
    size_t written = 0;
    for (const char *c = token.chars, *end = c + token.length; c < end;) {
        char piece[4];
        size_t size = next_character(&c, end, piece);
        memcpy(out + written, piece, size);
        written += size;
    }
    return written;
}

bool wk_json_equals(wk_json_token token, const char *text)
{
    const char *rest = text, *text_end = text + strlen(text);
    for (const char *c = token.chars, *end = c + token.length; c < end;) {
        char piece[4];
        size_t size = next_character(&c, end, piece);
        if ((size_t)(text_end - rest) < size || memcmp(rest, piece, size) != 0) return false;
        rest += size;
    }
    return rest == text_end;
}

bool wk_json_to_u64(wk_json_token token, uint64_t *value)
{
    if (token.kind != WK_JSON_NUMBER) return false;
    uint64_t sum = 0;
    for (size_t i = 0; i < token.length; i++) {
        if (token.chars[i] < '0' || token.chars[i] > '9') return false;
        uint64_t digit = (uint64_t)(token.chars[i] - '0');
        if (sum > (UINT64_MAX - digit) / 10) return false;
        sum = sum * 10 + digit;
    }
    *value = sum;
    return true;
}

bool wk_json_to_double(wk_json_token token, double *value)
{
    // strtod wants a terminated string. Literals longer than this carry digits that a double cannot
    // hold; refusing them keeps the reader free of allocation.
    char literal[400];
    if (token.kind != WK_JSON_NUMBER || token.length >= sizeof literal) return false;
    memcpy(literal, token.chars, token.length);
    literal[token.length] = 0;
    *value = strtod(literal, NULL);
    return isfinite(*value);
}

static const size_t FILE_LIMIT = (size_t)256 << 20, LINES_LIMIT = (size_t)4 << 30;

void wk_document_fail(wk_document *document, const char *format, ...)
{
    if (document->error.status != WK_OK) return;
    char message[512];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    wk_fail(&document->error, WK_E_FORMAT, "'%s': %s", document->path, message);
}

// The next token, passing over a value that nobody took.
static wk_json_token next(wk_document *d)
{
    if (d->pending) {
        d->pending = false;
        wk_json_reader_skip(&d->reader, d->value);
    }
    wk_json_token token = wk_json_reader_next(&d->reader);
    if (token.kind == WK_JSON_ERROR)
        wk_document_fail(d, "not JSON at byte %zu: %s", d->reader.at, d->reader.problem);
    return token;
}

static void expect(wk_document *d, wk_json_kind kind, const char *what)
{
    if (d->error.status == WK_OK && d->value.kind != kind)
        wk_document_fail(d, "'%.*s' is not %s", (int)d->key.length,
                         d->key.chars ? d->key.chars : "", what);
    d->pending = false;
}

wk_status wk_document_start(const char *path, const char *bytes, size_t size, wk_document *out,
                            wk_error *err)
{
    *out = (wk_document){.path = path, .reader = wk_json_reader_start(bytes, size)};
    if (next(out).kind != WK_JSON_OBJECT) wk_document_fail(out, "not a JSON object");
    if (out->error.status != WK_OK && err) *err = out->error;
    return out->error.status;
}

wk_status wk_document_open(const char *path, wk_document *out, wk_error *err)
{
    char *bytes;
    size_t size;
    *out = (wk_document){.path = path};
    wk_status status = wk_file_read(path, FILE_LIMIT, &bytes, &size, &out->error);
    if (status == WK_OK) {
        status = wk_document_start(path, bytes, size, out, &out->error);
        out->bytes = bytes;
    }
    if (status != WK_OK && err) *err = out->error;
    return status;
}

wk_status wk_document_close(wk_document *d, wk_error *err)
{
    if (d->error.status == WK_OK && next(d).kind != WK_JSON_END)
        wk_document_fail(d, "more than one value");
    if (d->error.status != WK_OK && err) *err = d->error;
    free(d->bytes);
    d->bytes = NULL;
    return d->error.status;
}

wk_status wk_document_lines(const char *path, wk_document_line *read, void *context, wk_error *err)
{
    char *bytes;
    size_t size, number = 1;
    WK_TRY(wk_file_read(path, LINES_LIMIT, &bytes, &size, err));
    wk_status status = WK_OK;
    for (char *line = bytes, *end; status == WK_OK; line = end + 1, number++) {
        end = memchr(line, '\n', size - (size_t)(line - bytes));
        if (!end) break;
        wk_document d;
        status = wk_document_start(path, line, (size_t)(end - line), &d, err);
        if (status == WK_OK) {
            status = read(context, &d, err);
            wk_status closed = wk_document_close(&d, err);
            if (closed != WK_OK) status = closed;
        }
        if (status != WK_OK) wk_fail_context(err, "line %zu", number);
    }
    free(bytes);
    return status;
}

bool wk_document_member(wk_document *d)
{
    wk_json_token token = next(d);
    if (token.kind != WK_JSON_KEY) return false;
    d->key = token;
    d->value = next(d);
    d->pending = d->error.status == WK_OK;
    return d->pending;
}

bool wk_document_is(const wk_document *d, const char *name)
{
    return wk_json_equals(d->key, name);
}

bool wk_document_item(wk_document *d)
{
    wk_json_token token = next(d);
    if (d->error.status != WK_OK || token.kind == WK_JSON_ARRAY_END) return false;
    d->value = token;
    d->pending = true;
    return true;
}

bool wk_document_object(wk_document *d)
{
    expect(d, WK_JSON_OBJECT, "an object");
    return d->error.status == WK_OK;
}

bool wk_document_array(wk_document *d)
{
    expect(d, WK_JSON_ARRAY, "a list");
    return d->error.status == WK_OK;
}

double wk_document_number(wk_document *d)
{
    double value = 0;
    if (d->value.kind == WK_JSON_NULL) {
        d->pending = false;
        return NAN;
    }
    expect(d, WK_JSON_NUMBER, "a number");
    if (d->error.status == WK_OK && !wk_json_to_double(d->value, &value))
        wk_document_fail(d, "the number %.*s is too large", (int)d->value.length, d->value.chars);
    return d->error.status == WK_OK ? value : 0;
}

uint64_t wk_document_integer(wk_document *d)
{
    uint64_t value = 0;
    expect(d, WK_JSON_NUMBER, "a number");
    if (d->error.status == WK_OK && !wk_json_to_u64(d->value, &value))
        wk_document_fail(d, "'%.*s' is no whole number from 0", (int)d->key.length, d->key.chars);
    return value;
}

bool wk_document_bool(wk_document *d)
{
    bool value = d->value.kind == WK_JSON_TRUE;
    expect(d, value ? WK_JSON_TRUE : WK_JSON_FALSE, "true or false");
    return value;
}

const char *wk_document_string(wk_document *d, wk_arena *arena)
{
    expect(d, WK_JSON_STRING, "a string");
    if (d->error.status != WK_OK) return "";
    char *copy = wk_arena_alloc(arena, d->value.length + 1);
    if (!copy) {
        wk_fail(&d->error, WK_E_MEMORY, "'%s': no memory to read it", d->path);
        return "";
    }
    copy[wk_json_unescape(d->value, copy)] = 0;
    return copy;
}

bool wk_document_take_number(wk_document *d, const char *name, double *out)
{
    bool is = wk_document_is(d, name);
    if (is) *out = wk_document_number(d);
    return is;
}

bool wk_document_take_integer(wk_document *d, const char *name, uint64_t *out)
{
    bool is = wk_document_is(d, name);
    if (is) *out = wk_document_integer(d);
    return is;
}

bool wk_document_take_count(wk_document *d, const char *name, int *out)
{
    uint64_t value;
    if (!wk_document_take_integer(d, name, &value)) return false;
    *out = value <= INT32_MAX ? (int)value : 0;
    if (value > INT32_MAX) wk_document_fail(d, "a count of %" PRIu64 " is too large", value);
    return true;
}

bool wk_document_take_bool(wk_document *d, const char *name, bool *out)
{
    bool is = wk_document_is(d, name);
    if (is) *out = wk_document_bool(d);
    return is;
}

bool wk_document_take_string(wk_document *d, const char *name, wk_arena *arena, const char **out)
{
    bool is = wk_document_is(d, name);
    if (is) *out = wk_document_string(d, arena);
    return is;
}
