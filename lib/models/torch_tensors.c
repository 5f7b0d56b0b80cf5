/* The tensors in PyTorch's files, whoever has written them. */
#include "lib/models/reading.h"

/* Storages are read once for their checksums. */
static void release(void *file, const void *at, size_t n)
{
    tg_loaded_forget(file, at, n);
}

tg_status tg_torch_open_loaded(tg_torch *t, tg_loaded *file, tg_err *err)
{
    const tg_status status = tg_torch_open(t, file->bytes, file->n, err);

    t->release = release;
    t->context = file;
    return status;
}

const tg_pickle_value *tg_torch_find_state(const tg_torch *t)
{
    static const char *const names[] = {"model", "state_dict", "model_state_dict"};
    const tg_pickle_value *const root = t->pickle.root;

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const tg_pickle_value *const state = tg_pickle_find(&t->pickle, root, names[i]);

        if (state && state->kind == TG_PICKLE_DICT)
            return state;
    }
    return root;
}

tg_status tg_torch_read_tensors(tg_loaded *file, tg_err *err)
{
    tg_torch t;
    tg_status status = tg_torch_open_loaded(&t, file, err);

    if (!status)
        status = tg_torch_list(&file->list, &t, tg_torch_find_state(&t), false, err);
    tg_torch_close(&t);
    return status;
}
