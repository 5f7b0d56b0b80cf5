/*
 * Foreign tensors into a model: names, layouts and types, through a container that exists
 * only here (tensors listed in memory) and through an archive.
 */
#define _GNU_SOURCE /* memfd_create */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "formats/archive.h"
#include "lib/gpt/import.h"
#include "tests/unit/check.h"
#include "tests/unit/deflated.h"
#include "tests/unit/small_model.h"

/* ---- a container: tensors listed in memory */

#define LIST_MAX 64

typedef struct list {
    tg_array array[LIST_MAX];
    void *bytes[LIST_MAX];
    size_t n;
    bool mapped;    /* report data in place */
    size_t next;    /* the array to come */
    size_t done;    /* bytes read of the current one */
    size_t fail_at; /* array where next() fails */
} list;

static tg_status list_next(void *reader, tg_array *array, bool *more, tg_err *err)
{
    list *l = reader;

    *more = l->next < l->n;
    l->done = 0;
    if (l->next == l->fail_at)
        return tg_fail(err, TG_EIO, "the list broke");
    if (*more) {
        *array = l->array[l->next];
        array->data = l->mapped ? l->bytes[l->next] : NULL;
        l->next++;
    }
    return TG_OK;
}

static tg_status list_read(void *reader, void *dst, size_t bytes, tg_err *err)
{
    list *l = reader;

    if (bytes > l->array[l->next - 1].bytes - l->done)
        return tg_fail(err, TG_EUSAGE, "too many bytes");
    memcpy(dst, (unsigned char *)l->bytes[l->next - 1] + l->done, bytes);
    l->done += bytes;
    return TG_OK;
}

static uint64_t list_max_bytes(const void *reader)
{
    (void)reader;
    return UINT64_MAX;
}

static void list_close(void *reader)
{
    list *l = reader;

    for (size_t i = 0; i < l->n; i++)
        free(l->bytes[i]);
    free(l);
}

static const tg_container list_container = {
    .next = list_next, .read = list_read, .max_bytes = list_max_bytes, .close = list_close};

static tg_tensors list_new(void)
{
    list *l = calloc(1, sizeof *l);

    l->fail_at = SIZE_MAX;
    return (tg_tensors){&list_container, l};
}

/* Append an array; returns its bytes, zeros. */
static void *list_add(tg_tensors *t, const char *name, tg_dtype dtype, size_t ndim, const size_t *shape)
{
    list *l = t->reader;
    tg_array *a = &l->array[l->n];

    *a = (tg_array){.dtype = dtype, .ndim = ndim};
    strcpy(a->name, name);
    for (size_t i = 0; i < ndim; i++)
        a->shape[i] = shape[i];
    CHECK(tg_array_measure(a) && l->n < LIST_MAX);
    l->bytes[l->n] = calloc(1, a->bytes + 1);
    return l->bytes[l->n++];
}

/* ---- what other projects would have saved of a model */

/* |x| is 0 or in [2^-10, 4) and a multiple of 2^-10. */
static uint16_t half_of(float x)
{
    int exponent;
    const float fraction = frexpf(fabsf(x), &exponent); /* in [0.5, 1) */
    const unsigned sign = x < 0 ? 0x8000 : 0;

    if (x == 0)
        return 0;
    return (uint16_t)(sign | (unsigned)(exponent + 14) << 10 | ((unsigned)(fraction * 2048) & 0x3FF));
}

static void store(void *bytes, tg_dtype dtype, size_t i, float x)
{
    uint32_t bits;
    uint16_t half = half_of(x);

    memcpy(&bits, &x, sizeof bits);
    if (dtype.size == 4)
        ((float *)bytes)[i] = x;
    else if (dtype.kind == 'B')
        ((uint16_t *)bytes)[i] = (uint16_t)(bits >> 16);
    else
        ((uint16_t *)bytes)[i] = half;
}

/* Every tensor of m, last first, under `prefix`; matrices of linear layers as [out,in] if so wished. */
static void list_model(tg_tensors *t, const tg_model *m, const char *prefix, tg_dtype dtype, bool out_in)
{
    for (size_t i = m->table.n; i-- > 0;) {
        const tg_param *p = &m->table.entry[i];
        const bool turn =
            out_in && p->ndim == 2 && p->kind != TG_WTE && p->kind != TG_WPE && p->kind != TG_HEAD_W;
        const size_t R = p->shape[0], C = p->shape[1], shape[2] = {turn ? C : R, turn ? R : C};
        char name[TG_NAME_MAX + 1];
        void *bytes;

        strcpy(name, prefix);
        strcat(name, p->name);
        bytes = list_add(t, name, dtype, p->ndim, shape);
        for (size_t r = 0; r < R; r++)
            for (size_t c = 0; c < C; c++)
                store(bytes, dtype, turn ? c * R + r : r * C + c, m->weight[i][r * C + c]);
    }
}

