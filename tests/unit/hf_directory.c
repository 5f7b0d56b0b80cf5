#include "tests/unit/hf_directory.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/unit/check.h"

char hf_directory[64] = "/tmp/test_hf.XXXXXX";

bool hf_begin(void)
{
    return mkdtemp(hf_directory) != NULL;
}

const char *hf_in_directory(const char *name)
{
    static char path[128];

    snprintf(path, sizeof path, "%s/%s", hf_directory, name);
    return path;
}

int hf_done(void)
{
    static const char *const names[] = {"config.json", "model.safetensors", "tokenizer.json"};

    for (size_t i = 0; i < 3; i++)
        unlink(hf_in_directory(names[i]));
    rmdir(hf_directory);
    return check_done();
}
