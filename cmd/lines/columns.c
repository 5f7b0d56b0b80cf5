#include "cmd/lines/columns.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/decimal.h"
#include "lib/base/size.h"
#include "lib/view/label.h"

/* The widest number, which sets capacities, and the widest usual one, to which columns are aligned. */
#define WIDEST "-999999999.12345678"
#define USUAL "-10.00000000"

/* Titles are short where GPT-2's lines would otherwise exceed 80 columns. */
static const table_column kinds[COLUMN_KINDS] = {
    [COLUMN_LAYER] = {"layer", "l", TABLE_SIZE, 0, 0, 0},
    [COLUMN_HEAD] = {"head", "h", TABLE_SIZE, 0, 0, 0},
    [COLUMN_B] = {"b", "b", TABLE_SIZE, 0, 0, 0},
    [COLUMN_I] = {"i", "i", TABLE_SIZE, 0, 0, 0},
    [COLUMN_J] = {"j", "j", TABLE_SIZE, 0, 0, 0},
    [COLUMN_T] = {"t", "t", TABLE_SIZE, 0, 0, 0},
    [COLUMN_D] = {"d", "d", TABLE_SIZE, 0, 0, 0},
    [COLUMN_C] = {"c", "c", TABLE_SIZE, 0, 0, 0},
    [COLUMN_Q_BASE] = {"q_base", "q_base", TABLE_SIZE, 0, 0, 0},
    [COLUMN_K_BASE] = {"k_base", "k_base", TABLE_SIZE, 0, 0, 0},
    [COLUMN_OFFSET] = {"offset", "offset", TABLE_SIZE, 0, 0, 0},
    [COLUMN_SCORE] = {"score", "score", TABLE_FLOAT, sizeof USUAL - 1, sizeof WIDEST - 1, 0},
    [COLUMN_MASK] = {"masked", "mask", TABLE_FLAG, sizeof "mask" - 1, sizeof "false" - 1, 0},
    [COLUMN_PROB] = {"prob", "prob", TABLE_FLOAT, sizeof "0.00000000" - 1, sizeof WIDEST - 1, 0},
    [COLUMN_VALUE] = {"value", "value", TABLE_FLOAT, sizeof USUAL - 1, sizeof WIDEST - 1, 0},
    [COLUMN_TOKEN_I] = {"token_i", NULL, TABLE_STRING, 0, 0, 0},
    [COLUMN_TOKEN_J] = {"token_j", NULL, TABLE_STRING, 0, 0, 0},
};

/* ---- columns */

#define BIT(kind) (1u << COLUMN_##kind)
#define OF_CHANNELS (BIT(LAYER) | BIT(B) | BIT(T) | BIT(C) | BIT(OFFSET) | BIT(VALUE))
#define OF_HEADS (BIT(LAYER) | BIT(HEAD) | BIT(B) | BIT(T) | BIT(D) | BIT(OFFSET) | BIT(VALUE))
#define OF_PROBS (BIT(LAYER) | BIT(HEAD) | BIT(B) | BIT(I) | BIT(J) | BIT(OFFSET) | BIT(PROB))
#define OF_BOTH (OF_PROBS | BIT(Q_BASE) | BIT(K_BASE) | BIT(SCORE) | BIT(MASK))

/* The columns of each stage's lines, except the tokens'. */
static const unsigned shown[TG_ATTN_EVERY + 1] = {
    [TG_ATTN_RESID] = OF_CHANNELS,
    [TG_ATTN_X] = OF_CHANNELS,
    [TG_ATTN_QKV] = OF_CHANNELS,
    [TG_ATTN_Q_PROJECTED] = OF_HEADS,
    [TG_ATTN_K_PROJECTED] = OF_HEADS,
    [TG_ATTN_Q_NORMED] = OF_HEADS,
    [TG_ATTN_K_NORMED] = OF_HEADS,
    [TG_ATTN_Q] = OF_HEADS,
    [TG_ATTN_K] = OF_HEADS,
    [TG_ATTN_V] = OF_HEADS,
    [TG_ATTN_SCORES] = OF_BOTH & ~BIT(PROB),
    [TG_ATTN_PROBS] = OF_PROBS,
    [TG_ATTN_ATT] = OF_HEADS,
    [TG_ATTN_OUT] = OF_CHANNELS,
    [TG_ATTN_EVERY] = OF_BOTH,
};

