/* team: how a process was started, and what all processes agree on. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cli/cli.h"
#include "cmd/team/private.h"
#include "formats/crc.h"
#include "formats/sink.h"
#include "lib/base/size.h"
#include "lib/base/threads.h"
#include "lib/kernels/kernels.h"

/* What the bytes of a message mean depends on these. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define VERSION_AND_ORDER "version " TG_VERSION ", little-endian"
#else
#define VERSION_AND_ORDER "version " TG_VERSION ", big-endian"
#endif

/* ---- the launcher's variables */

static bool number_of(const char *variable, size_t *number)
{
    const char *text = getenv(variable);

    return text && cli_take_size(&text, number) && *text == '\0';
}

static team_launch find_launch(void)
{
    static const struct {
        const char *rank, *size;
    } known[] = {
        {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
        {"PMI_RANK", "PMI_SIZE"},              /* MPICH's family; Slurm with PMI-2 */
        {"PMIX_RANK", "SLURM_STEP_NUM_TASKS"}, /* Slurm with PMIx */
    };

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        team_launch l = {.by = known[i].size};

        if (number_of(known[i].rank, &l.rank) && number_of(known[i].size, &l.size) && l.rank < l.size)
            return l;
    }
    return (team_launch){.size = 1};
}

bool team_recognize(void)
{
    const team_launch l = find_launch();

    cli_mute(l.rank > 0);
    if (l.rank > 0) {
        cli_to_null(STDIN_FILENO, O_RDONLY);
        cli_to_null(STDOUT_FILENO, O_WRONLY);
    }
    return l.size > 1;
}

tg_status team_confine(tg_err *err)
{
    return find_launch().size > 1 ? cli_stay_free("there are several processes", err) : cli_confine(err);
}

bool team_follows(void)
{
    return find_launch().rank > 0;
}

/* ---- beginning and end */

/* *seconds: after which a process that does not answer is lost. */
static tg_status choose_timeout(double *seconds, tg_err *err)
{
    const char *text = getenv("TG_TEAM_TIMEOUT");
    size_t n = 60;

    if (text && *text != '\0' && (!number_of("TG_TEAM_TIMEOUT", &n) || n < 1 || n > 86400))
        return tg_fail(err, TG_EUSAGE,
                       "TG_TEAM_TIMEOUT must be a number of seconds from 1 to 86400, got '%s'", text);
    *seconds = (double)n;
    return TG_OK;
}

static tg_team team_of_all;
static bool connected; /* at some time */

static tg_status connect_all(const tg_team **team, tg_err *err)
{
    const team_launch launch = find_launch();
    double timeout = 0;
    tg_status status;

    *team = &tg_team_alone;
    if (launch.size <= 1)
        return TG_OK;
    if (launch.size > TG_TEAM_MAX)
        return tg_fail(err, TG_EUSAGE, "%zu processes: there can be at most %d", launch.size, TG_TEAM_MAX);
    if ((status = choose_timeout(&timeout, err)) ||
        (status = team_connect(&team_of_all, &launch, timeout, err)))
        return status;
    *team = &team_of_all;
    connected = true;
    return TG_OK;
}

void team_end(void)
{
    if (team_of_all.size > 1) {
        if (fflush(stdout) != 0)       /* now: an mpirun may end this process when another one has ended */
            (void)cli_stdout_failed(); /* keeps why */
        team_part();
    }
    team_of_all.size = 0;
}

int team_exit(int code)
{
    if (!team_follows())
        return code;
    if (connected)
        return CLI_OK;
    sleep(1); /* the first one, which very likely fails in the same way, speaks first */
    return code;
}

/* ---- what all agree on */

/* The message of member `from`, to all. */
static void broadcast_error(const tg_team *team, size_t from, tg_err *err)
{
    static tg_err all; /* the one that is sent */
    static size_t first[TG_TEAM_MAX + 1];
    char name[128];

    for (size_t i = 0; i <= team->size; i++)
        first[i] = i > from; /* only `from` has an element */
    if (team->rank == from)
        all = *err;
    tg_team_allgather_arrays(team, &(tg_gather){.all = &all, .bytes = sizeof all, .first = first}, 1);
    if (team->rank == from)
        return;
    *err = all;
    team_name(name, sizeof name, from);
    (void)tg_err_in(err, name);
}

tg_status team_settle(const tg_team *team, tg_status status, tg_err *err)
{
    int first; /* of those that have failed, from the last one on */

    if (team->size == 1)
        return status;
    first = tg_team_agree(team, status ? (int)(team->size - team->rank) : 0);
    if (first == 0)
        return TG_OK;
    broadcast_error(team, team->size - (size_t)first, err);
    return err->code;
}

