/* plain_logits MODEL ID...: the logits [T,V] of the plain model (lib/gpt/plain_llama.h), as doubles: for
 * tests/judges. */
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/convert.h"
#include "lib/gpt/plain_llama.h"
#include "lib/models/model_open.h"

/* A tensor in double precision; each stays until the program ends. */
static const double *get(void *context, tg_param_kind kind, size_t layer)
{
    static double *kept[1024];
    const tg_model *m = context;
    const size_t i = tg_params_index(&m->table, kind, layer);

    if (i == m->table.n || i >= sizeof kept / sizeof kept[0])
        return NULL;
    if (!kept[i] && (kept[i] = calloc(m->table.entry[i].count, sizeof **kept)))
        tg_double_from_float(kept[i], tg_model_values(m, i), m->table.entry[i].count);
    return kept[i];
}

static tg_status print_logits(tg_model *m, const int32_t *ids, size_t T, tg_err *err)
{
    const size_t count = T * m->config.vocab_size;
    double *logits = calloc(count, sizeof *logits);
    tg_plain_llama p;
    tg_status status;

    if (!logits)
        return tg_fail_memory(err, count * sizeof *logits, "the logits");
    if (!(status = tg_plain_llama_open(&p, &m->config, (tg_plain_weights){get, m}, T, err))) {
        tg_plain_llama_embed(&p, ids);
        for (size_t l = 0; l < m->config.n_layer; l++) {
            tg_plain_llama_attend(&p, l);
            tg_plain_llama_project(&p, l);
            tg_plain_llama_mlp(&p, l);
        }
        tg_plain_llama_logits(&p, logits);
        fwrite(logits, sizeof *logits, count, stdout);
        tg_plain_llama_close(&p);
    }
    free(logits);
    return status;
}

int main(int argc, char **argv)
{
    static int32_t ids[4096];
    tg_model m;
    tg_err err;
    tg_status status;

    if (argc < 3 || argc > 4096) {
        fprintf(stderr, "usage: plain_logits MODEL ID...\n");
        return 2;
    }
    for (int i = 2; i < argc; i++)
        ids[i - 2] = (int32_t)strtol(argv[i], NULL, 10);
    if (!(status = tg_model_open(&m, argv[1], &err))) {
        status = tg_plain_llama_knows(&m.config)
                     ? print_logits(&m, ids, (size_t)argc - 2, &err)
                     : tg_fail(&err, TG_EDATA, "the page does not read its family's parameters");
        tg_model_free(&m);
    }
    if (status)
        fprintf(stderr, "plain_logits: %s\n", err.message);
    return (int)status;
}
