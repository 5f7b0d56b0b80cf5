#define _GNU_SOURCE /* memfd_create */
#include "tests/fuzz/check_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/convert.h"
#include "lib/gpt/family.h"
#include "lib/models/model_format.h"
#include "tests/fuzz/folder.h"
#include "tests/fuzz/input.h"

#define FLOATS_MAX 100000 /* of a model that is looked at closely */

/* ---- what is read */

/* Of families after GPT-2. */
static size_t family_size(const tg_config *c)
{
    const char *const name = tg_config_family(c)->name;
    const bool neox = strcmp(name, "gpt_neox") == 0, olmo2 = strcmp(name, "olmo2") == 0;
    const bool layernorm = neox || strcmp(name, "stablelm") == 0;
    const bool four_norms = layernorm || strcmp(name, "gemma2") == 0 || strcmp(name, "gemma3") == 0;
    const size_t C = c->n_embd, F = c->n_inner > 0 ? c->n_inner : 4 * C;
    const size_t D = c->head_dim > 0 ? c->head_dim : C / c->n_head, Q = c->n_head * D;
    const size_t KV = (c->n_kv_head > 0 ? c->n_kv_head : c->n_head) * D;
    size_t n = (2 * Q + 2 * KV) * C + (c->qkv_bias ? Q + 2 * KV : 0) + (c->out_bias ? C : 0);

    if (strcmp(name, "nanochat") == 0) /* no norm has gains */
        return c->n_layer * (n + 2 * F * C) + (c->tied ? 1 : 2) * c->vocab_size * C;
    n += neox ? 2 * F * C + F + C : 3 * F * C + (c->mlp_bias ? 2 * F + C : 0);
    n += (four_norms ? 4 : 2) * C;
    if (c->qk_norm)
        n += olmo2 ? Q + KV : 2 * D;
    return c->n_layer * n + (c->tied ? 1 : 2) * c->vocab_size * C + (layernorm ? 2 * C : C);
}

/* What the values must be for by the config, without the table that the readers compare with. */
static void check_sizes(const tg_model_file *f)
{
    const tg_config *const c = &f->config;
    const size_t C = c->n_embd, V = c->vocab_size, w = c->layer_norm_weight, b = c->layer_norm_bias;
    const size_t norm = C * (w + b);
    size_t n = V * C + c->n_ctx * C + norm + (c->tied ? 0 : V * C) + (c->head_bias ? V : 0);

    must(c->n_layer > 0 && c->n_head > 0 && C > 0 && c->n_ctx > 0 && V > 0);
    must(c->layer_norm_epsilon > 0 && c->layer_norm_epsilon < 1.0 / 0.0);
    must(!f->tokenizer || tg_tokenizer_vocab_size(f->tokenizer) <= V);
    if (c->family > 0) {
        must(family_size(c) == f->table.count);
        return;
    }
    must(C % c->n_head == 0);
    n += c->n_layer * (2 * norm + 12 * C * C + (c->linear_bias ? 9 * C : 0));
    must(n == f->table.count);
}

/* Whether all values can be read. */
static bool is_sound(const tg_model_file *f)
{
    tg_float_buffer buffer = {0};
    const float *x;
    tg_err err = {0};
    bool sound = true;

    for (size_t i = 0; i < f->table.n && sound; i++) {
        const tg_status status = tg_model_file_get(&x, &buffer, f, i, i % 2, &err);

        must(status == TG_OK || status == TG_EDATA);
        sound = status == TG_OK;
        for (size_t e = 0; sound && e < f->table.entry[i].count; e++)
            must(isfinite(x[e]));
    }
    free(buffer.x);
    return sound;
}

/* Entry i's values, to be freed. */
static float *values_of(const tg_model_file *f, size_t i)
{
    float *x = malloc(f->table.entry[i].count * sizeof *x);

    must(x && tg_model_file_read(x, f, i, false, NULL) == TG_OK);
    return x;
}

