/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOFTVERBS_H
#define SOFTVERBS_H

/*
 * Functions of softverbs beyond libibverbs: devices by name, counters, and injected faults for tests.
 *
 * Functions return 0 or an errno value unless stated otherwise. All are safe to call from any thread.
 */

#include <infiniband/verbs.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Adds a device to the list that ibv_get_device_list() returns:
 *   loop:<name>         in memory, within the process (at most 63 characters in all)
 *   xdp:<interface>     a network interface through AF_XDP
 *   packet:<interface>  a network interface through AF_PACKET
 *
 * The device "loop" always exists. SOFTVERBS_DEVICES in the environment adds others (separated by commas). A device on
 * an interface is listed while the calling thread's network namespace has that interface.
 *
 * Returns EEXIST if the device exists already, and EINVAL if the name does not describe a device of this library.
 */
int softverbs_add_device(const char *name);

/*
 * Returns the version of the project that built the library, such as "1.2.3", or "unknown" if its sources were built
 * alone.
 */
const char *softverbs_version(void);

/*
 * Returns the reason why ibv_open_device() last failed on this device, as a sentence, or "" if the errno is all there
 * is.
 */
const char *softverbs_open_error(const struct ibv_device *device);

/*
 * Copies the reason why ibv_create_flow() last failed in this thread, as a sentence, or "" if the errno is all there
 * is. A longer text than `bytes` is cut.
 */
int softverbs_get_flow_error(char *text, size_t bytes);

/*
 * Returns how an open device runs and why, as a sentence for users: the mode of AF_XDP. Returns "" for devices without
 * modes. The text is valid until the context is closed.
 */
const char *softverbs_mode(struct ibv_context *context);

/*
 * Properties of a network interface that the kernel and the driver report (generic netlink, family "netdev"). The masks
 * contain the bits of linux/netdev.h: enum netdev_xdp_act, netdev_xdp_rx_metadata, netdev_xsk_flags. For a VLAN
 * interface all but the driver's name are those of the interface below it, which the driver modes use.
 */
struct softverbs_interface {
    char driver[32];            /* as in ethtool, "" if there is none */
    uint64_t xdp_features;
    uint64_t xdp_rx_metadata;
    uint64_t xsk_features;
    uint32_t zero_copy_segments;    /* maximum number of chunks per frame in zero copy; 0: not reported */
    uint32_t receive_queues;    /* 0: not reported by the kernel (before Linux 6.8) */
    uint32_t queues_with_napi;  /* receive queues for which the driver reports a NAPI instance */
    uint32_t napi_left_deferring; /* NAPI instances that a killed process has left with deferred interrupts */
    uint32_t features_reported; /* 0: the kernel reports only the driver (before Linux 6.3) */
    /* 1: in a driver mode a socket learns its NAPI instance from a frame (before Linux 6.13). */
    uint32_t napi_from_first_frame;
};

/*
 * Queries an interface. Returns ENODEV if the calling thread's network namespace has no such interface. Needs no
 * capability.
 */
int softverbs_query_interface(const char *netdev, struct softverbs_interface *interface);

/* An eBPF program on a network interface that belongs to other software or to another process of this library. */
struct softverbs_program {
    uint32_t id;
    uint32_t attach_point;      /* SOFTVERBS_PROGRAM_XDP_GENERIC, _XDP_DRIVER or _TC */
    char name[16];              /* "" if the process lacks CAP_SYS_ADMIN to read it */
};

enum { SOFTVERBS_PROGRAM_XDP_GENERIC, SOFTVERBS_PROGRAM_XDP_DRIVER, SOFTVERBS_PROGRAM_TC };

/*
 * Stores up to `room` programs in the order in which the kernel runs them: XDP, then tc ingress (TCX, from Linux 6.6
 * on, which needs CAP_NET_ADMIN). Returns their number or a negative errno: -ENODEV if there is no such interface.
 */
int softverbs_query_programs(const char *netdev, struct softverbs_program *programs, uint32_t room);

/*
 * The counters of one queue: frames and bytes transferred, then drops by reason. "Device" marks counters that only a
 * device has.
 */
