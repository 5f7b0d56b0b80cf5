/* What is in a file, for the eye. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cli/cli.h"
#include "cmd/tg-info/show.h"
#include "formats/path.h"
#include "lib/base/decimal.h"
#include "lib/base/size.h"
#include "lib/bpe/bpe.h"
#include "lib/gpt/config.h"
#include "lib/split/split.h"
#include "lib/view/label.h"

#define WIDTH 79 /* of lines that are wrapped, unless the terminal has less */
#define PLOT_ROWS 7
#define INDENT 12 /* of what follows a label */
#define SHOWN_SIZE 4200
#define SHAPE_SIZE (TG_DIMS_MAX * 21 + 3)

const char *info_in_group(const char *name, const char *group)
{
    const size_t n = strlen(group);

    return strncmp(name, group, n) == 0 ? name + n : NULL;
}

/* ---- labels, and words after them that are wrapped */

struct words {
    size_t column;
    bool any;
};

static struct words begin_row(const char *label)
{
    printf("%-*s", INDENT, label);
    return (struct words){.column = INDENT};
}

static void put_item(struct words *w, const char *item)
{
    const size_t n = tg_label_width(item);

    if (w->any && w->column + 2 + n > tg_size_min(WIDTH, info_width() - 1)) {
        printf(",\n%*s", INDENT, "");
        w->column = INDENT;
    } else if (w->any) {
        fputs(", ", stdout);
        w->column += 2;
    }
    fputs(item, stdout);
    w->column += n;
    w->any = true;
}

static void put_value(struct words *w, const char *name, const char *text)
{
    char item[SHOWN_SIZE], shown[SHOWN_SIZE - 200];

    cli_escape(shown, sizeof shown, (const unsigned char *)text, strlen(text));
    snprintf(item, sizeof item, "%.128s %s", name, shown);
    put_item(w, item);
}

/* ---- rows */

static const char *text_of(const tg_info *info, const char *name)
{
    const tg_info_value *v = tg_info_find(info, name);

    return v ? v->text : "?";
}

/* A whole number for the eye: "32,768". */
static const char *count_of(const tg_info *info, const char *name)
{
    const char *text = text_of(info, name);
    const size_t digits = strspn(text, "0123456789");

    return digits > 0 && digits < 20 && text[digits] == '\0' ? cli_count(strtoull(text, NULL, 10)) : text;
}

/* The ending of the noun after that number. */
static const char *plural(const tg_info *info, const char *name)
{
    return strcmp(text_of(info, name), "1") == 0 ? "" : "s";
}

static void print_heading(const tg_info *info)
{
    char path[SHOWN_SIZE];

    cli_escape(path, sizeof path, (const unsigned char *)info->path, strlen(info->path));
    printf("%s: ", cli_input_name(path));
    if (strcmp(info->kind, "arrays") == 0 || strcmp(info->kind, "tensors") == 0)
        fputs(info->format, stdout);
    else
        printf("%s (%s)", info->kind, info->format);
    if (info->bytes > 0)
        printf(", %s", cli_bytes(info->bytes));
    if (info->n_files > 1)
        printf(" in %zu files", info->n_files);
    putchar('\n');
}

/* Arrays that the table leaves out unless --all is given. */
static bool is_hidden(const tg_info_tensor *t)
{
    return info_in_group(t->name, "opt/") || info_in_group(t->name, "train/") ||
           info_in_group(t->name, "tokenizer/") || (t->ndim == 0 && strchr(t->name, '/')) ||
           strcmp(t->name, "kind") == 0 || strcmp(t->name, "version") == 0;
}

/* The arrays of a model are many, and its shape tells their names: they are listed when asked for. */
static bool lists_arrays(const tg_info *info, const info_options *o)
{
    return o->all || o->stats || info->parameters == 0 || strcmp(info->kind, "model") != 0;
}

