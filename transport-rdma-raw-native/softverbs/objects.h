/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_OBJECTS_H
#define SV_OBJECTS_H

/*
 * The verbs objects. Each starts with the public structure of <infiniband/verbs.h>, so a pointer to one is a pointer to
 * the other. The binary interface is that of libibverbs 1.14 (rdma-core 44).
 *
 * Locks, outermost first. A thread acquires them in this order only:
 *   device.port_mutex    opens and closes the port
 *   device.rules_mutex   changes flow rules: one change at a time, also while it waits for a broker or a grace period
 *   device.grace_mutex   a grace period; removes queues from the lists
 *   device.mutex         object lists, faults (control calls only, and never across a wait: see sv_assert_may_block())
 *   sq.lock              one sender at a time; also pins the flow rules and memory regions that the sender uses
 *   rq.post_lock         one poster at a time
 *   rq.deliver_lock      one deliverer at a time
 *   cq.produce_lock      adds completions, arms
 *   cq.consume_lock      polls
 *   channel.mutex        raises events. Not acquired with the produce lock held, but with the sq.lock or deliver_lock
 *     of the completing queue, which keeps completion queue and channel alive
 *   context's async mutex
 *
 * On a network interface, receiver.lock (held while a thread moves received frames) comes before rq.deliver_lock.
 * event_mutex (the epoll instance of the sockets) is acquired with no other lock held, and none is acquired under it.
 *
 * A grace period acquires and releases every sq.lock, every deliver_lock and, on a network interface, every
 * receiver.lock. A reader of the old state holds one of them.
 */

#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdalign.h>
#include <stdbool.h>

#include "frame.h"
#include "softverbs.h"
#include "spin.h"

#define SV_EXPORT __attribute__((visibility("default")))
#define SV_HOT __attribute__((hot))
#define SV_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define SV_LIKELY(x) __builtin_expect(!!(x), 1)
/* Two cache lines: the adjacent-line prefetcher makes pairs of lines bounce together. */
#define SV_CACHELINE_ALIGNED alignas(128)

struct sv_device;
struct sv_context;
struct sv_flow;

enum {
    SV_PORT_NUM = 1,
    SV_BURST = 64,
    SV_MIN_SEND_BYTES = 18,     /* mlx5's default inline header: shorter sends fail with EINVAL */
    SV_MAX_QP_WR = 32768,
    SV_MAX_SGE = 30,
    SV_MAX_INLINE = 912,
    SV_MAX_CQE = 4194303,
    SV_MAX_TSO_HEADER = 512,
    SV_MAX_TSO_PAYLOAD = 262144,
    SV_MAX_IND_TABLE = 512,
    SV_RX_HASH_KEY_LENGTH = 40,
};

/* ---- memory ---- */

struct sv_pd {
    struct ibv_pd ibv;
    _Atomic uint32_t users;
};

struct sv_mr {
    struct ibv_mr ibv;
    uint32_t index;
    uint64_t pinned_bytes;
};

/* ---- completion ---- */

/*
 * The wr_ids of a send or receive queue, which a poller needs to complete the work requests. They stay on the core that
 * posts and polls: wr_ids never travel to the core that sends or delivers.
 */
struct sv_wr_ring {
    alignas(16) _Atomic uint32_t retired;   /* work requests before this have been polled, so their slots are free */
    uint32_t mask;
    uint64_t *wr_ids;
};

/*
 * A completion has 16 bytes, four to a cache line, because completions cross from the sender's core to the poller's.
 *   wr_ring_and_index: the packed address of the sv_wr_ring (48 bits) and, below it, the low 16 bits of the work
 *     request's index
 *   info: flow tag or queue number (24 bits), status (5), kind (2), checksum verified (1)
 */
struct sv_cqe {
    uint64_t wr_ring_and_index;
    uint32_t byte_len;
    uint32_t info;
};

/*
 * Packs an address into 48 bits. On 64-bit Arm an allocator may tag memory (MTE). The tag is in bits 56 to 59, and an
 * access without it faults. A ring is aligned to 16 bytes, so the tag fits into the lowest bits.
 */
static inline uint64_t sv_address_pack(uint64_t address)
{
    return (address & 0x0000fffffffffff0u) | (address >> 56 & 15);
}

static inline uint64_t sv_address_unpack(uint64_t packed)
{
    return (packed & ~(uint64_t)15) | (packed & 15) << 56;
}

#if defined(__aarch64__)
#define SV_PACK(address) sv_address_pack((uint64_t)(uintptr_t)(address))
#define SV_UNPACK(packed) sv_address_unpack(packed)
#else
#define SV_PACK(address) ((uint64_t)(uintptr_t)(address))
#define SV_UNPACK(packed) (packed)
#endif

