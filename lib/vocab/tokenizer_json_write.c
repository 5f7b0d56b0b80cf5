/* A vocabulary of byte-level byte pair encoding as Hugging Face's tokenizer.json. */
#include <stdbool.h>
#include <string.h>

#include "formats/sink.h"
#include "lib/base/utf8.h"
#include "lib/text/ids.h"
#include "lib/vocab/byte_map.h"
#include "lib/vocab/foreign.h"
#include "lib/vocab/tokenizer_json.h"
#include "lib/vocab/vocab_tokens.h"

/* ---- pieces of JSON */

static void put_mapped(tg_sink *sink, const tg_bpe_vocab *v, size_t id)
{
    size_t n;
    const unsigned char *token = tg_vocab_token(v, id, &n);
    char mapped[TG_BYTE_MAP_MAX];

    for (size_t i = 0; i < n; i++)
        tg_json_put(sink, mapped, tg_byte_map_put(mapped, token[i]));
}

/* ---- parts of the file */

static void put_added(tg_sink *sink, const tg_bpe_vocab *v)
{
    size_t put = 0;

    for (size_t id = 0; id < v->n; id++) {
        const bool special = tg_ids_contain(v->special, v->n_special, id);
        size_t n;
        const unsigned char *token = tg_vocab_token(v, id, &n);

        if (!tg_vocab_is_ordinary(v, id))
            tg_json_put_added(sink, &(tg_added_token){.id = id, .special = special}, token, n, put++ > 0);
    }
    tg_sink_puts(sink, put > 0 ? "\n  ],\n" : "],\n");
}

static void put_byte_level(tg_sink *sink, bool use_regex)
{
    tg_sink_puts(sink, "{\"type\": \"ByteLevel\", \"add_prefix_space\": false, \"trim_offsets\": true, "
                       "\"use_regex\": ");
    tg_sink_puts(sink, use_regex ? "true}" : "false}");
}

static void put_pre_tokenizer(tg_sink *sink, tg_split split)
{
    const bool sequence = split != TG_SPLIT_GPT2 && split != TG_SPLIT_NONE;
    const bool digits = split == TG_SPLIT_GPT2_DIGITS;
    const char *pattern = tg_split_pattern(split);

    tg_sink_puts(sink, "  \"pre_tokenizer\": ");
    if (sequence)
        tg_sink_puts(sink, "{\"type\": \"Sequence\", \"pretokenizers\": [\n    ");
    if (digits) {
        tg_sink_puts(sink, "{\"type\": \"Digits\", \"individual_digits\": true},\n    ");
    } else if (sequence) {
        tg_sink_puts(sink, "{\"type\": \"Split\", \"pattern\": {\"Regex\": ");
        tg_json_put_quoted(sink, pattern, strlen(pattern));
        tg_sink_puts(sink, "},\n     \"behavior\": \"Isolated\", \"invert\": false},\n    ");
    }
    put_byte_level(sink, split == TG_SPLIT_GPT2 || digits);
    tg_sink_puts(sink, sequence ? "\n  ]},\n" : ",\n");
}

/* Special and added tokens are in the vocabulary too, because readers take their ids from there. */
static void put_vocab(tg_sink *sink, const tg_bpe_vocab *v)
{
    size_t n, put = 0;

    tg_sink_puts(sink, "    \"vocab\": {");
    for (size_t id = 0; id < v->n; id++) {
        const unsigned char *token = tg_vocab_token(v, id, &n);

        if (n == 0)
            continue;
        tg_sink_puts(sink, put++ > 0 ? ",\n      \"" : "\n      \"");
        if (tg_vocab_is_ordinary(v, id))
            put_mapped(sink, v, id);
        else
            tg_json_put(sink, token, n);
        tg_sink_puts(sink, "\": ");
        tg_sink_put_size(sink, id);
    }
    tg_sink_puts(sink, "\n    },\n");
}

