/* --tokens: the tokens at the ends of what a head does: of its strongest directions, or of one token. */
#include <string.h>

#include "cmd/cli/text.h"
#include "cmd/lines/labels.h"
#include "cmd/tg-circuit/job.h"
#include "lib/base/size.h"
#include "lib/circuit/ends.h"
#include "lib/circuit/factors.h"
#include "lib/circuit/vocab.h"
#include "lib/tokens/stream.h"

/* What a line has, in this order. */
enum { LAYER, HEAD, CIRCUIT, DIRECTION, SIZE, END, RANK, VALUE, ID, TOKEN, COLUMNS };

struct tokens {
    const cli_model *m;
    const circuit_options *o;
    size_t token; /* NOT_GIVEN: directions */
    size_t n, top;
    tg_factors f;
    tg_ends ends;
    table table;
};

static void place_tokens(tg_arena *arena, void *context)
{
    struct tokens *s = context;

    tg_factors_place(arena, &s->f, &s->m->model.config);
    tg_ends_place(arena, &s->ends, &s->m->model.config, s->n, s->top);
}

/* ---- lines */

static table table_of(const struct tokens *s)
{
    static const table_column all[COLUMNS] = {
        [LAYER] = {"layer", "layer", TABLE_SIZE, 7, 0, 0},
        [HEAD] = {"head", "head", TABLE_SIZE, 4, 0, 0},
        [CIRCUIT] = {"circuit", "circuit", TABLE_STRING, 7, 0, 0},
        [DIRECTION] = {"direction", "dir", TABLE_SIZE, 3, 0, 0},
        [SIZE] = {"size", "size", TABLE_DOUBLE, 8, 0, 4},
        [END] = {"end", "end", TABLE_STRING, 6, 0, 0},
        [RANK] = {"rank", "rank", TABLE_SIZE, 4, 0, 0},
        [VALUE] = {"value", "value", TABLE_DOUBLE, 10, 0, 5},
        [ID] = {"id", NULL, TABLE_SIZE, 0, 0, 0},
        [TOKEN] = {"token", "token", TABLE_STRING, 0, 0, 0},
    };
    table t = {.format = s->o->format, .n = COLUMNS};

    memcpy(t.column, all, sizeof all);
    if (s->token != NOT_GIVEN)
        t.hidden = 1u << DIRECTION | 1u << SIZE;
    if (t.format == TABLE_TEXT)
        t.hidden |= 1u << ID;
    return t;
}

static table_cell word(const struct tokens *s, char padded[16], const char *text, int width)
{
    if (s->table.format != TABLE_TEXT)
        return (table_cell){.text = text};
    snprintf(padded, 16, "%*s", width, text);
    return (table_cell){.kind = CELL_WORD, .text = padded};
}

static tg_status print_list(const struct tokens *s, size_t layer, size_t h, size_t d, tg_end end, tg_err *err)
{
    static const char *const names[TG_ENDS] = {"reads", "query", "key", "writes"};
    const tg_tokenizer *tok = s->m->model.tokenizer;
    const bool text = s->table.format == TABLE_TEXT, qk = end == TG_END_QUERY || end == TG_END_KEY;
    const double *values;
    const int32_t *ids = tg_ends_tokens(&values, &s->ends, end, h, d);
    char circuit[16], name[16];
    token_labels labels;
    const tg_status status = text ? labels_make(&labels, tok, ids, s->top, err)
                                  : labels_make_values(&labels, s->table.format, tok, ids, s->top, err);

    for (size_t i = 0; i < s->top && !status; i++) {
        const table_cell cells[COLUMNS] = {
            [LAYER] = {.size = layer},
            [HEAD] = {.size = h},
            [CIRCUIT] = word(s, circuit, qk ? "qk" : "ov", 7),
            [DIRECTION] = {.size = d},
            [SIZE] = {.real = s->ends.size[qk][h * s->f.D + d]},
            [END] = word(s, name, names[end], 6),
            [RANK] = {.size = i},
            [VALUE] = {.real = values[i]},
            [ID] = {.size = (size_t)ids[i]},
            [TOKEN] = {.kind = CELL_WORD, .text = label_of(&labels, i)},
        };

        table_print_line(&s->table, cells);
    }
    labels_free(&labels);
    return status;
}

static tg_status print_layer(const struct tokens *s, size_t layer, tg_err *err)
{
    static const tg_end order[TG_ENDS] = {TG_END_READS, TG_END_WRITES, TG_END_QUERY, TG_END_KEY};
    tg_status status = TG_OK;

    for (size_t h = 0; h < s->f.H; h++) {
        if (!tg_attn_keeps(s->o->filter.head, h))
            continue;
        for (size_t i = 0; i < 2 * s->n && !status; i++)
            if (!(status = print_list(s, layer, h, i % s->n, order[i / s->n * 2], err)))
                status = print_list(s, layer, h, i % s->n, order[i / s->n * 2 + 1], err);
    }
    return status;
}

static void print_explanation(const struct tokens *s)
{
    circuit_print_model(&s->m->model.config);
    if (s->token == NOT_GIVEN)
        printf(
            "# dir, size  singular vectors of OV and QK, strongest first: x OV = sum of size (x . reads) "
            "writes\n"
            "# value      of the tokens with most of the vector: W_E at reads, query, key; W_U at writes\n");
    else
        printf("# writes  tokens that attention to this one makes probable   reads  those that make this one "
               "so\n"
               "# key     those that this one attends to as a query          query  those that attend to "
               "this one\n");
}

/* ---- the job */

static tg_status print_layers(struct tokens *s, tg_err *err)
{
    const cli_model *m = s->m;
    tg_status status = TG_OK;

    for (size_t l = 0; l < m->model.config.n_layer && !status; l++) {
        if (!tg_attn_keeps(s->o->filter.layer, l))
            continue;
        tg_factors_set(&s->f, &m->model, l);
        if (s->token == NOT_GIVEN)
            tg_ends_of_directions(&s->ends, &s->f, &m->model);
        else
            tg_ends_of_token(&s->ends, &s->f, &m->model, s->token);
        if (!(status = cli_model_check(m, err)))
            status = print_layer(s, l, err);
        (void)fflush(stdout);
        if (cli_stdout_failed())
            break; /* cli_close_stdout() reports it */
    }
    return status;
}

/* The id of --token or --token-id. */
static tg_status find_token(size_t *token, const circuit_options *o, const tg_model *model, tg_err *err)
{
    int32_t id;
    tg_status status;

    *token = o->token_id;
    if (!o->token)
        return *token == NOT_GIVEN ? TG_OK
                                   : tg_attn_check_index("token-id", *token, tg_vocab_tokens(model), err);
    if (!(status = cli_text_token(&id, model, "--token", o->token, err)))
        *token = (size_t)id;
    return status;
}

tg_status circuit_print_tokens(const cli_model *m, const circuit_options *o, tg_err *err)
{
    struct tokens s = {.m = m, .o = o, .n = 1};
    tg_arena arena;
    tg_status status;

    if ((status = find_token(&s.token, o, &m->model, err)))
        return status;
    if (s.token == NOT_GIVEN)
        s.n = tg_size_min(o->directions, tg_config_head_dim(&m->model.config));
    s.top = tg_size_min(o->top, tg_vocab_tokens(&m->model));
    if ((status = tg_arena_build(&arena, place_tokens, &s, err)))
        return status;
    s.table = table_of(&s);
    if (!o->no_header && o->format == TABLE_TEXT)
        print_explanation(&s);
    if (!o->no_header)
        table_print_titles(&s.table);
    status = print_layers(&s, err);
    tg_arena_free(&arena);
    return status;
}
