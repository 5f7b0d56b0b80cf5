/* The losses of runs as an SVG image: lines and text, light or dark as the reader's page is. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cmd/cli/cli.h"
#include "cmd/tg-info/show.h"
#include "lib/view/label.h"

/* pixels */
#define WIDTH 760
#define LEFT 64
#define RIGHT 24
#define TOP 40
#define PLOT_HEIGHT 320
#define LINE 20 /* of the legend */
#define PLOT_WIDTH (WIDTH - LEFT - RIGHT)
#define BOTTOM (TOP + PLOT_HEIGHT)

#define POINTS (PLOT_WIDTH / 4) /* of a curve: a mean of some steps hides less than their noise */
#define COLORS 6
#define SHOWN_SIZE 600

struct svg {
    tg_sink *sink;
    tg_axis x, y;
};

/* ---- text */

static void TG_PRINTF(2, 3) put(const struct svg *svg, const char *format, ...)
{
    char text[1024];
    va_list ap;

    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    tg_sink_puts(svg->sink, text);
}

/* ---- parts */

static double x_of(const struct svg *svg, double step)
{
    return LEFT + PLOT_WIDTH * tg_axis_place(&svg->x, step);
}

static double y_of(const struct svg *svg, double loss)
{
    return BOTTOM - PLOT_HEIGHT * tg_axis_place(&svg->y, loss);
}

/* Colours for light pages, and brighter ones for dark; both tell runs apart for those who see few colours,
 * and so do the dashes. */
static void put_style(const struct svg *svg)
{
    static const char *const light[COLORS] = {"#0060b0", "#c03a00", "#007a50",
                                              "#8a3fa0", "#8a6500", "#3d3d3d"};
    static const char *const dark[COLORS] = {"#66b5ff", "#ff9463", "#4fd0a0",
                                             "#d79bea", "#e0bc50", "#d0d0d0"};

    put(svg, "<style>\n.paper{fill:#fff}text{fill:#222}.axis{stroke:#666}.grid{stroke:#e4e4e4}\n");
    put(svg, ".axis,.grid,.curve{fill:none}.curve{stroke-width:1.6;stroke-linejoin:round}\n");
    for (size_t i = 0; i < COLORS; i++)
        put(svg, ".c%zu{stroke:%s}.f%zu{fill:%s}\n", i, light[i], i, light[i]);
    put(svg, "@media (prefers-color-scheme:dark){\n.paper{fill:#16181c}text{fill:#ddd}.axis{stroke:#999}"
             ".grid{stroke:#33363c}\n");
    for (size_t i = 0; i < COLORS; i++)
        put(svg, ".c%zu{stroke:%s}.f%zu{fill:%s}\n", i, dark[i], i, dark[i]);
    put(svg, "}\n</style>\n");
}

static void put_head(const struct svg *svg, const info_runs *runs)
{
    const size_t height = BOTTOM + 56 + LINE * runs->n;

    put(svg, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%zu\" viewBox=\"0 0 %d %zu\" ",
        WIDTH, height, WIDTH, height);
    put(svg, "font-family=\"sans-serif\" font-size=\"13\">\n<title>Losses</title>\n");
    put_style(svg);
    put(svg, "<rect class=\"paper\" width=\"%d\" height=\"%zu\"/>\n", WIDTH, height);
    put(svg, "<text x=\"%d\" y=\"22\">loss, in nats per token%s</text>\n", LEFT,
        info_scales(&svg->x, &svg->y));
}

static void put_axes(const struct svg *svg)
{
    char text[TG_AXIS_TEXT];

    for (size_t i = 0; i < svg->y.n; i++) {
        const double y = y_of(svg, svg->y.tick[i]);

        tg_axis_text(text, &svg->y, svg->y.tick[i]);
        put(svg, "<path class=\"grid\" d=\"M%d %.1fH%d\"/>", LEFT, y, WIDTH - RIGHT);
        put(svg, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n", LEFT - 8, y + 4, text);
    }
    for (size_t i = 0; i < svg->x.n; i++) {
        const double x = x_of(svg, svg->x.tick[i]);

        tg_axis_text(text, &svg->x, svg->x.tick[i]);
        put(svg, "<path class=\"grid\" d=\"M%.1f %dV%d\"/>", x, TOP, BOTTOM);
        put(svg, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n", x, BOTTOM + 18, text);
    }
    put(svg, "<path class=\"axis\" d=\"M%d %dV%dH%d\"/>\n", LEFT, TOP, BOTTOM, WIDTH - RIGHT);
    put(svg, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">step</text>\n", LEFT + PLOT_WIDTH / 2,
        BOTTOM + 36);
}

/* Runs of the same colour, and of neighbouring ones, differ in their dashes. */
static const char *dashes(size_t run)
{
    static const char *const all[] = {"none", "7 3", "2 3", "9 3 2 3"};

    return all[(run + run / COLORS) % (sizeof all / sizeof all[0])];
}

static void put_line(const struct svg *svg, const info_curve *curve, size_t run)
{
    double x[POINTS], y[POINTS];
    const size_t n = info_curve_thin(x, y, POINTS, &svg->x, curve);

    if (n == 0)
        return;
    put(svg, "<polyline class=\"curve c%zu\" stroke-dasharray=\"%s\" points=\"", run % COLORS, dashes(run));
    for (size_t i = 0; i < n; i++)
        put(svg, "%s%.1f,%.1f", i > 0 ? " " : "", x_of(svg, x[i]), y_of(svg, y[i]));
    put(svg, "\"/>\n");
}

static void put_points(const struct svg *svg, const info_curve *curve, size_t run)
{
    double x[POINTS], y[POINTS];
    const size_t n = info_curve_thin(x, y, POINTS, &svg->x, curve);

    for (size_t i = 0; i < n; i++)
        put(svg, "<circle class=\"f%zu\" cx=\"%.1f\" cy=\"%.1f\" r=\"3.2\"/>\n", run % COLORS,
            x_of(svg, x[i]), y_of(svg, y[i]));
}

static void put_legend(const struct svg *svg, const info_runs *runs)
{
    for (size_t i = 0; i < runs->n; i++) {
        const info_run *run = &runs->run[i];
        const char *path = cli_input_name(run->info->path);
        const size_t y = BOTTOM + 52 + LINE * i;
        char shown[SHOWN_SIZE];

        put(svg, "<path class=\"curve c%zu\" stroke-dasharray=\"%s\" d=\"M%d %zuh40\"/>", i % COLORS,
            dashes(i), LEFT, y);
        put(svg, "<text x=\"%d\" y=\"%zu\">%c  ", LEFT + 50, y + 4, 'A' + (int)i);
        tg_label_show(shown, sizeof shown, path, strlen(path));
        cli_put_xml(svg->sink, shown);
        if (run->loss.n > 0)
            put(svg, ": %s", info_loss(run->loss.loss[run->loss.n - 1]));
        if (run->val_loss.n > 0)
            put(svg, "; validation (dots): %s", info_loss(run->val_loss.loss[run->val_loss.n - 1]));
        put(svg, "</text>\n");
    }
}

void info_put_svg(const info_runs *runs, tg_sink *sink)
{
    struct svg svg = {.sink = sink};

    info_runs_axes(runs, &svg.x, &svg.y, 14, 8);
    put_head(&svg, runs);
    put_axes(&svg);
    for (size_t i = 0; i < runs->n; i++)
        put_line(&svg, &runs->run[i].loss, i);
    for (size_t i = 0; i < runs->n; i++)
        put_points(&svg, &runs->run[i].val_loss, i);
    put_legend(&svg, runs);
    put(&svg, "</svg>\n");
}
