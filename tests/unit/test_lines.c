/* tg-attn-dump's lines: of scores and of stages as text, TSV and JSON; of named values. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/lines/columns.h"
#include "cmd/tg-attn-dump/example.h"
#include "cmd/lines/table.h"
#include "lib/nn/ref/ref.h"
#include "tests/unit/check.h"

/* ---- lines */

static char buffer[1 << 16];

static const char *row_text(const tg_qkv_view *view, tg_attn_stage stage, table_format format,
                            tg_attn_mask mask, const tg_attn_row *row)
{
    const columns_of of = {.stage = stage, .view = *view, .L = 12, .format = format, .mask = mask};
    columns c;
    table_text text = {buffer, 0};

    columns_set(&c, &of);
    CHECK(table_capacity(&c.table, row->j_end - row->j_begin + 1) <= sizeof buffer);
    table_put_titles(&text, &c.table);
    columns_put_row(&text, &c, row);
    CHECK(text.n <= table_capacity(&c.table, row->j_end - row->j_begin + 1));
    buffer[text.n] = '\0';
    return buffer;
}

#define CHECK_TEXT(got, want) CHECK_HAS(got, want), CHECK_EQ(strlen(got), strlen(want))

static void lines_of_scores(void)
{
    const tg_qkv_view *view = &example_get(1)->view;
    const double scores[] = {0.7071067811865476, -0.7071067811865476, TG_MASKED};
    const double probs[] = {0.5759753, 0.1400292, 0};
    const tg_attn_row row = {view, 11, 0, 1, 1, 0, 0, 3, scores, probs, NULL};

    CHECK_TEXT(row_text(view, TG_ATTN_EVERY, TABLE_TSV, TG_ATTN_1E9, &row),
               "layer\thead\tb\ti\tj\tq_base\tk_base\toffset\tscore\tmasked\tprob\n"
               "11\t1\t0\t1\t0\t6\t2\t12\t0.707106769\t0\t0.575975299\n"
               "11\t1\t0\t1\t1\t6\t6\t13\t-0.707106769\t0\t0.140029207\n"
               "11\t1\t0\t1\t2\t6\t10\t14\t-1e+09\t1\t0\n");
    CHECK_TEXT(row_text(view, TG_ATTN_EVERY, TABLE_JSONL, TG_ATTN_INF, &row),
               "{\"layer\":11,\"head\":1,\"b\":0,\"i\":1,\"j\":0,\"q_base\":6,\"k_base\":2,\"offset\":12,"
               "\"score\":0.707106769,\"masked\":false,\"prob\":0.575975299}\n"
               "{\"layer\":11,\"head\":1,\"b\":0,\"i\":1,\"j\":1,\"q_base\":6,\"k_base\":6,\"offset\":13,"
               "\"score\":-0.707106769,\"masked\":false,\"prob\":0.140029207}\n"
               "{\"layer\":11,\"head\":1,\"b\":0,\"i\":1,\"j\":2,\"q_base\":6,\"k_base\":10,\"offset\":14,"
               "\"score\":null,\"masked\":true,\"prob\":0}\n");
    CHECK_TEXT(row_text(view, TG_ATTN_EVERY, TABLE_TEXT, TG_ATTN_INF, &row),
               "#l h b i j q_base k_base offset        score mask       prob\n"
               "11 1 0 1 0      6      2     12   0.70710678    0 0.57597530\n"
               "11 1 0 1 1      6      6     13  -0.70710678    0 0.14002920\n"
               "11 1 0 1 2      6     10     14         -inf    1          0\n");
    CHECK_TEXT(row_text(view, TG_ATTN_SCORES, TABLE_TSV, TG_ATTN_MIN, &row),
               "layer\thead\tb\ti\tj\tq_base\tk_base\toffset\tscore\tmasked\n"
               "11\t1\t0\t1\t0\t6\t2\t12\t0.707106769\t0\n"
               "11\t1\t0\t1\t1\t6\t6\t13\t-0.707106769\t0\n"
               "11\t1\t0\t1\t2\t6\t10\t14\t-3.40282347e+38\t1\n");
    CHECK_TEXT(row_text(view, TG_ATTN_PROBS, TABLE_JSONL, TG_ATTN_1E9, &row),
               "{\"layer\":11,\"head\":1,\"b\":0,\"i\":1,\"j\":0,\"offset\":12,\"prob\":0.575975299}\n"
               "{\"layer\":11,\"head\":1,\"b\":0,\"i\":1,\"j\":1,\"offset\":13,\"prob\":0.140029207}\n"
               "{\"layer\":11,\"head\":1,\"b\":0,\"i\":1,\"j\":2,\"offset\":14,\"prob\":0}\n");
}

static void put_run(table_text *text, const columns_of *of, const value_run *run)
{
    columns c;

    columns_set(&c, of);
    table_put_titles(text, &c.table); /* of JSON none */
    columns_put_run(text, &c, run);
}

