#include "lib/vocab/tokenizer_json_spm.h"

#include <stdlib.h>
#include <string.h>

#include "formats/sha256.h"
#include "lib/base/grow.h"
#include "lib/base/size.h"
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
    size_t n_vocab;               /* pieces of the model; added tokens may follow */
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

/* The text at an offset; "" if there is none. */
static tg_span text_at(tg_json *j, size_t at)
{
    if (at == 0)
        return (tg_span){"", 0};
    (void)tg_json_go(j, at);
    return tg_json_get_text(j);
}

/* ---- normalizer and pre_tokenizer */

enum { TYPE, PREPEND, PATTERN, CONTENT, BEHAVIOR, REPLACEMENT, SCHEME, SPLIT, LIST, LIST_2, COMPONENT_NAMES };

static const char *const component_names[] = {"type",        "prepend",      "pattern",        "content",
                                              "behavior",    "replacement",  "prepend_scheme", "split",
                                              "normalizers", "pretokenizers"};

/* Whether a pattern, {"String": " "}, is a space. */
static bool is_space_pattern(tg_json *j, size_t at)
{
    static const char *const names[] = {"String"};
    size_t string[1];

    if (at == 0)
        return false;
    (void)tg_json_go(j, at);
    tg_json_members(j, names, 1, string);
    return tg_span_is(text_at(j, string[0]), " ");
}

static void take_metaspace(struct reading *r, size_t from, const size_t *at)
{
    tg_json *j = r->j;
    tg_span scheme;

    if (r->spaces || r->prefix != TG_SPM_PREFIX_NONE)
        fail_at(j, from,
                "pre_tokenizer \"Metaspace\" after a normalizer that writes spaces is not supported");
    if (!tg_span_is(text_at(j, at[REPLACEMENT]), TG_SPM_SPACE))
        fail_at(j, from, "pre_tokenizer \"Metaspace\" with another replacement than U+2581 is not supported");
    if (at[SPLIT] == 0 || tg_json_bool_at(j, at[SPLIT], true))
        fail_at(j, from, "pre_tokenizer \"Metaspace\" that splits is not supported");
    scheme = text_at(j, at[SCHEME]);
    if (tg_span_is(scheme, "always"))
        r->prefix = TG_SPM_PREFIX_METASPACE;
    else if (tg_span_is(scheme, "first"))
        r->prefix = TG_SPM_PREFIX_FIRST;
    else if (!tg_span_is(scheme, "never"))
        tg_json_unsupported(j, "prepend_scheme", scheme);
    r->spaces = true;
}

/* Take a component; the prefix comes before the spaces are written. */
static void take_component(struct reading *r, size_t from, const size_t *at)
{
    tg_json *j = r->j;
    const tg_span type = text_at(j, at[TYPE]);

    if (tg_span_is(type, "Prepend") && !r->spaces && r->prefix == TG_SPM_PREFIX_NONE) {
        if (!tg_span_is(text_at(j, at[PREPEND]), TG_SPM_SPACE))
            fail_at(j, from, "normalizer \"Prepend\" of another text than U+2581 is not supported");
        r->prefix = TG_SPM_PREFIX_DIVIDED;
    } else if (tg_span_is(type, "Replace") && !r->spaces) {
        if (!is_space_pattern(j, at[PATTERN]) || !tg_span_is(text_at(j, at[CONTENT]), TG_SPM_SPACE))
            fail_at(j, from, "normalizer \"Replace\" of anything but spaces by U+2581 is not supported");
        r->spaces = true;
    } else if (tg_span_is(type, "Split")) { /* at spaces, where none are left */
        if (!r->spaces || !is_space_pattern(j, at[PATTERN]))
            fail_at(j, from,
                    "pre_tokenizer \"Split\" is supported only at spaces, after U+2581 replaces them");
    } else if (tg_span_is(type, "Metaspace")) {
        take_metaspace(r, from, at);
    } else {
        tg_json_unsupported(j, "with byte_fallback, component", type);
    }
}

