/* What all headers begin with. */
#include "cmd/tg-circuit/job.h"
#include "lib/gpt/family.h"

void circuit_print_model(const tg_config *c)
{
    printf("# %s: %zu layer%s of %zu head%s, %zu of keys, C = %zu, D = %zu\n", tg_config_family(c)->name,
           c->n_layer, cli_plural(c->n_layer), c->n_head, cli_plural(c->n_head), tg_config_kv_heads(c),
           c->n_embd, tg_config_head_dim(c));
}
