/*
 * team: processes that compute something together.
 *
 * Each member computes a part and sends the others its results; lib/train says how they divide a
 * training step.  What is added in which order does not depend on the number of members.
 *
 * How messages travel is the caller's part: the library describes them as a flow.  A flow is a
 * sequence of groups of messages.  What one member sends, another receives: between two members
 * messages arrive in the order of the groups, and within a group in the order of its list.
 */
#ifndef TG_BASE_TEAM_H
#define TG_BASE_TEAM_H

#include <stdbool.h>
#include <stddef.h>

/* The most members of a team. */
#define TG_TEAM_MAX 4096

typedef struct tg_message {
    size_t peer; /* not this member */
    bool send;   /* otherwise it is received */
    void *data;  /* only read when it is sent */
    size_t bytes;
} tg_message;

/* The two functions may be called in another thread than begin() and end(). */
typedef struct tg_flow {
    size_t groups;
    size_t window;   /* groups that are under way at once */
    size_t messages; /* the maximum of a group */
    /* Fill in this member's messages of a group, and return their number: after ready() for the
     * group, and once all messages of the group `window` places before it, and of those before
     * that, have arrived. */
    size_t (*list)(void *context, size_t group, tg_message *messages);
    /* All of a group's messages have arrived or are sent; NULL: nothing is to be done. */
    void (*arrived)(void *context, size_t group);
    void *context;
} tg_flow;

typedef struct tg_team {
    size_t rank, size; /* rank < size <= TG_TEAM_MAX */

    /* Begin a flow, which lives until its end().  One at a time.  A team of one has no flows, and may lack
     * these functions. */
    void (*begin)(const struct tg_team *team, const tg_flow *flow);
    /* This member's part in the first `groups` groups may begin. */
    void (*ready)(const struct tg_team *team, size_t groups);
    /* Wait until all is sent and has arrived.  A member that is lost ends the others: this does
     * not return then. */
    void (*end)(const struct tg_team *team);

    void *state; /* of the three functions */
} tg_team;

/* One process, which computes all passes itself. */
extern const tg_team tg_team_alone;

/* The part of member `rank` of n things, first .. end - 1, divided as evenly as possible in order:
 * the first ones have one more. */
void tg_team_part(const tg_team *team, size_t rank, size_t n, size_t *first, size_t *end);

/* This member's part. */
void tg_team_range(const tg_team *team, size_t n, size_t *first, size_t *end);

/* All groups of a flow, one after the other; of a team of one, nothing. */
void tg_team_run(const tg_team *team, const tg_flow *flow);

/* Every member has its part (tg_team_range()) of all [n] elements of `bytes` bytes, and gets the others'. */
void tg_team_allgather(const tg_team *team, void *all, size_t n, size_t bytes);

/* An array of which member m has the elements first[m] .. first[m + 1] - 1. */
typedef struct tg_gather {
    void *all;
    size_t bytes;        /* of an element */
    const size_t *first; /* [size + 1]; NULL: n elements, divided by tg_team_part() */
    size_t n;
} tg_gather;

/* The same for several such arrays, at once. */
void tg_team_allgather_arrays(const tg_team *team, const tg_gather *array, size_t arrays);

/* The greatest of the members' numbers, returned to all: a signal to stop that reaches one member
 * stops all of them at the same step. */
int tg_team_agree(const tg_team *team, int number);

/* Member 0's bytes, to all. */
void tg_team_spread(const tg_team *team, void *data, size_t bytes);

#endif
