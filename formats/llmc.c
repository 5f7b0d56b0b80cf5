#include "formats/llmc.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "formats/span.h"
#include "lib/base/size.h"

#define MODEL 20240326u
#define TOKENS 20240520u
#define TOKENIZER 20240328u

#define VERSION_F32 3u
#define VERSION_BF16 5u
#define VERSION_TOKENS 1u
#define VERSION_TOKENIZER 2u

#define NUMBER_MAX ((size_t)1 << 24) /* of every number in a model's header */

/* ---- headers */

static uint32_t word(const unsigned char *file, size_t i)
{
    return tg_get32(file + 4 * i);
}

/* Write the first n numbers of a header, and zeros. */
static void put_header(unsigned char out[TG_LLMC_HEADER], const size_t *number, size_t n)
{
    memset(out, 0, TG_LLMC_HEADER);
    for (size_t i = 0; i < n; i++)
        memcpy(out + 4 * i, &(uint32_t){(uint32_t)number[i]}, 4);
}

/* Check length and first number; and that all words from `used` on are zeros. */
static tg_status check_header(const unsigned char *file, size_t n, uint32_t magic, size_t used, tg_err *err)
{
    if (n < TG_LLMC_HEADER)
        return tg_fail(err, TG_EDATA, "truncated: a header of %d bytes, got %zu", TG_LLMC_HEADER, n);
    if (word(file, 0) != magic)
        return tg_fail(err, TG_EDATA, "begins with %u, expected %u", word(file, 0), magic);
    for (size_t i = used; i < TG_LLMC_HEADER / 4; i++)
        if (word(file, i) != 0)
            return tg_fail(err, TG_EDATA, "number %zu of the header is %u, expected 0", i, word(file, i));
    return TG_OK;
}

/* ---- the tensors of a model */

/* A dimension, in terms of the config; the third is a multiple of n_embd. */
typedef enum dim { NONE, ROWS, POSITIONS, WIDTH, WIDTH_3, WIDTH_4 } dim;

static const struct kind {
    const char *name; /* in a block, without "h.N." */
    bool in_block;
    dim shape[2];
} kinds[] = {
    {"wte.weight", false, {ROWS, WIDTH}},           {"wpe.weight", false, {POSITIONS, WIDTH}},
    {"ln_1.weight", true, {WIDTH, NONE}},           {"ln_1.bias", true, {WIDTH, NONE}},
    {"attn.c_attn.weight", true, {WIDTH_3, WIDTH}}, {"attn.c_attn.bias", true, {WIDTH_3, NONE}},
    {"attn.c_proj.weight", true, {WIDTH, WIDTH}},   {"attn.c_proj.bias", true, {WIDTH, NONE}},
    {"ln_2.weight", true, {WIDTH, NONE}},           {"ln_2.bias", true, {WIDTH, NONE}},
    {"mlp.c_fc.weight", true, {WIDTH_4, WIDTH}},    {"mlp.c_fc.bias", true, {WIDTH_4, NONE}},
    {"mlp.c_proj.weight", true, {WIDTH, WIDTH_4}},  {"mlp.c_proj.bias", true, {WIDTH, NONE}},
    {"ln_f.weight", false, {WIDTH, NONE}},          {"ln_f.bias", false, {WIDTH, NONE}},
};

#define BEFORE 2  /* kinds before the blocks' */
#define BLOCKS 12 /* kinds in a block */
#define LAYERS_MAX ((TG_NAMES_MAX - 4) / BLOCKS)

size_t tg_llmc_rows(size_t vocab_size)
{
    return tg_round_up(vocab_size, 128);
}

size_t tg_llmc_tensors(const tg_llmc_config *config)
{
    return sizeof kinds / sizeof kinds[0] - BLOCKS + BLOCKS * config->n_layer;
}

