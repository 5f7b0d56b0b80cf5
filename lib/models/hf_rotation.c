/* The base, the scaling, and how much of a head is rotated. */
#include "lib/models/hf_rotation.h"

#include <stdio.h>
#include <string.h>

#define THETA 10000

/* The kind of scaling in the object at `in`; "" for none. */
static void get_type(tg_hf_reading *r, size_t in, char type[TG_SHOWN_MAX])
{
    tg_hf_get_text(r, in, "rope_type", type);
    if (type[0] == '\0')
        tg_hf_get_text(r, in, "type", type);
    if (strcmp(type, "default") == 0)
        type[0] = '\0';
}

static void refuse_type(tg_hf_reading *r, const char *name, const char *type)
{
    char shown[TG_SHOWN_MAX + 10];

    snprintf(shown, sizeof shown, "scaling \"%s\"", type);
    tg_hf_refuse(r, name, shown);
}

/* The scaling in the object at `in`. */
static void read_scaling(tg_hf_reading *r, size_t in, const char *name)
{
    tg_config *c = &r->f->config;
    char type[TG_SHOWN_MAX];

    get_type(r, in, type);
    if (type[0] == '\0')
        return;
    if (strcmp(type, "linear") == 0) {
        c->rope_scaling = TG_ROPE_LINEAR;
    } else if (strcmp(type, "llama3") == 0) {
        c->rope_scaling = TG_ROPE_LLAMA3;
        c->rope_low_freq = tg_hf_need_number(r, in, "low_freq_factor");
        c->rope_high_freq = tg_hf_need_number(r, in, "high_freq_factor");
        c->rope_ctx = tg_hf_need_size(r, in, "original_max_position_embeddings");
    } else {
        refuse_type(r, name, type);
    }
    c->rope_factor = tg_hf_need_number(r, in, "factor");
}

/* The base of layers, if the object at `at` has one. */
static void read_base(tg_hf_reading *r, size_t at, tg_config_id id, double *theta)
{
    static const char name[] = "rope_theta";

    if (!tg_json_find(&r->j, at, name))
        return;
    *theta = tg_json_get_number(&r->j);
    r->member[id] = name;
}

/* The base and the scaling in the object at `at`, and how much of a head is rotated. */
static void read_object(tg_hf_reading *r, size_t at, const char *name, double *part)
{
    tg_config *c = &r->f->config;

    read_base(r, at, TG_CONFIG_ROPE_THETA, &c->rope_theta);
    *part = tg_hf_get_number(r, at, "partial_rotary_factor", *part);
    if (tg_json_find(&r->j, at, "full_attention"))
        tg_hf_refuse(r, name, "a rotation for each type of layers");
    read_scaling(r, at, name);
}

/* Gemma 3: two such objects, the second one for layers with a window, which have no scaling. */
static void read_objects(tg_hf_reading *r, size_t in, double *part)
{
    static const char full[] = "full_attention", local[] = "sliding_attention";
    tg_config *c = &r->f->config;
    char type[TG_SHOWN_MAX];
    size_t at;

    if (tg_json_find(&r->j, in, full))
        read_object(r, r->j.at, full, part);
    if (!tg_json_find(&r->j, in, local))
        return;
    at = r->j.at;
    read_base(r, at, TG_CONFIG_ROPE_LOCAL_THETA, &c->rope_local_theta);
    get_type(r, at, type);
    if (type[0] != '\0')
        refuse_type(r, local, type);
}

/* In files of transformers 5 one object has all; before, the base was a member of the config.  What the
 * object says counts. */
void tg_hf_read_rotation(tg_hf_reading *r, const char *base, double theta, double local_theta, double *part)
{
    static const char *const objects[] = {"rope_scaling", "rope_parameters"};
    static const char local[] = "rope_local_base_freq";
    tg_config *c = &r->f->config;

    c->rope_theta = tg_hf_get_number(r, r->in, base, theta > 0 ? theta : THETA);
    r->member[TG_CONFIG_ROPE_THETA] = base;
    if (local_theta > 0) {
        c->rope_local_theta = tg_hf_get_number(r, r->in, local, local_theta);
        r->member[TG_CONFIG_ROPE_LOCAL_THETA] = local;
    }
    for (size_t i = 0; i < 2; i++) {
        if (!tg_json_find(&r->j, r->in, objects[i]))
            continue;
        if (local_theta > 0 && i == 1)
            read_objects(r, r->j.at, part);
        else
            read_object(r, r->j.at, objects[i], part);
    }
}