/* A model whose parameters are multiples of 2^-`bits`. */
static void make(tg_model *m, bool tied, int bits)
{
    tg_config c = small_config(3, 2, 36, 40); /* widths that are no multiple of a tile */

    c.tied = tied;
    c.vocab_size = 300;
    small_model_create(m, c, 1);
    small_model_stir(m, 100, 0.9, 0.3);
    for (size_t i = 0; bits < 24 && i < m->table.floats; i++)
        m->params[i] = ldexpf(rintf(ldexpf(m->params[i], bits)), -bits) + 0.0f; /* no -0 */
}

static tg_status import(tg_model *got, const tg_model *want, tg_tensors *t, tg_import_source source,
                        tg_err *err)
{
    tg_status status;

    CHECK_OK(tg_model_begin(got, &want->config, want->tokenizer, err), err);
    if (!(status = tg_import_tensors(got, t, source, err)))
        status = tg_model_check_complete(got, err);
    tg_tensors_close(t);
    return status;
}

static void expect_same(tg_model *got, tg_model *want, tg_tensors *t, tg_import_source source)
{
    tg_err err = {0};

    CHECK_OK(import(got, want, t, source, &err), &err);
    for (size_t i = 0; i < want->table.n; i++)
        CHECK(got->weight[i] && memcmp(got->weight[i], want->weight[i], want->table.entry[i].count * 4) == 0);
    tg_model_free(got);
    tg_model_free(want);
}

/* ---- whole models */

static void hugging_face(void)
{
    for (int mapped = 0; mapped < 2; mapped++) {
        tg_model want, got;
        tg_tensors t = list_new();

        make(&want, true, 24);
        ((list *)t.reader)->mapped = mapped;
        list_model(&t, &want, "transformer.", TG_F32, false);
        list_add(&t, "transformer.h.0.attn.bias", (tg_dtype){'b', 1}, 4, (size_t[]){1, 1, 40, 40});
        list_add(&t, "transformer.h.0.attn.masked_bias", TG_F32, 0, NULL);
        expect_same(&got, &want, &t, TG_IMPORT_HUGGING_FACE);
    }
}

static void nanogpt(void)
{
    for (int mapped = 0; mapped < 2; mapped++) {
        tg_model want, got;
        tg_tensors t = list_new();

        make(&want, false, 24);
        ((list *)t.reader)->mapped = mapped;
        list_model(&t, &want, "module._orig_mod.transformer.", TG_F32, true);
        expect_same(&got, &want, &t, TG_IMPORT_NANOGPT);
    }
}

static void narrow_types(void)
{
    const struct {
        tg_dtype dtype;
        int bits;
    } types[] = {{TG_F16, 10}, {TG_BF16, 7}};

    for (size_t i = 0; i < 4; i++) {
        tg_model want, got;
        tg_tensors t = list_new();

        make(&want, true, types[i % 2].bits);
        list_model(&t, &want, "", types[i % 2].dtype, i < 2);
        expect_same(&got, &want, &t, i < 2 ? TG_IMPORT_NANOGPT : TG_IMPORT_HUGGING_FACE);
    }
}

/* An archive, as np.savez would write it from a state_dict, goes the same way. */
static void from_an_archive(void)
{
    int fd = memfd_create("npz", 0);
    tg_tensors t = list_new(), archive;
    const list *l = t.reader;
    tg_model want, got;
    tg_archive_writer *w;
    tg_source source;
    tg_err err = {0};

    make(&want, true, 24);
    list_model(&t, &want, "transformer.", TG_F32, true);
    CHECK_OK(tg_archive_create(&w, fd, &err), &err);
    for (size_t i = 0; i < l->n; i++)
        CHECK_OK(tg_archive_put(w, l->array[i].name, l->array[i].dtype, l->array[i].ndim, l->array[i].shape,
                                l->bytes[i], &err),
                 &err);
    CHECK_OK(tg_archive_finish(w, &err), &err);
    tg_archive_abandon(w);
    tg_tensors_close(&t);
    deflate_archive(fd);
    CHECK_OK(tg_source_open(&source, fd, &err), &err);
    CHECK_OK(tg_tensors_open(&archive, &source, &err), &err);
    expect_same(&got, &want, &archive, TG_IMPORT_NANOGPT);
    close(fd);
}

