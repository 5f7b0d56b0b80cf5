/*
 * The JSON reader.
 *
 * A text that can be passed over can be read value by value, and the other way round, except for
 * numbers that are no sizes.  Its strings, written again, read back the same.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/json.h"
#include "tests/fuzz/input.h"

static tg_status pass(const uint8_t *data, size_t size)
{
    tg_json j;
    tg_err err = {0};
    tg_status status;

    tg_json_open(&j, data, size);
    if (!(status = tg_json_skip(&j, &err)))
        status = tg_json_end(&j, &err);
    must(status == TG_OK || (status == TG_EDATA && strncmp(err.message, "line ", 5) == 0));
    tg_json_close(&j);
    return status;
}

/* Write a string, and read it. */
static void check_string(tg_json_text text)
{
    char *quoted = malloc(2 + TG_JSON_ESCAPE_MAX * text.n + 1);
    size_t n = 0;
    tg_json_text back;
    tg_json j;

    must(quoted != NULL);
    quoted[n++] = '"';
    for (size_t i = 0; i < text.n; i++)
        n += tg_json_escape(quoted + n, (unsigned char)text.p[i], i % 2 ? "<" : "");
    quoted[n++] = '"';
    tg_json_open(&j, quoted, n);
    must(tg_json_get_text(&j, &back, NULL) == TG_OK && tg_json_end(&j, NULL) == TG_OK);
    must(back.n == text.n && memcmp(back.p, text.p, text.n) == 0);
    tg_json_close(&j);
    free(quoted);
}

/* Read the next value's text, size or truth; pass null and other numbers; enter the rest. */
static tg_status take(tg_json *j, tg_json_kind kind)
{
    tg_json_text text;
    tg_json later;
    bool value;
    size_t size;
    tg_status status;

    switch (kind) {
    case TG_JSON_STRING:
        if (!(status = tg_json_get_text(j, &text, NULL)))
            check_string(text);
        return status;
    case TG_JSON_BOOL:
        return tg_json_get_bool(j, &value, NULL);
    case TG_JSON_NUMBER:
        tg_json_open_at(&later, j, j->at);
        if (!tg_json_get_size(&later, &size, NULL))
            return tg_json_get_size(j, &size, NULL);
        return tg_json_skip(j, NULL);
    case TG_JSON_NULL:
        return tg_json_skip(j, NULL);
    default:
        return tg_json_enter(j, kind, NULL);
    }
}

static tg_status read_values(const uint8_t *data, size_t size)
{
    bool object[TG_JSON_DEPTH + 1], more;
    tg_json_text key;
    tg_json_kind kind;
    tg_json j;
    tg_status status;

    tg_json_open(&j, data, size);
    do {
        const size_t depth = j.depth;

        if ((status = tg_json_peek(&j, &kind, NULL)) || (status = take(&j, kind)))
            break;
        if (j.depth > depth)
            object[j.depth] = kind == TG_JSON_OBJECT;
        for (more = false; !status && j.depth > 0 && !more;)
            status = object[j.depth] ? tg_json_key(&j, &key, &more, NULL) : tg_json_element(&j, &more, NULL);
    } while (!status && j.depth > 0);
    if (!status)
        status = tg_json_end(&j, NULL);
    tg_json_close(&j);
    return status;
}

static void find_members(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"a", "b"};
    size_t at[2];
    tg_json j, value;
    tg_json_kind kind;

    tg_json_open(&j, data, size);
    if (!tg_json_members(&j, names, 2, at, NULL))
        for (size_t i = 0; i < 2; i++)
            if (at[i] > 0) {
                tg_json_open_at(&value, &j, at[i]);
                must(tg_json_peek(&value, &kind, NULL) == TG_OK && kind != TG_JSON_NULL);
                must(tg_json_skip(&value, NULL) == TG_OK && value.at <= j.at);
                tg_json_close(&value);
            }
    tg_json_close(&j);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    must(pass(data, size) == read_values(data, size));
    find_members(data, size);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    static const char text[] = "{\"a\": [1, -2.5e+3, {}, [], null, true], \"b\": "
                               "\"x\\u0041\\uD83D\\uDE00\\n\\\"\xC3\xA9\", \"c\": {\"a\": false}}";

    (void)seed;
    return LLVMFuzzerMutate(data, size < 10 ? input_seed(data, max, text) : size, max);
}
