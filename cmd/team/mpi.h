/*
 * mpi: what the files that know MPI share, mpi*.c: the state of the thread that makes all its calls.
 */
#ifndef TG_CMD_TEAM_MPI_H
#define TG_CMD_TEAM_MPI_H

#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>

#include "cmd/team/private.h"

enum { TAG_DATA = 1, TAG_BEAT = 2 };

#define LOOK_SECONDS 0.05 /* between looks at the processes of this machine */

/* What is known of a process. */
struct process {
    char host[64];
    uint64_t pids; /* the namespace that its number belongs to */
    int64_t pid;
    cpu_set_t processors;
};

/* Heartbeat messages to and from rank 0: BEAT; at the end LEAVING (from rank 0), then BYE, the last one;
 * LOST: another process is. */
enum word { BEAT, LEAVING, BYE, LOST };

/* The signs of life to and from a process. */
struct peer {
    enum word out, in;
    MPI_Request beat_out, beat_in;
    double heard; /* when */
    double left;  /* when it began to leave; 0: it has not */
    bool gone;    /* has said goodbye */
};

typedef struct team_wire {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t to_thread, to_caller;
    /* under the lock */
    bool started, leave, parted;
    const tg_flow *flow;
    size_t ready; /* groups of it */
    bool waited;  /* the caller waits for its end */
    /* the thread's */
    int rank, size;
    int watched, watched_end; /* the first process watches all others, these the first */
    double timeout;
    struct process *process;      /* [size] */
    struct peer *peer;            /* [size] */
    bool busy;                    /* with a flow */
    double beaten, looked, awake; /* when it last did so */
    /* of the start */
    team_launch launch;
    tg_err err;
} team_wire;

/* ---- mpi_life.c: signs of life; a process that is lost */

extern team_wire team_w;

/* Wait for a word of the caller, but not for long.  The lock is held. */
void team_wait_for_caller(void);

/* Whether a message has come to its end; bytes: what is received, or -1. */
bool team_is_done(MPI_Request *request, int who, int bytes);

/* A call of MPI that concerns a process has failed: all end. */
_Noreturn void team_failed(int who, int error);

/* The last thing that this process does. */
_Noreturn void team_end_all(void);

void team_expect_beats(void); /* once, at the beginning */
void team_live(void);         /* send and hear signs of life, as often as that is due: call it all the time */
void team_say_goodbye(void);  /* and wait until all have */

/* ---- mpi_flow.c: messages */

void team_run_flow(const tg_flow *flow);

#endif
