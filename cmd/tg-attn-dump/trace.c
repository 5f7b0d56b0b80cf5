/* One score as a derivation, and its gradient: the options, and the numbers. */
#include <math.h>
#include <string.h>

#include "cmd/tg-attn-dump/trace.h"

/* ---- options */

/* "1,2,3": up to `most` whole numbers; how many, 0 when the text is something else. */
static size_t parse_numbers(size_t *out, size_t most, const char *text)
{
    for (size_t n = 0; n < most && cli_take_size(&text, &out[n]); text++) {
        n++;
        if (*text == '\0')
            return n;
        if (*text != ',')
            break;
    }
    return 0;
}

static int parse_element(attn_trace_options *o)
{
    size_t index[4];

    switch (parse_numbers(index, 4, o->element)) {
    case 3:
        o->at = (tg_attn_index){index[0], ATTN_NONE, index[1], index[2]};
        return CLI_OK;
    case 4:
        o->at = (tg_attn_index){index[0], index[1], index[2], index[3]};
        return CLI_OK;
    default:
        return cli_usage("--trace must be B,H,I,J, or B,I,J with one head, got '%s'", o->element);
    }
}

static int parse_channel(attn_trace_options *o)
{
    size_t channel[2] = {0, ATTN_NONE};

    if (o->channel && parse_numbers(channel, 2, o->channel) == 0)
        return cli_usage("--channel must be D, or D,C, got '%s'", o->channel);
    if (channel[1] != ATTN_NONE && o->through != ATTN_OUT)
        return cli_usage("--channel %s: the second channel is the output's, and goes with --through out",
                         o->channel);
    o->att_channel = channel[0];
    o->out_channel = channel[1];
    return CLI_OK;
}

static int check_backward(const attn_options *o)
{
    const attn_trace_options *t = &o->trace;
    const bool has_model = o->example == ATTN_NONE && !o->qkv,
               targets = t->target || t->target_id != ATTN_NONE;

    if (t->target && t->target_id != ATTN_NONE)
        return cli_usage("--target and --target-id name the same token: give one");
    if (targets && !t->backward)
        return cli_usage("--target is for the gradient: it goes with --backward");
    if (t->backward && has_model && !targets)
        return cli_usage("--backward needs a --target: the loss is that of this token behind the text");
    if (targets && !has_model)
        return cli_usage("--target needs a model; without one, --backward takes the weighted sum's "
                         "--channel for the loss");
    return CLI_OK;
}

int attn_trace_parse(attn_options *o)
{
    attn_trace_options *t = &o->trace;

    if (t->through == ATTN_OUT && (o->example != ATTN_NONE || o->qkv))
        return cli_usage("--through out needs a model: only that has an output projection");
    if (parse_element(t) || parse_channel(t))
        return CLI_USAGE;
    return check_backward(o);
}

/* ---- what is to be traced, now that the sizes are known */

static tg_status check_channel(size_t channel, size_t n, const char *what, tg_err *err)
{
    if (channel < n)
        return TG_OK;
    return tg_fail(err, TG_EUSAGE, "channel %zu of %s is out of range: there are %zu, 0 to %zu", channel,
                   what, n, n - 1);
}

static tg_status find_element(attn_page *p, const attn_options *o, tg_err *err)
{
    const tg_attn_layers *n = &p->subject->layers;
    const size_t D = n->C / n->H, c = o->trace.out_channel;
    tg_status status;

    p->at = o->trace.at;
    if (p->at.h == ATTN_NONE && n->H > 1)
        return tg_fail(err, TG_EUSAGE, "--trace %s: there are %zu heads, so it takes four numbers, B,H,I,J",
                       o->trace.element, n->H);
    if (p->at.h == ATTN_NONE)
        p->at.h = 0;
    p->att_c = o->trace.att_channel;
    p->out_c = c == ATTN_NONE ? p->at.h * D + p->att_c : c;
    if ((status = tg_attn_index_in("layer", o->pick.layer, n->L, err)) ||
        (status = tg_attn_index_check(&p->at, n->B, n->H, n->T, err)) ||
        (status = check_channel(p->att_c, D, "a head", err)))
        return status;
    return check_channel(p->out_c, n->C, "the output", err);
}

