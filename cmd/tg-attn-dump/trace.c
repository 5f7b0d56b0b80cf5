/* --trace: one score as a derivation, and its gradient. */
#include "cmd/tg-attn-dump/trace.h"

#include <string.h>

#include "cmd/tg-attn-dump/places.h"

enum through { THROUGH_ATT, THROUGH_OUT };

/* The job's own options. */
static struct {
    const char *element, *channel; /* NULL: not given */
    size_t through;                /* or NOT_GIVEN */
    bool backward;
    /* parsed by check() */
    tg_attn_index at;
    bool has_head;                  /* one of the indices is a head */
    size_t channels[2], n_channels; /* of the weighted sum, and of the output */
} given = {.through = NOT_GIVEN};

/* ---- parsing */

/* Parse "1,2,3": up to `max` whole numbers; returns how many, 0 for any other text. */
static size_t parse_numbers(size_t *out, size_t max, const char *text)
{
    for (size_t n = 0; n < max && cli_take_size(&text, &out[n]); text++) {
        n++;
        if (*text == '\0')
            return n;
        if (*text != ',')
            break;
    }
    return 0;
}

static int parse_element(void)
{
    size_t n[4];
    const size_t count = parse_numbers(n, 4, given.element);

    given.has_head = count == 4;
    given.at = count == 4 ? (tg_attn_index){n[0], n[1], n[2], n[3]} : (tg_attn_index){n[0], 0, n[1], n[2]};
    return count >= 3 ? CLI_OK
                      : cli_usage("--trace must be B,H,I,J, or B,I,J with one head, got '%s'", given.element);
}

static int parse_channels(void)
{
    if (!given.channel)
        return CLI_OK;
    given.n_channels = parse_numbers(given.channels, 2, given.channel);
    if (given.n_channels == 0)
        return cli_usage("--channel must be D, or D,C, got '%s'", given.channel);
    if (given.n_channels == 2 && given.through != THROUGH_OUT)
        return cli_usage("--channel %s: the second channel is that of the output, and needs --through out",
                         given.channel);
    return CLI_OK;
}

static int check_backward(bool has_model, bool has_target)
{
    if (has_target && !given.backward)
        return cli_usage("--target needs --backward: it is the target of the loss");
    if (given.backward && has_model && !has_target)
        return cli_usage("--backward needs --target: the loss is that of predicting this token next");
    if (has_target && !has_model)
        return cli_usage("--target needs a model; without one, --backward takes the weighted sum's "
                         "--channel for the loss");
    return CLI_OK;
}

static int check(const attn_options *o)
{
    const bool has_model = o->example == NOT_GIVEN && !o->qkv;

    if (given.through == THROUGH_OUT && !has_model)
        return cli_usage("--through out needs a model: only a model has an output projection");
    if (parse_element() || parse_channels())
        return CLI_USAGE;
    return check_backward(has_model, options_have_target(o));
}

/* ---- what to derive, now that the model is known */

static tg_status find_what(tg_derive_what *what, const attn_input *in, const attn_options *o, tg_err *err)
{
    const tg_attn_layers *n = &in->layers;
    const size_t d = given.channels[0];

    *what = (tg_derive_what){
        .layer = o->filter.layer == TG_ATTN_ALL ? 0 : o->filter.layer,
        .at = given.at,
        .channel = d,
        .out_channel = given.n_channels == 2 ? given.channels[1] : (given.at.h * n->D + d) % n->C,
        .backward = given.backward,
    };
    if (!given.has_head && n->H > 1)
        return tg_fail(err, TG_EUSAGE,
                       "--trace %s must be B,H,I,J, four numbers, because there are %zu heads", given.element,
                       n->H);
    return given.backward && n->model ? input_find_target(&what->target, o, n->model, err) : TG_OK;
}

static trace_page page_of(const attn_input *in, const attn_options *o, const tg_derivation *d)
{
    const tg_attn_layers *n = &in->layers;
    const tg_attn_index at = d->what.at;
    const tg_qkv_view *view = &d->layer.view;
    const size_t g = tg_attn_kv_head(view, at.h), Q = n->H * n->D, KV = n->KV * n->D;
    const bool one = places_one_head(view);

    return (trace_page){.in = in,
                        .d = d,
                        .T = n->T,
                        .C = n->C,
                        .H = n->H,
                        .KV = n->KV,
                        .D = n->D,
                        .b = at.b,
                        .h = at.h,
                        .i = at.i,
                        .j = at.j,
                        .g = g,
                        .one = one,
                        .divide = places_divide(view),
                        .plain = !(view->rule.scale > 0 || view->rule.cap > 0 || view->rule.window > 0),
                        .after = at.j > at.i,
                        .rule = &view->rule,
                        .q = {"q", d->q_base, 1, d->t.q + at.i * Q + at.h * n->D, 1},
                        .k = {"k", d->k_base, 1, d->t.k + at.j * KV + g * n->D, 1},
                        .letter = one ? 'c' : 'd',
                        .att = given.through != NOT_GIVEN,
                        .out = given.through == THROUGH_OUT,
                        .any_layer = o->filter.layer == TG_ATTN_ALL};
}

static tg_status show(attn_input *in, const attn_options *o, tg_err *err)
{
    trace_page p;
    tg_derivation d;
    tg_derive_what what;
    tg_status status;

    if ((status = find_what(&what, in, o, err)) || (status = tg_derive(&d, &in->layers, &what, err)))
        return status;
    p = page_of(in, o, &d);
    trace_print_forward(&p);
    if (what.backward)
        trace_print_backward(&p);
    tg_derivation_free(&d);
    return TG_OK;
}

/* ---- the job */

static const cli_option own[] = {
    CLI_TEXT_OPTION(0, "trace", &given.element, "B,H,I,J",
                    "derive this score step by step; B,I,J with one head"),
    CLI_CHOICE_OPTION(0, "through", &given.through, "att|out",
                      "continue the trace to the weighted sum, or to the output projection"),
    CLI_TEXT_OPTION(0, "channel", &given.channel, "D[,C]",
                    "trace channel D of the head's weighted sum, and C of the output"),
    CLI_FLAG_OPTION(0, "backward", &given.backward, "trace the score's gradient as well"),
};

const job trace_job = {
    .options = own,
    .n_options = sizeof own / sizeof own[0],
    .about = "derives a single score",
    .accepts = "model|prompt|example|qkv|layer|heads|target|threads",
    .check = check,
    .show = show,
};
