/*
 * extras_read: read what a dump has besides its stages (dump_extras.h).
 */
#ifndef TG_DUMP_EXTRAS_READ_H
#define TG_DUMP_EXTRAS_READ_H

#include "lib/dump/dump_read.h"

/* Check one's type and shape, in a dump of the view's shape; if `keep`, also read it into *kept, and check
 * its numbers.  TG_EDATA, with its name; TG_EIO, TG_ENOMEM.  The caller frees kept->owned, also after a
 * failure. */
TG_MUST_CHECK tg_status tg_extras_read(tg_dump_extra_array *kept, tg_archive_reader *reader,
                                       const tg_qkv_view *view, const tg_array *a, tg_dump_extra extra,
                                       bool keep, tg_err *err);

/* Check that those of the dump which were kept go together.  TG_EDATA. */
TG_MUST_CHECK tg_status tg_extras_check(const tg_dump *dump, tg_err *err);

#endif
