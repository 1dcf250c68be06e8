/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_BROKER_H
#define SV_BROKER_H

#include "flow.h"
#include "kernel_steering.h"

#include <net/if.h>
#include <stddef.h>

/*
 * A device of a process without capabilities. SOFTVERBS_BROKER in the environment names the socket of rdma-raw-broker,
 * a program with capabilities. Its policy grants interfaces and ports to users. The broker creates the sockets with
 * their memory and rings, the maps and the programs. It sends descriptors of them to the process, except those of the
 * programs and of the maps of the rules. Only the broker can change these maps: each change is a request.
 *
 * The broker closes its own descriptors of the sockets and of the link, so that these end with the process. It keeps
 * that of the memory until the device is closed, and those of the maps and programs for the next device (programs.h).
 *
 * The sockets are already bound, so the process cannot change ring sizes or zero copy. It maps rings and memory.
 *
 * Protocol: SOCK_SEQPACKET. Each message is one struct sv_broker_request, answered in order by one struct
 * sv_broker_reply with the sequence number of its request. All numbers are in the host's byte order, because both ends
 * are on one machine. Each open device has a separate connection.
 *
 * When the broker ends, open devices keep their rules. The client resumes a device at the next broker, on a new
 * connection: SV_BROKER_RESUME passes the descriptors that the client holds, and the broker creates new maps of rules
 * and programs. SV_BROKER_ADD_RULE adds each rule again, within the policy. SV_BROKER_COMMIT replaces the program on
 * the interface. Until then the program of the previous broker runs with its rules.
 *
 * In all versions a request begins with the version and the call. A reply begins with the version, the error and, in
 * its first SV_BROKER_COMMON_REPLY_BYTES bytes, the text. The broker answers a request of another version with that
 * version and an error.
 */
enum { SV_BROKER_VERSION = 4, SV_BROKER_TEXT_BYTES = 192, SV_BROKER_COMMON_REPLY_BYTES = 216,
       SV_BROKER_MAX_INSTRUCTIONS = 4096 };

enum sv_broker_call {
    SV_BROKER_OPEN,         /* opens an interface; the reply has descriptors */
    SV_BROKER_ADD_RULE,
    SV_BROKER_REMOVE_RULE,
    SV_BROKER_MAC_CHANGED,  /* reports that the interface's MAC address has changed */
    SV_BROKER_ATTACH_FILTER, /* attaches a classic BPF program, which follows the request, to the passed TCP socket */
    SV_BROKER_SOLICIT,      /* makes the kernel resolve a next hop */
    SV_BROKER_RESUME,       /* resumes a device of an ended broker, see below; the reply has one descriptor */
    SV_BROKER_COMMIT,       /* replaces the program of the resumed device */
    SV_BROKER_CALL_COUNT
};

enum sv_broker_mode {
    SV_BROKER_MODE_GENERIC,
    SV_BROKER_MODE_NATIVE,
    SV_BROKER_MODE_ZERO_COPY, /* the card writes all frames of the interface to the process's memory */
    SV_BROKER_MODE_COUNT
};

struct sv_broker_open {
    char netdev[IFNAMSIZ];
    uint32_t mode;
    uint32_t mtu;
    uint32_t multi_buffer;  /* nonzero: frames beyond the MTU may arrive, in several chunks */
};

struct sv_broker_rule {
    uint32_t type;          /* enum ibv_flow_attr_type */
    uint32_t priority;
    uint32_t multicast;
    uint32_t dont_trap;
    union sv_key mask;
    union sv_key value;
};

struct sv_broker_filter {
    uint32_t instruction_count;
};

struct sv_broker_solicit {
    uint32_t ifindex;
    uint32_t family;        /* AF_INET or AF_INET6 */
    uint8_t address[16];
};

struct sv_broker_resume {
    struct sv_broker_open open; /* as when the device was opened */
    uint32_t queue_count;
};

struct sv_broker_request {
    uint32_t version;
    uint32_t call;
    uint32_t sequence;
    uint32_t reserved;
    union {
        struct sv_broker_open open;
        struct sv_broker_rule rule;
        struct sv_broker_filter filter;
        struct sv_broker_solicit solicit;
        struct sv_broker_resume resume;
    };
};

/*
 * The rings and the memory of the queues. The chunks of queue i begin at i * queue_bytes. First come the receive
 * chunks, one for each entry of the fill ring, then the send chunks, half as many, one for each entry of the send
 * rings. The main receive ring has the number of receive chunks divided by main_divisor, the ring for SYNs divided by
 * syn_divisor.
 */
struct sv_broker_layout {
    uint32_t queue_count;
    uint32_t queue_bytes;
    uint32_t chunk_bytes;
    uint32_t stride_bytes;  /* distance between chunks */
    uint32_t multi_buffer;
    uint16_t main_divisor;
    uint16_t syn_divisor;
    uint16_t receive_chunks[SV_BPF_MAX_QUEUES];
};

