/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_BPF_LAYOUT_H
#define SV_BPF_LAYOUT_H

/*
 * The maps that the library and the eBPF programs share: flow rules as tuple space, in the layout of union sv_key
 * (flow.h). Both include this file, so it uses only the compiler's own types.
 *
 * The library writes the directory directly to the mapped array. The directory has two halves. The library fills the
 * unused half and publishes it by the sequence number; the lowest bit selects the half. Before it fills a half it
 * writes the new number to `filling`. If `filling` is two ahead of a program's own number after its search, the half
 * may have been rewritten during the search. The program then leaves the frame to the kernel.
 */

#include "headers.h"

enum {
    SV_BPF_KEY_WORDS = 18,
    SV_BPF_PLAIN_WORDS = 8,         /* words matched by rules without a tunnel: shorter keys hash faster */
    SV_BPF_MAX_SUBTABLES = 128,
    SV_BPF_MAX_RULES = 65536,
    SV_BPF_MAX_QUEUES = 64,
    SV_BPF_SOCKETS_PER_QUEUE = 2,   /* side by side: the main socket, then the one for SYNs */
    SV_BPF_WANTS_INNER = 1,         /* a rule matches headers inside VXLAN, so verdicts depend on the port too */
    SV_BPF_ALL_DEFAULT = 2,
    SV_BPF_MULTICAST_DEFAULT = 4,
    SV_BPF_SNIFFER = 8,
    SV_BPF_VERDICT_ENTRIES = 256,   /* a power of two */
    SV_BPF_FRAME_WORDS = 5,         /* the first words of a frame: Ethernet, IPv4 without options, ports */
    SV_BPF_MIN_FRAME_BYTES = 54,    /* the same with a whole TCP header; shorter frames are always parsed */
};

/*
 * The segments seen in the last minutes: SYNs and, while unsolicited segments are limited, also other segments that
 * belong to no connection. Each is stored at an index derived from its hash, as a mark (the hash's upper bits) and its
 * time. A genuine client that receives no answer repeats its SYN after a second, then later still. A flood of changing
 * SYNs does not, and a flood of repeated SYNs repeats them sooner. Newer entries replace older ones: after half a
 * million segments within a second, three of five are still stored.
 */
enum {
    SV_BPF_SEEN_ENTRIES = 1 << 20,
    SV_BPF_SEEN_TIME_MASK = 0xfff,  /* bits of the time; the others are the mark */
    SV_BPF_SEEN_TIME_SHIFT = 27,    /* shift of nanoseconds to units of 0.13 s */
    SV_BPF_SEEN_MIN_AGE = 6,        /* in these units, like the next */
    SV_BPF_SEEN_MAX_AGE = 64,
    SV_BPF_WINDOW_SHIFT = 20,       /* shift of nanoseconds to windows of a millisecond */
    SV_BPF_UNKNOWN_PER_WINDOW = 8,  /* limit per core of retransmissions and, while SYNs are limited, of first SYNs */
};

/*
 * Marks of connections (kernel_steering.h): a hash's upper bits and the second of the last write. A bucket is a cache
 * line of marks. A new mark replaces the oldest one of its bucket.
 */
enum {
    SV_BPF_MARKS_PER_BUCKET = 16,
    SV_BPF_MARK_TIME_MASK = 0x3ff,
    SV_BPF_MARK_TIME_SHIFT = 30,            /* shift of nanoseconds to units of 1.07 s */
    SV_BPF_KNOWN_BUCKETS = 1 << 16,         /* a million connections and local endpoints */
    SV_BPF_OPENING_BUCKETS = 1 << 15,       /* a quarter of a million connections with two marks each */
    SV_BPF_OPENING_MAX_AGE = 8,
    /* Limits per core while unsolicited segments are limited: */
    SV_BPF_OPENING_PER_WINDOW = 64,         /* segments of opening connections in each window */
    SV_BPF_UNSOLICITED_WINDOWS = 16,        /* one unsolicited segment per 16 windows, because each costs an answer */
    SV_BPF_UNSOLICITED_FLOOD = 64,          /* this number in one window extends the limit by a second */
    SV_BPF_LIMITED_NANOS = 1000000000,
    SV_HASH_ENDPOINT = 1,                   /* separates hashes of local endpoints from those of connections */
    SV_HASH_PROOF = 2,                      /* likewise hashes of acknowledgments that prove a connection */
};

struct sv_bpf_marks {
    unsigned int mark[SV_BPF_MARKS_PER_BUCKET];
};

struct sv_bpf_subtable {
    unsigned long long mask[SV_BPF_KEY_WORDS];
    unsigned long long id;          /* never reused: a stale directory finds no rules of a new subtable */
    unsigned int deep;              /* the mask exceeds the plain words */
    unsigned int reserved;
};

struct sv_bpf_half {
    unsigned int subtable_count;
    unsigned int flags;
    unsigned char mac[8];           /* the interface's own */
    unsigned long long key_mask[SV_BPF_PLAIN_WORDS];    /* bits of a plain key on which the verdict depends */
    unsigned long long frame_mask[SV_BPF_FRAME_WORDS];  /* the same bits in an ordinary frame, see below */
    struct sv_bpf_subtable subtable[SV_BPF_MAX_SUBTABLES];  /* lowest priority number first */
};

