/* A tokenizer.json's normalizer, pre_tokenizer and decoder. */
#include <stdbool.h>

#include "lib/vocab/foreign.h"
#include "lib/vocab/tokenizer_json.h"

/* ---- normalizer */

static void take_normalizer(void *context, tg_json *j, const tg_json_component *c)
{
    if (tg_span_is(c->name, "NFC"))
        *(tg_normalizer *)context = TG_NORMALIZER_NFC;
    else
        tg_json_unsupported(j, "normalizer", c->name);
}

tg_normalizer tg_read_normalizer(tg_json *j, size_t at)
{
    static const char *const names[] = {"type", "normalizers"};
    tg_normalizer normalizer = TG_NORMALIZER_NONE;

    tg_read_components(j, at, names, 2, take_normalizer, &normalizer);
    return normalizer;
}

/* ---- decoder */

static void take_decoder(void *context, tg_json *j, const tg_json_component *c)
{
    (void)context;
    if (!tg_span_is(c->name, "ByteLevel"))
        tg_json_unsupported(j, "decoder", c->name);
}

void tg_check_decoder(tg_json *j, size_t at)
{
    static const char *const names[] = {"type", "decoders"};

    tg_read_components(j, at, names, 2, take_decoder, NULL);
}

/* ---- pre_tokenizer */

/* The rules' patterns as they occur in files.  All patterns of a rule split every text alike, and match
 * all of it.  The first of each rule is the one that is written. */
static const struct {
    tg_split split;
    const char *pattern;
} patterns[] = {
    {TG_SPLIT_GPT2, "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"},
    {TG_SPLIT_GPT2, "'(?:[sdmt]|ll|ve|re)| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"},
    {TG_SPLIT_GPT2,
     "'(?:[sdmt]|ll|ve|re)| ?\\p{L}++| ?\\p{N}++| ?[^\\s\\p{L}\\p{N}]++|\\s++$|\\s+(?!\\S)|\\s"},
    {TG_SPLIT_LLAMA3, "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}"
                      "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},
    {TG_SPLIT_CL100K, "'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}++|\\p{N}{1,3}"
                      "| ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*+|\\s++$|\\s*[\\r\\n]|\\s+(?!\\S)|\\s"},
    {TG_SPLIT_LLAMA3, "'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}+|\\p{N}{1,3}"
                      "| ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+"},
    {TG_SPLIT_QWEN2, "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}"
                     "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},
    {TG_SPLIT_O200K,
     "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+"
     "(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
     "|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*"
     "(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
     "|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},
};

const char *tg_split_pattern(tg_split split)
{
    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++)
        if (patterns[i].split == split)
            return patterns[i].pattern;
    return NULL;
}

static const char *const pre_names[] = {"type",    "pretokenizers", "add_prefix_space", "use_regex",
                                        "pattern", "behavior",      "invert",           "individual_digits"};
enum {
    ADD_PREFIX_SPACE = TG_COMPONENT_OPTION,
    USE_REGEX,
    PATTERN,
    BEHAVIOR,
    INVERT,
    INDIVIDUAL_DIGITS,
    PRE_NAMES
};

/* What has been read of a pre_tokenizer. */
struct pre {
    tg_split split;
    bool digits; /* Digits came first */
    bool done;   /* ByteLevel came, which is the last */
};

/* The rule with the pattern at an offset: {"Regex": "..."}. */
static tg_split find_pattern(tg_json *j, const tg_json_component *c)
{
    tg_span text;

    if (c->at[PATTERN] == 0) {
        j->value = c->at[TG_COMPONENT_TYPE];
        (void)tg_json_fail(j, "\"pattern\" is missing");
    }
    if (!tg_json_find(j, c->at[PATTERN], "Regex"))
        (void)tg_json_fail(j, "the pattern of \"Split\" is not a \"Regex\", expected one");
    text = tg_json_get_text(j);
    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++)
        if (tg_span_is(text, patterns[i].pattern))
            return patterns[i].split;
    tg_json_unsupported(j, "pre_tokenizer \"Split\" with the pattern", text);
    return TG_SPLIT_NONE;
}

/* Every pattern matches all of a text, so that "Removed", which drops what is between the matches, drops
 * nothing; "invert" swaps the matches and what is between them. */
static void take_split(struct pre *pre, tg_json *j, const tg_json_component *c)
{
    tg_span behavior;
    bool invert;

    if (c->at[BEHAVIOR] == 0)
        (void)tg_json_fail(j, "\"behavior\" is missing");
    invert = tg_json_bool_at(j, c->at[INVERT], false);
    (void)tg_json_go(j, c->at[BEHAVIOR]);
    behavior = tg_json_get_text(j);
    if (!tg_span_is(behavior, "Isolated") && !(tg_span_is(behavior, "Removed") && invert))
        tg_json_unsupported(j,
                            invert ? "pre_tokenizer \"Split\", inverted, with the behavior"
                                   : "pre_tokenizer \"Split\" with the behavior",
                            behavior);
    pre->split = find_pattern(j, c);
}

static void take_byte_level(struct pre *pre, tg_json *j, const tg_json_component *c)
{
    const bool space = tg_json_bool_at(j, c->at[ADD_PREFIX_SPACE], true),
               regex = tg_json_bool_at(j, c->at[USE_REGEX], true);

    if (space)
        (void)tg_json_fail(j, "pre_tokenizer \"ByteLevel\" with \"add_prefix_space\" is not supported");
    if (regex && pre->split != TG_SPLIT_NONE)
        (void)tg_json_fail(j,
                           "pre_tokenizer \"ByteLevel\" with \"use_regex\" after \"Split\" is not supported");
    if (regex)
        pre->split = TG_SPLIT_GPT2;
    pre->done = true;
}

static void take_pre_tokenizer(void *context, tg_json *j, const tg_json_component *c)
{
    struct pre *pre = context;
    const bool begun = pre->split != TG_SPLIT_NONE || pre->done;

    if (tg_span_is(c->name, "ByteLevel") && !pre->done) {
        take_byte_level(pre, j, c);
    } else if (tg_span_is(c->name, "Split") && !begun) {
        take_split(pre, j, c);
    } else if (tg_span_is(c->name, "Digits") && !begun && !pre->digits) {
        pre->digits = tg_json_bool_at(j, c->at[INDIVIDUAL_DIGITS], false);
        if (!pre->digits)
            (void)tg_json_fail(j, "pre_tokenizer \"Digits\" without \"individual_digits\" is not supported");
    } else {
        tg_json_unsupported(j, begun || pre->digits ? "at this position pre_tokenizer" : "pre_tokenizer",
                            c->name);
    }
}

tg_split tg_read_pre_tokenizer(tg_json *j, size_t at)
{
    struct pre pre = {.split = TG_SPLIT_NONE};
    const char *fault = NULL;

    tg_read_components(j, at, pre_names, PRE_NAMES, take_pre_tokenizer, &pre);
    if (at == 0)
        fault = "pre_tokenizer null is not supported, expected ByteLevel";
    else if (!pre.done)
        fault = "a pre_tokenizer without ByteLevel is not supported";
    else if (pre.digits && pre.split != TG_SPLIT_GPT2)
        fault = "pre_tokenizer \"Digits\" is supported only before GPT-2's pattern";
    if (fault && !j->status)
        j->status = tg_fail(j->err, TG_EDATA, "%s", fault);
    return pre.digits ? TG_SPLIT_GPT2_DIGITS : pre.split;
}
