/* A line for each element of scores: the numbers, and where they lie. */
#include <math.h>
#include <string.h>

#include "cmd/attn_dump.h"
#include "lib/attn/columns.h"

#define STDOUT_BUFFER (1u << 18)

/* ---- rows */

struct dump {
    const attn_subject *subject;
    tg_attn_view shape;
    bool tsv;
    tg_attn_columns columns;
    size_t layer, head, b; /* whose titles were printed last */
    tg_status status;      /* why print_row() ended the walk */
    tg_err *err;
};

/* Once for each head, so that they are in sight of the numbers. */
static void print_titles(struct dump *d, const tg_attn_row *row)
{
    tg_attn_line l = {0};

    if (d->layer == row->layer && d->head == row->h && d->b == row->b)
        return;
    d->layer = row->layer;
    d->head = row->h;
    d->b = row->b;
    tg_attn_put_titles(&l, &d->columns);
    printf("\n%.*s%s\n", (int)l.n, l.text, d->subject->label ? "  token i, token j" : "");
}

static void put_labels(tg_attn_line *l, const attn_subject *s, size_t i, size_t j)
{
    tg_attn_put_text(l, "  ");
    tg_attn_put_text(l, s->label[i]);
    for (size_t n = strlen(s->label[i]); n < s->label_width + 2; n++)
        tg_attn_put_text(l, " ");
    tg_attn_put_text(l, s->label[j]);
}

/* The weighted sum lies in att [B,T,C] where q's row lies in q. */
static void print_att(const tg_attn_row *row)
{
    const tg_attn_view *a = row->view;
    size_t D = a->C / a->H, base = tg_attn_base(a, row->b, row->i, row->h);

    if (D > ATTN_ATT_WIDEST)
        return;
    printf("# att.data[%zu..%zu] =", base, base + D - 1);
    for (size_t d = 0; d < D; d++)
        printf(" %.8f", row->att[d]);
    putchar('\n');
}

/* Weights that are finite, but huge, overflow on the way. */
static bool is_finite(const tg_attn_row *row)
{
    const size_t D = row->view->C / row->view->H;
    bool finite = true;

    for (size_t j = 0; j <= row->i; j++)
        finite = finite && isfinite(row->scores[j]) && isfinite(row->probs[j]);
    for (size_t d = 0; d < D; d++)
        finite = finite && isfinite(row->att[d]);
    return finite;
}

static bool print_row(void *context, const tg_attn_row *row)
{
    struct dump *d = context;
    tg_attn_line l = {0};
    size_t shared;

    if (!is_finite(row)) {
        d->status = tg_fail(d->err, TG_EDATA, "layer %zu, head %zu, position %zu: attention is not finite",
                            row->layer, row->h, row->i);
        return false;
    }
    if (!d->tsv)
        print_titles(d, row);
    tg_attn_put_row(&l, &d->columns, row);
    shared = l.n;
    for (size_t j = row->j_begin; j < row->j_end; j++) {
        l.n = shared;
        tg_attn_put_element(&l, &d->columns, row, j);
        if (d->subject->label && !d->tsv)
            put_labels(&l, d->subject, row->i, j);
        fwrite(l.text, 1, l.n, stdout);
        putchar('\n');
    }
    if (!d->tsv)
        print_att(row);
    return !ferror(stdout);
}

/* ---- the header */

static void print_formulas(const tg_attn_view *a)
{
    size_t B = a->B, T = a->T, C = a->C, H = a->H, D = C / H;

    printf("# q, k, v, att [B,T,C] = [%zu,%zu,%zu]", B, T, C);
    if (H == 1) {
        printf("   scores, probs [B,T,T] = [%zu,%zu,%zu]   one head\n", B, T, T);
        printf("# q base = (b*T + i)*C = (b*%zu + i)*%zu\n# k base = (b*T + j)*C = (b*%zu + j)*%zu\n", T, C,
               T, C);
        printf("# offset of scores[b,i,j] = (b*T + i)*T + j = (b*%zu + i)*%zu + j\n", T, T);
    } else {
        printf(" seen as [B,T,H,D] = [%zu,%zu,%zu,%zu]   scores, probs [B,H,T,T] = [%zu,%zu,%zu,%zu]\n", B, T,
               H, D, B, H, T, T);
        printf("# q base = ((b*T + i)*H + h)*D = ((b*%zu + i)*%zu + h)*%zu\n", T, H, D);
        printf("# k base = ((b*T + j)*H + h)*D = ((b*%zu + j)*%zu + h)*%zu\n", T, H, D);
        printf("# offset of scores[b,h,i,j] = ((b*H + h)*T + i)*T + j = ((b*%zu + h)*%zu + i)*%zu + j\n", H,
               T, T);
    }
    printf("# score = scale * (q.data[q base + d] * k.data[k base + d], summed over d = 0 to %zu)\n", D - 1);
    printf("# scale = 1/sqrt(D) = 1/sqrt(%zu) = %.8f\n", D, 1.0 / sqrt((double)D));
    printf("# mask  = 1 where j > i: the score is -1e9 instead, and the probability 0\n");
    printf("# prob  = exp(score), divided by its sum over j\n");
    if (D <= ATTN_ATT_WIDEST)
        printf("# att   = prob * v.data[v base + d], summed over j; v base = k base, att base = q base\n");
}

/* The first line or lines say what is shown; then what all have in common. */
static void print_header(const struct dump *d)
{
    const attn_subject *s = d->subject;
    tg_attn_line l = {0};

    if (d->tsv) {
        tg_attn_put_titles(&l, &d->columns);
        printf("%.*s\n", (int)l.n, l.text);
        return;
    }
    printf("# %s\n", s->title);
    if (s->remark)
        printf("# %s\n", s->remark);
    print_formulas(&d->shape);
}

tg_status attn_show_rows(attn_subject *s, const attn_options *o, tg_err *err)
{
    const tg_attn_layers *n = &s->layers;
    struct dump d = {
        .subject = s,
        .shape = {.B = n->B, .T = n->T, .C = n->C, .H = n->H},
        .tsv = o->format == ATTN_TSV,
        .layer = ATTN_NONE,
        .err = err,
    };
    tg_status status = tg_attn_pick_check(&o->pick, n->L, n->H, n->T, err);

    if (status)
        return status;
    setvbuf(stdout, NULL, _IOFBF, STDOUT_BUFFER);
    tg_attn_columns_set(&d.columns, &d.shape, n->L, d.tsv);
    print_header(&d);
    status = tg_attn_layers_walk(&s->layers, &o->pick, print_row, &d, err);
    return status ? status : d.status;
}
