/* tg-init: a new, untrained model. */
#include "cmd/cli/cli.h"
#include "lib/gpt/config.h"
#include "lib/gpt/model.h"
#include "lib/gpt/params.h"
#include "lib/text/tokenizer.h"

#define YES_NO "yes|no"
#define NOT_GIVEN SIZE_MAX /* a choice left to the preset */

struct options {
    size_t preset;
    tg_config config; /* sizes: 0, and epsilon: 0, when left to the preset */
    size_t activation, layer_norm_weight, layer_norm_bias, linear_bias, tied, head_bias;
    uint64_t seed;
    const char *output; /* NULL: standard output */
};

static int parse(int argc, char **argv, struct options *o)
{
    cli_option options[] = {
        {'P', "preset", CLI_CHOICE, &o->preset, tg_config_presets(), "start from this model", 0, 0, NULL},
        {'o', "output", CLI_TEXT, &o->output, "FILE", "write to FILE, not to standard output", 0, 0, NULL},
        {'s', "seed", CLI_U64, &o->seed, "N", "draw the weights from stream N of random numbers", 0, 0, NULL},
        {0, "n-layer", CLI_SIZE, &o->config.n_layer, "N", "blocks", 1, TG_LAYERS_MAX, NULL},
        {0, "n-head", CLI_SIZE, &o->config.n_head, "N", "attention heads; must divide the width", 1,
         TG_SIZE_LIMIT, NULL},
        {0, "n-embd", CLI_SIZE, &o->config.n_embd, "N", "width: channels of an embedding", 1, TG_SIZE_LIMIT,
         NULL},
        {0, "n-ctx", CLI_SIZE, &o->config.n_ctx, "N", "context: tokens that it sees at a time, at most", 1,
         TG_SIZE_LIMIT, NULL},
        {0, "vocab-size", CLI_SIZE, &o->config.vocab_size, "N",
         "rows of the token embedding, at least as many as the tokenizer has ids", 1, TG_SIZE_LIMIT, NULL},
        {0, "activation", CLI_CHOICE, &o->activation, "gelu_new|gelu",
         "GELU by its tanh formula (GPT-2's) or exact", 0, 0, NULL},
        {0, "layer-norm-weight", CLI_CHOICE, &o->layer_norm_weight, YES_NO, "LayerNorm has gains", 0, 0,
         NULL},
        {0, "layer-norm-bias", CLI_CHOICE, &o->layer_norm_bias, YES_NO, "LayerNorm has biases", 0, 0, NULL},
        {0, "layer-norm-epsilon", CLI_NUMBER, &o->config.layer_norm_epsilon, "X",
         "added to the variance in LayerNorm", 1e-12, 1, NULL},
        {0, "linear-bias", CLI_CHOICE, &o->linear_bias, YES_NO, "the linear layers of a block have biases", 0,
         0, NULL},
        {0, "tied", CLI_CHOICE, &o->tied, YES_NO, "the head is the token embedding, not a matrix of its own",
         0, 0, NULL},
        {0, "head-bias", CLI_CHOICE, &o->head_bias, YES_NO, "the head has a bias", 0, 0, NULL},
        {0},
    };
    const cli_tool tool = {
        .name = "tg-init",
        .usage = "[-P PRESET] [-o FILE] [OPTION]...",
        .summary = "Make a new, untrained model, as an archive (.npz): a preset, changed by the "
                   "other options. The tokenizer is bytes.",
        .examples = "  $ tg-init -o model.npz\n"
                    "  $ tg-init --preset tinygpt --seed 7 > model.npz\n"
                    "  $ tg-init --n-layer 6 --n-head 6 --n-embd 384 --n-ctx 256 -o model.npz",
        .options = options,
    };
    const int n = cli_parse(argc, argv, &tool);

    if (n < 0)
        return CLI_USAGE;
    if (n > 0)
        return cli_usage("unexpected operand '%s': the file to write is named with -o FILE", argv[1]);
    return CLI_OK;
}

/* ---- the config that the options describe */

static bool set_size(size_t *value, size_t given)
{
    const bool change = given != 0 && given != *value;

    if (change)
        *value = given;
    return change;
}

