#include "cmd/tg-attn-dump/record.h"

#include <stdio.h>

/* What stands before a value; false: nothing is to follow. */
static bool begin(attn_record *r, const char *name, bool there)
{
    const bool first = r->n++ == 0;

    if (r->json)
        printf("%s\"%s\":%s", first ? "{" : ",", name, there ? "" : "null");
    else
        printf("%s%s", first ? "" : "\t", r->titles ? name : "");
    return there && !r->titles;
}

void attn_put_size(attn_record *r, const char *name, bool there, uint64_t value)
{
    if (begin(r, name, there))
        printf("%llu", (unsigned long long)value);
}

void attn_put_real(attn_record *r, const char *name, bool there, double value)
{
    if (begin(r, name, there))
        printf("%.9g", value);
}

/* The text is what a terminal can show (cli_escape): only these are special in JSON. */
void attn_put_text(attn_record *r, const char *name, bool there, const char *text, size_t n)
{
    if (!begin(r, name, there))
        return;
    if (r->json)
        putchar('"');
    for (size_t i = 0; i < n; i++) {
        if (r->json && (text[i] == '"' || text[i] == '\\'))
            putchar('\\');
        putchar(text[i]);
    }
    if (r->json)
        putchar('"');
}

void attn_end_record(attn_record *r)
{
    puts(r->json ? "}" : "");
    r->n = 0;
}
