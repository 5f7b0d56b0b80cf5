#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/size.h"
#include "lib/base/utf8.h"
#include "lib/bpe/bpe.h"
#include "lib/models/gguf_vocab.h"
#include "lib/models/writing.h"
#include "lib/spm/spm.h"
#include "lib/text/encoder.h"
#include "lib/text/ids.h"
#include "lib/vocab/foreign.h"
#include "lib/vocab/vocab_tokens.h"

/* ---- tokens */

/* Tokens up to v->n; those that the tokenizer lacks are padding. */
static tg_status make_tokens(tg_gguf_vocab *v, const tg_tokenizer *tok, tg_err *err)
{
    const uint32_t *special, *added;
    const size_t specials = tg_tokenizer_specials(tok, &special), n_added = tg_tokenizer_added(tok, &added);
    char padding[TG_GGUF_PADDING_SIZE];
    tg_status status = TG_OK;

    if (!(v->type = malloc(v->n * sizeof *v->type)))
        return tg_fail_memory(err, v->n * sizeof *v->type, "a vocabulary");
    for (size_t id = 0; !status && id < v->n; id++) {
        size_t n;
        const void *token = tg_tokenizer_token(tok, (int32_t)id, &n);

        v->type[id] = n == 0                                  ? TG_GGUF_UNUSED
                      : tg_ids_contain(special, specials, id) ? TG_GGUF_CONTROL
                      : tg_ids_contain(added, n_added, id)    ? TG_GGUF_USER_DEFINED
                                                              : TG_GGUF_NORMAL;
        if (n == 0) {
            token = tg_gguf_padding(padding, id);
            n = strlen(padding);
        }
        if (!(status = tg_gguf_texts_put(&v->tokens, token, n, v->type[id] == TG_GGUF_NORMAL, err)))
            status = tg_gguf_texts_end(&v->tokens, err);
    }
    return status;
}

/* llama.cpp stops if two tokens have the same text, which an ordinary one and another may. */
static tg_status check_unique(const tg_gguf_vocab *v, tg_err *err)
{
    tg_span *sorted = malloc(v->n * sizeof *sorted);
    char shown[TG_TOKEN_SHOWN];
    tg_status status = TG_OK;

    if (!sorted)
        return tg_fail_memory(err, v->n * sizeof *sorted, "a vocabulary");
    for (size_t i = 0; i < v->n; i++)
        sorted[i] = tg_gguf_texts_at(&v->tokens, i);
    qsort(sorted, v->n, sizeof *sorted, tg_span_compare);
    for (size_t i = 1; !status && i < v->n; i++)
        if (tg_span_compare(&sorted[i - 1], &sorted[i]) == 0)
            status = tg_fail(err, TG_EUSAGE, "GGUF cannot hold two tokens that are written \"%s\"",
                             tg_token_shown(shown, sorted[i].p, sorted[i].n));
    free(sorted);
    return status;
}

/* ---- merges */

static tg_status put_merge(tg_gguf_texts *t, const void *left, size_t n, const void *right, size_t m,
                           tg_err *err)
{
    tg_status status;

    if ((status = tg_gguf_texts_put(t, left, n, true, err)) ||
        (status = tg_gguf_texts_put(t, " ", 1, false, err)) ||
        (status = tg_gguf_texts_put(t, right, m, true, err)))
        return status;
    return tg_gguf_texts_end(t, err);
}

static tg_status make_merges(tg_gguf_vocab *v, const tg_bpe_vocab *bpe, tg_err *err)
{
    tg_status status = TG_OK;

    for (size_t i = 0; !status && i < bpe->n_merges; i++) {
        size_t n, m;
        const unsigned char *left = tg_vocab_token(bpe, bpe->merges[i][0], &n),
                            *right = tg_vocab_token(bpe, bpe->merges[i][1], &m);

        status = put_merge(&v->merges, left, n, right, m, err);
    }
    return status;
}

/* The merges that put together each character, except those that the one before it, `last`, has.  Characters
 * are in the order of their code points, which is that of their bytes. */
static tg_status make_char_merges(tg_gguf_vocab *v, const tg_tokenizer *tok, tg_err *err)
{
    unsigned char last[TG_UTF8_MAX] = {0};
    tg_status status = TG_OK;

    for (size_t id = 0; id < tg_tokenizer_vocab_size(tok); id++) {
        size_t n;
        const unsigned char *token = tg_tokenizer_token(tok, (int32_t)id, &n);

        for (size_t i = 1; !status && i < n; i++)
            if (memcmp(last, token, i + 1) != 0)
                status = put_merge(&v->merges, token, i, token + i, 1, err);
        memset(last, 0, sizeof last);
        memcpy(last, token, n);
    }
    return status;
}

