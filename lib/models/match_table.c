/* Which stored tensor is which parameter, for families whose parameters have the names of the files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/gpt/family.h"
#include "lib/models/matching.h"

/* The name of a tensor without what models of texts and images put in it, in either of two places. */
static const char *plain_name(const tg_model_file *f, const tg_stored *s, char out[TG_NAME_MAX + 1])
{
    static const char part[] = "language_model.", model[] = "model.";
    const size_t n = sizeof part - 1, first = sizeof model - 1;
    const char *name = s->array.name;

    if (!f->text_only)
        return name;
    if (strncmp(name, part, n) == 0)
        return name + n;
    if (strncmp(name, model, first) != 0 || strncmp(name + first, part, n) != 0)
        return name;
    snprintf(out, TG_NAME_MAX + 1, "%s%s", model, name + first + n);
    return out;
}

static bool is_of_images(const tg_model_file *f, const char *name)
{
    static const char *const begins[] = {"vision_tower.", "multi_modal_projector.", "model.vision_tower.",
                                         "model.multi_modal_projector."};
    bool is = false;

    for (size_t i = 0; f->text_only && i < sizeof begins / sizeof *begins; i++)
        is = is || strncmp(name, begins[i], strlen(begins[i])) == 0;
    return is;
}

/* What old files have besides parameters: the frequencies of rotation, which follow from the config. */
static bool is_ignored(const char *name)
{
    static const char end[] = "rotary_emb.inv_freq";
    const size_t n = strlen(name);

    return n >= sizeof end - 1 && strcmp(name + n - (sizeof end - 1), end) == 0;
}

static const tg_stored *find_named(const tg_model_file *f, const char *wanted)
{
    char name[TG_NAME_MAX + 1];

    for (size_t i = 0; i < f->n_files; i++)
        for (size_t t = 0; t < f->file[i]->list.n; t++)
            if (strcmp(plain_name(f, &f->file[i]->list.tensor[t], name), wanted) == 0)
                return &f->file[i]->list.tensor[t];
    return NULL;
}

/* The tensor that the family names so, or NULL. */
static const tg_stored *find(const tg_model_file *f, tg_param_kind kind)
{
    const tg_family *family = tg_config_family(&f->config);

    for (size_t r = 0; r < family->n_rows; r++)
        if (family->row[r].kind == kind)
            return find_named(f, family->row[r].name);
    return NULL;
}

/* A head that is the embedding once more. */
static bool is_tied_head(const tg_model_file *f, const tg_stored *s)
{
    return f->config.tied && s == find(f, TG_HEAD_W);
}

static tg_status match_one(tg_model_file *f, const tg_stored *s, const tg_model_ask *ask, tg_err *err)
{
    char plain[TG_NAME_MAX + 1];
    const char *const name = plain_name(f, s, plain);
    const tg_param *p = tg_params_find(&f->table, name);
    tg_values *v = p ? &f->values[p - f->table.entry] : NULL;
    tg_status status;

    if (!p && (is_ignored(name) || is_of_images(f, name) || is_tied_head(f, s)))
        return TG_OK;
    if (!p && ask->lossy)
        return tg_notes_add(&f->notes, err, "%s is left out: it is not a tensor of the model", s->array.name);
    if (!p)
        return tg_fail(err, TG_EDATA,
                       "%s is not a tensor of a %s with this config (tg-convert --lossy leaves it out)",
                       s->array.name, tg_config_family(&f->config)->name);
    if (v->n > 0)
        return tg_fail(err, TG_EDATA, "%s is there twice", s->array.name);
    if ((status = tg_match_check_numbers(s, err)) ||
        (status = tg_match_check_shape(s, p->ndim, p->shape, err)))
        return status;
    *v = (tg_values){.piece = {s}, .n = 1};
    return TG_OK;
}

static tg_status find_tie(tg_model_file *f, tg_err *err)
{
    const tg_stored *wte = find(f, TG_WTE), *head = find(f, TG_HEAD_W);

    return wte ? tg_match_tie(f, wte, head, err) : TG_OK;
}

/* The names are the parameters' own, and each tensor is one of them. */
static tg_status check_asked(const tg_model_file *f, const tg_model_ask *ask, tg_err *err)
{
    const char *const family = tg_config_family(&f->config)->name;

    if (ask->map)
        return tg_fail(err, TG_EUSAGE,
                       "a %s's tensors have the names that its parameters have: --map is for "
                       "GPT-2's",
                       family);
    if (ask->fuse_qkv)
        return tg_fail(err, TG_EUSAGE, "a %s has q, k and v separate: --fuse-qkv is for GPT-2's", family);
    return tg_match_check_asked(f, ask, err);
}

tg_status tg_match_table(tg_model_file *f, const tg_model_ask *ask, tg_err *err)
{
    tg_status status;

    if ((status = check_asked(f, ask, err)) || (status = find_tie(f, err)) ||
        (status = tg_config_check(&f->config, err)) || (status = tg_params_build(&f->table, &f->config, err)))
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