void check_same_model(const tg_model_file *a, const tg_model_file *b)
{
    must(a->kind == b->kind && a->table.n == b->table.n && a->table.count == b->table.count);
    must(a->config.n_head == b->config.n_head && a->config.activation == b->config.activation);
    if (a->table.count > FLOATS_MAX || !is_sound(a))
        return;
    for (size_t i = 0; i < a->table.n; i++) {
        float *const x = values_of(a, i), *const y = values_of(b, i);

        must(memcmp(x, y, a->table.entry[i].count * sizeof *x) == 0);
        free(x);
        free(y);
    }
}

/* ---- what is written of it */

/* How far a value may be off that has been written in a type, among values up to `most`. */
static double slack(tg_write_type type, double x, double most)
{
    switch (type) {
    case TG_WRITE_F16: /* half a step, of normal numbers and of the others */
        return fabs(x) * 0x1p-11 + 0x1p-25;
    case TG_WRITE_BF16:
        return fabs(x) * 0x1p-8 + 0x1p-134;
    case TG_WRITE_Q8_0: /* half a step, and what the scale's 11 bits lose of 127 steps */
        return (most * (0.5 / 127 + 0x1p-12) + 127 * 0x1p-25) * 1.001;
    default:
        return 0;
    }
}

static bool holds(tg_write_type type, float y)
{
    return (type != TG_WRITE_BF16 || tg_float_from_bf16(tg_bf16_from_float(y)) == y) &&
           (type != TG_WRITE_F16 || tg_float_from_half(tg_half_from_float(y)) == y);
}

/* added: to each y, in float32, before it was written. */
static void check_values(const float *x, const float *y, size_t n, double added, tg_write_type type,
                         bool exact)
{
    double most = 0;

    for (size_t e = 0; e < n; e++)
        most = fmax(most, fabs((double)x[e] + added));
    for (size_t e = 0; e < n; e++) {
        const double want = (double)x[e] + added, rounded = added == 0 ? 0 : fabs(want) * 0x1p-23;

        must(fabs(want - (double)y[e]) <= slack(type, want, most) + rounded);
        must(!exact || holds(type, y[e]));
    }
}

/* Entry i of what was read again, whose model may lack it: biases are zeros then, gains ones, a head wte. */
static void check_entry(const tg_model_file *f, const tg_model_file *again, size_t i, tg_write_type type,
                        bool exact)
{
    const tg_param *const p = &again->table.entry[i];
    const size_t same = tg_params_index(&f->table, p->kind, p->layer);
    float *const y = values_of(again, i), *x;

    must(same < f->table.n || p->ndim == 1);
    if (same < f->table.n) {
        must(f->table.entry[same].count == p->count);
        x = values_of(f, same);
        check_values(x, y, p->count,
                     p->use == TG_USE_NORM ? f->config.norm_offset - again->config.norm_offset : 0, type,
                     exact);
        free(x);
    } else {
        for (size_t e = 0; e < p->count; e++)
            must((double)y[e] == p->mean);
    }
    free(y);
}

/* The head that the format could not hold was the embedding, also after rounding. */
static void check_head(const tg_model_file *f, const tg_model_file *again, tg_write_type type)
{
    const size_t head = tg_params_index(&f->table, TG_HEAD_W, 0);
    float *x, *y;

    if (head == f->table.n || tg_params_index(&again->table, TG_HEAD_W, 0) < again->table.n)
        return;
    x = values_of(f, head);
    y = values_of(again, tg_params_index(&again->table, TG_WTE, 0));
    check_values(x, y, f->table.entry[head].count, 0, type, false);
    free(x);
    free(y);
}

static void check_config(const tg_config *a, const tg_config *b)
{
    must(a->n_layer == b->n_layer && a->n_head == b->n_head && a->n_embd == b->n_embd);
    must(a->n_ctx == b->n_ctx && a->vocab_size == b->vocab_size && a->activation == b->activation);
}

