#include "lib/vocab/tokenizer_json_spm.h"

#include <stdlib.h>
#include <string.h>

#include "formats/sha256.h"
#include "lib/base/grow.h"
#include "lib/bpe/pairs.h"
#include "lib/spm/spm_merge.h"
#include "lib/spm/symbols.h"
#include "lib/vocab/foreign.h"
#include "lib/vocab/spm_pieces.h"
#include "lib/vocab/tokenizer_json.h"
#include "lib/vocab/vocab_builder.h"

/* A vocabulary while it is read.  (Of the builder, merges are not used: they are written otherwise.) */
struct reading {
    tg_json *j;
    tg_vocab_builder pieces;
    unsigned char *types;         /* [pieces.n] */
    uint32_t (*halves)[2], *made; /* [n_merges] of ordinary pieces */
    size_t n_merges, capacity[2];
    uint32_t (*halves_of)[2]; /* [pieces.n] of the merge that makes each, if rank_of has one */
    uint32_t *rank_of;        /* [pieces.n] TG_RANK_NONE: none does */
    tg_spm_prefix prefix;
    bool spaces; /* something writes spaces as U+2581 */
};

static void fail_at(tg_json *j, size_t at, const char *what)
{
    j->value = at;
    (void)tg_json_fail(j, "%s", what);
}

/* ---- normalizer and pre_tokenizer */

enum { PREPEND = TG_COMPONENT_OPTION, PATTERN, CONTENT, REPLACEMENT, SCHEME, SPLIT };

static const char *const normalizer_names[] = {"type", "normalizers", "prepend", "pattern", "content"};
static const char *const pre_tokenizer_names[] = {"type",    "pretokenizers", "prepend",        "pattern",
                                                  "content", "replacement",   "prepend_scheme", "split"};

/* Whether a pattern, {"String": " "}, is a space. */
static bool is_space_pattern(tg_json *j, size_t at)
{
    return at > 0 && tg_json_find(j, at, "String") && tg_span_is(tg_json_get_text(j), " ");
}

static void take_metaspace(struct reading *r, tg_json *j, const tg_json_component *c)
{
    tg_span scheme;

    if (r->spaces || r->prefix != TG_SPM_PREFIX_NONE)
        fail_at(j, c->from,
                "pre_tokenizer \"Metaspace\" after a normalizer that writes spaces is not supported");
    if (!tg_span_is(tg_json_text_at(j, c->at[REPLACEMENT]), TG_SPM_SPACE))
        fail_at(j, c->from,
                "pre_tokenizer \"Metaspace\" with another replacement than U+2581 is not supported");
    if (c->at[SPLIT] == 0 || tg_json_bool_at(j, c->at[SPLIT], true))
        fail_at(j, c->from, "pre_tokenizer \"Metaspace\" that splits is not supported");
    scheme = tg_json_text_at(j, c->at[SCHEME]);
    if (tg_span_is(scheme, "always"))
        r->prefix = TG_SPM_PREFIX_METASPACE;
    else if (tg_span_is(scheme, "first"))
        r->prefix = TG_SPM_PREFIX_FIRST;
    else if (!tg_span_is(scheme, "never"))
        tg_json_unsupported(j, "prepend_scheme", scheme);
    r->spaces = true;
}

/* Take a component; the prefix comes before the spaces are written. */
static void take_component(void *context, tg_json *j, const tg_json_component *c)
{
    struct reading *r = context;

    if (tg_span_is(c->name, "Prepend") && !r->spaces && r->prefix == TG_SPM_PREFIX_NONE) {
        if (!tg_span_is(tg_json_text_at(j, c->at[PREPEND]), TG_SPM_SPACE))
            fail_at(j, c->from, "normalizer \"Prepend\" of another text than U+2581 is not supported");
        r->prefix = TG_SPM_PREFIX_DIVIDED;
    } else if (tg_span_is(c->name, "Replace") && !r->spaces) {
        if (!is_space_pattern(j, c->at[PATTERN]) ||
            !tg_span_is(tg_json_text_at(j, c->at[CONTENT]), TG_SPM_SPACE))
            fail_at(j, c->from, "normalizer \"Replace\" of anything but spaces by U+2581 is not supported");
        r->spaces = true;
    } else if (tg_span_is(c->name, "Split")) { /* at spaces, where none are left */
        if (!r->spaces || !is_space_pattern(j, c->at[PATTERN]))
            fail_at(j, c->from,
                    "pre_tokenizer \"Split\" is supported only at spaces, after U+2581 replaces them");
    } else if (tg_span_is(c->name, "Metaspace")) {
        take_metaspace(r, j, c);
    } else {
        tg_json_unsupported(j, "with byte_fallback, component", c->name);
    }
}

