/* cli: the option that an unknown one was probably meant to be. */
#include <string.h>

#include "cmd/cli/private.h"
#include "lib/base/choice.h"
#include "lib/base/size.h"

#define NAME_MAX 32     /* bytes of a name that is examined, with NUL */
#define BEGINNING_MIN 4 /* bytes of the beginning of another program's name */

/* ---- names that other programs use */

/* The options of a tool that takes files and has no option for them. */
#define FILES ""
#define SHAPE "the shape is chosen with tg-init --"

/* Names, as typed elsewhere, of an option.  A row counts if the tool has that option, or if the row has
 * something to say about its absence; the first such row with the name wins. */
static const struct foreign {
    const char *names;   /* "a|b|c" */
    const char *option;  /* of ours, or FILES */
    const char *advice;  /* if the tool has it; NULL: "did you mean --option?" */
    const char *without; /* if the tool lacks it; NULL: nothing */
} foreign[] = {
    /* the model */
    {"layers|num-layers|n-layers|n-layer|num-hidden-layers|blocks|depth", "n-layer", NULL, SHAPE "n-layer"},
    {"n-head|n-heads|num-heads|num-attention-heads", "heads", NULL, NULL},
    {"heads|n-head|n-heads|num-heads|num-attention-heads", "n-head", NULL, SHAPE "n-head"},
    {"n-embd|n-embed|embd|embed-dim|embedding-dim|d-model|dim|hidden-size|hidden-dim|width", "n-embd", NULL,
     SHAPE "n-embd"},
    {"context|context-length|context-size|ctx|ctx-size|block-size|seq-len|seq-length|max-seq-len|n-positions",
     "n-ctx", NULL, NULL},
    {"n-ctx|context|context-length|context-size|ctx|ctx-size|block-size|seq-len|seq-length|max-seq-len",
     "context", NULL, "the context is the model's: tg-init --n-ctx"},
    {"vocab|vocab-size|vocabulary|vocabulary-size", "vocab-size", NULL, SHAPE "vocab-size"},
    {"preset|activation|tied|layer-norm-weight|layer-norm-bias|layer-norm-epsilon|linear-bias|head-bias",
     "n-layer", NULL, "that is an option of tg-init, which chooses the shape"},
    {"dropout", "dropout", NULL, "dropout is chosen when training: tg-train --dropout"},
    {"tokenizer|tokenizer-path|tokenizer-file|vocab-file|merges|encoding", "tokenizer", NULL,
     "the tokenizer is that of the tokens, which tg-tokenize -t chooses"},
    {"checkpoint|ckpt|ckpt-path|model-path|model-file|model-name|weights", "model", NULL, NULL},
    /* training */
    {"epochs|epoch|num-epochs|n-epochs|num-train-epochs|max-epochs", "steps",
     "the length of a run is a number of --steps, each of --batch times --context tokens", NULL},
    {"iters|iterations|max-iters|num-iters|n-iters|max-steps|num-steps|train-steps", "steps", NULL, NULL},
    {"resume|continue|restart|resume-from|resume-from-checkpoint|init-from|load", "steps",
     "a run that was stopped resumes when the same command is given again", NULL},
    {"batch-size|bs|micro-batch-size|train-batch-size|per-device-train-batch-size", "batch", NULL, NULL},
    {"learning-rate|lrate|peak-lr|max-lr", "lr", NULL, NULL},
    {"min-learning-rate|end-lr|final-lr", "min-lr", NULL, NULL},
    {"wd", "weight-decay", NULL, NULL},
    {"grad-clip|clip-grad|gradient-clip|max-grad-norm|clip-norm", "clip", NULL, NULL},
    {"gradient-accumulation-steps|gradient-accumulation|grad-accum|grad-accum-steps|accum", "accumulate",
     NULL, NULL},
    {"gradient-checkpointing|activation-checkpointing|grad-checkpointing", "recompute", NULL, NULL},
    {"scheduler|lr-scheduler|lr-schedule|lr-decay-iters|decay-lr", "lr",
     "the rate rises for --warmup steps, then falls along a cosine to --min-lr", NULL},
    {"val-split|validation-split|val-size|test-size", "val-fraction", NULL, NULL},
    {"eval-interval|eval-steps|eval-freq|val-every", "eval-every", NULL, NULL},
    {"save-interval|save-steps|save-freq|checkpoint-every|checkpoint-interval", "save-every", NULL, NULL},
    {"log-interval|log-every|logging-steps|log-dir", "log", "--log FILE gets a line for every step", NULL},
    {"fp16|bf16|half|amp|mixed-precision|dtype", "precision", NULL, NULL},
    {"device|gpu|gpus|cuda|n-gpu-layers|ngl", "threads",
     "tg computes on the processor; there is no other device", NULL},
    {"workers|num-workers|n-threads|num-threads|jobs|cpus", "threads", NULL, NULL},
    /* text, pictures and files */
    {"length|len|max-length|max-len|max-tokens|max-new-tokens|new-tokens|num-tokens|n-tokens|n-predict|steps",
     "tokens", NULL, NULL},
    {"num-samples|n-samples|samples|num-return-sequences|n|batch-size", "count", NULL, NULL},
    {"encode", "decode", "it encodes unless an option says otherwise", NULL},
    {"json|jsonl|csv|tsv", "format", NULL, NULL},
    {"format|output-format|type", "html",
     "--html, --svg or --png says what to make, or the ending of -o FILE", NULL},
    {"pdf|jpg|jpeg|gif|image", "png", "it makes PNG and SVG images, HTML pages and text", NULL},
    {"png|html|svg|heatmap|plot|image", "stage", "tg-attn-view makes pictures of a dump, which -o writes",
     NULL},
    {"text|start|prefix", "prompt", NULL, NULL},
    {"input|in|infile|file|files|data|dataset|corpus|train-data|text", FILES,
     "a file is named without an option", NULL},
    {"input|in|infile|file|data", "prompt", "a file is given on standard input, < FILE", NULL},
    {"out|outfile|output-file|out-file|output-dir|out-dir|save|save-to|to-file", "output", NULL, NULL},
};