enum sv_cqe_kind { SV_CQE_SEND, SV_CQE_TSO, SV_CQE_RECV };
enum { SV_CQE_STATUS_SHIFT = 24, SV_CQE_KIND_SHIFT = 29 };
#define SV_CQE_CHECKSUM_OK 0x80000000u

static inline struct sv_cqe sv_cqe_make(const struct sv_wr_ring *wr_ring, uint32_t index, enum sv_cqe_kind kind,
                                        enum ibv_wc_status status, uint32_t byte_len, uint32_t number)
{
    return (struct sv_cqe){
        .wr_ring_and_index = SV_PACK(wr_ring) << 16 | (index & 0xffff),
        .byte_len = byte_len,
        .info = number | (uint32_t)status << SV_CQE_STATUS_SHIFT | (uint32_t)kind << SV_CQE_KIND_SHIFT,
    };
}

static inline struct sv_wr_ring *sv_cqe_wr_ring(const struct sv_cqe *cqe)
{
    return (struct sv_wr_ring *)(uintptr_t)SV_UNPACK(cqe->wr_ring_and_index >> 16);
}

static inline enum ibv_wc_status sv_cqe_status(const struct sv_cqe *cqe)
{
    return (enum ibv_wc_status)(cqe->info >> SV_CQE_STATUS_SHIFT & 31);
}

/* Only the thread that polls the completions of this ring's queue calls this. */
static inline void sv_wr_ring_retire(struct sv_wr_ring *wr_ring, uint32_t index16)
{
    uint32_t retired = atomic_load_explicit(&wr_ring->retired, memory_order_relaxed);
    atomic_store_explicit(&wr_ring->retired, retired + (uint16_t)(index16 + 1 - retired), memory_order_release);
}

/*
 * Each unread event has a token, except while a thread polls for events itself. The public descriptor is readable while
 * there is a token. It is the eventfd of the tokens or, on a network interface, an epoll instance that contains the
 * eventfd and at times the sockets (see event_source.c).
 */
struct sv_channel {
    struct ibv_comp_channel ibv;
    int token_fd;                   /* an eventfd in semaphore mode */
    _Atomic uint32_t armed_cqs;     /* number of armed completion queues */
    pthread_mutex_t mutex;
    struct sv_cq *first_pending;    /* completion queues with unread events */
    struct sv_cq *last_pending;
    uint32_t pollers;               /* threads in ibv_get_cq_event() that poll the interface themselves */
    uint32_t events_without_token;  /* unread events without a token, which one of the pollers takes */
    uint32_t idle_polls;            /* consecutive checks without an event */
};

struct sv_cq {
    struct ibv_cq_ex ibv;       /* struct ibv_cq is its prefix */
    struct sv_cqe *ring;
    uint32_t mask;
    uint32_t capacity;
    struct sv_device *progress_device;  /* a poll moves the frames of this device; or NULL */
    _Atomic bool has_receives;  /* receives complete here, so a poller waits for frames */
    bool single_threaded;
    bool ignore_overrun;
    _Atomic uint32_t users;

    /* The only cache line that both sides access all the time. The producers' own fields are on other lines. */
    SV_CACHELINE_ALIGNED _Atomic uint32_t produced;

    SV_CACHELINE_ALIGNED struct sv_spin produce_lock;
    uint32_t cached_produced;   /* the producers' copy of `produced`, which saves a fetch */
    uint32_t consumed_seen;
    uint32_t armed;             /* enum sv_arm */
    /*
     * Number of pairs of a flow rule and a receive queue that completes here. A rule of an RSS queue pair counts for
     * each entry of the indirection table.
     */
    uint32_t steering_rules;
    bool has_overrun;
    _Atomic uint64_t overruns;

    SV_CACHELINE_ALIGNED struct sv_spin consume_lock;
    _Atomic uint32_t consumed;
    uint32_t produced_seen;
    struct sv_cqe current;      /* the current completion of an extended poll */

    /* Completion events, guarded by the channel's mutex. */
    SV_CACHELINE_ALIGNED struct sv_cq *next_pending;
    uint32_t events_pending;
    uint32_t comp_events_reported;
    uint32_t async_events_reported; /* guarded by the context's async mutex */
};

enum sv_arm { SV_ARM_NONE, SV_ARM_SOLICITED, SV_ARM_ANY };

/* ---- queues ---- */

enum sv_rq_state { SV_RQ_RESET, SV_RQ_INIT, SV_RQ_READY, SV_RQ_ERROR };