/* Make the columns of indices and offsets as wide as the greatest of them. */
static void set_digits(table_column *column, const columns_of *of)
{
    const tg_qkv_view *a = &of->view;
    const size_t base = tg_attn_base(a, a->B - 1, a->T - 1, a->H - 1);
    const size_t keys = tg_attn_kv_base(a, a->B - 1, a->T - 1, a->KV - 1);
    size_t greatest[COLUMN_SCORE] = {
        [COLUMN_LAYER] = of->L - 1, [COLUMN_HEAD] = a->H - 1, [COLUMN_B] = a->B - 1,  [COLUMN_I] = a->T - 1,
        [COLUMN_J] = a->T - 1,      [COLUMN_T] = a->T - 1,    [COLUMN_Q_BASE] = base, [COLUMN_K_BASE] = keys,
    };
    tg_attn_shape s;

    tg_attn_stage_shape(&s, of->stage == TG_ATTN_EVERY ? TG_ATTN_SCORES : of->stage, a);
    greatest[COLUMN_D] = greatest[COLUMN_C] = s.size[s.n - 1] - 1;
    greatest[COLUMN_OFFSET] = tg_attn_shape_count(&s) - 1;
    for (size_t kind = 0; kind < COLUMN_SCORE; kind++) {
        const size_t title = strlen(column[kind].title) + (kind == COLUMN_LAYER); /* "#l" */

        column[kind].max = tg_decimal_digits(greatest[kind]);
        column[kind].width = tg_size_max(title, column[kind].max);
    }
}

static void set_masked(columns *c, tg_attn_mask mask)
{
    const float value = tg_attn_mask_value(mask);
    size_t *width = &c->table.column[COLUMN_SCORE].width;

    if (c->table.format == TABLE_JSONL && !isfinite(value))
        snprintf(c->masked, sizeof c->masked, "null"); /* JSON has no infinity */
    else
        snprintf(c->masked, sizeof c->masked, "%.9g", (double)value);
    *width = tg_size_max(*width, strlen(c->masked));
}

/* Of one token, or of two, of which the first is padded. */
static void set_labels(columns *c, bool two)
{
    table_column *token = &c->table.column[COLUMN_TOKEN_I];
    const token_labels *l = &c->labels;

    columns_title_labels(token, c->title, l, two);
    token[0].name = two ? "token_i" : "token";
    token[0].max = l->size + l->width;
    token[1].max = l->size;
    c->table.hidden &= ~(BIT(TOKEN_I) | (two ? BIT(TOKEN_J) : 0));
}

void columns_set(columns *c, const columns_of *of)
{
    *c = (columns){.table = {.format = of->format, .n = COLUMN_KINDS, .hidden = ~shown[of->stage]},
                   .labels = of->labels};
    memcpy(c->table.column, kinds, sizeof kinds);
    set_masked(c, of->mask);
    set_digits(c->table.column, of);
    if (of->labels.text)
        set_labels(c, of->stage == TG_ATTN_EVERY || tg_attn_stage_square(of->stage));
}

/* ---- labels */

void columns_title_labels(table_column column[2], char title[2][COLUMNS_TITLE_SIZE], const token_labels *l,
                          bool two)
{
    const int id = (int)l->id_width, width = (int)(l->width - l->id_width);

    column[0].title = title[0];
    column[1].title = two && id > 0 ? title[1] : NULL;
    if (id == 0)
        snprintf(title[0], COLUMNS_TITLE_SIZE, two ? "tokens i,j" : "token");
    else if (two)
        snprintf(title[0], COLUMNS_TITLE_SIZE, "%*s%-*s", id, "id", width, " token i");
    else
        snprintf(title[0], COLUMNS_TITLE_SIZE, "%*s token", id, "id");
    snprintf(title[1], COLUMNS_TITLE_SIZE, "%*s token j", id, "id");
}

