#include "cmd/tg-attn-dump/places.h"

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

bool places_one_head(const tg_qkv_view *a)
{
    return a->H == 1 && a->D == a->C;
}

bool places_divide(const tg_qkv_view *a)
{
    return a->KV == a->H && a->H * a->D == a->C;
}

places places_of(const tg_qkv_view *a)
{
    places p = {.group = a->H / a->KV};

    tg_attn_stage_shape(&p.whole, TG_ATTN_X, a);
    tg_attn_stage_shape(&p.vector, places_one_head(a) ? TG_ATTN_X : TG_ATTN_Q, a);
    tg_attn_stage_shape(&p.keys, places_one_head(a) ? TG_ATTN_X : TG_ATTN_K, a);
    tg_attn_stage_shape(&p.square, TG_ATTN_SCORES, a);
    if (places_one_head(a))
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

/* In a base the last index is '\0', and is left out; h stands for the head of keys that it reads where
 * `group` heads share one. */
static void print_formula(const tg_attn_shape *s, bool sizes, const tg_attn_index *at, size_t group)
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
        if (s->index[n] == 'h' && group > 1 && sizes)
            printf("/%zu", group);
        else if (s->index[n] == 'h' && group > 1)
            printf("/(H/KV)");
        if (n + 1 < s->n)
            putchar(')');
    }
}

void print_formulas(const tg_attn_shape *s, const char *between, const tg_attn_index *at)
{
    print_formula(s, false, NULL, 1);
    printf("%s", between);
    print_formula(s, true, at, 1);
}

void print_base(const places *p, char position, const tg_attn_index *at)
{
    tg_attn_shape s = position == 'j' ? p->keys : p->vector;
    const size_t group = position == 'j' ? p->group : 1;

    for (size_t n = 0; n < s.n; n++) {
        if (s.index[n] == 't')
            s.index[n] = position;
    }
    s.index[s.n - 1] = '\0';
    print_formula(&s, false, NULL, group);
    printf(" = ");
    print_formula(&s, true, at, group);
}