/* Two files, each with a part. */
static void in_parts(void)
{
    tg_model want, got;
    tg_tensors t = list_new(), rest = list_new();
    list *l = t.reader, *r = rest.reader;
    tg_err err = {0};

    make(&want, true, 24);
    list_model(&t, &want, "", TG_F32, false);
    for (size_t i = 10; i < l->n; i++) {
        r->array[r->n] = l->array[i];
        r->bytes[r->n++] = l->bytes[i];
    }
    l->n = 10;
    CHECK_OK(tg_model_begin(&got, &want.config, want.tokenizer, &err), &err);
    CHECK_OK(tg_import_tensors(&got, &t, TG_IMPORT_HUGGING_FACE, &err), &err);
    CHECK_EQ(tg_model_check_complete(&got, &err), TG_EDATA);
    CHECK_HAS(err.message, "wte.weight is missing");
    CHECK_OK(tg_import_tensors(&got, &rest, TG_IMPORT_HUGGING_FACE, &err), &err);
    CHECK_OK(tg_model_check_complete(&got, &err), &err);
    CHECK(memcmp(got.params, want.params, want.table.floats * sizeof(float)) == 0);
    tg_tensors_close(&t);
    tg_tensors_close(&rest);
    tg_model_free(&got);
    tg_model_free(&want);
}

/* A tied head is stored a second time by some: before or after wte, with the same values. */
static void tied_heads(void)
{
    for (int c = 0; c < 4; c++) {
        const bool before = c & 1, same = c & 2;
        tg_model want, got;
        tg_tensors t = list_new(), head = list_new();
        list *l = t.reader, *h = head.reader;
        tg_err err = {0};
        float *values;

        make(&want, true, 24);
        list_model(&t, &want, "", TG_F32, false);
        values = list_add(&head, "lm_head.weight", TG_F32, 2, (size_t[]){300, 36});
        memcpy(values, tg_model_weight(&want, TG_WTE, 0), 300 * 36 * sizeof *values);
        if (!same)
            values[300 * 36 - 1] += 1;
        CHECK_OK(tg_model_begin(&got, &want.config, want.tokenizer, &err), &err);
        CHECK_OK(tg_import_tensors(&got, before ? &head : &t, TG_IMPORT_HUGGING_FACE, &err), &err);
        CHECK_EQ(tg_import_tensors(&got, before ? &t : &head, TG_IMPORT_HUGGING_FACE, &err),
                 same ? TG_OK : TG_EDATA);
        if (same)
            CHECK(memcmp(got.params, want.params, want.table.floats * sizeof(float)) == 0);
        else
            CHECK_HAS(err.message, before ? "wte.weight differs from the wte.weight before it"
                                          : "lm_head.weight differs from the wte.weight before it");
        CHECK(l->n == want.table.n && h->n == 1);
        tg_tensors_close(&t);
        tg_tensors_close(&head);
        tg_model_free(&got);
        tg_model_free(&want);
    }
}

/* ---- names */

static void expect_name(const tg_params *table, tg_import_source source, const char *name, tg_param_kind kind,
                        size_t layer, bool transposed)
{
    tg_import_target target;
    tg_err err = {0};

    CHECK_OK(tg_import_find(&target, table, source, name, &err), &err);
    CHECK(target.param && target.param->kind == kind && target.param->layer == layer);
    CHECK_EQ(target.transposed, transposed);
}

static void expect_no_name(const tg_params *table, tg_import_source source, const char *name, const char *why)
{
    tg_import_target target;
    tg_err err = {0};

    CHECK_EQ(tg_import_find(&target, table, source, name, &err), TG_EDATA);
    CHECK_HAS(err.message, name);
    CHECK_HAS(err.message, why);
}

static void names(void)
{
    const tg_import_source hf = TG_IMPORT_HUGGING_FACE, nano = TG_IMPORT_NANOGPT;
    tg_config c = small_config(12, 2, 8, 8);
    const tg_tokenizer *tok;
    tg_import_target target;
    tg_model m;
    tg_err err = {0};

    CHECK_OK(tg_tokenizer_create(&tok, NULL, &err), &err);
    c.tied = false;
    c.linear_bias = false;
    CHECK_OK(tg_model_begin(&m, &c, tok, &err), &err);
    tg_tokenizer_free(tok);
    expect_name(&m.table, hf, "wte.weight", TG_WTE, 0, false);
    expect_name(&m.table, nano, "_orig_mod.transformer.wte.weight", TG_WTE, 0, false);
    expect_name(&m.table, hf, "transformer.h.11.attn.c_attn.weight", TG_QKV_W, 11, false);
    expect_name(&m.table, nano, "transformer.h.11.attn.c_attn.weight", TG_QKV_W, 11, true);
    expect_name(&m.table, nano, "h.10.mlp.c_proj.weight", TG_FC_PROJ_W, 10, true);
    expect_name(&m.table, nano, "h.0.ln_2.weight", TG_LN2_W, 0, false);
    expect_name(&m.table, nano, "lm_head.weight", TG_HEAD_W, 0, false);
    CHECK_OK(tg_import_find(&target, &m.table, hf, "h.3.attn.masked_bias", &err), &err);
    CHECK(!target.param);
    expect_no_name(&m.table, nano, "h.3.attn.masked_bias", "is not a tensor of nanoGPT");
    expect_no_name(&m.table, hf, "h.12.ln_1.weight", "is not a parameter of this config");
    expect_no_name(&m.table, hf, "h.99999.ln_1.weight", "is not a parameter of this config");
    expect_no_name(&m.table, hf, "h.0.attn.c_attn.bias", "is not a parameter of this config");
    expect_no_name(&m.table, hf, "lm_head.bias", "is not a parameter of this config");
    expect_no_name(&m.table, hf, "h.01.ln_1.weight", "is not a tensor of");
    expect_no_name(&m.table, hf, "h..ln_1.weight", "is not a tensor of");
    expect_no_name(&m.table, hf, "h.100000.ln_1.weight", "is not a tensor of");
    expect_no_name(&m.table, hf, "h.N.ln_1.weight", "is not a tensor of");
    expect_no_name(&m.table, hf, "h.0.ln_1.weight.", "is not a tensor of");
    expect_no_name(&m.table, hf, "h.0.ln_1", "is not a tensor of");
    expect_no_name(&m.table, hf, "", "is not a tensor of");
    tg_model_free(&m);
}

