#include "cmd/lines/labels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cli/cli.h"
#include "cmd/cli/token_text.h"
#include "formats/json.h"
#include "lib/base/decimal.h"
#include "lib/base/size.h"
#include "lib/view/label.h"

#define VALUE_SIZE (TG_JSON_ESCAPE_MAX * CLI_TOKEN_TEXT_SIZE + 3) /* with quotes and NUL */

size_t label_quote(char *out, size_t size, size_t width, const tg_tokenizer *tok, int32_t id)
{
    const size_t n = cli_token_text(out + 1, size - 2, width - 2, tok, id);

    out[0] = '"';
    memcpy(out + 1 + n, "\"", 2);
    return n + 2;
}

/* Whether the tokens' texts tell their ids: they are bytes, or the ids themselves. */
static bool ids_are_told(const tg_tokenizer *tok, const int32_t *ids, size_t T)
{
    bool told = true;

    for (size_t t = 0; t < T && told && !tg_tokenizer_ids_are_bytes(tok); t++) {
        char number[16];
        size_t n;
        const unsigned char *text = tg_tokenizer_token(tok, ids[t], &n);

        told =
            n == (size_t)snprintf(number, sizeof number, "%ld", (long)ids[t]) && memcmp(text, number, n) == 0;
    }
    return told;
}

static size_t widest_id(const int32_t *ids, size_t T)
{
    size_t width = strlen("id");

    for (size_t t = 0; t < T; t++)
        width = tg_size_max(width, tg_decimal_digits((size_t)ids[t]));
    return width;
}

tg_status labels_make(token_labels *labels, const tg_tokenizer *tok, const int32_t *ids, size_t T,
                      tg_err *err)
{
    const size_t id_width = ids_are_told(tok, ids, T) ? 0 : widest_id(ids, T);
    const size_t before = id_width > 0 ? id_width + 1 : 0;

    *labels = (token_labels){.size = before + LABEL_SIZE, .id_width = id_width};
    if (!(labels->text = calloc(T > 0 ? T : 1, labels->size)))
        return tg_fail_memory(err, T * labels->size, "the tokens' texts");
    for (size_t t = 0; t < T; t++) {
        char *label = labels->text + t * labels->size;

        if (before > 0)
            snprintf(label, before + 1, "%*ld ", (int)id_width, (long)ids[t]);
        (void)label_quote(label + before, LABEL_SIZE, LABEL_COLUMNS, tok, ids[t]);
        labels->width = tg_size_max(labels->width, tg_label_width(label));
    }
    if (before > 0)
        labels->width = tg_size_max(labels->width, before + strlen("token i"));
    return TG_OK;
}

/* A token's text as TSV or JSON writes it; returns its bytes, without NUL. */
static size_t write_value(char out[VALUE_SIZE], table_format format, const tg_tokenizer *tok, int32_t id)
{
    const size_t n = cli_token_text(out, CLI_TOKEN_TEXT_SIZE, SIZE_MAX, tok, id);
    char text[CLI_TOKEN_TEXT_SIZE];
    size_t used = 0;

    if (format == TABLE_TSV)
        return tg_label_field(out, out, n);
    memcpy(text, out, n);
    out[used++] = '"';
    for (size_t i = 0; i < n; i++)
        used += tg_json_escape(out + used, (unsigned char)text[i], "");
    out[used++] = '"';
    return used;
}

tg_status labels_make_values(token_labels *labels, table_format format, const tg_tokenizer *tok,
                             const int32_t *ids, size_t T, tg_err *err)
{
    char value[VALUE_SIZE];

    *labels = (token_labels){.size = 1};
    for (size_t t = 0; t < T; t++)
        labels->size = tg_size_max(labels->size, write_value(value, format, tok, ids[t]) + 1);
    if (!(labels->text = calloc(T > 0 ? T : 1, labels->size)))
        return tg_fail_memory(err, T * labels->size, "the tokens' texts");
    for (size_t t = 0; t < T; t++) {
        const size_t n = write_value(value, format, tok, ids[t]);

        memcpy(labels->text + t * labels->size, value, n);
    }
    return TG_OK;
}

void labels_free(token_labels *labels)
{
    free(labels->text);
    *labels = (token_labels){0};
}

const char *labels_quoted(const token_labels *labels, size_t t)
{
    return label_of(labels, t) + (labels->id_width > 0 ? labels->id_width + 1 : 0);
}
