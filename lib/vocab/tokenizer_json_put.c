/* The parts of a tokenizer.json that are written of any kind of vocabulary. */
#include "lib/vocab/tokenizer_json.h"

void tg_json_put_quoted(tg_sink *sink, const void *text, size_t n)
{
    tg_sink_puts(sink, "\"");
    tg_json_put(sink, text, n);
    tg_sink_puts(sink, "\"");
}

void tg_json_put_begin(tg_sink *sink)
{
    tg_sink_puts(sink, "{\n  \"version\": \"1.0\",\n  \"truncation\": null,\n  \"padding\": null,\n"
                       "  \"added_tokens\": [");
}

void tg_json_put_added(tg_sink *sink, const tg_added_token *token, const void *text, size_t n, bool comma)
{
    tg_sink_puts(sink, comma ? ",\n    {\"id\": " : "\n    {\"id\": ");
    tg_sink_put_size(sink, token->id);
    tg_sink_puts(sink, ", \"content\": ");
    tg_json_put_quoted(sink, text, n);
    tg_sink_print(sink,
                  ", \"single_word\": false, \"lstrip\": false, \"rstrip\": false, \"normalized\": %s, "
                  "\"special\": %s}",
                  token->normalized ? "true" : "false", token->special ? "true" : "false");
}

/* ---- post_processor */

/* A text, after the token: the first, A, or the second, B, of a pair. */
static void put_text(tg_sink *sink, const void *text, size_t n, int second)
{
    tg_sink_puts(sink, "\n      {\"SpecialToken\": {\"id\": ");
    tg_json_put_quoted(sink, text, n);
    tg_sink_print(sink, ", \"type_id\": %d}},\n      {\"Sequence\": {\"id\": \"%c\", \"type_id\": %d}}",
                  second, "AB"[second], second);
}

void tg_json_put_post_processor(tg_sink *sink, size_t first, const void *text, size_t n)
{
    if (first == SIZE_MAX) {
        tg_sink_puts(sink, "  \"post_processor\": null,\n");
        return;
    }
    tg_sink_puts(sink, "  \"post_processor\": {\n    \"type\": \"TemplateProcessing\",\n    \"single\": [");
    put_text(sink, text, n, 0);
    tg_sink_puts(sink, "\n    ],\n    \"pair\": [");
    put_text(sink, text, n, 0);
    tg_sink_puts(sink, ",");
    put_text(sink, text, n, 1);
    tg_sink_puts(sink, "\n    ],\n    \"special_tokens\": {\n      ");
    tg_json_put_quoted(sink, text, n);
    tg_sink_puts(sink, ": {\"id\": ");
    tg_json_put_quoted(sink, text, n);
    tg_sink_print(sink, ", \"ids\": [%zu], \"tokens\": [", first);
    tg_json_put_quoted(sink, text, n);
    tg_sink_puts(sink, "]}\n    }\n  },\n");
}
