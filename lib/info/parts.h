/* parts: what the files of info share. */
#ifndef TG_INFO_PARTS_H
#define TG_INFO_PARTS_H

#include "formats/tensor_list.h"
#include "lib/info/info.h"

/* Append a value, with copies of name and text, unless the last one of that name has that text.
 * TG_ENOMEM. */
TG_MUST_CHECK tg_status tg_info_add_value(tg_info *info, const char *name, tg_info_type type,
                                          const char *text, tg_err *err);

/* Append a tensor: name, type, shape and sizes of s.  *t is valid until the next one is added.  TG_ENOMEM. */
TG_MUST_CHECK tg_status tg_info_add_tensor(tg_info *info, const tg_stored *s, tg_info_tensor **t,
                                           tg_err *err);

/* Append the path of a file, which becomes the tensors' next.  TG_ENOMEM. */
TG_MUST_CHECK tg_status tg_info_add_file(tg_info *info, const char *path, uint64_t bytes, tg_err *err);

/* Add the numbers of s to t's statistics, if they are floating-point.  TG_ENOMEM. */
TG_MUST_CHECK tg_status tg_info_add_stats(tg_info_tensor *t, const tg_stored *s, tg_err *err);

/* TG_EDATA: a tensor has numbers that are not finite. */
TG_MUST_CHECK tg_status tg_info_check_finite(const tg_info_tensor *t, tg_err *err);

/* Append the tensors of the last file, with what is wanted of them. */
TG_MUST_CHECK tg_status tg_info_add_list(tg_info *info, const tg_tensor_list *list, const tg_info_want *want,
                                         tg_err *err);

/* ---- the readers */

/* The archives in a source, which this closes; other projects' files. */
TG_MUST_CHECK tg_status tg_info_read_archives(tg_info *info, tg_source *source, const tg_info_want *want,
                                              tg_err *err);
TG_MUST_CHECK tg_status tg_info_read_foreign(tg_info *info, const char *path, const tg_info_want *want,
                                             tg_err *err);

/* Whether a directory is an adapter of PEFT's; read it, info->path. */
bool tg_info_is_peft(const char *directory);
TG_MUST_CHECK tg_status tg_info_read_peft(tg_info *info, const tg_info_want *want, tg_err *err);

/* Whether a text begins like a log of tg-train; read it. */
bool tg_info_is_log(const unsigned char *text, size_t n);
TG_MUST_CHECK tg_status tg_info_read_log(tg_info *info, const unsigned char *text, size_t n, tg_err *err);

#endif
