/* heat: maps of what tg-circuit wrote: heads, and pairs of them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cmd/tg-attn-view/heat.h"
#include "lib/base/choice.h"

/* ---- heads */

static const char *quantity_of(const char *show)
{
    static const struct {
        const char *show, *quantity;
    } quantities[] = {
        {"copying", "copying: eigenvalues of W_E OV W_U"},
        {"positive", "share of eigenvalues of W_E OV W_U with Re > 0"},
        {"duplicate", "duplicate: eigenvalues of W_E QK W_E^T"},
        {"previous", "attention to the previous position"},
        {"diagonal", "attention to the same position"},
        {"ov_norm", "norm of OV"},
        {"qk_norm", "norm of QK"},
        {"q", "Q-composition"},
        {"k", "K-composition"},
        {"v", "V-composition"},
        {"q_excess", "Q-composition less that of random matrices"},
        {"k_excess", "K-composition less that of random matrices"},
        {"v_excess", "V-composition less that of random matrices"},
    };
    size_t i = 0;

    while (strcmp(quantities[i].show, show) != 0)
        i++;
    return quantities[i].quantity;
}

static tg_status fill_heads(heat *h, const double *value, size_t N, const heat_axis *layers,
                            const heat_axis *heads, tg_err *err)
{
    const tg_status status = heat_place(h, layers->n, heads->n, false, false, err);

    if (status)
        return status;
    h->rows_are = "layer";
    h->columns_are = "head";
    for (size_t j = 0; j < h->columns; j++)
        snprintf(h->column[j], HEAT_NAME, "%zu", heads->number[j]);
    for (size_t i = 0; i < h->rows; i++) {
        heat_name_layer(h, i, layers->number[i]);
        for (size_t j = 0; j < h->columns; j++)
            h->value[i * h->columns + j] = value[layers->index[i] * N + heads->index[j]];
    }
    return TG_OK;
}

/* ---- pairs of heads */

/* Layer 0 reads from no head. */
static tg_status leave_out_first(heat_axis *layers, tg_err *err)
{
    if (layers->number[0] > 0)
        return TG_OK;
    if (layers->n == 1)
        return tg_fail(err, TG_EUSAGE, "layer 0 has no earlier layer, whose heads it would read");
    layers->n--;
    memmove(layers->index, layers->index + 1, layers->n * sizeof *layers->index);
    memmove(layers->number, layers->number + 1, layers->n * sizeof *layers->number);
    return TG_OK;
}

/* Rows: the heads that read; columns: those of earlier layers, which write.  less: of each score. */
static tg_status fill_pairs(heat *h, const tg_results_array *score, double less, const heat_axis *layers,
                            const heat_axis *heads, tg_err *err)
{
    const size_t N = score->shape[1], H = score->shape[3], all = score->shape[2] * H;
    const size_t last = layers->number[layers->n - 1], columns = last * H;
    const tg_status status = heat_place(h, layers->n * heads->n, columns, false, false, err);

    if (status)
        return status;
    h->rows_are = "reader";
    h->columns_are = "writer";
    for (size_t j = 0; j < columns; j++)
        snprintf(h->column[j], HEAT_NAME, "%zu.%zu", j / H, j % H);
    for (size_t i = 0; i < h->rows; i++) {
        const size_t l = i / heads->n, n = i % heads->n;
        const double *row = score->real + (layers->index[l] * N + heads->index[n]) * all;

        heat_name_head(h, i, layers->number[l], heads->number[n]);
        for (size_t j = 0; j < columns; j++)
            h->value[i * columns + j] = j / H < layers->number[l] ? row[j] - less : (double)NAN;
    }
    return TG_OK;
}

/* ---- a map of either kind */

/* What a quantity is made of: an array, less the baseline if `excess`. */
struct circuit {
    const tg_results_array *value;
    bool excess;
    double baseline;
};

static tg_status find(struct circuit *c, const tg_results *r, const char *show, tg_err *err)
{
    static const char suffix[] = "_excess";
    char name[TG_CHOICE_SIZE];
    const size_t n = strcspn(show, "_");

    c->excess = strcmp(show + n, suffix) == 0;
    snprintf(name, sizeof name, "%s", show);
    if (c->excess)
        name[n] = '\0';
    if (!(c->value = tg_results_find(r, name)))
        return tg_fail(err, TG_EUSAGE, "the archive has no circuit/%s", name);
    c->baseline = tg_results_real(r, "baseline");
    return TG_OK;
}

static void describe(heat *h, const tg_results *r, const struct circuit *c, const char *show)
{
    const bool diverges = c->excess || strcmp(show, "copying") == 0 || strcmp(show, "duplicate") == 0;

    snprintf(h->quantity, HEAT_LINE, "%s", quantity_of(show));
    heat_set_range(h, diverges ? HEAT_DIVERGING : HEAT_FROM_ZERO);
    if (c->excess) /* a score of 0 is in range, so that random matrices are pale */
        heat_widen(h, c->baseline);
    if (c->value->dims == 4 && tg_results_find(r, "baseline"))
        snprintf(h->about[0], HEAT_LINE, "of random matrices: %.4g", c->baseline);
}

tg_status heat_of_circuit(heat *h, const tg_results *r, const heat_want *want, const char *show, tg_err *err)
{
    const tg_results_array *layers = tg_results_find(r, "layers"), *heads = tg_results_find(r, "heads");
    struct circuit c = {0};
    heat_axis l = {0}, n = {0};
    tg_status status = find(&c, r, show, err);

    if (status)
        return status;
    if (!(status = heat_choose(&l, "layer", layers->whole, layers->count, want->layers, err)) &&
        !(status = heat_choose(&n, "head", heads->whole, heads->count, want->heads, err)) &&
        (c.value->dims < 4 || !(status = leave_out_first(&l, err))))
        status = c.value->dims == 4 ? fill_pairs(h, c.value, c.excess ? c.baseline : 0, &l, &n, err)
                                    : fill_heads(h, c.value->real, heads->count, &l, &n, err);
    if (!status)
        describe(h, r, &c, show);
    heat_axis_free(&l);
    heat_axis_free(&n);
    return status;
}
