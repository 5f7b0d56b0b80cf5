#include "lib/train/optimizer.h"

#include <stdbool.h>

#include "lib/base/size.h"

static bool has_muon(const tg_optimizer *o)
{
    return o->settings->optimizer == TG_OPTIMIZER_MUON;
}

/* ---- which member updates which matrix */

/* About the operations of a part's update. */
static size_t work_of(const tg_muon_part *p)
{
    return p->rows * p->cols * tg_size_min(p->rows, p->cols);
}

/* Each parameter's parts go to the member with the least work so far; load [size] is scratch. */
static void choose_owners(tg_optimizer *o, size_t *load)
{
    const size_t size = o->team->size;
    size_t least = 0, param = o->table->n;

    for (size_t i = 0; i < o->table->n; i++)
        o->owner[i] = size;
    for (size_t i = 0; i < o->muon.n; i++) {
        const tg_muon_part *p = &o->muon.part[i];

        for (size_t member = 0; p->param != param && member < size; member++)
            least = member == 0 || load[member] < load[least] ? member : least;
        param = p->param;
        o->owner[param] = least;
        load[least] += work_of(p);
        if (least == o->team->rank)
            o->own[o->n_own++] = i;
    }
}

static void place_owners(tg_arena *arena, tg_optimizer *o)
{
    size_t *load = tg_arena_take(arena, o->team->size, sizeof *load);

    o->owner = tg_arena_take(arena, o->table->n, sizeof *o->owner);
    o->own = tg_arena_take(arena, o->muon.n, sizeof *o->own);
    if (o->own)
        choose_owners(o, load);
}

void tg_optimizer_place(tg_arena *arena, tg_optimizer *o, const tg_settings *settings, const tg_params *table,
                        const tg_config *config, const tg_team *team)
{
    *o = (tg_optimizer){.settings = settings, .table = table, .team = team};
    o->adamw = (tg_adamw){
        .beta1 = settings->beta1,
        .beta2 = settings->beta2,
        .epsilon = 1e-8,
        .weight_decay = settings->weight_decay,
        .clip = settings->clip,
        .without_hidden = has_muon(o),
    };
    if (!has_muon(o))
        return;
    tg_muon_place(arena, &o->muon, table, config);
    place_owners(arena, o);
    if (team->size == 1)
        return;
    tg_partition_place_some(arena, &o->rest, table, team, false);
    tg_partition_place_some(arena, &o->momentum, table, team, true);
    tg_partition_place_owned(arena, &o->matrices, table, team, o->owner);
}

const tg_partition *tg_optimizer_with_v(const tg_optimizer *o, const tg_partition *all)
{
    return has_muon(o) ? &o->rest : all;
}

/* ---- a step */

struct update {
    const tg_optimizer *o;
    const tg_adamw_state *state;
    const tg_optimizer_step *step;
    tg_muon_step muon;
};

/* AdamW, and the momentum, of the floats begin .. end - 1. */
static void update_range(const struct update *u, size_t begin, size_t end)
{
    const tg_optimizer *o = u->o;

    tg_adamw_update_part(&o->adamw, o->table, u->state, u->step->norm, u->step->lr, u->step->t, begin, end);
    if (has_muon(o))
        tg_muon_momentum(o->table, u->state, &u->muon, begin, end);
}

static void update_segments(const struct update *u, const tg_partition *all)
{
    for (size_t i = 0; i < all->n; i++) {
        const tg_segment *s = &all->segment[i];

        if (s->owner == u->o->team->rank)
            update_range(u, s->begin, s->end);
    }
    tg_partition_send(tg_optimizer_with_v(u->o, all), u->state->params, TG_SPREAD);
}

static void update_matrices(const struct update *u, const tg_matmul_scratch *scratch)
{
    const tg_optimizer *o = u->o;

    if (o->team->size > 1)
        tg_partition_send(&o->momentum, u->state->v, TG_SPREAD);
    tg_muon_update(&o->muon, scratch, u->state, &u->muon, o->own, o->n_own);
    if (o->team->size > 1)
        tg_partition_send(&o->matrices, u->state->params, TG_SPREAD);
}

void tg_optimizer_update(const tg_optimizer *o, const tg_adamw_state *state, const tg_optimizer_step *step,
                         const tg_matmul_scratch *scratch, const tg_partition *all)
{
    const struct update u = {.o = o,
                             .state = state,
                             .step = step,
                             .muon = {.momentum = o->settings->momentum,
                                      .weight_decay = o->settings->weight_decay,
                                      .learning_rate = step->lr,
                                      .grad_scale = tg_adamw_grad_scale(&o->adamw, step->norm)}};

    if (o->team->size > 1)
        update_segments(&u, all);
    else
        update_range(&u, 0, o->table->floats);
    if (has_muon(o))
        update_matrices(&u, scratch);
}
