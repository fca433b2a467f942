/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ranks' notes about a new communicator, and the conclusions on all of them: is anything
 * rerouted, on which nodes, with how many channels. The notes of later calls are here too.
 */
#define _GNU_SOURCE
#include "shim/nccl/comm/notes.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/base/hash.h"
#include "config/base/host.h"
#include "planners/links/cost.h"
#include "shim/nccl/comm/agree.h"
#include "shim/nccl/comm/registered.h"
#include "shim/nccl/comm/stored.h"
#include "shim/record/counts/count.h"
#include "shim/record/report/job.h"

struct note {
    uint64_t node_key, settings;
    int32_t device, usable;
    char version[16];
    int16_t one_queue; /* CUDA_DEVICE_MAX_CONNECTIONS is 1 */
    int16_t elsewhere; /* made in another context than its device's primary one */
    int32_t channels;  /* of a message, at most */
    int32_t named;     /* channels of a message, as the program says; 0: it does not */
    uint64_t stored;   /* a hash of the rows of COLLSHIM_STORE */
    uint64_t found;    /* of what this process has found (stored.h) */
    int32_t no_fp8_sums;
};
_Static_assert(sizeof(struct note) <= NOTICE_BYTES, "a note must fit");

/* The host as NCCL sees it: NCCL_HOSTID, or the name and the boot, which containers share. */
static uint64_t node_key(void)
{
    const char *set = secure_getenv("NCCL_HOSTID");

    return set && *set ? hash_text(HASH_SEED, set) : host_key();
}

/* All streams of the process share one queue of the device: a round that waits for the one before
   it delays all work behind it. The library's own call is one kernel, and does not. */
static int has_one_queue(void)
{
    const char *set = secure_getenv("CUDA_DEVICE_MAX_CONNECTIONS");

    return set && strtol(set, NULL, 0) == 1;
}

/* As NCCL_VERSION_CODE; 0: it cannot be read. */
static int version_of(const char *version)
{
    int major, minor, patch;

    return sscanf(version, "NCCL %d.%d.%d", &major, &minor, &patch) == 3
               ? major * 10000 + minor * 100 + patch
               : 0;
}

/* Are this library's groups of messages safe between nodes, where ranks have different peers? One
 * whose version cannot be read is not. */
static int has_uniform_batches(const char *version)
{
    return version_of(version) >= 22807;
}

/* Channels of a message between nodes, as the program says; 0: it does not. */
static int channels_named(const struct nccl_comm *c)
{
    static const char *const names[] = {"NCCL_NCHANNELS_PER_PEER", "NCCL_NCHANNELS_PER_NET_PEER"};
    enum { MOST = 64 };
    long n = 0;

    for (size_t i = 0; i < sizeof names / sizeof *names && n <= 0; i++) {
        const char *set = secure_getenv(names[i]);

        n = set ? strtol(set, NULL, 0) : 0;
    }
    if (n <= 0)
        n = c->channels;
    return n <= 0 ? 0 : n < MOST ? (int)n : MOST;
}

/* Does this library count channels by the NICs (1), or by what these carry? */
static int counts_by_nic(const struct nccl_comm *c)
{
    return version_of(c->copy->version) < 22900;
}

/*
 * The most channels that NCCL itself chooses (ncclTopoGetNchannels, paths.cc). Before 2.29 it
 * chooses one for each of the rank's NICs, of which there are 4 at most, and at least two. Later it
 * chooses one for each 14 GB/s of them, up to 100 GB/s. All messages of a communicator, those
 * inside a node too, have as many as the pair of ranks with the fewest.
 */
static int channels_at_most(const struct nccl_comm *c)
{
    enum { OLD = 4, NEW = 8 };

    return counts_by_nic(c) ? OLD : NEW;
}

/* And usually, with a NIC for each rank. */
static int channels_usually(const struct nccl_comm *c)
{
    enum { OLD = 2, NEW = 8 };
    const double each = 14e9;
    double n = ceil(cost_rail_rate(c->topo) / each);

    return counts_by_nic(c) || !load_rates_known(c->topo) ? OLD : n < NEW ? (int)n : NEW;
}

/*
 * On several nodes, a rank's messages inside its node all go over the channels of one message
 * (ncclP2pChannelBaseForRound, channel.h). fewest: channels that a rank's program names, among
 * those that name some (unnamed: not all do); 0: none does.
 */
static double inside_rate(const struct nccl_comm *c, int fewest, int unnamed)
{
    int usual = channels_usually(c);

    if (c->topo->nnodes == 1)
        return 0;
    return (!fewest || (unnamed && usual < fewest) ? usual : fewest) * ROUND_CHANNEL_BYTES_PER_S;
}