static void print_parameters(const tg_info *info, const info_options *o)
{
    uint64_t moments = 0, bytes = 0;

    if (info->parameters > 0)
        printf("%-*s%s%s\n", INDENT, "parameters", cli_count(info->parameters),
               lists_arrays(info, o) ? "" : ", in arrays that --all lists");
    if (info->frozen > 0)
        printf("%-*s%s of these\n", INDENT, "frozen", cli_count(info->frozen));
    for (size_t i = 0; i < info->n; i++) {
        if (!info_in_group(info->tensor[i].name, "opt/"))
            continue;
        moments++;
        bytes += info->tensor[i].stored;
    }
    if (moments > 0)
        printf("%-*s%s arrays, %s\n", INDENT, "optimizer", cli_count(moments), cli_bytes(bytes));
}

static void print_shape(const tg_info *info)
{
    char item[SHOWN_SIZE];
    struct words w = begin_row("shape");

    snprintf(item, sizeof item, "%s layer%s", count_of(info, "config/n_layer"),
             plural(info, "config/n_layer"));
    put_item(&w, item);
    snprintf(item, sizeof item, "%s head%s", count_of(info, "config/n_head"), plural(info, "config/n_head"));
    put_item(&w, item);
    put_value(&w, "width", count_of(info, "config/n_embd"));
    put_value(&w, "context", count_of(info, "config/n_ctx"));
    put_value(&w, "vocabulary", count_of(info, "config/vocab_size"));
    putchar('\n');
}

/* The layers whose bits are set in a number: "0-4 6-10". */
static void layers_text(char *out, size_t size, const char *number)
{
    const uint64_t layers = strtoull(number, NULL, 10);
    size_t n = 0;

    *out = '\0';
    for (size_t l = 0, end; l < TG_LAYER_BITS && n + 8 < size; l = end + 1) {
        for (end = l; tg_layer_in(layers, end); end++)
            ;
        if (end > l + 1)
            n += (size_t)snprintf(out + n, size - n, "%s%zu-%zu", n > 0 ? " " : "", l, end - 1);
        else if (end > l)
            n += (size_t)snprintf(out + n, size - n, "%s%zu", n > 0 ? " " : "", l);
    }
}

/* Whether a setting changes nothing.  GPT-2's are few, and all shown. */
static bool is_neutral(const char *name, const char *text)
{
    static const char *const factors[] = {"rope_factor", "rope_low_freq", "rope_high_freq", "rope_ctx",
                                          "embed_scale"};

    for (size_t i = 0; i < sizeof factors / sizeof factors[0]; i++)
        if (strcmp(name, factors[i]) == 0)
            return strcmp(text, "1") == 0;
    if (strcmp(name, "tied") == 0 || strstr(name, "_token_id"))
        return false;
    return strcmp(text, "0") == 0 || strcmp(text, "none") == 0;
}

static void print_config(const tg_info *info)
{
    static const char *const sizes[] = {"n_layer", "n_head", "n_embd", "n_ctx", "vocab_size"};
    const bool terse = tg_info_find(info, "config/family");
    char layers[SHOWN_SIZE];
    struct words w;

    if (!tg_info_find(info, "config/n_layer"))
        return;
    print_shape(info);
    w = begin_row("config");
    for (size_t i = 0; i < info->n_values; i++) {
        const char *name = info_in_group(info->value[i].name, "config/");
        bool is_size = false;

        for (size_t s = 0; name && s < sizeof sizes / sizeof sizes[0]; s++)
            is_size = is_size || strcmp(name, sizes[s]) == 0;
        if (!name || is_size || (terse && is_neutral(name, info->value[i].text)))
            continue;
        layers_text(layers, sizeof layers, info->value[i].text);
        put_value(&w, name, strstr(name, "_layers") ? layers : info->value[i].text);
    }
    putchar('\n');
}

/* "n what", unless n is 0. */
static void put_number(struct words *w, size_t n, const char *what)
{
    char item[64];

    snprintf(item, sizeof item, "%s %s", cli_count(n), what);
    if (n > 0)
        put_item(w, item);
}