struct softverbs_queue_counters {
    uint64_t frames;
    uint64_t bytes;
    uint64_t no_match;          /* sent: dropped because no rule matched; received: always 0 */
    uint64_t dropped_by_rule;   /* dropped by a DROP rule: sent; from an interface: received (device) */
    uint64_t blocked_self;      /* sent: own multicast, not delivered to the sender (BLOCK_SELF_MCAST_LB) */
    uint64_t port_down;         /* sent: dropped because the port was down; received: by an inactive leg (device) */
    uint64_t too_many_copies;   /* copies beyond the maximum per frame: likewise */
    uint64_t no_receive;        /* received: dropped because no receive was posted (RNR) */
    uint64_t not_ready;         /* received: dropped because the queue could not receive, or was reset before a poll */
    /* Sent: frame above the MTU. Received: buffer too small; frame too short or too long (device). */
    uint64_t length_errors;
    uint64_t protection_errors; /* a scatter or gather element lies outside its memory region */
    uint64_t flushed;           /* work requests completed with WR_FLUSH_ERR */
    uint64_t injected_errors;   /* completions failed by softverbs_fail_next_completion() and similar calls */
    uint64_t cq_overruns;       /* completions lost because the completion queue was full */
    uint64_t ring_full;         /* sent: interface accepted no frame for 50 us; received: the ring was full (device) */
    uint64_t copied;            /* frames copied between registered memory and the interface's rings */
    uint64_t syn_ring_full;     /* received: SYNs dropped under overload (device) */
    uint64_t unsolicited_drops; /* received: unsolicited TCP segments dropped under overload (device) */
    /*
     * Received (device): left to the kernel because their receive queue has no socket, or dropped because their leg
     * of a bond has none. Sent: dropped because the interface no longer has their send queue; later frames leave by the
     * others. Or the leg of the bond that sends has no sockets.
     */
    uint64_t unserved;
    /* Frames from senders on the same host, which expect hardware to complete them (device): */
    /* Checksums that the sender left out. The library computes them, except those of unsegmented GSO frames. */
    uint64_t partial_checksums;
    /* Received: GSO frames that were segmented; sent: TSO sends passed to the kernel as one packet. */
    uint64_t gso_frames;
    uint64_t gso_segments;      /* received: segments of these GSO frames; sent: segments in these TSO sends */
    uint64_t gso_flags;         /* dropped: GSO frames of TCP with SYN, RST or URG */
    uint64_t gso_malformed;     /* dropped: malformed GSO frames, with contradictory lengths or a wrong checksum */
    uint64_t gso_too_long;      /* dropped: GSO frames beyond 64 KB ("BIG TCP") */
    uint64_t gso_datagrams;     /* GSO frames of UDP with an unknown datagram size: left to the kernel */
    uint64_t gso_unsegmented;   /* GSO frames of TCP that were delivered unsegmented (softverbs_set_qp_gso_wq()) */
    /*
     * Received: frames that the interface dropped for lack of a buffer (rx_missed_errors, of all programs), plus the
     * times that its driver found no free chunk in zero copy (device).
     */
    uint64_t driver_no_buffer;
};

/* A device's counters since it was first opened: the sum over all queues, including destroyed ones. */
struct softverbs_counters {
    struct softverbs_queue_counters sent;
    struct softverbs_queue_counters received;
    /*
     * Rules in force now. On a device of a broker, a rule that is removed while no broker runs or answers stays in
     * force until the device is resumed or the broker answers. The process drops its frames.
     */
    uint64_t flow_rules;
    uint64_t registered_bytes;  /* memory registered now */
    uint64_t kernel_visible_rules;  /* rules in force on a packet device for which the kernel may answer too */
};

int softverbs_query_counters(struct ibv_context *context, struct softverbs_counters *counters);
/* Query the counters of a queue. Either pointer may be NULL. */
int softverbs_query_qp_counters(struct ibv_qp *qp, struct softverbs_queue_counters *sent,
                                struct softverbs_queue_counters *received);
int softverbs_query_wq_counters(struct ibv_wq *wq, struct softverbs_queue_counters *received);

/*
 * Sets or stores the MTU: 68..9000, 1500 by default. A frame may be 14 bytes longer, or 18 with an 802.1Q tag. Setting
 * returns EOPNOTSUPP for a device on an interface, which has the interface's MTU.
 */
int softverbs_set_mtu(struct ibv_context *context, uint32_t mtu);
int softverbs_get_mtu(struct ibv_context *context, uint32_t *mtu);
/* Returns the device's MAC address. */
int softverbs_get_mac(struct ibv_context *context, uint8_t mac[6]);

/*
 * ---- GSO frames of TCP, unsegmented ----
 *
 * A sender on the same host may send many TCP segments as one GSO frame of up to 64 KB. By default, the device segments
 * it into frames of at most the MTU. A program can receive such a frame unsegmented, in one receive. Its completion has
 * IBV_WC_IP_CSUM_OK for IPv4 and IPv6. The program must ignore the checksum field: the kernel has verified the
 * checksum, or the sender has omitted it because the frame never left the host. A GSO frame is delivered unsegmented if
 *   - the queue pair, or the work queue of an RSS queue pair, has a work queue for such frames (`gso_wq`) with posted
 *     receives, whose first element is long enough. Completions have the flow tag, like all others;
 *   - only one rule matches the frame, and it has the flag SOFTVERBS_FLOW_ACCEPTS_GSO;
 *   - the frame fills at least half of the next receive.
 */

/* Flag of ibv_flow_attr.flags: the receiver of this rule accepts GSO frames. */
#define SOFTVERBS_FLOW_ACCEPTS_GSO (1u << 31)

