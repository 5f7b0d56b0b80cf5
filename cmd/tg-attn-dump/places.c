#include "cmd/tg-attn-dump/places.h"

#include <stdbool.h>
#include <stdio.h>

void print_list(const size_t *numbers, size_t n)
{
    for (size_t i = 0; i < n; i++)
        printf("%s%zu", i > 0 ? "," : "", numbers[i]);
}

void print_shape(const tg_attn_shape *s)
{
    for (size_t n = 0; n < s->n; n++)
        printf("%c%s", n > 0 ? ',' : '[', s->dim[n]);
    printf("] = [");
    print_list(s->size, s->n);
    putchar(']');
}

/* ---- shapes */

static void drop_heads(tg_attn_shape *square)
{
    square->n--;
    for (size_t n = 1; n < square->n; n++) {
        square->dim[n] = square->dim[n + 1];
        square->index[n] = square->index[n + 1];
        square->size[n] = square->size[n + 1];
        square->stride[n] = square->stride[n + 1];
    }
    square->index[square->n] = '\0';
}

places places_of(const tg_qkv_view *a)
{
    places p;

    tg_attn_stage_shape(&p.whole, TG_ATTN_X, a);
    tg_attn_stage_shape(&p.vector, a->H == 1 ? TG_ATTN_X : TG_ATTN_Q, a);
    tg_attn_stage_shape(&p.square, TG_ATTN_SCORES, a);
    if (a->H == 1)
        drop_heads(&p.square);
    return p;
}

/* ---- formulas */

static size_t number_of(const tg_attn_index *at, char index)
{
    return index == 'b' ? at->b : index == 'h' ? at->h : index == 'i' ? at->i : at->j;
}

/* Print an index after `before`: " + h". */
static void print_index(char index, const tg_attn_index *at, const char *before)
{
    if (at)
        printf("%s%zu", before, number_of(at, index));
    else
        printf("%s%c", before, index);
}

/* In a base the last index is '\0', and is left out. */
static void print_formula(const tg_attn_shape *s, bool sizes, const tg_attn_index *at)
{
    for (size_t n = 0; n + 2 < s->n; n++)
        putchar('(');
    print_index(s->index[0], at, "");
    for (size_t n = 1; n < s->n; n++) {
        if (sizes)
            printf("*%zu", s->size[n]);
        else
            printf("*%s", s->dim[n]);
        if (s->index[n])
            print_index(s->index[n], at, " + ");
        if (n + 1 < s->n)
            putchar(')');
    }
}

void print_formulas(const tg_attn_shape *s, const char *between, const tg_attn_index *at)
{
    print_formula(s, false, NULL);
    printf("%s", between);
    print_formula(s, true, at);
}

void print_base(const places *p, char position, const tg_attn_index *at)
{
    tg_attn_shape s = p->vector;

    for (size_t n = 0; n < s.n; n++) {
        if (s.index[n] == 't')
            s.index[n] = position;
    }
    s.index[s.n - 1] = '\0';
    print_formulas(&s, " = ", at);
}
