/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_BROKER_H
#define SV_BROKER_H

#include "flow.h"
#include "steering.h"

#include <net/if.h>

/*
 * A device of a process without capabilities. SOFTVERBS_BROKER in the environment names the socket of rdma-raw-broker,
 * a program with capabilities, whose policy says which user may open which interface and steer which ports. It makes
 * the sockets, maps and programs, sends their descriptors and closes its own, so that they end with the process. What
 * it keeps are the maps of the rules, which only it may change: each change is a request.
 *
 * The protocol: SOCK_SEQPACKET, one struct sv_broker_request per message, one struct sv_broker_reply for each, in order.
 * All numbers are in the host's byte order, as both ends are on one machine. An open device is a connection. When the
 * broker has ended, what is open goes on with the rules that it has.
 */
enum { SV_BROKER_VERSION = 2, SV_BROKER_TEXT_BYTES = 192, SV_BROKER_MAX_INSTRUCTIONS = 4096 };

enum sv_broker_call {
    SV_BROKER_OPEN,         /* an interface; the reply has descriptors */
    SV_BROKER_ADD_RULE,
    SV_BROKER_REMOVE_RULE,
    SV_BROKER_MAC,          /* the interface's MAC address has changed */
    SV_BROKER_FILTER,       /* puts a classic BPF program, which follows the request, on the TCP socket sent with it */
    SV_BROKER_SOLICIT,      /* has the kernel resolve a next hop */
    SV_BROKER_CALLS
};

enum sv_broker_mode { SV_BROKER_GENERIC, SV_BROKER_NATIVE, SV_BROKER_MODES };

struct sv_broker_open {
    char netdev[IFNAMSIZ];
    uint32_t mode;
    uint32_t mtu;
    uint32_t queues;        /* for which it wants sockets */
};

struct sv_broker_rule {
    uint32_t type;          /* enum ibv_flow_attr_type */
    uint32_t priority;
    uint32_t multicast;
    uint32_t continues;
    union sv_key mask;
    union sv_key value;
};

struct sv_broker_filter {
    uint32_t instructions;
};

struct sv_broker_solicit {
    uint32_t ifindex;
    uint32_t family;        /* AF_INET or AF_INET6 */
    uint8_t address[16];
};

struct sv_broker_request {
    uint32_t version;
    uint32_t call;
    union {
        struct sv_broker_open open;
        struct sv_broker_rule rule;
        struct sv_broker_filter filter;
        struct sv_broker_solicit solicit;
    };
};

struct sv_broker_reply {
    uint32_t version;
    int32_t error;          /* 0 or an errno */
    uint32_t ifindex;
    uint32_t queues;        /* that have sockets in this message */
    uint64_t namespace;     /* the broker's network namespace: SO_NETNS_COOKIE */
    char text[SV_BROKER_TEXT_BYTES];    /* the reason for an error: one sentence, which ends with a zero */
};

_Static_assert(sizeof(struct sv_broker_request) == 312, "as the Java side has it");
_Static_assert(sizeof(struct sv_broker_reply) == 216, "as the Java side has it");

/* The order of the descriptors: the link, the shared maps, then two sockets for each queue. */
enum {
    SV_BROKER_LINK,
    SV_BROKER_MAPS,
    SV_BROKER_SOCKETS = SV_BROKER_MAPS + SV_STEERING_SHARED_MAPS,
    SV_BROKER_MAX_FDS = SV_BROKER_SOCKETS + SV_STEER_SOCKETS * SV_STEER_MAX_QUEUES,
};

_Static_assert(SV_BROKER_MAX_FDS <= 253, "SCM_MAX_FD of the kernel: one message takes no more");

/* ---- broker_client.c: the process's side ---- */

struct sv_broker;

/* Whether the environment names a broker. */
bool sv_broker_is_named(void);

/*
 * Connects, and asks for an interface. Returns 0 or an errno with an explanation. On success the caller owns the
 * descriptors of `fds`; of the sockets there are as many as `queues` says.
 */
int sv_broker_open(struct sv_broker **broker, const struct sv_broker_open *wanted, int ifindex,
                   int fds[SV_BROKER_MAX_FDS], uint32_t *queues);
/* The rest is for one thread at a time. Each waits for the broker, and not for long. */
int sv_broker_add_rule(struct sv_broker *broker, const struct sv_rule_spec *spec);
void sv_broker_remove_rule(struct sv_broker *broker, const struct sv_rule_spec *spec);
void sv_broker_mac_changed(struct sv_broker *broker);
void sv_broker_close(struct sv_broker *broker);

#endif
