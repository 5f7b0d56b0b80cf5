/* What is in a file, for programs: a JSON object, or tab-separated values. */
#include <inttypes.h>
#include <string.h>

#include "cmd/cli/cli.h"
#include "cmd/tg-info/show.h"

#define SHOWN_SIZE 4200

/* ---- JSON */

static void put_string(const char *text)
{
    char shown[SHOWN_SIZE];

    /* printable UTF-8, whatever the text is */
    cli_escape(shown, sizeof shown, (const unsigned char *)text, strlen(text));
    cli_put_json(shown);
}

/* The key of a member, after a comma unless it is the first. */
static void put_key(const char *key, bool *any)
{
    if (*any)
        putchar(',');
    *any = true;
    put_string(key);
    putchar(':');
}

static void put_text(const char *key, const char *text, bool *any)
{
    put_key(key, any);
    put_string(text);
}

static void put_count(const char *key, uint64_t n, bool *any)
{
    put_key(key, any);
    printf("%" PRIu64, n);
}

static void put_real(const char *key, double x, bool *any)
{
    put_key(key, any);
    cli_put_json_number(x);
}

static bool is_grouped(const char *name)
{
    return info_in_group(name, "config/") || info_in_group(name, "train/") ||
           info_in_group(name, "tokenizer/") || strcmp(name, "kind") == 0;
}

/* The values of a group, without its name, as an object; NULL: those of no group. */
static void put_group(const tg_info *info, const char *key, const char *group, bool *any)
{
    bool inside = false;

    put_key(key, any);
    putchar('{');
    for (size_t i = 0; i < info->n_values; i++) {
        const tg_info_value *v = &info->value[i];
        const char *name = group ? info_in_group(v->name, group) : is_grouped(v->name) ? NULL : v->name;

        if (!name)
            continue;
        put_key(name, &inside);
        if (v->type == TG_INFO_NUMBER)
            fputs(v->text, stdout);
        else
            put_string(v->text);
    }
    putchar('}');
}

static void put_tokenizer(const tg_tokenizer *tok, bool *any)
{
    const unsigned char *identity;
    const uint32_t *ids;
    bool inside = false;

    put_key("tokenizer", any);
    if (!tok) {
        fputs("null", stdout);
        return;
    }
    putchar('{');
    put_text("kind", tg_tokenizer_kind_name(tok), &inside);
    put_count("ids", tg_tokenizer_vocab_size(tok), &inside);
    put_count("special", tg_tokenizer_specials(tok, &ids), &inside);
    put_count("added", tg_tokenizer_added(tok, &ids), &inside);
    put_key("end_of_text", &inside);
    if (tg_tokenizer_end_of_text(tok) >= 0)
        printf("%ld", (long)tg_tokenizer_end_of_text(tok));
    else
        fputs("null", stdout);
    put_key("identity", &inside);
    identity = tg_tokenizer_identity(tok);
    putchar('"');
    for (size_t i = 0; i < 32; i++)
        printf("%02x", identity[i]);
    fputs("\"}", stdout);
}

static void put_tensor(const tg_info *info, const tg_info_tensor *t, const info_options *o)
{
    bool inside = false;

    putchar('{');
    put_text("name", t->name, &inside);
    put_text("type", t->type, &inside);
    put_key("shape", &inside);
    putchar('[');
    for (size_t i = 0; i < t->ndim; i++)
        printf("%s%zu", i > 0 ? "," : "", t->shape[i]);
    putchar(']');
    put_key("offset", &inside);
    if (t->placed)
        printf("%" PRIu64, t->offset);
    else
        fputs("null", stdout);
    put_count("bytes", t->stored, &inside);
    if (o->stats && t->has_stats) {
        put_real("min", (double)t->stats.min, &inside);
        put_real("max", (double)t->stats.max, &inside);
        put_real("mean", tg_stats_mean(&t->stats), &inside);
        put_real("norm", tg_stats_norm(&t->stats), &inside);
        put_count("not_finite", t->stats.not_finite, &inside);
    }
    if (info->n_files > 1)
        put_text("file", info->file[t->file], &inside);
    putchar('}');
}

static void put_notes(const tg_info *info, bool *any)
{
    put_key("notes", any);
    putchar('[');
    for (size_t i = 0; i < info->notes.n; i++) {
        if (i > 0)
            putchar(',');
        put_string(info->notes.line[i]);
    }
    putchar(']');
}

static void put_reals(const char *key, const double *x, size_t n, bool *any)
{
    put_key(key, any);
    putchar('[');
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            putchar(',');
        cli_put_json_number(x[i]);
    }
    putchar(']');
}

static void put_history(const tg_info_history *h, bool *any)
{
    bool inside = false;

    put_key("history", any);
    putchar('{');
    put_reals("step", h->step, h->n, &inside);
    put_reals("loss", h->loss, h->n, &inside);
    if (h->val_loss)
        put_reals("val_loss", h->val_loss, h->n, &inside);
    putchar('}');
}

void info_show_json(const tg_info *info, const info_options *o)
{
    bool any = false;

    putchar('{');
    put_text("file", info->path, &any);
    put_text("format", info->format, &any);
    put_text("kind", info->kind, &any);
    put_count("bytes", info->bytes, &any);
    put_count("parameters", info->parameters, &any);
    if (info->frozen > 0)
        put_count("frozen", info->frozen, &any);
    if (strcmp(info->kind, "tokens") == 0)
        put_count("tokens", info->tokens, &any);
    if (info->archives > 0)
        put_count("archives", info->archives, &any);
    put_group(info, "config", "config/", &any);
    put_group(info, "train", "train/", &any);
    put_group(info, "values", NULL, &any);
    put_tokenizer(info->tokenizer, &any);
    if (info->history.n > 0)
        put_history(&info->history, &any);
    put_notes(info, &any);
    put_key("arrays", &any);
    putchar('[');
    for (size_t i = 0; i < info->n && !cli_stdout_failed(); i++) {
        if (i > 0)
            putchar(',');
        put_tensor(info, &info->tensor[i], o);
    }
    fputs("]}\n", stdout);
}

/* ---- tab-separated values */

void info_print_titles(const info_options *o)
{
    fputs("file\tname\ttype\tshape\toffset\tbytes", stdout);
    fputs(o->stats ? "\tmin\tmax\tmean\tnorm\tnot_finite\n" : "\n", stdout);
}

void info_show_tsv(const tg_info *info, const info_options *o)
{
    for (size_t i = 0; i < info->n && !cli_stdout_failed(); i++) {
        const tg_info_tensor *t = &info->tensor[i];
        const char *path = info->file[t->file];
        char shown[SHOWN_SIZE];

        cli_escape(shown, sizeof shown, (const unsigned char *)path, strlen(path));
        cli_put_field(shown);
        putchar('\t');
        cli_put_field(t->name);
        printf("\t%s\t", t->type);
        for (size_t d = 0; d < t->ndim; d++)
            printf("%s%zu", d > 0 ? "," : "", t->shape[d]);
        putchar('\t');
        if (t->placed)
            printf("%" PRIu64, t->offset);
        printf("\t%" PRIu64, t->stored);
        if (o->stats && t->has_stats)
            printf("\t%.9g\t%.9g\t%.9g\t%.9g\t%" PRIu64, (double)t->stats.min, (double)t->stats.max,
                   tg_stats_mean(&t->stats), tg_stats_norm(&t->stats), t->stats.not_finite);
        else if (o->stats)
            fputs("\t\t\t\t\t", stdout);
        putchar('\n');
    }
}
