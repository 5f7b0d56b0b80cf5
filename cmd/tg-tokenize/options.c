/* The options of tg-tokenize, and which of them may be combined. */
#include "cmd/cli/text.h"
#include "cmd/tg-tokenize/job.h"

#include <string.h>

/* The options that select the work, and --pattern. */
struct given {
    bool decode, count, ids, pieces, offsets, to, pattern, lines, chat, pairs, template;
};

static const char examples[] = "  $ tg-tokenize < text | tg-train\n"
                               "  $ tg-tokenize -t char -o tokens.npz text\n"
                               "  $ tg-tokenize -d tokens.npz | head\n"
                               "  $ tg-tokenize -c text\n"
                               "  $ tg-tokenize --offsets text | head";

static const char summary[] =
    "Turn text into a token archive (.npz). With no FILE, or when FILE is -, read standard "
    "input. All FILEs together are one text, unless --chat or --prompt-completion is given: "
    "then each line is a document.";

static const char count_help[] =
    "print the total number of tokens in all FILEs; each may be text, counted as if it "
    "were tokenized, or a token archive, recognized by its first four bytes";
static const char offsets_help[] =
    "print a table: id, offset of the token's first byte and of the byte after it, text; "
    "if the tokenizer changes text (Unicode's NFC), these are offsets in the changed "
    "text, and a message says so";
static const char cut_help[] =
    "with --chat or --prompt-completion, and -m: also write documents that are longer "
    "than the model's context, which tg-train cuts into windows";
static const char chat_help[] =
    "the FILEs are conversations, of which tg-train learns only the answers: each line "
    "is a JSON object with \"messages\"";
static const char pairs_help[] =
    "the FILEs are examples, of which tg-train learns only the completions: each line is "
    "a JSON object with \"prompt\" and \"completion\"";

