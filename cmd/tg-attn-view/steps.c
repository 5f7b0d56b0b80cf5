/* view: one head in one picture, an SVG image: q, k, scores, probabilities, v and their weighted sum as
 * matrices with their numbers, in the order in which each follows from those before it. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cmd/cli/cli.h"
#include "cmd/tg-attn-view/view.h"
#include "lib/attn/attn.h"
#include "lib/base/size.h"
#include "lib/dump/dump_rows.h"
#include "lib/view/colormap.h"
#include "lib/view/label.h"
#include "lib/view/raster.h"

#define MOST_TOKENS 10
#define MOST_CHANNELS 6
#define CELL_W 46 /* pixels */
#define CELL_H 26
#define GAP 72 /* between matrices, for what is done: "softmax" */
#define EDGE 16
#define TITLE 46 /* above a matrix: its name and its columns' */
#define LABELS 86
#define FOOT 54 /* below: two lines about it */

typedef struct matrix {
    const char *name, *says[2]; /* and lines below it */
    const char *made;           /* what stands before it: "softmax" */
    size_t rows, cols;
    double numbers[MOST_TOKENS][MOST_TOKENS];
    bool masked[MOST_TOKENS][MOST_TOKENS];
    bool square, transposed; /* a column for each token; its tokens are across, channels down */
} matrix;

enum { M_Q, M_K, M_SCORES, M_PROBS, M_V, M_ATT, MATRICES };

/* ---- the numbers */

static void take_vectors(matrix *m, const view *v, tg_attn_stage stage)
{
    const tg_dump *a = v->dump;
    const tg_qkv_view shape = tg_dump_shape(a);
    const float *data = v->map->layer->data[stage];
    const size_t h = v->map->head;

    for (size_t t = 0; t < a->T; t++)
        for (size_t d = 0; d < a->D; d++) {
            const size_t base = tg_attn_stage_of_keys(stage)
                                    ? tg_attn_kv_base(&shape, v->b, t, tg_attn_kv_head(&shape, h))
                                    : tg_attn_base(&shape, v->b, t, h);

            m->numbers[m->transposed ? d : t][m->transposed ? t : d] = (double)data[base + d];
        }
}

static void take_rows(matrix *m, const view *v, tg_attn_stage stage)
{
    double scratch[2 * (MOST_TOKENS + MOST_CHANNELS)];
    float row[MOST_TOKENS];

    assert(tg_dump_row_scratch(v->dump) <= sizeof scratch / sizeof scratch[0]);
    for (size_t i = 0; i < v->dump->T; i++) {
        tg_dump_row(row, v->dump, v->map->layer, stage, v->b, v->map->head, i, scratch);
        for (size_t j = 0; j < v->dump->T; j++) {
            m->masked[i][j] = j > i || isinf(row[j]);
            m->numbers[i][j] = m->masked[i][j] ? 0 : (double)row[j];
        }
    }
}

static void weigh(matrix *att, const matrix *probs, const matrix *values, size_t T, size_t D)
{
    for (size_t i = 0; i < T; i++)
        for (size_t d = 0; d < D; d++)
            for (size_t j = 0; j <= i; j++)
                att->numbers[i][d] += probs->numbers[i][j] * values->numbers[j][d];
}

/* ---- the picture */

typedef struct picture {
    const view *v;
    tg_sink *out;
    tg_rgb palette[2][TG_INK_END]; /* of probabilities; of what diverges around 0 */
    size_t query, left, top;       /* the row that is marked; where the next matrix begins */
} picture;

static void put_attribute(const picture *p, const char *name, tg_rgb color)
{
    tg_sink_print(p->out, " %s=\"#%02x%02x%02x\"", name, color.r, color.g, color.b);
}

typedef struct style {
    const char *attributes;
    size_t column; /* pixels of a character, about */
} style;

static const style plain = {"", 7}, bold = {" font-weight=\"bold\"", 7}, large = {" font-size=\"15\"", 9},
                   heading = {" font-size=\"15\" font-weight=\"bold\"", 9};