/* ---- rules */

/* Whether a token's text, on its own, is encoded as other ids: as several, because no other token has it. */
static tg_status is_unmade(bool *unmade, tg_encoder *e, const tg_bpe_vocab *bpe, size_t id, tg_err *err)
{
    size_t count = 0, n;
    int32_t ids[4];
    bool last = false;
    tg_text text;
    tg_status status;

    text.next = tg_vocab_token(bpe, id, &text.n);
    while (!last) {
        const bool ended = text.n == 0;

        status = ended ? tg_encoder_finish(e, ids, 4, &n, err) : tg_encoder_encode(e, &text, ids, 4, &n, err);
        if (status == TG_EDATA) { /* it has a byte that is no token: nothing makes it */
            *unmade = true;
            return TG_OK;
        }
        if (status)
            return status;
        count += n;
        last = ended && n < 4;
    }
    *unmade = count != 1;
    return TG_OK;
}

/* Whether it makes a difference that a piece which is a token becomes that token: merges do not lead to all.
 * Added tokens would be found in the texts of others: here they are special. */
static tg_status whole_pieces_matter(bool *matter, const tg_bpe_vocab *bpe, tg_err *err)
{
    tg_bpe_vocab merging = *bpe;
    const tg_tokenizer *tok;
    tg_encoder *e = NULL;
    uint32_t *apart = malloc(tg_size_max(bpe->n, 1) * sizeof *apart);
    size_t n;
    tg_status status;

    *matter = false;
    if (!apart)
        return tg_fail_memory(err, bpe->n * sizeof *apart, "a vocabulary");
    merging.special = apart;
    merging.n_special = merging.n_added = 0;
    for (size_t id = 0; id < bpe->n; id++)
        if (!tg_vocab_is_ordinary(bpe, id))
            apart[merging.n_special++] = (uint32_t)id;
    merging.whole_pieces = false;
    merging.split = TG_SPLIT_NONE;
    merging.normalizer = TG_NORMALIZER_NONE;
    status = tg_bpe_create(&tok, &merging, err);
    free(apart);
    if (status)
        return status;
    status = tg_encoder_create(&e, tok, err);
    for (size_t id = 0; !status && !*matter && id < bpe->n; id++) {
        (void)tg_vocab_token(bpe, id, &n);
        if (n > 1 && tg_vocab_is_ordinary(bpe, id))
            status = is_unmade(matter, e, bpe, id, err);
    }
    tg_encoder_free(e);
    tg_tokenizer_free(tok);
    return status;
}

static tg_status choose_pre(tg_gguf_vocab *v, const tg_bpe_vocab *bpe, bool lossy, tg_notes *notes,
                            tg_err *err)
{
    const tg_gguf_pre *pre = tg_gguf_pre_for(bpe->split, bpe->whole_pieces);
    char what[128];
    bool matter = false;
    tg_status status = TG_OK;

    if (!pre) {
        snprintf(what, sizeof what, "it has no rule like \"%s\" to split texts", tg_split_name(bpe->split));
        status = tg_lose(notes, lossy, err, "llama.cpp", what);
        pre = tg_gguf_pre_for(TG_SPLIT_GPT2, false);
    }
    v->pre = pre->name;
    if (!status && pre->differs) {
        snprintf(what, sizeof what, "it splits %s otherwise", pre->differs);
        status = tg_lose(notes, lossy, err, "llama.cpp", what);
    }
    if (!status && bpe->normalizer == TG_NORMALIZER_NFC)
        status = tg_lose(notes, lossy, err, "llama.cpp", "it does not normalise texts (NFC)");
    if (!status && pre->whole_pieces != bpe->whole_pieces)
        status = whole_pieces_matter(&matter, bpe, err);
    if (!status && matter)
        status = tg_lose(notes, lossy, err, "llama.cpp", "it does not reach tokens that no merges make");
    return status;
}

/* ---- the vocabulary */

static bool is_text(const tg_gguf_vocab *v, size_t id)
{
    return v->type[id] != TG_GGUF_CONTROL && v->type[id] != TG_GGUF_UNUSED;
}

/* llama.cpp takes some token as the end of a text, 11 if the file names none: the right one, else one that
 * is no text, else the last. */