static void print_tokenizer(const tg_info *info)
{
    const tg_tokenizer *tok = info->tokenizer;
    const tg_bpe_vocab *bpe = tok ? tg_bpe_vocab_of(tok) : NULL;
    const unsigned char *h = tok ? tg_tokenizer_identity(tok) : NULL;
    const uint32_t *ids;
    struct words w;
    char item[96];

    if (!tok)
        return;
    w = begin_row("tokenizer");
    put_item(&w, tg_tokenizer_kind_name(tok));
    snprintf(item, sizeof item, "%s ids", cli_count(tg_tokenizer_vocab_size(tok)));
    put_item(&w, item);
    if (bpe)
        put_value(&w, "split", tg_split_name(bpe->split));
    put_number(&w, tg_tokenizer_specials(tok, &ids), "special");
    put_number(&w, tg_tokenizer_added(tok, &ids), "added");
    if (tg_tokenizer_end_of_text(tok) >= 0) {
        snprintf(item, sizeof item, "end of text %ld", (long)tg_tokenizer_end_of_text(tok));
        put_item(&w, item);
    }
    snprintf(item, sizeof item, "identity %02x%02x%02x%02x", h[0], h[1], h[2], h[3]);
    put_item(&w, item);
    putchar('\n');
}

static void print_tokens(const tg_info *info)
{
    if (strcmp(info->kind, "tokens") != 0)
        return;
    printf("%-*s%s", INDENT, "tokens", cli_count(info->tokens));
    if (info->archives > 1)
        printf(" in %s archives, the first of which is shown", cli_count(info->archives));
    putchar('\n');
}

/* With its settings; what it keeps to know its text again, only if all is asked for. */
static void print_training(const tg_info *info, bool all)
{
    struct words w;

    if (!tg_info_find(info, "train/step"))
        return;
    printf("%-*sstep %s of %s\n", INDENT, "training", count_of(info, "train/step"),
           count_of(info, "train/steps"));
    w = begin_row("settings");
    for (size_t i = 0; i < info->n_values; i++) {
        const char *name = info_in_group(info->value[i].name, "train/");

        if (name && strcmp(name, "step") != 0 && strcmp(name, "steps") != 0 &&
            (all || !info_in_group(name, "text_")))
            put_value(&w, name, info->value[i].text);
    }
    putchar('\n');
}

/* A step, which is a whole number. */
static const char *count(double step)
{
    return cli_count((uint64_t)step);
}

static void print_losses(const char *label, const info_curve *c)
{
    if (c->n > 0)
        printf("%-12s%s to %s, least %s at step %s\n", label, info_loss(c->loss[0]),
               info_loss(c->loss[c->n - 1]), info_loss(c->loss[c->least]), count(c->step[c->least]));
}

/* A log has many lines; a model keeps one step in a power of two. */
static void print_steps(const tg_info_history *h, size_t repeated)
{
    const double every = h->n > 1 ? h->step[1] - h->step[0] : 1;

    printf("%-12s%s to %s", "steps", count(h->step[0]), count(h->step[h->n - 1]));
    if (h->val_loss)
        printf(", in %s line%s", cli_count(h->n), cli_plural(h->n));
    else if (every > 1)
        printf(", one in %s", count(every));
    if (repeated > 0)
        printf(", and %s that later ones replace", cli_count(repeated));
    putchar('\n');
}

static void print_history(const info_run *run)
{
    const tg_info_history *h = &run->info->history;

    if (h->n == 0)
        return;
    print_steps(h, run->repeated);
    print_losses("loss", &run->loss);
    print_losses("validation", &run->val_loss);
}

/* Values that no row above has shown. */
static void print_values(const tg_info *info)
{
    for (size_t i = 0; i < info->n_values; i++) {
        const tg_info_value *v = &info->value[i];
        char name[160], text[SHOWN_SIZE];

        if (info_in_group(v->name, "config/") || info_in_group(v->name, "train/") ||
            strcmp(v->name, "kind") == 0 || strcmp(v->name, "version") == 0)
            continue;
        cli_escape(name, sizeof name, (const unsigned char *)v->name, strlen(v->name));
        cli_escape(text, sizeof text, (const unsigned char *)v->text, strlen(v->text));
        printf("%-*s %s\n", INDENT - 1, name, text);
    }
}

static void print_notes(const tg_info *info, const info_options *o)
{
    for (size_t i = 0; i < info->notes.n; i++) {
        char text[SHOWN_SIZE];

        cli_escape(text, sizeof text, (const unsigned char *)info->notes.line[i],
                   strlen(info->notes.line[i]));
        printf("%-*s%s\n", INDENT, "note", text);
    }
    if (o->check)
        printf("%-*severything is as it should be\n", INDENT, "checked");
}

