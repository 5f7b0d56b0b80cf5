/* cli: the values of options. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cli/private.h"
#include "lib/base/choice.h"

#define DIGITS "0123456789"
#define DIGITS_MAX 15

bool cli_take_size(const char **at, size_t *value)
{
    const char *begin = *at;

    for (*value = 0; **at >= '0' && **at <= '9' && *at - begin < DIGITS_MAX; ++*at)
        *value = *value * 10 + (size_t)(**at - '0');
    return *at > begin;
}

bool cli_take_head(const char **at, size_t *layer, size_t *head, const char *word)
{
    *head = SIZE_MAX;
    if (!cli_take_size(at, layer) || *(*at)++ != '.')
        return false;
    if (strncmp(*at, word, strlen(word)) == 0)
        *at += strlen(word);
    else if (!cli_take_size(at, head))
        return false;
    return **at == '\0' || (**at == ',' && *++*at != '\0');
}

bool cli_in_range(const cli_option *o, double value)
{
    return value >= o->min && value <= o->max;
}

static int out_of_range(const cli_option *o, const char *text)
{
    return cli_usage("--%s must be between %.15g and %.15g, got %s", o->name, o->min, o->max, text);
}

/* Append decimal digits to a number.  False: it becomes too large. */
static bool append_digits(uint64_t *value, const char *digits, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const uint64_t digit = (uint64_t)(digits[i] - '0');

        if (*value > (UINT64_MAX - digit) / 10)
            return false;
        *value = *value * 10 + digit;
    }
    return true;
}

/* The power of ten that follows a number, "e3", "k", "M" or "G"; 0 for "".  False: it is none of these. */
static bool parse_power(const char *text, size_t *power)
{
    static const struct {
        const char *text;
        size_t power;
    } units[] = {{"", 0}, {"k", 3}, {"K", 3}, {"M", 6}, {"G", 9}};
    const size_t sign = *text != '\0' && text[1] == '+';
    const char *digits = text + 1 + sign;

    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        *power = units[i].power;
        if (strcmp(text, units[i].text) == 0)
            return true;
    }
    if ((*text != 'e' && *text != 'E') || *digits == '\0' || digits[strspn(digits, DIGITS)] != '\0')
        return false;
    for (*power = 0; *digits != '\0' && *power < 1000; digits++)
        *power = 10 * *power + (size_t)(*digits - '0');
    return true;
}

enum whole { NOT_WHOLE, TOO_LARGE, WHOLE };

/* Parse a whole number: digits, or, if `units`, a count such as 1e3, 10k or 1.5M, exactly. */
static enum whole parse_whole(const char *text, bool units, uint64_t *value)
{
    const size_t n = strspn(text, DIGITS);
    const bool point = text[n] == '.';
    const char *fraction = text + n + point;
    size_t decimals = point ? strspn(fraction, DIGITS) : 0, power;
    const char *end = fraction + decimals;

    if (n == 0 || (point && (decimals == 0 || *end == '\0')) || (!units && text[n] != '\0') ||
        !parse_power(end, &power))
        return NOT_WHOLE;
    while (decimals > 0 && fraction[decimals - 1] == '0')
        decimals--;
    if (decimals > power)
        return NOT_WHOLE;
    *value = 0;
    if (!append_digits(value, text, n) || !append_digits(value, fraction, decimals))
        return TOO_LARGE;
    for (; decimals<power && * value> 0; decimals++)
        if (!append_digits(value, "0", 1))
            return TOO_LARGE;
    return WHOLE;
}

/* A seed may have any 64 bits, and is no count. */
static int set_u64(const cli_option *o, const char *text)
{
    uint64_t n;
    const enum whole whole = parse_whole(text + (*text == '-'), false, &n);

    if (whole == NOT_WHOLE)
        return cli_usage("--%s must be a whole number, got '%s'", o->name, text);
    if (*text == '-')
        return cli_usage("--%s must not be negative, got %s", o->name, text);
    if (whole == TOO_LARGE)
        return cli_usage("--%s must be at most %llu, got %s", o->name, (unsigned long long)UINT64_MAX, text);
    *(uint64_t *)o->value = n;
    return CLI_OK;
}

static int set_size(const cli_option *o, const char *text)
{
    uint64_t n;
    const enum whole whole = parse_whole(text + (*text == '-'), true, &n);

    if (whole == NOT_WHOLE)
        return cli_usage("--%s must be a whole number, got '%s'", o->name, text);
    if (whole == TOO_LARGE || *text == '-' || n > SIZE_MAX || !cli_in_range(o, (double)n))
        return out_of_range(o, text);
    *(size_t *)o->value = (size_t)n;
    return CLI_OK;
}

