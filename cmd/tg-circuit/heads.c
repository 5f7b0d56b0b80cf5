/* A line per head. */
#include <math.h>
#include <string.h>

#include "cmd/tg-circuit/job.h"
#include "lib/circuit/heads.h"

/* What a line has, in this order. */
enum { LAYER, HEAD, OV_NORM, QK_NORM, COPYING, POSITIVE, DUPLICATE, PREVIOUS, DIAGONAL, COLUMNS };

struct heads {
    const tg_model *model;
    tg_factors f;
    tg_vocab_grams vocab;
    tg_heads_scratch scratch;
    tg_head_numbers *numbers; /* [H] of a layer; [L,H] for an archive */
    tg_circuit_kept kept;     /* of an archive */
    bool all;                 /* layers at once */
};

static void place_heads(tg_arena *arena, void *context)
{
    struct heads *s = context;
    const tg_config *c = &s->model->config;

    tg_factors_place(arena, &s->f, c);
    tg_vocab_grams_place(arena, &s->vocab, c);
    tg_heads_scratch_place(arena, &s->scratch, s->model);
    s->numbers = tg_arena_take_rows(arena, s->all ? c->n_layer : 1, c->n_head, sizeof *s->numbers);
}

static table table_of(const struct heads *s, table_format format)
{
    static const table_column columns[COLUMNS] = {
        [LAYER] = {"layer", "layer", TABLE_SIZE, 7, 0, 0},
        [HEAD] = {"head", "head", TABLE_SIZE, 4, 0, 0},
        [OV_NORM] = {"ov_norm", "ov_norm", TABLE_DOUBLE, 9, 0, 4},
        [QK_NORM] = {"qk_norm", "qk_norm", TABLE_DOUBLE, 9, 0, 4},
        [COPYING] = {"copying", "copying", TABLE_DOUBLE, 7, 0, 3},
        [POSITIVE] = {"positive", "posit", TABLE_DOUBLE, 5, 0, 3},
        [DUPLICATE] = {"duplicate", "duplic", TABLE_DOUBLE, 6, 0, 3},
        [PREVIOUS] = {"previous", "prev", TABLE_DOUBLE, 5, 0, 3},
        [DIAGONAL] = {"diagonal", "diag", TABLE_DOUBLE, 5, 0, 3},
    };
    table t = {.format = format, .n = COLUMNS};

    memcpy(t.column, columns, sizeof columns);
    if (format == TABLE_TEXT && s->scratch.T == 0)
        t.hidden = 1u << PREVIOUS | 1u << DIAGONAL;
    return t;
}

static void print_explanation(const struct heads *s)
{
    circuit_print_model(&s->model->config);
    printf(
        "# OV = W_V W_O, QK = W_Q W_K^T with the norms' gains%s; without biases, rotation, scales of norms\n",
        tg_factors_centred(&s->model->config) ? " and subtraction of means" : "");
    printf("# ov_norm, qk_norm  of the products, Frobenius\n"
           "# copying  sum Re l / sum |l|, l the eigenvalues of W_E OV W_U    posit  share of those with Re "
           "l > 0\n"
           "# duplic   the same as copying, of W_E QK W_E^T\n");
    if (s->scratch.T > 0)
        printf(
            "# prev, diag  means over the queries i > 0 of p at j = i - 1, j = i, of the positions alone\n");
}

static table_cell number(double x)
{
    return (table_cell){.kind = isfinite(x) ? CELL_VALUE : CELL_MISSING, .real = x};
}

static void print_head(const table *t, size_t layer, size_t head, const tg_head_numbers *n)
{
    const table_cell cells[COLUMNS] = {
        [LAYER] = {.size = layer},          [HEAD] = {.size = head},
        [OV_NORM] = number(n->ov_norm),     [QK_NORM] = number(n->qk_norm),
        [COPYING] = number(n->copying),     [POSITIVE] = number(n->positive),
        [DUPLICATE] = number(n->duplicate), [PREVIOUS] = number(n->previous),
        [DIAGONAL] = number(n->diagonal),
    };

    table_print_line(t, cells);
}

/* Find the numbers of a layer's heads. */
static tg_status find_layer(struct heads *s, tg_head_numbers *numbers, const cli_model *m, size_t layer,
                            tg_err *err)
{
    tg_factors_set(&s->f, &m->model, layer);
    tg_heads_of_layer(numbers, &s->f, &s->vocab, &m->model, &s->scratch);
    return cli_model_check(m, err) ? err->code : TG_OK; /* after the last weights are read, positions */
}

static tg_status print_layers(struct heads *s, const cli_model *m, const circuit_options *o, tg_err *err)
{
    const tg_config *c = &m->model.config;
    const table t = table_of(s, o->format);

    if (!o->no_header && o->format == TABLE_TEXT)
        print_explanation(s);
    if (!o->no_header)
        table_print_titles(&t);
    for (size_t l = 0; l < c->n_layer; l++) {
        if (!tg_attn_keeps(o->filter.layer, l))
            continue;
        if (find_layer(s, s->numbers, m, l, err))
            return err->code;
        for (size_t h = 0; h < c->n_head; h++)
            if (tg_attn_keeps(o->filter.head, h))
                print_head(&t, l, h, &s->numbers[h]);
        (void)fflush(stdout);
        if (cli_stdout_failed())
            break; /* cli_close_stdout() reports it */
    }
    return TG_OK;
}

/* ---- an archive */

static tg_status put_archive(void *context, int fd, tg_err *err)
{
    const struct heads *s = context;

    return tg_circuit_write_heads(fd, &s->kept, s->numbers, s->scratch.T > 0, err);
}

static tg_status write_layers(struct heads *s, const cli_model *m, const circuit_options *o, tg_err *err)
{
    const tg_config *c = &m->model.config;

    for (size_t l = 0; l < c->n_layer; l++)
        if (tg_attn_keeps(o->filter.layer, l) && find_layer(s, s->numbers + l * c->n_head, m, l, err))
            return err->code;
    s->kept = circuit_kept(o, c);
    return cli_archive_write(o->output, CLI_OUT_CIRCUIT, put_archive, s, err);
}

/* ---- all of it */

tg_status circuit_print_heads(const cli_model *m, const circuit_options *o, tg_err *err)
{
    struct heads s = {.model = &m->model, .all = o->output != NULL};
    cli_job job;
    tg_arena arena;
    tg_status status;

    if ((status = tg_arena_build(&arena, place_heads, &s, err)))
        return status;
    (void)tg_vocab_grams_set(&s.vocab, &m->model, cli_job_begin(&job, "tokens"));
    cli_progress_end();
    status = (o->output ? write_layers : print_layers)(&s, m, o, err);
    tg_arena_free(&arena);
    return status;
}