struct sv_bpf_directory {
    unsigned int sequence;          /* aligned to 8 bytes, so that programs load it together with the generation */
    unsigned int generation;        /* grows after each change of any rule */
    unsigned int filling;           /* sequence number of the half that is being filled, or was filled last */
    unsigned int loads_reorder;     /* nonzero: the processor may reorder loads, so programs need barriers */
    unsigned long long redirect_ifindex; /* index of the TAP interface, where there is one */
    struct sv_bpf_half half[2];
};

/*
 * An interface below a bond. `state` has the first of its queues among the sockets, the number of its queues, and
 * flags. It is one word, so programs see no part of a change.
 */
struct sv_bpf_leg {
    unsigned int ifindex;           /* 0: the entry is free */
    unsigned int state;
};

enum {
    SV_BPF_MAX_LEGS = 8,
    SV_BPF_LEG_QUEUE_MASK = 0xff,
    SV_BPF_LEG_COUNT_SHIFT = 8,
    SV_BPF_LEG_IS_SERVED = 1 << 16,
    SV_BPF_LEG_RECEIVES = 1 << 17,  /* the kernel receives frames of the bond by this leg */
};

/*
 * Admission of the frames that rules take, and counters. It does not determine which frames rules take: a process with
 * a broker, which checks its rules (broker.h), writes to this map and not to the directory.
 */
struct sv_bpf_traffic {
    unsigned long long secret;      /* makes hashes unpredictable for senders */
    unsigned long long syns_limited_until_nanos;    /* CLOCK_MONOTONIC */
    unsigned long long syns_dropped;                /* while SYNs were limited */
    unsigned long long unsolicited_limited_until_nanos; /* 0: not limited */
    unsigned long long unsolicited_dropped;
    unsigned int queue_count;                       /* number of receive queues with sockets, from queue 0 on */
    unsigned int max_syn_bytes;                     /* longer SYNs are dropped */
    unsigned long long long_syns_dropped;
    /* Frames of queues without sockets, which go to the kernel, and of legs without sockets, which are dropped. */
    unsigned long long unserved_frames;
    unsigned long long udp_gso_frames_passed;       /* each holds several datagrams; left to the kernel */
    unsigned int max_udp_frame_bytes;               /* with all headers; a longer UDP frame is a GSO frame */
    unsigned int has_legs;                          /* nonzero: the program runs on the legs of a bond */
    struct sv_bpf_leg legs[SV_BPF_MAX_LEGS];
    unsigned long long inactive_leg_dropped;        /* by legs that do not receive, as the bond itself drops them */
};

/*
 * A per-core cache of verdicts, indexed by a hash of the headers. An entry is valid for one generation. The library
 * therefore changes rules before it increments the generation.
 */
struct sv_bpf_key_verdict {
    unsigned long long words[SV_BPF_PLAIN_WORDS];
    unsigned int generation;
    unsigned int verdict;
};

/*
 * The same cache for ordinary frames, which are the majority: untagged TCP or UDP over IPv4 without options or
 * fragments. Their first words determine the verdict without parsing: half->frame_mask includes the bits that make a
 * frame ordinary.
 */
struct sv_bpf_frame_verdict {
    unsigned long long words[SV_BPF_FRAME_WORDS];
    unsigned int generation;
    unsigned int verdict;
};

/* The keys of plain rules end after the plain words. */
struct sv_bpf_rule_key {
    unsigned long long subtable_id;
    unsigned long long words[SV_BPF_KEY_WORDS];
};

/* Numbers of rules with this match that take the frame, and of those that only want a copy (DONT_TRAP). */
struct sv_bpf_rule {
    unsigned int trap_rules;
    unsigned int dont_trap_rules;
};

/* Variables of a program that exceed its stack. */
struct sv_bpf_scratch {
    struct sv_headers outer;
    struct sv_headers inner;
    struct sv_bpf_rule_key probe;
    unsigned long long copies;      /* nonzero: a matching rule wants a copy */
    unsigned long long key_words[SV_BPF_PLAIN_WORDS];
    unsigned long long frame_words[SV_BPF_FRAME_WORDS];
    unsigned int key_index;
    unsigned int frame_index;
    unsigned int is_ordinary;
    unsigned int is_tunnel;         /* the verdict depends on headers behind UDP, so it is not cached */
    unsigned int window;            /* the current window; the counts below are those of it */
    unsigned int repeated;
    unsigned int first_syns;
    unsigned int opening;
    unsigned int unsolicited;
    unsigned int reserved;
    unsigned long long barrier;     /* target of the atomic operations in order_loads() */
};

/* The maps, in the order in which bpf/build.py numbers them. */
enum {
    SV_MAP_DIRECTORY,
    SV_MAP_RULES,
    SV_MAP_DEEP_RULES,
    SV_MAP_SCRATCH,
    SV_MAP_SOCKETS,
    SV_MAP_KEY_VERDICTS,
    SV_MAP_FRAME_VERDICTS,
    SV_MAP_SEEN,
    SV_MAP_KNOWN,
    SV_MAP_OPENING,
    SV_MAP_PROGRAMS,
    SV_MAP_TRAFFIC,
    SV_MAP_COUNT
};

#endif
