/* An adapter in a directory of PEFT's: what its config says, and its tensors. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "formats/json.h"
#include "formats/path.h"
#include "formats/safetensors.h"
#include "lib/base/decimal.h"
#include "lib/info/parts.h"
#include "lib/models/model_format.h"
#include "lib/models/peft.h"

#define TEXT_MAX 512 /* bytes of a text that is shown */

/* ---- the config */

static tg_status add_number(tg_info *info, const char *name, double x, tg_err *err)
{
    char text[TG_DECIMAL_SIZE];

    tg_decimal_general(text, 9, x);
    return tg_info_add_value(info, name, TG_INFO_NUMBER, text, err);
}

/* A text of the config, as the value of that name; not if the config has none. */
static tg_status add_text(tg_info *info, const char *name, tg_json *j, const char *member, tg_err *err)
{
    char text[TEXT_MAX];
    tg_span span;

    if (!tg_json_find_kind(j, 0, member, TG_JSON_STRING))
        return TG_OK;
    span = tg_json_get_text(j);
    if (j->status)
        return TG_OK; /* tg_json_close() returns it */
    snprintf(text, sizeof text, "%.*s", (int)(span.n < sizeof text ? span.n : sizeof text - 1),
             (const char *)span.p);
    return tg_info_add_value(info, name, TG_INFO_TEXT, text, err);
}

/* The shape of one that is computed, or why it is not, as a note. */
static tg_status take_shape(tg_info *info, const tg_loaded *file, tg_err *err)
{
    tg_adapter_shape shape = {0};
    tg_err why = {0};
    tg_status status = tg_peft_read_config(&shape, file, &why);

    if (status == TG_EDATA)
        return tg_notes_add(&info->notes, err, "no adapter that tg computes: %s", why.message);
    if (status) {
        *err = why;
        return status;
    }
    if ((status = add_number(info, "adapter/rank", (double)shape.rank, err)) ||
        (status = add_number(info, "adapter/alpha", shape.alpha, err)))
        return status;
    return add_number(info, "adapter/rank_stabilized", shape.rank_stabilized, err);
}

static tg_status take_config(tg_info *info, const tg_loaded *file, tg_err *err)
{
    tg_json j;
    tg_status status;

    tg_json_open(&j, file->bytes, file->n, err);
    if (!(status = add_text(info, "adapter/type", &j, "peft_type", err)))
        status = add_text(info, "adapter/base", &j, "base_model_name_or_path", err);
    if (tg_json_close(&j))
        status = tg_err_in(err, file->path);
    return status ? status : take_shape(info, file, err);
}

/* ---- tensors */

/* What is changed, within a block: of base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight,
 * self_attn.q_proj.  The number of its bytes; 0: it is no such tensor. */
static size_t target_of(const char **target, const char *name)
{
    const char *end = strstr(name, ".lora_A."), *at = name;

    if (!end)
        return 0;
    for (const char *c = name; c < end; c++)
        if (c[0] == '.' && c[1] >= '0' && c[1] <= '9')
            at = c + 1 + strcspn(c + 1, ".") + 1;
    *target = at < end ? at : name;
    return (size_t)(end - *target);
}

static bool is_listed(const char *list, const char *word, size_t n)
{
    for (; *list; list += strcspn(list, ",") + (list[strcspn(list, ",")] != '\0'))
        if (strcspn(list, ",") == n && memcmp(list, word, n) == 0)
            return true;
    return false;
}

static tg_status take_targets(tg_info *info, const tg_tensor_list *list, tg_err *err)
{
    char targets[TEXT_MAX] = "";
    size_t used = 0;

    for (size_t i = 0; i < list->n; i++) {
        const char *target;
        const size_t n = target_of(&target, list->tensor[i].array.name);

        info->parameters += list->tensor[i].array.count;
        if (n > 0 && used + n + 2 < sizeof targets && !is_listed(targets, target, n))
            used += (size_t)snprintf(targets + used, sizeof targets - used, "%s%.*s", used > 0 ? "," : "",
                                     (int)n, target);
    }
    return used > 0 ? tg_info_add_value(info, "adapter/targets", TG_INFO_TEXT, targets, err) : TG_OK;
}

static tg_status take_tensors(tg_info *info, tg_loaded *file, const tg_info_want *want, tg_err *err)
{
    tg_metadata metadata = {0};
    const bool listed = !tg_safetensors_read(&file->list, &metadata, file->bytes, file->n, err);

    tg_metadata_free(&metadata);
    if (!listed || take_targets(info, &file->list, err) || tg_info_add_list(info, &file->list, want, err))
        return tg_err_in(err, file->path);
    return TG_OK;
}

/* ---- both */

/* Load a file of the directory, which is one of info's. */
static tg_status load(tg_loaded **file, tg_model_file *files, tg_info *info, const char *name, size_t max,
                      tg_err *err)
{
    tg_status status = tg_model_file_add_found(files, file, info->path, name, true, max, err);

    return status ? status : tg_info_add_file(info, (*file)->path, (*file)->n, err);
}

bool tg_info_is_peft(const char *directory)
{
    char *path = tg_path_in(directory, TG_PEFT_CONFIG);
    struct stat st;
    bool exists = false;
    const tg_status status = path ? tg_path_examine(path, &st, &exists, NULL) : TG_ENOMEM;

    free(path);
    return !status && exists;
}

tg_status tg_info_read_peft(tg_info *info, const tg_info_want *want, tg_err *err)
{
    tg_model_file files = {0};
    tg_loaded *file;
    tg_status status;

    strcpy(info->kind, "adapter");
    info->format = "a directory of PEFT";
    if (!(status = load(&file, &files, info, TG_PEFT_CONFIG, (size_t)1 << 20, err)) &&
        !(status = take_config(info, file, err)) &&
        !(status = load(&file, &files, info, TG_PEFT_TENSORS, SIZE_MAX, err)))
        status = take_tensors(info, file, want, err);
    tg_model_file_close(&files);
    return status;
}