/* Take a normalizer or a pre_tokenizer, or each of a sequence. */
static void take_components(struct reading *r, size_t from)
{
    size_t at[COMPONENT_NAMES], list;
    tg_json *j = r->j;

    if (from == 0)
        return;
    (void)tg_json_go(j, from);
    tg_json_members(j, component_names, COMPONENT_NAMES, at);
    if (!tg_span_is(text_at(j, at[TYPE]), "Sequence")) {
        if (!j->status)
            take_component(r, from, at);
        return;
    }
    list = at[LIST] > 0 ? at[LIST] : at[LIST_2];
    if (list == 0)
        fail_at(j, from, "a \"Sequence\" has no list");
    (void)tg_json_go(j, list);
    tg_json_enter(j, TG_JSON_ARRAY);
    while (tg_json_element_at(j, &from)) {
        const size_t after = j->at;

        (void)tg_json_go(j, from);
        tg_json_members(j, component_names, COMPONENT_NAMES, at);
        if (!j->status)
            take_component(r, from, at);
        (void)tg_json_go(j, after);
    }
}

/* ---- the model's pieces */

enum { M_TYPE, VOCAB, MERGES, IGNORE_MERGES, DROPOUT, MODEL_PREFIX, SUFFIX, UNK, BYTE_FALLBACK, MODEL_NAMES };

static const char *const model_names[] = {"type",
                                          "vocab",
                                          "merges",
                                          "ignore_merges",
                                          "dropout",
                                          "continuing_subword_prefix",
                                          "end_of_word_suffix",
                                          "unk_token",
                                          "byte_fallback"};

/* Refuse a setting other than false or "". */
static void check_settings(tg_json *j, const size_t *at)
{
    for (size_t i = IGNORE_MERGES; i <= SUFFIX; i++) {
        tg_json_kind kind;

        if (at[i] == 0)
            continue;
        (void)tg_json_go(j, at[i]);
        kind = tg_json_peek(j);
        if (kind == TG_JSON_BOOL ? tg_json_get_bool(j) : kind != TG_JSON_STRING || tg_json_get_text(j).n > 0)
            (void)tg_json_fail(j, "model with \"%s\" and \"byte_fallback\" is not supported", model_names[i]);
    }
}

static void read_vocab(struct reading *r, size_t from)
{
    tg_json *j = r->j;
    tg_span key;

    (void)tg_json_go(j, from);
    tg_json_enter(j, TG_JSON_OBJECT);
    while (tg_json_key(j, &key)) {
        const size_t id = tg_json_get_size(j);

        if (!j->status && tg_vocab_add(&r->pieces, id, key.p, key.n, false, j->err))
            (void)tg_json_err_in(j);
        r->n_vocab++;
    }
}

/* ---- added tokens */

enum { ID, TEXT, SPECIAL, SINGLE_WORD, LSTRIP, RSTRIP, NORMALIZED, ADDED_NAMES };

static const char *const added_names[] = {"id",     "content", "special",   "single_word",
                                          "lstrip", "rstrip",  "normalized"};

/* What is done with an added token. */
typedef void take_added(struct reading *r, size_t id, tg_span text, bool special, bool normalized);

/* Call `take` for each added token. */
static void for_each_added(struct reading *r, size_t from, take_added *take)
{
    tg_json *j = r->j;
    size_t at[ADDED_NAMES];

    if (from == 0)
        return;
    (void)tg_json_go(j, from);
    tg_json_enter(j, TG_JSON_ARRAY);
    while (tg_json_element_at(j, &from)) {
        const size_t after = j->at;
        size_t id;

        (void)tg_json_go(j, from);
        tg_json_members(j, added_names, ADDED_NAMES, at);
        if (at[ID] == 0 || at[TEXT] == 0)
            fail_at(j, from, "an added token lacks \"id\" or \"content\"");
        for (size_t i = SINGLE_WORD; i <= RSTRIP; i++)
            if (tg_json_bool_at(j, at[i], false)) /* it changes where the token matches */
                fail_at(j, at[i],
                        "an added token with \"single_word\", \"lstrip\" or \"rstrip\" is not supported");
        (void)tg_json_go(j, at[ID]);
        id = tg_json_get_size(j);
        if (!j->status) {
            const bool special = tg_json_bool_at(j, at[SPECIAL], false);
            const bool normalized = tg_json_bool_at(j, at[NORMALIZED], !special);

            take(r, id, text_at(j, at[TEXT]), special, normalized);
        }
        (void)tg_json_go(j, after);
    }
}