const char *columns_pad_label(char padded[COLUMNS_PADDED_SIZE], const token_labels *l, size_t t)
{
    const char *label = label_of(l, t);

    if (l->width == 0)
        return label;
    snprintf(padded, COLUMNS_PADDED_SIZE, "%s%*s", label, (int)(l->width - tg_label_width(label)), "");
    return padded;
}

/* ---- lines */

static void set_word(table_cell *cell, const char *word)
{
    *cell = (table_cell){.kind = CELL_WORD, .text = word};
}

/* Plan the lines of keys that the query sees, and those of masked keys, whose score and probability are
 * constant. */
static void plan_row(table_plan *seen, table_plan *masked, table_cell *cell, const columns *c)
{
    const unsigned varying = BIT(J) | BIT(K_BASE) | BIT(OFFSET) | BIT(TOKEN_I) | BIT(TOKEN_J);

    table_make_plan(seen, &c->table, cell, varying | BIT(SCORE) | BIT(PROB));
    cell[COLUMN_MASK].size = 1;
    set_word(&cell[COLUMN_SCORE], c->masked);
    set_word(&cell[COLUMN_PROB], "0");
    table_make_plan(masked, &c->table, cell, varying);
}

void columns_put_row(table_text *to, const columns *c, const tg_attn_row *row)
{
    const tg_qkv_view *a = row->view;
    const size_t g = tg_attn_kv_head(a, row->h);
    const token_labels *l = &c->labels;
    table_plan seen = {0}, masked = {0};
    char padded[COLUMNS_PADDED_SIZE];
    table_cell cell[COLUMN_KINDS] = {
        [COLUMN_LAYER] = {.size = row->layer},
        [COLUMN_HEAD] = {.size = row->h},
        [COLUMN_B] = {.size = row->b},
        [COLUMN_I] = {.size = row->i},
        [COLUMN_Q_BASE] = {.size = tg_attn_base(a, row->b, row->i, row->h)},
        [COLUMN_TOKEN_I] = {.text = columns_pad_label(padded, l, row->i)},
    };

    plan_row(&seen, &masked, cell, c);
    for (size_t j = row->j_begin; j < row->j_end; j++) {
        cell[COLUMN_J].size = j;
        cell[COLUMN_K_BASE].size = tg_attn_kv_base(a, row->b, j, g);
        cell[COLUMN_OFFSET].size = tg_attn_offset(a, row->b, row->h, row->i, j);
        cell[COLUMN_SCORE].real = row->scores[j];
        cell[COLUMN_PROB].real = row->probs[j];
        cell[COLUMN_TOKEN_J].text = label_of(l, j);
        table_put_line(to, tg_attn_row_sees(row, j) ? &seen : &masked, cell);
    }
}

void columns_put_run(table_text *to, const columns *c, const value_run *run)
{
    table_plan plan = {0};
    table_cell cell[COLUMN_KINDS] = {
        [COLUMN_LAYER] = {.size = run->layer},
        [COLUMN_HEAD] = {.size = run->h},
        [COLUMN_B] = {.size = run->b},
        [COLUMN_T] = {.size = run->t},
        [COLUMN_TOKEN_I] = {.text = label_of(&c->labels, run->t)},
    };

    table_make_plan(&plan, &c->table, cell, BIT(D) | BIT(C) | BIT(OFFSET) | BIT(VALUE) | BIT(TOKEN_I));
    for (size_t n = 0; n < run->n; n++) {
        cell[COLUMN_D].size = cell[COLUMN_C].size = n;
        cell[COLUMN_OFFSET].size = run->offset + n;
        cell[COLUMN_VALUE].real = run->values[n];
        table_put_line(to, &plan, cell);
    }
}