/* ---- finding it */

static bool has(const cli_tool *tool, const char *option)
{
    return strcmp(option, FILES) == 0 ? tool->files : cli_own_option(tool, option) != NULL;
}

/* Whether a name in the list "a|b|c" begins with `typed`, which is long enough to mean one. */
static bool begins_one(const char *names, const char *typed)
{
    char name[TG_CHOICE_SIZE];
    const size_t n = strlen(typed);

    for (size_t i = 0; n >= BEGINNING_MIN && *tg_choice_name(name, names, i) != '\0'; i++)
        if (strncmp(name, typed, n) == 0)
            return true;
    return false;
}

/* Report a name that other programs use, whole or as a beginning.  False: it is not in the table. */
static bool report_foreign(const cli_tool *tool, const char *shown, const char *name, bool whole)
{
    size_t number;

    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++) {
        const struct foreign *f = &foreign[i];
        const bool found = has(tool, f->option);
        const char *advice = found ? f->advice : f->without;

        if (!(whole ? tg_choice_find(&number, f->names, name) : begins_one(f->names, name)) ||
            (!found && !advice))
            continue;
        if (advice)
            cli_usage("unknown option %s: %s", shown, advice);
        else
            cli_usage("unknown option %s: did you mean --%s?", shown, f->option);
        return true;
    }
    return false;
}

/* ---- names alike */

/* Copy a name, typed [n], in lower case, with '-' for '_'.  False: it is too long to be one. */
static bool normalize(char name[NAME_MAX], const char *typed, size_t n)
{
    if (n >= NAME_MAX)
        return false;
    for (size_t i = 0; i < n; i++) {
        const char c = typed[i];

        name[i] = (char)(c == '_' ? '-' : c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    }
    name[n] = '\0';
    return true;
}

/* The edits that turn a into b: characters that are inserted, removed, replaced, or exchanged with the next
 * one. */
static size_t edits(const char *a, const char *b)
{
    const size_t n = strlen(a), m = strlen(b);
    size_t d[NAME_MAX + 1][NAME_MAX + 1];

    for (size_t i = 0; i <= n; i++) {
        for (size_t j = 0; j <= m; j++) {
            if (i == 0 || j == 0) {
                d[i][j] = i + j;
                continue;
            }
            d[i][j] = tg_size_min(d[i - 1][j - 1] + (a[i - 1] != b[j - 1]),
                                  tg_size_min(d[i - 1][j], d[i][j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                d[i][j] = tg_size_min(d[i][j], d[i - 2][j - 2] + 1);
        }
    }
    return d[n][m];
}

/* Whether `part` is some of the words of `name`, which dashes separate. */
static bool has_words(const char *name, const char *part)
{
    const size_t n = strlen(part);

    for (const char *at = name; n > 2 && (at = strstr(at, part)); at++)
        if ((at == name || at[-1] == '-') && (at[n] == '\0' || at[n] == '-'))
            return true;
    return false;
}

#define FAR SIZE_MAX

/* How far an option's name is from what was typed: a few edits; after those, one that has all words of the
 * other. */
static size_t distance(const char *typed, const char *name)
{
    const size_t n = tg_size_min(strlen(typed), strlen(name)), d = edits(typed, name);

    if (d <= (n + 1) / 3 && d < n)
        return d;
    if (has_words(typed, name))
        return NAME_MAX - n; /* the longest of them is nearest */
    return has_words(name, typed) ? NAME_MAX : FAR;
}

/* Append "--a or --b", the tool's options that are nearest to `typed`, to `list`. */
static void list_nearest(char *list, size_t size, const cli_tool *tool, const char *typed)
{
    size_t nearest = FAR;

    for (size_t pass = 0; pass < 2; pass++) {
        const cli_option *o;

        for (size_t i = 0; (o = cli_get_option(tool, i)); i++) {
            const size_t d = distance(typed, o->name), used = strlen(list);

            if (pass == 0)
                nearest = tg_size_min(nearest, d);
            else if (d == nearest && d != FAR && used + NAME_MAX < size)
                snprintf(list + used, size - used, "%s--%s", used > 0 ? " or " : "", o->name);
        }
    }
}

void cli_report_unknown(const cli_tool *tool, const char *typed, size_t n)
{
    char shown[64], name[NAME_MAX], list[256] = "";

    snprintf(shown, sizeof shown, "--%.*s", (int)tg_size_min(n, sizeof shown), typed);
    if (normalize(name, typed, n)) {
        if (report_foreign(tool, shown, name, true))
            return;
        list_nearest(list, sizeof list, tool, name);
        if (*list == '\0' && report_foreign(tool, shown, name, false))
            return;
    }
    if (*list != '\0')
        cli_usage("unknown option %s: did you mean %s?", shown, list);
    else
        cli_usage("unknown option --%.*s", (int)n, typed);
}