/* ---- types of pieces */

static bool has_space(const unsigned char *text, size_t n)
{
    for (size_t i = 0; i + TG_SPM_SPACE_BYTES <= n; i++)
        if (memcmp(text + i, TG_SPM_SPACE, TG_SPM_SPACE_BYTES) == 0)
            return true;
    return false;
}

static const unsigned char *piece(const struct reading *r, size_t id, size_t *n)
{
    return tg_token_text(r->pieces.ends, r->pieces.tokens, id, n);
}

/*
 * Set the type of an added token.  One that is not special and has U+2581 is looked for before spaces are
 * written so, which finds only a text's own U+2581: it is left to the merges.
 */
static void set_added_type(struct reading *r, const tg_added_token *token)
{
    size_t n;
    const unsigned char *text = piece(r, token->id, &n);
    unsigned char *type = &r->types[token->id];

    if (token->special)
        *type = *type == TG_SPM_UNKNOWN ? TG_SPM_UNKNOWN : TG_SPM_CONTROL;
    else if (!has_space(text, n) || token->normalized)
        *type = TG_SPM_USER_DEFINED;
}

/* The types that follow from the texts; then those of added tokens. */
static void set_types(struct reading *r, const tg_added_tokens *a, tg_span unknown)
{
    const uint32_t unk = tg_token_table_find(&r->pieces.table, (const unsigned char *)unknown.p, unknown.n);
    unsigned char byte;

    if (!(r->types = malloc(r->pieces.n))) {
        r->j->status = tg_fail_memory(r->j->err, r->pieces.n, "a vocabulary");
        return;
    }
    for (size_t id = 0; id < r->pieces.n; id++) {
        size_t n;
        const unsigned char *text = piece(r, id, &n);

        r->types[id] = id == unk && unknown.n > 0       ? TG_SPM_UNKNOWN
                       : tg_spm_is_byte(text, n, &byte) ? TG_SPM_BYTE
                       : n > 0                          ? TG_SPM_NORMAL
                                                        : TG_SPM_UNUSED;
    }
    for (size_t i = 0; i < a->n; i++)
        set_added_type(r, &a->token[i]);
}

/* ---- merges */

/* Whether merges may make a piece, or start from it.  A text has no spaces by then: they are U+2581. */
static bool is_ordinary(const struct reading *r, uint32_t id)
{
    size_t n = 0;
    const unsigned char *text = id != TG_TOKEN_NONE ? piece(r, id, &n) : NULL;

    return n > 0 && r->types[id] == TG_SPM_NORMAL && !memchr(text, ' ', n);
}

/* Append a merge.  One of pieces that are found before any merging never happens. */
static tg_status take_merge(void *context, const tg_vocab_halves *h, tg_err *err)
{
    struct reading *r = context;
    const uint32_t a = tg_token_table_find(&r->pieces.table, (const unsigned char *)h->left, h->n_left);
    const uint32_t b = tg_token_table_find(&r->pieces.table, (const unsigned char *)h->right, h->n_right);
    const uint32_t made = a != TG_TOKEN_NONE && b != TG_TOKEN_NONE
                              ? tg_token_table_find_joined(&r->pieces.table, a, b)
                              : TG_TOKEN_NONE;
    tg_status status;

    if (made == TG_TOKEN_NONE)
        return tg_fail(err, TG_EDATA, "a merge of texts that are no tokens, or make none");
    if (!is_ordinary(r, a) || !is_ordinary(r, b) || !is_ordinary(r, made))
        return TG_OK;
    if (r->n_merges == TG_PAIRS_MAX)
        return tg_fail(err, TG_EDATA, "more than %zu merges", TG_PAIRS_MAX);
    if ((status = tg_grow(&r->halves, &r->capacity[0], r->n_merges + 1, sizeof *r->halves, "merges", err)) ||
        (status = tg_grow(&r->made, &r->capacity[1], r->n_merges + 1, sizeof *r->made, "merges", err)))
        return status;
    r->halves[r->n_merges][0] = a;
    r->halves[r->n_merges][1] = b;
    r->made[r->n_merges++] = made;
    return TG_OK;
}

