/*
 * The reader of tokenizer.json.
 *
 * What is accepted is written again, and must read back the same.
 */
#include <string.h>

#include "lib/vocab/foreign.h"
#include "tests/fuzz/again.h"
#include "tests/fuzz/input.h"

static tg_status read_json(const tg_tokenizer **tok, const uint8_t *data, size_t size)
{
    const tg_file_text file = {"file", data, size};
    tg_err err = {0};
    bool whole;
    tg_status status = tg_tokenizer_json_recognize(&file, &whole, &err);

    *tok = NULL;
    if (!status)
        status = tg_tokenizer_json_read(tok, &file, &err);
    must(status == TG_OK ? *tok != NULL : status == TG_EDATA && strncmp(err.message, "file: ", 6) == 0);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const tg_tokenizer *tok;

    if (size > INPUT_MAX || read_json(&tok, data, size))
        return 0;
    (void)again(tok, TG_VOCAB_TOKENIZER_JSON, read_json);
    tg_tokenizer_free(tok);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    static const char text[] =
        "{\"added_tokens\":[{\"id\":4,\"content\":\"<e>\",\"lstrip\":false}],\"normalizer\":{\"type\":"
        "\"Sequence\","
        "\"normalizers\":[{\"type\":\"NFC\"}]},\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{"
        "\"type\":"
        "\"Digits\",\"individual_digits\":true},{\"type\":\"Split\",\"pattern\":{\"Regex\":\"a\"},"
        "\"behavior\":"
        "\"Isolated\",\"invert\":false},{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"use_regex\":"
        "true}]},"
        "\"decoder\":{\"type\":\"ByteLevel\"},\"model\":{\"type\":\"BPE\",\"unk_token\":null,\"ignore_"
        "merges\":false,"
        "\"vocab\":{\"a\":0,\"b\":1,\"ab\":2,\"\\u0120\":3},\"merges\":[\"a b\",[\"a\",\"b\"]]}}";

    (void)seed;
    return LLVMFuzzerMutate(data, size < 10 ? input_seed(data, max, text) : size, max);
}
