/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receive hashing: Toeplitz over source and destination address and ports, in that order. A table holds the
 * contribution of each value of each input byte, so a hash takes one look-up per byte.
 */
#include "flow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t ipv4_fields = IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4;
static const uint64_t ipv6_fields = IBV_RX_HASH_SRC_IPV6 | IBV_RX_HASH_DST_IPV6;
static const uint64_t tcp_fields = IBV_RX_HASH_SRC_PORT_TCP | IBV_RX_HASH_DST_PORT_TCP;
static const uint64_t udp_fields = IBV_RX_HASH_SRC_PORT_UDP | IBV_RX_HASH_DST_PORT_UDP;

int sv_rss_check(const struct ibv_rx_hash_conf *conf)
{
    uint64_t fields = conf->rx_hash_fields_mask;
    if (conf->rx_hash_function != IBV_RX_HASH_FUNC_TOEPLITZ)
        return EOPNOTSUPP;
    if (conf->rx_hash_key_len != SV_RX_HASH_KEY_LENGTH || conf->rx_hash_key == NULL)
        return EINVAL;
    if (fields & ~(ipv4_fields | ipv6_fields | tcp_fields | udp_fields))
        return EOPNOTSUPP;
    if (((fields & ipv4_fields) && (fields & ipv6_fields)) || ((fields & tcp_fields) && (fields & udp_fields)))
        return EINVAL;
    return 0;
}

/* Returns the 32 key bits that start at a bit. */
static uint32_t key_window(const uint8_t *key, unsigned bit)
{
    uint64_t window = 0;
    for (unsigned i = 0; i < 5; i++) {
        unsigned byte = bit / 8 + i;
        window = window << 8 | (byte < SV_RX_HASH_KEY_LENGTH ? key[byte] : 0);
    }
    return (uint32_t)(window >> (8 - bit % 8));
}

struct sv_rss *sv_rss_create(const uint8_t *key, uint64_t fields)
{
    struct sv_rss *rss = sv_alloc_zeroed(sizeof *rss);
    if (rss == NULL)
        return NULL;
    rss->fields = fields;
    for (unsigned position = 0; position < 36; position++)
        for (unsigned value = 0; value < 256; value++)
            for (unsigned bit = 0; bit < 8; bit++)
                if (value & (0x80u >> bit))
                    rss->table[position][value] ^= key_window(key, position * 8 + bit);
    return rss;
}

struct hash_input {
    const struct sv_rss *rss;
    unsigned position;
    uint32_t hash;
};

static inline void feed(struct hash_input *input, const void *data, unsigned length)
{
    const uint8_t *bytes = data;
    for (unsigned i = 0; i < length; i++)
        input->hash ^= input->rss->table[input->position++][bytes[i]];
}

/* Returns 0 for a frame that lacks a hashed layer. All such frames go to the first entry. */
uint32_t sv_rss_hash(const struct sv_rss *rss, const union sv_key *key)
{
    const struct sv_headers *h = &key->outer;
    uint64_t fields = rss->fields;
    struct hash_input input = {rss, 0, 0};

    if (((fields & ipv4_fields) && !(h->layers & SV_LAYER_IPV4)) ||
        ((fields & ipv6_fields) && !(h->layers & SV_LAYER_IPV6)) ||
        ((fields & tcp_fields) && !(h->layers & SV_LAYER_TCP)) ||
        ((fields & udp_fields) && !(h->layers & SV_LAYER_UDP)))
        return 0;
    unsigned address = fields & ipv4_fields ? 4 : 16;
    if (fields & (IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_SRC_IPV6))
        feed(&input, h->src_ip, address);
    if (fields & (IBV_RX_HASH_DST_IPV4 | IBV_RX_HASH_DST_IPV6))
        feed(&input, h->dst_ip, address);
    if (fields & (IBV_RX_HASH_SRC_PORT_TCP | IBV_RX_HASH_SRC_PORT_UDP))
        feed(&input, &h->src_port, 2);
    if (fields & (IBV_RX_HASH_DST_PORT_TCP | IBV_RX_HASH_DST_PORT_UDP))
        feed(&input, &h->dst_port, 2);
    return input.hash;
}

void sv_rss_add_used_mask(const struct sv_rss *rss, union sv_key *used_mask)
{
    struct sv_headers *h = &used_mask->outer;
    if (rss->fields & (IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_SRC_IPV6))
        memset(h->src_ip, 0xff, sizeof h->src_ip);
    if (rss->fields & (IBV_RX_HASH_DST_IPV4 | IBV_RX_HASH_DST_IPV6))
        memset(h->dst_ip, 0xff, sizeof h->dst_ip);
    if (rss->fields & (IBV_RX_HASH_SRC_PORT_TCP | IBV_RX_HASH_SRC_PORT_UDP))
        memset(&h->src_port, 0xff, sizeof h->src_port);
    if (rss->fields & (IBV_RX_HASH_DST_PORT_TCP | IBV_RX_HASH_DST_PORT_UDP))
        memset(&h->dst_port, 0xff, sizeof h->dst_port);
}
