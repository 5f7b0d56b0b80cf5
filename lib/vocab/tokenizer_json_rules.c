/* A tokenizer.json's normalizer, pre_tokenizer and decoder. */
#include <stdbool.h>
#include <string.h>

#include "lib/vocab/foreign.h"
#include "lib/vocab/tokenizer_json.h"

tg_status tg_json_unsupported(const tg_json *j, const char *what, tg_json_text name, tg_err *err)
{
    char shown[TG_TOKEN_SHOWN];

    return tg_json_fail(j, err, "%s \"%s\" is not supported", what, tg_token_shown(shown, name.p, name.n));
}

tg_status tg_json_bool_at(bool *value, const tg_json *file, size_t at, bool missing, tg_err *err)
{
    tg_json j;

    *value = missing;
    if (at == 0)
        return TG_OK;
    tg_json_open_at(&j, file, at);
    return tg_json_get_bool(&j, value, err);
}

/* ---- components: objects with a "type"; a "Sequence" has several */

enum { TYPE, LIST, OPTION }; /* members of a component: its type, a Sequence's list, the rest */
#define MEMBERS_MAX 8

typedef struct component {
    tg_json type; /* its reader, which has read the type; owned */
    tg_json_text name;
    size_t at[MEMBERS_MAX];
} component;

/* Handles one component, not a Sequence. */
typedef tg_status (*taker)(void *context, const tg_json *file, const component *c, tg_err *err);

static tg_status open_component(component *c, const tg_json *file, size_t from, const char *const *names,
                                size_t n, tg_err *err)
{
    tg_json j;
    tg_status status;

    tg_json_open_at(&j, file, from);
    status = tg_json_members(&j, names, n, c->at, err);
    j.value = from;
    if (!status && c->at[TYPE] == 0)
        status = tg_json_fail(&j, err, "\"type\" is missing");
    tg_json_close(&j);
    if (status)
        return status;
    tg_json_open_at(&c->type, file, c->at[TYPE]);
    return tg_json_get_text(&c->type, &c->name, err);
}

static tg_status take_one(const tg_json *file, size_t at, const char *const *names, size_t n, taker take,
                          void *context, tg_err *err)
{
    component c = {0};
    tg_status status = open_component(&c, file, at, names, n, err);

    if (!status)
        status = take(context, file, &c, err);
    tg_json_close(&c.type);
    return status;
}

static tg_status take_list(const tg_json *file, size_t at, const char *const *names, size_t n, taker take,
                           void *context, tg_err *err)
{
    tg_json j;
    bool more;
    tg_status status;

    tg_json_open_at(&j, file, at);
    status = tg_json_enter(&j, TG_JSON_ARRAY, err);
    /* unreached: an element that fails: the text has been passed */
    while (!status && !(status = tg_json_element_at(&j, &at, &more, err)) && more)
        status = take_one(file, at, names, n, take, context, err);
    tg_json_close(&j);
    return status;
}

/* Take a component, or each of a Sequence, which the key names[LIST] has. */
static tg_status take_all(const tg_json *file, size_t at, const char *const *names, size_t n, taker take,
                          void *context, tg_err *err)
{
    component c = {0};
    tg_status status = open_component(&c, file, at, names, n, err);
    const bool sequence = !status && tg_json_is(c.name, "Sequence");

    if (!status && sequence && c.at[LIST] == 0)
        status = tg_json_fail(&c.type, err, "\"%s\" is missing", names[LIST]);
    tg_json_close(&c.type);
    if (status)
        return status;
    return sequence ? take_list(file, c.at[LIST], names, n, take, context, err)
                    : take_one(file, at, names, n, take, context, err);
}

/* ---- normalizer */

static tg_status take_normalizer(void *context, const tg_json *file, const component *c, tg_err *err)
{
    (void)file;
    if (!tg_json_is(c->name, "NFC"))
        return tg_json_unsupported(&c->type, "normalizer", c->name, err);
    *(tg_normalizer *)context = TG_NORMALIZER_NFC;
    return TG_OK;
}

tg_status tg_read_normalizer(tg_normalizer *normalizer, const tg_json *file, size_t at, tg_err *err)
{
    static const char *const names[] = {"type", "normalizers"};

    *normalizer = TG_NORMALIZER_NONE;
    return at > 0 ? take_all(file, at, names, 2, take_normalizer, normalizer, err) : TG_OK;
}

/* ---- decoder */

static tg_status take_decoder(void *context, const tg_json *file, const component *c, tg_err *err)
{
    (void)context;
    (void)file;
    return tg_json_is(c->name, "ByteLevel") ? TG_OK : tg_json_unsupported(&c->type, "decoder", c->name, err);
}

