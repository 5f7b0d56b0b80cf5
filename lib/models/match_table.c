/* Which stored tensor is which parameter, for families after GPT-2: by the names of the format, which may
 * have several in one tensor, or by the parameters' own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/gpt/family.h"
#include "lib/models/matching.h"

/* The names are NULL where the files have the parameters' names only. */
struct match {
    tg_model_file *f;
    const tg_names *names;
    const tg_model_ask *ask;
};

/* ---- names */

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

static const tg_name *find_row(const struct match *m, const char *name, size_t *layer)
{
    return m->names ? tg_names_find(m->names, name, layer) : NULL;
}

/* The parameter of that kind, or NULL. */
static const tg_param *param_of(const struct match *m, int kind, size_t layer)
{
    const tg_params *table = &m->f->table;
    size_t i = table->n;

    if (kind >= 0 && layer < m->f->config.n_layer)
        i = tg_params_index(table, (tg_param_kind)kind, layer);
    return i < table->n ? &table->entry[i] : NULL;
}

/* The row of that kind, or NULL. */
static const tg_name *row_of(const struct match *m, int kind)
{
    for (size_t i = 0; m->names && i < m->names->n; i++)
        if (m->names->row[i].kind == kind)
            return &m->names->row[i];
    return NULL;
}

/* What the files call a parameter of that kind, into name, or `otherwise`.  It may be the name of a tensor
 * that has others too. */
static const char *name_of(char name[TG_NAME_MAX + 1], const struct match *m, tg_param_kind kind,
                           size_t layer, const char *otherwise)
{
    const tg_joint *joint = tg_names_joint(m->names, kind);
    const tg_name *row = row_of(m, (int)kind);

    if (!row && joint)
        row = row_of(m, joint->kind);
    if (!row)
        return otherwise;
    tg_names_put(name, TG_NAME_MAX + 1, m->names, row->kind, row->part, layer);
    return name;
}

/* The name of a kind outside the blocks; "" if the family has none. */
static const char *single_name(char name[TG_NAME_MAX + 1], const struct match *m, tg_param_kind kind)
{
    const tg_family *family = tg_config_family(&m->f->config);
    const char *own = "";

    for (size_t r = 0; r < family->n_rows; r++)
        if (family->row[r].kind == kind)
            own = family->row[r].name;
    return name_of(name, m, kind, 0, own);
}

/* A head beside a config that ties it. */
static bool is_tied_head(const struct match *m, const char *name)
{
    char buffer[TG_NAME_MAX + 1];

    return m->f->config.tied && strcmp(name, single_name(buffer, m, TG_HEAD_W)) == 0;
}

/* ---- parameters that are in one tensor */

/* The parameters of a tensor; p [0] is NULL if the model has none of that kind. */
struct parts {
    const tg_param *p[3]; /* [n] */
    size_t n;
};

static struct parts parts_of(const struct match *m, int kind, size_t layer)
{
    const tg_joint *joint = tg_joint_of(kind);
    struct parts parts = {{param_of(m, kind, layer)}, 1};

    if (!joint || parts.p[0])
        return parts;
    for (parts.n = 0; parts.n < joint->n; parts.n++)
        parts.p[parts.n] = param_of(m, (int)joint->part[parts.n], layer);
    return parts;
}

/* The rows of the first n. */
static size_t count_rows(const struct parts *parts, size_t n)
{
    size_t rows = 0;

    for (size_t i = 0; i < n; i++)
        rows += parts->p[i]->shape[0];
    return rows;
}

/* The order of the rows of part i. */
static tg_row_order order_of(const struct match *m, const struct parts *parts, size_t i)
{
    const bool joint = parts->n > 1, by_head = joint && m->names->by_head;
    const bool rotated = m->names && tg_is_rotated(parts->p[i]->kind);
    const bool pairs = rotated && m->names->pairs, swapped = rotated && m->names->swapped;
    const size_t D = pairs || swapped || by_head ? tg_config_head_dim(&m->f->config) : parts->p[i]->shape[0];

    if (!joint && !pairs && !swapped)
        return (tg_row_order){0};
    return (tg_row_order){.head = D,
                          .first = by_head ? i * D : count_rows(parts, i),
                          .stride = by_head ? parts->n * D : D,
                          .pairs = pairs,
                          .swapped = swapped};
}

/* ---- tensors */

static tg_status check_stored(const tg_stored *s, const tg_param *p, size_t rows, tg_err *err)
{
    const size_t shape[2] = {rows, p->shape[1]};
    const tg_status status = tg_match_check_numbers(s, err);

    return status ? status : tg_match_check_shape(s, p->ndim, shape, err);
}