/* A kernel of messages has room for 250 batches, and each channel of a message may need one of its
 * own (scheduleP2pTasksToPlan, enqueue.cc). Inside a node eight peers share them. */
uint32_t nccl_comm_most_messages(const struct nccl_comm *c)
{
    enum { BATCHES = 240, LEAST = 2, NEAR_RANKS = 8, NEAR = 40 };
    uint32_t most = BATCHES / (uint32_t)(c->channels > 0 ? c->channels : 1);

    if (c->topo->nnodes == 1 && c->nranks <= NEAR_RANKS)
        return NEAR;
    return most > LEAST ? most : LEAST;
}

/* NCCL works in the context that is current when a communicator is made; kernels and events of ours
 * are of the primary one. */
static int is_elsewhere(const struct nccl_comm *c, int device)
{
    CUcontext context = NULL;
    CUdevice current;

    return c->cu->CtxGetCurrent(&context) == CUDA_SUCCESS && context &&
           context != c->device.context && c->cu->CtxGetDevice(&current) == CUDA_SUCCESS &&
           current == device;
}

/* NCCL combines fp8 from 2.24 on, and from sm_90 on ("FP8 reduction support begins with sm90",
 * enqueue.cc); its other calls it refuses. */
static int lacks_fp8_sums(const struct nccl_comm *c, CUdevice device)
{
    int major = 0;

    return version_of(c->copy->version) < 22400 ||
           c->cu->DeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
                                     device) != CUDA_SUCCESS ||
           major < 9;
}

void nccl_comm_post_note(struct nccl_comm *c)
{
    struct note note = {.node_key = node_key(), .settings = settings_hash()};
    char text[NOTICE_BYTES] = {0};
    CUdevice device = 0;

    c->cu = cuda_open(CUDA_IF_LOADED);
    note.usable = c->cu && c->copy->real.CommCuDevice(c->handle, &note.device) == ncclSuccess &&
                  c->cu->DeviceGet(&device, note.device) == CUDA_SUCCESS &&
                  c->cu->DevicePrimaryCtxRetain(&c->device.context, device) == CUDA_SUCCESS;
    note.elsewhere = note.usable && is_elsewhere(c, device);
    note.no_fp8_sums = note.usable && lacks_fp8_sums(c, device);
    note.one_queue = has_one_queue();
    note.named = channels_named(c);
    note.channels = c->channels = note.named ? note.named : channels_at_most(c);
    note.stored = nccl_stored_hash(c->copy->version);
    note.found = nccl_stored_here(c);
    strncpy(note.version, c->copy->version, sizeof note.version - 1);
    memcpy(text, &note, sizeof note);
    if (c->nranks == 1)
        c->verdict = REASON_ONE_RANK;
    else if (c->nranks > COMM_RANKS_MOST)
        c->verdict = REASON_TOO_MANY;
    else if ((c->notes.fd = notice_post(&c->notes.board, c->notes.key, c->nranks, c->rank, text,
                                        sizeof text)) < 0)
        c->verdict = REASON_NOT_EVERYWHERE;
}

/* The others' notes --------------------------------------------------------------------------- */

static int make_topology(struct nccl_comm *c, const struct topo_report *reports)
{
    struct settings_path path;
    char why[256];
    int rc = settings.cfg.topology[0]
                 ? topo_parse(settings_topology(&path), c->nranks, &c->topo, why, sizeof why)
                 : topo_from_reports(reports, c->nranks, 0, &c->topo);

    if (rc == -EINVAL && c->rank == 0)
        say(CFG_LEVEL_INFO, "COLLSHIM_TOPOLOGY for %d NCCL ranks: %s", c->nranks, why);
    return rc;
}

static enum reason judge_notes(struct nccl_comm *c, const char *notes)
{
    struct topo_report *reports = calloc((size_t)c->nranks, sizeof *reports);
    enum reason verdict = reports ? REASON_NONE : REASON_NOT_READY;
    int one_queue = 0, elsewhere = 0, several_nodes = 0, named = 0, unnamed = 0, alike = 1, rc;
    struct note first, n;

