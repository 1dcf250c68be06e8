/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOFTVERBS_H
#define SOFTVERBS_H

/*
 * Functions of softverbs beyond libibverbs: devices by name, counters, and faults for tests.
 *
 * Functions return 0 or an errno value. All are safe to call from any thread.
 */

#include <infiniband/verbs.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Adds a device to what ibv_get_device_list() returns from now on:
 *   loop:<name>         in memory, within the process (at most 63 characters in all)
 *   xdp:<interface>     a network interface through AF_XDP
 *   packet:<interface>  a network interface through AF_PACKET
 * The device "loop" is always there, and those named in the environment variable SOFTVERBS_DEVICES (separated by
 * commas). A device on an interface is listed while the calling thread's network namespace has that interface.
 * EEXIST when there is one of that name, EINVAL when the name names nothing that this library drives.
 */
int softverbs_add_device(const char *name);

/* The version of the project that the library was built of, such as "1.2.3". "unknown": its sources were built alone. */
const char *softverbs_version(void);

/* The reason of the last failure of ibv_open_device() on this device, as a sentence, or "" if the errno says it all. */
const char *softverbs_open_error(const struct ibv_device *device);

/*
 * How an open device runs and why, as a sentence for users: the mode of AF_XDP. "" where there is nothing to choose. Valid
 * until the context is closed.
 */
const char *softverbs_mode(struct ibv_context *context);

/*
 * What the kernel and the driver tell of a network interface (generic netlink, family "netdev"). The masks have the bits
 * of linux/netdev.h: enum netdev_xdp_act, netdev_xdp_rx_metadata, netdev_xsk_flags.
 */
struct softverbs_interface {
    char driver[32];            /* as ethtool has it, "" if there is none */
    uint64_t xdp_features;
    uint64_t xdp_rx_metadata;
    uint64_t xsk_features;
    uint32_t zero_copy_segments;    /* chunks of a frame in zero copy; 1: one, 0: not told */
    uint32_t receive_queues;    /* 0: the kernel does not tell (before Linux 6.8) */
    uint32_t queues_with_napi;  /* of these: those whose NAPI instance the driver tells */
    uint32_t left_deferring;    /* NAPI instances whose interrupts a killed process has left deferred */
    uint32_t told;              /* 0: the kernel tells none of it but the driver (before Linux 6.3) */
    uint32_t napi_by_frame;     /* 1: in a mode of the driver a socket learns its NAPI instance from a frame (before 6.13) */
};

/* ENODEV when there is no such interface in the calling thread's network namespace. Needs no permission. */
int softverbs_query_interface(const char *netdev, struct softverbs_interface *interface);

/* The counters of one queue: frames and bytes that went through, then drops by reason. */
struct softverbs_queue_counters {
    uint64_t frames;
    uint64_t bytes;
    uint64_t no_match;          /* sent: no rule matched */
    uint64_t dropped_by_rule;   /* sent: a DROP rule took it */
    uint64_t blocked_self;      /* sent: own multicast, withheld (BLOCK_SELF_MCAST_LB) */
    uint64_t port_down;         /* sent: while the port was down */
    uint64_t too_many_copies;   /* sent: copies beyond what one frame may have */
    uint64_t no_receive;        /* received: no receive was posted (RNR) */
    uint64_t not_ready;         /* received: the queue was not in a state to receive, or was reset before a poll */
    uint64_t length_errors;     /* frame above the MTU when sending, buffer too small when receiving */
    uint64_t protection_errors; /* a scatter or gather element outside its memory region */
    uint64_t flushed;           /* work requests completed with WR_FLUSH_ERR */
    uint64_t injected_errors;   /* completions failed by softverbs_fail_next_completion() and its like */
    uint64_t cq_overruns;       /* completions lost because the completion queue was full */
    uint64_t wire_full;         /* sent: the interface took no more; received: its ring was full (a device's counter) */
    uint64_t copied;            /* frames copied between registered memory and the interface's rings */
    uint64_t syns_full;         /* received: SYNs dropped under overload (a device's counter) */
    uint64_t unsolicited_full;  /* received: unsolicited TCP segments dropped under overload (a device's counter) */
    uint64_t unserved;          /* received on a queue of the interface without a socket: the kernel's (a device's) */
    /* Received from senders on the same host, which leave work to hardware that is not there (a device's counters): */
    uint64_t partial_checksums; /* checksums that the sender had left out, computed here */
    uint64_t super_frames;      /* frames beyond the MTU that were cut; sent: large sends that left as one packet */
    uint64_t cut_frames;        /* what they were cut into; sent: how many segments they are */
    uint64_t super_flags;       /* dropped: TCP beyond the MTU with SYN, RST or URG */
    uint64_t super_unsound;     /* dropped: its headers or the kernel's word contradict its length, or a wrong checksum */
    uint64_t super_too_long;    /* dropped: beyond 64 KB ("BIG TCP") */
    uint64_t super_datagrams;   /* UDP of several datagrams, of unknown lengths: the kernel's */
    uint64_t whole_frames;      /* TCP frames beyond the MTU that were received whole (softverbs_receive_whole()) */
};