/* Part i of the tensor. */
static tg_status take_part(struct match *m, const tg_stored *s, const struct parts *parts, size_t i,
                           tg_err *err)
{
    const tg_param *p = parts->p[i];
    tg_values *v = &m->f->values[p - m->f->table.entry];
    tg_status status;

    if (v->n > 0)
        return tg_fail(err, TG_EDATA, "%s is there twice", s->array.name);
    if (!(status = check_stored(s, p, count_rows(parts, parts->n), err)))
        *v = (tg_values){.piece = {s}, .n = 1, .order = order_of(m, parts, i)};
    return status;
}

static tg_status surplus(struct match *m, const tg_stored *s, tg_err *err)
{
    if (m->ask->lossy)
        return tg_notes_add(&m->f->notes, err, "%s is left out: it is not a tensor of the model",
                            s->array.name);
    return tg_fail(err, TG_EDATA,
                   "%s is not a tensor of the family %s with this config (tg-convert --lossy leaves it out)",
                   s->array.name, tg_config_family(&m->f->config)->name);
}

static tg_status match_one(struct match *m, const tg_stored *s, tg_err *err)
{
    char plain[TG_NAME_MAX + 1];
    const char *const name = plain_name(m->f, s, plain);
    size_t layer;
    const tg_name *row = find_row(m, name, &layer);
    const struct parts parts =
        row ? parts_of(m, row->kind, layer) : (struct parts){{tg_params_find(&m->f->table, name)}, 1};
    tg_status status = TG_OK;

    if (!parts.p[0] && ((row && row->kind == TG_NAME_IGNORED) || is_ignored(name) ||
                        is_of_images(m->f, name) || is_tied_head(m, name)))
        return TG_OK;
    if (!parts.p[0])
        return surplus(m, s, err);
    for (size_t i = 0; i < parts.n && !status; i++)
        status = take_part(m, s, &parts, i, err);
    return status;
}

/* ---- all */

/* The tensor of a kind outside the blocks, or NULL. */
static const tg_stored *find(const struct match *m, tg_param_kind kind)
{
    char buffer[TG_NAME_MAX + 1], plain[TG_NAME_MAX + 1];
    const char *const name = single_name(buffer, m, kind);

    for (size_t i = 0; i < m->f->n_files; i++)
        for (size_t t = 0; t < m->f->file[i]->list.n; t++)
            if (strcmp(plain_name(m->f, &m->f->file[i]->list.tensor[t], plain), name) == 0)
                return &m->f->file[i]->list.tensor[t];
    return NULL;
}

static tg_status find_tie(struct match *m, tg_err *err)
{
    const tg_stored *wte = find(m, TG_WTE), *head = find(m, TG_HEAD_W);

    return wte ? tg_match_tie(m->f, wte, head, err) : TG_OK;
}

static tg_status check_complete(const struct match *m, tg_err *err)
{
    char name[TG_NAME_MAX + 1];

    for (size_t i = 0; i < m->f->table.n; i++) {
        const tg_param *p = &m->f->table.entry[i];

        if (m->f->values[i].n == 0)
            return tg_fail(err, TG_EDATA, "%s is missing", name_of(name, m, p->kind, p->layer, p->name));
    }
    return TG_OK;
}

/* What the files call the tensors, if that is not what the parameters are called. */
static const tg_names *names_for(const tg_names *given, const char *family)
{
    return strcmp(given->family, family) == 0 ? given : tg_names_hf(family);
}

/* The names are known, and q, k and v a parameter each. */
static tg_status check_asked(const tg_model_file *f, const tg_model_ask *ask, tg_err *err)
{
    if (ask->map)
        return tg_fail(err, TG_EUSAGE,
                       "tensors of the family %s have the names of its parameters: --map is for GPT-2's",
                       tg_config_family(&f->config)->name);
    return tg_match_check_asked(f, ask, err);
}

tg_status tg_match_table(tg_model_file *f, const tg_names *names, const tg_model_ask *ask, tg_err *err)
{
    struct match m = {f, names_for(names, tg_config_family(&f->config)->name), ask};
    tg_status status;

    if ((status = check_asked(f, ask, err)) || (status = find_tie(&m, err)) ||
        (status = tg_config_check(&f->config, err)) || (status = tg_params_build(&f->table, &f->config, err)))
        return status;
    if (!(f->values = calloc(f->table.n, sizeof *f->values)))
        return tg_fail_memory(err, f->table.n * sizeof *f->values, "the table of values");
    for (size_t i = 0; i < f->n_files; i++)
        for (size_t t = 0; t < f->file[i]->list.n; t++)
            if ((status = match_one(&m, &f->file[i]->list.tensor[t], err)))
                return status;
    return check_complete(&m, err);
}