/*
 * Stores the maximum length of a GSO frame that can be received unsegmented; 0 if the device receives none, or if
 * SOFTVERBS_UNSEGMENTED_GSO is "off".
 */
int softverbs_get_max_gso_bytes(struct ibv_context *context, uint32_t *bytes);
/*
 * Sets the queue for unsegmented GSO frames; NULL removes it. The queue cannot be destroyed while it is set. Both
 * queues must have the same completion queue (otherwise EINVAL), which preserves the order of their frames.
 */
int softverbs_set_qp_gso_wq(struct ibv_qp *qp, struct ibv_wq *gso_wq);
int softverbs_set_wq_gso_wq(struct ibv_wq *wq, struct ibv_wq *gso_wq);

/*
 * Writes a device register with one store, after all earlier writes to memory and before all later ones. For programs
 * that drive rings themselves and lack such barriers, such as Java on aarch64.
 */
void softverbs_write_register(void *address, uint64_t value);
/*
 * Writes a request to a BlueFlame register of mlx5, likewise ordered. `bytes` is a multiple of 8; both are aligned to
 * 8.
 */
void softverbs_write_blueflame(void *address, const void *request, uint32_t bytes);
/* Writes a doorbell record, big-endian, after all earlier reads and writes of memory. */
void softverbs_write_doorbell_record(void *address, uint32_t value);

/* ---- faults, for tests ---- */

/*
 * Takes the port down or up and raises IBV_EVENT_PORT_ERR or IBV_EVENT_PORT_ACTIVE. Frames sent while it is down are
 * lost.
 */
int softverbs_set_port_up(struct ibv_context *context, int up);
/*
 * Fails the device: raises IBV_EVENT_DEVICE_FATAL and moves all queues to ERR. Control calls return EIO until it is
 * repaired.
 */
int softverbs_fail_device(struct ibv_context *context);
int softverbs_repair_device(struct ibv_context *context);
/*
 * Completes the queue pair's next send (receive != 0: next receive) with this status. A failed send moves the queue
 * pair to ERR. A failed receive does so only with the status LOC_PROT_ERR, LOC_QP_OP_ERR or WR_FLUSH_ERR.
 */
int softverbs_fail_next_completion(struct ibv_qp *qp, int receive, enum ibv_wc_status status);
/* Does the same to the next receive of each queue set by softverbs_set_qp_gso_wq() or softverbs_set_wq_gso_wq(). */
int softverbs_fail_next_gso_frame(const char *device_name, enum ibv_wc_status status);
/*
 * Overruns the completion queue: raises IBV_EVENT_CQ_ERR, loses the next completion and moves its queue pair to ERR.
 * The queue works again after a queue pair or work queue that completes to it has been reset.
 */
int softverbs_overrun_cq(struct ibv_cq *cq);
/* Limits the registered bytes: ibv_reg_mr() returns ENOMEM above the limit. UINT64_MAX: no limit. */
int softverbs_set_memlock_limit(const char *device_name, uint64_t bytes);
/* Limits the number of flow rules: ibv_create_flow() returns ENOMEM above the limit. UINT32_MAX: no limit. */
int softverbs_set_flow_capacity(const char *device_name, uint32_t rules);
/*
 * Makes the creation of RAW_PACKET queue pairs fail with this errno (EOPNOTSUPP: not supported, EPERM: no CAP_NET_RAW).
 * 0 ends it.
 */
int softverbs_set_raw_packet_error(const char *device_name, int error);

enum softverbs_call {
    SOFTVERBS_CALL_OPEN_DEVICE,
    SOFTVERBS_CALL_QUERY_DEVICE,
    SOFTVERBS_CALL_QUERY_PORT,
    SOFTVERBS_CALL_ALLOC_PD,
    SOFTVERBS_CALL_REG_MR,
    SOFTVERBS_CALL_CREATE_COMP_CHANNEL,
    SOFTVERBS_CALL_CREATE_CQ,
    SOFTVERBS_CALL_RESIZE_CQ,
    SOFTVERBS_CALL_REQ_NOTIFY_CQ,
    SOFTVERBS_CALL_CREATE_QP,
    SOFTVERBS_CALL_MODIFY_QP,
    SOFTVERBS_CALL_QUERY_QP,
    SOFTVERBS_CALL_DESTROY_QP,
    SOFTVERBS_CALL_CREATE_WQ,
    SOFTVERBS_CALL_MODIFY_WQ,
    SOFTVERBS_CALL_CREATE_IND_TABLE,
    SOFTVERBS_CALL_CREATE_FLOW,
    SOFTVERBS_CALL_DESTROY_FLOW,
    SOFTVERBS_CALL_COUNT,
};

/* Makes the next `calls` calls of this kind on the device fail with this errno. */
int softverbs_fail_next_call(const char *device_name, enum softverbs_call call, int error, unsigned calls);

#ifdef __cplusplus
}
#endif

#endif
