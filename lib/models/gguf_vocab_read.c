#include <string.h>

#include "lib/base/utf8.h"
#include "lib/bpe/bpe.h"
#include "lib/models/gguf_vocab.h"
#include "lib/text/chars.h"
#include "lib/tokens/tokenizer_read.h"
#include "lib/vocab/byte_map.h"
#include "lib/vocab/foreign.h"
#include "lib/vocab/spm_pieces.h"
#include "lib/vocab/vocab_builder.h"

static const char model_key[] = "tokenizer.ggml.model", pre_key[] = "tokenizer.ggml.pre",
                  tokens_key[] = "tokenizer.ggml.tokens", types_key[] = "tokenizer.ggml.token_type",
                  merges_key[] = "tokenizer.ggml.merges";

/* ---- rules */

/* Of several names of a rule, the first is written. */
static const tg_gguf_pre pres[] = {
    {.name = "gpt-2", .split = TG_SPLIT_GPT2},
    {.name = "phi-2", .split = TG_SPLIT_GPT2},
    {.name = "olmo", .split = TG_SPLIT_GPT2},
    {.name = "mpt", .split = TG_SPLIT_GPT2},
    {.name = "jais", .split = TG_SPLIT_GPT2},
    {.name = "roberta-bpe", .split = TG_SPLIT_GPT2},
    {.name = "smollm", .split = TG_SPLIT_GPT2_DIGITS},
    {.name = "starcoder", .split = TG_SPLIT_GPT2_DIGITS},
    {.name = "refact", .split = TG_SPLIT_GPT2_DIGITS},
    {.name = "codeshell", .split = TG_SPLIT_GPT2_DIGITS},
    {.name = "llama-bpe", .split = TG_SPLIT_LLAMA3, .whole_pieces = true, .adds_bos = true},
    {.name = "llama3", .split = TG_SPLIT_LLAMA3, .whole_pieces = true, .adds_bos = true},
    {.name = "llama-v3", .split = TG_SPLIT_LLAMA3, .whole_pieces = true, .adds_bos = true},
    {.name = "smaug-bpe", .split = TG_SPLIT_LLAMA3},
    {.name = "qwen2", .split = TG_SPLIT_QWEN2},
    {.name = "megrez", .split = TG_SPLIT_QWEN2},
    {.name = "stablelm2", .split = TG_SPLIT_QWEN2},
    {.name = "dbrx", .split = TG_SPLIT_CL100K, .differs = "white space with a line end at the end of a text"},
    {.name = "gpt-4o", .split = TG_SPLIT_O200K, .differs = "capitals beyond ASCII, and marks"},
};
enum { PRES = sizeof pres / sizeof pres[0] };

const tg_gguf_pre *tg_gguf_pre_for(tg_split split, bool whole_pieces)
{
    for (size_t i = 0; i < PRES; i++)
        if (pres[i].split == split && pres[i].whole_pieces == whole_pieces)
            return &pres[i];
    for (size_t i = 0; i < PRES; i++)
        if (pres[i].split == split)
            return &pres[i];
    return NULL;
}

/* The rule of that name; NULL: there is none. */
static const tg_gguf_pre *pre_named(tg_span name)
{
    for (size_t i = 0; i < PRES; i++)
        if (tg_span_is(name, pres[i].name))
            return &pres[i];
    return NULL;
}

/* ---- kinds that are no byte pair encoding */

/* The bytes of a token of one character, written as in GPT-2's files, into out. */
static bool bytes_of(unsigned char out[TG_UTF8_MAX * TG_BYTE_MAP_MAX], size_t *n, tg_span text)
{
    return text.n <= TG_UTF8_MAX * TG_BYTE_MAP_MAX && tg_byte_map_read(out, n, text.p, text.n) &&
           *n <= TG_UTF8_MAX;
}

/* Whether tok has the texts as its tokens, and nothing but padding follows them. */
static bool has_tokens(const tg_tokenizer *tok, const tg_gguf_value *tokens)
{
    const size_t n = tg_tokenizer_vocab_size(tok);
    const unsigned char *at = tokens->at;
    unsigned char bytes[TG_UTF8_MAX * TG_BYTE_MAP_MAX];
    size_t length, want;

    if (n > tokens->n)
        return false;
    for (size_t id = 0; id < n; id++) {
        const unsigned char *token = tg_tokenizer_token(tok, (int32_t)id, &want);

        if (!bytes_of(bytes, &length, tg_gguf_next_text(&at)) || length != want ||
            memcmp(bytes, token, want) != 0)
            return false;
    }
    for (size_t id = n; id < tokens->n; id++)
        if (!tg_gguf_is_padding(tg_gguf_next_text(&at)))
            return false;
    return true;
}

