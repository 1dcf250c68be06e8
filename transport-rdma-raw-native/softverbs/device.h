/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_DEVICE_H
#define SV_DEVICE_H

#include "flow.h"
#include "objects.h"

#include <sys/uio.h>

/* A TCP payload to be sent as segments of `segment_bytes`, each with a copy of the header (IBV_WR_TSO). */
struct sv_tso_request {
    const uint8_t *header;      /* Ethernet, IP and TCP */
    uint32_t header_bytes;
    struct sv_layout layout;
    const struct iovec *parts;  /* at most SV_MAX_SGE */
    uint32_t part_count;
    uint32_t payload_bytes;
    uint32_t segment_bytes;
};

/* With fewer segments, a separate call for a TSO send costs more than adding the segments to a burst. */
enum { SV_TSO_MIN_SEGMENTS = 4 };

/*
 * The port below the queue pairs. A device has one, which all contexts of the process share.
 *   transmit: sends a burst of a queue pair. The caller holds its sq.lock. The frames may be read during the call
 *     only. Each frame is either sent or counted as dropped, by reason.
 *
 * The other functions may be NULL.
 *   transmit_tso: sends the payload of a TSO request, or returns false. Then the caller segments it and transmits the
 *     segments.
 *   progress: moves received frames into receive queues. Returns 0 if there were none. poll_cq calls it without a lock.
 *   arm: ensures that frames arriving from now on raise completion events.
 *   poll_channel: if frames make the descriptor of this channel readable, moves them and returns true.
 *   return_sockets: stops frames from making the descriptor of this channel readable. A port has both poll_channel and
 *     return_sockets, or neither.
 *   on_rule_added, on_rule_removed: update the port's own steering, and may wait. The caller holds the device's
 *     rules_mutex. on_rule_added may fail with an errno.
 *   quiesce: part of a grace period, for threads that deliver without an sq.lock.
 *   add_counters: adds the counters of the port itself, such as drops of frames that belong to no queue.
 */
struct sv_port_ops {
    int (*open)(struct sv_device *device);
    void (*close)(struct sv_device *device);
    void (*transmit)(struct sv_device *device, struct sv_qp *sender, struct sv_frame *frames, unsigned count);
    bool (*transmit_tso)(struct sv_device *device, struct sv_qp *sender, const struct sv_tso_request *request);
    unsigned (*progress)(struct sv_device *device);
    int (*arm)(struct sv_device *device, struct sv_cq *cq);
    bool (*poll_channel)(struct sv_device *device, const struct sv_channel *channel);
    void (*return_sockets)(struct sv_device *device, struct sv_channel *channel);
    int (*on_rule_added)(struct sv_device *device, const struct sv_rule_spec *spec, struct sv_rule *rule);
    void (*on_rule_removed)(struct sv_device *device, struct sv_flow *flow);
    void (*quiesce)(struct sv_device *device);
    void (*add_counters)(struct sv_device *device, struct softverbs_counters *counters);
};

extern const struct sv_port_ops sv_loop_ops;
extern const struct sv_port_ops sv_packet_ops;
extern const struct sv_port_ops sv_xdp_ops;

/* Injected faults (softverbs.h). */
struct sv_faults {
    _Atomic uint64_t armed;     /* one bit per call that has an error in next[]; other calls acquire no lock */
    uint64_t memlock_limit;     /* in bytes, UINT64_MAX = none */
    int raw_packet_error;       /* errno of every RAW_PACKET creation, 0 = supported */
    struct {
        int error;
        unsigned calls;
    } next[SOFTVERBS_CALL_COUNT];
};

enum { SV_MODE_TEXT_BYTES = 512 };

struct sv_device {
    struct ibv_device ibv;
    const struct sv_port_ops *ops;
    void *port;                 /* an open port on an interface: begins with struct sv_netdev_port; else NULL */
    char open_error[SV_EXPLANATION_BYTES];
    char mode_text[SV_MODE_TEXT_BYTES]; /* how it runs and why, set when it is opened */
    unsigned index;             /* never used twice */
    bool configured;            /* "loop" and the devices of the environment, which always exist */
    unsigned list_refs;         /* lists of ibv_get_device_list() that contain it; guarded by the list's mutex */
    uint8_t mac[6];             /* guarded by the mutex, because it changes with the interface's */
    _Atomic uint32_t mtu;
    _Atomic uint32_t opened_mtu; /* MTU when the port was opened, for which users size their receives */
    _Atomic bool port_up;
    _Atomic bool failed;        /* DEVICE_FATAL: calls fail with EIO */
    struct sv_mr_table *mrs;
    struct sv_flow_table flows;
    _Atomic int armed_channels; /* channels with armed queues, on a network interface: arriving frames must wake them */

