/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CX_OBJECTS_H
#define CX_OBJECTS_H

/*
 * The state of the emulated ConnectX and of the kernel driver in front of it: contexts, the objects that programs
 * create through uverbs, and the rings in the program's memory. The binary interface is that of libmlx5 in rdma-core 44
 * and of Linux 6.1 (rdma/mlx5-abi.h, MLX5_IB_UVERBS_ABI_VERSION 1).
 *
 * One lock per device, `mutex`, guards everything here. Commands hold it, and so does the engine thread during a round.
 * Only event files have a separate lock, which is acquired last.
 *
 * Flow rules and RSS are those of softverbs. A queue pair contains the sv_qp, and a work queue the sv_wq, to which the
 * flow table points. Nothing else in these structures is used.
 */

#include <infiniband/mlx5dv.h>
#include <pthread.h>
#include <rdma/ib_user_verbs.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base.h"
#include "connectx_emulator.h"
#include "device.h"         /* softverbs */
#include "frame.h"

enum {
    CX_PAGE_BYTES = 4096,
    CX_COMP_VECTORS = 2,
    CX_MAX_DEVICES = 8,
    CX_MAX_BFREGS = 512,
    CX_MAX_UARS = 512,              /* pages: static ones first, then those that programs allocate */
    CX_BFREGS_PER_UAR = 4,          /* as libmlx5 counts them; */
    CX_USED_BFREGS_PER_UAR = 2,     /* the other two are for the kernel's fast path */
    CX_BF_OFFSET = 0x800,
    CX_BF_BYTES = 512,              /* two halves, used alternately */
    CX_LINE_BYTES = 64,             /* unit in which a processor writes to registers */
    CX_CQ_DOORBELL = 0x20,
    CX_L2_INLINE_BYTES = 18,        /* minimum inline mode L2: Ethernet and a VLAN tag */
    CX_MAX_SEND_WQEBBS = 32768,
    CX_MAX_SQ_DESC_BYTES = 1024,
    CX_MAX_RQ_DESC_BYTES = 512,
    CX_MAX_RECV_WR = 32768,
    CX_MAX_CQE = 4194303,
    CX_MAX_FRAME_BYTES = 9000 + SV_MAX_OVERHEAD,
    CX_MAX_TSO_BYTES = 262144,
    CX_FIRST_MKEY = 0x1000,         /* index; keys are index << 8 | variant, so that 0x100 is none */
    CX_MKEYS = 16384,
    CX_MAX_SESSION_CQES = 64,       /* completions that are compressed together */
    CX_CQE_BYTES = 64,
    /* Striding receive queues: the limits that the device reports, as logarithms. */
    CX_MIN_STRIDE_SHIFT = 6,        /* bytes per stride */
    CX_MAX_STRIDE_SHIFT = 13,
    CX_MIN_STRIDES_SHIFT = 3,       /* strides per request */
    CX_OLD_MIN_STRIDES_SHIFT = 9,   /* without ext_stride_num_range */
    CX_MAX_STRIDES_SHIFT = 16,
};

enum cx_kind { CX_PD, CX_MR, CX_CQ, CX_QP, CX_WQ, CX_IND_TABLE, CX_FLOW, CX_COUNTERS, CX_UAR, CX_KIND_COUNT };

struct cx_device;
struct cx_context;

struct cx_object {
    enum cx_kind kind;
    uint32_t handle;
    uint32_t users;                 /* number of objects that refer to this one and so keep it */
    uint64_t user_handle;           /* the program's name for it in events */
    uint64_t pinned_pages;          /* pages of its memory that count against the limit of locked memory */
    struct cx_record_page *record_page;     /* page of its doorbell record, or NULL */
    struct cx_context *context;
    struct cx_event_source events;
};

/* A page of the program's memory with doorbell records. */
struct cx_record_page {
    struct cx_record_page *next;
    uint64_t number;
    uint32_t users;
};

struct cx_pd {
    struct cx_object object;
    uint32_t pdn;
};

struct cx_mr {
    struct cx_object object;
    struct cx_pd *pd;
    uint32_t index;
};

/* A memory region. */
struct cx_mkey {
    uint32_t key;                   /* 0: not in use */
    uint8_t variant;
    uint32_t access;
    uint64_t iova;
    uint64_t length;
    uint8_t *base;
    const struct cx_pd *pd;
};

struct cx_session;

enum cx_arm { CX_ARM_NONE, CX_ARM_SOLICITED, CX_ARM_ANY };

struct cx_cq {
    struct cx_object object;
    struct cx_cq *next;             /* on the device's list */
    uint32_t cqn;
    uint8_t *ring;
    uint32_t entries;               /* a power of two */
    uint32_t entry_bytes;           /* 64, or 128 with the entry in the second half */
    _Atomic uint32_t *record;       /* [0] consumer index, [1] arming; big-endian */
    uint32_t produced;
    uint32_t vector;                /* vector of its completion events */
    uint32_t uar_index;             /* doorbell page for arming it */
    struct cx_events *channel;      /* NULL: none */
    enum cx_arm armed;
    int last_event_sn;              /* sequence number of the last arming that raised an event, or -1 */
    bool has_overrun;
    bool ignores_overrun;           /* unread entries are overwritten */
    struct cx_session *session;     /* NULL: entries are not compressed */
};