static tg_status read_chars(const tg_tokenizer **tok, const tg_gguf_value *tokens, tg_err *err)
{
    unsigned char bytes[TG_UTF8_MAX * TG_BYTE_MAP_MAX];
    const unsigned char *at = tokens->at;
    tg_chars *chars;
    tg_status status;
    size_t n;

    if ((status = tg_chars_create(&chars, err)))
        return status;
    for (size_t i = 0; i < tokens->n; i++) {
        const tg_span text = tg_gguf_next_text(&at);

        if (tg_gguf_is_padding(text))
            break;
        if (bytes_of(bytes, &n, text))
            tg_chars_add(chars, bytes, n);
    }
    status = tg_chars_finish(chars, tok, err);
    tg_chars_free(chars);
    return status;
}

/* A tokenizer of kind "bytes" or "char", which this library has written. */
static tg_status read_simple(const tg_tokenizer **tok, tg_span kind, const tg_gguf_value *tokens, tg_err *err)
{
    char shown[TG_TOKEN_SHOWN];
    tg_status status;

    if (tg_span_is(kind, "bytes"))
        status = tg_tokenizer_create(tok, "bytes", err);
    else if (tg_span_is(kind, "char"))
        status = read_chars(tok, tokens, err);
    else
        status = tg_fail(err, TG_EDATA, "%s is \"%s\", expected bytes, char or bpe", TG_GGUF_KIND_KEY,
                         tg_token_shown(shown, kind.p, kind.n));
    if (status || has_tokens(*tok, tokens))
        return status;
    tg_tokenizer_free(*tok);
    *tok = NULL;
    return tg_fail(err, TG_EDATA, "%s are not those of %s %s", tokens_key, TG_GGUF_KIND_KEY,
                   tg_token_shown(shown, kind.p, kind.n));
}

/* ---- byte pair encoding */

/* What decides which tokens are special. */
struct types {
    const tg_gguf_value *type; /* NULL: the file has no types */
    size_t end[2];             /* ids that begin and end a text; SIZE_MAX: none */
};

/* The id of one of n tokens, if the file has the key. */
static size_t find_id(tg_gguf *g, const char *key, size_t n)
{
    const size_t id = tg_gguf_find(g, key) ? tg_gguf_get_size(g, key) : SIZE_MAX;

    if (!g->status && id >= n && id < SIZE_MAX)
        g->status = tg_fail(g->err, TG_EDATA, "%s is %zu, expected one of the %zu tokens", key, id, n);
    return id;
}

static struct types find_types(tg_gguf *g, size_t n)
{
    struct types t = {0};

    t.end[0] = find_id(g, "tokenizer.ggml.bos_token_id", n);
    t.end[1] = find_id(g, "tokenizer.ggml.eos_token_id", n);
    if (tg_gguf_find(g, types_key))
        t.type = tg_gguf_get_integers(g, types_key);
    if (t.type && t.type->n != n)
        g->status =
            tg_fail(g->err, TG_EDATA, "%s has %zu elements, %s has %zu", types_key, t.type->n, tokens_key, n);
    return t;
}

static int64_t type_of(const struct types *t, size_t id, tg_span text)
{
    if (t->type)
        return tg_gguf_integer(t->type, id);
    return (id == t->end[0] || id == t->end[1]) && text.n > 1 ? TG_GGUF_CONTROL : TG_GGUF_NORMAL;
}

static tg_status add_token(tg_vocab_builder *b, size_t id, tg_span text, int64_t type, tg_err *err)
{
    switch (type) {
    case 0:
    case TG_GGUF_NORMAL:
        return tg_vocab_add_mapped(b, id, text.p, text.n, err);
    case TG_GGUF_UNKNOWN:
    case TG_GGUF_CONTROL:
        return tg_vocab_add(b, id, text.p, text.n, TG_TOKEN_SPECIAL, err);
    case TG_GGUF_USER_DEFINED:
        return tg_vocab_add(b, id, text.p, text.n, TG_TOKEN_ADDED, err);
    case TG_GGUF_UNUSED:
        return TG_OK;
    default:
        return tg_fail(err, TG_EDATA, "token %zu has type %lld, expected 1 to 5", id, (long long)type);
    }
}