/* ---- the table of arrays */

static const char *shape_text(char out[SHAPE_SIZE], const tg_info_tensor *t)
{
    size_t n = 0;

    out[n++] = '[';
    for (size_t i = 0; i < t->ndim; i++)
        n += (size_t)snprintf(out + n, SHAPE_SIZE - n, "%s%zu", i > 0 ? "," : "", t->shape[i]);
    snprintf(out + n, SHAPE_SIZE - n, "]");
    return out;
}

struct columns {
    size_t name, type, shape, offset, bytes;
};

static struct columns measure(const tg_info *info, bool all)
{
    struct columns w = {5, 4, 5, 6, 5}; /* of the titles */
    char shape[SHAPE_SIZE];

    for (size_t i = 0; i < info->n; i++) {
        const tg_info_tensor *t = &info->tensor[i];

        if (!all && is_hidden(t))
            continue;
        w.name = tg_size_max(w.name, strlen(t->name));
        w.type = tg_size_max(w.type, strlen(t->type));
        w.shape = tg_size_max(w.shape, strlen(shape_text(shape, t)));
        w.offset = tg_size_max(w.offset, tg_decimal_digits((size_t)t->offset));
        w.bytes = tg_size_max(w.bytes, tg_decimal_digits((size_t)t->stored));
    }
    return w;
}

static void print_stats(const tg_info_tensor *t)
{
    if (!t->has_stats)
        return;
    printf("  %11.4g %11.4g %11.4g %11.4g", (double)t->stats.min, (double)t->stats.max,
           tg_stats_mean(&t->stats), tg_stats_norm(&t->stats));
    if (t->stats.not_finite > 0)
        printf("  %" PRIu64 " not finite", t->stats.not_finite);
}

static void print_tensor(const tg_info *info, const tg_info_tensor *t, const struct columns *w,
                         const info_options *o)
{
    char shape[SHAPE_SIZE], offset[24] = "-";

    if (t->placed)
        snprintf(offset, sizeof offset, "%" PRIu64, t->offset);
    printf("%-*s  %-*s  %-*s  %*s  %*" PRIu64, (int)w->name, t->name, (int)w->type, t->type, (int)w->shape,
           shape_text(shape, t), (int)w->offset, offset, (int)w->bytes, t->stored);
    if (o->stats)
        print_stats(t);
    if (info->n_files > 1)
        printf("  %s", tg_path_name(info->file[t->file]));
    putchar('\n');
}

static void print_table(const tg_info *info, const info_options *o)
{
    const struct columns w = measure(info, o->all);
    size_t shown = 0, hidden = 0;

    for (size_t i = 0; i < info->n; i++)
        hidden += !o->all && is_hidden(&info->tensor[i]);
    if (hidden < info->n) {
        printf("\n%-*s  %-*s  %-*s  %*s  %*s", (int)w.name, "array", (int)w.type, "type", (int)w.shape,
               "shape", (int)w.offset, "offset", (int)w.bytes, "bytes");
        if (o->stats)
            printf("  %11s %11s %11s %11s", "min", "max", "mean", "norm");
        fputs(info->n_files > 1 ? "  file\n" : "\n", stdout);
    }
    for (size_t i = 0; i < info->n && !cli_stdout_failed(); i++) {
        if (!o->all && is_hidden(&info->tensor[i]))
            continue;
        print_tensor(info, &info->tensor[i], &w, o);
        shown++;
    }
    if (hidden > 0 && shown > 0)
        printf("and %s more with --all\n", cli_count(hidden));
}

tg_status info_show_text(tg_info *info, const info_options *o, tg_err *err)
{
    info_runs runs = {0};
    tg_status status = info_runs_add(&runs, info, err);

    if (!status) {
        print_heading(info);
        print_parameters(info, o);
        print_config(info);
        print_tokenizer(info);
        print_tokens(info);
        print_training(info, o->all);
        print_history(&runs.run[0]);
        print_values(info);
        print_notes(info, o);
        if (lists_arrays(info, o))
            print_table(info, o);
        if (runs.run[0].loss.n > 1)
            status = info_show_plot(&runs, PLOT_ROWS, err);
    }
    info_runs_free(&runs);
    return status;
}