/* Common to the work queues of both directions. */
struct cx_ring {
    uint8_t *memory;
    uint32_t unit_count;            /* a power of two: 64-byte blocks of a send queue, requests of a receive queue */
    uint32_t unit_shift;
    _Atomic uint32_t *record;       /* big-endian producer index, 16 bits */
    uint16_t consumed;
    uint16_t produced;              /* the record when it was last read */
};

/* MLX5_QP_FLAG_TIR_ALLOW_SELF_LB_UC and _MC. */
enum { CX_SELF_LB_UNICAST = 1, CX_SELF_LB_MULTICAST = 2 };

enum cx_queue_state { CX_QUEUE_OFF, CX_QUEUE_READY, CX_QUEUE_ERROR };

/* Requests of several strides. A frame occupies as many strides as its length needs. */
struct cx_strides {
    uint32_t per_request;           /* 0: a request is for one frame */
    uint32_t shift;                 /* logarithm of a stride's bytes */
    uint32_t next;                  /* the first free stride in the current request */
};

struct cx_rq {
    struct cx_device *device;
    struct cx_object *owner;        /* the queue pair or the work queue */
    struct cx_pd *pd;
    struct cx_cq *cq;
    struct cx_ring ring;
    enum cx_queue_state state;
    uint32_t number;
    uint32_t uidx;
    bool signature;                 /* a 16-byte segment before the scatter list */
    struct cx_strides strides;
    uint8_t injected_syndrome;      /* syndrome of an injected error; 0: none */
};

struct cx_sq {
    struct cx_ring ring;
    struct cx_cq *cq;
    uint32_t uar_index;             /* doorbell page */
    bool rung;
    bool bounded;                   /* step mode: the doorbell applies to requests up to `last_rung` */
    uint16_t last_rung;
    bool blueflame;                 /* step mode: the doorbell contained the request itself */
    uint8_t blueflame_bytes[CX_BF_BYTES / 2];
    enum cx_queue_state state;
    uint8_t injected_syndrome;
    uint32_t unreported;            /* frames executed since the last completion that was written */
    struct sv_cached_verdict cache;
    struct softverbs_queue_counters counters;
};

struct cx_qp {
    struct cx_object object;
    struct cx_qp *next;             /* on the device's list */
    struct sv_qp steering;          /* its rq.qp leads back here */
    uint32_t self_loopback; /* CX_SELF_LB_UNICAST, CX_SELF_LB_MULTICAST: whether it receives frames sent by its port */
    struct cx_pd *pd;
    uint32_t number;
    uint32_t uidx;
    uint32_t state;                 /* enum ibv_qp_state in the driver's view: see qp_state.c */
    uint32_t static_bfreg;          /* index, or UINT32_MAX */
    struct ib_uverbs_create_qp_resp cap;
    uint8_t sq_sig_all;
    uint8_t port;
    bool has_rq;
    bool has_sq;
    struct cx_ind_table *ind_table; /* NULL unless it is an RSS queue pair */
    struct cx_sq sq;
    struct cx_rq rq;
};

struct cx_wq {
    struct cx_object object;
    struct cx_wq *next;             /* on the device's list */
    uint32_t state;                 /* enum ibv_wq_state in the driver's view; errors change only rq.state */
    struct sv_wq steering;          /* its rq.wq leads back here */
    struct cx_rq rq;
};

struct cx_ind_table {
    struct cx_object object;
    struct sv_ind_table *steering;
    uint32_t entries;
    struct cx_wq *wqs[];
};

/* The values of ibv_read_counters, at positions that the rules define. */
struct cx_counters {
    struct cx_object object;
    struct sv_counters matched;
};

struct cx_flow {
    struct cx_object object;
    struct cx_qp *qp;
    struct cx_counters *counters;
    bool is_of_wire;                /* the rule is for frames of the wire's port, and in the table */
    struct sv_flow flow;
    struct sv_rule rule;
};

/* A doorbell page. The engine has its own mapping, which stays when the program unmaps the page. */
struct cx_uar {
    bool in_use;
    bool allocated;                 /* by the program, for one queue pair or for arming */
    uint8_t *page;
};

struct cx_context {
    struct cx_device *device;
    struct cx_context *next;
    struct cx_events *async;        /* NULL until the program has opened the descriptor */
    bool opened;                    /* GET_CONTEXT has been answered */
    int doorbell_fd;                /* memfd with the pages */
    struct cx_record_page *record_pages;
    uint32_t static_bfregs;
    uint32_t low_latency_bfregs;
    uint32_t bfreg_users[CX_MAX_BFREGS];
    struct cx_uar uars[CX_MAX_UARS];
    uint32_t uar_pages;             /* number of used pages */
    struct cx_object **objects;     /* by handle */
    uint32_t object_slots;
};