void tg_llmc_tensor(tg_array *a, const tg_llmc_config *config, size_t i)
{
    const size_t dims[] = {[ROWS] = config->rows,
                           [POSITIONS] = config->n_ctx,
                           [WIDTH] = config->n_embd,
                           [WIDTH_3] = 3 * config->n_embd,
                           [WIDTH_4] = 4 * config->n_embd};
    const size_t blocks = BLOCKS * config->n_layer;
    const bool in_block = i >= BEFORE && i < BEFORE + blocks;
    const size_t layer = in_block ? (i - BEFORE) % config->n_layer : 0;
    const struct kind *const k = &kinds[in_block     ? BEFORE + (i - BEFORE) / config->n_layer
                                        : i < BEFORE ? i
                                                     : i - blocks + BLOCKS];

    assert(i < tg_llmc_tensors(config));
    *a = (tg_array){.dtype = config->bf16 ? TG_BF16 : TG_F32};
    if (in_block)
        snprintf(a->name, sizeof a->name, "h.%zu.%s", layer, k->name);
    else
        snprintf(a->name, sizeof a->name, "%s", k->name);
    for (; a->ndim < 2 && k->shape[a->ndim] != NONE; a->ndim++)
        a->shape[a->ndim] = dims[k->shape[a->ndim]];
    (void)tg_array_measure(a); /* products of two numbers up to NUMBER_MAX */
}

/* ---- models */

static tg_status take_config(tg_llmc_config *config, const unsigned char *file, tg_err *err)
{
    static const char *const names[] = {"n_ctx", "vocab_size", "n_layer", "n_head", "n_embd", "rows"};
    size_t *const to[] = {&config->n_ctx,  &config->vocab_size, &config->n_layer,
                          &config->n_head, &config->n_embd,     &config->rows};

    if (word(file, 1) != VERSION_F32 && word(file, 1) != VERSION_BF16)
        return tg_fail(err, TG_EDATA, "version %u, expected %u (float32) or %u (bfloat16)", word(file, 1),
                       VERSION_F32, VERSION_BF16);
    config->bf16 = word(file, 1) == VERSION_BF16;
    for (size_t i = 0; i < sizeof to / sizeof to[0]; i++) {
        *to[i] = word(file, 2 + i);
        if (*to[i] < 1 || *to[i] > (to[i] == &config->n_layer ? LAYERS_MAX : NUMBER_MAX))
            return tg_fail(err, TG_EDATA, "%s is %zu, expected 1 to %zu", names[i], *to[i],
                           to[i] == &config->n_layer ? (size_t)LAYERS_MAX : NUMBER_MAX);
    }
    if (config->rows != tg_llmc_rows(config->vocab_size))
        return tg_fail(err, TG_EDATA, "wte.weight has %zu rows for a vocab_size of %zu, expected %zu",
                       config->rows, config->vocab_size, tg_llmc_rows(config->vocab_size));
    return TG_OK;
}

/* Compare the file's size with that of all tensors. */
static tg_status check_size(const tg_llmc_config *config, size_t n, tg_err *err)
{
    size_t want = TG_LLMC_HEADER;
    tg_array a;

    for (size_t i = 0; i < tg_llmc_tensors(config); i++) {
        tg_llmc_tensor(&a, config, i);
        want = tg_size_add_sat(want, a.bytes);
    }
    return n == want ? TG_OK
                     : tg_fail(err, TG_EDATA, "%s%zu bytes, its header says %zu",
                               n < want ? "truncated: " : "", n, want);
}

tg_status tg_llmc_model_read(tg_tensor_list *list, tg_llmc_config *config, const void *file, size_t n,
                             tg_err *err)
{
    const unsigned char *const bytes = file;
    size_t at = TG_LLMC_HEADER;
    tg_array a;
    tg_status status;

    if ((status = check_header(bytes, n, MODEL, 8, err)) || (status = take_config(config, bytes, err)) ||
        (status = check_size(config, n, err)))
        return status;
    for (size_t i = 0; i < tg_llmc_tensors(config); i++) {
        tg_llmc_tensor(&a, config, i);
        if ((status = tg_tensor_list_add_next(list, &a, bytes, &at, err)))
            return status;
    }
    return tg_tensor_list_arrange(list, err);
}

