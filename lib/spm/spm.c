/* The kind "sentencepiece": its arrays in archives and in memory. */
#include "lib/spm/spm.h"

#include <stdlib.h>
#include <string.h>

#include "formats/archive.h"
#include "lib/bpe/bpe.h"
#include "lib/bpe/token_arrays.h"
#include "lib/spm/spm_encode.h"
#include "lib/spm/spm_state.h"
#include "lib/text/kind.h"

#define PREFIX TG_TOKENIZER_PREFIX

/* ---- the arrays of archives */

enum { DUMMY_PREFIX, ENDS, TOKENS, SCORES, TYPES, SPECIAL, ARRAYS }; /* in this order */

static bool array(const void *tok, size_t i, tg_array *a)
{
    static const char *const prefixes[] = {"none", "parts", "divided", "metaspace", "first"};
    const tg_spm *s = tok;
    const size_t n = s->vocab.n;
    const char *prefix = prefixes[s->vocab.prefix];
    const tg_array arrays[ARRAYS] = {
        {.name = PREFIX "dummy_prefix", .dtype = {'S', strlen(prefix)}, .data = prefix},
        {.name = PREFIX "ends", .dtype = TG_U32, .ndim = 1, .shape = {n}, .data = s->ends},
        {.name = PREFIX "tokens", .dtype = TG_U8, .ndim = 1, .shape = {s->n_bytes}, .data = s->tokens},
        {.name = PREFIX "scores", .dtype = TG_F32, .ndim = 1, .shape = {n}, .data = s->scores},
        {.name = PREFIX "types", .dtype = TG_U8, .ndim = 1, .shape = {n}, .data = s->types},
        {.name = PREFIX "special",
         .dtype = TG_U32,
         .ndim = 1,
         .shape = {s->vocab.n_special},
         .data = s->special},
    };

    if (i < ARRAYS)
        *a = arrays[i];
    return i < ARRAYS;
}

/* ---- reading */

static tg_status take_prefix(tg_spm *s, tg_archive_reader *r, const tg_array *a, tg_err *err)
{
    size_t number;
    const tg_status status = tg_archive_get_choice(r, a, TG_SPM_PREFIXES, &number, err);

    if (!status)
        s->vocab.prefix = (tg_spm_prefix)number;
    return status;
}

static tg_status take(void *tok, tg_archive_reader *r, const tg_array *a, bool *taken, tg_err *err)
{
    tg_spm *s = tok;
    const struct {
        void **data;
        size_t *n, max;
    } lists[ARRAYS] = {
        [ENDS] = {(void **)&s->ends, &s->vocab.n, TG_BPE_TOKENS_MAX},
        [TOKENS] = {(void **)&s->tokens, &s->n_bytes, TG_BPE_BYTES_MAX},
        [SCORES] = {(void **)&s->scores, &s->n_scores, TG_BPE_TOKENS_MAX},
        [TYPES] = {(void **)&s->types, &s->n_types, TG_BPE_TOKENS_MAX},
        [SPECIAL] = {(void **)&s->special, &s->vocab.n_special, TG_BPE_TOKENS_MAX},
    };
    tg_array own;
    size_t i = 0;

    while ((*taken = array(s, i, &own)) && strcmp(own.name, a->name) != 0)
        i++;
    if (!*taken)
        return TG_OK;
    s->present |= 1u << i;
    if (i == DUMMY_PREFIX)
        return take_prefix(s, r, a, err);
    return tg_token_arrays_take(lists[i].data, lists[i].n, lists[i].max, &own, r, a, err);
}

static tg_status complete(void *tok, size_t *vocab_size, tg_err *err)
{
    tg_spm *s = tok;
    const size_t n = s->vocab.n;
    tg_array own;

    for (size_t i = 0; array(s, i, &own); i++)
        if (!(s->present >> i & 1))
            return tg_fail(err, TG_EDATA, "%s is missing", own.name);
    if (n == 0)
        return tg_fail(err, TG_EDATA, PREFIX "ends is empty, expected at least one id");
    if (*vocab_size != 0 && *vocab_size != n)
        return tg_fail(err, TG_EDATA, PREFIX "vocab_size is %zu, " PREFIX "ends has %zu", *vocab_size, n);
    if (s->n_scores != n || s->n_types != n)
        return tg_fail(err, TG_EDATA, PREFIX "%s has %zu elements, " PREFIX "ends has %zu",
                       s->n_scores != n ? "scores" : "types", s->n_scores != n ? s->n_scores : s->n_types, n);
    *vocab_size = n;
    s->vocab.ends = s->ends;
    s->vocab.tokens = s->tokens;
    s->vocab.scores = s->scores;
    s->vocab.types = s->types;
    s->vocab.special = s->special;
    return tg_spm_prepare(s, err);
}

static void free_state(void *tok)
{
    tg_spm *s = tok;

    free(s->ends);
    free(s->tokens);
    free(s->scores);
    free(s->types);
    free(s->special);
    free(s->text_ends);
    free(s->text);
    free(s->order);
    free(s->made_by);
    tg_pairs_free(&s->pairs);
    tg_spm_symbols_free(&s->symbols);
    tg_prefix_filter_free(&s->prefixes);
    tg_specials_free(&s->user_defined);
}

