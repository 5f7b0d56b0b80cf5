#include "lib/models/matching.h"

#include <string.h>

#include "lib/base/choice.h"
#include "lib/base/size.h"
#include "lib/models/model_format.h"

/* ---- the config */

bool tg_match_knows(const tg_model_file *f, tg_config_id id)
{
    return f->config_known & TG_CONFIG_BIT(id);
}

void tg_model_file_set_size(tg_model_file *f, tg_config_id id, size_t size)
{
    *(size_t *)tg_field_member(&tg_config_fields.row[id], &f->config) = size;
    f->config_known |= TG_CONFIG_BIT(id);
}

void tg_model_file_set_norm(tg_model_file *f, tg_activation activation, double epsilon)
{
    f->config.activation = activation;
    f->config.layer_norm_epsilon = epsilon;
    f->config_known |= TG_CONFIG_BIT(TG_CONFIG_ACTIVATION);
}

void tg_model_file_set_tied(tg_model_file *f, bool tied)
{
    f->config.tied = tied;
    f->config_known |= TG_CONFIG_BIT(TG_CONFIG_TIED);
}

static tg_status check_asked_heads(const tg_model_file *f, size_t asked, tg_err *err)
{
    const size_t heads = f->config.n_head;

    if (!tg_match_knows(f, TG_CONFIG_N_HEAD) || asked == 0 || asked == heads)
        return TG_OK;
    return tg_fail(err, TG_EUSAGE, "the file says %zu heads, not %zu", heads, asked);
}

tg_status tg_match_check_asked(const tg_model_file *f, const tg_model_ask *ask, tg_err *err)
{
    const tg_activation activation = f->config.activation;
    size_t asked = activation;
    const tg_status status = check_asked_heads(f, ask->heads, err);

    if (status || !tg_match_knows(f, TG_CONFIG_ACTIVATION) || !ask->activation)
        return status;
    (void)tg_choice_find(&asked, TG_ACTIVATIONS, ask->activation);
    if (asked == activation)
        return TG_OK;
    return tg_fail(err, TG_EUSAGE, "the file says %s, not %s", tg_activation_text(activation),
                   ask->activation);
}

/* ---- tensors */

tg_status tg_match_check_numbers(const tg_stored *s, tg_err *err)
{
    char text[TG_ARRAY_TEXT_MAX];

    if (s->array.dtype.kind == 'f' || s->array.dtype.kind == 'B')
        return TG_OK;
    return tg_fail(err, TG_EDATA, "%s has type %s, expected floating-point numbers", s->array.name,
                   tg_stored_type(text, s));
}

tg_status tg_match_check_shape(const tg_stored *s, size_t ndim, const size_t *shape, tg_err *err)
{
    char got[TG_ARRAY_TEXT_MAX], want[TG_ARRAY_TEXT_MAX];
    bool same = s->array.ndim == ndim;

    for (size_t i = 0; same && i < ndim; i++)
        same = s->array.shape[i] == shape[i];
    if (same)
        return TG_OK;
    return tg_fail(err, TG_EDATA, "%s has shape %s, expected %s", s->array.name,
                   tg_shape_text(got, s->array.ndim, s->array.shape), tg_shape_text(want, ndim, shape));
}

/* ---- the head */

#define CHUNK ((size_t)4096)

/* Whether two tensors have the same values; those of one type are compared as they are stored. */
static tg_status same_values(bool *same, const tg_stored *s, const tg_stored *t, tg_err *err)
{
    float x[CHUNK], y[CHUNK];
    tg_status status;

    *same = s->array.count == t->array.count;
    if (!*same || s->at == t->at)
        return TG_OK;
    if (s->blocks == t->blocks && s->group == t->group && tg_dtype_equal(s->array.dtype, t->array.dtype)) {
        *same = memcmp(s->at, t->at, s->stored) == 0;
        return TG_OK;
    }
    for (size_t i = 0; i < s->array.count && *same; i += CHUNK) {
        const size_t n = tg_size_min(CHUNK, s->array.count - i);

        /* unreached: a status: tg_match_check_numbers() has seen both types */
        if ((status = tg_stored_load(x, s, i, n, err)) || (status = tg_stored_load(y, t, i, n, err)))
            return status;
        *same = memcmp(x, y, n * sizeof *x) == 0;
    }
    return TG_OK;
}

/*
 * Without a word in the config, a head is tied if it has no matrix, or the embedding's.  A config that ties a
 * head whose matrix differs contradicts itself: like transformers from version 5 on, believe the matrix.
 */
tg_status tg_match_tie(tg_model_file *f, const tg_stored *wte, const tg_stored *head, tg_err *err)
{
    tg_config *c = &f->config;
    const bool tied_is_known = tg_match_knows(f, TG_CONFIG_TIED);
    bool same;
    tg_status status;

    if (tied_is_known && !c->tied)
        return TG_OK;
    c->tied = true;
    if (!head)
        return TG_OK;
    if ((status = tg_match_check_numbers(wte, err)) || (status = tg_match_check_numbers(head, err)) ||
        (status = same_values(&same, wte, head, err)))
        return status;
    c->tied = same;
    if (!same && tied_is_known)
        return tg_notes_add(&f->notes, err,
                            "%s differs from %s although the config ties them: kept as a separate matrix (as "
                            "transformers 5 does)",
                            head->array.name, wte->array.name);
    return TG_OK;
}
