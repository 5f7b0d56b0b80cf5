#include "formats/llama2c.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>

#include "formats/format.h"
#include "formats/span.h"
#include "lib/base/size.h"

enum {
    INTS = 7,                /* of the config */
    OLD_HEADER = 4 * INTS,   /* bytes, of version 0 */
    HEADER = 256,            /* of versions 1 and 2 */
    SHARED = 8 + OLD_HEADER, /* their byte that says whether the head is the embedding */
    VERSIONS = 3,
    LAYERS_MAX = TG_NAMES_MAX / 9 - 1 /* of 9 tensors, and at most 5 others */
};

#define NUMBER_MAX ((size_t)1 << 24) /* of every number in a header */

/* ---- the tensors */

typedef enum dim { NONE, VOCAB, WIDTH, KEYS, INNER, POSITIONS, HALF_HEAD } dim;

typedef enum kind { TOKENS, NORM1, Q, K, V, O, NORM2, W1, W2, W3, NORM, COS, SIN, HEAD, KINDS } kind;

static const struct {
    const char *name; /* in a block, without "layers.N." */
    bool in_block;
    dim shape[2];
} kinds[KINDS] = {
    [TOKENS] = {"tok_embeddings.weight", false, {VOCAB, WIDTH}},
    [NORM1] = {"attention_norm.weight", true, {WIDTH, NONE}},
    [Q] = {"attention.wq.weight", true, {WIDTH, WIDTH}},
    [K] = {"attention.wk.weight", true, {KEYS, WIDTH}},
    [V] = {"attention.wv.weight", true, {KEYS, WIDTH}},
    [O] = {"attention.wo.weight", true, {WIDTH, WIDTH}},
    [NORM2] = {"ffn_norm.weight", true, {WIDTH, NONE}},
    [W1] = {"feed_forward.w1.weight", true, {INNER, WIDTH}},
    [W2] = {"feed_forward.w2.weight", true, {WIDTH, INNER}},
    [W3] = {"feed_forward.w3.weight", true, {INNER, WIDTH}},
    [NORM] = {"norm.weight", false, {WIDTH, NONE}},
    [COS] = {"freqs_cos", false, {POSITIONS, HALF_HEAD}}, /* of the angles, which follow from the config */
    [SIN] = {"freqs_sin", false, {POSITIONS, HALF_HEAD}},
    [HEAD] = {"output.weight", false, {VOCAB, WIDTH}},
};

/* Of version 0, and of the later ones; KINDS ends a shorter one. */
static const kind orders[][KINDS] = {
    {TOKENS, NORM1, Q, K, V, O, NORM2, W1, W2, W3, NORM, COS, SIN, HEAD},
    {NORM1, NORM2, NORM, TOKENS, Q, K, V, O, W1, W2, W3, HEAD, KINDS},
};

static const kind *order_of(const tg_llama2c_config *config)
{
    return orders[config->version > 0];
}

/* How many tensors there are of a kind. */
static size_t tensors_of(kind of, const tg_llama2c_config *config)
{
    if (of == HEAD)
        return !config->tied;
    return kinds[of].in_block ? config->n_layers : 1;
}

size_t tg_llama2c_tensors(const tg_llama2c_config *config)
{
    const kind *const order = order_of(config);
    size_t n = 0;

    for (size_t k = 0; k < KINDS && order[k] != KINDS; k++)
        n += tensors_of(order[k], config);
    return n;
}

static size_t size_of(dim d, const tg_llama2c_config *config)
{
    const size_t head = config->dim / config->n_heads;
    const size_t sizes[] = {
        [VOCAB] = config->vocab_size, [WIDTH] = config->dim,         [KEYS] = config->n_kv_heads * head,
        [INNER] = config->hidden_dim, [POSITIONS] = config->seq_len, [HALF_HEAD] = head / 2};

    return sizes[d];
}