/* "A B", which old readers accept too; no mapped token has a space. */
static void put_merges(tg_sink *sink, const tg_bpe_vocab *v)
{
    tg_sink_puts(sink, "    \"merges\": [");
    for (size_t i = 0; i < v->n_merges; i++) {
        tg_sink_puts(sink, i > 0 ? ",\n      \"" : "\n      \"");
        put_mapped(sink, v, v->merges[i][0]);
        tg_sink_puts(sink, " ");
        put_mapped(sink, v, v->merges[i][1]);
        tg_sink_puts(sink, "\"");
    }
    tg_sink_puts(sink, "\n    ]\n");
}

static void put_model(tg_sink *sink, const tg_bpe_vocab *v)
{
    tg_sink_puts(sink, "  \"model\": {\n"
                       "    \"type\": \"BPE\", \"dropout\": null, \"unk_token\": null,\n"
                       "    \"continuing_subword_prefix\": null, \"end_of_word_suffix\": null,\n"
                       "    \"fuse_unk\": false, \"byte_fallback\": false, \"ignore_merges\": ");
    tg_sink_puts(sink, v->whole_pieces ? "true,\n" : "false,\n");
    put_vocab(sink, v);
    put_merges(sink, v);
    tg_sink_puts(sink, "  }\n");
}

/* ---- what the file can hold */

/* A special or added token is a key of the same object as the ordinary ones: as it is, and they mapped. */
static tg_status check_token(const tg_bpe_vocab *v, const tg_token_table *table, size_t id, tg_err *err)
{
    char shown[TG_TOKEN_SHOWN];
    unsigned char bytes[TG_BPE_TOKEN_MAX];
    size_t n, m;
    const unsigned char *text = tg_vocab_token(v, id, &n);
    const char *const what = tg_ids_contain(v->special, v->n_special, id) ? "special" : "added";
    uint32_t other;

    if (!tg_utf8_valid(text, n))
        return tg_fail(err, TG_EUSAGE, TG_JSON_REFUSAL "%s token %zu, \"%s\", is not UTF-8", what, id,
                       tg_token_shown(shown, text, n));
    if (!tg_byte_map_read(bytes, &m, (const char *)text, n))
        return TG_OK;
    if ((other = tg_token_table_find(table, bytes, m)) == TG_TOKEN_NONE)
        return TG_OK;
    return tg_fail(err, TG_EUSAGE, TG_JSON_REFUSAL "token %u and %s token %zu would both be \"%s\" there",
                   other, what, id, tg_token_shown(shown, text, n));
}

static tg_status check(const tg_bpe_vocab *v, tg_err *err)
{
    tg_token_table table;
    tg_status status = tg_vocab_table(&table, v, err);

    if (status)
        return status;
    for (size_t id = 0; !status && id < v->n; id++)
        if (!tg_vocab_is_ordinary(v, id))
            status = check_token(v, &table, id, err);
    tg_token_table_free(&table);
    return status;
}

tg_status tg_tokenizer_json_write(int fd, const tg_bpe_vocab *v, size_t first, tg_err *err)
{
    tg_sink sink = {.fd = fd};
    const tg_status status = check(v, err);
    const unsigned char *token;
    size_t n;

    if (status || fd < 0)
        return status;
    tg_json_put_begin(&sink);
    put_added(&sink, v);
    tg_sink_puts(&sink, v->normalizer == TG_NORMALIZER_NFC ? "  \"normalizer\": {\"type\": \"NFC\"},\n"
                                                           : "  \"normalizer\": null,\n");
    put_pre_tokenizer(&sink, v->split);
    token = tg_vocab_token(v, first < v->n ? first : 0, &n);
    tg_json_put_post_processor(&sink, first, token, n);
    tg_sink_puts(&sink, "  \"decoder\": ");
    put_byte_level(&sink, true);
    tg_sink_puts(&sink, ",\n");
    put_model(&sink, v);
    tg_sink_puts(&sink, "}\n");
    return tg_sink_flush(&sink, err);
}