static void add_tokens(tg_vocab_builder *b, tg_gguf *g, const tg_gguf_value *tokens)
{
    const unsigned char *at = tokens->at;
    const struct types types = find_types(g, tokens->n);

    if (g->status)
        return;
    for (size_t id = 0; !g->status && id < tokens->n; id++) {
        const tg_span text = tg_gguf_next_text(&at);

        g->status = add_token(b, id, text, type_of(&types, id, text), g->err);
    }
    if (!g->status)
        g->status = tg_vocab_arrange(b, g->err);
    if (g->status)
        (void)tg_err_in(g->err, tokens_key);
}

static tg_status add_merge(tg_vocab_builder *b, tg_span text, tg_err *err)
{
    const char *space = text.n > 1 ? memchr(text.p + 1, ' ', text.n - 1) : NULL;
    char shown[TG_TOKEN_SHOWN];
    size_t left;

    if (!space)
        return tg_fail(err, TG_EDATA, "expected two halves separated by a space, got \"%s\"",
                       tg_token_shown(shown, text.p, text.n));
    left = (size_t)(space - text.p);
    return tg_vocab_merge(b, &(tg_vocab_halves){text.p, space + 1, left, text.n - left - 1}, err);
}

static void add_merges(tg_vocab_builder *b, tg_gguf *g)
{
    const tg_gguf_value *const merges = tg_gguf_get_texts(g, merges_key);
    const unsigned char *at = merges ? merges->at : NULL;

    for (size_t i = 0; merges && !g->status && i < merges->n; i++)
        g->status = add_merge(b, tg_gguf_next_text(&at), g->err);
    if (merges && g->status)
        (void)tg_err_in(g->err, merges_key);
}

static void read_bpe(const tg_tokenizer **tok, tg_gguf *g, const tg_gguf_value *tokens,
                     const tg_gguf_pre *pre)
{
    tg_vocab_builder b = {.split = pre->split, .whole_pieces = pre->whole_pieces};

    add_tokens(&b, g, tokens);
    add_merges(&b, g);
    g->status = tg_vocab_build(tok, &b, g->status, g->err);
}

/* ---- SentencePiece */

/* Whether a space is put before a text: llama.cpp's default is yes. */
static bool has_prefix(tg_gguf *g)
{
    return tg_gguf_get_bool(g, "tokenizer.ggml.add_space_prefix", true);
}

/* Of a file without types, only bytes are known by their texts. */
static int64_t piece_type(const tg_gguf_value *types, size_t id, tg_span text)
{
    unsigned char byte;

    if (types)
        return tg_gguf_integer(types, id);
    return tg_spm_is_byte(text.p, text.n, &byte) ? TG_SPM_BYTE : TG_SPM_NORMAL;
}

/* How many pieces there are before those that only name rows of the embedding. */
static size_t count_pieces(const tg_gguf_value *tokens, const tg_gguf_value *types)
{
    const unsigned char *at = tokens->at;
    size_t n = 0;

    for (size_t id = 0; id < tokens->n; id++) {
        const tg_span text = tg_gguf_next_text(&at);

        if (!types || tg_gguf_integer(types, id) != TG_GGUF_UNUSED || !tg_gguf_is_padding(text))
            n = id + 1;
    }
    return n;
}

static void add_pieces(tg_spm_pieces *p, tg_gguf *g, const tg_gguf_value *tokens)
{
    static const char scores_key[] = "tokenizer.ggml.scores";
    const tg_gguf_value *scores = tg_gguf_find(g, scores_key), *types = NULL;
    const unsigned char *at = tokens ? tokens->at : NULL;
    size_t n = 0;

    if (tg_gguf_find(g, types_key))
        types = tg_gguf_get_integers(g, types_key);
    if (g->status || !tokens)
        return;
    if (!scores || !scores->array || scores->type != TG_GGUF_F32 || scores->n != tokens->n)
        g->status = tg_fail(g->err, TG_EDATA, "%s is missing, or not a float32 for each of the %zu tokens",
                            scores_key, tokens->n);
    else if (types && types->n != tokens->n)
        g->status = tg_fail(g->err, TG_EDATA, "%s has %zu elements, %s has %zu", types_key, types->n,
                            tokens_key, tokens->n);
    else
        n = count_pieces(tokens, types);
    for (size_t id = 0; !g->status && id < n; id++) {
        const tg_span text = tg_gguf_next_text(&at);

        g->status = tg_spm_pieces_add(p, text.p, text.n, tg_gguf_real(scores, id),
                                      piece_type(types, id, text), g->err);
    }
}

