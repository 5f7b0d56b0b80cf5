#include "lib/patch/patch_write.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/base/size.h"

/* ---- axes: layers, heads, positions */

enum { LAYERS, HEADS, POSITIONS, AXES };

/* How many of the first edits are of the first layer, and of its first head. */
static void find_shape(size_t shape[AXES], const tg_patch_grid *g)
{
    const tg_patch_edit *e = g->edit;
    size_t layer = 1, head = 1;

    while (layer < g->n && e[layer].layer == e[0].layer)
        layer++;
    while (head < layer && e[head].head == e[0].head)
        head++;
    shape[LAYERS] = g->n / layer;
    shape[HEADS] = layer / head;
    shape[POSITIONS] = head;
}

/* -1 for all of them. */
static int64_t place_of(const tg_patch_edit *e, size_t axis)
{
    const size_t place = axis == LAYERS ? e->layer : axis == HEADS ? e->head : e->position;

    return place == TG_PATCH_ALL ? -1 : (int64_t)place;
}

static tg_status put_axes(tg_archive_writer *w, const tg_patch_grid *g, const size_t shape[AXES], tg_err *err)
{
    static const char *const name[AXES] = {"patch/layers", "patch/heads", "patch/positions"};
    const size_t step[AXES] = {shape[HEADS] * shape[POSITIONS], shape[POSITIONS], 1};
    const size_t most = tg_size_max(shape[LAYERS], tg_size_max(shape[HEADS], shape[POSITIONS]));
    int64_t *place = malloc(most * sizeof *place);
    tg_status status = TG_OK;

    if (!place)
        return tg_fail_memory(err, most * sizeof *place, "the places of patches");
    for (size_t axis = 0; axis < AXES && !status; axis++) {
        for (size_t i = 0; i < shape[axis]; i++)
            place[i] = place_of(&g->edit[i * step[axis]], axis);
        status = tg_archive_put(w, name[axis], TG_I64, 1, &shape[axis], place, err);
    }
    free(place);
    return status;
}

/* ---- the rest */

/* "patch/metric" */
static const char *array_name(char out[64], const char *kind, const char *name)
{
    snprintf(out, 64, "%s/%s", kind, name);
    return out;
}

static tg_status put_ids(tg_archive_writer *w, const char *kind, const char *ids_name, const char *text_name,
                         const tg_patch_settings *s, const int32_t *ids, size_t T, tg_err *err)
{
    char name[2][64];

    return tg_token_ids_put(w, array_name(name[0], kind, ids_name), array_name(name[1], kind, text_name),
                            s->tok, s->text_of, ids, T, err);
}

tg_status tg_patch_prompts_put(tg_archive_writer *w, const char *kind, const tg_patch_settings *s,
                               const int32_t *clean, const int32_t *corrupt, size_t T, tg_err *err)
{
    tg_status status;

    if (!clean || (status = put_ids(w, kind, "ids", "text", s, clean, T, err)) || !corrupt)
        return clean ? status : TG_OK;
    return put_ids(w, kind, "corrupt_ids", "corrupt_text", s, corrupt, T, err);
}

tg_status tg_patch_answers_put(tg_archive_writer *w, const char *kind, const tg_patch_settings *s,
                               tg_err *err)
{
    char name[2][64];
    tg_status status;

    if (s->pairs > 1)
        return TG_OK;
    if ((status =
             tg_token_id_put(w, array_name(name[0], kind, "answer"), array_name(name[1], kind, "answer_text"),
                             s->tok, s->text_of, s->answer, err)))
        return status;
    return tg_token_id_put(w, array_name(name[0], kind, "wrong"), array_name(name[1], kind, "wrong_text"),
                           s->tok, s->text_of, s->wrong, err);
}

tg_status tg_patch_settings_put(tg_archive_writer *w, const char *kind, const tg_patch_settings *s,
                                tg_err *err)
{
    const struct {
        const char *name, *list;
        size_t choice;
    } choices[] = {{"metric", TG_PATCH_METRIC_NAMES, s->metric},
                   {"direction", TG_PATCH_DIRECTIONS, s->noise},
                   {"method", TG_PATCH_METHODS, s->estimated}};
    char name[64];
    tg_status status = TG_OK;

    for (size_t i = 0; i < 3 && !status; i++)
        status = tg_archive_put_choice(w, array_name(name, kind, choices[i].name), choices[i].list,
                                       choices[i].choice, err);
    if (status || (status = tg_archive_put_i64(w, array_name(name, kind, "steps"), (int64_t)s->steps, err)) ||
        (status = tg_archive_put_i64(w, array_name(name, kind, "pairs"), (int64_t)s->pairs, err)) ||
        (status = tg_patch_answers_put(w, kind, s, err)) ||
        (status = tg_archive_put_f64(w, array_name(name, kind, "clean"), s->clean, err)))
        return status;
    return tg_archive_put_f64(w, array_name(name, kind, "corrupt"), s->corrupt, err);
}

static tg_status put_all(tg_archive_writer *w, const tg_patch_grid *g, tg_err *err)
{
    size_t shape[AXES];
    tg_status status;

    find_shape(shape, g);
    if ((status = tg_archive_put_text(w, "kind", "patch", err)) ||
        (status = tg_archive_put_i64(w, "version", TG_PATCH_VERSION, err)) ||
        (status = tg_patch_prompts_put(w, "patch", &g->settings, g->clean_ids, g->corrupt_ids, g->T, err)) ||
        (status = tg_archive_put_choice(w, "patch/site", TG_PATCH_SITE_NAMES, g->edit->site, err)) ||
        (status = tg_patch_settings_put(w, "patch", &g->settings, err)) ||
        (status = tg_archive_put_i64(w, "patch/n_layer", (int64_t)g->n_layer, err)) ||
        (status = put_axes(w, g, shape, err)) ||
        (status = tg_archive_put(w, "patch/value", TG_F64, AXES, shape, g->value, err)))
        return status;
    return tg_archive_put(w, "patch/effect", TG_F64, AXES, shape, g->effect, err);
}

tg_status tg_patch_write(int fd, const tg_patch_grid *g, tg_err *err)
{
    tg_archive_writer *w;
    const tg_status status = tg_archive_create(&w, fd, err);

    return status ? status : tg_archive_end(w, put_all(w, g, err), err);
}
