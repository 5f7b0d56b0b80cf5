/* Which stored tensor is which parameter, for families whose parameters have the names of the files. */
#include <stdlib.h>
#include <string.h>

#include "lib/gpt/family.h"
#include "lib/models/model_format.h"

/* What old files have besides parameters: the frequencies of rotation, which follow from the config. */
static bool is_ignored(const char *name)
{
    static const char end[] = "rotary_emb.inv_freq";
    const size_t n = strlen(name);

    return n >= sizeof end - 1 && strcmp(name + n - (sizeof end - 1), end) == 0;
}

static tg_status check_stored(const tg_stored *s, const tg_param *p, tg_err *err)
{
    char got[TG_ARRAY_TEXT_MAX], want[TG_ARRAY_TEXT_MAX];
    bool same = s->array.ndim == p->ndim;

    if (s->array.dtype.kind != 'f' && s->array.dtype.kind != 'B')
        return tg_fail(err, TG_EDATA, "%s has type %s, expected floating-point numbers", s->array.name,
                       tg_stored_type(got, s));
    for (size_t i = 0; same && i < p->ndim; i++)
        same = s->array.shape[i] == p->shape[i];
    if (same)
        return TG_OK;
    return tg_fail(err, TG_EDATA, "%s has shape %s, expected %s", s->array.name,
                   tg_shape_text(got, s->array.ndim, s->array.shape), tg_shape_text(want, p->ndim, p->shape));
}

/* A head beside a config that ties it. */
static bool is_tied_head(const tg_model_file *f, const char *name)
{
    return f->config.tied && strcmp(name, "lm_head.weight") == 0;
}

static tg_status match_one(tg_model_file *f, const tg_stored *s, const tg_model_ask *ask, tg_err *err)
{
    const tg_param *p = tg_params_find(&f->table, s->array.name);
    tg_values *v = p ? &f->values[p - f->table.entry] : NULL;
    tg_status status;

    if (!p && (is_ignored(s->array.name) || is_tied_head(f, s->array.name)))
        return TG_OK;
    if (!p && ask->lossy)
        return tg_notes_add(&f->notes, err, "%s is left out: it is not a tensor of the model", s->array.name);
    if (!p)
        return tg_fail(err, TG_EDATA,
                       "%s is not a tensor of a %s with this config (tg-convert --lossy leaves it out)",
                       s->array.name, tg_config_family(&f->config)->name);
    if (v->n > 0)
        return tg_fail(err, TG_EDATA, "%s is there twice", s->array.name);
    if ((status = check_stored(s, p, err)))
        return status;
    *v = (tg_values){.piece = {s}, .n = 1};
    return TG_OK;
}

/* The tensor that the family names so, or NULL. */
static const tg_stored *find(const tg_model_file *f, tg_param_kind kind)
{
    const tg_family *family = tg_config_family(&f->config);
    const tg_stored *s = NULL;

    for (size_t r = 0; r < family->n_rows; r++)
        for (size_t i = 0; family->row[r].kind == kind && !s && i < f->n_files; i++)
            s = tg_tensor_list_find(&f->file[i]->list, family->row[r].name);
    return s;
}

static tg_status find_tie(tg_model_file *f, tg_err *err)
{
    const tg_stored *wte = find(f, TG_WTE), *head = find(f, TG_HEAD_W);

    return wte ? tg_model_file_tie(f, wte, head, err) : TG_OK;
}

tg_status tg_model_file_match_table(tg_model_file *f, const tg_model_ask *ask, tg_err *err)
{
    tg_status status = find_tie(f, err);

    if (status || (status = tg_config_check(&f->config, err)) ||
        (status = tg_params_build(&f->table, &f->config, err)))
        return status;
    if (!(f->values = calloc(f->table.n, sizeof *f->values)))
        return tg_fail_memory(err, f->table.n * sizeof *f->values, "the table of values");
    for (size_t i = 0; i < f->n_files; i++)
        for (size_t t = 0; t < f->file[i]->list.n; t++)
            if ((status = match_one(f, &f->file[i]->list.tensor[t], ask, err)))
                return status;
    for (size_t i = 0; i < f->table.n; i++)
        if (f->values[i].n == 0)
            return tg_fail(err, TG_EDATA, "%s is missing", f->table.entry[i].name);
    return TG_OK;
}