/* Text around x; of at most `room` pixels, which a longer one is pressed into. */
static void put_text(const picture *p, size_t x, size_t y, style s, unsigned ink, size_t room,
                     const char *text)
{
    const size_t width = tg_label_width(text) * s.column;

    tg_sink_print(p->out, "<text x=\"%zu\" y=\"%zu\" text-anchor=\"middle\"%s", x, y, s.attributes);
    put_attribute(p, "fill", p->palette[0][ink]);
    if (width > room)
        tg_sink_print(p->out, " textLength=\"%zu\" lengthAdjust=\"spacingAndGlyphs\"", room);
    tg_sink_puts(p->out, ">");
    cli_put_xml(p->out, text);
    tg_sink_puts(p->out, "</text>\n");
}

/* The colour of a number: of a probability, or of one that is at most so far from 0. */
static tg_rgb color_of(const picture *p, double x, bool probs, double most)
{
    const double place = probs ? sqrt(x) : 0.5 + (most > 0 ? x / most / 2 : 0);

    return p->palette[!probs][tg_colormap_step(place)];
}

static void put_cell(const picture *p, const matrix *m, size_t r, size_t c, tg_rgb color)
{
    const size_t x = p->left + c * CELL_W, y = p->top + TITLE + r * CELL_H;
    char text[32];

    tg_sink_print(p->out, "<rect x=\"%zu\" y=\"%zu\" width=\"%d\" height=\"%d\" stroke-opacity=\".25\"", x, y,
                  CELL_W, CELL_H);
    put_attribute(p, "stroke", p->palette[0][TG_INK_TEXT]);
    if (m->masked[r][c]) {
        tg_sink_puts(p->out, " fill=\"url(#masked)\"/>\n");
        return;
    }
    put_attribute(p, "fill", color);
    tg_sink_puts(p->out, "/>\n");
    snprintf(text, sizeof text, "%.3g", m->numbers[r][c]);
    put_text(p, x + CELL_W / 2, y + CELL_H / 2 + 4, plain,
             tg_rgb_luma(color) > 128 ? TG_INK_BLACK : TG_INK_WHITE, CELL_W - 4, text);
}

static double greatest(const matrix *m)
{
    double most = 0;

    for (size_t r = 0; r < m->rows; r++)
        for (size_t c = 0; c < m->cols; c++)
            most = fmax(most, fabs(m->numbers[r][c]));
    return most;
}

/* The names of columns: of tokens, or of channels. */
static void put_columns(const picture *p, const matrix *m)
{
    for (size_t c = 0; c < m->cols; c++) {
        char name[VIEW_LABEL + 32];

        if ((m->square || m->transposed) && p->v->label)
            snprintf(name, sizeof name, "%zu %s", c, p->v->label[c]);
        else
            snprintf(name, sizeof name, "%zu", c);
        put_text(p, p->left + c * CELL_W + CELL_W / 2, p->top + TITLE - 7, plain, TG_INK_FAINT, CELL_W - 2,
                 name);
    }
}

static void put_mark(const picture *p, const matrix *m)
{
    const size_t y = p->top + TITLE + p->query * CELL_H;

    if (m->transposed)
        return;
    tg_sink_print(p->out,
                  "<rect x=\"%zu\" y=\"%zu\" width=\"%zu\" height=\"%d\" fill=\"none\" stroke-width=\"2.5\"",
                  p->left, y, m->cols * CELL_W, CELL_H);
    put_attribute(p, "stroke", p->palette[0][TG_INK_TEXT]);
    tg_sink_puts(p->out, "/>\n");
}

