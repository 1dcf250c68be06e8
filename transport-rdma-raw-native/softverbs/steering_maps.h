/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_STEERING_MAPS_H
#define SV_STEERING_MAPS_H

/*
 * What the library and the eBPF programs share: flow rules as tuple space, in the layout of union sv_key (flow.h).
 * Included by both, so it knows only the compiler's own types.
 *
 * The directory is written by the library straight into the mapped array. It has two halves; the library fills the one
 * that is not in use and then publishes it by the sequence number, whose lowest bit names the half. Before it fills one it
 * says for which number: a program that finds after its search that this is two ahead of its own has perhaps read a half
 * that was being rewritten, and leaves the frame to the kernel.
 */

enum {
    SV_STEER_KEY_WORDS = 18,
    SV_STEER_PLAIN_WORDS = 8,       /* those that rules without a tunnel look at: hashing a key costs by its length */
    SV_STEER_MAX_SHAPES = 128,
    SV_STEER_MAX_RULES = 65536,
    SV_STEER_MAX_QUEUES = 64,
    SV_STEER_SOCKETS = 2,           /* of each receive queue, side by side: for SYNs, and before it for the rest */
    SV_STEER_WANTS_INNER = 1,       /* some rule looks behind VXLAN */
    SV_STEER_ALL_DEFAULT = 2,
    SV_STEER_MULTICAST_DEFAULT = 4,
    SV_STEER_SNIFFER = 8,
    SV_STEER_RECENT = 256,          /* a power of two */
    SV_STEER_HEAD_WORDS = 5,        /* Ethernet, IPv4 without options, ports: 38 bytes */
    SV_STEER_HEAD_BYTES = 54,       /* with a TCP header whole */
};

/*
 * SYNs of the last minutes, each at a place that follows from its hash: a mark, which is the hash's upper bits, and when
 * it came. Who means it and got no answer sends the same again after a second, and then later still; a flood of ever
 * other SYNs does not, and one that repeats its own does so sooner. Newer ones take the places of older ones: with half a
 * million of them in a second three of five are still known when it is over.
 */
enum {
    SV_STEER_SYNS = 1 << 20,
    SV_STEER_SYN_AGES = 0xfff,      /* the bits of the time; the rest is the mark */
    SV_STEER_SYN_AGE_SHIFT = 27,    /* of nanoseconds: units of 0.13 s */
    SV_STEER_SYN_LEAST_AGE = 6,
    SV_STEER_SYN_LAST_AGE = 64,
    SV_STEER_SYN_WINDOW_SHIFT = 20, /* of nanoseconds: in each such millisecond */
    SV_STEER_SYNS_PER_WINDOW = 8,   /* so many are taken for repeated at most, and of others while these are limited; */
                                    /* on each core */
};

/*
 * Marks of connections (connections.h): a hash's upper bits, and the second that it was last written in. Many share a
 * place, which is a line of the cache; a new one takes that of the oldest.
 */
enum {
    SV_STEER_MARKS = 16,
    SV_STEER_MARK_TIMES = 0x3ff,
    SV_STEER_MARK_TIME_SHIFT = 30,          /* of nanoseconds: units of 1.07 s */
    SV_STEER_KNOWN_PLACES = 1 << 16,        /* a million connections and own ends */
    SV_STEER_OPENING_PLACES = 1 << 15,      /* a quarter of a million: each has two marks */
    SV_STEER_OPENING_LAST_AGE = 8,
    SV_STEER_OPENING_PER_WINDOW = 64,       /* so many segments of connections that are being opened, in each window */
                                            /* of a millisecond and on each core, while strangers are limited; */
    SV_STEER_STRANGER_WINDOWS = 16,         /* and one of a stranger in each so many windows: to answer is work; */
    SV_STEER_STRANGERS_FLOOD = 64,          /* with so many in one window they are limited for another second */
    SV_STEER_LIMITED_NANOS = 1000000000,
    SV_STEER_ENDPOINT = 1,                  /* tells our own end's hash from one of a connection, */
    SV_STEER_PROOF = 2,                     /* and this the hash of what proves that there is one */
};

struct sv_steer_marks {
    unsigned int mark[SV_STEER_MARKS];
};