static int set_number(const cli_option *o, const char *text)
{
    char *end;
    double x;

    errno = 0;
    x = strtod(text, &end);
    /* strtod() would also accept blanks, hexadecimal, inf and nan */
    if (end == text || text[strspn(text, DIGITS "+-.eE")] != '\0' || *end != '\0')
        return cli_usage("--%s must be a number, got '%s'", o->name, text);
    if (errno == ERANGE)
        return cli_usage("--%s must fit a double, got %s", o->name, text);
    if (!cli_in_range(o, x))
        return out_of_range(o, text);
    *(double *)o->value = x;
    return CLI_OK;
}

/* Other words for a choice, where its list has only ours. */
static const char *const other_words[][2] = {
    {"true", "yes"},   {"on", "yes"},        {"false", "no"},     {"off", "no"},
    {"json", "jsonl"}, {"bfloat16", "bf16"}, {"fp32", "float32"}, {"f32", "float32"},
    {"fp32", "f32"},   {"float32", "f32"},   {"fp16", "f16"},     {"float16", "f16"},
};

static int set_choice(const cli_option *o, const char *text, size_t *number)
{
    if (tg_choice_find(number, o->metavar, text))
        return CLI_OK;
    for (size_t i = 0; i < sizeof other_words / sizeof other_words[0]; i++)
        if (strcmp(other_words[i][0], text) == 0 && tg_choice_find(number, o->metavar, other_words[i][1]))
            return CLI_OK;
    return cli_usage("--%s must be one of %s, got '%s'", o->name, o->metavar, text);
}

static int add_text(const cli_option *o, const char *text)
{
    cli_texts *texts = o->value;

    if (texts->n == CLI_TEXTS_MAX)
        return cli_usage("--%s may be given at most %d times", o->name, CLI_TEXTS_MAX);
    texts->text[texts->n++] = text;
    return CLI_OK;
}

cli_adapter_files cli_adapters;

size_t cli_take_factor(const char *text, size_t n, double *factor)
{
    size_t name = n;
    char *end;
    double x;

    *factor = 1;
    while (name > 0 && text[name - 1] != '*')
        name--;
    if (name == 0)
        return n;
    if (name == n)
        return 0;
    x = strtod(text + name, &end);
    if (end != text + n || !isfinite(x))
        return 0;
    *factor = x;
    return name - 1;
}

static int add_adapter(const char *text)
{
    const size_t i = cli_adapters.n, size = sizeof cli_adapters.file[0].path;
    size_t n;

    if (i == CLI_ADAPTERS_MAX)
        return cli_usage("--adapter may be given at most %d times", CLI_ADAPTERS_MAX);
    n = cli_take_factor(text, strlen(text), &cli_adapters.file[i].weight);
    if (n == 0 || n >= size)
        return cli_usage("--adapter must be FILE or FILE*NUMBER (FILE*1 where its name has a *), got '%.80s'",
                         text);
    memcpy(cli_adapters.file[i].path, text, n);
    cli_adapters.file[i].path[n] = '\0';
    cli_adapters.n++;
    return CLI_OK;
}

int cli_set_value(const cli_option *o, const char *text)
{
    int failed = CLI_OK;
    size_t number = 0;

    switch (o->type) {
    case CLI_FLAG:
        *(bool *)o->value = true;
        break;
    case CLI_TEXT:
    case CLI_INPUT:
    case CLI_MODEL:
    case CLI_OUTPUT:
    case CLI_APPEND:
        if (*text == '\0' && tg_choice_find(&number, o->metavar, "FILE"))
            failed = cli_usage("--%s must be a file name, got ''", o->name);
        *(const char **)o->value = text;
        break;
    case CLI_ADAPTERS:
        failed = add_adapter(text);
        break;
    case CLI_TEXTS:
        failed = add_text(o, text);
        break;
    case CLI_SIZE:
        failed = set_size(o, text);
        break;
    case CLI_U64:
        failed = set_u64(o, text);
        break;
    case CLI_NUMBER:
        failed = set_number(o, text);
        break;
    case CLI_CHOICE:
        failed = set_choice(o, text, o->value);
        break;
    case CLI_ENUM:
        if (!(failed = set_choice(o, text, &number)))
            *(unsigned *)o->value = (unsigned)number;
        break;
    case CLI_YES_NO:
        if (!(failed = set_choice(o, text, &number)))
            *(bool *)o->value = number == 0;
        break;
    }
    if (!failed && o->given)
        *o->given = true;
    return failed;
}
