/* tg-init: a new, untrained model. */
#include <string.h>

#include "cmd/cli/cli.h"
#include "cmd/cli/model.h"
#include "lib/gpt/config.h"
#include "lib/gpt/model.h"
#include "lib/gpt/params.h"
#include "lib/gpt/presets.h"
#include "lib/models/model_archive.h"
#include "lib/text/bare_ids.h"
#include "lib/text/tokenizer.h"

struct options {
    size_t preset;
    tg_config asked; /* valid only where `given` */
    bool given[TG_CONFIG_MEMBERS];
    char name[TG_CONFIG_MEMBERS][CLI_NAME_SIZE]; /* of the options: "n-layer" */
    uint64_t seed;
    const char *tokenizer; /* of -t; NULL: bytes */
    const char *output;    /* NULL: standard output */
};

/* Make the option for a member of the config.  The preset decides its default, so --help shows none. */
static cli_option member(struct options *o, tg_config_id id, const char *metavar, const char *help)
{
    cli_option option =
        cli_field_option(&tg_config_fields.row[id], &o->asked, o->name[id], &o->given[id], metavar, help);

    if (id == TG_CONFIG_LAYER_NORM_EPSILON)
        option.min = 1e-12;
    return option;
}

static bool has_bare_ids(const struct options *o)
{
    return o->tokenizer && strcmp(o->tokenizer, "ids") == 0;
}

static int parse(int argc, char **argv, struct options *o)
{
    cli_option options[] = {
        CLI_CHOICE_OPTION('P', "preset", &o->preset, tg_config_presets(), "start from this preset"),
        CLI_OUTPUT_OPTION('o', "output", &o->output, "FILE", "write to FILE instead of standard output"),
        CLI_FORCE('f'),
        CLI_MODEL_OPTION('t', "tokenizer", &o->tokenizer, "bytes|ids|FILE",
                         "the model's tokenizer, from a file of any kind that tg-tokenize -t takes; 'ids' is "
                         "none: as many ids as --vocab-size, without text (default: bytes)"),
        CLI_U64_OPTION('s', "seed", &o->seed, "N", "seed for the random weights"),
        member(o, TG_CONFIG_N_LAYER, "N", "blocks"),
        member(o, TG_CONFIG_N_HEAD, "N",
               "attention heads: a divisor of the width, unless their channels are set (--head-dim)"),
        member(o, TG_CONFIG_N_KV_HEAD, "N",
               "heads of keys and values, a divisor of the attention heads, which share them"),
        member(o, TG_CONFIG_HEAD_DIM, "N",
               "channels of a head; otherwise the preset's, or the width divided by the heads"),
        member(o, TG_CONFIG_N_EMBD, "N", "width: channels of an embedding"),
        member(o, TG_CONFIG_N_INNER, "N", "channels of the MLP"),
        member(o, TG_CONFIG_N_CTX, "N", "context: maximum number of tokens that the model sees at once"),
        member(o, TG_CONFIG_VOCAB_SIZE, "N",
               "rows of the token embedding, at least as many as the tokenizer has ids; with -t, these "
               "rounded up to a multiple of 64, unless given"),
        member(o, TG_CONFIG_ACTIVATION, NULL,
               "gelu_new is the tanh approximation of GELU, as in GPT-2; gelu is exact; silu is Llama's; "
               "relu2 is the square of ReLU"),
        member(o, TG_CONFIG_ROPE_THETA, "X", "base of the angles by which queries and keys are rotated"),
        member(o, TG_CONFIG_QK_NORM, NULL, "queries and keys are normed"),
        member(o, TG_CONFIG_QKV_BIAS, NULL, "the layers that make queries, keys and values have biases"),
        member(o, TG_CONFIG_WINDOW, "N",
               "keys that a query sees, with its own; 0: all before it.  In the layers that have a window in "
               "the preset, else in all; the model then has at most 64 layers"),
        member(o, TG_CONFIG_LAYER_NORM_WEIGHT, NULL, "LayerNorm has gains"),
        member(o, TG_CONFIG_LAYER_NORM_BIAS, NULL, "LayerNorm has biases"),
        member(o, TG_CONFIG_LAYER_NORM_EPSILON, "X", "added to the variance, or the mean square, in norms"),
        member(o, TG_CONFIG_LINEAR_BIAS, NULL, "the linear layers of a block have biases"),
        member(o, TG_CONFIG_TIED, NULL, "the output head is the token embedding, not a separate matrix"),
        member(o, TG_CONFIG_HEAD_BIAS, NULL, "the output head has a bias"),
        {0},
    };
    const cli_tool tool = {
        .name = "tg-init",
        .usage = "[-P PRESET] [-o FILE] [OPTION]...",
        .summary = "Make a new, untrained model (.npz): a preset, with the changes that the other "
                   "options make.",
        .examples = "  $ tg-init -o model.npz\n"
                    "  $ tg-init --preset baby-llama -o llama.npz\n"
                    "  $ tg-init --preset tinygpt --seed 7 > model.npz\n"
                    "  $ tg-init --n-layer 6 --n-head 6 --n-embd 384 --n-ctx 256 -o model.npz\n"
                    "  $ tg-init -t ids --vocab-size 96 -o model.npz",
        .options = options,
    };
    const int n = cli_parse(argc, argv, &tool);

    if (n < 0)
        return CLI_USAGE;
    if (n > 0)
        return cli_usage("unexpected operand '%s': name the output file with -o FILE", argv[1]);
    if (has_bare_ids(o) && !o->given[TG_CONFIG_VOCAB_SIZE])
        return cli_usage("--tokenizer ids needs --vocab-size, the number of ids");
    return CLI_OK;
}

/* ---- the config that the options describe */

