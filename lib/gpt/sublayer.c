#include "lib/gpt/sublayer.h"

#include <math.h>

#include "lib/gpt/family.h"
#include "lib/nn/linear64.h"

size_t tg_sublayer_row(const tg_acts *a, tg_sublayer_kind kind)
{
    return kind == TG_SUBLAYER_ATTENTION ? a->family->att : a->family->units;
}

tg_sublayer tg_sublayer_of(const tg_acts *a, tg_sublayer_kind kind, size_t layer)
{
    const tg_binding bound = {.model = a->bound.model};
    const bool attention = kind == TG_SUBLAYER_ATTENTION;

    const tg_rmsnorm norm = tg_bind_rmsnorm(&bound, attention ? TG_OUT_NORM_W : TG_DOWN_NORM_W, layer);

    return (tg_sublayer){
        .in = tg_sublayer_row(a, kind),
        .map = tg_bind_linear(&bound, attention ? TG_ATT_PROJ_W : TG_FC_PROJ_W, layer),
        .norm = norm.w ? norm : (tg_rmsnorm){0},
    };
}

double tg_sublayer_scale(const tg_sublayer *s, double *out, const double *in)
{
    double squares = 0;

    if (s->norm.C == 0)
        return 1;
    tg_linear64_forward(out, NULL, in, &s->map, 1);
    for (size_t c = 0; c < s->norm.C; c++)
        squares += out[c] * out[c];
    return 1 / sqrt(squares / (double)s->norm.C + (double)(float)s->norm.epsilon);
}
