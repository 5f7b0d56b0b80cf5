/* The options of tg-patch. */
#include <string.h>

#include "cmd/cli/model.h"
#include "cmd/tg-patch/job.h"

static const char examples[] =
    "  $ tg-patch -p 'To be' --corrupt 'To do' --answer , --wrong .\n"
    "  $ tg-patch -p 'To be' --corrupt 'To do' --answer , --site z\n"
    "  $ tg-patch -p 'To be' -c 'To do' --metric kl -s mlp --tsv | sort -gk 8\n"
    "  $ tg-patch -p 'To be' -c 'To do' --answer , --ablate zero --keep 0.0,0.mlp\n"
    "  $ tg-patch -p 'To be' -c 'To do' --answer , --path : --attribution --steps 5\n"
    "  $ tg-patch -p 'To be' --corrupt 'To do' --answer , -o patch.npz";

static bool has_answer(const patch_options *o)
{
    return o->answer || o->answer_id != SIZE_MAX;
}

static bool has_wrong(const patch_options *o)
{
    return o->wrong || o->wrong_id != SIZE_MAX;
}

static int check_metric(const patch_options *o)
{
    if ((o->answer && o->answer_id != SIZE_MAX) || (o->wrong && o->wrong_id != SIZE_MAX))
        return cli_usage("an answer is a text or an id: give only one");
    if (o->pairs && (has_answer(o) || has_wrong(o)))
        return cli_usage("--pairs has an answer for each pair: give no other");
    if (has_wrong(o) && o->metric != TG_PATCH_DIFF)
        return cli_usage("a wrong answer is read by --metric diff alone");
    if (has_answer(o) && o->metric == TG_PATCH_KL)
        return cli_usage("--metric kl compares whole predictions: give no answer");
    if (o->metric == TG_PATCH_KL && o->noise && o->attributes && o->steps == 0)
        return cli_usage("--metric kl has no gradient at the clean run, from which --direction noise begins: "
                         "--attribution would say nothing");
    if (o->pairs || o->metric == TG_PATCH_KL)
        return CLI_OK;
    if (!has_answer(o))
        return cli_usage(
            "there is no answer to measure: expected --answer, or --metric kl, which needs none");
    if (o->metric == TG_PATCH_DIFF && !has_wrong(o))
        return cli_usage("--metric diff needs a wrong answer: expected --wrong");
    return CLI_OK;
}

static int check_prompts(const patch_options *o)
{
    const int status = cli_text_check(&o->clean);

    if (o->pairs && (cli_text_given(&o->clean) || cli_text_given(&o->corrupt)))
        return cli_usage("--pairs and a prompt name different texts: give only one");
    if (!o->pairs && !cli_text_given(&o->clean))
        return cli_usage("there is no clean prompt: expected -p TEXT, --ids or --pairs");
    if (!o->pairs && !cli_text_given(&o->corrupt) && !(o->ablates && o->ablation == PATCH_ZERO))
        return cli_usage("there is no corrupt prompt: expected --corrupt or --corrupt-ids");
    if (o->corrupt.text && o->corrupt.ids)
        return cli_usage("--corrupt and --corrupt-ids name different texts: give only one");
    return status ? status : cli_text_check(&o->corrupt);
}

/* Whether heads divide a site. */
static bool is_divided(tg_patch_site site)
{
    return site != TG_PATCH_X && site != TG_PATCH_ATT && site != TG_PATCH_MLP;
}

/* Whether an option that chooses patches of a site is given. */
static bool chooses_patches(const patch_options *o)
{
    return o->site_given || o->each_given || o->layer != TG_PATCH_ALL || o->head != TG_PATCH_ALL ||
           o->position != TG_PATCH_ALL;
}

static int check_ablation(const patch_options *o)
{
    if (!o->ablates && (o->keep || o->without))
        return cli_usage(
            "--keep and --without say what an ablation leaves: expected --ablate zero, mean or resample");
    if (o->keep && o->without)
        return cli_usage("--keep and --without cannot be combined");
    if (o->ablates && (o->attributes || o->direction_given || chooses_patches(o)))
        return cli_usage("--ablate takes --without and --keep, not --attribution, --site, --each, --layer, "
                         "--head, --position or --direction");
    if (o->ablates && o->ablation == PATCH_MEAN && !o->pairs)
        return cli_usage("--ablate mean needs --pairs: the mean of one prompt is that prompt");
    return CLI_OK;
}

static int check_path(const patch_options *o)
{
    if (o->path && !strchr(o->path, ':'))
        return cli_usage("--path must be SENDER:RECEIVER, such as 0.1:1.0.k, got '%s'", o->path);
    if (o->path && (o->ablates || chooses_patches(o)))
        return cli_usage("--path does not go with --ablate, --site, --each, --layer, --head or --position");
    return CLI_OK;
}

