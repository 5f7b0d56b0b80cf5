/* The options of tg-tokenize, and which of them may be combined. */
#include "cmd/tg-tokenize/options.h"

#include <string.h>

/* The options that select the work, and --pattern. */
struct given {
    bool decode, count, ids, pieces, offsets, to, pattern, lines;
};

static const char examples[] = "  $ tg-tokenize < text | tg-train\n"
                               "  $ tg-tokenize -t char -o tokens.npz text\n"
                               "  $ tg-tokenize -d tokens.npz | head\n"
                               "  $ tg-tokenize -c text\n"
                               "  $ tg-tokenize --offsets text | head";

static int read_words(int argc, char **argv, tokenize_options *o, struct given *g)
{
    cli_option options[] = {
        {'t', "tokenizer", CLI_MODEL, &o->tokenizer, "bytes|char|FILE",
         "bytes; char, the characters of the text; or a FILE with a tokenizer (default: bytes)", 0, 0, NULL},
        {'m', "model", CLI_MODEL, &o->model, "FILE", "use the tokenizer of this model", 0, 0, NULL},
        {0, "pattern", CLI_ENUM, &o->pattern, TG_SPLIT_NAMES,
         "how a .tiktoken file's tokenizer splits text into pieces, which the file does not store", 0, 0,
         &g->pattern},
        {'d', "decode", CLI_FLAG, &g->decode, NULL,
         "turn token archives back into text; with --ids, decimal ids", 0, 0, NULL},
        {'c', "count", CLI_FLAG, &g->count, NULL,
         "print the total number of tokens in all FILEs; each may be text, counted as if it were tokenized, "
         "or a token archive, recognized by its first four bytes",
         0, 0, NULL},
        {0, "ids", CLI_FLAG, &g->ids, NULL,
         "print the ids, one per line, of text or of token archives, recognized likewise", 0, 0, NULL},
        {0, "pieces", CLI_FLAG, &g->pieces, NULL, "print the tokens' texts instead, quoted", 0, 0, NULL},
        {0, "offsets", CLI_FLAG, &g->offsets, NULL,
         "print a table: id, offset of the token's first byte and of the byte after it, text; if the "
         "tokenizer changes text (Unicode's NFC), these are offsets in the changed text, and a message says "
         "so",
         0, 0, NULL},
        {'f', "format", CLI_ENUM, &o->lines, TOKENIZE_LINES,
         "with --offsets: tab-separated values, or a JSON object on each line", 0, 0, &g->lines},
        {0, "no-header", CLI_FLAG, &o->no_header, NULL,
         "with --offsets: leave out the line of titles of tab-separated values", 0, 0, NULL},
        {0, "to", CLI_ENUM, &o->format, TG_VOCAB_FORMATS, "write the tokenizer itself, in this format", 0, 0,
         &g->to},
        {0, "special", CLI_FLAG, &o->special, NULL,
         "turn the texts of special tokens, such as <|endoftext|>, into these tokens", 0, 0, NULL},
        {0, "eot", CLI_FLAG, &o->eot, NULL, "add the end-of-text token after each document; each FILE is one",
         0, 0, NULL},
        {0, "separator", CLI_TEXT, &o->separator, "LINE",
         "with --eot: such a line, which is dropped, ends a document", 0, 0, NULL},
        {'0', "null", CLI_FLAG, &o->null, NULL, "with --eot: a NUL byte, which is dropped, ends a document",
         0, 0, NULL},
        {'o', "output", CLI_OUTPUT, &o->output, "FILE", "write to FILE instead of standard output", 0, 0,
         NULL},
        CLI_FORCE(0),
        CLI_THREADS(&o->threads, "the tokens"),
        {0},
    };
    const cli_tool tool = {
        .name = "tg-tokenize",
        .usage = "[-t TOK | -m MODEL] [OPTION]... [FILE]...",
        .summary = "Turn text into a token archive (.npz). With no FILE, or when FILE is -, read standard "
                   "input. All FILEs together are one text.",
        .examples = examples,
        .options = options,
        .files = true,
    };

    return cli_parse(argc, argv, &tool);
}

