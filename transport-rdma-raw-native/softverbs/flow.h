/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_FLOW_H
#define SV_FLOW_H

/*
 * Flow steering. A rule is a key under a mask. Rules with the same priority and mask share a subtable, which is a hash
 * table (tuple space search). A frame is parsed once into a key, which probes each subtable, lowest priority number
 * first.
 *
 * Readers are senders, each under its sq.lock, and threads that drain a receiver, each under receiver.lock. They see
 *   - the directory (the list of subtables): immutable, replaced as a whole;
 *   - the slots of a subtable: written in place, one atomic pointer each;
 *   - the generation, which grows with each change and so invalidates cached verdicts.
 *
 * Removed objects are freed after a grace period (quiesce).
 */

#include "headers.h"
#include "objects.h"

enum { SV_HEADER_WORDS = sizeof(struct sv_headers) / 8, SV_KEY_WORDS = 2 * SV_HEADER_WORDS };

union sv_key {
    struct {
        struct sv_headers outer;
        struct sv_headers inner;    /* inside a VXLAN tunnel */
    };
    uint64_t words[SV_KEY_WORDS];
};

_Static_assert(sizeof(struct sv_headers) == 72, "the key is made of whole words without holes");
_Static_assert(sizeof(union sv_key) == 144, "the key is made of whole words without holes");

/* Packets and bytes matched by a rule with a COUNT action. */
struct sv_counters {
    struct ibv_counters ibv;
    _Atomic uint32_t users;
    uint32_t count;
    int packets_index;          /* -1: not attached */
    int bytes_index;
    _Atomic uint64_t packets;
    _Atomic uint64_t bytes;
};

struct sv_rule {
    union sv_key key;           /* already masked */
    struct sv_qp *qp;
    struct sv_counters *counters;
    uint32_t tag;
    uint32_t hash;
    bool drop;
    bool dont_trap;             /* DONT_TRAP: the rule receives a copy, and the search continues */
    bool accepts_gso;           /* the receiver accepts frames beyond the MTU: SOFTVERBS_FLOW_ACCEPTS_GSO */
    bool adds_local_mac;        /* netdev_port.c: frames to its MAC address stay inside */
    int mac_filter_type;        /* netdev_port.c: the MAC filter entry of this rule, or -1 */
    struct sv_rule *_Atomic next_same;  /* rules of other queue pairs with the same match */
};

struct sv_rule_spec {
    enum ibv_flow_attr_type type;
    uint32_t priority;
    bool multicast;             /* names a multicast destination, which several queue pairs may share */
    union sv_key mask;
    union sv_key value;
    uint32_t tag;
    bool drop;
    bool dont_trap;
    bool accepts_gso;
    struct sv_counters *counters;
};

struct sv_subtable {
    uint32_t priority;
    uint32_t word_count;
    uint8_t word_index[SV_KEY_WORDS];   /* words of the key that the mask touches */
    uint64_t mask[SV_KEY_WORDS];        /* in the order of word_index[] */
    uint32_t slot_mask;
    uint32_t live;                      /* slots in use */
    uint32_t dead;                      /* slots with a tombstone */
    struct sv_rule *_Atomic slots[];
};

struct sv_directory {
    uint32_t subtable_count;
    bool wants_inner;
    union sv_key used_mask;             /* all bits that rules or RSS hashes use */
    struct sv_subtable *subtable[];
};

struct sv_flow_table {
    void (*quiesce)(struct sv_flow_table *table);   /* waits for a grace period; NULL: readers hold the writers' lock */
    struct sv_directory *_Atomic directory;
    _Atomic uint64_t generation;
    union sv_key rss_used_mask;         /* fields used by the hashes of all queue pairs that ever had a rule */
    struct sv_rule *_Atomic sniffer;
    struct sv_rule *_Atomic all_default;
    struct sv_rule *_Atomic multicast_default;
    _Atomic uint32_t rule_count;
    _Atomic uint32_t capacity;
};

