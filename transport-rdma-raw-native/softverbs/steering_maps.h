/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_STEERING_MAPS_H
#define SV_STEERING_MAPS_H

/*
 * The maps that the library and the eBPF programs share: flow rules as tuple space, in the layout of union sv_key
 * (flow.h). Both include this file, so it uses only the compiler's own types.
 *
 * The library writes the directory straight into the mapped array. The directory has two halves. The library fills the
 * half that is not in use and publishes it by the sequence number, whose lowest bit selects the half. Before it fills a
 * half it writes the new number to `filling`. A program that finds `filling` two ahead of its own number after its
 * search may have read a half that was being rewritten, and leaves the frame to the kernel.
 */

enum {
    SV_STEER_KEY_WORDS = 18,
    SV_STEER_PLAIN_WORDS = 8,       /* the words that rules without a tunnel match: shorter keys hash faster */
    SV_STEER_MAX_SHAPES = 128,
    SV_STEER_MAX_RULES = 65536,
    SV_STEER_MAX_QUEUES = 64,
    SV_STEER_SOCKETS = 2,           /* per receive queue, side by side: the main one, then the one for SYNs */
    SV_STEER_WANTS_INNER = 1,       /* a rule matches headers inside VXLAN */
    SV_STEER_ALL_DEFAULT = 2,
    SV_STEER_MULTICAST_DEFAULT = 4,
    SV_STEER_SNIFFER = 8,
    SV_STEER_RECENT = 256,          /* a power of two */
    SV_STEER_HEAD_WORDS = 5,        /* Ethernet, IPv4 without options, ports: 38 bytes */
    SV_STEER_HEAD_BYTES = 54,       /* with a whole TCP header */
};

/*
 * The SYNs of the last minutes. Each is stored at an index derived from its hash, as a mark (the hash's upper bits) and
 * its time. A genuine client that gets no answer repeats its SYN after a second, then later still. A flood of changing
 * SYNs does not, and one that repeats its SYNs does so sooner. Newer entries replace older ones: after half a million
 * SYNs within a second, three of five are still stored.
 */
enum {
    SV_STEER_SYNS = 1 << 20,
    SV_STEER_SYN_AGES = 0xfff,      /* the bits of the time; the others are the mark */
    SV_STEER_SYN_AGE_SHIFT = 27,    /* of nanoseconds: units of 0.13 s */
    SV_STEER_SYN_LEAST_AGE = 6,
    SV_STEER_SYN_LAST_AGE = 64,
    SV_STEER_SYN_WINDOW_SHIFT = 20, /* of nanoseconds: windows of a millisecond */
    SV_STEER_SYNS_PER_WINDOW = 8,   /* limit per core of retransmissions, and, while SYNs are limited, of others */
};

/*
 * Marks of connections (connections.h): a hash's upper bits and the second of the last write. A bucket is a cache line
 * of marks; a new mark replaces the oldest of its bucket.
 */
enum {
    SV_STEER_MARKS = 16,
    SV_STEER_MARK_TIMES = 0x3ff,
    SV_STEER_MARK_TIME_SHIFT = 30,          /* of nanoseconds: units of 1.07 s */
    SV_STEER_KNOWN_BUCKETS = 1 << 16,       /* a million connections and local endpoints */
    SV_STEER_OPENING_BUCKETS = 1 << 15,     /* a quarter of a million connections: each has two marks */
    SV_STEER_OPENING_LAST_AGE = 8,
    /* Limits while unsolicited segments are limited, per core: */
    SV_STEER_OPENING_PER_WINDOW = 64,       /* segments of opening connections in each window */
    SV_STEER_UNSOLICITED_WINDOWS = 16,      /* one unsolicited segment in each 16 windows: each costs an answer */
    SV_STEER_UNSOLICITED_FLOOD = 64,        /* so many in one window extend the limit by a second */
    SV_STEER_LIMITED_NANOS = 1000000000,
    SV_STEER_ENDPOINT = 1,                  /* separates hashes of local endpoints from those of connections */
    SV_STEER_PROOF = 2,                     /* likewise hashes of acknowledgments that prove a connection */
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
    unsigned long long seen[SV_STEER_PLAIN_WORDS];      /* the bits of a plain key that the verdict depends on */
    unsigned long long head[SV_STEER_HEAD_WORDS];       /* the same bits in an ordinary frame, see below */
    struct sv_steer_shape shape[SV_STEER_MAX_SHAPES];   /* lowest priority number first */
};