static void put_matrix(picture *p, const matrix *m, bool probs, bool marked, size_t height)
{
    const size_t width = m->cols * CELL_W, middle = p->left + width / 2;
    const double most = greatest(m);

    if (*m->made != '\0')
        put_text(p, p->left - GAP / 2, p->top + TITLE + height / 2 + 5, large, TG_INK_TEXT, GAP - 6, m->made);
    put_text(p, middle, p->top + 14, heading, TG_INK_TEXT, width + GAP, m->name);
    put_columns(p, m);
    for (size_t r = 0; r < m->rows; r++)
        for (size_t c = 0; c < m->cols; c++)
            put_cell(p, m, r, c, color_of(p, m->numbers[r][c], probs, most));
    if (marked)
        put_mark(p, m);
    for (size_t n = 0; n < 2; n++)
        put_text(p, middle, p->top + TITLE + m->rows * CELL_H + 18 + 16 * n, plain, TG_INK_FAINT,
                 width + GAP - 4, m->says[n]);
    p->left += width + GAP;
}

static void put_labels(const picture *p, size_t T)
{
    for (size_t t = 0; t < T; t++) {
        char name[VIEW_LABEL + 32];

        snprintf(name, sizeof name, "%s%zu%s%s", t == p->query ? "query " : "", t, p->v->label ? " " : "",
                 p->v->label ? p->v->label[t] : "");
        put_text(p, EDGE + LABELS / 2, p->top + TITLE + t * CELL_H + CELL_H / 2 + 4,
                 t == p->query ? bold : plain, t == p->query ? TG_INK_TEXT : TG_INK_FAINT, LABELS - 8, name);
    }
}

static void put_head(const picture *p, size_t width, size_t height, const char *name)
{
    tg_sink_print(
        p->out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%zu\" height=\"%zu\" viewBox=\"0 0 %zu %zu\" "
        "font-family=\"system-ui, sans-serif\" font-size=\"12\">\n<title>",
        width, height, width, height);
    cli_put_xml(p->out, name);
    tg_sink_puts(p->out, "</title>\n<pattern id=\"masked\" width=\"6\" height=\"6\" "
                         "patternUnits=\"userSpaceOnUse\"><path d=\"M0 0h6v6H0\"");
    put_attribute(p, "fill", p->palette[0][TG_INK_MASKED]);
    tg_sink_puts(p->out, "/><path d=\"M-1 2L2 -1M0 7L7 0\" stroke-width=\".7\"");
    put_attribute(p, "stroke", p->palette[0][TG_INK_HATCH]);
    tg_sink_print(p->out, "/></pattern>\n<rect width=\"%zu\" height=\"%zu\"", width, height);
    put_attribute(p, "fill", p->palette[0][TG_INK_PAPER]);
    tg_sink_puts(p->out, "/>\n");
}

static tg_status check_size(const tg_dump *a, const tg_dump_layer *l, tg_err *err)
{
    if (a->T > MOST_TOKENS || a->D > MOST_CHANNELS)
        return tg_fail(
            err, TG_EDATA,
            "the steps of a head are drawn for at most %d tokens and %d channels: the dump has %zu and %zu",
            MOST_TOKENS, MOST_CHANNELS, a->T, a->D);
    if (!l->data[TG_ATTN_Q] || !l->data[TG_ATTN_K] || !l->data[TG_ATTN_V])
        return tg_fail(err, TG_EDATA, "layer %zu lacks q, k or v, which the steps begin with", l->number);
    return TG_OK;
}

/* ---- before q and k: their norms and their rotation, where the layer has any */

#define WAY_MOST 3 /* the projection, normed, rotated */

typedef struct way {
    matrix m[WAY_MOST];
    size_t n; /* 0: q and k are the projection itself */
    char turned[2][64];
} way;

/* "position · 1, 0.01 radians", for at most MOST_CHANNELS/2 frequencies. */
static void describe_rotation(way *w, const tg_dump_extra_array *frequency)
{
    const double *of = frequency->data;
    size_t end;

    snprintf(w->turned[0], sizeof w->turned[0], "channels m and m+%zu turn by", frequency->count);
    end = (size_t)snprintf(w->turned[1], sizeof w->turned[1], "position · ");
    for (size_t n = 0; n < frequency->count && end < sizeof w->turned[1]; n++)
        end += (size_t)snprintf(w->turned[1] + end, sizeof w->turned[1] - end, "%s%.3g", n > 0 ? ", " : "",
                                of[n]);
    if (end < sizeof w->turned[1])
        snprintf(w->turned[1] + end, sizeof w->turned[1] - end, " radians");
}

