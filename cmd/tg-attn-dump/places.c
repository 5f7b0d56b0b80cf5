/* Where numbers lie, as headers and derivations say it: shapes and the formulas of offsets. */
#include "cmd/tg-attn-dump/attn_dump.h"

void attn_print_list(const size_t *numbers, size_t n)
{
    for (size_t i = 0; i < n; i++)
        printf("%s%zu", i > 0 ? "," : "", numbers[i]);
}

void attn_print_shape(const tg_attn_shape *s)
{
    for (size_t n = 0; n < s->n; n++)
        printf("%c%s", n > 0 ? ',' : '[', s->dim[n]);
    printf("] = [");
    attn_print_list(s->size, s->n);
    putchar(']');
}

/* ---- formulas */

static size_t number_of(const tg_attn_index *at, char index)
{
    return index == 'b' ? at->b : index == 'h' ? at->h : index == 'i' ? at->i : at->j;
}

/* " + h" */
static void print_index(char index, const tg_attn_index *at, const char *before)
{
    if (at)
        printf("%s%zu", before, number_of(at, index));
    else
        printf("%s%c", before, index);
}

/* Letters; with the sizes' numbers; with those of the indices, too.  The last index is '\0'
 * where there is none, in a base. */
static void print_formula(const tg_attn_shape *s, bool numbers, const tg_attn_index *at)
{
    for (size_t n = 0; n + 2 < s->n; n++)
        putchar('(');
    print_index(s->index[0], at, "");
    for (size_t n = 1; n < s->n; n++) {
        if (numbers)
            printf("*%zu", s->size[n]);
        else
            printf("*%s", s->dim[n]);
        if (s->index[n])
            print_index(s->index[n], at, " + ");
        if (n + 1 < s->n)
            putchar(')');
    }
}

void attn_print_indices(const tg_attn_shape *s, const char *between, const tg_attn_index *at)
{
    print_formula(s, false, NULL);
    printf("%s", between);
    print_formula(s, true, at);
}

/* ---- of a view */

void attn_vectors_shape(tg_attn_shape *s, const tg_attn_view *a)
{
    tg_attn_stage_shape(s, a->H == 1 ? TG_ATTN_X : TG_ATTN_Q, a);
}

void attn_squares_shape(tg_attn_shape *s, const tg_attn_view *a)
{
    tg_attn_stage_shape(s, TG_ATTN_SCORES, a);
    if (a->H > 1)
        return;
    s->n--;
    for (size_t n = 1; n < s->n; n++) { /* without h */
        s->dim[n] = s->dim[n + 1];
        s->index[n] = s->index[n + 1];
        s->size[n] = s->size[n + 1];
        s->stride[n] = s->stride[n + 1];
    }
    s->index[s->n] = '\0';
}

void attn_print_base(const tg_attn_view *a, char position, const tg_attn_index *at)
{
    tg_attn_shape s;

    attn_vectors_shape(&s, a);
    for (size_t n = 0; n < s.n; n++) {
        if (s.index[n] == 't')
            s.index[n] = position;
    }
    s.index[s.n - 1] = '\0';
    attn_print_indices(&s, " = ", at);
}
