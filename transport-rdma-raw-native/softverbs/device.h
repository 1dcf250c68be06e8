/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_DEVICE_H
#define SV_DEVICE_H

#include "flow.h"
#include "objects.h"

#include <sys/uio.h>

/* A TCP payload that is to leave as segments of `segment_bytes`, each behind a copy of the header: IBV_WR_TSO. */
struct sv_large_send {
    const uint8_t *header;      /* Ethernet, IP and TCP */
    uint32_t header_bytes;
    struct sv_layout layout;
    const struct iovec *parts;  /* at most SV_MAX_SGE */
    uint32_t part_count;
    uint32_t payload_bytes;
    uint32_t segment_bytes;
};

/* With fewer segments a call of its own for a large send costs as much as the segments in a burst with others. */
enum { SV_LARGE_SEND_SEGMENTS = 4 };

/*
 * The wire below the queue pairs. A device has one port; all contexts that the process opens on it share it.
 *
 * transmit: sends a burst for a queue pair whose sq.lock the caller holds. The frames may be read during the call only.
 * Every frame is either sent or counted as dropped, by reason.
 * The others may be NULL. transmit_large: the same for a large send, or returns false: then the caller cuts it, and
 * transmits the segments. progress: moves what the wire has received into receive queues (called by poll_cq, no lock
 * held) and returns how many frames that were. arm: makes sure that frames arriving from now on raise completion events.
 * look: when this channel's descriptor is readable for frames, so that its reader has to move them, moves them and returns
 * true. relieve: it no longer has to, frames raise events without it. Both are there or none.
 * rule_added and rule_removed: the wire's own steering follows (device mutex held); the first may refuse with an errno.
 * quiesce: part of a grace period, for threads that deliver without an sq.lock.
 * add_counters: adds the drops of frames that belong to no queue.
 */
struct sv_port_ops {
    int (*open)(struct sv_device *device);
    void (*close)(struct sv_device *device);
    void (*transmit)(struct sv_device *device, struct sv_qp *sender, struct sv_frame *frames, unsigned count);
    bool (*transmit_large)(struct sv_device *device, struct sv_qp *sender, const struct sv_large_send *send);
    unsigned (*progress)(struct sv_device *device);
    int (*arm)(struct sv_device *device, struct sv_cq *cq);
    bool (*look)(struct sv_device *device, const struct sv_channel *channel);
    void (*relieve)(struct sv_device *device, struct sv_channel *channel);
    int (*rule_added)(struct sv_device *device, const struct sv_rule_spec *spec, struct sv_rule *rule);
    void (*rule_removed)(struct sv_device *device, struct sv_flow *flow);
    void (*quiesce)(struct sv_device *device);
    void (*add_counters)(struct sv_device *device, struct softverbs_counters *counters);
};

extern const struct sv_port_ops sv_loop_ops;
extern const struct sv_port_ops sv_packet_ops;
extern const struct sv_port_ops sv_xdp_ops;

/* Faults asked for through softverbs.h. */
struct sv_faults {
    uint64_t memlock_limit;     /* bytes, UINT64_MAX = none */
    int raw_packet_error;       /* errno of every RAW_PACKET creation, 0 = supported */
    struct {
        int error;
        unsigned calls;
    } next[SOFTVERBS_CALL_COUNT];
};

struct sv_device {
    struct ibv_device ibv;
    const struct sv_port_ops *ops;
    void *port;                 /* the wire's own state */
    char open_error[SV_EXPLANATION_BYTES];
    unsigned index;             /* never used twice */
    bool configured;            /* "loop", and what the environment names: always there */
    unsigned lists;             /* of ibv_get_device_list() that hold it; guarded by the list's mutex */
    uint8_t mac[6];             /* guarded by the mutex: an interface may get another one */
    _Atomic uint32_t mtu;
    _Atomic bool port_up;
    _Atomic bool failed;        /* DEVICE_FATAL: every call that can gives EIO */
    struct sv_mr_table *mrs;
    struct sv_flow_table flows;
    _Atomic int armed_channels; /* of a wire, with armed queues: frames that arrive must wake somebody */

    pthread_mutex_t mutex;
    struct sv_context *contexts;
    struct sv_qp *qps;
    struct sv_wq *wqs;
    uint32_t next_number;       /* of queue pairs and work queues */
    uint64_t registered_bytes;
    struct sv_faults faults;
    struct softverbs_queue_counters retired_tx;     /* of queues that are gone */
    struct softverbs_queue_counters retired_rx;
    uint64_t retired_cq_overruns;
};

/* device_list.c; the device may be forgotten when it is neither listed nor open, and its interface is gone */
struct sv_device *sv_device_by_name(const char *name);

/* device.c */
enum { SV_FIRST_QUEUE_NUMBER = 0x40 };
void sv_device_quiesce(struct sv_device *device);
void sv_device_add_qp(struct sv_device *device, struct sv_qp *qp);
void sv_device_remove_qp(struct sv_device *device, struct sv_qp *qp);
void sv_device_add_wq(struct sv_device *device, struct sv_wq *wq);
void sv_device_remove_wq(struct sv_device *device, struct sv_wq *wq);

/* fault.c: the errno that this call has to fail with, or 0 */
int sv_fault(struct sv_device *device, enum softverbs_call call);
/* What happens to a port or a device that goes away; the caller holds the device's mutex. */
void sv_device_set_port_up(struct sv_device *device, bool up);
void sv_device_fail(struct sv_device *device);

/* memory.c */
enum { SV_MR_FIRST = 16, SV_MR_SLOTS = 65536 };

struct sv_mr_entry {
    alignas(64) _Atomic uint32_t key;   /* 0: not in use */
    uint32_t access;
    uint64_t iova;
    uint64_t length;
    uint8_t *base;                      /* where iova is in this process */
    const struct sv_pd *pd;
};

struct sv_mr_table {
    struct sv_mr_entry *entries;
    uint32_t free_count;
    uint32_t *free_list;
    uint8_t *generation;
};

/*
 * Where [address, address + length) is, or NULL when the key does not cover it. Valid as long as the caller keeps the lock
 * that a grace period takes.
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
    return entry->base + offset;
}

#endif