/* ---- which options go together */

static int find_work(tokenize_options *o, const struct given *g)
{
    const struct {
        const char *name;
        tokenize_work work;
        bool given;
    } one_of[] = {
        {"decode", g->ids ? WORK_UNLIST : WORK_DECODE, g->decode},
        {"count", WORK_COUNT, g->count},
        {"ids", WORK_IDS, g->ids && !g->decode},
        {"pieces", WORK_PIECES, g->pieces},
        {"offsets", WORK_OFFSETS, g->offsets},
        {"to", WORK_CONVERT, g->to},
    };
    const char *chosen = NULL;

    o->work = WORK_ARCHIVE;
    for (size_t i = 0; i < sizeof one_of / sizeof one_of[0]; i++) {
        if (!one_of[i].given)
            continue;
        if (chosen)
            return cli_usage("--%s and --%s cannot be combined", chosen, one_of[i].name);
        chosen = one_of[i].name;
        o->work = one_of[i].work;
    }
    return CLI_OK;
}

static int check_lines(const tokenize_options *o, const struct given *g)
{
    if (o->work != WORK_OFFSETS && (g->lines || o->no_header))
        return cli_usage("--%s goes with --offsets", g->lines ? "format" : "no-header");
    return CLI_OK;
}

static int check_tokenizer(const tokenize_options *o)
{
    if (o->tokenizer && o->model)
        return cli_usage("--tokenizer and --model both name a tokenizer: give only one");
    if (o->split && !o->tokenizer)
        return cli_usage("--pattern goes with -t FILE for a .tiktoken file");
    if (o->work == WORK_UNLIST && !o->tokenizer && !o->model)
        return cli_usage("--decode --ids needs the ids' tokenizer: give it with -t or -m");
    if (o->characters && (o->work == WORK_DECODE || o->work == WORK_UNLIST))
        return cli_usage("--decode needs -t FILE: a \"char\" tokenizer is built from a text");
    return CLI_OK;
}

static int check_text_options(const tokenize_options *o)
{
    const bool text = o->work < WORK_DECODE;
    const char *name = o->eot ? "eot" : o->separator ? "separator" : o->null ? "null" : "special";

    if (!text && (o->eot || o->separator || o->null || o->special))
        return cli_usage("--%s applies only to encoding: it cannot be combined with --%s", name,
                         o->work == WORK_CONVERT ? "to" : "decode");
    if ((o->separator || o->null) && !o->eot)
        return cli_usage("--%s goes with --eot", name);
    if (o->separator && o->null)
        return cli_usage("--separator and --null cannot be combined");
    if (o->separator && strchr(o->separator, '\n'))
        return cli_usage("--separator must be one line");
    return CLI_OK;
}

static int check_files(const tokenize_options *o, int n)
{
    if (o->work == WORK_COUNT && o->output)
        return cli_usage("--count prints to standard output: it cannot be combined with --output");
    if (o->work == WORK_CONVERT && n > 0 && !o->characters)
        return cli_usage("--to writes the tokenizer that -t or -m names, and reads no FILE");
    return CLI_OK;
}

int parse_options(int argc, char **argv, tokenize_options *o)
{
    struct given g = {0};
    int n;

    /* beyond their lists: not defaults */
    *o = (tokenize_options){.pattern = TG_SPLITS, .format = (tg_vocab_format)-1};
    if ((n = read_words(argc, argv, o, &g)) < 0)
        return CLI_USAGE;
    o->characters = o->tokenizer && strcmp(o->tokenizer, "char") == 0;
    o->split = g.pattern ? &o->pattern : NULL;
    o->files = cli_files_of(argv, n);
    if (find_work(o, &g) || check_lines(o, &g) || check_tokenizer(o) || check_text_options(o) ||
        check_files(o, n))
        return CLI_USAGE;
    return CLI_OK;
}
