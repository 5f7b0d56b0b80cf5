/*
 * wire: a switch for hosts that are network namespaces, with links of a set rate and delay.
 *
 *     wire GBIT_PER_S DELAY_MS NAMESPACE...      the i-th namespace gets a device tg0 with 10.77.0.i
 *
 * Linux delays packets by itself only where netem is built in; this program needs nothing but tun.  It prints
 * "ready" and forwards until it is killed.  A host has a link to the switch, of that rate in each direction.
 * A packet leaves when the packets before it have left, arrives DELAY later, and is passed on when the
 * receiver's link is free.  The switch has no limit to its queues and drops nothing.
 *
 * A packet is as long as on Ethernet with an MTU of 1,500, with preamble and gap.  Hosts hand over up to 64
 * KiB at once, as to a network card that divides them (TSO); the bytes that they would have as single packets
 * are counted.  Rate 0: as fast as the machine can.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <linux/virtio_net.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define HOSTS_MAX 64
#define PACKET_MAX (sizeof(struct virtio_net_hdr) + 65536)
/* preamble 8, header 14, checksum 4, gap 12 */
#define FRAMING 38
/* A host hands over what its link sends in this time, as to a card with a short queue. */
#define AHEAD_NS 300000

struct packet {
    int64_t due; /* when its last bit arrives */
    size_t size;
    char bytes[PACKET_MAX];
};

/* Packets for a host, in the order in which they are due. */
struct queue {
    struct packet **packet; /* [capacity], from first, round the end */
    size_t first, n, capacity;
};

struct host {
    int tun;
    int64_t up_free, down_free; /* when its link is free, in each direction */
    struct queue queue;
};

struct wire {
    double ns_per_byte;
    int64_t delay;
    size_t n;
    struct host host[HOSTS_MAX];
    struct packet **spare; /* [spares] */
    size_t spares, made;
};

static void die(const char *what)
{
    fprintf(stderr, "wire: %s: %s\n", what, strerror(errno));
    exit(3);
}

static int64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- packets */

static struct packet *take_packet(struct wire *w)
{
    struct packet *p;

    if (w->spares > 0)
        return w->spare[--w->spares];
    w->made++;
    p = malloc(sizeof *p);
    w->spare = realloc(w->spare, w->made * sizeof *w->spare);
    if (!p || !w->spare)
        die("packets");
    return p;
}

static void append(struct queue *q, struct packet *p)
{
    if (q->n == q->capacity) {
        const size_t capacity = q->capacity ? 2 * q->capacity : 64;
        struct packet **packet = malloc(capacity * sizeof(struct packet *));

        if (!packet)
            die("queue");
        for (size_t i = 0; i < q->n; i++)
            packet[i] = q->packet[(q->first + i) % q->capacity];
        free(q->packet);
        *q = (struct queue){.packet = packet, .n = q->n, .capacity = capacity};
    }
    q->packet[(q->first + q->n++) % q->capacity] = p;
}

static struct packet *first_of(const struct queue *q)
{
    return q->n > 0 ? q->packet[q->first] : NULL;
}

static void drop_first(struct queue *q)
{
    q->first = (q->first + 1) % q->capacity;
    q->n--;
}

/* Bytes on the wire, as the packets that a card would make of it. */
static size_t bytes_on_wire(const struct packet *p)
{
    struct virtio_net_hdr h;
    const size_t size = p->size - sizeof h;
    size_t pieces;

    memcpy(&h, p->bytes, sizeof h);
    if (h.gso_type == VIRTIO_NET_HDR_GSO_NONE || h.gso_size == 0)
        return size + FRAMING;
    pieces = (size - h.hdr_len + h.gso_size - 1) / h.gso_size;
    return size - h.hdr_len + pieces * (h.hdr_len + FRAMING);
}

/* The host that a packet is for, by the last byte of its IPv4 address; NULL: nobody's. */
static struct host *receiver_of(struct wire *w, const struct packet *p)
{
    const unsigned char *ip = (const unsigned char *)p->bytes + sizeof(struct virtio_net_hdr);

    if (p->size < sizeof(struct virtio_net_hdr) + 20 || ip[0] >> 4 != 4 || ip[19] < 1 || ip[19] > w->n)
        return NULL;
    return &w->host[ip[19] - 1];
}