struct sv_flow {
    struct ibv_flow ibv;
    struct sv_device *device;
    struct sv_rule *rule;
    struct sv_counters *counters;
    enum ibv_flow_attr_type type;
    uint32_t priority;
    union sv_key mask;
};

struct sv_target {
    struct sv_rq *rq;
    struct sv_counters *counters;
    uint32_t tag;
    bool accepts_gso;
};

enum { SV_MAX_TARGETS = 16 };

enum sv_drop_reason { SV_DROP_NONE, SV_DROP_NO_MATCH, SV_DROP_RULE, SV_DROP_BLOCKED_SELF };

struct sv_verdict {
    uint32_t target_count;
    uint32_t copies_lost;       /* copies beyond SV_MAX_TARGETS */
    /* The reason if target_count is 0. SV_DROP_RULE also beside targets, if a DROP rule matches too. */
    enum sv_drop_reason drop_reason;
    struct sv_counters *drop_counters;
    struct sv_layout layout;
    struct sv_target target[SV_MAX_TARGETS];
};

enum { SV_WINDOW_BYTES = 64 };

/* The cached verdict of a sender or receiver. It applies to frames that equal the cached one in the masked bytes. */
struct sv_cached_verdict {
    uint64_t generation;        /* 0: empty */
    uint32_t word_count;        /* number of 8-byte words to compare */
    uint64_t mask[SV_WINDOW_BYTES / 8];
    uint64_t header[SV_WINDOW_BYTES / 8];
    struct sv_verdict verdict;
};

/* headers.c */
struct sv_layout sv_parse_headers(const uint8_t *data, uint32_t length, struct sv_headers *headers);
struct sv_layout sv_parse_key(const uint8_t *data, uint32_t length, bool inner, union sv_key *key);
uint32_t sv_window_mask(const struct sv_headers *used_mask, const struct sv_headers *headers, struct sv_layout layout,
                        uint8_t mask[SV_WINDOW_BYTES]);

/* flow_parse.c: returns 0 or an errno */
int sv_flow_parse(const struct ibv_flow_attr *attr, struct sv_rule_spec *spec);

/* flow_table.c: the caller holds the writers' lock, in softverbs the device's rules_mutex */
extern const struct sv_rule sv_tombstone;
int sv_flow_table_init(struct sv_flow_table *table, void (*quiesce)(struct sv_flow_table *table));
void sv_flow_table_destroy(struct sv_flow_table *table);
int sv_flow_table_add(struct sv_flow_table *table, struct sv_rule *rule, const struct sv_rule_spec *spec);
void sv_flow_table_remove(struct sv_flow_table *table, struct sv_flow *flow);
/*
 * Calls visit() with each rule of type IBV_FLOW_ATTR_NORMAL and its match, until it returns an error. Returns that
 * error, or 0.
 */
int sv_flow_table_visit(const struct sv_flow_table *table,
                        int (*visit)(void *context, const struct sv_rule *rule, const struct sv_rule_spec *spec),
                        void *context);
uint32_t sv_subtable_hash(const struct sv_subtable *subtable, const union sv_key *key);

/* flow_search.c: searches the rules for a frame and stores the verdict in `cache` */
void sv_flow_search(struct sv_flow_table *table, const struct sv_qp *sender, const struct sv_frame *frame,
                    struct sv_cached_verdict *cache, uint64_t generation);

/* toeplitz.c */
struct sv_rss {
    uint64_t fields;
    uint32_t table[36][256];
};
struct sv_rss *sv_rss_create(const uint8_t *key, uint64_t fields);
uint32_t sv_rss_hash(const struct sv_rss *rss, const union sv_key *key);
void sv_rss_add_used_mask(const struct sv_rss *rss, union sv_key *used_mask);
int sv_rss_check(const struct ibv_rx_hash_conf *conf);

#endif