tg_status team_compare(const tg_team *team, const char *word, const char *does, const char *remedy,
                       tg_err *err)
{
    static char words[TG_TEAM_MAX][TEAM_WORD];
    char name[128];

    if (team->size == 1)
        return TG_OK;
    snprintf(words[team->rank], TEAM_WORD, "%s", word);
    tg_team_allgather(team, words, team->size, TEAM_WORD);
    for (size_t i = 1; i < team->size; i++)
        if (strcmp(words[i], words[0]) != 0) {
            team_name(name, sizeof name, i);
            return tg_fail(err, TG_EUSAGE, "%s %s %s, process 0 %s: %s", name, does, words[i], words[0],
                           remedy);
        }
    return TG_OK;
}

tg_status team_compare_models(const tg_team *team, const tg_model *model, tg_err *err)
{
    const tg_params *table = &model->table;
    char word[TEAM_WORD];
    uint32_t crc = 0;

    for (size_t i = 0; team->size > 1 && i < table->n; i++)
        crc = tg_crc32(crc, tg_model_values(model, i), table->entry[i].count * sizeof(float));
    snprintf(word, sizeof word, "%zu parameters, CRC-32 %08" PRIx32, table->count, crc);
    return team_compare(team, word, "has a model of", "all processes need the same model", err);
}

/* Unless a number is asked for, the process's part of the processors that it shares with others of the team.
 */
static size_t threads_of(size_t asked)
{
    if (asked > 0 || team_of_all.size <= 1 || tg_threads_asked() > 0)
        return asked;
    return tg_size_max(1, tg_threads_processors() / team_on_same_processors());
}

tg_status team_begin_compute(const tg_team **team, size_t threads, tg_err *err)
{
    tg_status status = connect_all(team, err);

    if (status || (status = team_settle(*team, cli_begin_compute(threads_of(threads), err), err)) ||
        (status = team_compare(*team, VERSION_AND_ORDER, "is", "all machines need the same", err)))
        return status;
    /* each would have its own rounding */
    return team_compare(*team, tg_kernels_get()->isa, "computes with", "set TG_ISA to the same for all", err);
}

/* ---- standard input */

#define BLOCK ((size_t)1 << 20)

/* A block of standard input, and how it ended. */
struct block {
    size_t n;
    int sys; /* errno of a failure, or 0 */
    unsigned char byte[BLOCK];
};

static void read_block(struct block *b)
{
    ssize_t n = 1;

    b->sys = 0;
    for (b->n = 0; b->n < sizeof b->byte && n != 0 && b->sys == 0; b->n += n > 0 ? (size_t)n : 0) {
        n = read(STDIN_FILENO, b->byte + b->n, sizeof b->byte - b->n);
        if (n < 0 && errno != EINTR)
            b->sys = errno;
    }
}

static tg_status cannot_keep(int sys, tg_err *err)
{
    errno = sys;
    return tg_fail_sys(err, "cannot keep what comes in");
}

/* All blocks go to all, also after a failure to keep them. */
static tg_status spool(const tg_team *team, int fd, struct block *b, tg_err *err)
{
    tg_status status = TG_OK;

    do {
        if (team->rank == 0)
            read_block(b);
        tg_team_spread(team, b, offsetof(struct block, byte));
        tg_team_spread(team, b->byte, b->n);
        if (!status && tg_write_all(fd, b->byte, b->n, err))
            status = cannot_keep(err->sys, err);
    } while (b->n == sizeof b->byte && b->sys == 0);
    errno = b->sys;
    if (b->sys != 0)
        status = tg_fail_sys(err, "cannot read");
    return status || lseek(fd, 0, SEEK_SET) == 0 ? status : cannot_keep(errno, err);
}

tg_status team_spool(const tg_team *team, int *fd, tg_err *err)
{
    struct block *b = malloc(sizeof *b);
    FILE *file = tmpfile();
    tg_status status = TG_OK;

    *fd = -1;
    if (!b)
        status = tg_fail_memory(err, sizeof *b, "standard input");
    else if (!file || (*fd = dup(fileno(file))) < 0)
        status = tg_fail_sys(err, "cannot make a temporary file");
    status = team_settle(team, status, err);
    if (!status && b)
        status = team_settle(team, spool(team, *fd, b, err), err);
    free(b);
    if (file)
        fclose(file);
    return status;
}

tg_status team_broadcast_stdin(const tg_team *team, bool wanted, tg_err *err)
{
    int fd;
    tg_status status;

    if (team->size == 1 || !tg_team_agree(team, team->rank == 0 && wanted && cli_stdin_has_data()))
        return TG_OK;
    status = team_spool(team, &fd, err);
    if (!status && dup2(fd, STDIN_FILENO) < 0)
        status = cannot_keep(errno, err);
    cli_close_input(fd);
    return status ? tg_err_in(err, "standard input") : TG_OK;
}