/* Options are for what the preset's family has. */
static tg_status check_given(const struct options *o, tg_err *err)
{
    const tg_config c = tg_config_preset(o->preset);

    for (size_t i = 0; i < TG_CONFIG_MEMBERS; i++)
        if (o->given[i] && !tg_config_has(&c, i))
            return tg_fail(err, TG_EUSAGE, "--%s: models like %s do not have it", o->name[i],
                           tg_config_preset_name(o->preset));
    return TG_OK;
}

/* What tg_config_derive() would cut off: channels that heads do not divide, and windows. */
static tg_status check_derivable(const tg_config *c, tg_err *err)
{
    if (c->window > 0 && c->n_layer > TG_LAYER_BITS)
        return tg_fail(err, TG_EUSAGE,
                       "%zu layers, but a model with a window has at most %d: --window 0 turns it off",
                       c->n_layer, TG_LAYER_BITS);
    return c->head_dim > 0 ? TG_OK : tg_config_check_heads(c->n_head, c->n_embd, TG_EUSAGE, err);
}

/* Set *changed if the options change the preset, whose vocabulary is that of the tokenizer if that is
 * given. */
static tg_status make_config(tg_config *c, bool *changed, const struct options *o, const tg_tokenizer *tok,
                             tg_err *err)
{
    tg_status status;

    *c = tg_config_preset(o->preset);
    *changed = false;
    if (o->tokenizer)
        c->vocab_size = tg_model_vocab_size(tok);
    for (size_t i = 0; i < TG_CONFIG_MEMBERS; i++) {
        const tg_field *f = &tg_config_fields.row[i];

        if (!o->given[i] || tg_field_equal(f, c, &o->asked))
            continue;
        tg_field_copy(f, c, &o->asked);
        *changed = true;
    }
    if (!(status = check_derivable(c, err)))
        tg_config_derive(c);
    return status;
}

/* Check the shape and report it, before making the model takes time and memory. */
static tg_status announce(const struct options *o, const tg_config *c, bool changed, const tg_tokenizer *tok,
                          tg_err *err)
{
    tg_params table;
    tg_status status;

    if ((status = tg_config_check(c, err)) || (status = tg_model_check_vocab(c, tok, err)) ||
        (status = tg_params_build(&table, c, err)))
        return status;
    cli_note("%s%s: %zu layer%s, %zu head%s, width %s, context %s, vocabulary %s: %s parameters",
             tg_config_preset_name(o->preset), changed ? ", changed" : "", c->n_layer, cli_plural(c->n_layer),
             c->n_head, cli_plural(c->n_head), cli_count(c->n_embd), cli_count(c->n_ctx),
             cli_count(c->vocab_size), cli_count(table.count));
    if (!o->tokenizer && !o->given[TG_CONFIG_VOCAB_SIZE] && tg_tokenizer_vocab_size(tok) < c->vocab_size)
        cli_note("the tokenizer is bytes, %s of the %s ids; -t gives it another",
                 cli_count(tg_tokenizer_vocab_size(tok)), cli_count(c->vocab_size));
    tg_params_free(&table);
    return TG_OK;
}

/* ---- the tool */

static tg_status write_model(const struct options *o, const tg_config *c, const tg_tokenizer *tok,
                             const cli_output *out, tg_err *err)
{
    cli_job drawing, writing;
    tg_model m;
    tg_status status =
        tg_model_create_watched(&m, c, tok, o->seed, cli_job_begin(&drawing, "drawing the weights"), err);

    if (status)
        return status;
    if (tg_model_write_watched(&m, out->fd, cli_job_begin(&writing, "writing the model"), err))
        status = tg_err_in(err, out->name);
    cli_progress_end();
    tg_model_free(&m);
    return status;
}

/* An error in the config can only come from the options. */
static tg_status make_model(const struct options *o, const tg_tokenizer *tok, const cli_output *out,
                            tg_err *err)
{
    bool changed;
    tg_config c;
    tg_status status;

    if (!(status = make_config(&c, &changed, o, tok, err)) && !(status = announce(o, &c, changed, tok, err)))
        status = write_model(o, &c, tok, out, err);
    return status == TG_EDATA ? err->code = TG_EUSAGE : status;
}

static tg_status open_tokenizer(const tg_tokenizer **tok, const struct options *o, tg_err *err)
{
    tg_status status;

    if (!has_bare_ids(o))
        return cli_tokenizer_open(tok, o->tokenizer, NULL, err);
    status = tg_bare_ids_create(tok, o->asked.vocab_size, err);
    return status == TG_EDATA ? err->code = TG_EUSAGE : status;
}

static tg_status run(const struct options *o, tg_err *err)
{
    const tg_tokenizer *tok = NULL;
    cli_output out;
    tg_status status;

    if ((status = check_given(o, err)) ||
        (o->tokenizer && (status = cli_check_output_differs_model(o->output, o->tokenizer, err))) ||
        (status = cli_output_begin(&out, o->output, CLI_OUT_MODEL, err)))
        return status;
    if (!(status = open_tokenizer(&tok, o, err)) && !(status = make_model(o, tok, &out, err)))
        status = cli_output_commit(&out, err);
    cli_output_abort(&out);
    tg_tokenizer_free(tok);
    return status;
}

int main(int argc, char **argv)
{
    struct options o = {
        .preset = TG_PRESET_DEFAULT,
        /* out of range, like the other members' 0: not a default */
        .asked = {.activation = (tg_activation)-1, .window = (size_t)-1},
    };
    tg_err err = {0};

    cli_init("tg-init");
    if (parse(argc, argv, &o))
        return CLI_USAGE;
    if (cli_confine(&err) || run(&o, &err))
        return cli_report(&err);
    return cli_close_stdout();
}
