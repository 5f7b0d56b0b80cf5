/* tg-convert: a model, or tokens, from one project's files to another's. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/cli/cli.h"
#include "cmd/cli/model.h"
#include "cmd/tg-convert/convert.h"
#include "formats/format.h"
#include "lib/base/choice.h"
#include "lib/base/utf8.h"
#include "lib/models/model_format.h"
#include "lib/vocab/vocab_file.h"

/* The formats of models, then those of tokens. */
static const char *format_names(char *names, size_t size)
{
    const size_t n = strlen(tg_model_writer_names(names, size));

    snprintf(names + n, size - n, "|%s", TG_TOKEN_FORMAT_NAMES);
    return names;
}

/* The format of a choice that has been made. */
static void choose(convert_options *o, const char *names)
{
    char name[TG_CHOICE_SIZE];
    size_t number;

    o->format = tg_model_writer_named(tg_choice_name(name, names, o->to));
    if (tg_choice_find(&number, TG_TOKEN_FORMAT_NAMES, name))
        o->tokens = (tg_token_format)(TG_TOKENS_LLMC + number);
}

/* Formats of others, and what llm.c and nanoGPT call their files, whose formats --to has. */
#define OTHER_ENDINGS "pt|pth|bin|ckpt|onnx|pkl|pickle|h5|pb|tflite|msgpack|json|txt|zip"

static bool is_directory(const char *path)
{
    struct stat st;

    return path && !cli_is_dash(path) &&
           (path[strlen(path) - 1] == '/' || (stat(path, &st) == 0 && S_ISDIR(st.st_mode)));
}

static bool is_utf8(const char *text)
{
    uint32_t code;

    for (size_t n; *text != '\0'; text += n)
        if ((n = tg_utf8_decode(&code, text, strlen(text))) == 0)
            return false;
    return true;
}

static int check_target(convert_options *o, const char *names)
{
    size_t other;
    const char *ending = o->target ? cli_ending(o->target) : NULL;

    o->format = tg_model_writer_named("npz");
    if (o->to == SIZE_MAX && ending && strcmp(ending, "npz") != 0)
        (void)tg_choice_find(&o->to, names, ending); /* that of a format, as gguf; or else the default */
    if (o->to != SIZE_MAX)
        choose(o, names);
    if (o->chat && !convert_has_template(o))
        return cli_usage("--chat-template is for --to hf and --to gguf: other formats have none");
    if (o->chat && cli_is_dash(o->chat))
        return cli_usage("--chat-template names a file: standard input is none");
    if (o->write.base && !(o->format && strcmp(o->format->name, "peft") == 0))
        return cli_usage("--base is for --to peft: other formats do not name an adapter's model");
    if (o->write.base && !is_utf8(o->write.base))
        return cli_usage("--base must be UTF-8, as JSON is");
    if (o->format && o->format->part[0].name && (!o->target || cli_is_dash(o->target)))
        return cli_usage("--to %s writes a directory: name it with -o DIR", o->format->name);
    if (is_directory(o->target) && !(o->format && o->format->part[0].name))
        return cli_usage("%s is a directory: --to hf writes one", o->target);
    if (o->to == SIZE_MAX && ending && tg_choice_find(&other, OTHER_ENDINGS, ending))
        return cli_usage(
            "%s: the ending .%s stands for no format that can be written: use .npz, .safetensors or .gguf, "
            "or choose with --to %s",
            o->target, ending, names);
    return CLI_OK;
}

