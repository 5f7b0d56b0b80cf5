/* tg-attn-view: a dump of attention, or other results, as a picture: in the terminal, as an image, as a page.
 */
#include <stdlib.h>

#include "cmd/tg-attn-view/headvis.h"
#include "cmd/tg-attn-view/options.h"
#include "lib/base/choice.h"
#include "lib/dump/dump_rows.h"

/* One archive: a dump, or results and their map. */
struct input {
    bool is_dump;
    tg_dump dump;
    tg_results results;
    heat heat;
    int fd; /* -1: not open */
};

/* All of them. */
struct inputs {
    struct input *in; /* [n_inputs] */
    view *v;          /* [n] of the dumps */
    size_t n;
    view_beside beside; /* a page's other archives */
};

/* ---- output */

static tg_status draw_results(const heat *h, const struct options *o, tg_sink *out, tg_err *err)
{
    return o->format == SVG ? heat_svg(h, out, err) : heat_ansi(h, out, (view_color)o->color, o->width, err);
}

static tg_status draw_dumps(const struct inputs *all, const struct options *o, tg_sink *out, tg_err *err)
{
    view *v = all->v;

    if (o->format == HTML)
        return view_html(v, all->n, &all->beside, o->title, o->whole, out, err);
    if (o->show == SHOW_STEPS)
        return view_steps(v, out, err) ? tg_err_in(err, v->name) : TG_OK;
    return o->format == SVG ? view_svg(v, out, err) : view_ansi(v, out, (view_color)o->color, o->width, err);
}

/* Draw to fd; set *bytes to the bytes written, except for a PNG image. */
static tg_status draw(const struct inputs *all, const struct options *o, int fd, unsigned long long *bytes,
                      tg_err *err)
{
    static tg_sink out; /* large */
    const struct input *in = all->in;
    tg_status status;

    if (o->format == PNG)
        return in->is_dump ? view_png(all->v, fd, err) : heat_png(&in->heat, fd, err);
    out = (tg_sink){.fd = fd};
    status = in->is_dump || o->format == HTML ? draw_dumps(all, o, &out, err)
                                              : draw_results(&in->heat, o, &out, err);
    if (!status)
        status = tg_sink_flush(&out, err);
    *bytes = (size_t)(out.done + out.n);
    return status;
}

/* Draw to the output.  A file is replaced only if everything succeeds. */
static tg_status draw_to_output(const struct inputs *all, const struct options *o, tg_err *err)
{
    cli_output output;
    unsigned long long bytes = 0;
    tg_status status;

    for (size_t d = 0; d < o->n_inputs; d++)
        if ((status = cli_check_output_differs(o->output, o->input[d], err)))
            return status;
    if ((status = cli_output_begin(&output, o->output, view_formats[o->format].content, err)))
        return status;
    status = draw(all, o, output.fd, &bytes, err);
    if (status == TG_EIO)
        status = tg_err_in(err, output.name);
    if (!status)
        status = cli_output_commit(&output, err);
    else
        cli_output_abort(&output);
    if (!status && o->format == HTML)
        cli_note("page size: %s", cli_bytes(bytes));
    return status;
}

/* ---- dumps */

static tg_dump_want wanted(const struct options *o)
{
    const unsigned page = TG_DUMP_BIT(TG_ATTN_RESID) | TG_DUMP_BIT(TG_ATTN_Q_PROJECTED) |
                          TG_DUMP_BIT(TG_ATTN_K_PROJECTED) | TG_DUMP_BIT(TG_ATTN_Q_NORMED) |
                          TG_DUMP_BIT(TG_ATTN_K_NORMED) | TG_DUMP_BIT(TG_ATTN_Q) | TG_DUMP_BIT(TG_ATTN_K) |
                          TG_DUMP_BIT(TG_ATTN_V);

    return (tg_dump_want){
        .layer = o->layers.n == 1 ? o->layers.index[0] : TG_ATTN_ALL,
        .stages = o->format == HTML || o->show == SHOW_STEPS ? page : tg_dump_rows_stages(o->stage),
        .extras = o->format == HTML || o->show == SHOW_STEPS};
}

static tg_status read_dump(struct input *in, view *v, const char *name, const struct options *o,
                           tg_archive_reader *reader, tg_err *err)
{
    char show[TG_CHOICE_SIZE];
    tg_status status;

    *v = (view){.dump = &in->dump,
                .name = name,
                .title = o->title,
                .show = o->stage,
                .page = o->format == HTML,
                .paper = o->paper,
                .b = o->batch,
                .scale.kind = o->show != SHOW_SCORES ? (tg_scale_kind)o->scale : TG_SCALE_LINEAR};
    in->is_dump = true;
    if ((status = tg_dump_read_after_kind(&in->dump, reader, wanted(o), err)))
        return status;
    if (o->show >= SHOWS_OF_DUMPS)
        return tg_fail(err, TG_EUSAGE, "--show %s is not of attention: expected one of %s",
                       tg_choice_name(show, SHOWS, o->show), DUMP_SHOWS);
    return view_choose(v, &o->layers, &o->heads, err);
}

/* ---- other results */