/* The receive side of a queue pair or a whole work queue. */
struct sv_rq {
    struct sv_device *device;
    struct sv_pd *pd;
    struct sv_cq *cq;
    struct sv_qp *qp;           /* NULL for a work queue */
    struct sv_wq *wq;           /* NULL for a queue pair */
    struct ibv_sge *ring;       /* max_sge elements per work request; unused ones have length 0 */
    uint32_t size;
    uint32_t max_sge;
    uint32_t number;
    bool reports_checksum;
    _Atomic uint32_t state;     /* enum sv_rq_state */
    struct sv_wq *_Atomic gso_wq;   /* work queue for unsegmented GSO frames (receive_gso.c), or NULL */

    SV_CACHELINE_ALIGNED struct sv_spin post_lock;
    _Atomic uint32_t posted;
    struct sv_wr_ring wr_ring;

    SV_CACHELINE_ALIGNED struct sv_spin deliver_lock;
    _Atomic uint32_t delivered; /* written with deliver_lock held, read without it as a hint */
    _Atomic uint32_t posted_seen;
    uint32_t injected_status;   /* injected completion status, or 0 */
    struct softverbs_queue_counters counters;
};

struct sv_sq {
    struct sv_spin lock;
    uint32_t size;
    uint32_t head;
    uint32_t max_sge;
    uint32_t max_inline;
    uint32_t injected_status;
    bool signal_all;
    bool checksum_offload;
    uint16_t max_tso_header;
    uint8_t *scratch;           /* frames gathered or changed for sending, until the burst is transmitted */
    uint32_t scratch_used_bytes;
    struct sv_cached_verdict *cache;
    struct softverbs_queue_counters counters;
    SV_CACHELINE_ALIGNED struct sv_wr_ring wr_ring;
};

struct sv_qp {
    struct ibv_qp ibv;
    struct sv_device *device;
    struct sv_qp *next;         /* on the device's list */
    struct sv_qp *prev;
    /* NULL unless this is an RSS queue pair, which only spreads frames over work queues. */
    struct sv_ind_table *ind_table;
    struct sv_rss *rss;
    bool blocks_self_multicast;
    uint32_t sender_number; /* number among the queue pairs that send, by which a port spreads them over its queues */
    uint32_t port_num;
    uint32_t flow_count;        /* guarded by the device's mutex */
    struct ibv_qp_cap cap;
    uint32_t async_events_reported;
    _Atomic uint32_t state;     /* enum ibv_qp_state */
    SV_CACHELINE_ALIGNED struct sv_sq sq;
    SV_CACHELINE_ALIGNED struct sv_rq rq;
};

struct sv_wq {
    struct ibv_wq ibv;
    struct sv_wq *next;         /* on the device's list */
    struct sv_wq *prev;
    _Atomic uint32_t users;
    uint32_t async_events_reported;
    SV_CACHELINE_ALIGNED struct sv_rq rq;
};

struct sv_ind_table {
    struct ibv_rwq_ind_table ibv;
    _Atomic uint32_t users;
    uint32_t mask;
    struct sv_wq *wqs[];
};

/* ---- context ---- */

struct sv_async_node {
    struct ibv_async_event event;
    struct sv_async_node *next;
};

struct sv_context {
    struct verbs_context verbs; /* its last member is the public struct ibv_context */
    struct sv_device *device;
    struct sv_context *next;
    _Atomic uint32_t objects;   /* live objects of every kind */
    pthread_mutex_t async_mutex;
    struct sv_async_node *async_first;
    struct sv_async_node *async_last;
};

static inline struct sv_context *sv_context_of(struct ibv_context *context)
{
    return (struct sv_context *)((uint8_t *)context - offsetof(struct verbs_context, context));
}

struct sv_device *sv_device_of(struct ibv_context *context);

/* Sets errno and returns NULL, as verbs that create objects do on failure. */
void *sv_fail(int error);
void *sv_alloc_zeroed(size_t size);
/* Stores a sentence for softverbs_open_error() or softverbs_get_flow_error() in this thread; returns `error`. */
enum { SV_EXPLANATION_BYTES = 256 };
int sv_explain(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));
const char *sv_explanation(void);
uint32_t sv_round_up_pow2(uint32_t value);
/*
 * Raises a socket's send buffer to the frames that a card may not have sent yet, as far as the process's capabilities
 * allow.
 */
void sv_raise_send_buffer(int socket);
/*
 * Marks a wait for another process, for the kernel or for other threads. Builds with SV_CHECK_LOCKS abort here if the
 * thread holds a device's mutex. Event loops acquire that mutex, so it guards short sections only.
 */