static void read_spm(const tg_tokenizer **tok, tg_gguf *g)
{
    const tg_gguf_value *tokens = tg_gguf_get_texts(g, tokens_key);
    const bool prefix = has_prefix(g);
    tg_spm_pieces p = {0};

    add_pieces(&p, g, tokens);
    if (!g->status)
        g->status = tg_spm_pieces_build(tok, &p, prefix ? TG_SPM_PREFIX_DIVIDED : TG_SPM_PREFIX_NONE, g->err);
    tg_spm_pieces_free(&p);
}

/* ---- the vocabulary */

/* The rule that splits texts; NULL: it is unknown, with *name, or a failure. */
static const tg_gguf_pre *find_pre(tg_span *name, tg_gguf *g, tg_notes *notes)
{
    const bool given = tg_gguf_find(g, pre_key) != NULL;

    if (given)
        *name = tg_gguf_get_text(g, pre_key);
    if (!g->status && (!given || tg_span_is(*name, "default"))) {
        g->status = tg_notes_add(
            notes, g->err, "the file does not say how text is split (%s): assuming GPT-2's rule", pre_key);
        return tg_gguf_pre_for(TG_SPLIT_GPT2, false);
    }
    return g->status ? NULL : pre_named(*name);
}

/* An unknown vocabulary: leave it out, or fail. */
static tg_status unknown(const char *key, tg_span name, bool lossy, tg_notes *notes, tg_err *err)
{
    char shown[TG_TOKEN_SHOWN];

    (void)tg_token_shown(shown, name.p, name.n);
    if (!lossy)
        return tg_fail(err, TG_EDATA,
                       "%s is \"%s\", which tg does not know (tg-convert --lossy leaves the vocabulary out)",
                       key, shown);
    return tg_notes_add(notes, err, "the vocabulary is left out: its %s is \"%s\", which tg does not know",
                        key, shown);
}

tg_status tg_gguf_vocab_read(const tg_tokenizer **tok, tg_gguf *g, bool lossy, tg_notes *notes)
{
    const tg_gguf_value *tokens;
    const tg_gguf_pre *pre;
    tg_span text;

    *tok = NULL;
    if (g->status || !tg_gguf_find(g, model_key))
        return g->status;
    text = tg_gguf_get_text(g, model_key);
    if (g->status || tg_span_is(text, "no_vocab") || tg_span_is(text, "none"))
        return g->status;
    if (tg_span_is(text, "llama")) {
        read_spm(tok, g);
        return g->status;
    }
    if (!tg_span_is(text, "gpt2"))
        return g->status = unknown(model_key, text, lossy, notes, g->err);
    tokens = tg_gguf_get_texts(g, tokens_key);
    if (tg_gguf_find(g, TG_GGUF_KIND_KEY)) {
        text = tg_gguf_get_text(g, TG_GGUF_KIND_KEY);
        if (!g->status && !tg_span_is(text, "bpe"))
            return g->status = read_simple(tok, text, tokens, g->err);
    }
    pre = find_pre(&text, g, notes);
    if (!g->status && !pre)
        g->status = unknown(pre_key, text, lossy, notes, g->err);
    else if (!g->status)
        read_bpe(tok, g, tokens, pre);
    return g->status;
}

tg_status tg_gguf_vocab_adds_bos(bool *adds, tg_gguf *g)
{
    const bool spm = tg_gguf_find(g, model_key) && tg_span_is(tg_gguf_get_text(g, model_key), "llama");
    const tg_gguf_pre *pre = tg_gguf_find(g, pre_key) ? pre_named(tg_gguf_get_text(g, pre_key)) : NULL;

    *adds = tg_gguf_get_bool(g, "tokenizer.ggml.add_bos_token", spm || (pre && pre->adds_bos));
    return g->status;
}
