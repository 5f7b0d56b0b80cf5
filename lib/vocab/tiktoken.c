/* .tiktoken files: lines of a token in base64 and its rank. */
#include <stdlib.h>
#include <string.h>

#include "formats/base64.h"
#include "formats/sink.h"
#include "lib/base/size.h"
#include "lib/vocab/foreign.h"
#include "lib/vocab/rank_merges.h"
#include "lib/vocab/vocab_builder.h"
#include "lib/vocab/vocab_tokens.h"

/* ---- the special tokens of tiktoken's encodings, which their files lack */

struct special {
    const char *text;
    size_t id;
};

static const struct encoding {
    tg_split split;
    size_t n; /* lines of its file */
    struct special special[5];
} encodings[] = {
    {TG_SPLIT_GPT2, 50256, {{"<|endoftext|>", 50256}}}, /* gpt2, r50k_base */
    {TG_SPLIT_GPT2, 50280, {{"<|endoftext|>", 50256}}}, /* p50k_base */
    {TG_SPLIT_CL100K,
     100256,
     {{"<|endoftext|>", 100257},
      {"<|fim_prefix|>", 100258},
      {"<|fim_middle|>", 100259},
      {"<|fim_suffix|>", 100260},
      {"<|endofprompt|>", 100276}}},
    {TG_SPLIT_O200K, 199998, {{"<|endoftext|>", 199999}, {"<|endofprompt|>", 200018}}},
};

static tg_status add_special(tg_vocab_builder *b, tg_err *err)
{
    const size_t n = b->n_entries;
    tg_status status = TG_OK;

    for (size_t e = 0; e < sizeof encodings / sizeof encodings[0]; e++)
        if (encodings[e].split == b->split && encodings[e].n == n)
            for (const struct special *s = encodings[e].special; !status && s < encodings[e].special + 5; s++)
                if (s->text)
                    status = tg_vocab_add(b, s->id, s->text, strlen(s->text), TG_TOKEN_SPECIAL, err);
    return status;
}

/* ---- reading */

struct line {
    const char *token; /* [n] in base64 */
    size_t n, rank;
};

/* False: the text is not a token and a rank. */
static bool parse_line(struct line *l, const char *text, size_t n)
{
    const char *space = memchr(text, ' ', n), *end = text + n, *p;

    if (!space || space + 1 == end)
        return false;
    l->token = text;
    l->n = (size_t)(space - text);
    l->rank = 0;
    for (p = space + 1; p < end && *p >= '0' && *p <= '9'; p++)
        if (!tg_size_mul(&l->rank, l->rank, 10) || !tg_size_add(&l->rank, l->rank, (size_t)(*p - '0')))
            return false;
    return p == end;
}

bool tg_tiktoken_recognize(const tg_file_text *file)
{
    unsigned char token[TG_BASE64_BYTES(1024)];
    tg_file_lines lines = {.file = file};
    const char *text;
    struct line l;
    size_t n;

    return tg_file_line(&lines, &text, &n) && n <= 1024 && parse_line(&l, text, n) && l.n > 0 &&
           tg_base64_decode(token, &n, l.token, l.n);
}

static tg_status take_line(tg_vocab_builder *b, unsigned char *token, const char *text, size_t n, tg_err *err)
{
    char shown[TG_TOKEN_SHOWN];
    struct line l;
    size_t bytes;

    if (!parse_line(&l, text, n))
        return tg_fail(err, TG_EDATA, "expected a token in base64, a space and its rank, got \"%s\"",
                       tg_token_shown(shown, text, n));
    if (l.n > TG_BASE64_SIZE(TG_BPE_TOKEN_MAX))
        return tg_fail(err, TG_EDATA, "a token has %zu characters in base64, expected at most %zu", l.n,
                       TG_BASE64_SIZE(TG_BPE_TOKEN_MAX));
    if (!tg_base64_decode(token, &bytes, l.token, l.n))
        return tg_fail(err, TG_EDATA, "\"%s\" is not base64", tg_token_shown(shown, l.token, l.n));
    return tg_vocab_add(b, l.rank, token, bytes, TG_TOKEN_ORDINARY, err);
}

