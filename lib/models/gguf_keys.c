#include "lib/models/gguf_keys.h"

#include <stdio.h>
#include <stdlib.h>

const char *tg_gguf_key(char key[TG_GGUF_KEY_MAX], const char *architecture, const char *name)
{
    snprintf(key, TG_GGUF_KEY_MAX, "%s.%s", architecture, name);
    return key;
}

const char *tg_gguf_keys_whole(tg_gguf_keys *k, const char *name)
{
    return tg_gguf_key(k->key, k->architecture, name);
}

bool tg_gguf_keys_have(tg_gguf_keys *k, const char *name)
{
    return tg_gguf_find(k->g, tg_gguf_keys_whole(k, name)) != NULL;
}

size_t tg_gguf_keys_size(tg_gguf_keys *k, const char *name)
{
    return tg_gguf_get_size(k->g, tg_gguf_keys_whole(k, name));
}

size_t tg_gguf_keys_size_or(tg_gguf_keys *k, const char *name, size_t otherwise)
{
    return tg_gguf_keys_have(k, name) ? tg_gguf_keys_size(k, name) : otherwise;
}

double tg_gguf_shortest(double x)
{
    char text[32];
    double y = x;

    for (int digits = 1; digits <= 9; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, x);
        y = strtod(text, NULL);
        if ((float)y == (float)x)
            break;
    }
    return y;
}

double tg_gguf_keys_real_or(tg_gguf_keys *k, const char *name, double otherwise)
{
    return tg_gguf_keys_have(k, name) ? tg_gguf_shortest(tg_gguf_get_real(k->g, k->key)) : otherwise;
}

double tg_gguf_keys_number(tg_gguf_keys *k, const char *name, double otherwise)
{
    const tg_gguf_value *v = tg_gguf_find(k->g, tg_gguf_keys_whole(k, name));

    if (!v)
        return otherwise;
    if (v->array || v->type == TG_GGUF_TEXT) {
        tg_gguf_keys_refuse(k, name, "expected a number");
        return otherwise;
    }
    if (v->type == TG_GGUF_F32 || v->type == TG_GGUF_F64)
        return tg_gguf_real(v, 0);
    return (double)tg_gguf_integer(v, 0);
}

void tg_gguf_keys_check(tg_gguf_keys *k, const char *name, size_t want, const char *why)
{
    const size_t got = tg_gguf_keys_size_or(k, name, want);

    if (!k->g->status && got != want)
        k->g->status = tg_fail(k->g->err, TG_EDATA, "%s is %zu, expected %zu, %s",
                               tg_gguf_keys_whole(k, name), got, want, why);
}

void tg_gguf_keys_refuse(tg_gguf_keys *k, const char *name, const char *what)
{
    if (!k->g->status)
        k->g->status = tg_fail(k->g->err, TG_EDATA, "%s: %s", tg_gguf_keys_whole(k, name), what);
}