    pthread_mutex_t port_mutex;
    pthread_mutex_t rules_mutex;
    pthread_mutex_t grace_mutex;
    pthread_mutex_t mutex;
    uint32_t users;             /* contexts, including those that are opening or closing the port */
    struct sv_context *contexts;
    struct sv_qp *qps;
    struct sv_wq *wqs;
    uint32_t next_queue_number; /* next number of a queue pair or work queue */
    uint32_t next_sender_number;
    uint64_t registered_bytes;
    struct sv_faults faults;
    /* Counters of destroyed queues; those received also contain the counters of a closed port. */
    struct softverbs_queue_counters closed_sent;
    struct softverbs_queue_counters closed_received;
};

static inline void sv_device_lock(struct sv_device *device)
{
    pthread_mutex_lock(&device->mutex);
#ifdef SV_CHECK_LOCKS
    sv_device_locks++;
#endif
}

static inline void sv_device_unlock(struct sv_device *device)
{
#ifdef SV_CHECK_LOCKS
    sv_device_locks--;
#endif
    pthread_mutex_unlock(&device->mutex);
}

/* device_list.c. A device is freed when it is neither listed nor open and its interface no longer exists. */
struct sv_device *sv_device_by_name(const char *name);

/* device.c */
enum { SV_FIRST_QUEUE_NUMBER = 0x40 };
/* Waits for a grace period. The caller does not hold the device's mutex. */
void sv_device_quiesce(struct sv_device *device);
void sv_device_add_qp(struct sv_device *device, struct sv_qp *qp);
/* Returns 0, or EBUSY if rules lead to the queue pair. */
int sv_device_remove_qp(struct sv_device *device, struct sv_qp *qp);
void sv_device_add_wq(struct sv_device *device, struct sv_wq *wq);
void sv_device_remove_wq(struct sv_device *device, struct sv_wq *wq);

/* fault.c: returns the errno with which this call has to fail, or 0 */
int sv_consume_injected_error(struct sv_device *device, enum softverbs_call call);
/* Take the port up or down, and fail the device. The caller holds the device's mutex. */
void sv_device_set_port_up(struct sv_device *device, bool up);
void sv_device_fail(struct sv_device *device);

/* memory.c */
enum { SV_MR_FIRST = 16, SV_MR_SLOTS = 65536 };

struct sv_mr_entry {
    alignas(64) _Atomic uint32_t key;   /* 0: not in use */
    uint32_t access;
    uint64_t iova;
    uint64_t length;
    uint8_t *base;                      /* address of iova in this process */
    const struct sv_pd *pd;
};

struct sv_mr_table {
    struct sv_mr_entry *entries;
    uint32_t free_count;
    uint32_t *free_list;
    uint8_t *generation;
};

/*
 * Returns the address of [address, address + length), or NULL if the key does not cover it. The result is valid while
 * the caller holds a lock that a grace period acquires.
 */
static inline uint8_t *sv_mr_translate(const struct sv_mr_table *table, const struct sv_pd *pd, uint32_t lkey,
                                       uint64_t address, uint32_t length, uint32_t access)
{
    uint32_t index = (lkey >> 8) - SV_MR_FIRST;
    if (SV_UNLIKELY(index >= SV_MR_SLOTS))
        return NULL;
    const struct sv_mr_entry *entry = &table->entries[index];
    if (SV_UNLIKELY(atomic_load_explicit(&entry->key, memory_order_acquire) != lkey))
        return NULL;
    uint64_t offset = address - entry->iova;
    if (SV_UNLIKELY(offset > entry->length || length > entry->length - offset || entry->pd != pd ||
                    (entry->access & access) != access))
        return NULL;
    return (uint8_t *)((uintptr_t)entry->base + offset);      /* a region of all memory has the base NULL */
}

#endif