/* struct sv_headers, word by word. */
struct sv_steer_headers {
    unsigned char dst_mac[6];
    unsigned short ether_type;
    unsigned char src_mac[6];
    unsigned short vlan_tag;
    unsigned char src_ip[16];
    unsigned char dst_ip[16];
    unsigned short src_port;
    unsigned short dst_port;
    unsigned char protocol;
    unsigned char traffic_class;
    unsigned char hop_limit;
    unsigned char ip_flags;
    unsigned int flow_label;
    unsigned short vlan_ether_type;
    unsigned short layers;
    unsigned int vni;
    unsigned int reserved;
};

struct sv_steer_shape {
    unsigned long long mask[SV_STEER_KEY_WORDS];
    unsigned long long id;          /* never used twice: a stale directory finds no rules of a new shape */
    unsigned int deep;              /* the mask goes beyond the plain words */
    unsigned int reserved;
};

struct sv_steer_half {
    unsigned int shapes;
    unsigned int flags;
    unsigned char mac[8];           /* the interface's own */
    unsigned long long seen[SV_STEER_PLAIN_WORDS];      /* what of a plain frame the verdict depends on */
    unsigned long long head[SV_STEER_HEAD_WORDS];       /* the same as bits of an ordinary frame, see below */
    struct sv_steer_shape shape[SV_STEER_MAX_SHAPES];   /* lowest priority number first */
};

struct sv_steer_directory {
    unsigned int sequence;
    unsigned int generation;        /* grows after each change of any rule */
    unsigned int filling;           /* the sequence number for which a half is filled, or was last */
    unsigned int loads_reorder;     /* nonzero: this processor may turn loads around, so programs need barriers */
    unsigned long long secret;      /* makes hashes unknown to who sends */
    unsigned long long syns_limited_until_nanos;    /* of the monotonic clock */
    unsigned long long syns_dropped;                /* because they were limited */
    unsigned long long strangers_limited_until_nanos;   /* 0: they are not */
    unsigned long long strangers_dropped;
    unsigned long long redirect_to;                 /* the interface of our own, where there is one */
    unsigned int queues;                            /* receive queues that have sockets: the first so many */
    unsigned int longest_syn;                       /* bytes; longer ones are no connection's beginning */
    unsigned long long syns_too_long;               /* dropped */
    unsigned long long unserved;                    /* ours, but of another receive queue: the kernel got them */
    struct sv_steer_half half[2];
};

/*
 * Verdicts found lately, for each core, at a place that follows from the headers. They are good for one generation, so
 * whoever changes rules has changed them before the generation grows.
 */
struct sv_steer_recent {
    unsigned long long words[SV_STEER_PLAIN_WORDS];
    unsigned int generation;
    unsigned int verdict;
};

/*
 * The same for ordinary frames, which are most: IPv4 without a tag, options or fragments, with TCP or UDP. Their first
 * words tell such a frame and its verdict without being parsed, as half->head has the bits that make it one.
 */
struct sv_steer_head {
    unsigned long long words[SV_STEER_HEAD_WORDS];
    unsigned int generation;
    unsigned int verdict;
};

/* Keys of the plain rules end behind the plain words. */
struct sv_steer_rule_key {
    unsigned long long shape_id;
    unsigned long long words[SV_STEER_KEY_WORDS];
};

/* How many rules with this match take the frame, and how many only want a copy (DONT_TRAP). */
struct sv_steer_rule {
    unsigned int takers;
    unsigned int copies;
};

/* Where a program works: more than its stack holds. */
struct sv_steer_scratch {
    struct sv_steer_headers outer;
    struct sv_steer_headers inner;
    struct sv_steer_rule_key probe;
    unsigned long long copies;      /* nonzero: a rule that matched wants one */
    unsigned long long seen[SV_STEER_PLAIN_WORDS];
    unsigned long long head[SV_STEER_HEAD_WORDS];
    unsigned int seen_index;
    unsigned int head_index;
    unsigned int is_ordinary;
    unsigned int syn_window;
    unsigned int syns_again;        /* in that window */
    unsigned int syns_first;
    unsigned int opening;
    unsigned int strangers;
    unsigned long long barrier;     /* of nobody else: what atomic operations are done on for their order */
};

/* The maps, in the order in which bpf/build.py numbers them. */
enum {
    SV_MAP_DIRECTORY,
    SV_MAP_RULES,
    SV_MAP_DEEP_RULES,
    SV_MAP_SCRATCH,
    SV_MAP_SOCKETS,
    SV_MAP_RECENT,
    SV_MAP_HEADS,
    SV_MAP_SYNS,
    SV_MAP_KNOWN,
    SV_MAP_OPENING,
    SV_MAP_PROGRAMS,
    SV_MAP_COUNT
};

#endif
