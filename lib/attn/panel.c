#include "lib/attn/panel.h"

#include <math.h>
#include <string.h>

#include "lib/base/size.h"
#include "lib/nn/ref/ref.h"

/* Doubles in the widest vector that every processor has. */
#define LANES 2
typedef double lanes __attribute__((vector_size(LANES * sizeof(double))));

/* TG_PANEL sums, kept in registers. */
typedef struct sums {
    lanes s0, s1, s2, s3;
} sums;

static inline lanes load(const double *p)
{
    lanes x;

    memcpy(&x, p, sizeof x);
    return x;
}

/* sums += factor * p[0..7]; each product is rounded before it is added */
static inline void add(sums *s, double factor, const double *p)
{
    s->s0 += factor * load(p);
    s->s1 += factor * load(p + LANES);
    s->s2 += factor * load(p + 2 * LANES);
    s->s3 += factor * load(p + 3 * LANES);
}

/* n rounded up to TG_PANEL; SIZE_MAX, which no arena can provide, if that overflows. */
static size_t padded(size_t n)
{
    return n > SIZE_MAX - TG_PANEL ? SIZE_MAX : tg_round_up(n, TG_PANEL);
}

void tg_attn_panel_place(tg_arena *arena, tg_attn_panel *panel, size_t T, size_t D)
{
    panel->T = T;
    panel->D = D;
    panel->k = tg_arena_take_rows(arena, padded(T), D, sizeof *panel->k);
    panel->v = tg_arena_take_rows(arena, T, padded(D), sizeof *panel->v);
}

void tg_attn_panel_put(tg_attn_panel *panel, size_t t, const float *k, const float *v)
{
    const size_t D = panel->D;
    double *k_t = panel->k + t / TG_PANEL * D * TG_PANEL + t % TG_PANEL;
    double *v_t = panel->v + t * tg_round_up(D, TG_PANEL);

    for (size_t d = 0; d < D; d++) {
        k_t[d * TG_PANEL] = (double)k[d];
        v_t[d] = (double)v[d];
    }
}

size_t tg_attn_panel_width(size_t T)
{
    return tg_round_up(T, TG_PANEL);
}

void tg_attn_panel_scores(double *scores, const tg_attn_panel *panel, const double *q, size_t i)
{
    const size_t D = panel->D;
    const double root = sqrt((double)D);

    for (size_t j = 0; j <= i; j += TG_PANEL) {
        const double *k_j = panel->k + j * D;
        sums s = {0};

        for (size_t d = 0; d < D; d++)
            add(&s, q[d], k_j + d * TG_PANEL);
        s = (sums){s.s0 / root, s.s1 / root, s.s2 / root, s.s3 / root};
        memcpy(scores + j, &s, sizeof s);
    }
    for (size_t j = i + 1; j < panel->T; j++)
        scores[j] = TG_MASKED;
}

void tg_attn_panel_values(double *att, const tg_attn_panel *panel, const double *probs, size_t i)
{
    const size_t width = tg_attn_panel_width(panel->D);

    for (size_t d = 0; d < width; d += TG_PANEL) {
        sums s = {0};

        for (size_t j = 0; j <= i; j++)
            add(&s, probs[j], panel->v + j * width + d);
        memcpy(att + d, &s, sizeof s);
    }
}
