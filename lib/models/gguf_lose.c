/* What llama.cpp does otherwise. */
#include "lib/models/gguf_vocab.h"

tg_status tg_gguf_lose(tg_notes *notes, bool lossy, tg_err *err, const char *what)
{
    if (lossy)
        return tg_notes_add(notes, err, "llama.cpp differs: %s", what);
    return tg_fail(err, TG_EUSAGE, "llama.cpp differs: %s (--lossy accepts that)", what);
}