/* The way to q, or to k: names and stages are of the projection, the norm and the end. */
static void take_way(way *w, const view *v, const char *const name[WAY_MOST],
                     const tg_attn_stage stage[WAY_MOST])
{
    const tg_dump_layer *l = v->map->layer;
    const tg_dump_extra_array *frequency = &l->extra[TG_DUMP_FREQUENCY];
    const bool has[WAY_MOST] = {l->data[stage[0]], l->data[stage[1]],
                                frequency->data && frequency->count > 0};
    const matrix all[WAY_MOST] = {
        {.name = name[0], .says = {"made of the layer's", "normed input"}, .made = ""},
        {.name = name[1], .says = {"÷ its root mean square,", "times a gain"}, .made = "norm"},
        {.name = name[2], .says = {w->turned[0], w->turned[1]}, .made = "rotate"},
    };

    w->n = 0;
    if (!has[0] || (!has[1] && !has[2]))
        return;
    if (has[2])
        describe_rotation(w, frequency);
    for (size_t n = 0; n < WAY_MOST; n++) {
        if (!has[n])
            continue;
        w->m[w->n] = all[n];
        w->m[w->n].rows = v->dump->T;
        w->m[w->n].cols = v->dump->D;
        take_vectors(&w->m[w->n++], v, stage[n]);
    }
}

/* Both of them, next to each other, in a row of their own; the next row begins below it. */
static void put_ways(picture *p, const way w[2])
{
    const size_t T = p->v->dump->T, left = p->left;

    if (w[0].n == 0)
        return;
    put_labels(p, T);
    for (size_t k = 0; k < 2; k++)
        for (size_t n = 0; n < w[k].n; n++)
            put_matrix(p, &w[k].m[n], false, k == 0, T * CELL_H);
    p->left = left;
    p->top += TITLE + T * CELL_H + FOOT;
}

static size_t width_of(size_t columns, size_t matrices)
{
    return EDGE + LABELS + columns * CELL_W + (matrices - 1) * GAP + EDGE;
}

/* ---- all of it */

/* What matrices say depends on the model. */
typedef struct texts {
    char scale[32], match[48], hidden[64], key[2][64], serves[64];
} texts;

static void write_texts(texts *t, const view *v)
{
    const tg_dump *a = v->dump;
    const tg_attention_rule rule = tg_dump_rule(a, v->map->layer->number);
    const tg_qkv_view shape = tg_dump_shape(a);
    const size_t group = a->H / a->KV, g = tg_attn_kv_head(&shape, v->map->head);

    *t = (texts){.match = "how well they match;",
                 .hidden = "later keys are masked",
                 .key = {"kᵀ", "v"},
                 .serves = "can be found by"};
    if (rule.scale > 0)
        snprintf(t->scale, sizeof t->scale, "·%.4g =", rule.scale);
    else
        snprintf(t->scale, sizeof t->scale, "/√%zu =", a->D);
    if (rule.cap > 0)
        snprintf(t->match, sizeof t->match, "their match, capped at %.4g;", rule.cap);
    if (rule.window > 0 && rule.window < a->T)
        snprintf(t->hidden, sizeof t->hidden, "masked: later keys, and all but %zu", rule.window);
    if (group == 1)
        return;
    snprintf(t->key[0], sizeof t->key[0], "kᵀ of key head %zu", g);
    snprintf(t->key[1], sizeof t->key[1], "v of key head %zu", g);
    snprintf(t->serves, sizeof t->serves, "key head %zu serves heads %zu to %zu", g, g * group,
             (g + 1) * group - 1);
}