void tg_llama2c_tensor(tg_array *a, const tg_llama2c_config *config, size_t i)
{
    const kind *of = order_of(config);

    assert(i < tg_llama2c_tensors(config));
    for (; i >= tensors_of(*of, config); of++)
        i -= tensors_of(*of, config);
    *a = (tg_array){.dtype = TG_F32};
    if (kinds[*of].in_block)
        snprintf(a->name, sizeof a->name, "layers.%zu.%s", i, kinds[*of].name);
    else
        snprintf(a->name, sizeof a->name, "%s", kinds[*of].name);
    for (; a->ndim < 2 && kinds[*of].shape[a->ndim] != NONE; a->ndim++)
        a->shape[a->ndim] = size_of(kinds[*of].shape[a->ndim], config);
    (void)tg_array_measure(a); /* products of two numbers up to NUMBER_MAX */
}

size_t tg_llama2c_stored(const tg_llama2c_config *config, const tg_array *a)
{
    if (config->group == 0 || a->ndim < 2)
        return a->bytes;
    return a->count + a->count / config->group * sizeof(float);
}

static size_t header_of(const tg_llama2c_config *config)
{
    return config->version == 0 ? OLD_HEADER : HEADER;
}

/* The bytes of the whole file. */
static size_t bytes_of(const tg_llama2c_config *config)
{
    size_t bytes = header_of(config);
    tg_array a;

    for (size_t i = 0; i < tg_llama2c_tensors(config); i++) {
        tg_llama2c_tensor(&a, config, i);
        bytes = tg_size_add_sat(bytes, tg_llama2c_stored(config, &a));
    }
    return bytes;
}

/* ---- headers */

static bool has_magic(const void *first, size_t n)
{
    return tg_format_recognize(first, tg_size_min(n, TG_FORMAT_BYTES)) == TG_FORMAT_LLAMA2C_MODEL;
}

/* The integers at p, the vocabulary's without its sign. */
static tg_status take_numbers(tg_llama2c_config *config, const unsigned char *p, tg_err *err)
{
    static const char *const names[INTS] = {"dim",        "hidden_dim", "n_layers", "n_heads",
                                            "n_kv_heads", "vocab_size", "seq_len"};
    size_t *const to[INTS] = {&config->dim,        &config->hidden_dim, &config->n_layers, &config->n_heads,
                              &config->n_kv_heads, &config->vocab_size, &config->seq_len};

    for (size_t i = 0; i < INTS; i++) {
        const size_t max = to[i] == &config->n_layers ? LAYERS_MAX : NUMBER_MAX;
        const bool negative = tg_get32(p + 4 * i) > INT32_MAX;
        const bool flagged = negative && config->version == 0 && to[i] == &config->vocab_size;

        *to[i] = negative ? UINT32_MAX - tg_get32(p + 4 * i) + 1 : tg_get32(p + 4 * i);
        if (*to[i] < 1 || *to[i] > max || (negative && !flagged))
            return tg_fail(err, TG_EDATA, "%s is %s%zu, expected 1 to %zu", names[i], negative ? "-" : "",
                           *to[i], max);
        config->tied = config->tied && !flagged;
    }
    return TG_OK;
}

static tg_status check_heads(const tg_llama2c_config *c, tg_err *err)
{
    if (c->dim % c->n_heads != 0)
        return tg_fail(err, TG_EDATA, "%zu heads do not divide dim = %zu", c->n_heads, c->dim);
    if (c->dim / c->n_heads % 2 != 0)
        return tg_fail(err, TG_EDATA, "a head has %zu channels, expected an even number",
                       c->dim / c->n_heads);
    if (c->n_heads % c->n_kv_heads != 0)
        return tg_fail(err, TG_EDATA, "%zu heads of keys and values do not divide n_heads = %zu",
                       c->n_kv_heads, c->n_heads);
    return TG_OK;
}

/* Of version 0, whose n bytes are enough. */
static tg_status take_old_header(tg_llama2c_config *config, const unsigned char *file, tg_err *err)
{
    tg_status status;

    *config = (tg_llama2c_config){.tied = true};
    status = take_numbers(config, file, err);
    return status ? status : check_heads(config, err);
}