/* ---- the device ---- */

struct cx_wire;

enum { CX_TRACE_ENTRIES = 1024, CX_MAX_LISTED_MACS = 64, CX_MAX_REPRESENTORS = 2,
       CX_MAX_RULES = 1 << 16 /* MLX5_FS_MAX_ENTRIES of mlx5_ib's fs.c, for each priority */ };

/* Requests of tests; see include/connectx_emulator.h. */
struct cx_faults {
    struct {
        uint32_t command;           /* enum ib_uverbs_write_cmds, with the flag of extended commands */
        int error;
        uint32_t count;
    } next_command;
    uint32_t drop_frames;
    uint32_t duplicate_frames;
};

struct cx_device {
    unsigned index;
    char name[16];
    char interface[16];             /* the network interface of the wire's port */
    /*
     * The number of the wire's port, and of ports. In switchdev mode ports have the order in which the driver allocates
     * vports: the function itself, virtual functions, and the uplink last (mlx5_esw_vports_init() of eswitch.c).
     */
    uint32_t own_port;
    char representors[CX_MAX_REPRESENTORS][16];     /* interfaces of the ports before it; empty: not loaded */
    uint8_t mac[6];
    /* Further addresses in the lists of the interface, which the driver passes to the e-switch. */
    struct cx_listed_mac {
        uint8_t mac[6];
        uint32_t users;             /* 0: unused */
    } listed_macs[CX_MAX_LISTED_MACS];
    uint32_t mtu;
    bool port_up;
    bool removed;
    struct sv_flow_table flows;
    struct cx_wire *wire;

    pthread_mutex_t turnstile;      /* taken before the mutex, for fairness: see cx_lock() */
    pthread_mutex_t mutex;
    struct cx_context *contexts;
    struct cx_qp *qps;
    struct cx_wq *wqs;
    struct cx_cq *cqs;
    uint32_t next_queue_number;     /* next number of a queue */
    uint32_t next_cqn;
    uint32_t next_pdn;
    uint32_t next_mkey;
    struct cx_mkey mkeys[CX_MKEYS];

    bool engine_runs;
    pthread_cond_t opened;          /* the engine sleeps while the device is not open */
    bool stepping;
    /* Bytes of a frame that a request has to hold; 0: none, and multi-packet requests exist. */
    uint32_t min_inline_bytes;
    uint32_t min_strides_shift;     /* of striding receive queues */
    bool eager;                     /* step mode: records are read without a doorbell */
    uint8_t *scratch;               /* the frame that is being sent */
    uint8_t *segment;               /* a segment of a TSO send */
    bool is_self_loopback;          /* the frame being steered was sent by this port */
    struct sv_cached_verdict wire_cache;
    struct softverbs_queue_counters wire_counters;
    struct cxemu_counters counters;
    struct cx_faults faults;
    struct cxemu_doorbell trace[CX_TRACE_ENTRIES];
    uint64_t trace_count;
};

/* ---- objects.c. The device's mutex is held. ---- */

void *cx_object_new(struct cx_context *context, enum cx_kind kind, size_t bytes, uint64_t user_handle);
void cx_object_free(struct cx_object *object);
/* Returns NULL for an unknown handle or one of another kind. */
void *cx_object_find(struct cx_context *context, enum cx_kind kind, uint32_t handle);
int cx_object_destroy(struct cx_context *context, enum cx_kind kind, uint32_t handle,
                      void (*destroy)(struct cx_object *object));
/* Returns a doorbell register for a queue pair, or UINT32_MAX. */
uint32_t cx_bfreg_alloc(struct cx_context *context);
void cx_bfreg_free(struct cx_context *context, uint32_t bfreg);
/* Take and release the device's mutex. The caller of cx_lock() does not hold it. */
void cx_lock(struct cx_device *device);
void cx_unlock(struct cx_device *device);

/*
 * Returns the network interface of a port, or NULL if the device has no such port or the driver has loaded no
 * representor for it. The port is unusable then.
 */
const char *cx_port_interface(const struct cx_device *device, uint32_t port);

/* ---- memory.c ---- */

/* Locks these bytes, which the device reads or writes until the object is freed. Returns 0, or ENOMEM at the limit. */
int cx_object_pin(struct cx_object *object, uint64_t address, uint64_t bytes);
void cx_object_unpin(struct cx_object *object, uint64_t pages);
/* Locks the page of the object's doorbell record. */
int cx_record_pin(struct cx_object *object, uint64_t address);
void cx_record_unpin(struct cx_object *object);
/* Returns true if [address, address + length) is memory of this process. */
bool cx_is_mapped(uint64_t address, uint64_t length, bool writable);
/* Returns the address for a key, or NULL if the key does not cover the bytes with this access. */
uint8_t *cx_translate(const struct cx_device *device, const struct cx_pd *pd, uint32_t key, uint64_t address,
                      uint32_t length, uint32_t access);

#endif
