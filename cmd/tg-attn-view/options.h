/*
 * options: the options of tg-attn-view, and which of them go together.
 */
#ifndef TG_CMD_VIEW_OPTIONS_H
#define TG_CMD_VIEW_OPTIONS_H

#include "cmd/cli/cli.h"
#include "cmd/tg-attn-view/heat.h"
#include "cmd/tg-attn-view/view.h"

/* What can be drawn of dumps, and then of other results. */
#define DUMP_SHOWS "probs|scores|steps"
#define SHOWS DUMP_SHOWS "|" HEAT_SHOWS
enum show { SHOW_PROBS, SHOW_SCORES, SHOW_STEPS, SHOWS_OF_DUMPS };
enum format { ANSI, PNG, SVG, HTML, FORMATS, OTHER = FORMATS };

struct options {
    const char *const *input; /* [n_inputs] */
    size_t n_inputs;
    const char *output, *layer_list, *head_list, *title;
    const char *headvis;  /* a directory, in place of a picture */
    bool wanted[FORMATS]; /* its option is given */
    enum format format;
    bool show_given, scale_given, color_given, paper_given, whole;
    view_list layers, heads;
    size_t batch, show, scale, color, width;
    view_paper paper;
    tg_attn_stage stage; /* what to show */
};

struct view_format {
    const char *name;
    cli_content content;
};
extern const struct view_format view_formats[FORMATS];

/* CLI_USAGE after a message. */
TG_MUST_CHECK int options_parse(int argc, char **argv, struct options *o);

#endif