/* Patches of a site. */
static int check_sites(const patch_options *o)
{
    const bool by_head = o->each == PATCH_EACH_HEAD || o->each == PATCH_EACH_BOTH || o->head != TG_PATCH_ALL;

    if (by_head && !is_divided(o->site))
        return cli_usage("heads do not divide this site: expected --site q, k, v, pattern or z");
    if (o->position != TG_PATCH_ALL && (o->each == PATCH_EACH_LAYER || o->each == PATCH_EACH_HEAD))
        return cli_usage("--position goes with --each position or both");
    return CLI_OK;
}

static int check_output(const patch_options *o)
{
    const char *list = o->keep ? o->keep : o->without;

    if (o->output && (o->format_given || o->no_header))
        return cli_usage("--output writes an archive: it takes no %s",
                         o->format_given ? "--format" : "--no-header");
    if (o->output && list && strchr(list, ':'))
        return cli_usage("--output writes an archive of heads and MLPs that are ablated, not of edges");
    return CLI_OK;
}

/* Which options go together. */
static int check(const patch_options *o)
{
    if (o->steps_given && !o->attributes)
        return cli_usage("--steps goes with --attribution");
    if (check_ablation(o) || check_path(o) || check_output(o) || (!o->ablates && !o->path && check_sites(o)))
        return CLI_USAGE;
    return check_prompts(o) ? CLI_USAGE : check_metric(o);
}

/* What depends on other options. */
static void set_defaults(patch_options *o)
{
    if (!o->each_given)
        o->each = !is_divided(o->site)          ? PATCH_EACH_POSITION
                  : o->position == TG_PATCH_ALL ? PATCH_EACH_HEAD
                                                : PATCH_EACH_BOTH;
    if (!o->metric_given)
        o->metric = has_wrong(o) || o->pairs ? TG_PATCH_DIFF : TG_PATCH_PROB;
    o->corrupt.ids_option = "--corrupt-ids";
    o->corrupt.bos = o->clean.bos;
    o->corrupt.no_bos = o->clean.no_bos || (o->clean.ids && !o->clean.bos);
}

static int settle(patch_options *o)
{
    set_defaults(o);
    return check(o);
}

#define OPTIONS_MAX 40

/* The options that name prompts and answers; returns their number. */
static size_t list_prompts(cli_option *to, patch_options *o)
{
    const cli_option list[] = {
        CLI_MODEL_OPTION('m', "model", &o->model, "FILE",
                         "the model; '-' is standard input (default: $TG_MODEL, else model.npz)"),
        CLI_ADAPTER_OPTION,
        CLI_TEXT_OPTION('p', "prompt", &o->clean.text, "TEXT", "the clean prompt"),
        CLI_TEXT_OPTION(0, "ids", &o->clean.ids, "IDS", CLI_IDS_HELP),
        CLI_TEXT_OPTION('c', "corrupt", &o->corrupt.text, "TEXT", "the corrupt prompt, of as many tokens"),
        CLI_TEXT_OPTION(0, "corrupt-ids", &o->corrupt.ids, "IDS", "the same as token ids"),
        CLI_TEXT_OPTION(0, "answer", &o->answer, "TEXT", "the token that should follow the clean prompt"),
        CLI_SIZE_OPTION(0, "answer-id", &o->answer_id, "ID", 0, PATCH_INDEX_MAX, "the same as its id"),
        CLI_TEXT_OPTION(0, "wrong", &o->wrong, "TEXT", "the token that the answer is compared with"),
        CLI_SIZE_OPTION(0, "wrong-id", &o->wrong_id, "ID", 0, PATCH_INDEX_MAX, "the same as its id"),
        CLI_INPUT_OPTION(0, "pairs", &o->pairs, "FILE",
                         "several pairs, a line each: prompt, corrupt prompt, answer and wrong answer, "
                         "with tabs between them; the result is of the means of their metrics"),
        CLI_BOS_OPTIONS(&o->clean),
    };

    memcpy(to, list, sizeof list);
    return sizeof list / sizeof *list;
}