static int read_words(int argc, char **argv, tokenize_options *o, struct given *g)
{
    cli_option options[] = {
        CLI_MODEL_OPTION(
            't', "tokenizer", &o->tokenizer, "bytes|char|FILE",
            "bytes; char, the characters of the text; or a FILE with a tokenizer (default: bytes)"),
        CLI_MODEL_OPTION('m', "model", &o->model, "FILE", "use the tokenizer of this model"),
        CLI_ENUM_OPTION(
            0, "pattern", &o->pattern, TG_SPLIT_NAMES,
            "how a .tiktoken file's tokenizer splits text into pieces, which the file does not store",
            .given = &g->pattern),
        CLI_FLAG_OPTION('d', "decode", &g->decode,
                        "turn token archives back into text; with --ids, decimal ids"),
        CLI_FLAG_OPTION('c', "count", &g->count, count_help),
        CLI_FLAG_OPTION(0, "ids", &g->ids,
                        "print the ids, one per line, of text or of token archives, recognized likewise"),
        CLI_FLAG_OPTION(0, "pieces", &g->pieces, "print the tokens' texts instead, quoted"),
        CLI_FLAG_OPTION(0, "offsets", &g->offsets, offsets_help),
        CLI_ENUM_OPTION('f', "format", &o->lines, TOKENIZE_LINES,
                        "with --offsets: tab-separated values, or a JSON object on each line",
                        .given = &g->lines),
        CLI_FLAG_OPTION(0, "no-header", &o->no_header,
                        "with --offsets: leave out the line of titles of tab-separated values"),
        CLI_ENUM_OPTION(0, "to", &o->format, TG_VOCAB_FORMATS, "write the tokenizer itself, in this format",
                        .given = &g->to),
        CLI_FLAG_OPTION(0, "chat", &g->chat, chat_help),
        CLI_TEMPLATE_OPTION(&o->template, &g->template),
        CLI_FLAG_OPTION(0, "prompt-completion", &g->pairs, pairs_help),
        CLI_FLAG_OPTION(0, "cut", &o->cut, cut_help),
        CLI_FLAG_OPTION(0, "special", &o->special,
                        "turn the texts of special tokens, such as <|endoftext|>, into these tokens"),
        CLI_FLAG_OPTION(0, "bos", &o->bos,
                        "add the token that begins a text, such as <s>, before each document; each FILE is "
                        "one"),
        CLI_FLAG_OPTION(0, "no-bos", &o->no_bos,
                        "with --prompt-completion or --template plain: add none, even if the model of -m "
                        "begins its texts with one"),
        CLI_FLAG_OPTION(0, "eot", &o->eot, "add the end-of-text token after each document; each FILE is one"),
        CLI_TEXT_OPTION(0, "separator", &o->separator, "LINE",
                        "with --eot or --bos: such a line, which is dropped, ends a document"),
        CLI_FLAG_OPTION('0', "null", &o->null,
                        "with --eot or --bos: a NUL byte, which is dropped, ends a document"),
        CLI_OUTPUT_OPTION('o', "output", &o->output, "FILE", "write to FILE instead of standard output"),
        CLI_FORCE(0),
        CLI_THREADS(&o->threads, "the tokens"),
        {0},
    };
    const cli_tool tool = {
        .name = "tg-tokenize",
        .usage = "[-t TOK | -m MODEL] [OPTION]... [FILE]...",
        .summary = summary,
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
    const bool documents = o->bos || o->eot;
    const char *name = o->bos         ? "bos"
                       : o->eot       ? "eot"
                       : o->separator ? "separator"
                       : o->null      ? "null"
                                      : "special";

    if (!text && (documents || o->separator || o->null || o->special))
        return cli_usage("--%s applies only to encoding: it cannot be combined with --%s", name,
                         o->work == WORK_CONVERT ? "to" : "decode");
    if ((o->separator || o->null) && !documents)
        return cli_usage("--%s goes with --eot or --bos", name);
    if (o->separator && o->null)
        return cli_usage("--separator and --null cannot be combined");
    if (o->separator && strchr(o->separator, '\n'))
        return cli_usage("--separator must be one line");
    return CLI_OK;
}

/* A template with tokens of its own says what begins a conversation; plain must be named. */
static int check_bos(const tokenize_options *o, const struct given *g)
{
    const char *name = o->bos ? "bos" : "no-bos";

    if (o->bos && o->no_bos)
        return cli_usage("--bos and --no-bos cannot be combined");
    if ((o->bos || o->no_bos) && g->chat && o->template != TG_CHAT_PLAIN)
        return cli_usage("--chat and --%s cannot be combined, except with --template plain", name);
    if (o->no_bos && !o->examples)
        return cli_usage("--no-bos goes with --prompt-completion, or with --chat --template plain");
    return CLI_OK;
}

static int check_examples(tokenize_options *o, const struct given *g)
{
    const char *name = g->chat ? "chat" : "prompt-completion";
    const char *other = o->separator              ? "separator"
                        : o->null                 ? "null"
                        : o->special              ? "special"
                        : o->eot                  ? "eot"
                        : o->characters           ? "tokenizer char"
                        : o->work == WORK_DECODE  ? "decode"
                        : o->work == WORK_UNLIST  ? "decode"
                        : o->work == WORK_CONVERT ? "to"
                        : o->work == WORK_OFFSETS ? "offsets"
                        : g->pairs && g->chat     ? "prompt-completion"
                                                  : NULL;

    o->examples = g->chat ? EXAMPLES_CHAT : g->pairs ? EXAMPLES_PAIRS : EXAMPLES_NONE;
    if (o->examples && other)
        return cli_usage("--%s and --%s cannot be combined", name, other);
    if (g->template && !g->chat)
        return cli_usage("--template goes with --chat");
    if (o->cut && (!o->examples || !o->model))
        return cli_usage("--cut goes with --%s and -m, which says how much its model sees", name);
    return check_bos(o, g);
}

static int check_files(const tokenize_options *o, int n)
{
    if (o->work == WORK_COUNT && o->output)
        return cli_usage("--count prints to standard output: it cannot be combined with --output");
    if (o->work == WORK_CONVERT && n > 0 && !o->characters)
        return cli_usage("--to writes the tokenizer that -t or -m names, and reads no FILE");
    return CLI_OK;
}

const char *tokenizer_file(const tokenize_options *o)
{
    const bool built_in = !o->tokenizer || o->characters || strcmp(o->tokenizer, "bytes") == 0;

    return built_in ? o->model : o->tokenizer;
}

int parse_options(int argc, char **argv, tokenize_options *o)
{
    struct given g = {0};
    int n;

    /* beyond their lists: not defaults */
    *o = (tokenize_options){
        .pattern = TG_SPLITS, .format = (tg_vocab_format)-1, .template = TG_CHAT_TEMPLATES};
    if ((n = read_words(argc, argv, o, &g)) < 0)
        return CLI_USAGE;
    o->characters = o->tokenizer && strcmp(o->tokenizer, "char") == 0;
    o->split = g.pattern ? &o->pattern : NULL;
    o->files = cli_files_of(argv, n);
    if (find_work(o, &g) || check_lines(o, &g) || check_tokenizer(o) || check_examples(o, &g) ||
        check_text_options(o) || check_files(o, n))
        return CLI_USAGE;
    return CLI_OK;
}
