/*
 * parts: the numbers of a page besides the settings: q and k, and as much of the rest as its weight allows.
 */
#ifndef TG_CMD_VIEW_PARTS_H
#define TG_CMD_VIEW_PARTS_H

#include "cmd/tg-attn-view/view.h"

/* What a page has besides q and k, in the order of their use. */
typedef enum view_part {
    VIEW_VALUES,   /* v */
    VIEW_GRADIENT, /* of a loss, by att */
    VIEW_WEIGHTS,  /* of the output projection */
    VIEW_STEPS,    /* q and k before they were rotated, and before they were normed */
    VIEW_RESIDUAL, /* the residual stream */
    VIEW_PARTS
} view_part;

/* Choose the parts that all n dumps have and that do not make the page too heavy, unless it is to have the
 * `whole`; a note names what is left out for that.  Returns a set of 1u << part. */
unsigned parts_choose(const view *v, size_t n, bool whole);

/* Write their description, members of a JSON object that begin with a comma. */
void parts_put_facts(tg_sink *out, unsigned parts);

/* The same of what differs from dump to dump: the target and what the model predicts. */
void parts_put_dump_facts(tg_sink *out, const view *v, unsigned parts);

/* Write the nth dump's arrays, an element each. */
void parts_put_arrays(tg_sink *out, const view *v, size_t nth, unsigned parts);

/* Write bytes as an element with this id, in base64. */
void parts_put_element(tg_sink *out, const char *id, const void *data, size_t size);

/* Write a number, all digits of it. */
void parts_put_number(tg_sink *out, double x);

/* Write a JSON string without "<", so that no text can end the HTML element that contains it. */
void parts_put_string(tg_sink *out, const char *text);

#endif
