/* The families after GPT-2 as GGUF files for llama.cpp: its keys, and the tensors as its converter has them.
 */
#include "lib/models/gguf_write_families.h"

#include <string.h>

#include "lib/gpt/family.h"
#include "lib/models/canonical.h"
#include "lib/models/gguf_families.h"
#include "lib/models/gguf_keys.h"
#include "lib/models/writing.h"

/* ---- of all architectures */

tg_gguf_kind tg_gguf_kind_of(const tg_param *p, size_t row, tg_write_type type)
{
    static const tg_gguf_kind kinds[TG_WRITE_TYPES] = {[TG_WRITE_F32] = TG_GGUF_AS_F32,
                                                       [TG_WRITE_F16] = TG_GGUF_AS_F16,
                                                       [TG_WRITE_BF16] = TG_GGUF_AS_BF16,
                                                       [TG_WRITE_Q8_0] = TG_GGUF_AS_Q8_0};

    if (p->ndim == 1 || p->kind == TG_WPE)
        return TG_GGUF_AS_F32;
    return tg_gguf_can_store(kinds[type], row) ? kinds[type] : TG_GGUF_AS_F16;
}

tg_status tg_gguf_note_types(const tg_config *c, tg_write_type type, tg_notes *notes, tg_err *err)
{
    const size_t row[] = {c->n_embd, tg_dim_size(TG_DIM_Q, c), tg_dim_size(TG_DIM_INNER, c)};
    tg_status status = TG_OK;

    if (type != TG_WRITE_Q8_0)
        return TG_OK;
    for (size_t i = 0; !status && i < 3; i++)
        if (!tg_gguf_can_store(TG_GGUF_AS_Q8_0, row[i]) && (i == 0 || row[i] != row[i - 1]))
            status = tg_notes_add(
                notes, err,
                "matrices with rows of %zu values are written as f16: q8_0 needs a multiple of 32", row[i]);
    return status;
}

void tg_gguf_put_start(tg_gguf_writer *w, const char *architecture, tg_write_type type)
{
    static const uint32_t file_types[TG_WRITE_TYPES] = {
        [TG_WRITE_F32] = 0, [TG_WRITE_F16] = 1, [TG_WRITE_BF16] = 32, [TG_WRITE_Q8_0] = 7}; /* llama.cpp's */

    tg_gguf_put_text(w, "general.architecture", architecture, strlen(architecture));
    tg_gguf_put_u32(w, "general.file_type", file_types[type]);
    if (type == TG_WRITE_Q8_0)
        tg_gguf_put_u32(w, "general.quantization_version", 2);
}

/* ---- named values */

struct keys {
    tg_gguf_writer *w;
    const tg_gguf_arch *arch;
    const tg_config *c;
    char key[TG_GGUF_KEY_MAX]; /* the whole one */
};

static const char *whole(struct keys *k, const char *name)
{
    return tg_gguf_key(k->key, k->arch->architecture, name);
}

static void put_size(struct keys *k, const char *name, size_t size)
{
    tg_gguf_put_u32(k->w, whole(k, name), (uint32_t)size);
}

static void put_real(struct keys *k, const char *name, double x)
{
    tg_gguf_put_f32(k->w, whole(k, name), (float)x);
}

static void put_sizes(struct keys *k)
{
    const tg_config *c = k->c;

    put_size(k, "block_count", c->n_layer);
    put_size(k, "context_length", c->n_ctx);
    put_size(k, "embedding_length", c->n_embd);
    put_size(k, "feed_forward_length", tg_dim_size(TG_DIM_INNER, c));
    put_size(k, "vocab_size", c->vocab_size);
    put_size(k, "attention.head_count", c->n_head);
    put_size(k, "rope.dimension_count", tg_config_rope_dim(c));
    put_real(k, k->arch->epsilon, c->layer_norm_epsilon);
    if (tg_config_has(c, TG_CONFIG_N_KV_HEAD))
        put_size(k, "attention.head_count_kv", tg_config_kv_heads(c));
    if (tg_config_has(c, TG_CONFIG_HEAD_DIM)) {
        put_size(k, "attention.key_length", tg_config_head_dim(c));
        put_size(k, "attention.value_length", tg_config_head_dim(c));
    }
    if (k->arch->parallel || k->arch->serial)
        tg_gguf_put_bool(k->w, whole(k, "use_parallel_residual"), k->arch->parallel);
}

