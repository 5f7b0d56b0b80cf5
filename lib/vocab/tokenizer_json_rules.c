/* A tokenizer.json's normalizer, pre_tokenizer and decoder. */
#include <stdbool.h>
#include <string.h>

#include "lib/vocab/foreign.h"
#include "lib/vocab/tokenizer_json.h"

void tg_json_unsupported(tg_json *j, const char *what, tg_span name)
{
    char shown[TG_TOKEN_SHOWN];

    (void)tg_json_fail(j, "%s \"%s\" is not supported", what, tg_token_shown(shown, name.p, name.n));
}

bool tg_json_bool_at(tg_json *j, size_t at, bool missing)
{
    const size_t was = j->at, value = j->value;

    if (at == 0)
        return missing;
    (void)tg_json_go(j, at);
    missing = tg_json_get_bool(j);
    (void)tg_json_go(j, was);
    j->value = value;
    return missing;
}

/* ---- components: objects with a "type"; a "Sequence" has several */

enum { TYPE, LIST, OPTION }; /* members of a component: its type, a Sequence's list, the rest */
#define MEMBERS_MAX 8

typedef struct component {
    tg_span name; /* its type, the value just read */
    size_t at[MEMBERS_MAX];
} component;

/* Handles one component, not a Sequence. */
typedef void (*taker)(void *context, tg_json *j, const component *c);

static component open_component(tg_json *j, size_t from, const char *const *names, size_t n)
{
    component c = {0};

    (void)tg_json_go(j, from);
    tg_json_members(j, names, n, c.at);
    j->value = from;
    if (c.at[TYPE] == 0)
        (void)tg_json_fail(j, "\"type\" is missing");
    (void)tg_json_go(j, c.at[TYPE]);
    c.name = tg_json_get_text(j);
    return c;
}

/* Take a component, or each of a Sequence, which the key names[LIST] has. */
static void take_all(tg_json *j, size_t at, const char *const *names, size_t n, taker take, void *context)
{
    component c = open_component(j, at, names, n);

    if (!tg_span_is(c.name, "Sequence")) {
        if (!j->status)
            take(context, j, &c);
        return;
    }
    if (c.at[LIST] == 0)
        (void)tg_json_fail(j, "\"%s\" is missing", names[LIST]);
    (void)tg_json_go(j, c.at[LIST]);
    tg_json_enter(j, TG_JSON_ARRAY);
    while (tg_json_element_at(j, &at)) {
        const size_t after = j->at;

        c = open_component(j, at, names, n);
        if (!j->status)
            take(context, j, &c);
        (void)tg_json_go(j, after);
    }
}

/* ---- normalizer */

static void take_normalizer(void *context, tg_json *j, const component *c)
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

    if (at > 0)
        take_all(j, at, names, 2, take_normalizer, &normalizer);
    return normalizer;
}

/* ---- decoder */

static void take_decoder(void *context, tg_json *j, const component *c)
{
    (void)context;
    if (!tg_span_is(c->name, "ByteLevel"))
        tg_json_unsupported(j, "decoder", c->name);
}

void tg_check_decoder(tg_json *j, size_t at)
{
    static const char *const names[] = {"type", "decoders"};

    if (at > 0)
        take_all(j, at, names, 2, take_decoder, NULL);
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
enum { ADD_PREFIX_SPACE = OPTION, USE_REGEX, PATTERN, BEHAVIOR, INVERT, INDIVIDUAL_DIGITS, PRE_NAMES };

/* What has been read of a pre_tokenizer. */
struct pre {
    tg_split split;
    bool digits; /* Digits came first */
    bool done;   /* ByteLevel came, which is the last */
};

/* The rule with the pattern at an offset: {"Regex": "..."}. */
static tg_split find_pattern(tg_json *j, const component *c)
{
    tg_span text;

    if (c->at[PATTERN] == 0) {
        j->value = c->at[TYPE];
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
static void take_split(struct pre *pre, tg_json *j, const component *c)
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

static void take_byte_level(struct pre *pre, tg_json *j, const component *c)
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

static void take_pre_tokenizer(void *context, tg_json *j, const component *c)
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

    if (at > 0)
        take_all(j, at, pre_names, PRE_NAMES, take_pre_tokenizer, &pre);
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
