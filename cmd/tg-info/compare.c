/* Several runs, side by side. */
#include "cmd/tg-info/show.h"

#include "cmd/cli/cli.h"

#define PLOT_ROWS 12

/* ---- what numbers mean */

/* Losses per token say something only about the same tokens. */
static void print_unit(const info_held *held)
{
    const tg_tokenizer *one = NULL;
    tg_err err;
    bool differ = false, unknown = false;

    for (size_t i = 0; i < held->n; i++) {
        const tg_tokenizer *tok = held->info[i].tokenizer;

        unknown = unknown || (held->info[i].history.n > 0 && !tok);
        if (one && tok && tg_tokenizer_same(one, tok, &err))
            differ = true;
        one = one ? one : tok;
    }
    if (differ)
        puts("note: losses are per token, and the tokenizers differ: no\n"
             "      comparison; tg-eval gives bits per byte");
    else if (unknown)
        puts("note: losses are per token: they compare runs with the same\n"
             "      tokenizer, which a log does not name; tg-eval gives\n"
             "      bits per byte");
}

static void print_again(const info_runs *runs)
{
    for (size_t i = 0; i < runs->n; i++)
        if (runs->run[i].repeated > 0)
            printf("note: %c has %s step%s that later lines replace\n", 'A' + (int)i,
                   cli_count(runs->run[i].repeated), cli_plural(runs->run[i].repeated));
}

/* ---- the three forms */

static tg_status show_text(const info_runs *runs, const info_held *held, tg_err *err)
{
    tg_status status;

    info_show_ends(runs);
    print_unit(held);
    print_again(runs);
    if (!runs->any)
        return TG_OK;
    if ((status = info_show_losses(runs, err)))
        return status;
    putchar('\n');
    return info_show_plot(runs, PLOT_ROWS, err);
}

static tg_status write_svg(const info_runs *runs, const info_held *held, const char *path, tg_err *err)
{
    cli_output out;
    tg_sink sink;
    tg_status status = TG_OK;

    for (size_t i = 0; !status && i < held->n; i++)
        status = cli_check_output_differs(path, held->info[i].path, err);
    if (status || (status = cli_output_begin(&out, path, CLI_OUT_SVG, err)))
        return status;
    sink = (tg_sink){.fd = out.fd};
    info_put_svg(runs, &sink);
    if (tg_sink_flush(&sink, err))
        status = tg_err_in(err, out.name);
    else
        status = cli_output_commit(&out, err);
    cli_output_abort(&out);
    return status;
}

tg_status info_compare(info_held *held, const info_options *o, tg_err *err)
{
    info_runs runs = {0};
    tg_status status = TG_OK;

    for (size_t i = 0; !status && i < held->n; i++)
        status = info_runs_add(&runs, &held->info[i], err);
    if (!status && o->svg)
        status = write_svg(&runs, held, o->output, err);
    else if (!status && o->tsv)
        info_show_losses_tsv(&runs);
    else if (!status)
        status = show_text(&runs, held, err);
    info_runs_free(&runs);
    return status;
}