struct sv_broker_reply {
    uint32_t version;
    int32_t error;          /* 0 or an errno */
    uint32_t ifindex;
    uint32_t sequence;      /* that of the request */
    uint64_t netns_cookie;  /* the broker's network namespace: SO_NETNS_COOKIE */
    char text[SV_BROKER_TEXT_BYTES];    /* reason for an error: one sentence, zero-terminated */
    struct sv_broker_layout layout;     /* of the queues with sockets in this message */
};

_Static_assert(sizeof(struct sv_broker_request) == 320, "as the Java side has it");
_Static_assert(sizeof(struct sv_broker_reply) == 368, "as the Java side has it");
_Static_assert(offsetof(struct sv_broker_reply, layout) == SV_BROKER_COMMON_REPLY_BYTES, "as all versions have it");

/* The order of the descriptors: the link, the client's maps, the memory (memfd_create(2)), two sockets per queue. */
enum {
    SV_BROKER_FD_XDP_LINK,
    SV_BROKER_FD_MAPS,
    SV_BROKER_FD_MEMORY = SV_BROKER_FD_MAPS + SV_CLIENT_MAP_COUNT,
    SV_BROKER_FD_SOCKETS,
    SV_BROKER_MAX_FDS = SV_BROKER_FD_SOCKETS + SV_BPF_SOCKETS_PER_QUEUE * SV_BPF_MAX_QUEUES,
};

_Static_assert(SV_BROKER_MAX_FDS <= 253, "SCM_MAX_FD of the kernel: one message takes no more");

/*
 * The order of the descriptors of SV_BROKER_RESUME: the link, the maps of traffic and connections, two sockets per
 * queue. The reply has the new map of programs, which the client holds instead of the old one.
 */
enum {
    SV_BROKER_RESUME_LINK,
    SV_BROKER_RESUME_MAPS,
    SV_BROKER_RESUME_SOCKETS = SV_BROKER_RESUME_MAPS + SV_TRAFFIC_MAP_COUNT,
    SV_BROKER_RESUME_MAX_FDS = SV_BROKER_RESUME_SOCKETS + SV_BPF_SOCKETS_PER_QUEUE * SV_BPF_MAX_QUEUES,
};

/* ---- broker_client.c, broker_open.c, broker_device.c: the process's side ---- */

struct sv_broker;

/* Returns true if the environment names a broker. */
bool sv_broker_is_configured(void);

/*
 * Connects to the broker and requests an interface. Returns 0 or an errno with an explanation. On success the caller
 * owns the descriptors in `fds`; the layout gives the number of sockets. The caller keeps all of them open, except the
 * memory, while it calls the functions below. Resuming replaces the map of programs behind its descriptor.
 * This function waits up to 20 s for the answer, because the broker may have to load programs.
 */
int sv_broker_open(struct sv_broker **broker, const struct sv_broker_open *wanted, int ifindex,
                   int fds[SV_BROKER_MAX_FDS], struct sv_broker_layout *layout);
/*
 * Forgets the sockets of all but the first queues, which the caller has closed. They are not passed when the device is
 * resumed.
 */
void sv_broker_keep_queues(struct sv_broker *broker, uint32_t queue_count);
/*
 * One thread at a time may call the following functions. Each waits for the broker, up to 5 s for each request. If a
 * request is not answered in this time, the following calls do not wait until the broker answers it: additions fail,
 * removals are sent later.
 *
 * If the broker has ended, adding a rule first resumes the device at its successor, with a request for each rule. This
 * takes 10 s at most. If the successor does not answer in time, the attempt stays open: the following additions fail at
 * once until the answer is there, and then continue. After a failed attempt the next one waits for 1 s to 2 s, at
 * random. Each attempt at a busy broker doubles this time, up to 16 s to 32 s, because after a restart many processes
 * resume at once.
 *
 * Removing a rule never resumes the device. If the broker has ended or does not answer, the removed rule is stale: the
 * program still steers its frames to this process, which drops them. The kernel may give the port to another socket,
 * which then does not receive these frames. The next addition resumes the device without the rule. A late broker
 * removes the rule when it executes the request. If too many requests are unanswered, this one is sent after them, with
 * the first call after the broker's answer.
 */

/*
 * Sets the function that adds the device's rules again with sv_broker_add_rule_again(), except the rule that is being
 * added. It returns the first error. Without it the device has no rules when it is resumed.
 */
void sv_broker_set_rules(struct sv_broker *broker, int (*add_again)(struct sv_broker *broker, void *context),
                         void *context);
int sv_broker_add_rule_again(struct sv_broker *broker, const struct sv_rule_spec *spec);
int sv_broker_add_rule(struct sv_broker *broker, const struct sv_rule_spec *spec);
void sv_broker_remove_rule(struct sv_broker *broker, const struct sv_rule_spec *spec);
/* Any thread may call this. Returns the number of stale rules, including those of which the broker may know. */
uint32_t sv_broker_stale_rules(const struct sv_broker *broker);
/* Returns false if the report is lost because memory is missing. Call it again then. */
bool sv_broker_report_mac_change(struct sv_broker *broker);
void sv_broker_close(struct sv_broker *broker);

#endif