tg_status tg_check_decoder(const tg_json *file, size_t at, tg_err *err)
{
    static const char *const names[] = {"type", "decoders"};

    return at > 0 ? take_all(file, at, names, 2, take_decoder, NULL, err) : TG_OK;
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
static tg_status find_pattern(tg_split *split, const tg_json *file, const component *c, tg_err *err)
{
    static const char *const name = "Regex";
    tg_json_text text;
    size_t at;
    tg_json j;
    tg_status status;

    if (c->at[PATTERN] == 0)
        return tg_json_fail(&c->type, err, "\"pattern\" is missing");
    tg_json_open_at(&j, file, c->at[PATTERN]);
    if ((status = tg_json_members(&j, &name, 1, &at, err)))
        goto done;
    if (at == 0) {
        status = tg_json_fail(&j, err, "the pattern of \"Split\" is not a \"Regex\", expected one");
        goto done;
    }
    tg_json_close(&j);
    tg_json_open_at(&j, file, at);
    if ((status = tg_json_get_text(&j, &text, err)))
        goto done;
    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++)
        if (tg_json_is(text, patterns[i].pattern)) {
            *split = patterns[i].split;
            goto done;
        }
    status = tg_json_unsupported(&j, "pre_tokenizer \"Split\" with the pattern", text, err);

done:
    tg_json_close(&j);
    return status;
}

/* Every pattern matches all of a text, so that "Removed", which drops what is between the matches, drops
 * nothing; "invert" swaps the matches and what is between them. */
static tg_status take_split(struct pre *pre, const tg_json *file, const component *c, tg_err *err)
{
    tg_json_text behavior;
    bool invert, isolated, removed;
    tg_json j;
    tg_status status;

    if (c->at[BEHAVIOR] == 0)
        return tg_json_fail(&c->type, err, "\"behavior\" is missing");
    if ((status = tg_json_bool_at(&invert, file, c->at[INVERT], false, err)))
        return status;
    tg_json_open_at(&j, file, c->at[BEHAVIOR]);
    if (!(status = tg_json_get_text(&j, &behavior, err))) {
        isolated = tg_json_is(behavior, "Isolated");
        removed = tg_json_is(behavior, "Removed");
        if (!isolated && !(removed && invert))
            status = tg_json_unsupported(&j,
                                         invert ? "pre_tokenizer \"Split\", inverted, with the behavior"
                                                : "pre_tokenizer \"Split\" with the behavior",
                                         behavior, err);
    }
    tg_json_close(&j);
    return status ? status : find_pattern(&pre->split, file, c, err);
}

static tg_status take_digits(struct pre *pre, const tg_json *file, const component *c, tg_err *err)
{
    tg_status status = tg_json_bool_at(&pre->digits, file, c->at[INDIVIDUAL_DIGITS], false, err);

    if (!status && !pre->digits)
        status = tg_json_fail(&c->type, err,
                              "pre_tokenizer \"Digits\" without \"individual_digits\" is not supported");
    return status;
}

static tg_status take_byte_level(struct pre *pre, const tg_json *file, const component *c, tg_err *err)
{
    bool space, regex;
    tg_status status;

    if ((status = tg_json_bool_at(&space, file, c->at[ADD_PREFIX_SPACE], true, err)) ||
        (status = tg_json_bool_at(&regex, file, c->at[USE_REGEX], true, err)))
        return status;
    if (space)
        return tg_json_fail(&c->type, err,
                            "pre_tokenizer \"ByteLevel\" with \"add_prefix_space\" is not supported");
    if (regex && pre->split != TG_SPLIT_NONE)
        return tg_json_fail(
            &c->type, err, "pre_tokenizer \"ByteLevel\" with \"use_regex\" after \"Split\" is not supported");
    if (regex)
        pre->split = TG_SPLIT_GPT2;
    pre->done = true;
    return TG_OK;
}

static tg_status take_pre_tokenizer(void *context, const tg_json *file, const component *c, tg_err *err)
{
    struct pre *pre = context;
    const bool begun = pre->split != TG_SPLIT_NONE || pre->done;

    if (tg_json_is(c->name, "ByteLevel") && !pre->done)
        return take_byte_level(pre, file, c, err);
    if (tg_json_is(c->name, "Split") && !begun)
        return take_split(pre, file, c, err);
    if (tg_json_is(c->name, "Digits") && !begun && !pre->digits)
        return take_digits(pre, file, c, err);
    return tg_json_unsupported(
        &c->type, begun || pre->digits ? "at this position pre_tokenizer" : "pre_tokenizer", c->name, err);
}

tg_status tg_read_pre_tokenizer(tg_split *split, const tg_json *file, size_t at, tg_err *err)
{
    struct pre pre = {.split = TG_SPLIT_NONE};
    tg_status status;

    if (at == 0)
        return tg_fail(err, TG_EDATA, "pre_tokenizer null is not supported, expected ByteLevel");
    if ((status = take_all(file, at, pre_names, PRE_NAMES, take_pre_tokenizer, &pre, err)))
        return status;
    if (!pre.done)
        return tg_fail(err, TG_EDATA, "a pre_tokenizer without ByteLevel is not supported");
    if (pre.digits && pre.split != TG_SPLIT_GPT2)
        return tg_fail(err, TG_EDATA, "pre_tokenizer \"Digits\" is supported only before GPT-2's pattern");
    *split = pre.digits ? TG_SPLIT_GPT2_DIGITS : pre.split;
    return TG_OK;
}