static tg_status read_results(struct input *in, const char *name, const struct options *o,
                              tg_results_kind kind, tg_archive_reader *reader, tg_err *err)
{
    char show[TG_CHOICE_SIZE], kinds[TG_CHOICE_SIZE];
    const heat_want want = {.show = o->show_given ? tg_choice_name(show, SHOWS, o->show) : NULL,
                            .layers = &o->layers,
                            .heads = &o->heads,
                            .scale = (tg_scale_kind)o->scale,
                            .scale_given = o->scale_given};
    tg_status status = tg_results_read(&in->results, kind, reader, err);

    tg_archive_close(reader);
    if (status)
        return status;
    (void)tg_choice_name(kinds, TG_RESULTS_KIND_NAMES, kind);
    if (o->batch > 0)
        return tg_fail(err, TG_EUSAGE, "--batch does not go with an archive of kind \"%s\"", kinds);
    status = heat_make(&in->heat, &in->results, &want, err);
    in->heat.name = name;
    in->heat.title = o->title;
    in->heat.paper = o->paper;
    return status;
}

/* Beside the attention of the first dump, or without any. */
static tg_status read_beside(struct inputs *all, tg_results_kind kind, const char *file,
                             tg_archive_reader *reader, tg_err *err)
{
    char name[TG_CHOICE_SIZE];
    tg_status status;

    if (beside_takes(kind, all->n > 0))
        status = beside_read(&all->beside, kind, file, reader, all->n > 0 ? all->v[0].dump : NULL, err);
    else
        status =
            tg_fail(err, TG_EUSAGE, "there are no pages of archives of kind \"%s\"%s: use .png, .svg or .txt",
                    tg_choice_name(name, TG_RESULTS_KIND_NAMES, kind),
                    beside_takes(kind, true) ? " without a dump before them" : "");
    tg_archive_close(reader);
    return status;
}

/* ---- any archive */

static tg_status read_archive(struct inputs *all, struct input *in, const char *name, const struct options *o,
                              tg_err *err)
{
    tg_archive_reader *reader;
    size_t kind;
    tg_status status = tg_archive_open(&reader, in->fd, err);

    if (status)
        return status;
    if ((status = tg_archive_read_kind(reader, TG_DUMP_KIND "|" TG_RESULTS_KIND_NAMES, &kind, err))) {
        const tg_err why = err ? *err : (tg_err){0};

        tg_archive_close(reader);
        return status != TG_EDATA
                   ? status
                   : tg_fail(err, status, "%s: tg-attn-dump -m MODEL -p TEXT -o FILE makes one", why.message);
    }
    if (kind > 0 && o->headvis) {
        tg_archive_close(reader);
        return tg_fail(err, TG_EUSAGE, "--headvis takes dumps of attention alone");
    }
    if (kind > 0 && o->format == HTML)
        return read_beside(all, (tg_results_kind)(kind - 1), name, reader, err);
    if (kind > 0)
        return read_results(in, name, o, (tg_results_kind)(kind - 1), reader, err);
    if (all->n == 0 && all->beside.first) {
        tg_archive_close(reader);
        return tg_fail(err, TG_EUSAGE, "on a page of a dump it comes first, before other archives");
    }
    if ((status = read_dump(in, &all->v[all->n++], name, o, reader, err)))
        return status;
    return (o->headvis ? headvis_check_alike : view_check_alike)(&all->v[0], &all->v[all->n - 1], err);
}

static tg_status read_inputs(struct inputs *all, const struct options *o, tg_err *err)
{
    for (size_t i = 0; i < o->n_inputs; i++) {
        const char *name = cli_input_name(o->input[i]);
        const tg_status status = cli_open_input(&all->in[i].fd, o->input[i], err);

        if (status)
            return status;
        if (read_archive(all, &all->in[i], name, o, err))
            return tg_err_in(err, name);
    }
    return TG_OK;
}

static void free_inputs(struct inputs *all, size_t n)
{
    for (size_t i = 0; i < n && all->in && all->v; i++) {
        struct input *in = &all->in[i];

        view_free(&all->v[i]);
        tg_dump_free(&in->dump);
        heat_free(&in->heat);
        tg_results_free(&in->results);
        if (in->fd >= 0)
            cli_close_input(in->fd);
    }
    beside_free(&all->beside);
    free(all->in);
    free(all->v);
}

static tg_status run(const struct options *o, tg_err *err)
{
    const size_t n = o->n_inputs;
    static struct inputs all; /* large */
    tg_status status = TG_OK;

    all.in = calloc(n, sizeof *all.in);
    all.v = calloc(n, sizeof *all.v);
    if (!all.in || !all.v)
        status = tg_fail_memory(err, n * (sizeof *all.in + sizeof *all.v), "the dumps");
    for (size_t i = 0; i < n && all.in; i++)
        all.in[i].fd = -1;
    if (!status && !(status = read_inputs(&all, o, err)))
        status = o->headvis ? headvis_write(all.v, all.n, o->headvis, err) : draw_to_output(&all, o, err);
    free_inputs(&all, n);
    return status;
}

int main(int argc, char **argv)
{
    struct options o = {0};
    tg_err err = {0};

    cli_init("tg-attn-view");
    if (options_parse(argc, argv, &o))
        return CLI_USAGE;
    if (cli_confine(&err) || run(&o, &err))
        return cli_report(&err);
    return cli_close_stdout();
}