static tg_status choose_end(tg_gguf_vocab *v, const tg_tokenizer *tok, tg_notes *notes, tg_err *err)
{
    const int32_t end = tg_tokenizer_end_of_text(tok);
    char shown[TG_TOKEN_SHOWN];
    const unsigned char *token;
    size_t id, n;

    v->bos = tg_tokenizer_start_of_text(tok);
    v->eos = end;
    if (end >= 0)
        return TG_OK;
    for (id = v->n - 1; id > 0 && is_text(v, id); id--)
        ;
    if (is_text(v, id))
        id = strcmp(v->kind, "bytes") == 0 ? 0 : v->n - 1;
    v->bos = v->eos = (int64_t)id;
    if (!is_text(v, id))
        return TG_OK;
    token = tg_tokenizer_token(tok, (int32_t)id, &n);
    return tg_notes_add(notes, err,
                        "the vocabulary has no token that ends a text; llama.cpp needs one, and will stop at "
                        "token %zu, \"%s\"",
                        id, tg_token_shown(shown, token, n));
}

static tg_status make(tg_gguf_vocab *v, const tg_tokenizer *tok, bool lossy, tg_notes *notes, tg_err *err)
{
    const tg_bpe_vocab *bpe = tg_bpe_vocab_of(tok);
    const tg_spm_vocab *spm = tg_spm_vocab_of(tok);
    tg_status status;

    if (spm)
        status = tg_gguf_spm_make(v, spm, lossy, notes, err);
    else
        status = make_tokens(v, tok, err);
    if (status || (status = check_unique(v, err)))
        return status;
    if (!spm)
        v->pre = tg_gguf_pre_for(TG_SPLIT_GPT2, false)->name;
    if (bpe)
        status = choose_pre(v, bpe, lossy, notes, err);
    if (!status && !spm)
        status = bpe ? make_merges(v, bpe, err) : make_char_merges(v, tok, err);
    return status ? status : choose_end(v, tok, notes, err);
}

tg_status tg_gguf_vocab_make(tg_gguf_vocab *v, const tg_tokenizer *tok, size_t n, bool lossy, tg_notes *notes,
                             tg_err *err)
{
    *v = (tg_gguf_vocab){.n = n, .bos = -1, .eos = -1};
    if (!tok || !tg_tokenizer_has_text(tok))
        return TG_OK;
    v->kind = tg_tokenizer_kind_name(tok);
    /* unreached: another kind: there is none with a text */
    if (strcmp(v->kind, "bytes") == 0 || strcmp(v->kind, "char") == 0 || strcmp(v->kind, "bpe") == 0 ||
        tg_spm_vocab_of(tok))
        return make(v, tok, lossy, notes, err);
    v->kind = NULL;
    return tg_lose(notes, lossy, err, "llama.cpp", "it has no such vocabulary");
}

static void put_tokens(tg_gguf_writer *w, const tg_gguf_vocab *v)
{
    tg_gguf_put_texts(w, "tokenizer.ggml.tokens", v->n);
    for (size_t i = 0; i < v->n; i++)
        tg_gguf_put_element(w, tg_gguf_texts_at(&v->tokens, i).p, tg_gguf_texts_at(&v->tokens, i).n);
    tg_gguf_put_i32s(w, "tokenizer.ggml.token_type", v->type, v->n);
}

static void put_merges(tg_gguf_writer *w, const tg_gguf_vocab *v)
{
    tg_gguf_put_text(w, "tokenizer.ggml.pre", v->pre, strlen(v->pre));
    tg_gguf_put_texts(w, "tokenizer.ggml.merges", v->merges.n);
    for (size_t i = 0; i < v->merges.n; i++)
        tg_gguf_put_element(w, tg_gguf_texts_at(&v->merges, i).p, tg_gguf_texts_at(&v->merges, i).n);
}

void tg_gguf_vocab_put(tg_gguf_writer *w, const tg_gguf_vocab *v)
{
    const char *const model = !v->kind ? "no_vocab" : v->scores ? "llama" : "gpt2";

    tg_gguf_put_text(w, "tokenizer.ggml.model", model, strlen(model));
    if (v->kind)
        put_tokens(w, v);
    if (v->scores)
        tg_gguf_spm_put(w, v);
    else if (v->kind)
        put_merges(w, v);
    if (v->bos >= 0)
        tg_gguf_put_u32(w, "tokenizer.ggml.bos_token_id", (uint32_t)v->bos);
    if (v->eos >= 0)
        tg_gguf_put_u32(w, "tokenizer.ggml.eos_token_id", (uint32_t)v->eos);
    if (v->bos >= 0)
        tg_gguf_put_bool(w, "tokenizer.ggml.add_bos_token", v->add_bos);
    if (v->kind)
        tg_gguf_put_text(w, TG_GGUF_KIND_KEY, v->kind, strlen(v->kind));
}

void tg_gguf_vocab_free(tg_gguf_vocab *v)
{
    tg_gguf_texts_free(&v->tokens);
    tg_gguf_texts_free(&v->merges);
    free(v->type);
    free(v->scores);
    *v = (tg_gguf_vocab){0};
}
