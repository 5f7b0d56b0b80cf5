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

    tg_json_open(&j, data, size, &err);
    tg_json_skip(&j);
    tg_json_end(&j);
    must(j.status == TG_OK || (j.status == TG_EDATA && strncmp(err.message, "line ", 5) == 0));
    return tg_json_close(&j);
}

/* Write a string, and read it. */
static void check_string(tg_span text)
{
    char *quoted = malloc(2 + TG_JSON_ESCAPE_MAX * text.n + 1);
    size_t n = 0;
    tg_span back;
    tg_json j;

    must(quoted != NULL);
    quoted[n++] = '"';
    for (size_t i = 0; i < text.n; i++)
        n += tg_json_escape(quoted + n, (unsigned char)text.p[i], i % 2 ? "<" : "");
    quoted[n++] = '"';
    tg_json_open(&j, quoted, n, NULL);
    back = tg_json_get_text(&j);
    tg_json_end(&j);
    must(back.n == text.n && memcmp(back.p, text.p, text.n) == 0);
    must(tg_json_close(&j) == TG_OK);
    free(quoted);
}

/* Read the next value's text, size or truth; pass null and other numbers; enter the rest. */
static void take(tg_json *j, tg_json_kind kind)
{
    tg_span text;

    switch (kind) {
    case TG_JSON_STRING:
        text = tg_json_get_text(j);
        if (!j->status)
            check_string(text);
        break;
    case TG_JSON_BOOL:
        (void)tg_json_get_bool(j);
        break;
    case TG_JSON_NUMBER:
        tg_json_skip(j);
        if (!j->status) { /* it may be no size */
            tg_json again = *j;

            (void)tg_json_go(&again, j->value);
            (void)tg_json_get_size(&again);
            must(again.status || again.at == j->at);
        }
        break;
    case TG_JSON_NULL:
        tg_json_skip(j);
        break;
    default:
        tg_json_enter(j, kind);
    }
}

static tg_status read_values(const uint8_t *data, size_t size)
{
    bool object[TG_JSON_DEPTH + 1], more;
    tg_span key;
    tg_json j;

    tg_json_open(&j, data, size, NULL);
    do {
        const size_t depth = j.depth;
        const tg_json_kind kind = tg_json_peek(&j);

        take(&j, kind);
        if (j.depth > depth)
            object[j.depth] = kind == TG_JSON_OBJECT;
        for (more = false; !j.status && j.depth > 0 && !more;)
            more = object[j.depth] ? tg_json_key(&j, &key) : tg_json_element(&j);
    } while (!j.status && j.depth > 0);
    tg_json_end(&j);
    return tg_json_close(&j);
}

static void find_members(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"a", "b"};
    size_t at[2];
    tg_json j;

    tg_json_open(&j, data, size, NULL);
    tg_json_members(&j, names, 2, at);
    if (!j.status)
        for (size_t i = 0; i < 2; i++)
            if (at[i] > 0) {
                const size_t end = tg_json_go(&j, at[i]);

                must(tg_json_peek(&j) != TG_JSON_NULL);
                tg_json_skip(&j);
                must(!j.status && j.at <= end);
                (void)tg_json_go(&j, end);
            }
    must(tg_json_close(&j) != TG_ENOMEM);
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
