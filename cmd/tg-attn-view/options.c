/* The options of tg-attn-view. */
#include "cmd/tg-attn-view/options.h"

#include <strings.h>

#define INDEX_MAX 1e15 /* for --batch, until the dump is known */
#define WIDTH_MIN 20
#define WIDTH_MAX 10000

/* ---- the format: an option, or the ending of the output's name */

const struct view_format view_formats[FORMATS] = {
    [ANSI] = {"ansi", CLI_OUT_TEXT},
    [PNG] = {"png", CLI_OUT_PNG},
    [SVG] = {"svg", CLI_OUT_SVG},
    [HTML] = {"html", CLI_OUT_PAGE},
};

static const struct {
    const char *text;
    enum format format;
} endings[] = {
    {"png", PNG},   {"svg", SVG},   {"html", HTML}, {"htm", HTML},   {"txt", ANSI},  {"ans", ANSI},
    {"ansi", ANSI}, {"pdf", OTHER}, {"jpg", OTHER}, {"jpeg", OTHER}, {"gif", OTHER}, {"webp", OTHER},
};

/* Set *format to what the ending stands for.  False: it stands for nothing known. */
static bool format_of(const char *ending, enum format *format)
{
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        *format = endings[i].format;
        if (strcasecmp(ending, endings[i].text) == 0)
            return true;
    }
    return false;
}

/* With an option, an ending may be unknown, but not another format's. */
static int choose_format(struct options *o)
{
    const char *ending = o->output ? cli_ending(o->output) : NULL;
    enum format format = ANSI;
    const bool known = ending && format_of(ending, &format);
    size_t given = 0;

    for (enum format f = ANSI; f < FORMATS; f++) {
        if (o->wanted[f])
            o->format = f;
        given += o->wanted[f];
    }
    if (given > 1)
        return cli_usage("--ansi, --png, --svg and --html cannot be combined");
    if (!ending || (given > 0 && !known))
        return CLI_OK;
    if (!known)
        return cli_usage("%s: the ending .%s stands for no format: use .png, .svg, .html or .txt, or "
                         "choose with --png, --svg, --html or --ansi",
                         o->output, ending);
    if (format == OTHER)
        return cli_usage(
            "%s: there is no .%s: formats are PNG (.png), SVG (.svg), HTML (.html) and text (.txt)",
            o->output, ending);
    if (given > 0 && format != o->format)
        return cli_usage("%s: the ending .%s is not that of --%s", o->output, ending,
                         view_formats[o->format].name);
    o->format = format;
    return CLI_OK;
}

/* ---- options */

static const char *const standard_input = "-";

/* Parse "0,3", or nothing. */
static int parse_list(const char *option, const char *text, view_list *list)
{
    const char *at = text;

    while (at && list->n < VIEW_LIST_MAX && cli_take_size(&at, &list->index[list->n])) {
        list->n++;
        if (*at == '\0')
            return CLI_OK;
        if (*at++ != ',')
            break;
    }
    if (!at)
        return CLI_OK;
    return cli_usage("--%s must be numbers, separated by commas, at most %d, got '%s'", option, VIEW_LIST_MAX,
                     text);
}

/* Check that the format and what is shown have the options that are given. */
static int check_pairs(const struct options *o)
{
    if (o->format != ANSI && (o->color_given || o->width > 0))
        return cli_usage("--color and --width are for the terminal, and do not go with --%s",
                         view_formats[o->format].name);
    if (o->headvis && (o->output || o->format != ANSI || o->wanted[ANSI] || o->show_given || o->scale_given ||
                       o->color_given || o->paper_given || o->width > 0))
        return cli_usage("--headvis writes files for HeadVis, not a picture: it takes only --layer, --head, "
                         "--batch and --title");
    if (o->headvis && cli_is_dash(o->headvis))
        return cli_usage("--headvis writes a directory, not standard output");
    if (o->format != HTML && o->whole)
        return cli_usage("--whole is for pages, and does not go with --%s", view_formats[o->format].name);
    if (o->show == SHOW_STEPS && o->format != SVG)
        return cli_usage("--show steps is an SVG image: -o FILE.svg, or --svg");
    if (o->format == HTML && o->paper_given)
        return cli_usage("--paper does not go with --html: a page has a switch for light and dark");
    if (o->scale_given && o->show == SHOW_SCORES && o->scale != TG_SCALE_LINEAR && o->scale != TG_SCALE_AUTO)
        return cli_usage("--scale is for probabilities: scores may be negative, and are always linear");
    return CLI_OK;
}

