#include "lib/models/hf_reading.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/size.h"

bool tg_hf_is_missing(tg_hf_reading *r, const char *name)
{
    return !tg_json_has(&r->j, r->in, name);
}

bool tg_hf_get_bool(tg_hf_reading *r, const char *name, bool otherwise)
{
    return tg_json_find(&r->j, r->in, name) ? tg_json_get_bool(&r->j) : otherwise;
}

double tg_hf_get_number(tg_hf_reading *r, size_t in, const char *name, double otherwise)
{
    return tg_json_find(&r->j, in, name) ? tg_json_get_number(&r->j) : otherwise;
}

size_t tg_hf_get_size(tg_hf_reading *r, size_t in, const char *name, size_t otherwise)
{
    return tg_json_find(&r->j, in, name) ? tg_json_get_size(&r->j) : otherwise;
}

void tg_hf_get_text(tg_hf_reading *r, size_t in, const char *name, char out[TG_SHOWN_MAX])
{
    const tg_span text = tg_json_find(&r->j, in, name) ? tg_json_get_text(&r->j) : (tg_span){"", 0};

    (void)tg_shown(out, (tg_span){text.p, tg_size_min(text.n, 60)});
}

tg_activation tg_hf_get_activation(tg_hf_reading *r, const char *name, tg_activation otherwise)
{
    static const struct {
        const char *name;
        tg_activation kind;
    } known[] = {{"gelu_new", TG_GELU_TANH}, {"gelu_pytorch_tanh", TG_GELU_TANH},
                 {"gelu", TG_GELU_ERF},      {"gelu_python", TG_GELU_ERF},
                 {"silu", TG_SILU},          {"swish", TG_SILU},
                 {"relu2", TG_RELU2}};
    char value[TG_SHOWN_MAX], shown[TG_SHOWN_MAX + 2];

    tg_hf_get_text(r, r->in, name, value);
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(value, known[i].name) == 0)
            return known[i].kind;
    if (value[0] == '\0')
        return otherwise;
    snprintf(shown, sizeof shown, "\"%s\"", value);
    tg_hf_refuse(r, name, shown);
    return otherwise;
}

void tg_hf_refuse_missing(tg_hf_reading *r, const char *name)
{
    if (!r->j.status)
        r->j.status = tg_fail(r->j.err, TG_EDATA, "\"%s\" is missing", name);
}

static void need(tg_hf_reading *r, size_t in, const char *name)
{
    if (!tg_json_find(&r->j, in, name))
        tg_hf_refuse_missing(r, name);
}

double tg_hf_need_number(tg_hf_reading *r, size_t in, const char *name)
{
    need(r, in, name);
    return tg_json_get_number(&r->j);
}

size_t tg_hf_need_size(tg_hf_reading *r, size_t in, const char *name)
{
    need(r, in, name);
    return tg_json_get_size(&r->j);
}

void tg_hf_refuse(tg_hf_reading *r, const char *name, const char *value)
{
    if (!r->j.status)
        r->j.status = tg_fail(r->j.err, TG_EDATA, "\"%s\": %s is not supported", name, value);
}

void tg_hf_refuse_quantised(tg_hf_reading *r)
{
    if (tg_json_find(&r->j, 0, "quantization_config"))
        tg_hf_refuse(r, "quantization_config", "a quantised checkpoint");
}