void tg_llmc_model_header(unsigned char out[TG_LLMC_HEADER], const tg_llmc_config *config)
{
    const size_t numbers[] = {MODEL,           config->bf16 ? VERSION_BF16 : VERSION_F32,
                              config->n_ctx,   config->vocab_size,
                              config->n_layer, config->n_head,
                              config->n_embd,  config->rows};

    put_header(out, numbers, sizeof numbers / sizeof numbers[0]);
}

/* ---- tokens */

tg_status tg_llmc_tokens_count(size_t *count, const unsigned char header[TG_LLMC_HEADER], tg_err *err)
{
    const tg_status status = check_header(header, TG_LLMC_HEADER, TOKENS, 3, err);

    if (status)
        return status;
    if (word(header, 1) != VERSION_TOKENS)
        return tg_fail(err, TG_EDATA, "version %u, expected %u (ids of 16 bits)", word(header, 1),
                       VERSION_TOKENS);
    *count = word(header, 2);
    return TG_OK;
}

tg_status tg_llmc_tokens_read(const unsigned char **ids, size_t *count, const void *file, size_t n,
                              tg_err *err)
{
    const unsigned char *const bytes = file;
    tg_status status = check_header(bytes, n, TOKENS, 3, err);

    if (status || (status = tg_llmc_tokens_count(count, bytes, err)))
        return status;
    *ids = bytes + TG_LLMC_HEADER;
    if ((n - TG_LLMC_HEADER) % 2 != 0 || (n - TG_LLMC_HEADER) / 2 != *count)
        return tg_fail(err, TG_EDATA, "%zu bytes of ids, its header says %zu ids of 2 bytes",
                       n - TG_LLMC_HEADER, *count);
    return TG_OK;
}

tg_status tg_llmc_tokens_header(unsigned char out[TG_LLMC_HEADER], size_t count, tg_err *err)
{
    if (count > INT32_MAX)
        return tg_fail(err, TG_EUSAGE, "%zu tokens, an llm.c file has at most %d", count, INT32_MAX);
    put_header(out, (const size_t[]){TOKENS, VERSION_TOKENS, count}, 3);
    return TG_OK;
}

/* ---- tokenizers */

/* Whether the tokens' lengths add up to exactly the rest of the file. */
static tg_status check_tokens(const unsigned char *file, size_t n, size_t tokens, tg_err *err)
{
    size_t at = TG_LLMC_HEADER;

    for (size_t i = 0; i < tokens; i++) {
        if (at >= n || file[at] > n - at - 1)
            return tg_fail(err, TG_EDATA, "truncated: token %zu of %zu goes beyond the end", i, tokens);
        at += 1 + (size_t)file[at];
    }
    return at == n ? TG_OK
                   : tg_fail(err, TG_EDATA, "%zu bytes follow the last of %zu tokens", n - at, tokens);
}

tg_status tg_llmc_tokenizer_read(tg_llmc_tokenizer *t, const void *file, size_t n, tg_err *err)
{
    const unsigned char *const bytes = file;
    const tg_status status = check_header(bytes, n, TOKENIZER, 4, err);

    if (status)
        return status;
    if (word(bytes, 1) != VERSION_TOKENIZER)
        return tg_fail(err, TG_EDATA, "version %u, expected %u", word(bytes, 1), VERSION_TOKENIZER);
    *t = (tg_llmc_tokenizer){word(bytes, 2), word(bytes, 3), bytes + TG_LLMC_HEADER};
    if (t->end_of_text >= t->n)
        return tg_fail(err, TG_EDATA, "the end of a text is id %zu of %zu", t->end_of_text, t->n);
    return check_tokens(bytes, n, t->n, err);
}

const unsigned char *tg_llmc_tokenizer_next(tg_llmc_tokenizer *t, size_t *n)
{
    const unsigned char *const token = t->next + 1;

    *n = *t->next;
    t->next = token + *n;
    return token;
}

void tg_llmc_tokenizer_header(unsigned char out[TG_LLMC_HEADER], size_t n, size_t end_of_text)
{
    put_header(out, (const size_t[]){TOKENIZER, VERSION_TOKENIZER, n, end_of_text}, 4);
}
