/*
 * cli_sniff: tell an archive from plain text by its first bytes.
 */
#ifndef TG_CMD_CLI_SNIFF_H
#define TG_CMD_CLI_SNIFF_H

#include <stdbool.h>

#include "lib/base/status.h"

/*
 * Look at the first bytes of fd: *archive says whether they are an archive's (false
 * for empty input).  *again is where the input can then be read from its start:
 *
 *   a regular file   fd itself, its position unchanged
 *   anything else    one end of a socket that a thread fills from fd; close it with
 *                    cli_close_input(), and leave fd open until then
 *
 * TG_EIO: fd cannot be read; TG_ENOMEM.  An error that the thread meets later is
 * reported under `name` and ends the program with CLI_IO.
 */
TG_MUST_CHECK tg_status cli_sniff(int fd, const char *name, bool *archive, int *again, tg_err *err);

#endif
