/*
 * A small model that is accepted, from any file, run forward, in memory and lent.
 *
 * Both have the same logits.  GPT-2's are those of the reference in double precision, as nearly as these
 * depend on the weights' rounding: the reference is also computed with weights that are a little different.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/threads.h"
#include "lib/gpt/infer.h"
#include "lib/models/model_file.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/tiny_model.h"
#include "tests/unit/ref_gpt.h"

enum { T_MAX = 4, V_MAX = 300 };

/* The last position's logits [V] in double precision; each weight is first multiplied by 1 +- stir. */
static void reference(double *logits, const tg_model *m, const int32_t *ids, size_t T, double stir)
{
    static const int32_t targets[T_MAX];
    double *const flat = calloc(m->table.floats, sizeof *flat);
    double *const all = calloc(T * m->config.vocab_size, sizeof *all);

    must(flat && all);
    for (size_t i = 0; i < m->table.floats; i++)
        flat[i] = (double)m->params[i] * (1 + (i * 2654435761u >> 16 & 1 ? stir : -stir));
    (void)ref_gpt_loss(&m->config, &m->table, flat, ids, targets, 1, T, NULL, all);
    memcpy(logits, all + (T - 1) * m->config.vocab_size, m->config.vocab_size * sizeof *all);
    free(flat);
    free(all);
}

static bool is_moderate(const tg_model *m)
{
    for (size_t i = 0; i < m->table.floats; i++)
        if (!(fabsf(m->params[i]) < 100.0f))
            return false;
    return m->config.layer_norm_epsilon >= 1e-6;
}

/* Of a model that is run. */
static size_t tokens_of(int32_t ids[T_MAX], const tg_model *m, uint32_t random)
{
    const size_t T = m->config.n_ctx < T_MAX ? m->config.n_ctx : T_MAX;

    for (size_t t = 0; t < T; t++, random /= 7)
        ids[t] = (int32_t)(random % tg_tokenizer_vocab_size(m->tokenizer));
    return T;
}

/* In one pass, and one token after another. */
static void infer(float *logits, float *stepped, const tg_model *m, const int32_t *ids, size_t T)
{
    tg_arena arena = {0};
    tg_infer f;

    tg_infer_place(&arena, &f, m, T, 1, T);
    must(tg_arena_alloc(&arena, NULL) == TG_OK);
    tg_infer_place(&arena, &f, m, T, 1, T);
    tg_infer_run(&f, ids, T, logits);
    tg_infer_reset(&f);
    for (size_t t = 0; t < T; t++)
        tg_infer_run(&f, ids + t, 1, stepped);
    tg_arena_free(&arena);
}

static void run(const tg_model *m, uint32_t random)
{
    static float logits[V_MAX], stepped[V_MAX];
    static double want[V_MAX], nearby[V_MAX], other[V_MAX];
    const size_t V = m->config.vocab_size;
    int32_t ids[T_MAX];
    const size_t T = tokens_of(ids, m, random);

    infer(logits, stepped, m, ids, T);
    if (m->config.family > 0 || !is_moderate(m))
        return;
    reference(want, m, ids, T, 0);
    reference(nearby, m, ids, T, 1e-6);
    reference(other, m, ids, T, -3e-6);
    for (size_t i = 0; i < V; i++) {
        const double slack =
            1e-3 * (1 + fabs(want[i])) + 30 * fabs(nearby[i] - want[i]) + 30 * fabs(other[i] - want[i]);

        must(!isfinite(want[i]) || slack > 0.1 * (1 + fabs(want[i])) ||
             (fabs((double)logits[i] - want[i]) <= slack && fabs((double)stepped[i] - want[i]) <= slack));
    }
}

/* ---- lent */

/* Each tensor, from the last to the first; every other one leaves memory then. */
static void check_values(const tg_model *lent, const tg_model *m)
{
    for (size_t i = m->table.n; i-- > 0;) {
        const tg_param *const p = &m->table.entry[i];

        must(memcmp(tg_model_values(lent, i), m->weight[i], p->count * sizeof(float)) == 0);
        if (i % 2)
            tg_model_forget(lent, i);
    }
}

/* The same model, from the file again.  m: NULL: it was refused in memory, and something may not be finite.
 */
static void run_lent(tg_model_file *f, const tg_model *m, uint32_t random)
{
    static float logits[V_MAX], stepped[V_MAX], got[V_MAX], got_stepped[V_MAX];
    const size_t bytes = f->config.vocab_size * sizeof *logits;
    int32_t ids[T_MAX];
    tg_model lent;
    tg_err err = {0};
    tg_status status = tg_model_file_lend(&lent, f, &err);
    size_t T;

    must(!m || status == TG_OK);
    if (status)
        return;
    T = tokens_of(ids, &lent, random);
    infer(got, got_stepped, &lent, ids, T);
    if (m) {
        infer(logits, stepped, m, ids, T);
        must(memcmp(got, logits, bytes) == 0 && memcmp(got_stepped, stepped, bytes) == 0);
        check_values(&lent, m);
        infer(got, got_stepped, &lent, ids, T);
        must(memcmp(got, logits, bytes) == 0);
    }
    status = tg_model_check_lent(&lent, &err);
    must(m ? status == TG_OK : status == TG_OK || (status == TG_EDATA && err.message[0] != '\0'));
    tg_model_free(&lent);
}

/* ---- the input */

/* Whether it is accepted, and small. */
static bool open_file(tg_model_file *f, const char *path)
{
    static const tg_model_ask ask = {.heads = 2, .lossy = true, .fuse_qkv = true};

    if (tg_model_file_open(f, path, &ask, NULL))
        return false;
    if (f->table.count <= 20000 && f->config.n_layer <= 2 && f->config.vocab_size <= V_MAX)
        return true;
    tg_model_file_close(f);
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint32_t random = (uint32_t)size * 2654435761u;
    char path[32];
    tg_model_file f;
    tg_model m;
    bool whole;

    tg_threads_set(1);
    if (!open_file(&f, input_path(path, input_file(data, size))))
        return 0;
    whole = tg_model_file_to_model(&m, &f, true, NULL) == TG_OK;
    must(open_file(&f, path));
    run_lent(&f, whole ? &m : NULL, random);
    if (!whole)
        return 0;
    must(m.params && (m.config.family > 0 || m.config.n_embd % m.config.n_head == 0));
    must(tg_tokenizer_vocab_size(m.tokenizer) <= m.config.vocab_size);
    run(&m, random);
    tg_model_free(&m);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    return tiny_model_mutate(data, size, max, seed);
}