/* Llama 3's scaling is a tensor. */
static void put_rotation(struct keys *k)
{
    put_real(k, "rope.freq_base", k->c->rope_theta);
    if (k->c->rope_scaling != TG_ROPE_LINEAR)
        return;
    tg_gguf_put_text(k->w, whole(k, "rope.scaling.type"), "linear", strlen("linear"));
    put_real(k, "rope.scaling.factor", k->c->rope_factor);
}

/* Which layers have the window, unless those that llama.cpp assumes. */
static void put_pattern(struct keys *k)
{
    const size_t period = k->arch->windows;
    int32_t has[TG_LAYERS_MAX];
    bool usual = true;

    for (size_t l = 0; l < k->c->n_layer; l++) {
        has[l] = tg_config_window(k->c, l) > 0;
        usual = usual && has[l] == (l % period < period - 1);
    }
    if (!usual)
        tg_gguf_put_i32s(k->w, whole(k, "attention.sliding_window_pattern"), has, k->c->n_layer);
}

/* Where llama.cpp assumes windows, those of a model without any are as long as the context. */
static void put_windows(struct keys *k)
{
    const tg_config c = tg_config_canonical(k->c);

    if (k->arch->all_windows)
        put_size(k, "attention.sliding_window", c.window);
    if (c.window == 0 && k->arch->windows > 0 && k->arch->window > 0)
        put_size(k, "attention.sliding_window", c.n_ctx);
    if (c.window == 0 || k->arch->windows == 0)
        return;
    put_size(k, "attention.sliding_window", c.window);
    put_pattern(k);
    if (!k->arch->same_rotation || c.rope_local_theta > 0)
        put_real(k, "rope.freq_base_swa", c.rope_local_theta > 0 ? c.rope_local_theta : c.rope_theta);
}

void tg_gguf_family_config(tg_gguf_writer *w, const tg_config *c, tg_write_type type)
{
    struct keys k = {.w = w, .arch = tg_gguf_arch_for(c), .c = c};

    tg_gguf_put_start(w, k.arch->architecture, type);
    put_sizes(&k);
    put_rotation(&k);
    put_windows(&k);
    if (k.arch->capped) {
        put_real(&k, "attn_logit_softcapping", c->attn_cap);
        put_real(&k, "final_logit_softcapping", c->final_logit_softcapping);
    }
}

/* ---- tensors */

struct writing {
    tg_gguf_writer *w;
    const tg_gguf_arch *arch;
    const tg_write_options *o;
    tg_padded_params padded;
};

/* The config with the biases that the architecture always has. */
static tg_config padded_config(const tg_gguf_arch *arch, const tg_config *config)
{
    tg_config c = *config;

    c.qkv_bias |= arch->qkv_bias;
    c.out_bias |= arch->out_bias;
    return c;
}

/* What is in a tensor of the file: one parameter, or several. */
static tg_joint parts_of(const struct writing *w, const tg_param *p)
{
    const tg_joint *joint = w->arch->fused ? tg_names_joint(w->arch->names, p->kind) : NULL;

    return joint ? *joint : (tg_joint){(int)p->kind, {p->kind}, 1};
}

/* The entry of part i of the tensor with entry p. */
static size_t entry_of(const struct writing *w, const tg_joint *parts, const tg_param *p, size_t i)
{
    return tg_params_index(&w->padded.file.table, parts->part[i], p->layer);
}

/* The first part of a tensor stands for all. */
static void declare(const struct writing *w, const tg_param *p)
{
    const tg_joint parts = parts_of(w, p);
    size_t shape[2] = {0, p->shape[1]};
    char name[TG_GGUF_NAME_MAX];

    if (p->kind != parts.part[0])
        return;
    for (size_t i = 0; i < parts.n; i++)
        shape[0] += w->padded.file.table.entry[entry_of(w, &parts, p, i)].shape[0];
    tg_names_put(name, sizeof name, w->arch->names, parts.kind, TG_NAME_WHOLE, p->layer);
    tg_gguf_declare(w->w, name, p->ndim, shape, tg_gguf_kind_of(p, p->shape[1], w->o->type));
}

