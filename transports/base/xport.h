/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A transport: one way of moving bytes between two ranks of a communicator. The
 * engine posts chunks and asks what has completed; a transport knows nothing of
 * plans. Between two ranks, the i-th send on a tag meets the i-th receive on it.
 *
 * A transport is used by one thread at a time. Adding one means one file and one
 * function that fills a struct xport.
 */
#ifndef COLLSHIM_TRANSPORTS_XPORT_H
#define COLLSHIM_TRANSPORTS_XPORT_H

#include <stddef.h>

/* dst = a op b, `bytes` long, whole elements; dst may be a. */
typedef void (*xport_combine)(void *context, const void *a, const void *b, void *dst, size_t bytes);

/* How received bytes are combined on arrival: dst = own op received. */
struct xport_reduce {
    xport_combine combine;
    void *context;
    size_t grain; /* combine is given whole multiples of so many bytes */
    const void *own;
    void *dst; /* may be own */
    size_t length;
};

struct device;

#define XPORT_FAILED 0x80000000u
#define XPORT_LENT 0x40000000u
#define XPORT_UNEQUAL 0x20000000u
#define XPORT_FLAGS (XPORT_FAILED | XPORT_LENT | XPORT_UNEQUAL)

struct xport {
    const char *name;
    void *state;       /* owned by the transport */
    unsigned patience; /* polls without result until the CPU is to be given away */
    /* Start moving length bytes (> 0). The buffer belongs to the transport until `slot`, a number
       below nslots that is not in use, is reported done. Returns 0, or the transport's own
       non-zero error code, also for more bytes than it can count. A send of length 0 tells the
       receiver that the sender's call has failed and nothing will come. */
    int (*send)(void *state, unsigned slot, const void *buf, size_t length, int peer, int tag);
    int (*recv)(void *state, unsigned slot, void *buf, size_t length, int peer, int tag);
    /* As recv, but combines what arrives, where the transport can without storing it first.
       Optional: both NULL if it never can. reduces: can it, for that peer and tag? */
    int (*reduces)(void *state, int peer, int tag);
    int (*recv_reduce)(void *state, unsigned slot, const struct xport_reduce *r, int peer, int tag);
    /* Does it take device memory, for that peer and tag? Optional: NULL if never. */
    int (*moves_device)(void *state, int peer, int tag);
    /*
     * Device memory that the peer reads where it is. All optional: NULL altogether. use_device: the
     * device of the call that begins, NULL if it has none. lends: may sends to that peer lie in the
     * device's window from here on? recv_lent: as recv. If the sender lent its bytes, XPORT_LENT is
     * added to the completed slot. The bytes are at lent(), for this device, until give_back();
     * then completion is reported once more.
     */
    void (*use_device)(void *state, struct device *d);
    int (*lends)(void *state, int peer, int tag);
    int (*recv_lent)(void *state, unsigned slot, void *buf, size_t length, int peer, int tag);
    const char *(*lent)(void *state, unsigned slot);
    void (*give_back)(void *state, unsigned slot);
    /* Make progress on everything in flight. The completed slots go to done, which has room for all
       that reserve() made, and their number to *ndone (0 is fine). XPORT_FAILED is added to the
       slot of a receive for which the peer sent nothing. XPORT_UNEQUAL is added if the message had
       another length; its bytes are lost. Never blocks. Returns 0 or the error code. */
    int (*poll)(void *state, unsigned *done, unsigned *ndone);
    /* Give up everything in flight after an error; from then on reserve() fails. The application
       reuses its buffers at its own risk, as after a failed call of the library. */
    void (*abandon)(void *state);
    /* Make room for slots 0 .. nslots-1, none of them in use. Returns 0, -ENOMEM, or -EPIPE after
       abandon(). */
    int (*reserve)(void *state, unsigned nslots);
};

#endif