static void lines_of_stages(void)
{
    char quoted[] = "\"T\"\0\0\"\\n\"\0\"b\"";
    const token_labels labels = {.text = quoted, .size = 5, .width = 4};
    const double values[] = {1, -0.1};
    const value_run run = {.layer = 0, .b = 0, .t = 1, .h = 1, .offset = 6, .n = 2, .values = values};
    columns_of of = {.stage = TG_ATTN_V, .view = example_get(1)->view, .L = 1, .labels = labels};
    table_text text = {buffer, 0};

    put_run(&text, &of, &run);
    of.stage = TG_ATTN_X;
    of.format = TABLE_JSONL;
    put_run(&text, &of, &run);
    of.format = TABLE_TSV;
    put_run(&text, &of, &run);
    of.labels.text = NULL; /* no tokens */
    put_run(&text, &of, &run);
    buffer[text.n] = '\0';
    CHECK_TEXT(buffer, "#l h b t d offset        value token\n"
                       " 0 1 0 1 0      6   1.00000000 \"\\n\"\n"
                       " 0 1 0 1 1      7  -0.10000000 \"\\n\"\n"
                       "{\"layer\":0,\"b\":0,\"t\":1,\"c\":0,\"offset\":6,\"value\":1,\"token\":\"\\n\"}\n"
                       "{\"layer\":0,\"b\":0,\"t\":1,\"c\":1,\"offset\":7,\"value\":-0.100000001,"
                       "\"token\":\"\\n\"}\n"
                       "layer\tb\tt\tc\toffset\tvalue\ttoken\n"
                       "0\t0\t1\t0\t6\t1\t\"\\n\"\n"
                       "0\t0\t1\t1\t7\t-0.100000001\t\"\\n\"\n"
                       "layer\tb\tt\tc\toffset\tvalue\n"
                       "0\t0\t1\t0\t6\t1\n"
                       "0\t0\t1\t1\t7\t-0.100000001\n");
}

/* Ids before the texts, and titles over them; the first token is padded by its columns. */
static void lines_with_ids(void)
{
    char text[] = " 7 \"\xE4\xB8\xAD\"\0\0\0"
                  "12 \"e\xCC\x81\"\0\0\0"
                  "13 \"long\"\0\0";
    const token_labels labels = {.text = text, .size = 11, .width = 10, .id_width = 2};
    const columns_of of = {.stage = TG_ATTN_PROBS, .view = example_get(1)->view, .L = 1, .labels = labels};
    const double scores[] = {0, 0, 0}, probs[] = {0.5, 0.5, 0};
    const tg_attn_row row = {
        .view = &of.view, .i = 1, .j_begin = 0, .j_end = 3, .scores = scores, .probs = probs};
    columns c;
    table_text to = {buffer, 0};

    columns_set(&c, &of);
    table_put_titles(&to, &c.table);
    columns_put_row(&to, &c, &row);
    buffer[to.n] = '\0';
    CHECK_TEXT(buffer, "#l h b i j offset       prob id token i id token j\n"
                       " 0 0 0 1 0      3 0.50000000 12 \"e\xCC\x81\"      7 \"\xE4\xB8\xAD\"\n"
                       " 0 0 0 1 1      4 0.50000000 12 \"e\xCC\x81\"     12 \"e\xCC\x81\"\n"
                       " 0 0 0 1 2      5          0 12 \"e\xCC\x81\"     13 \"long\"\n");
}

/* ---- named values, on standard output */

/* What `print` writes to stdout, in buffer. */
static const char *printed(void (*print)(table_format), table_format format)
{
    const int out = dup(STDOUT_FILENO);
    FILE *f = tmpfile();
    size_t n;

    CHECK(out >= 0 && f != NULL && fflush(stdout) == 0 && dup2(fileno(f), STDOUT_FILENO) >= 0);
    print(format);
    CHECK(fflush(stdout) == 0 && dup2(out, STDOUT_FILENO) >= 0 && close(out) == 0);
    rewind(f);
    n = fread(buffer, 1, sizeof buffer - 1, f);
    fclose(f);
    buffer[n] = '\0';
    return buffer;
}

static void print_values(table_format format)
{
    const table t = {.format = format,
                     .n = 5,
                     .column = {{"n", "", TABLE_SIZE, 0, 0, 0},
                                {"x", "", TABLE_DOUBLE, 0, 0, 0},
                                {"y", "", TABLE_FLOAT, 0, 0, 0},
                                {"on", "", TABLE_FLAG, 0, 0, 0},
                                {"word", "", TABLE_STRING, 0, 0, 0}}};
    const table_cell known[] = {
        {.size = 7}, {.real = 1.0 / 3}, {.real = 1.0 / 3}, {.size = 1}, {.text = "a\"\\b"}};
    const table_cell missing[5] = {{.kind = CELL_MISSING},
                                   {.kind = CELL_MISSING},
                                   {.kind = CELL_MISSING},
                                   {.kind = CELL_MISSING},
                                   {.kind = CELL_MISSING}};

    table_print_titles(&t);
    table_print_line(&t, known);
    table_print_line(&t, missing);
}

/* A double keeps its own nine digits, a float those of its float32. */
static void lines_of_values(void)
{
    CHECK_TEXT(printed(print_values, TABLE_TSV), "n\tx\ty\ton\tword\n"
                                                 "7\t0.333333333\t0.333333343\t1\ta\\x22\\b\n"
                                                 "\t\t\t\t\n");
    CHECK_TEXT(printed(print_values, TABLE_JSONL),
               "{\"n\":7,\"x\":0.333333333,\"y\":0.333333343,\"on\":true,\"word\":\"a\\\"\\\\b\"}\n"
               "{\"n\":null,\"x\":null,\"y\":null,\"on\":null,\"word\":null}\n");
}

int main(void)
{
    RUN(lines_of_scores);
    RUN(lines_of_stages);
    RUN(lines_with_ids);
    RUN(lines_of_values);
    return check_done();
}