/* Rows of q or k: of each head, the two that are rotated together follow each other. */
static void put_pairs(tg_gguf_writer *w, const float *x, const tg_param *p, size_t D)
{
    const size_t columns = p->ndim == 2 ? p->shape[1] : 1;

    for (size_t r = 0; r < p->shape[0]; r++) {
        const size_t in_head = r % D, from = r - in_head + in_head % 2 * (D / 2) + in_head / 2;

        tg_gguf_put_values(w, x + from * columns, columns);
    }
}

/* Gains, to which the model adds the offset in float32 as well. */
static void put_gains(tg_gguf_writer *w, const float *x, const tg_param *p, double offset)
{
    for (size_t e = 0; e < p->count; e++)
        tg_gguf_put_values(w, &(float){(float)offset + x[e]}, 1);
}

static tg_status put_values(struct writing *w, const tg_param *p, tg_err *err)
{
    const tg_model_file *f = &w->padded.file;
    const tg_config *c = &f->config;
    const float *x;
    const tg_status status =
        tg_model_file_get(&x, &w->padded.buffer, f, (size_t)(p - f->table.entry), false, err);

    if (status)
        return status;
    if (w->arch->pairs && tg_is_rotated(p->kind))
        put_pairs(w->w, x, p, tg_config_head_dim(c));
    else if (p->use == TG_USE_NORM && c->norm_offset != 0)
        put_gains(w->w, x, p, c->norm_offset);
    else
        tg_gguf_put_values(w->w, x, p->count);
    return TG_OK;
}

/* A tensor of the file: its parts one after another. */
static tg_status put_tensor(struct writing *w, const tg_param *p, tg_err *err)
{
    const tg_joint parts = parts_of(w, p);
    tg_status status = TG_OK;

    if (p->kind != parts.part[0])
        return TG_OK;
    for (size_t i = 0; !status && i < parts.n; i++) {
        const size_t entry = entry_of(w, &parts, p, i);

        status = put_values(w, &w->padded.file.table.entry[entry], err);
        tg_padded_params_done(&w->padded, entry, w->o);
    }
    return status;
}

static tg_status put_all(struct writing *w, tg_err *err)
{
    const tg_config *c = &w->padded.file.config;
    const tg_params *table = &w->padded.file.table;
    const tg_param *tokens = &table->entry[tg_params_index(table, TG_WTE, 0)];
    const bool copied = c->tied && w->arch->head;
    const size_t divisors = c->rope_scaling == TG_ROPE_LLAMA3 ? tg_config_rope_dim(c) / 2 : 0;
    tg_status status = TG_OK;

    if (divisors > 0)
        tg_gguf_declare(w->w, TG_GGUF_DIVISORS, 1, &divisors, TG_GGUF_AS_F32);
    for (size_t i = 0; i < table->n; i++)
        declare(w, &table->entry[i]);
    if (copied)
        tg_gguf_declare(w->w, "output.weight", 2, tokens->shape,
                        tg_gguf_kind_of(tokens, tokens->shape[1], w->o->type));
    for (size_t j = 0; j < divisors; j++)
        tg_gguf_put_values(w->w, &(float){(float)tg_gguf_divisor(c, j)}, 1);
    for (size_t i = 0; !status && !w->w->out.err.code && i < table->n; i++)
        status = put_tensor(w, &table->entry[i], err);
    return !status && copied ? put_values(w, tokens, err) : status;
}

tg_status tg_gguf_family_tensors(tg_gguf_writer *writer, const tg_model_file *f, const tg_write_options *o,
                                 tg_err *err)
{
    struct writing w = {.w = writer, .arch = tg_gguf_arch_for(&f->config), .o = o};
    const tg_config all = padded_config(w.arch, &f->config);
    tg_status status = tg_padded_params_open_as(&w.padded, f, &all, err);

    if (!status)
        status = put_all(&w, err);
    tg_padded_params_close(&w.padded);
    return status;
}