/* ---- what is refused */

enum fault { MISSING, MISSHAPED, NOT_TRANSPOSED, INTEGERS, NAN_VALUE, UNKNOWN, BROKEN, FAULTS };

static void refusals(void)
{
    static const char *const why[] = {"lm_head.weight is missing",
                                      "h.2.attn.c_proj.bias has shape [37], the config asks for [36]",
                                      "h.2.attn.c_attn.weight has shape [36,108], the config asks for [108,36]",
                                      "wpe.weight has type <i8, expected f4, f2 or bf16",
                                      "wpe.weight[1439] is nan: it must be finite",
                                      "rotary.freqs is not a tensor of nanoGPT",
                                      "the list broke"};

    for (enum fault fault = MISSING; fault < FAULTS; fault++) {
        tg_model want, got;
        tg_tensors t = list_new();
        list *l = t.reader;
        tg_err err = {0};

        make(&want, false, 24);
        list_model(&t, &want, "", TG_F32, true);
        for (size_t i = 0; i < l->n; i++) {
            tg_array *a = &l->array[i];

            if (fault == MISSING && strcmp(a->name, "lm_head.weight") == 0)
                strcpy(a->name, "h.0.attn.bias");
            if (fault == MISSHAPED && strcmp(a->name, "h.2.attn.c_proj.bias") == 0)
                a->shape[0] = a->count = 37;
            if (fault == NOT_TRANSPOSED && strcmp(a->name, "h.2.attn.c_attn.weight") == 0) {
                a->shape[0] = 36;
                a->shape[1] = 108;
            }
            if (strcmp(a->name, "wpe.weight") == 0) {
                if (fault == INTEGERS)
                    a->dtype = TG_I64;
                if (fault == NAN_VALUE)
                    ((float *)l->bytes[i])[40 * 36 - 1] = NAN;
            }
        }
        if (fault == UNKNOWN)
            list_add(&t, "rotary.freqs", TG_F32, 0, NULL);
        if (fault == BROKEN)
            l->fail_at = 5;
        CHECK_EQ(import(&got, &want, &t, TG_IMPORT_NANOGPT, &err), fault == BROKEN ? TG_EIO : TG_EDATA);
        CHECK_HAS(err.message, why[fault]);
        tg_model_free(&got);
        tg_model_free(&want);
    }
}

/* ---- copies */

/* Every size around the tile's, at odd addresses. */
static void copies(void)
{
    static const size_t sizes[] = {1, 2, 31, 32, 33, 65};
    static unsigned char raw[65 * 65 * 4 + 1];
    static float in[65 * 65], out[65 * 65 + 1];

    check_fill(in, 65 * 65, 7, 1);
    memcpy(raw + 1, in, sizeof in);
    for (size_t i = 0; i < 36; i++) {
        const size_t R = sizes[i / 6], C = sizes[i % 6];

        memset(out, 0xff, sizeof out);
        tg_import_copy(out, raw + 1, TG_F32, R, C, true);
        for (size_t r = 0; r < R; r++)
            for (size_t c = 0; c < C; c++)
                CHECK(out[r * C + c] == in[c * R + r]);
        CHECK(isnan(out[R * C]));
        tg_import_copy(out, raw + 1, TG_F32, R, C, false);
        CHECK(memcmp(out, in, R * C * sizeof *out) == 0 && isnan(out[R * C]));
    }
}

int main(void)
{
    RUN(hugging_face);
    RUN(nanogpt);
    RUN(narrow_types);
    RUN(from_an_archive);
    RUN(in_parts);
    RUN(tied_heads);
    RUN(names);
    RUN(refusals);
    RUN(copies);
    return check_done();
}
