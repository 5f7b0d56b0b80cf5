/* Models in PyTorch's files: a state dict, alone or in a checkpoint. */
#include <stdlib.h>
#include <string.h>

#include "formats/json.h"
#include "formats/path.h"
#include "formats/span.h"
#include "formats/torch_file.h"
#include "lib/models/reading.h"

/* An open file, and what it says about the model. */
struct reading {
    tg_model_file *f;
    const tg_model_ask *ask;
    tg_loaded *file;
    tg_torch t;
    const tg_pickle_value *state; /* the dict of tensors */
    const tg_pickle_value *args;  /* nanoGPT's model_args; NULL: there are none */
    const tg_names *names;
};

/* The sizes of nanoGPT's model_args, and of minGPT's config.json. */
static const struct size {
    const char *name;
    tg_config_id id;
} sizes[] = {{"n_layer", TG_CONFIG_N_LAYER},
             {"n_head", TG_CONFIG_N_HEAD},
             {"n_embd", TG_CONFIG_N_EMBD},
             {"block_size", TG_CONFIG_N_CTX},
             {"vocab_size", TG_CONFIG_VOCAB_SIZE}};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

/* ---- nanoGPT's model_args */

static tg_status take_size(tg_model_file *f, const struct size *size, const tg_pickle_value *v, tg_err *err)
{
    if (v->kind != TG_PICKLE_INT)
        return tg_fail(err, TG_EDATA, "model_args: %s is %s, expected an integer", size->name,
                       tg_pickle_kind_text(v->kind));
    if (v->of.integer < 1 || v->of.integer > TG_SIZE_LIMIT)
        return tg_fail(err, TG_EDATA, "model_args: %s is %lld, expected 1 to %d", size->name,
                       (long long)v->of.integer, TG_SIZE_LIMIT);
    tg_model_file_set_size(f, size->id, (size_t)v->of.integer);
    return TG_OK;
}

/* One entry.  What does not change the result of a trained model is passed over. */
static tg_status take_arg(struct reading *r, const tg_pickle_value *key, const tg_pickle_value *v,
                          tg_err *err)
{
    char shown[TG_SHOWN_MAX];

    for (size_t i = 0; i < SIZES; i++)
        if (tg_pickle_is_text(key, sizes[i].name))
            return take_size(r->f, &sizes[i], v, err);
    if (tg_pickle_is_text(key, "dropout") || tg_pickle_is_text(key, "bias"))
        return TG_OK; /* the tensors show whether there are biases */
    tg_shown(shown, key->kind == TG_PICKLE_TEXT ? tg_pickle_text(key) : (tg_span){"?", 1});
    if (r->ask->lossy)
        return tg_notes_add(&r->f->notes, err, "model_args: %s is ignored", shown);
    return tg_fail(err, TG_EDATA, "model_args: %s is not nanoGPT's", shown);
}

static tg_status take_args(struct reading *r, tg_err *err)
{
    const tg_pickle *const p = &r->t.pickle;
    tg_status status = TG_OK;

    if (r->args->kind != TG_PICKLE_DICT)
        return tg_fail(err, TG_EDATA, "model_args is %s, expected a dict",
                       tg_pickle_kind_text(r->args->kind));
    for (size_t i = 0; !status && i < r->args->n; i += 2)
        status = take_arg(r, tg_pickle_item(p, r->args, i), tg_pickle_item(p, r->args, i + 1), err);
    tg_model_file_set_norm(r->f, TG_GELU_ERF, 1e-5);
    r->names = &tg_names_nanogpt;
    return status;
}

/* ---- a config.json in the same directory: Hugging Face's, or minGPT's */

/* minGPT's sizes, in the object "model".  Its GELU is the one with tanh. */
static void take_mingpt(struct reading *r, tg_json *j)
{
    const size_t object = j->at;

    for (size_t i = 0; i < SIZES; i++)
        if (tg_json_find(j, object, sizes[i].name))
            tg_model_file_set_size(r->f, sizes[i].id, tg_json_get_size(j));
    tg_model_file_set_norm(r->f, TG_GELU_TANH, 1e-5);
    r->names = &tg_names_nanogpt;
}

static tg_status take_json(struct reading *r, const char *path, const tg_loaded *text, tg_err *err)
{
    tg_json j;
    bool hf;

    tg_json_open(&j, text->bytes, text->n, err);
    hf = tg_json_find(&j, 0, "model_type");
    if (!hf && tg_json_find(&j, 0, "model"))
        take_mingpt(r, &j);
    if (tg_json_close(&j))
        return tg_err_in(err, "config.json");
    if (!hf)
        return TG_OK;
    r->names = &tg_names_gpt2;
    return tg_hf_read_around(r->f, path, false, r->ask, err);
}

/* Without a config, the shapes show how the matrices are stored. */
static tg_status take_beside(struct reading *r, const char *path, tg_err *err)
{
    char *json;
    tg_loaded *text;
    bool exists;
    tg_status status;

    r->names = &tg_names_by_shape;
    if (!path) /* a stream */
        return TG_OK;
    if (!(json = tg_path_sibling(path, "config.json")))
        return tg_fail_memory(err, strlen(path), "a path");
    status = tg_path_examine_found(json, &exists, err);
    if (!status && exists && !(status = tg_model_file_add(r->f, json, NULL, &text, err)))
        status = take_json(r, path, text, err);
    free(json);
    return status;
}

/* ---- tensors */

/* After the parameters have been found: those whose data lie the other way. */
static tg_status turn(const struct reading *r, tg_err *err)
{
    for (size_t i = 0; i < r->f->table.n; i++) {
        tg_values *const v = &r->f->values[i];
        size_t turned = 0;

        for (size_t p = 0; p < v->n; p++)
            turned += v->piece[p]->transposed;
        if (turned > 0 && turned < v->n)
            return tg_fail(err, TG_EDATA, "%s: of its q, k and v, some are transposed",
                           r->f->table.entry[i].name);
        if (turned > 0 && v->order.head > 0)
            return tg_fail(err, TG_EDATA, "%s: its tensor is transposed, expected rows of heads",
                           r->f->table.entry[i].name);
        v->transposed = v->transposed != (turned > 0);
    }
    return TG_OK;
}

static tg_status read_model(struct reading *r, const char *path, tg_err *err)
{
    tg_status status = tg_torch_open_loaded(&r->t, r->file, err);

    if (status)
        return status;
    r->state = tg_torch_find_state(&r->t);
    r->args = tg_pickle_find(&r->t.pickle, r->t.pickle.root, "model_args");
    status = r->args ? take_args(r, err) : take_beside(r, path, err);
    if (status || (status = tg_torch_list(&r->file->list, &r->t, r->state, true, err)) ||
        (status = tg_model_file_match(r->f, r->names, r->ask, err)))
        return status;
    tg_hf_round_scale(r->f);
    return turn(r, err);
}

static tg_status open_model(tg_model_file *f, const char *path, const tg_model_ask *ask, tg_err *err)
{
    struct reading r = {.f = f, .ask = ask, .file = f->file[0]};
    const tg_status status = read_model(&r, path, err);

    tg_torch_close(&r.t);
    return status;
}

/* Old files too, so that the message says what they are. */
const tg_model_format tg_torch_format = {
    .text = "a PyTorch checkpoint", .recognize = tg_torch_recognize, .open = open_model};