static tg_status take_lines(tg_vocab_builder *b, const tg_file_text *file, tg_err *err)
{
    unsigned char *token = malloc(TG_BASE64_BYTES(TG_BASE64_SIZE(TG_BPE_TOKEN_MAX)));
    tg_file_lines lines = {.file = file};
    const char *text;
    size_t n;
    tg_status status = token ? TG_OK : tg_fail_memory(err, TG_BPE_TOKEN_MAX, "a token");

    while (!status && tg_file_line(&lines, &text, &n))
        if (n > 0 && (status = take_line(b, token, text, n, err)))
            (void)tg_file_line_err(&lines, err);
    free(token);
    return status;
}

tg_status tg_tiktoken_read(const tg_tokenizer **tok, const tg_file_text *file, tg_split split, tg_err *err)
{
    tg_vocab_builder b = {.split = split, .whole_pieces = true};
    tg_status status = take_lines(&b, file, err);

    if (!status && !(status = add_special(&b, err)))
        status = tg_vocab_arrange_by_rank(&b, err);
    status = tg_vocab_build(tok, &b, status, err);
    return status ? tg_err_in(err, file->name) : TG_OK;
}

/* ---- writing */

#define REFUSAL "a .tiktoken file cannot hold this vocabulary: "

/* Readers of the file derive merges from ranks: check that these are the vocabulary's. */
static tg_status check_merges(const tg_bpe_vocab *v, const tg_token_table *table, tg_err *err)
{
    const int missing = tg_vocab_missing_byte(table);
    uint32_t(*merges)[2];
    size_t n, same = 0, unmade;
    tg_status status;

    if (missing >= 0)
        return tg_fail(err, TG_EUSAGE, REFUSAL "byte 0x%02X has no token", (unsigned)missing);
    if ((status = tg_rank_merges(&merges, &n, &unmade, v, table, err)))
        return status;
    while (same < n && same < v->n_merges && memcmp(merges[same], v->merges[same], sizeof merges[0]) == 0)
        same++;
    if (same < n || same < v->n_merges)
        status = tg_fail(err, TG_EUSAGE, REFUSAL "merge %zu does not follow from the tokens' ids", same);
    else if (!v->whole_pieces && unmade > 0)
        status = tg_fail(err, TG_EUSAGE,
                         REFUSAL "no merges make %zu of its tokens, and tiktoken would use them", unmade);
    free(merges);
    return status;
}

/* Special tokens can be left out, because texts do without; not those that texts always have. */
static tg_status refuse_added(const tg_bpe_vocab *v, tg_err *err)
{
    char shown[TG_TOKEN_SHOWN];
    size_t n;
    const unsigned char *text = tg_vocab_token(v, v->added[0], &n);

    return tg_fail(err, TG_EUSAGE, REFUSAL "added token %lu, \"%s\", is found before texts are split",
                   (unsigned long)v->added[0], tg_token_shown(shown, text, n));
}

static void put_tokens(tg_sink *sink, const tg_bpe_vocab *v, char *text)
{
    size_t begin = 0;

    for (size_t id = 0; id < v->n; begin = v->ends[id++]) {
        if (!tg_vocab_is_ordinary(v, id) || v->ends[id] == begin)
            continue;
        tg_sink_put(sink, text, tg_base64_encode(text, v->tokens + begin, v->ends[id] - begin));
        tg_sink_put(sink, " ", 1);
        tg_sink_put_size(sink, id);
        tg_sink_put(sink, "\n", 1);
    }
}

tg_status tg_tiktoken_write(int fd, const tg_bpe_vocab *v, tg_err *err)
{
    tg_sink sink = {.fd = fd};
    tg_token_table table = {0};
    char *text = malloc(TG_BASE64_SIZE(TG_BPE_TOKEN_MAX));
    tg_status status = TG_OK;

    if (!text)
        return tg_fail_memory(err, TG_BASE64_SIZE(TG_BPE_TOKEN_MAX), "a token");
    if (v->normalizer != TG_NORMALIZER_NONE)
        status = tg_fail(err, TG_EUSAGE, REFUSAL "it normalises text");
    else if (v->n_added > 0)
        status = refuse_added(v, err);
    if (status || (status = tg_vocab_table(&table, v, err)) || (status = check_merges(v, &table, err)))
        goto done;
    put_tokens(&sink, v, text);
    status = tg_sink_flush(&sink, err);

done:
    tg_token_table_free(&table);
    free(text);
    return status;
}