/* A file, or a directory's. */
static int create(const tg_model_part *part)
{
    return part->name ? folder_create(FOLDER_WRITTEN, part->name) : memfd_create("again", 0);
}

/* Write all parts; *fd is the only one's, or -1. */
static bool write_parts(const tg_model_writer *to, const tg_model_file *f, const tg_write_options *o, int *fd)
{
    const bool is_own = strcmp(to->name, "npz") == 0;

    *fd = -1;
    for (size_t i = 0; i < to->n_parts; i++) {
        const tg_model_part *const part = &to->part[i];
        tg_err err = {0};
        tg_status status;

        bool wanted = true;

        if (part->wanted)
            must(part->wanted(&wanted, f, NULL) == TG_OK);
        if (!wanted)
            continue;
        *fd = create(part);
        status = part->write(*fd, f, o, &err);
        must(status == TG_OK || (!is_own && (status == TG_EUSAGE || status == TG_EDATA) && err.message[0]));
        if (status || part->name)
            close(*fd);
        if (status || part->name)
            *fd = -1;
        if (status)
            return false;
    }
    return true;
}

static void read_again(const tg_model_file *f, const char *path, const tg_model_writer *to,
                       const tg_write_options *o)
{
    static const char *const activations[] = {
        [TG_GELU_TANH] = "gelu_new", [TG_GELU_ERF] = "gelu", [TG_SILU] = "silu", [TG_RELU2] = "relu2"};
    const bool whole = strcmp(to->name, "hf") == 0 || strcmp(to->name, "npz") == 0;
    const tg_model_ask ask = {.heads = f->config.n_head,
                              .fuse_qkv = o->split_qkv,
                              .activation = o->lossy ? NULL : activations[f->config.activation]};
    const bool exact = strcmp(to->name, "gguf") != 0; /* which has vectors in float32 */
    tg_model_file again;

    must(tg_model_file_open(&again, path, &ask, NULL) == TG_OK);
    if (!o->lossy) {
        check_config(&f->config, &again.config);
        check_head(f, &again, o->type);
    }
    if (whole)
        must(f->config.layer_norm_epsilon == again.config.layer_norm_epsilon &&
             f->config.activation == again.config.activation);
    if (whole && again.tokenizer)
        must(f->tokenizer &&
             tg_tokenizer_vocab_size(f->tokenizer) == tg_tokenizer_vocab_size(again.tokenizer));
    for (size_t i = 0; i < again.table.n; i++)
        check_entry(f, &again, i, o->type, exact);
    tg_model_file_close(&again);
}

static void write_again(const tg_model_file *f, unsigned way)
{
    static const char *const formats[] = {"npz", "safetensors", "gguf", "llmc", "hf"};
    const tg_model_writer *const to = tg_model_writer_named(formats[way % 5]);
    const tg_write_options o = {
        .type = (tg_write_type)(way / 5 % TG_WRITE_TYPES), .lossy = way / 20 % 2, .split_qkv = way / 40 % 2};
    tg_notes notes = {0};
    tg_err err = {0};
    char path[32];
    int fd = -1;
    const tg_status status = to->check(f, &o, &notes, &err);

    must(status == TG_OK || (status == TG_EUSAGE && err.message[0] != '\0'));
    tg_notes_free(&notes);
    if (!status && write_parts(to, f, &o, &fd))
        read_again(f, fd < 0 ? folder_path(FOLDER_WRITTEN, "") : input_path(path, fd), to, &o);
    if (fd >= 0)
        close(fd);
    for (size_t i = 0; i < to->n_parts; i++)
        if (to->part[i].name)
            folder_remove(FOLDER_WRITTEN, to->part[i].name);
}

void check_model(const tg_model_file *f, unsigned way)
{
    check_sizes(f);
    if (f->table.count <= FLOATS_MAX && is_sound(f))
        write_again(f, way);
}