/* A group never spans two matrices. */
static tg_status check_group(const tg_llama2c_config *config, tg_err *err)
{
    tg_array a;

    if (config->group < 1 || config->group > NUMBER_MAX)
        return tg_fail(err, TG_EDATA, "group_size is %zu, expected 1 to %zu", config->group, NUMBER_MAX);
    for (size_t i = 0; i < tg_llama2c_tensors(config); i++) {
        tg_llama2c_tensor(&a, config, i);
        if (a.ndim == 2 && a.count % config->group != 0)
            return tg_fail(err, TG_EDATA, "group_size is %zu, which does not divide the %zu values of %s",
                           config->group, a.count, a.name);
    }
    return TG_OK;
}

/* The rest of a header after version 0. */
static tg_status take_flags(tg_llama2c_config *config, const unsigned char *file, tg_err *err)
{
    const bool grouped = config->version == 2;
    const size_t zeros = SHARED + 1 + (grouped ? 4 : 0);

    if (file[SHARED] > 1)
        return tg_fail(err, TG_EDATA, "byte %d of the header is %d, expected 0 or 1", SHARED, file[SHARED]);
    config->tied = file[SHARED] == 1;
    for (size_t i = zeros; i < HEADER; i++)
        if (file[i] != 0)
            return tg_fail(err, TG_EDATA, "byte %zu of the header is %d, expected 0", i, file[i]);
    if (!grouped)
        return TG_OK;
    config->group = tg_get32(file + SHARED + 1);
    return check_group(config, err);
}

static tg_status take_header(tg_llama2c_config *config, const unsigned char *file, size_t n, tg_err *err)
{
    const bool magic = has_magic(file, n);
    const size_t header = magic ? HEADER : OLD_HEADER;
    const uint32_t version = magic ? tg_get32(file + 4) : 0;
    tg_status status;

    if (magic && (version < 1 || version >= VERSIONS))
        return tg_fail(err, TG_EDATA, "version %u, expected 1 or 2, or 0 without a magic number", version);
    if (n < header)
        return tg_fail(err, TG_EDATA, "truncated: a header of %zu bytes, got %zu", header, n);
    if (!magic)
        return take_old_header(config, file, err);
    *config = (tg_llama2c_config){.version = version};
    if ((status = take_numbers(config, file + 8, err)) || (status = check_heads(config, err)))
        return status;
    return take_flags(config, file, err);
}

/* ---- whole files */

bool tg_llama2c_begins(const void *first, size_t n)
{
    tg_llama2c_config config;

    return has_magic(first, n) || (n >= OLD_HEADER && !take_old_header(&config, first, NULL));
}

/* Add the matrix or vector at *at, and set *at to what follows it. */
static tg_status add(tg_tensor_list *list, const tg_llama2c_config *config, const tg_array *a,
                     const unsigned char *file, size_t *at, tg_err *err)
{
    const size_t stored = tg_llama2c_stored(config, a);
    const tg_stored s = {
        .array = *a, .group = config->group, .at = file + *at, .stored = stored, .offset = *at};

    if (config->group == 0 || a->ndim < 2)
        return tg_tensor_list_add_next(list, a, file, at, err);
    *at += stored;
    return tg_tensor_list_add(list, &s, err);
}

tg_status tg_llama2c_read(tg_tensor_list *list, tg_llama2c_config *config, const void *file, size_t n,
                          tg_err *err)
{
    const unsigned char *const bytes = file;
    tg_status status = take_header(config, bytes, n, err);
    tg_array a;
    size_t at, want;

    if (status)
        return status;
    if (n != (want = bytes_of(config)))
        return tg_fail(err, TG_EDATA, "%s%zu bytes, its header says %zu", n < want ? "truncated: " : "", n,
                       want);
    at = header_of(config);
    for (size_t i = 0; i < tg_llama2c_tensors(config); i++) {
        tg_llama2c_tensor(&a, config, i);
        if ((status = add(list, config, &a, bytes, &at, err)))
            return status;
    }
    return tg_tensor_list_arrange(list, err);
}