/* The token that --target or --target-id names. */
static tg_status find_target(attn_page *p, tg_err *err)
{
    const attn_trace_options *o = p->o;
    const tg_model *model = p->subject->layers.model;
    tg_prompt text = {0};
    char shown[ATTN_LABEL_SIZE];
    tg_status status = TG_OK;

    if (!o->backward || !model)
        return TG_OK;
    if (!o->target) {
        p->target = (int32_t)o->target_id;
        if (o->target_id < model->config.vocab_size)
            return TG_OK;
        return tg_fail(err, TG_EUSAGE, "target %zu is out of range: there are %zu tokens, 0 to %zu",
                       o->target_id, model->config.vocab_size, model->config.vocab_size - 1);
    }
    if ((status = tg_prompt_text(&text, model, o->target, strlen(o->target), err)))
        return status;
    cli_escape(shown, sizeof shown, (const unsigned char *)o->target, strlen(o->target));
    if (text.n == 1)
        p->target = text.ids[0];
    else
        status = tg_fail(err, TG_EUSAGE, "--target must be one token, and '%s' is %zu", shown, text.n);
    tg_prompt_free(&text);
    return status;
}

/* ---- the numbers */

static void place(tg_arena *arena, attn_page *p)
{
    const tg_attn_layers *n = &p->subject->layers;
    const tg_attn_view shape = {.B = n->B, .T = n->T, .C = n->C, .H = n->H};

    tg_attn_trace_place(arena, &p->t, &shape);
    p->w_column = tg_arena_take(arena, n->C, sizeof *p->w_column);
    p->datt = tg_arena_take(arena, n->C / n->H, sizeof *p->datt);
    if (p->o->backward && n->model)
        tg_gradient64_place(arena, &p->g, n->model, p->layer_number, n->T);
}

/* The gradient of the weighted sum: from a model's loss; else the loss is one channel of it. */
static void find_datt(attn_page *p)
{
    const double *of_model = NULL;

    if (p->layer.qkv) {
        tg_gradient64_begin(&p->g, p->layer.residual, p->layer.qkv);
        tg_gradient64_loss(&p->g, p->target);
        tg_gradient64_run(&p->g);
        of_model = p->g.datt + p->at.i * p->C + p->at.h * p->D;
    }
    for (size_t d = 0; d < p->D; d++)
        p->datt[d] = of_model ? of_model[d] : (double)(d == p->att_c);
}

static void compute(attn_page *p)
{
    tg_attn_layers *n = &p->subject->layers;

    (void)tg_attn_layers_find(n, p->layer_number, &p->layer); /* it is in range */
    p->T = n->T;
    p->C = n->C;
    p->H = n->H;
    p->D = n->C / n->H;
    p->q_base = tg_attn_base(&p->layer.view, p->at.b, p->at.i, p->at.h);
    p->k_base = tg_attn_base(&p->layer.view, p->at.b, p->at.j, p->at.h);
    p->offset = tg_attn_offset(&p->layer.view, p->at.b, p->at.h, p->at.i, p->at.j);
    p->masked = p->at.j > p->at.i;
    p->d = p->H == 1 ? 'c' : 'd';
    tg_attn_trace_forward(&p->t, &p->layer.view, p->at);
    if (!p->o->backward)
        return;
    find_datt(p);
    tg_attn_trace_backward(&p->t, p->datt);
}

static bool all_finite(const double *x, size_t n)
{
    bool finite = true;

    for (size_t i = 0; i < n; i++)
        finite = finite && isfinite(x[i]);
    return finite;
}

/* Weights that are finite, but huge, overflow on the way. */
static tg_status check_finite(const attn_page *p, tg_err *err)
{
    const size_t l = p->layer.number, n = p->at.i + 1;

    if (!all_finite(p->t.scores, n) || !all_finite(p->t.probs, n) || !all_finite(p->t.att, p->C))
        return tg_attn_not_finite(l, p->at.h, p->at.i, err);
    if (p->o->backward && !(isfinite(p->g.loss) && all_finite(p->datt, p->D) && all_finite(p->t.dscores, n)))
        return tg_fail(err, TG_EDATA, "layer %zu, head %zu, position %zu: the gradient is not finite", l,
                       p->at.h, p->at.i);
    return TG_OK;
}

tg_status attn_show_trace(attn_subject *s, const attn_options *o, tg_err *err)
{
    attn_page p = {.subject = s, .o = &o->trace};
    tg_arena arena = {0};
    tg_status status;

    p.layer_number = o->pick.layer == TG_ATTN_ALL ? 0 : o->pick.layer;
    p.layer_by_default = o->pick.layer == TG_ATTN_ALL;
    if ((status = find_element(&p, o, err)) || (status = find_target(&p, err)))
        return status;
    place(&arena, &p);
    if ((status = tg_arena_alloc(&arena, err)))
        return status;
    place(&arena, &p);
    compute(&p);
    if (!(status = check_finite(&p, err))) {
        attn_trace_print_forward(&p);
        if (p.o->backward)
            attn_trace_print_backward(&p);
    }
    tg_arena_free(&arena);
    return status;
}