static int parse(int argc, char **argv, convert_options *o)
{
    char names[160];
    cli_option options[] = {
        CLI_OUTPUT_OPTION('o', "output", &o->target, "FILE",
                          "write to FILE instead of standard output; a directory, if the format is one"),
        CLI_FORCE(0),
        CLI_CHOICE_OPTION(0, "to", &o->to, format_names(names, sizeof names),
                          "the format to write (default: that of FILE's ending, else npz, tg's own)"),
        CLI_ADAPTER_OPTION,
        CLI_CHOICE_OPTION(0, "from", &o->from, "uint16", "SOURCE is 16-bit token ids and nothing else"),
        CLI_MODEL_OPTION('t', "tokenizer", &o->tokenizer, "FILE",
                         "the tokenizer of a SOURCE without one: a file that tg-tokenize -t reads"),
        CLI_MODEL_OPTION(
            0, "chat-template", &o->chat, "NAME",
            "the template of conversations that is written (hf, gguf): chatml, llama3 or gemma, or that of a "
            "model's directory, a GGUF file or a file .jinja (default: the SOURCE's)"),
        CLI_TEXT_OPTION(0, "base", &o->write.base, "NAME",
                        "with --to peft: what the adapter's model is called (default: its directory)"),
        CLI_SIZE_OPTION(0, "vocab-size", &o->vocab_size, "V", 1, TG_SIZE_LIMIT,
                        "the number of ids of tokens without a tokenizer"),
        CLI_ENUM_OPTION(0, "dtype", &o->write.type, TG_WRITE_TYPE_NAMES,
                        "the type of the values that are written"),
        CLI_SIZE_OPTION(0, "heads", &o->ask.heads, "H", 1, TG_SIZE_LIMIT,
                        "the number of heads, for files that do not give it"),
        CLI_CHOICE_OPTION(0, "activation", &o->activation, TG_ACTIVATIONS,
                          "GELU with tanh, exact GELU, or SiLU, for files that do not give it"),
        CLI_INPUT_OPTION(0, "map", &o->ask.map, "FILE",
                         "take the tensors' names from FILE: THEIRS OURS [transposed] in each line"),
        CLI_FLAG_OPTION(0, "fuse-qkv", &o->ask.fuse_qkv, "join separate matrices q, k and v"),
        CLI_FLAG_OPTION(0, "split-qkv", &o->write.split_qkv, "write q, k and v as separate matrices"),
        CLI_FLAG_OPTION(0, "lossy", &o->ask.lossy,
                        "leave out what the target cannot hold, and say so, instead of refusing"),
        {0},
    };
    const cli_tool tool = {
        .name = "tg-convert",
        .usage = "SOURCE [-o TARGET] [--to FORMAT] [OPTION]...",
        .summary = "Convert a model, or tokens, between the files of this project and of others; "
                   "a SOURCE of '-' is standard input.",
        .examples = "  $ tg-convert gpt2 -o gpt2.npz\n"
                    "  $ tg-convert model.npz --to hf -o directory\n"
                    "  $ tg-convert model.npz --to safetensors --dtype bf16 -o model.safetensors\n"
                    "  $ tg-tokenize < text | tg-convert - --to uint16 > train.bin",
        .options = options,
        .files = true,
        .models = true,
    };
    const int n = cli_parse(argc, argv, &tool);

    if (n < 0)
        return CLI_USAGE;
    if (n != 1)
        return n == 0 ? cli_usage("no SOURCE: name a model's file or directory")
                      : cli_usage("unexpected operand '%s': the target is named with -o", argv[2]);
    o->source = argv[1];
    o->write.lossy = o->ask.lossy;
    if (o->activation != SIZE_MAX)
        o->ask.activation = tg_choice_name(o->activation_name, TG_ACTIVATIONS, o->activation);
    return check_target(o, names);
}

/* Standard input is told by its first bytes: a model, or else tokens. */
static tg_status convert_input(const convert_options *o, const tg_tokenizer *tok, tg_err *err)
{
    tg_source input;
    tg_status status = tg_source_open(&input, STDIN_FILENO, err);

    if (!status && (status = tg_source_peek(&input, TG_FORMAT_BYTES, err)))
        tg_source_close(&input);
    if (status)
        return tg_err_in(err, cli_input_name(o->source));
    return o->from != 0 && o->format && tg_model_file_begins(input.next, input.ready)
               ? convert_model(o, &input, tok, err)
               : convert_tokens(o, &input, tok, err);
}

static tg_status run(const convert_options *o, tg_err *err)
{
    const tg_tokenizer *tok = NULL;
    bool tokens = o->from == 0 || !o->format;
    tg_status status = TG_OK;

    if (o->tokenizer && (status = tg_vocab_file_open(&tok, o->tokenizer, NULL, err)))
        return status;
    if (cli_is_dash(o->source))
        status = convert_input(o, tok, err);
    else if (tokens || !(status = tg_token_file_recognize(o->source, &tokens, err)))
        status = (tokens ? convert_tokens : convert_model)(o, NULL, tok, err);
    tg_tokenizer_free(tok);
    return status;
}

int main(int argc, char **argv)
{
    convert_options o = {.to = SIZE_MAX, .activation = SIZE_MAX, .from = SIZE_MAX};
    tg_err err = {0};

    cli_init("tg-convert");
    if (parse(argc, argv, &o))
        return CLI_USAGE;
    if (cli_confine(&err) || run(&o, &err))
        return cli_report(&err);
    cli_progress_end();
    return cli_close_stdout();
}
