/* Writing an adapter as PEFT's. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/json.h"
#include "formats/path.h"
#include "formats/safetensors.h"
#include "formats/sink.h"
#include "lib/gpt/family.h"
#include "lib/models/model_format.h"
#include "lib/models/peft.h"

#define PREFIX "base_model.model."

/* The directory that the model was read from, as the user named it, in which PEFT looks for it; p NULL: it
 * was a file. */
static tg_span directory_of(const tg_model_file *f)
{
    const char *path = f->n_files > 1 ? f->file[0]->path : "", *name = tg_path_name(path);

    return name > path && strcmp(name, "config.json") == 0 ? (tg_span){path, (size_t)(name - path) - 1}
                                                           : (tg_span){0};
}

static tg_status check(const tg_model_file *f, const tg_write_options *o, tg_notes *notes, tg_err *err)
{
    const char *family = tg_config_family(&f->config)->name;

    if (f->n_adapters != 1)
        return tg_fail(err, TG_EUSAGE, "PEFT's directory has one adapter: name it with --adapter");
    if (f->adapter[0]->weight != 1)
        return tg_fail(err, TG_EUSAGE, "PEFT's files have no weight of an adapter: name it without *X");
    if (o->type != TG_WRITE_F32)
        return tg_fail(err, TG_EUSAGE, "an adapter is written in float32 alone");
    if (f->config.family == 0 || !tg_names_hf(family)) {
        if (o->base || directory_of(f).p)
            return TG_OK;
        return tg_notes_add(notes, err,
                            "adapter_config.json does not name the model, which was read from a file: --base "
                            "NAME gives its directory, or its name on Hugging Face");
    }
    return tg_fail(err, TG_EUSAGE,
                   "PEFT has other matrices in %s, several of this model's in one: write the changed model "
                   "instead, with another --to",
                   family);
}

static void put_base(tg_sink *sink, const tg_model_file *f, const tg_write_options *o)
{
    const tg_span base = o->base ? (tg_span){o->base, strlen(o->base)} : directory_of(f);

    tg_sink_print(sink, "  \"base_model_name_or_path\": %s", base.p ? "\"" : "null");
    if (base.p)
        tg_json_put(sink, base.p, base.n);
    tg_sink_print(sink, "%s,\n", base.p ? "\"" : "");
}

static tg_status write_config(int fd, const tg_model_file *f, const tg_write_options *o, tg_err *err)
{
    const tg_adapter *a = f->adapter[0];
    char targets[TG_ADAPTER_TARGETS_SIZE];
    tg_sink *sink = malloc(sizeof *sink);
    const char *gap = "";
    tg_status status;

    if (!sink)
        return tg_fail_memory(err, sizeof *sink, "a buffer");
    *sink = (tg_sink){.fd = fd};
    tg_sink_print(sink, "{\n  \"peft_type\": \"LORA\",\n  \"task_type\": \"CAUSAL_LM\",\n");
    put_base(sink, f, o);
    tg_sink_print(sink, "  \"r\": %zu,\n  \"lora_alpha\": %.17g,\n  \"use_rslora\": %s,\n", a->shape.rank,
                  a->shape.alpha, a->shape.rank_stabilized ? "true" : "false");
    tg_sink_print(sink, "  \"lora_dropout\": 0.0,\n  \"bias\": \"none\",\n  \"fan_in_fan_out\": %s,\n",
                  f->config.family == 0 ? "true" : "false");
    tg_sink_puts(sink, "  \"inference_mode\": true,\n  \"target_modules\": [");
    (void)tg_adapter_target_names(targets, &f->table, a->shape.targets);
    for (const char *word = strtok(targets, ","); word; word = strtok(NULL, ",")) {
        tg_sink_print(sink, "%s\"%s\"", gap, word);
        gap = ", ";
    }
    tg_sink_puts(sink, "]\n}\n");
    status = tg_sink_flush(sink, err);
    free(sink);
    return status;
}

static tg_status write_tensors(int fd, const tg_model_file *f, const tg_write_options *o, tg_err *err)
{
    const tg_adapter *a = f->adapter[0];
    const char *const prefix = f->config.family == 0 ? PREFIX "transformer." : PREFIX;
    tg_array *arrays = calloc(a->table.n, sizeof *arrays);
    tg_safetensors_writer w;
    tg_status status;

    (void)o;
    if (!arrays)
        return tg_fail_memory(err, a->table.n * sizeof *arrays, "the list of tensors");
    for (size_t i = 0; i < a->table.n; i++) {
        const tg_param *p = &a->table.entry[i];

        arrays[i] = (tg_array){.dtype = TG_F32, .ndim = 2, .shape = {p->shape[0], p->shape[1]}};
        snprintf(arrays[i].name, sizeof arrays[i].name, "%s%s", prefix, p->name);
    }
    if (!(status = tg_safetensors_begin(&w, fd, arrays, a->table.n, err))) {
        for (size_t i = 0; i < a->table.n && !status; i++)
            status = tg_safetensors_put(&w, a->params + a->table.entry[i].offset,
                                        a->table.entry[i].count * sizeof(float), err);
        tg_safetensors_end(&w);
    }
    free(arrays);
    return status;
}

static const tg_model_part parts[] = {{.name = TG_PEFT_TENSORS, .write = write_tensors},
                                      {.name = TG_PEFT_CONFIG, .write = write_config}};

const tg_model_writer tg_writer_peft = {
    .name = "peft", .check = check, .part = parts, .n_parts = sizeof parts / sizeof parts[0]};
