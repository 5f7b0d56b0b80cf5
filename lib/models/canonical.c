#include "lib/models/canonical.h"

#include <math.h>

bool tg_same_float(double a, double b)
{
    return (float)a == (float)b;
}

tg_config tg_config_canonical(const tg_config *config)
{
    const double width = (double)tg_config_head_dim(config), root = sqrt((double)config->n_embd);
    tg_config c = *config;

    c.unrotated_layers &= tg_layer_mask(c.n_layer);
    c.window_layers &= c.window > 0 ? tg_layer_mask(c.n_layer) : 0;
    if (c.window_layers == 0) {
        c.window = 0;
        c.rope_local_theta = 0;
    }
    if (c.rope_dim == tg_config_head_dim(config))
        c.rope_dim = 0;
    if (tg_same_float(c.attn_scale, 1 / sqrt(width)))
        c.attn_scale = 0;
    if (tg_same_float(c.embed_scale, root))
        c.embed_scale = root;
    return c;
}
