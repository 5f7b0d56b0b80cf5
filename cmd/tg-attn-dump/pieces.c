/* --pieces: which bytes of the text each token is. */
#include <stdlib.h>
#include <string.h>

#include "cmd/cli/token_text.h"
#include "cmd/tg-attn-dump/input.h"
#include "cmd/lines/table.h"
#include "lib/base/decimal.h"
#include "lib/base/size.h"
#include "lib/base/utf8.h"
#include "lib/bpe/bpe.h"
#include "lib/view/label.h"

#define SHOWN 60 /* columns of a text, with quotes */

enum { COLUMN_POSITION, COLUMN_ID, COLUMN_FROM, COLUMN_TO, COLUMN_TEXT, COLUMNS };

static size_t bytes_of(const attn_input *in, size_t t)
{
    size_t n;

    (void)tg_tokens_prompt_token(&in->prompt, in->model.model.tokenizer, t, &n);
    return n;
}

/* Align the columns to their greatest numbers. */
static void align(table *t, const attn_input *in)
{
    size_t id = 0, end = 0, greatest[COLUMN_TEXT];

    for (size_t p = 0; p < in->prompt.n; p++) {
        id = tg_size_max(id, (size_t)in->prompt.ids[p]);
        end += bytes_of(in, p);
    }
    greatest[COLUMN_POSITION] = in->prompt.n - 1;
    greatest[COLUMN_ID] = id;
    greatest[COLUMN_FROM] = greatest[COLUMN_TO] = end;
    for (size_t c = 0; c < COLUMN_TEXT; c++)
        t->column[c].width =
            tg_size_max(tg_decimal_digits(greatest[c]), strlen(t->column[c].title) + (c == 0)); /* "#t" */
}

static table table_for(const attn_input *in, table_format format)
{
    table t = {.format = format,
               .n = COLUMNS,
               .column = {{"t", "t", TABLE_SIZE, 0, 0, 0},
                          {"id", "id", TABLE_SIZE, 0, 0, 0},
                          {"from", "from", TABLE_SIZE, 0, 0, 0},
                          {"to", "to", TABLE_SIZE, 0, 0, 0},
                          {"text", "token", TABLE_STRING, 0, 0, 0}}};

    align(&t, in);
    return t;
}

static void print_header(const attn_input *in)
{
    const tg_bpe_vocab *bpe = tg_bpe_vocab_of(in->model.model.tokenizer);

    printf("# %zu token%s; token t, counted from 0, is the bytes from..to-1 of the text\n", in->prompt.n,
           cli_plural(in->prompt.n));
    if (bpe && bpe->normalizer == TG_NORMALIZER_NFC)
        printf("# of the text in Unicode's form NFC, into which this tokenizer brings it\n");
}

/* ---- characters that several tokens share */

/* The bytes of all tokens. */
struct text {
    unsigned char *bytes;
    size_t n;
};

static tg_status join_tokens(struct text *text, const attn_input *in, tg_err *err)
{
    const tg_tokenizer *tok = in->model.model.tokenizer;

    *text = (struct text){0};
    for (size_t p = 0; p < in->prompt.n; p++)
        text->n += bytes_of(in, p);
    if (!(text->bytes = malloc(text->n + 1)))
        return tg_fail_memory(err, text->n + 1, "the text");
    for (size_t p = 0, at = 0, n; p < in->prompt.n; p++, at += n) {
        const unsigned char *token = tg_tokens_prompt_token(&in->prompt, tok, p, &n);

        memcpy(text->bytes + at, token, n);
    }
    return TG_OK;
}

/* The character that includes byte `at`: returns its bytes, and in *first the first of them; 0: none. */
static size_t character_at(size_t *first, const struct text *text, size_t at)
{
    uint32_t code;
    size_t n;

    for (*first = at; *first > 0 && at - *first < TG_UTF8_MAX && tg_utf8_continues(text->bytes[*first]);)
        --*first;
    n = tg_utf8_decode(&code, text->bytes + *first, text->n - *first);
    return *first + n > at ? n : 0;
}

/* Write "; part of 中" to out [size]; "" if the token from .. to - 1 has only whole characters. */
static void show_shared(char *out, size_t size, const struct text *text, size_t from, size_t to)
{
    size_t used = 0, first, seen = SIZE_MAX;

    *out = '\0';
    for (size_t at = from; at<to; at = to - 1> at ? to - 1 : to) {
        const size_t n = character_at(&first, text, at);
        char shown[2 * TG_LABEL_ESCAPE];

        if (n == 0 || first == seen || (first >= from && first + n <= to))
            continue;
        (void)tg_label_show(shown, sizeof shown, (const char *)text->bytes + first, n);
        used += (size_t)snprintf(out + used, size - used, "%s%s", used > 0 ? " and " : " part of ", shown);
        seen = first;
    }
}

/* ---- tokens */

static void print_token(const table *t, const attn_input *in, const struct text *all, size_t p, size_t from)
{
    const tg_tokenizer *tok = in->model.model.tokenizer;
    const size_t to = from + bytes_of(in, p);
    char text[CLI_TOKEN_TEXT_SIZE];
    table_cell cells[COLUMNS] = {
        [COLUMN_POSITION] = {.size = p},
        [COLUMN_ID] = {.size = (size_t)in->prompt.ids[p]},
        [COLUMN_FROM] = {.size = from},
        [COLUMN_TO] = {.size = to},
        [COLUMN_TEXT] = {.kind = CELL_WORD, .text = text},
    };

    if (t->format == TABLE_TEXT) {
        const size_t n = label_quote(text, sizeof text / 2, SHOWN, tok, in->prompt.ids[p]);

        if (!tg_tokenizer_ids_are_bytes(tok))
            show_shared(text + n, sizeof text - n, all, from, to);
    } else {
        cells[COLUMN_TEXT].text = label_of(&in->values, p);
    }
    table_print_line(t, cells);
}

static tg_status show(attn_input *in, const attn_options *o, tg_err *err)
{
    const table t = table_for(in, o->format);
    struct text text;
    size_t from = 0;
    const tg_status status = join_tokens(&text, in, err);

    if (status)
        return status;
    if (t.format == TABLE_TEXT && !o->no_header)
        print_header(in);
    if (!o->no_header)
        table_print_titles(&t);
    for (size_t p = 0; p < in->prompt.n && !cli_stdout_failed(); p++) {
        print_token(&t, in, &text, p, from);
        from += bytes_of(in, p);
    }
    free(text.bytes);
    return TG_OK;
}

/* ---- the job */

static bool wanted;

static const cli_option own[] = {
    CLI_FLAG_OPTION(0, "pieces", &wanted, "print the tokens: position, id, bytes of the text, text"),
};

const job pieces_job = {
    .options = own,
    .n_options = sizeof own / sizeof own[0],
    .about = "shows how a text is divided into tokens",
    .accepts = "model|prompt|format|no-header|threads",
    .show = show,
};
