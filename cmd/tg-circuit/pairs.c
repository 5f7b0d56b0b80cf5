/* --compose: a line per pair of heads and kind of composition. */
#include <math.h>
#include <string.h>

#include "cmd/tg-circuit/job.h"
#include "lib/base/choice.h"
#include "lib/circuit/compose.h"

/* What a line has, in this order. */
enum { TYPE, FROM_LAYER, FROM_HEAD, LAYER, HEAD, SCORE, BASELINE, EXCESS, COLUMNS };

static table table_of(table_format format)
{
    static const table_column columns[COLUMNS] = {
        [TYPE] = {"type", "type", TABLE_STRING, 6, 0, 0},
        [FROM_LAYER] = {"from_layer", "from_layer", TABLE_SIZE, 10, 0, 0},
        [FROM_HEAD] = {"from_head", "from_head", TABLE_SIZE, 9, 0, 0},
        [LAYER] = {"layer", "layer", TABLE_SIZE, 5, 0, 0},
        [HEAD] = {"head", "head", TABLE_SIZE, 4, 0, 0},
        [SCORE] = {"score", "score", TABLE_DOUBLE, 8, 0, 5},
        [BASELINE] = {"baseline", "baseline", TABLE_DOUBLE, 8, 0, 5},
        [EXCESS] = {"excess", "excess", TABLE_DOUBLE, 8, 0, 5},
    };
    table t = {.format = format, .n = COLUMNS};

    memcpy(t.column, columns, sizeof columns);
    return t;
}

static void print_header(const table *t, const tg_config *config)
{
    if (t->format == TABLE_TEXT) {
        circuit_print_model(config);
        printf(
            "# score     ||OV B|| / (||OV|| ||B||), OV of the earlier head; B is QK, QK^T or OV of the "
            "later\n"
            "#           one for type q, k, v: what it asks, what answers, and what it moves\n"
            "# baseline  of random matrices: 1 / sqrt(C), the root of the mean square    excess  the rest\n");
    }
    table_print_titles(t);
}

struct composing {
    const tg_config *config;
    const circuit_options *o;
    tg_compose c;
};

static void print_pair(const table *t, const struct composing *s, size_t type, size_t from, size_t to)
{
    const tg_compose *c = &s->c;
    const double score = c->score[type][from * c->N + to], baseline = tg_compose_baseline(s->config);
    const unsigned kind = isfinite(score) ? CELL_VALUE : CELL_MISSING;
    char name[TG_CHOICE_SIZE], padded[TG_CHOICE_SIZE];
    table_cell cells[COLUMNS] = {
        [TYPE] = {.text = tg_choice_name(name, TG_COMPOSITION_NAMES, type)},
        [FROM_LAYER] = {.size = from / c->H},
        [FROM_HEAD] = {.size = from % c->H},
        [LAYER] = {.size = to / c->H},
        [HEAD] = {.size = to % c->H},
        [SCORE] = {.kind = kind, .real = score},
        [BASELINE] = {.real = baseline},
        [EXCESS] = {.kind = kind, .real = score - baseline},
    };

    if (t->format == TABLE_TEXT) {
        snprintf(padded, sizeof padded, "%6s", name);
        cells[TYPE] = (table_cell){.kind = CELL_WORD, .text = padded};
    }
    table_print_line(t, cells);
}

static void print_pairs(const table *t, const struct composing *s, const tg_attn_filter *filter)
{
    const tg_compose *c = &s->c;

    for (size_t to = c->H; to < c->N && !cli_stdout_failed(); to++) {
        if (!tg_attn_keeps(filter->layer, to / c->H) || !tg_attn_keeps(filter->head, to % c->H))
            continue;
        for (size_t from = 0; from / c->H < to / c->H; from++)
            for (size_t type = 0; type < TG_COMPOSITIONS; type++)
                print_pair(t, s, type, from, to);
    }
}

static tg_status put_archive(void *context, int fd, tg_err *err)
{
    const struct composing *s = context;
    const tg_circuit_kept kept = circuit_kept(s->o, s->config);

    return tg_circuit_write_pairs(fd, &kept, &s->c, tg_compose_baseline(s->config), err);
}

static void place(tg_arena *arena, void *context)
{
    struct composing *s = context;

    tg_compose_place(arena, &s->c, s->config);
}

tg_status circuit_print_pairs(const cli_model *m, const circuit_options *o, tg_err *err)
{
    struct composing s = {.config = &m->model.config, .o = o};
    const table t = table_of(o->format);
    cli_job job;
    tg_arena arena;
    tg_status status;

    if (m->model.config.n_layer < 2)
        return tg_fail(err, TG_EUSAGE, "--compose needs two layers, and the model has one");
    if (o->filter.layer == 0)
        return tg_fail(err, TG_EUSAGE, "--compose needs an earlier layer, and layer 0 has none");
    if ((status = tg_arena_build(&arena, place, &s, err)))
        return status;
    (void)tg_compose_run(&s.c, &m->model, cli_job_begin(&job, "composition"));
    cli_progress_end();
    if (!(status = cli_model_check(m, err)) && o->output) {
        status = cli_archive_write(o->output, CLI_OUT_CIRCUIT, put_archive, &s, err);
    } else if (!status) {
        if (!o->no_header)
            print_header(&t, &m->model.config);
        print_pairs(&t, &s, &o->filter);
    }
    tg_arena_free(&arena);
    return status;
}