/* Those that say what is done, and how it is printed. */
static void list_others(cli_option *to, patch_options *o)
{
    const cli_option list[] = {
        CLI_ENUM_OPTION(0, "metric", &o->metric, TG_PATCH_METRIC_NAMES,
                        "what is measured after the prompt: the answer's logit less the wrong one's, the "
                        "answer's probability or loss, or the divergence from the clean prediction "
                        "(default: diff with a wrong answer or --pairs, else prob)",
                        .given = &o->metric_given),
        CLI_ENUM_OPTION(
            's', "site", &o->site, TG_PATCH_SITE_NAMES,
            "what is carried over: the residual stream, a head's queries, keys, values, pattern or "
            "weighted sums, attention's output or the MLP's",
            .given = &o->site_given),
        CLI_ENUM_OPTION('e', "each", &o->each, PATCH_EACHES,
                        "a patch for each layer, and in it for each position, head, or both (default: head "
                        "where heads divide the site, else position)",
                        .given = &o->each_given),
        CLI_SIZE_OPTION('l', "layer", &o->layer, "L", 0, PATCH_INDEX_MAX, "only this layer, from 0"),
        CLI_SIZE_OPTION('a', "head", &o->head, "H", 0, PATCH_INDEX_MAX, "only this head, from 0"),
        CLI_SIZE_OPTION('t', "position", &o->position, "T", 0, PATCH_INDEX_MAX, "only this position, from 0"),
        CLI_CHOICE_OPTION(0, "direction", &o->direction, "denoise|noise",
                          "carry from the clean run into the corrupt one, or the other way",
                          .given = &o->direction_given),
        CLI_TEXT_OPTION(0, "path", &o->path, "SENDER:RECEIVER",
                        "patch edges, one at a time: the receiver alone reads what the sender writes in the "
                        "other run.  Senders: embed, L.H, L.mlp; receivers: L.H.q, L.H.k, L.H.v, L.H (all "
                        "three), L.mlp, logits; '*' for H: all heads.  Lists with commas; nothing stands for "
                        "all"),
        CLI_FLAG_OPTION(0, "attribution", &o->attributes,
                        "estimate each patch's metric to first order, all by one backward pass"),
        CLI_SIZE_OPTION(0, "steps", &o->steps, "N", 0, PATCH_STEPS_MAX,
                        "with --attribution, integrate gradients: the mean of N on the way from one run to "
                        "the other",
                        .given = &o->steps_given),
        CLI_ENUM_OPTION(0, "ablate", &o->ablation, PATCH_ABLATIONS,
                        "instead, replace heads and MLPs of the clean run by zeros, by their means over the "
                        "corrupt prompts, or by those of the corrupt prompt: each in turn",
                        .given = &o->ablates),
        CLI_TEXT_OPTION(0, "without", &o->without, "LIST",
                        "ablate these, all together: heads and MLPs (L.H,L.*,L.mlp), or edges "
                        "(SENDER:RECEIVER)"),
        CLI_TEXT_OPTION(0, "keep", &o->keep, "LIST",
                        "ablate all but these: how much of the metric they keep, and what each contributes"),
        CLI_ENUM_OPTION('f', "format", &o->format, TABLE_FORMATS,
                        "aligned columns, tab-separated values, or a JSON object for each line",
                        .given = &o->format_given),
        CLI_FLAG_OPTION(0, "no-header", &o->no_header, "leave out the lines before the results"),
        CLI_OUTPUT_OPTION('o', "output", &o->output, "FILE",
                          "write an archive (.npz) of whole arrays instead of lines; '-' is standard output"),
        CLI_FORCE(0),
        CLI_THREADS(&o->threads, "the results"),
        {0},
    };

    memcpy(to, list, sizeof list);
}

int patch_parse(int argc, char **argv, patch_options *o)
{
    cli_option options[OPTIONS_MAX];

    *o = (patch_options){
        .ablation = (patch_ablation)PATCH_ABLATION_KINDS, /* none */
        .metric = (tg_patch_metric_kind)TG_PATCH_METRICS, /* their defaults depend on other options */
        .each = PATCH_EACHES_END,
        .answer_id = SIZE_MAX,
        .wrong_id = SIZE_MAX,
        .layer = TG_PATCH_ALL,
        .head = TG_PATCH_ALL,
        .position = TG_PATCH_ALL};
    const cli_tool tool = {
        .name = "tg-patch",
        .usage = "[-m MODEL] -p TEXT --corrupt TEXT [OPTION]...",
        .summary =
            "Show which activations of a model carry what distinguishes two prompts: replace them in one "
            "run by those of the other, and measure the prediction.",
        .examples = examples,
        .options = options,
    };
    int n;

    list_others(options + list_prompts(options, o), o);
    n = cli_parse(argc, argv, &tool);

    if (n < 0)
        return CLI_USAGE;
    if (n > 0)
        return cli_usage("unexpected operand '%s': a prompt is the TEXT of -p", argv[1]);
    o->noise = o->direction == 1;
    return settle(o);
}
