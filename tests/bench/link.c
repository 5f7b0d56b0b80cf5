/*
 * link: what the link between two processes of MPI gives: "DELAY BANDWIDTH", in seconds and bytes per second.
 *
 * DELAY is half of a round trip of one byte, the median of 200.  BANDWIDTH is that of a direction while both
 * are used, with messages as tg-train sends them: 64 MiB in pieces of 512 KiB, several of them under way; the
 * median of 5.  An argument is another number of MiB.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRIPS 200
#define STREAMS 5
#define PIECE ((size_t)512 << 10)
#define UNDER_WAY 16

static int rank;

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *seconds, size_t n)
{
    qsort(seconds, n, sizeof *seconds, compare);
    return seconds[n / 2];
}

static double round_trip(void)
{
    const double begin = MPI_Wtime();
    char c = 0;

    for (int leg = 0; leg < 2; leg++)
        if (leg == rank)
            MPI_Send(&c, 1, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD);
        else
            MPI_Recv(&c, 1, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return MPI_Wtime() - begin;
}

/* Both send at the same time. */
static double stream(char *out, char *in, size_t pieces)
{
    MPI_Request request[2 * UNDER_WAY];
    double begin;

    for (size_t i = 0; i < 2 * UNDER_WAY; i++)
        request[i] = MPI_REQUEST_NULL;
    MPI_Barrier(MPI_COMM_WORLD);
    begin = MPI_Wtime();
    for (size_t i = 0; i < pieces; i++) {
        MPI_Request *r = request + 2 * (i % UNDER_WAY);

        MPI_Wait(&r[0], MPI_STATUS_IGNORE);
        MPI_Isend(out + i * PIECE, (int)PIECE, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, &r[0]);
        MPI_Wait(&r[1], MPI_STATUS_IGNORE);
        MPI_Irecv(in + i * PIECE, (int)PIECE, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, &r[1]);
    }
    for (size_t i = 0; i < 2 * UNDER_WAY; i++)
        MPI_Wait(&request[i], MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Wtime() - begin;
}

int main(int argc, char **argv)
{
    double trip[TRIPS], seconds[STREAMS];
    size_t pieces;
    char *out, *in;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    pieces = 2 * (argc > 1 ? strtoul(argv[1], NULL, 10) : 64);
    out = malloc(pieces * PIECE);
    in = malloc(pieces * PIECE);
    if (!out || !in)
        MPI_Abort(MPI_COMM_WORLD, 3);
    memset(out, 1, pieces * PIECE);
    memset(in, 0, pieces * PIECE);
    for (size_t i = 0; i < TRIPS; i++)
        trip[i] = round_trip() / 2;
    (void)stream(out, in, pieces); /* TCP finds out what the link carries */
    for (size_t i = 0; i < STREAMS; i++)
        seconds[i] = stream(out, in, pieces);
    if (rank == 0)
        printf("%.6f %.0f\n", median(trip, TRIPS), (double)(pieces * PIECE) / median(seconds, STREAMS));
    MPI_Finalize();
    free(out);
    free(in);
}