/* Add a token that the model lacks. */
static void add_missing(struct reading *r, size_t id, tg_span text, bool special, bool normalized)
{
    (void)special;
    (void)normalized;
    if (!r->j->status && id >= r->n_vocab && tg_vocab_add(&r->pieces, id, text.p, text.n, false, r->j->err))
        (void)tg_json_err_in(r->j);
}

static bool has_space(tg_span text)
{
    for (size_t i = 0; i + TG_SPM_SPACE_BYTES <= text.n; i++)
        if (memcmp(text.p + i, TG_SPM_SPACE, TG_SPM_SPACE_BYTES) == 0)
            return true;
    return false;
}

static const unsigned char *piece(const struct reading *r, size_t id, size_t *n)
{
    const size_t from = id > 0 ? r->pieces.ends[id - 1] : 0;

    *n = r->pieces.ends[id] - from;
    return r->pieces.tokens + from;
}

/*
 * Set the type of an added token.  One that is not special and has U+2581 is looked for before spaces are
 * written so, which finds only a text's own U+2581: it is left to the merges.
 */
static void set_type(struct reading *r, size_t id, tg_span text, bool special, bool normalized)
{
    tg_json *j = r->j;
    size_t n = 0;
    const unsigned char *same = id < r->pieces.n ? piece(r, id, &n) : NULL;

    if (j->status)
        return;
    if (n != text.n || memcmp(same, text.p, n) != 0)
        (void)tg_json_fail(j, "the added token with id %zu has another text in the model", id);
    else if (special)
        r->types[id] = r->types[id] == TG_SPM_UNKNOWN ? TG_SPM_UNKNOWN : TG_SPM_CONTROL;
    else if (!has_space(text) || normalized)
        r->types[id] = TG_SPM_USER_DEFINED;
}

/* The types that the texts tell. */
static void set_types(struct reading *r, tg_span unknown)
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
}

/* ---- merges */

static bool is_ordinary(const struct reading *r, uint32_t id)
{
    return id != TG_TOKEN_NONE && r->types[id] == TG_SPM_NORMAL;
}

/* Append a merge.  One of pieces that are found before any merging never happens. */
static void add_merge(struct reading *r, const char *left, size_t n_left, const char *right, size_t n_right)
{
    tg_json *j = r->j;
    const uint32_t a = tg_token_table_find(&r->pieces.table, (const unsigned char *)left, n_left);
    const uint32_t b = tg_token_table_find(&r->pieces.table, (const unsigned char *)right, n_right);
    const uint32_t made = a != TG_TOKEN_NONE && b != TG_TOKEN_NONE
                              ? tg_token_table_find_joined(&r->pieces.table, a, b)
                              : TG_TOKEN_NONE;

    if (made == TG_TOKEN_NONE) {
        (void)tg_json_fail(j, "a merge of texts that are no tokens, or make none");
        return;
    }
    if (!is_ordinary(r, a) || !is_ordinary(r, b) || !is_ordinary(r, made))
        return;
    if ((j->status =
             tg_grow(&r->halves, &r->capacity[0], r->n_merges + 1, sizeof *r->halves, "merges", j->err)) ||
        (j->status = tg_grow(&r->made, &r->capacity[1], r->n_merges + 1, sizeof *r->made, "merges", j->err)))
        return;
    r->halves[r->n_merges][0] = a;
    r->halves[r->n_merges][1] = b;
    r->made[r->n_merges++] = made;
}