    memcpy(&first, notes, sizeof first);
    c->measured.stored = first.stored != 0;
    for (int r = 0; r < c->nranks && !verdict; r++) {
        memcpy(&n, notes + (size_t)r * NOTICE_BYTES, sizeof n);
        reports[r] = (struct topo_report){.node_key = n.node_key, .gpu = n.device, .world_rank = r};
        if (!n.usable)
            verdict = REASON_NOT_READY;
        else if (n.settings != first.settings ||
                 strncmp(n.version, first.version, sizeof n.version) != 0)
            verdict = REASON_DISAGREED;
        one_queue |= n.one_queue;
        elsewhere |= n.elsewhere;
        c->channels = n.channels > c->channels ? n.channels : c->channels;
        c->device.no_fp8_sums |= n.no_fp8_sums;
        named = n.named && (!named || n.named < named) ? n.named : named;
        unnamed |= !n.named;
        c->measured.stored &= n.stored == first.stored;
        alike &= n.found == first.found;
        several_nodes |= n.node_key != first.node_key;
    }
    if (!alike)
        store_rows_free(&c->measured.found);
    if (!verdict && elsewhere)
        verdict = REASON_CONTEXT;
    if (!verdict && one_queue)
        verdict = REASON_ONE_QUEUE;
    if (!verdict && several_nodes && !has_uniform_batches(c->copy->version))
        verdict = REASON_OLD;
    if (!verdict) {
        rc = make_topology(c, reports);
        verdict = rc == -EINVAL ? REASON_TOPOLOGY : rc ? REASON_NOT_READY : REASON_NONE;
        if (!rc) {
            job_has_nodes(c->topo->nnodes);
            c->inside_bytes_per_s = inside_rate(c, named, unnamed);
        }
    }
    free(reports);
    return verdict;
}

enum reason nccl_comm_judged(struct nccl_comm *c)
{
    char *notes;
    int fd = c->notes.fd;

    if (fd < 0)
        return c->verdict;
    c->notes.fd = -1;
    guard_open(&c->measured.guard, 1, count_now);
    c->verdict = REASON_NOT_EVERYWHERE;
    notes = malloc((size_t)c->nranks * NOTICE_BYTES);
    if (!notes)
        close(fd);
    else if (notice_read(fd, c->nranks, notes, NOTICE_BYTES, &c->stopped) == 0) {
        c->verdict = judge_notes(c, notes);
        c->notes.unconfirmed = 1;
    }
    free(notes);
    return c->verdict;
}

/* At first one rank may be far behind, since it loads or compiles longer than the others. */
static int is_time_to_confirm(struct nccl_comm *c)
{
    enum { RARER = 8, LAST = 512 };
    uint32_t call = c->notes.unconfirmed++, n = call;

    while (n > 1 && n % RARER == 0)
        n /= RARER;
    return n == 1 && call <= LAST;
}

/* For an event that only one rank may know, and that makes the communicator native. Returns 0 and
 *why, or -1: the ranks have not met. */
static int ask_all(struct nccl_comm *c, enum reason *why)
{
    double any[] = {c->verdict != REASON_NONE, registered_hold(c), c->device.met_elsewhere};

    if (nccl_comm_largest(c, any, sizeof any / sizeof *any) < 0)
        return -1;
    *why = any[0] > 0   ? REASON_NOT_READY
           : any[1] > 0 ? REASON_REGISTERED
           : any[2] > 0 ? REASON_STREAM
                        : REASON_NONE;
    return 0;
}

/* A rank without memory: the others must hear of it before they send anything. */
static void confirm(struct nccl_comm *c)
{
    enum reason why;

    if (ask_all(c, &why) == 0) {
        c->notes.unconfirmed = 0;
        c->notes.confirmed = 1;
        if (!c->verdict)
            c->verdict = why;
    }
    if (c->notes.unconfirmed || c->verdict)
        registered_release(c);
}

/* Has a rank registered a buffer since, or used a stream of another context? The more calls there
 * were, the rarer that is asked. */
static void ask_again(struct nccl_comm *c)
{
    uint64_t call = ++c->notes.confirmed;
    enum reason why;

    if (!(call & (call - 1)) && ask_all(c, &why) == 0 && why)
        nccl_comm_keep_native(c, why);
}

void nccl_comm_keep_native(struct nccl_comm *c, enum reason why)
{
    if (c->notes.fd >= 0)
        close(c->notes.fd);
    c->notes.fd = -1;
    guard_open(&c->measured.guard, 1, count_now);
    c->notes.unconfirmed = 0;
    if (!c->verdict)
        c->verdict = why;
    registered_release(c);
}

enum reason nccl_comm_verdict(struct nccl_comm *c)
{
    nccl_comm_judged(c);
    if (c->notes.unconfirmed && is_time_to_confirm(c))
        confirm(c);
    else if (!c->notes.unconfirmed && !c->verdict)
        ask_again(c);
    if (__atomic_load_n(&c->stopped, __ATOMIC_ACQUIRE)) /* it ended meanwhile, and its helpers */
        return REASON_NOT_READY;
    return c->verdict ? c->verdict : c->notes.unconfirmed ? REASON_NOT_READY : REASON_NONE;
}