#ifdef SV_CHECK_LOCKS
extern _Thread_local unsigned sv_device_locks;
void sv_assert_may_block(void);
#else
static inline void sv_assert_may_block(void)
{
}
#endif

/* memory.c */
struct sv_mr_table;
struct sv_mr_table *sv_mr_table_create(void);
void sv_mr_table_destroy(struct sv_mr_table *table);

/* cq.c */
void sv_cq_overrun(struct sv_cq *cq);
/*
 * Returns true if a thread waits for the completions. The caller then notifies the channel after it has released the
 * produce lock. Waking a thread is a system call, at the end of which the caller may lose its core, and a thread that
 * arms the queue would wait for it.
 */
bool sv_cq_publish(struct sv_cq *cq, uint32_t produced, bool error);
void sv_cq_push(struct sv_cq *cq, const struct sv_cqe *cqe);
uint32_t sv_cq_purge(struct sv_cq *cq, const struct sv_wr_ring *wr_ring);
int sv_poll_cq(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc);
int sv_req_notify_cq(struct ibv_cq *ibcq, int solicited_only);
struct sv_cq *sv_cq_create(struct ibv_context *context, uint32_t cqe, struct ibv_comp_channel *channel,
                           void *cq_context, uint32_t comp_vector);
/* cq_ex.c */
struct ibv_cq_ex *sv_create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr);

/* channel.c */
void sv_channel_on_cq_armed(struct sv_cq *cq);
void sv_channel_on_rule_added(struct sv_cq *cq);
void sv_channel_on_rule_removed(struct sv_cq *cq);
void sv_channel_on_cq_disarmed(struct sv_cq *cq);
void sv_channel_notify(struct sv_cq *cq);
void sv_channel_withdraw_events(struct sv_cq *cq);
bool sv_token_try_wait(int fd);
/* Returns true if the program has made the descriptor non-blocking. */
bool sv_channel_is_nonblocking(const struct sv_channel *channel);

/* qp.c, qp_state.c */
struct ibv_qp *sv_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr);
void sv_qp_enter_error(struct sv_qp *qp);
void sv_qp_enter_error_locked(struct sv_qp *qp);

/* receive_post.c */
int sv_rq_init(struct sv_rq *rq, struct sv_device *device, uint32_t max_wr, uint32_t max_sge);
void sv_rq_destroy(struct sv_rq *rq);
void sv_rq_reset(struct sv_rq *rq);
void sv_rq_flush(struct sv_rq *rq);
int sv_rq_post(struct sv_rq *rq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
int sv_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);

/* send.c */
int sv_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);

/* wq.c */
struct ibv_wq *sv_create_wq(struct ibv_context *context, struct ibv_wq_init_attr *attr);
int sv_modify_wq(struct ibv_wq *ibwq, struct ibv_wq_attr *attr);
int sv_destroy_wq(struct ibv_wq *ibwq);
struct ibv_rwq_ind_table *sv_create_rwq_ind_table(struct ibv_context *context,
                                                  struct ibv_rwq_ind_table_init_attr *attr);
int sv_destroy_rwq_ind_table(struct ibv_rwq_ind_table *table);
void sv_wq_enter_error_locked(struct sv_wq *wq);

/* flow.c, counters.c */
struct ibv_flow *sv_create_flow(struct ibv_qp *ibqp, struct ibv_flow_attr *attr);
int sv_destroy_flow(struct ibv_flow *ibflow);
struct ibv_counters *sv_create_counters(struct ibv_context *context, struct ibv_counters_init_attr *attr);
int sv_destroy_counters(struct ibv_counters *ibcounters);
int sv_attach_counters(struct ibv_counters *ibcounters, struct ibv_counter_attach_attr *attr, struct ibv_flow *flow);
int sv_read_counters(struct ibv_counters *ibcounters, uint64_t *values, uint32_t count, uint32_t flags);
void sv_queue_counters_add(struct softverbs_queue_counters *sum, const struct softverbs_queue_counters *one);

/* query.c */
int sv_query_device_ex(struct ibv_context *context, const struct ibv_query_device_ex_input *input,
                       struct ibv_device_attr_ex *attr, size_t attr_size);
int sv_query_port_attr(struct ibv_context *context, uint8_t port_num, struct ibv_port_attr *attr, size_t length);
int sv_query_rt_values(struct ibv_context *context, struct ibv_values_ex *values);

/* async.c */
void sv_async_raise(struct sv_context *context, const struct ibv_async_event *event);
void sv_async_raise_all(struct sv_device *device, enum ibv_event_type type);
void sv_async_withdraw_events(struct sv_context *context, const void *element);
void sv_async_discard_events(struct sv_context *context);

#endif