/* Index 0 of "yes|no" is true. */
static bool set_bool(bool *value, size_t given)
{
    const bool change = given != NOT_GIVEN && (given == 0) != *value;

    if (change)
        *value = given == 0;
    return change;
}

/* *changed: it is no longer the preset. */
static tg_config make_config(const struct options *o, bool *changed)
{
    const tg_config *given = &o->config;
    tg_config c = tg_config_preset(o->preset);

    *changed = set_size(&c.n_layer, given->n_layer);
    *changed |= set_size(&c.n_head, given->n_head);
    *changed |= set_size(&c.n_embd, given->n_embd);
    *changed |= set_size(&c.n_ctx, given->n_ctx);
    *changed |= set_size(&c.vocab_size, given->vocab_size);
    *changed |= set_bool(&c.layer_norm_weight, o->layer_norm_weight);
    *changed |= set_bool(&c.layer_norm_bias, o->layer_norm_bias);
    *changed |= set_bool(&c.linear_bias, o->linear_bias);
    *changed |= set_bool(&c.tied, o->tied);
    *changed |= set_bool(&c.head_bias, o->head_bias);
    if (given->layer_norm_epsilon > 0 && given->layer_norm_epsilon != c.layer_norm_epsilon) {
        c.layer_norm_epsilon = given->layer_norm_epsilon;
        *changed = true;
    }
    if (o->activation != NOT_GIVEN) {
        tg_gelu_kind activation = o->activation == 0 ? TG_GELU_TANH : TG_GELU_ERF;

        *changed |= activation != c.activation;
        c.activation = activation;
    }
    return c;
}

/* Check the shape and say what it is, before making it takes time and memory. */
static tg_status announce(const struct options *o, const tg_config *c, bool changed, const tg_tokenizer *tok,
                          tg_err *err)
{
    tg_params table;
    tg_status status;

    if ((status = tg_config_check(c, err)) || (status = tg_model_check_vocab(c, tok, err)) ||
        (status = tg_params_build(&table, c, err)))
        return status;
    cli_say("%s%s: %zu layer%s, %zu head%s, width %zu, context %zu, vocabulary %zu: %s parameters",
            tg_config_preset_name(o->preset), changed ? ", changed" : "", c->n_layer, cli_plural(c->n_layer),
            c->n_head, cli_plural(c->n_head), c->n_embd, c->n_ctx, c->vocab_size, cli_count(table.count));
    tg_params_free(&table);
    return TG_OK;
}

/* ---- the tool */

static tg_status write_model(const struct options *o, const tg_config *c, const tg_tokenizer *tok,
                             const cli_output *out, tg_err *err)
{
    tg_model m;
    tg_status status = tg_model_create(&m, c, tok, o->seed, err);

    if (status)
        return status;
    if (tg_model_write(&m, out->fd, err))
        status = tg_err_in(err, out->name);
    tg_model_free(&m);
    return status;
}

static tg_status run(const struct options *o, tg_err *err)
{
    bool changed;
    const tg_config c = make_config(o, &changed);
    const tg_tokenizer *tok = NULL;
    cli_output out;
    tg_status status;

    if ((status = cli_output_begin(&out, o->output, true, err)))
        return status;
    if ((status = tg_tokenizer_create(&tok, NULL, err)) || (status = announce(o, &c, changed, tok, err)) ||
        (status = write_model(o, &c, tok, &out, err)))
        goto done;
    status = cli_output_commit(&out, err);

done:
    cli_output_abort(&out);
    tg_tokenizer_free(tok);
    /* Whatever is wrong with the config came from the options. */
    if (status == TG_EDATA)
        status = err->code = TG_EUSAGE;
    return status;
}

int main(int argc, char **argv)
{
    struct options o = {
        .preset = TG_PRESET_DEFAULT,
        .activation = NOT_GIVEN,
        .layer_norm_weight = NOT_GIVEN,
        .layer_norm_bias = NOT_GIVEN,
        .linear_bias = NOT_GIVEN,
        .tied = NOT_GIVEN,
        .head_bias = NOT_GIVEN,
    };
    tg_err err = {0};

    cli_init("tg-init");
    if (parse(argc, argv, &o))
        return CLI_USAGE;
    if (run(&o, &err))
        return cli_report(&err);
    return cli_close_stdout();
}