/* ---- using */

static const unsigned char *token(const void *tok, int32_t id, size_t *n)
{
    return tg_spm_text(tok, (uint32_t)id, n);
}

/* Whether a text begins after this id.  An unknown one stands for characters if there are no bytes. */
static bool ends_text(const tg_spm *s, int32_t id)
{
    const unsigned char type = s->types[id];

    return type == TG_SPM_CONTROL || (type == TG_SPM_UNKNOWN && s->bytes) ||
           (type == TG_SPM_USER_DEFINED && tg_spm_divides(s));
}

static bool adds_space(const void *tok, int32_t before, int32_t id)
{
    const tg_spm *s = tok;

    if (s->types[id] == TG_SPM_USER_DEFINED && tg_spm_divides(s)) /* the space is the piece's own */
        return false;
    if (before < 0)
        return tg_spm_adds_space(s, TG_FOLLOWS_NOTHING);
    return ends_text(s, before) && tg_spm_adds_space(s, TG_FOLLOWS_SPECIAL);
}

static size_t specials(const void *tok, const uint32_t **ids)
{
    const tg_spm *s = tok;

    *ids = s->special;
    return s->vocab.n_special;
}

const tg_tokenizer_kind tg_tokenizer_kind_spm = {
    .name = "sentencepiece",
    .size = sizeof(tg_spm),
    .encoder_size = sizeof(tg_spm_encoder),
    .take = take,
    .complete = complete,
    .array = array,
    .free = free_state,
    .token = token,
    .adds_space = adds_space,
    .specials = specials,
    .cut = tg_spm_cut,
    .follows = tg_spm_encoder_follows,
    .start = tg_spm_encoder_start,
    .encode = tg_spm_encoder_encode,
    .finish = tg_spm_encoder_finish,
    .stop = tg_spm_encoder_stop,
};

/* ---- making */

static tg_status check_limits(const tg_spm_vocab *v, tg_err *err)
{
    const size_t bytes = v->n > 0 ? v->ends[v->n - 1] : 0;

    if (v->n > TG_BPE_TOKENS_MAX)
        return tg_fail(err, TG_EDATA, "the vocabulary has %zu ids, expected at most %zu", v->n,
                       TG_BPE_TOKENS_MAX);
    if (bytes > TG_BPE_BYTES_MAX)
        return tg_fail(err, TG_EDATA, "the vocabulary has %zu bytes of tokens, expected at most %zu", bytes,
                       TG_BPE_BYTES_MAX);
    return TG_OK;
}

static tg_status copy_arrays(tg_spm *s, const tg_spm_vocab *v, tg_err *err)
{
    s->vocab = *v;
    s->present = ~0u;
    s->n_bytes = v->n > 0 ? v->ends[v->n - 1] : 0;
    s->n_scores = s->n_types = v->n;
    s->ends = tg_token_arrays_copy(v->ends, v->n * sizeof *s->ends);
    s->tokens = tg_token_arrays_copy(v->tokens, s->n_bytes);
    s->scores = tg_token_arrays_copy(v->scores, v->n * sizeof *s->scores);
    s->types = tg_token_arrays_copy(v->types, v->n * sizeof *s->types);
    s->special = tg_token_arrays_copy(v->special, v->n_special * sizeof *s->special);
    if (!s->ends || !s->tokens || !s->scores || !s->types || !s->special)
        return tg_fail_memory(err, v->n * (sizeof *s->ends + sizeof *s->scores + 1) + s->n_bytes,
                              "a vocabulary");
    return TG_OK;
}

tg_status tg_spm_create(const tg_tokenizer **out, const tg_spm_vocab *v, tg_err *err)
{
    tg_tokenizer *tok = NULL;
    tg_status status;

    *out = NULL;
    if ((status = check_limits(v, err)) || (status = tg_tokenizer_begin(&tok, &tg_tokenizer_kind_spm, err)))
        return status;
    if (!(status = copy_arrays((void *)tok->state, v, err)))
        return tg_tokenizer_seal(out, tok, 0, err);
    tg_tokenizer_free(tok);
    return status;
}

static const tg_spm *state_of(const tg_tokenizer *tok)
{
    return tok->kind == &tg_tokenizer_kind_spm ? (const void *)tok->state : NULL;
}

const tg_spm_vocab *tg_spm_vocab_of(const tg_tokenizer *tok)
{
    const tg_spm *s = state_of(tok);

    return s ? &s->vocab : NULL;
}

bool tg_spm_halves(const tg_tokenizer *tok, uint32_t id, uint32_t halves[2])
{
    const tg_spm *s = state_of(tok);
    const uint32_t rank = s && id < s->vocab.n ? s->made_by[id] : TG_RANK_NONE;

    if (rank == TG_RANK_NONE)
        return false;
    halves[0] = s->pairs.pairs[rank].left;
    halves[1] = s->pairs.pairs[rank].right;
    return true;
}

const tg_pair *tg_spm_merge_list(const tg_tokenizer *tok, size_t *n)
{
    const tg_spm *s = state_of(tok);

    *n = s ? s->n_merges : 0;
    return s ? s->pairs.pairs : NULL;
}