/* "A B" */
static void take_joined(struct reading *r)
{
    const tg_span text = tg_json_get_text(r->j);
    const char *const space = text.n > 0 ? memchr(text.p, ' ', text.n) : NULL;

    if (r->j->status)
        return;
    if (space)
        add_merge(r, text.p, (size_t)(space - text.p), space + 1, text.n - (size_t)(space - text.p) - 1);
    else
        (void)tg_json_fail(r->j, "expected two halves of a merge separated by a space");
}

/* ["A", "B"]; left [TG_BPE_TOKEN_MAX] is scratch. */
static void take_pair(struct reading *r, char *left)
{
    tg_json *j = r->j;
    tg_span text = {NULL, 0};
    size_t n = 0;

    tg_json_enter(j, TG_JSON_ARRAY);
    for (size_t half = 0; half < 2; half++) {
        if (!tg_json_element(j))
            (void)tg_json_fail(j, "expected two halves of a merge, got %zu", half);
        text = tg_json_get_text(j);
        if (text.n > TG_BPE_TOKEN_MAX)
            (void)tg_json_fail(j, "half of a merge has %zu bytes, expected at most %zu", text.n,
                               TG_BPE_TOKEN_MAX);
        else if (half == 0 && !j->status)
            memcpy(left, text.p, n = text.n);
    }
    if (!j->status)
        add_merge(r, left, n, text.p, text.n);
    if (tg_json_element(j))
        (void)tg_json_fail(j, "expected two halves of a merge, got more");
}

static void read_merges(struct reading *r, size_t at)
{
    char *left = malloc(TG_BPE_TOKEN_MAX);
    tg_json *j = r->j;

    if (!left && !j->status)
        j->status = tg_fail_memory(j->err, TG_BPE_TOKEN_MAX, "a merge");
    (void)tg_json_go(j, at);
    tg_json_enter(j, TG_JSON_ARRAY);
    while (tg_json_element(j)) {
        if (r->n_merges == TG_PAIRS_MAX)
            (void)tg_json_fail(j, "the model has more than %zu merges", TG_PAIRS_MAX);
        else if (tg_json_peek(j) == TG_JSON_ARRAY)
            take_pair(r, left);
        else
            take_joined(r);
    }
    free(left);
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
    size_t at[MODEL_NAMES];
    tg_json *j = r->j;

    (void)tg_json_go(j, part[TG_JSON_MODEL]);
    tg_json_members(j, model_names, MODEL_NAMES, at);
    if (at[M_TYPE] > 0 && !tg_span_is(text_at(j, at[M_TYPE]), "BPE"))
        tg_json_unsupported(j, "model", text_at(j, at[M_TYPE]));
    if (at[VOCAB] == 0 || at[MERGES] == 0)
        fail_at(j, part[TG_JSON_MODEL], "the model has no \"vocab\" or no \"merges\"");
    check_settings(j, at);
    read_vocab(r, at[VOCAB]);
    for_each_added(r, part[TG_JSON_ADDED], add_missing);
    if (!j->status)
        j->status = tg_vocab_arrange(&r->pieces, j->err);
    if (!j->status)
        set_types(r, text_at(j, at[UNK]));
    for_each_added(r, part[TG_JSON_ADDED], set_type);
    read_merges(r, at[MERGES]);
}

bool tg_spm_json_recognize(tg_json *j, size_t model)
{
    static const char *const names[] = {"byte_fallback"};
    const size_t was = j->at, value = j->value;
    size_t at[1] = {0};
    bool falls_back;

    if (j->status || model == 0)
        return false;
    (void)tg_json_go(j, model);
    tg_json_members(j, names, 1, at);
    falls_back = tg_json_bool_at(j, at[0], false);
    (void)tg_json_go(j, was);
    j->value = value;
    return falls_back && !j->status;
}

void tg_spm_json_read(const tg_tokenizer **tok, tg_json *j, const size_t at[TG_JSON_PARTS])
{
    struct reading r = {.j = j};

    *tok = NULL;
    take_components(&r, at[TG_JSON_NORMALIZER]);
    take_components(&r, at[TG_JSON_PRE_TOKENIZER]);
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