/* What follows from the options, and the n operands. */
static int settle(struct options *o, char **argv, size_t n)
{
    if (choose_format(o) || parse_list("layer", o->layer_list, &o->layers) ||
        parse_list("head", o->head_list, &o->heads) || check_pairs(o))
        return CLI_USAGE;
    if (n > 1 && o->format != HTML && !o->headvis)
        return cli_usage("unexpected operand '%s': several dumps make a page, -o FILE.html", argv[2]);
    if (n == 0 && !cli_stdin_has_data())
        return cli_usage("no dump: name a file, or give one on standard input");
    o->input = n > 0 ? (const char *const *)argv + 1 : &standard_input;
    o->n_inputs = n > 0 ? n : 1;
    o->stage = o->show == SHOW_SCORES ? TG_ATTN_SCORES : TG_ATTN_PROBS;
    return CLI_OK;
}

static const char examples[] = "  $ tg-attn-dump -p 'To be' -o dump.npz\n"
                               "  $ tg-attn-view dump.npz\n"
                               "  $ tg-attn-view -l 0 -a 1 dump.npz\n"
                               "  $ tg-attn-view -o attention.html dump.npz\n"
                               "  $ tg-attn-view -o both.html before.npz after.npz\n"
                               "  $ tg-attn-view -o layers.html dump.npz lens.npz parts.npz\n"
                               "  $ tg-attn-view -o sites.html x.npz att.npz mlp.npz\n"
                               "  $ tg-attn-view --headvis data dump.npz\n"
                               "  $ tg-attn-view lens.npz";

int options_parse(int argc, char **argv, struct options *o)
{
    cli_option options[] = {
        CLI_FLAG_OPTION(0, "ansi", &o->wanted[ANSI], "draw in the terminal, or as text (the default)"),
        CLI_FLAG_OPTION(0, "png", &o->wanted[PNG],
                        "make a PNG image: one head with its tokens, or a sheet of all"),
        CLI_FLAG_OPTION(0, "svg", &o->wanted[SVG],
                        "make that image as SVG: sharp at any size, its labels are text"),
        CLI_FLAG_OPTION(0, "html", &o->wanted[HTML], "make an HTML page that shows every number"),
        CLI_OUTPUT_OPTION('o', "output", &o->output, "FILE",
                          "write to FILE; its ending, .png, .svg, .html or .txt, chooses the format"),
        CLI_OUTPUT_OPTION(0, "headvis", &o->headvis, "DIR",
                          "write the files that Anthropic's HeadVis reads to a directory, with a text for "
                          "each dump"),
        CLI_FORCE(0),
        CLI_TEXT_OPTION('l', "layer", &o->layer_list, "L,...", "only these layers, from 0"),
        CLI_TEXT_OPTION('a', "head", &o->head_list, "H,...",
                        "only these heads, from 0; a page opens at the lowest"),
        CLI_SIZE_OPTION('b', "batch", &o->batch, "B", 0, INDEX_MAX,
                        "the sequence of the batch to draw, from 0"),
        CLI_FLAG_OPTION(0, "whole", &o->whole,
                        "with --html: put in all that the dump has, however heavy the page gets"),
        CLI_TEXT_OPTION(0, "title", &o->title, "TEXT", "what is above the picture, or a page's title"),
        CLI_CHOICE_OPTION(
            0, "show", &o->show, SHOWS,
            "what to draw. Of attention: probs, scores, or steps, of one head of a small example "
            "from q and k to att, as SVG. Of a lens: probs, rank, logit, entropy or kl. Of an "
            "attribution: parts or keys. Of patches: effect or metric. Of ablations: change, faithfulness or "
            "metric. Of a circuit: copying to "
            "qk_norm; of its pairs: k_excess to v",
            .given = &o->show_given),
        CLI_CHOICE_OPTION(
            0, "scale", &o->scale, TG_SCALE_KINDS,
            "the colour scale of probabilities; auto follows the data; scores are always linear",
            .given = &o->scale_given),
        CLI_CHOICE_OPTION(0, "color", &o->color, VIEW_COLORS,
                          "colours in the terminal; auto: those that it supports", .given = &o->color_given),
        CLI_ENUM_OPTION(0, "paper", &o->paper, VIEW_PAPERS,
                        "the background; auto: a terminal's, if COLORFGBG tells, and light for images",
                        .given = &o->paper_given),
        CLI_SIZE_OPTION('w', "width", &o->width, "N", WIDTH_MIN, WIDTH_MAX,
                        "width of text output, in columns (default: the terminal's)"),
        {0},
    };
    const cli_tool tool = {
        .name = "tg-attn-view",
        .usage = "[--ansi|--png|--svg|--html] [OPTION]... [DUMP]...",
        .summary =
            "Draw the attention that tg-attn-dump -o wrote: in the terminal, as an image, or as a page; and "
            "what tg-lens, tg-patch and tg-circuit wrote with -o: in the terminal, as an image, or on the "
            "page of a dump; and patches on a page of their own.",
        .examples = examples,
        .options = options,
        .files = true,
    };
    const int n = cli_parse(argc, argv, &tool);

    if (n < 0)
        return CLI_USAGE;
    return settle(o, argv, (size_t)n);
}