/* Merge the characters of each piece by the ranks of pairs. */
static tg_status merge_pieces(struct reading *r, tg_spm_merger *merger, tg_err *err)
{
    tg_status status = TG_OK;

    for (uint32_t id = 0; !status && id < r->pieces.n; id++) {
        size_t n;
        const unsigned char *text = piece(r, id, &n);

        r->rank_of[id] = TG_RANK_NONE;
        if (!is_ordinary(r, id) || (status = tg_spm_merge(merger, text, n, err)) || merger->n == 1 ||
            merger->nodes[0].next < merger->n)
            continue;
        memcpy(r->halves_of[id], merger->last, sizeof *r->halves_of);
        r->rank_of[id] = merger->last_order;
    }
    return status;
}

static tg_status add_characters(const struct reading *r, tg_spm_symbols *symbols, tg_err *err)
{
    tg_status status = tg_spm_symbols_create(symbols, err);

    for (uint32_t id = 0; !status && id < r->pieces.n; id++) {
        uint32_t code;
        size_t n;
        const unsigned char *text = piece(r, id, &n);

        if (is_ordinary(r, id) && tg_spm_decode(&code, text, n) == n && code < TG_SPM_CODES)
            status = tg_spm_symbols_set(symbols, code, id, err);
    }
    return status;
}

/* Number the ranks without those of merges that make no piece: a file without such merges says the same. */
static void number_ranks(struct reading *r)
{
    uint32_t *number = r->made; /* which is no longer needed */
    size_t n = 0;

    if (r->n_merges == 0)
        return;
    memset(number, 0, r->n_merges * sizeof *number);
    for (size_t id = 0; id < r->pieces.n; id++)
        if (r->rank_of[id] != TG_RANK_NONE)
            number[r->rank_of[id]] = 1;
    for (size_t rank = 0; rank < r->n_merges; rank++) {
        const bool makes = number[rank];

        number[rank] = (uint32_t)n;
        n += makes;
    }
    for (size_t id = 0; id < r->pieces.n; id++)
        if (r->rank_of[id] != TG_RANK_NONE)
            r->rank_of[id] = number[r->rank_of[id]];
    r->n_merges = n;
}

/* Find the merge that makes each piece. */
static tg_status find_ranks(struct reading *r, tg_err *err)
{
    unsigned char hash[TG_SHA256_SIZE]; /* nobody can choose merges that collide: they choose it too */
    uint32_t byte_ids[256];
    uint64_t secret;
    tg_spm_symbols symbols = {.page = NULL};
    tg_pairs pairs = {0};
    tg_spm_merger merger = {.symbols = &symbols, .pairs = &pairs, .limit = TG_RANK_NONE};
    tg_status status;

    memset(byte_ids, 0xFF, sizeof byte_ids);
    tg_sha256(hash, r->halves, r->n_merges * sizeof *r->halves);
    memcpy(&secret, hash, sizeof secret);
    r->halves_of = malloc(r->pieces.n * sizeof *r->halves_of);
    r->rank_of = malloc(r->pieces.n * sizeof *r->rank_of);
    if (!r->halves_of || !r->rank_of)
        return tg_fail_memory(err, r->pieces.n * 3 * sizeof *r->rank_of, "merges");
    if (!(status = tg_pairs_create(&pairs, (const uint32_t(*)[2])r->halves, r->made, r->n_merges, NULL,
                                   byte_ids, secret, err)) &&
        !(status = add_characters(r, &symbols, err)))
        status = merge_pieces(r, &merger, err);
    if (!status)
        number_ranks(r);
    tg_spm_merger_free(&merger);
    tg_spm_symbols_free(&symbols);
    tg_pairs_free(&pairs);
    return status;
}

