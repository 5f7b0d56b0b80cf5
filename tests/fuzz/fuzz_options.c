/*
 * Command lines: the bytes of an input, divided at newlines, are arguments.
 *
 * What is accepted has every value in its range; operands and options are all the arguments there are.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cli/cli.h"
#include "tests/fuzz/input.h"

#define ARGS_MAX 100

struct values {
    bool quick, slow, given;
    const char *output;
    cli_texts add;
    size_t count, color;
    uint64_t seed;
    double rate;
    unsigned format;
    bool tied;
};

/* --help and --version end the program. */
static bool ends(const char *arg)
{
    return strncmp(arg, "--h", 3) == 0 || strncmp(arg, "--v", 3) == 0 ||
           (arg[0] == '-' && arg[1] != '-' && strpbrk(arg, "hV"));
}

static int parse(struct values *v, int argc, char **argv)
{
    cli_option options[] = {
        CLI_FLAG_OPTION('q', "quick", &v->quick, "a flag"),
        CLI_FLAG_OPTION(0, "slow", &v->slow, "a flag without a letter"),
        CLI_TEXT_OPTION('o', "output", &v->output, "FILE", "a text", .given = &v->given),
        CLI_TEXTS_OPTION('a', "add", &v->add, "TEXT", "texts"),
        CLI_SIZE_OPTION('n', "count", &v->count, "N", 1, 1000000, "a size"),
        CLI_U64_OPTION(0, "seed", &v->seed, "N", "any number"),
        CLI_NUMBER_OPTION('r', "rate", &v->rate, "X", 0, 1, "a number"),
        CLI_CHOICE_OPTION(0, "color", &v->color, "no|yes|auto", "a choice"),
        CLI_ENUM_OPTION('f', "format", &v->format, "text|tsv|json", "an enum"),
        CLI_OPTION(CLI_YES_NO, 0, "tied", &v->tied, "yes|no", 0, 0, "yes or no"),
        {0},
    };
    const cli_tool tool = {
        .name = "tool", .usage = "[OPTION]...", .summary = "a tool", .options = options, .files = true};

    return cli_parse(argc, argv, &tool);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static FILE *null;
    FILE *const messages = stderr;
    struct values v = {.count = 1, .rate = 0.5};
    char *const text = calloc(size + 1, 1), *argv[ARGS_MAX + 2] = {text};
    int argc = 1, operands;

    must(text != NULL);
    if (!null)
        must((null = fopen("/dev/null", "w")) != NULL);
    if (size > 0)
        memcpy(text, data, size);
    for (char *arg = text, *end; arg && argc <= ARGS_MAX; arg = end) {
        if ((end = strchr(arg, '\n')))
            *end++ = '\0';
        if (ends(arg))
            goto done;
        argv[argc++] = arg;
    }
    stderr = null; /* not the descriptor, to which a sanitizer writes */
    operands = parse(&v, argc, argv);
    stderr = messages;
    must(operands >= -1 && operands < argc);
    if (operands >= 0) {
        must(v.count >= 1 && v.count <= 1000000 && isfinite(v.rate) && v.rate >= 0 && v.rate <= 1);
        must(v.color < 3 && v.format < 3 && v.add.n <= CLI_TEXTS_MAX);
        must(v.given == (v.output != NULL) && (!v.output || v.output[0] != '\0'));
        for (size_t i = 0; i < v.add.n; i++)
            must(v.add.text[i] >= text && v.add.text[i] <= text + size);
        for (int i = 1; i <= operands; i++)
            must(argv[i] >= text && argv[i] <= text + size);
    }
done:
    free(text);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    (void)seed;
    return LLVMFuzzerMutate(
        data, size < 3 ? input_seed(data, max, "-q\n--count=10k\n-ofile\nx\n--ra\n1e-3\n--\n-a") : size, max);
}
