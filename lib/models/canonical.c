#include "lib/models/canonical.h"

#include <math.h>

bool tg_same_float(double a, double b)
{
    return (float)a == (float)b;
}

/* Bits of layers that the model has. */
static uint64_t of_model(const tg_config *c, uint64_t layers)
{
    return c->n_layer < 64 ? layers & (((uint64_t)1 << c->n_layer) - 1) : layers;
}

tg_config tg_config_canonical(const tg_config *config)
{
    const double width = (double)tg_config_head_dim(config), root = sqrt((double)config->n_embd);
    tg_config c = *config;

    c.unrotated_layers = of_model(config, c.unrotated_layers);
    c.window_layers = c.window > 0 ? of_model(config, c.window_layers) : 0;
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