/* A device's counters since it was first opened: the sum over all its queues, living and gone. */
struct softverbs_counters {
    struct softverbs_queue_counters sent;
    struct softverbs_queue_counters received;
    uint64_t flow_rules;        /* in force now */
    uint64_t registered_bytes;  /* now */
    uint64_t kernel_visible_rules;  /* in force now: rules of a packet device for which the kernel may answer too */
};

int softverbs_query_counters(struct ibv_context *context, struct softverbs_counters *counters);
/* Either pointer may be NULL. */
int softverbs_query_qp_counters(struct ibv_qp *qp, struct softverbs_queue_counters *sent,
                                struct softverbs_queue_counters *received);
int softverbs_query_wq_counters(struct ibv_wq *wq, struct softverbs_queue_counters *received);

/* The MTU, 68..9000, at first 1500. A frame may be 14 bytes longer, or 18 with an 802.1Q tag. */
int softverbs_set_mtu(struct ibv_context *context, uint32_t mtu);
int softverbs_get_mtu(struct ibv_context *context, uint32_t *mtu);
/* The device's own MAC address. */
int softverbs_get_mac(struct ibv_context *context, uint8_t mac[6]);

/*
 * ---- TCP frames beyond the MTU, whole ----
 *
 * A sender on the same host may hand over many TCP segments as one frame of up to 64 KB. The device cuts it into frames
 * of at most the MTU, unless the program is ready for all of it. Then it comes as one receive, whose completion has
 * IBV_WC_IP_CSUM_OK also for IPv6: its checksum is good, or was left out by a sender that has it in memory. Its
 * checksum field must not be looked at. The program is ready when
 *   - it gives a queue pair, or a work queue that RSS leads to, another work queue for such frames (`large`), and posts
 *     receives there whose first element is long enough. They complete as all others do, with the flow tag;
 *   - one rule alone takes the frame, and has the flag SOFTVERBS_FLOW_WHOLE;
 *   - the frame fills at least half of the next receive.
 */

/* In ibv_flow_attr.flags, of a rule whose receiver understands frames beyond the MTU. */
#define SOFTVERBS_FLOW_WHOLE (1u << 31)

/* The longest frame that can come whole; 0: the device gets none beyond the MTU, or SOFTVERBS_WHOLE_FRAMES is "off". */
int softverbs_get_whole_bytes(struct ibv_context *context, uint32_t *bytes);
/*
 * The queue for frames that come whole, which cannot be destroyed as long as it is one; NULL: there is none. The two
 * complete in the same completion queue (EINVAL), which keeps their frames in order.
 */
int softverbs_receive_whole(struct ibv_qp *qp, struct ibv_wq *large);
int softverbs_receive_whole_wq(struct ibv_wq *wq, struct ibv_wq *large);

/*
 * Writes a device register with one store, after all earlier writes to memory and before all later ones. For programs
 * that drive rings themselves and lack such barriers, as Java does on aarch64.
 */
void softverbs_write_register(void *address, uint64_t value);
/* The same with the bytes of a request, a multiple of eight, aligned to eight: BlueFlame of mlx5. */
void softverbs_write_request(void *address, const void *request, uint32_t bytes);
/* Writes a doorbell record, big-endian, after all earlier reads and writes of memory. */
void softverbs_write_record(void *address, uint32_t value);

/* ---- faults, for tests ---- */

/* Takes the port down or up: IBV_EVENT_PORT_ERR or IBV_EVENT_PORT_ACTIVE, and frames sent while it is down are lost. */
int softverbs_set_port_up(struct ibv_context *context, int up);
/* The device dies: IBV_EVENT_DEVICE_FATAL, all queues to ERR, control calls give EIO until it is repaired. */
int softverbs_fail_device(struct ibv_context *context);
int softverbs_repair_device(struct ibv_context *context);
/*
 * The next send (receive != 0: receive) of the queue pair completes with this status, and the queue pair goes to
 * ERR.
 */
int softverbs_fail_next_completion(struct ibv_qp *qp, int receive, enum ibv_wc_status status);
/* The same of each queue on the device that softverbs_receive_whole() has named: its next receive of a whole frame. */
int softverbs_fail_next_whole(const char *device_name, enum ibv_wc_status status);
/*
 * The completion queue takes no more, as if it had overrun: IBV_EVENT_CQ_ERR; the next completion is lost and brings
 * its queue pair to ERR. It works again when a queue pair or work queue that completes to it has been reset.
 */
int softverbs_overrun_cq(struct ibv_cq *cq);
/* ibv_reg_mr() gives ENOMEM when the registered bytes would exceed this. UINT64_MAX: no limit. */
int softverbs_set_memlock_limit(const char *device_name, uint64_t bytes);
/* ibv_create_flow() gives ENOMEM when there are this many rules. UINT32_MAX: no limit. */
int softverbs_set_flow_capacity(const char *device_name, uint32_t rules);
/*
 * Creating a RAW_PACKET queue pair fails with this errno (EOPNOTSUPP: none such, EPERM: no CAP_NET_RAW); 0: it
 * works.
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

/* The next `calls` calls of this kind on the device fail with this errno. */
int softverbs_fail_next_call(const char *device_name, enum softverbs_call call, int error, unsigned calls);

#ifdef __cplusplus
}
#endif

#endif