static void take_matrices(matrix m[MATRICES], const view *v, const texts *t)
{
    const size_t T = v->dump->T, D = v->dump->D;

    m[M_Q] =
        (matrix){.name = "q", .says = {"what each token", "looks for"}, .made = "", .rows = T, .cols = D};
    m[M_K] = (matrix){.name = t->key[0],
                      .says = {"what each token", t->serves},
                      .made = "×",
                      .rows = D,
                      .cols = T,
                      .transposed = true};
    m[M_SCORES] = (matrix){.name = "scores",
                           .says = {t->match, t->hidden},
                           .made = t->scale,
                           .rows = T,
                           .cols = T,
                           .square = true};
    m[M_PROBS] = (matrix){.name = "probs",
                          .says = {"each row adds up to 1", ""},
                          .made = "softmax",
                          .rows = T,
                          .cols = T,
                          .square = true};
    m[M_V] = (matrix){
        .name = t->key[1], .says = {"what each token", "hands over"}, .made = "×", .rows = T, .cols = D};
    m[M_ATT] = (matrix){.name = "att",
                        .says = {"what the query takes:", "a mixture of v"},
                        .made = "=",
                        .rows = T,
                        .cols = D};
    if (v->dump->KV < v->dump->H)
        m[M_K].says[0] = "what each token can be found by";
    take_vectors(&m[M_Q], v, TG_ATTN_Q);
    take_vectors(&m[M_K], v, TG_ATTN_K);
    take_vectors(&m[M_V], v, TG_ATTN_V);
    take_rows(&m[M_SCORES], v, TG_ATTN_SCORES);
    take_rows(&m[M_PROBS], v, TG_ATTN_PROBS);
    weigh(&m[M_ATT], &m[M_PROBS], &m[M_V], T, D);
}

tg_status view_steps(view *v, tg_sink *out, tg_err *err)
{
    static const char *const names[2][WAY_MOST] = {{"q.proj", "q.normed", "q"}, {"k.proj", "k.normed", "k"}};
    static const tg_attn_stage stages[2][WAY_MOST] = {{TG_ATTN_Q_PROJECTED, TG_ATTN_Q_NORMED, TG_ATTN_Q},
                                                      {TG_ATTN_K_PROJECTED, TG_ATTN_K_NORMED, TG_ATTN_K}};
    static way ways[2]; /* large, as the matrices */
    static matrix m[MATRICES];
    const tg_dump *a = v->dump;
    const bool dark = v->paper == VIEW_DARK;
    picture p = {.v = v, .out = out, .query = a->T - 1, .left = EDGE + LABELS, .top = EDGE};
    size_t width, height;
    char name[1024];
    texts t;
    tg_status status = check_size(a, v->map->layer, err);

    if (status)
        return status;
    write_texts(&t, v);
    take_matrices(m, v, &t);
    for (size_t k = 0; k < 2; k++)
        take_way(&ways[k], v, names[k], stages[k]);
    if (ways[0].n != ways[1].n) /* the dump lacks an array */
        ways[0].n = 0;
    width = width_of(3 * (a->T + a->D), MATRICES);
    height = EDGE + TITLE + tg_size_max(a->T, a->D) * CELL_H + FOOT + EDGE;
    if (ways[0].n > 0) {
        width = tg_size_max(width, width_of(2 * ways[0].n * a->D, 2 * ways[0].n));
        height += TITLE + a->T * CELL_H + FOOT;
    }
    tg_raster_palette(p.palette[0], (tg_colormap){.dark = dark});
    tg_raster_palette(p.palette[1], (tg_colormap){.dark = dark, .diverges = true});
    view_name(v->title, v->name, name, sizeof name);
    put_head(&p, width, height, name);
    put_ways(&p, ways);
    put_labels(&p, a->T);
    for (size_t n = 0; n < MATRICES; n++)
        put_matrix(&p, &m[n], n == M_PROBS, n != M_V, a->T * CELL_H);
    tg_sink_puts(out, "</svg>\n");
    return TG_OK;
}
