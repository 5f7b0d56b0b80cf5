/* Reading an adapter of PEFT's. */
#include "lib/models/peft.h"

#include <stdlib.h>
#include <string.h>

#include "formats/json.h"
#include "formats/path.h"
#include "formats/safetensors.h"
#include "lib/base/finite.h"
#include "lib/gpt/family.h"
#include "lib/models/model_format.h"

#define PREFIX "base_model.model."
#define SUFFIX_A ".lora_A.weight"

/* ---- the config */

/* Fail unless the member is missing, null, false, 0 or empty. */
static void refuse_unless_empty(tg_json *j, const char *name)
{
    bool empty = true;

    if (!tg_json_find(j, 0, name))
        return;
    switch (tg_json_peek(j)) {
    case TG_JSON_BOOL:
        empty = !tg_json_get_bool(j);
        break;
    case TG_JSON_OBJECT:
        tg_json_enter(j, TG_JSON_OBJECT);
        empty = !tg_json_key(j, NULL);
        break;
    case TG_JSON_ARRAY:
        tg_json_enter(j, TG_JSON_ARRAY);
        empty = !tg_json_element(j);
        break;
    default:
        empty = false;
    }
    if (!empty && !j->status)
        j->status = tg_fail(j->err, TG_EDATA, "\"%s\": not supported", name);
}

/* A member that is a text must be this one. */
static void expect_text(tg_json *j, const char *name, const char *text)
{
    tg_span found;
    char shown[TG_SHOWN_MAX];

    if (!tg_json_find(j, 0, name))
        return;
    found = tg_json_get_text(j);
    if (!j->status && !tg_span_is(found, text))
        j->status =
            tg_fail(j->err, TG_EDATA, "\"%s\": \"%s\", expected \"%s\"", name, tg_shown(shown, found), text);
}

/* Ways of initialising that change the model as well, when PEFT loads it. */
static void refuse_changed_base(tg_json *j)
{
    static const char *const ways[] = {"pissa", "olora", "corda"};
    tg_span way;

    if (!tg_json_find(j, 0, "init_lora_weights") || tg_json_peek(j) != TG_JSON_STRING)
        return;
    way = tg_json_get_text(j);
    for (size_t i = 0; i < sizeof ways / sizeof ways[0] && !j->status; i++)
        if (way.n >= strlen(ways[i]) && memcmp(way.p, ways[i], strlen(ways[i])) == 0)
            (void)tg_json_fail(j, "\"init_lora_weights\": \"%s\" also changes the model: not supported",
                               ways[i]);
}

/* Rank, alpha and how they make a scale; no targets. */
static void read_config(tg_json *j, tg_adapter_shape *shape)
{
    static const char *const others[] = {"use_dora",
                                         "use_qalora",
                                         "modules_to_save",
                                         "rank_pattern",
                                         "alpha_pattern",
                                         "lora_bias",
                                         "layer_replication",
                                         "alora_invocation_tokens",
                                         "trainable_token_indices"};

    expect_text(j, "peft_type", "LORA");
    expect_text(j, "bias", "none");
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        refuse_unless_empty(j, others[i]);
    refuse_changed_base(j);
    shape->rank = tg_json_find(j, 0, "r") ? tg_json_get_size(j) : 8;
    if (!j->status && (shape->rank < 1 || shape->rank > TG_ADAPTER_RANK_MAX))
        (void)tg_json_fail(j, "a rank of %zu, expected 1 to %d", shape->rank, TG_ADAPTER_RANK_MAX);
    shape->alpha = tg_json_find(j, 0, "lora_alpha") ? tg_json_get_number(j) : 8;
    if (!j->status && !(shape->alpha >= 0 && shape->alpha <= TG_ADAPTER_ALPHA_MAX))
        (void)tg_json_fail(j, "an alpha of %g, expected 0 to %g", shape->alpha, TG_ADAPTER_ALPHA_MAX);
    shape->rank_stabilized = tg_json_find(j, 0, "use_rslora") && tg_json_get_bool(j);
}

tg_status tg_peft_read_config(tg_adapter_shape *shape, const tg_loaded *file, tg_err *err)
{
    tg_json j;

    tg_json_open(&j, file->bytes, file->n, err);
    read_config(&j, shape);
    return tg_json_close(&j) ? tg_err_in(err, file->path) : TG_OK;
}

/* ---- tensors */

/* Whether a module's name [n] is, or ends with, that of the parameter without ".weight". */
static bool is_module(const char *module, size_t n, const tg_param *p)
{
    const size_t own = strlen(p->name) - strlen(".weight");

    return n >= own && memcmp(module + n - own, p->name, own) == 0 &&
           (n == own || module[n - own - 1] == '.');
}

/* The matrix of a block to which a tensor belongs; is_b: as B, else as A. */
struct owner {
    tg_param_kind kind;
    size_t layer;
    bool is_b;
};

