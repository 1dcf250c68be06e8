/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Part of programs.bpf.c: parses a frame into struct sv_headers. Must agree with softverbs/headers.c, the library's
 * parser.
 */

struct frame {
    void *context;
    u32 length;
    int is_xdp;
    const u8 *head;     /* XDP: the part of the frame that can be read in place */
    const u8 *head_end;
};

INLINE int is_fragment(const u8 *ip)
{
    return (ip[SV_IPV4_FRAGMENT_AT] & SV_IPV4_FRAGMENT_BITS >> 8) != 0 || ip[SV_IPV4_FRAGMENT_AT + 1] != 0;
}

INLINE int load(const struct frame *frame, u32 offset, void *to, u32 length)
{
    return frame->is_xdp ? xdp_load(frame->context, offset, to, length) : skb_load(frame->context, offset, to, length);
}

/* Copies the first bytes of the frame, without a helper call if possible. Returns nonzero if the frame is shorter. */
INLINE int load_head(const struct frame *frame, u32 start, u8 *to, u32 length)
{
    if (frame->is_xdp && start == 0 && frame->head + length <= frame->head_end) {
        __builtin_memcpy(to, frame->head, length);
        return 0;
    }
    return load(frame, start, to, length);
}

/*
 * Returns the offset after a UDP header, or 0 for other protocols. `at_hand` points to the ports if they are loaded
 * already.
 */
INLINE u32 parse_l4(const struct frame *frame, u32 offset, const u8 *at_hand, struct sv_headers *h)
{
    u16 ports[2];
    u8 protocol = h->protocol;
    if (protocol != IPPROTO_TCP && protocol != IPPROTO_UDP)
        return 0;
    if (offset + (protocol == IPPROTO_TCP ? SV_TCP_HLEN : SV_UDP_HLEN) > frame->length)
        return 0;
    if (at_hand != 0)
        __builtin_memcpy(ports, at_hand, sizeof ports);
    else if (load(frame, offset, ports, sizeof ports) < 0)
        return 0;
    h->src_port = ports[0];
    h->dst_port = ports[1];
    h->layers |= protocol == IPPROTO_TCP ? SV_LAYER_TCP : SV_LAYER_UDP;
    return protocol == IPPROTO_UDP ? offset + SV_UDP_HLEN : 0;
}

/* `at_hand` points to the header without options and the ports after it if they are loaded already. */
INLINE u32 parse_ipv4(const struct frame *frame, u32 offset, const u8 *at_hand, struct sv_headers *h)
{
    u8 ip[SV_IPV4_HLEN];
    if (at_hand != 0)
        __builtin_memcpy(ip, at_hand, sizeof ip);
    else if (load(frame, offset, ip, sizeof ip) < 0)
        return 0;
    if (ip[0] >> 4 != 4)
        return 0;
    u32 header = (ip[0] & 15) * 4;
    if (header < SV_IPV4_HLEN || offset + header > frame->length)
        return 0;
    h->layers |= SV_LAYER_IPV4;
    __builtin_memcpy(h->src_ip, ip + SV_IPV4_SOURCE_AT, 4);
    __builtin_memcpy(h->dst_ip, ip + SV_IPV4_DESTINATION_AT, 4);
    h->protocol = ip[SV_IPV4_PROTOCOL_AT];
    h->traffic_class = ip[SV_IPV4_TOS_AT];
    h->hop_limit = ip[SV_IPV4_TTL_AT];
    h->ip_flags = (ip[SV_IPV4_FRAGMENT_AT] & SV_IPV4_DONT_FRAGMENT >> 8 ? 2 : 0) |
                  (ip[SV_IPV4_FRAGMENT_AT] & SV_IPV4_MORE_FRAGMENTS >> 8 ? 4 : 0);
    if (is_fragment(ip))
        return 0;
    return parse_l4(frame, offset + header, at_hand != 0 && header == SV_IPV4_HLEN ? at_hand + SV_IPV4_HLEN : 0, h);
}

INLINE u32 parse_ipv6(const struct frame *frame, u32 offset, struct sv_headers *h)
{
    u8 ip[SV_IPV6_HLEN];
    if (load(frame, offset, ip, sizeof ip) < 0 || ip[0] >> 4 != 6)
        return 0;
    h->layers |= SV_LAYER_IPV6;
    __builtin_memcpy(h->src_ip, ip + SV_IPV6_SOURCE_AT, 16);
    __builtin_memcpy(h->dst_ip, ip + SV_IPV6_DESTINATION_AT, 16);
    h->protocol = ip[SV_IPV6_NEXT_HEADER_AT];
    h->traffic_class = (u8)(ip[0] << 4 | ip[1] >> 4);
    h->hop_limit = ip[SV_IPV6_HOP_LIMIT_AT];
    u8 label[4] = {0, ip[1] & 15, ip[2], ip[3]};
    __builtin_memcpy(&h->flow_label, label, 4);
    return parse_l4(frame, offset + SV_IPV6_HLEN, 0, h);
}

/* If `tag_removed` is set, the kernel has removed the tag from the frame and passes it as TPID and TCI. */
INLINE u32 parse(const struct frame *frame, u32 start, int tag_removed, u16 tpid, u16 tci, struct sv_headers *h)
{
    u8 eth[ETH_HLEN + IPV4_AND_PORTS];
    u16 type;
    u32 offset = start + ETH_HLEN;
    /* For most frames this is the only load. */
    int ipv4_at_hand = load_head(frame, start, eth, sizeof eth) == 0;
    if (!ipv4_at_hand && load(frame, start, eth, ETH_HLEN) < 0)
        return 0;
    __builtin_memcpy(h->dst_mac, eth, ETH_ALEN);
    __builtin_memcpy(h->src_mac, eth + SV_ETH_SOURCE_AT, ETH_ALEN);
    __builtin_memcpy(&type, eth + SV_ETHERTYPE_AT, sizeof type);
    h->ether_type = type;
    /* Not 802.1ad: see parse() of headers.c. */
    if (tag_removed && tpid != BE16(ETH_P_8021Q)) {
        h->ether_type = tpid;
        return 0;
    }
    if (tag_removed) {
        h->ether_type = tpid;
        h->vlan_tag = BE16(tci);
        h->vlan_ether_type = type;
        h->layers |= SV_LAYER_VLAN;
    } else if (type == BE16(ETH_P_8021Q)) {
        u16 tag[2];
        if (load(frame, offset, tag, sizeof tag) == 0) {
            h->vlan_tag = tag[0];
            type = h->vlan_ether_type = tag[1];
            h->layers |= SV_LAYER_VLAN;
            offset += SV_VLAN_HLEN;
        }
        ipv4_at_hand = 0;
    }
    if (type == BE16(ETH_P_IP))
        return parse_ipv4(frame, offset, ipv4_at_hand ? eth + ETH_HLEN : 0, h);
    return type == BE16(ETH_P_IPV6) ? parse_ipv6(frame, offset, h) : 0;
}

INLINE void parse_tunnel(const struct frame *frame, u32 vxlan, struct sv_bpf_scratch *scratch)
{
    u8 header[SV_VXLAN_HLEN];
    if (load(frame, vxlan, header, sizeof header) < 0 || !(header[0] & SV_VXLAN_HAS_VNI))
        return;
    const u8 *from = header + SV_VXLAN_VNI_AT;
    u8 vni[4] = {0, from[0], from[1], from[2]};
    __builtin_memcpy(&scratch->outer.vni, vni, 4);
    scratch->outer.layers |= SV_LAYER_VXLAN;
    parse(frame, vxlan + SV_VXLAN_HLEN, 0, 0, 0, &scratch->inner);
}
