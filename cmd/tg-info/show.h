/*
 * show: what tg-info prints of a file.
 */
#ifndef TG_CMD_INFO_SHOW_H
#define TG_CMD_INFO_SHOW_H

#include <stdbool.h>

#include "lib/info/info.h"

typedef struct info_options {
    bool stats, check, all, json, tsv, no_header;
} info_options;

/* Print lines for the eye; a JSON object; a line of tab-separated values per array. */
TG_MUST_CHECK tg_status info_show_text(tg_info *info, const info_options *o, tg_err *err); /* TG_ENOMEM */
void info_show_json(const tg_info *info, const info_options *o);
void info_show_tsv(const tg_info *info, const info_options *o);
void info_print_titles(const info_options *o); /* of the latter */

/* "batch" of "train/batch", if the name begins with "train/"; otherwise NULL. */
const char *info_in_group(const char *name, const char *group);

#endif