/* ---- the tokenizer */

static tg_status build(const tg_tokenizer **tok, const struct reading *r, tg_err *err)
{
    tg_spm_pieces p = {0};
    tg_status status = TG_OK;

    for (size_t id = 0; !status && id < r->pieces.n; id++) {
        const uint32_t rank = r->rank_of[id];
        size_t n;
        const unsigned char *text = piece(r, id, &n);

        status = tg_spm_pieces_add(&p, text, n, -(double)(rank == TG_RANK_NONE ? r->n_merges : rank),
                                   r->types[id], err);
    }
    if (!status)
        status = tg_spm_pieces_build(tok, &p, r->prefix, err);
    tg_spm_pieces_free(&p);
    return status;
}

/* Check that scores make each piece of the same halves as ranks. */
static tg_status check_halves(const tg_tokenizer *tok, const struct reading *r, tg_err *err)
{
    char shown[TG_TOKEN_SHOWN];

    for (uint32_t id = 0; id < r->pieces.n; id++) {
        uint32_t halves[2] = {0};
        const bool made = tg_spm_halves(tok, id, halves), ranked = r->rank_of[id] != TG_RANK_NONE;
        size_t n;
        const unsigned char *text = piece(r, id, &n);

        if (made != ranked || (made && memcmp(halves, r->halves_of[id], sizeof halves) != 0))
            return tg_fail(err, TG_EDATA, "no scores say what the merges say of token %lu, \"%s\"",
                           (unsigned long)id, tg_token_shown(shown, text, n));
    }
    return TG_OK;
}

static void read_model(struct reading *r, const size_t *part)
{
    size_t at[TG_JSON_MODEL_PARTS];
    tg_added_tokens added = {.n = 0};
    tg_json *j = r->j;

    tg_open_model(at, j, part[TG_JSON_MODEL], true);
    tg_read_added(&added, j, part[TG_JSON_ADDED]);
    tg_read_vocab(&r->pieces, &added, j, at[TG_JSON_MODEL_VOCAB], false);
    if (!j->status)
        set_types(r, &added, tg_json_text_at(j, at[TG_JSON_MODEL_UNK]));
    tg_added_free(&added);
    tg_read_merges(j, at[TG_JSON_MODEL_MERGES], take_merge, r);
}

bool tg_spm_json_recognize(tg_json *j, size_t model)
{
    enum { TYPE, BYTE_FALLBACK, NAMES };
    static const char *const names[] = {"type", "byte_fallback"};
    const size_t was = j->at, value = j->value;
    size_t at[NAMES] = {0};
    tg_span type;
    bool falls_back;

    if (j->status || model == 0)
        return false;
    (void)tg_json_go(j, model);
    tg_json_members(j, names, NAMES, at);
    type = tg_json_text_at(j, at[TYPE]);
    if (at[TYPE] > 0 && !tg_span_is(type, "BPE"))
        tg_json_unsupported(j, "model", type);
    falls_back = tg_json_bool_at(j, at[BYTE_FALLBACK], false);
    (void)tg_json_go(j, was);
    j->value = value;
    return falls_back && !j->status;
}

void tg_spm_json_read(const tg_tokenizer **tok, tg_json *j, const size_t at[TG_JSON_PARTS])
{
    struct reading r = {.j = j};

    *tok = NULL;
    tg_read_components(j, at[TG_JSON_NORMALIZER], normalizer_names, 5, take_component, &r);
    tg_read_components(j, at[TG_JSON_PRE_TOKENIZER], pre_tokenizer_names, 8, take_component, &r);
    if (!r.spaces)
        fail_at(j, at[TG_JSON_MODEL], "with byte_fallback, spaces must become U+2581");
    read_model(&r, at);
    if (!j->status && !(j->status = find_ranks(&r, j->err)) && !(j->status = build(tok, &r, j->err)) &&
        (j->status = check_halves(*tok, &r, j->err))) {
        tg_tokenizer_free(*tok);
        *tok = NULL;
    }
    tg_vocab_builder_free(&r.pieces);
    free(r.types);
    free(r.halves);
    free(r.made);
    free(r.halves_of);
    free(r.rank_of);
}