static tg_status find_owner(struct owner *owner, const tg_params *model, const char *name, tg_err *err)
{
    const size_t suffix = strlen(SUFFIX_A), length = strlen(name);
    const bool fits = length >= strlen(PREFIX) + suffix && strncmp(name, PREFIX, strlen(PREFIX)) == 0;
    const bool is_b = fits && strcmp(name + length - suffix, ".lora_B.weight") == 0;
    const bool is_a = fits && strcmp(name + length - suffix, SUFFIX_A) == 0;

    for (size_t i = 0; (is_a || is_b) && i < model->n; i++) {
        const tg_param *p = &model->entry[i];

        if (!p->hidden || !is_module(name, length - suffix, p))
            continue;
        *owner = (struct owner){p->kind, p->layer, is_b};
        return TG_OK;
    }
    return tg_fail(err, TG_EDATA, "%s belongs to no matrix of this model's blocks", name);
}

/* Find the targets. */
static tg_status find_targets(tg_adapter_shape *shape, const tg_params *model, const tg_tensor_list *list,
                              tg_err *err)
{
    for (size_t i = 0; i < list->n; i++) {
        struct owner owner;

        if (find_owner(&owner, model, list->tensor[i].array.name, err))
            return TG_EDATA;
        shape->targets |= (uint64_t)1 << owner.kind;
    }
    return list->n > 0 ? TG_OK : tg_fail(err, TG_EDATA, "there are no tensors");
}

/* Read the values of entry p of the adapter's table. */
static tg_status take_tensor(const tg_adapter *a, const tg_param *p, const tg_stored *s, tg_err *err)
{
    float *where = a->params + p->offset;

    if (s->array.ndim != 2 || s->array.shape[0] != p->shape[0] || s->array.shape[1] != p->shape[1])
        return tg_fail(err, TG_EDATA, "%s has %zu elements, expected [%zu,%zu]", s->array.name,
                       s->array.count, p->shape[0], p->shape[1]);
    if (tg_stored_load(where, s, 0, p->count, err))
        return tg_err_in(err, s->array.name);
    return tg_check_finite(s->array.name, where, p->count, err);
}

static tg_status take_tensors(const tg_adapter *a, const tg_params *model, const tg_tensor_list *list,
                              tg_err *err)
{
    bool *filled = calloc(a->table.n, sizeof *filled);
    tg_status status = filled ? TG_OK : tg_fail_memory(err, a->table.n, "the list of tensors");

    for (size_t i = 0; i < list->n && !status; i++) {
        struct owner owner;
        const tg_param *p;

        if ((status = find_owner(&owner, model, list->tensor[i].array.name, err)))
            break;
        p = tg_adapter_of(a, owner.kind, owner.layer) + owner.is_b; /* a target */
        filled[p - a->table.entry] = true;
        status = take_tensor(a, p, &list->tensor[i], err);
    }
    for (size_t i = 0; i < a->table.n && !status; i++)
        if (!filled[i])
            status = tg_fail(err, TG_EDATA, "%s is missing", a->table.entry[i].name);
    free(filled);
    return status;
}

static tg_status read_tensors(tg_adapter *a, tg_adapter_shape *shape, tg_loaded *file, const tg_params *model,
                              tg_err *err)
{
    tg_metadata metadata;
    const bool listed = !tg_safetensors_read(&file->list, &metadata, file->bytes, file->n, err);

    tg_metadata_free(&metadata);
    if (!listed || find_targets(shape, model, &file->list, err) || tg_adapter_create(a, model, shape, err))
        return tg_err_in(err, file->path);
    if (!take_tensors(a, model, &file->list, err))
        return TG_OK;
    tg_adapter_free(a);
    return tg_err_in(err, file->path);
}

tg_status tg_peft_read(tg_adapter *a, const char *directory, const tg_model_file *base, tg_err *err)
{
    const char *family = tg_config_family(&base->config)->name;
    tg_adapter_shape shape = {0};
    tg_model_file files = {0};
    tg_loaded *config, *tensors;
    tg_status status;

    *a = (tg_adapter){0};
    if (base->config.family > 0 && tg_names_hf(family))
        return tg_fail(err, TG_EDATA, "%s: PEFT has other matrices in %s than this library", directory,
                       family);
    if (!(status =
              tg_model_file_add_found(&files, &config, directory, TG_PEFT_CONFIG, true, SIZE_MAX, err)) &&
        !(status = tg_peft_read_config(&shape, config, err)) &&
        !(status =
              tg_model_file_add_found(&files, &tensors, directory, TG_PEFT_TENSORS, true, SIZE_MAX, err)))
        status = read_tensors(a, &shape, tensors, &base->table, err);
    tg_model_file_close(&files);
    return status;
}