/* ---- forwarding */

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Take a packet from a host, if it has one, and say when it arrives. */
static int take(struct wire *w, struct host *from)
{
    struct packet *p = take_packet(w);
    struct host *to;
    const ssize_t got = read(from->tun, p->bytes, PACKET_MAX);
    int64_t duration;

    p->size = got > 0 ? (size_t)got : 0;
    to = got > 0 ? receiver_of(w, p) : NULL;
    if (!to) {
        w->spare[w->spares++] = p;
        return got > 0;
    }
    duration = (int64_t)((double)bytes_on_wire(p) * w->ns_per_byte);
    from->up_free = later(from->up_free, now()) + duration;
    to->down_free = later(from->up_free + w->delay, to->down_free + duration);
    p->due = to->down_free;
    append(&to->queue, p);
    return 1;
}

/* Hand over what has arrived. */
static void give(struct wire *w, struct host *to)
{
    struct packet *p;

    while ((p = first_of(&to->queue)) && p->due <= now()) {
        if (write(to->tun, p->bytes, p->size) < 0 && errno != EINVAL)
            die("write to a device");
        drop_first(&to->queue);
        w->spare[w->spares++] = p;
    }
}

/* Wait until a host has a packet to take, or one has to be given. */
static void wait_for_work(struct wire *w)
{
    struct pollfd poll[HOSTS_MAX];
    const int64_t t = now();
    int64_t next = t + 1000000000;
    struct timespec timeout;

    for (size_t i = 0; i < w->n; i++) {
        const struct host *h = &w->host[i];
        const struct packet *p = first_of(&h->queue);
        const int is_full = h->up_free > t + AHEAD_NS;

        poll[i] = (struct pollfd){.fd = is_full ? -1 : h->tun, .events = POLLIN};
        if (is_full && h->up_free - AHEAD_NS < next)
            next = h->up_free - AHEAD_NS;
        if (p && p->due < next)
            next = p->due;
    }
    next = later(next - t, 0);
    timeout = (struct timespec){.tv_sec = next / 1000000000, .tv_nsec = next % 1000000000};
    if (ppoll(poll, w->n, &timeout, NULL) < 0 && errno != EINTR)
        die("poll");
}

static void forward(struct wire *w)
{
    for (;;) {
        wait_for_work(w);
        for (size_t i = 0; i < w->n; i++) {
            struct host *h = &w->host[i];

            while (h->up_free <= now() + AHEAD_NS && take(w, h))
                for (size_t j = 0; j < w->n; j++)
                    give(w, &w->host[j]);
            give(w, h);
        }
    }
}

/* ---- devices */

static void set(int tun, unsigned long request, struct ifreq *ifr, const char *what)
{
    if (ioctl(tun, request, ifr))
        die(what);
}

/* The device tg0 of the namespace that this process is in. */
static int open_tun(void)
{
    const int tun = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
    struct ifreq ifr = {.ifr_name = "tg0", .ifr_flags = IFF_TUN | IFF_NO_PI | IFF_VNET_HDR};

    if (tun < 0)
        die("/dev/net/tun");
    set(tun, TUNSETIFF, &ifr, "a tun device");
    if (ioctl(tun, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4))
        die("offloads of a tun device");
    return tun;
}

static void enter(const char *namespace)
{
    char path[256];
    int fd;

    snprintf(path, sizeof path, "/run/netns/%s", namespace);
    if ((fd = open(path, O_RDONLY)) < 0 || setns(fd, CLONE_NEWNET))
        die(path);
    close(fd);
}

int main(int argc, char **argv)
{
    static struct wire w;
    double rate;

    if (argc < 4 || argc - 3 > HOSTS_MAX) {
        fprintf(stderr, "usage: wire GBIT_PER_S DELAY_MS NAMESPACE...\n");
        return 2;
    }
    rate = strtod(argv[1], NULL);
    w.ns_per_byte = rate > 0 ? 8 / rate : 0;
    w.delay = (int64_t)(strtod(argv[2], NULL) * 1e6);
    w.n = (size_t)argc - 3;
    for (size_t i = 0; i < w.n; i++) {
        enter(argv[3 + i]);
        w.host[i].tun = open_tun();
    }
    /* A late packet is a longer link. */
    if (sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){.sched_priority = 1}))
        fprintf(stderr, "wire: no real-time priority: %s\n", strerror(errno));
    puts("ready");
    fflush(stdout);
    forward(&w);
}