struct sv_steer_directory {
    unsigned int sequence;          /* aligned to 8 bytes: programs read it at once with the generation */
    unsigned int generation;        /* grows after each change of any rule */
    unsigned int filling;           /* the sequence number for which a half is filled, or was last */
    unsigned int loads_reorder;     /* nonzero: the processor may reorder loads, so programs need barriers */
    unsigned long long redirect_to; /* index of the TAP interface, where there is one */
    struct sv_steer_half half[2];
};

/*
 * What decides which of the frames that rules take are admitted, and what was counted. It says nothing about which
 * frames rules take: a process whose rules a broker checks (broker.h) writes here, and not to the directory.
 */
struct sv_steer_traffic {
    unsigned long long secret;      /* makes hashes unpredictable for senders */
    unsigned long long syns_limited_until_nanos;    /* CLOCK_MONOTONIC */
    unsigned long long syns_dropped;                /* while SYNs were limited */
    unsigned long long unsolicited_limited_until_nanos; /* 0: not limited */
    unsigned long long unsolicited_dropped;
    unsigned int queues;                            /* number of receive queues with sockets, from queue 0 on */
    unsigned int longest_syn;                       /* bytes; longer SYNs are dropped */
    unsigned long long syns_too_long;
    unsigned long long unserved;                    /* frames of receive queues without sockets: the kernel's */
    unsigned long long datagrams_passed;            /* UDP of several datagrams: the kernel's */
    unsigned int longest_datagram;                  /* bytes of a frame; more are super-frames (super_frame.h) */
    unsigned int reserved;
};

/*
 * A cache of verdicts per core, indexed by a hash of the headers. An entry is valid for one generation. The library
 * therefore changes rules before it increments the generation.
 */
struct sv_steer_recent {
    unsigned long long words[SV_STEER_PLAIN_WORDS];
    unsigned int generation;
    unsigned int verdict;
};

/*
 * The same for ordinary frames, which are the majority: untagged TCP or UDP over IPv4 without options or fragments.
 * Their first words determine the verdict without parsing: half->head includes the bits that make a frame ordinary.
 */
struct sv_steer_head {
    unsigned long long words[SV_STEER_HEAD_WORDS];
    unsigned int generation;
    unsigned int verdict;
};

/* The keys of plain rules end after the plain words. */
struct sv_steer_rule_key {
    unsigned long long shape_id;
    unsigned long long words[SV_STEER_KEY_WORDS];
};

/* How many rules with this match take the frame, and how many only want a copy (DONT_TRAP). */
struct sv_steer_rule {
    unsigned int takers;
    unsigned int copies;
};

/* A program's variables that exceed its stack. */
struct sv_steer_scratch {
    struct sv_steer_headers outer;
    struct sv_steer_headers inner;
    struct sv_steer_rule_key probe;
    unsigned long long copies;      /* nonzero: a matching rule wants a copy */
    unsigned long long seen[SV_STEER_PLAIN_WORDS];
    unsigned long long head[SV_STEER_HEAD_WORDS];
    unsigned int seen_index;
    unsigned int head_index;
    unsigned int is_ordinary;
    unsigned int syn_window;
    unsigned int syns_again;        /* in that window, as are the next three */
    unsigned int syns_first;
    unsigned int opening;
    unsigned int unsolicited;
    unsigned long long barrier;     /* target of the atomic operations in order_loads() */
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
    SV_MAP_TRAFFIC,
    SV_MAP_COUNT
};

#endif
