/* limits: the limits of an archive (formats/README.md).  The fuzzers' build has a lower one
 * (tests/fuzz/limits.h). */
#ifndef TG_FORMATS_LIMITS_H
#define TG_FORMATS_LIMITS_H

#include "lib/base/api.h"

TG_API_BEGIN

#define TG_NAME_MAX 127 /* bytes of a name: [A-Za-z0-9._/-]; in files of other projects, printable ASCII */
#define TG_DIMS_MAX 8
#ifndef TG_NAMES_MAX
#define TG_NAMES_MAX 4096 /* arrays in an archive, tensors in a file */
#endif

TG_API_END

#endif
