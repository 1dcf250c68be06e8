/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules on headers inside a tunnel make frames of the tunnel more expensive, but no others: the verdicts on those are
 * cached.
 */
#include "af_xdp.h"
#include "bpf.h"
#include "harness.h"
#include "bpf_layout.h"
#include "kernel_steering.h"
#include "wire_defs.h"
#include "wire_fixture.h"

#include <linux/bpf.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MAX_MAPS = 16, MAX_PROCESSORS = 1024, SSH_PORT = 22, INNER_PORT = 7777 };

/* Returns the verdict on a frame: XDP_PASS or XDP_REDIRECT. */
static uint32_t verdict_of(int program, const uint8_t *frame, uint32_t length)
{
    uint8_t out[512];
    union bpf_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.test.prog_fd = (uint32_t)program;
    attr.test.data_in = sv_ptr_to_u64(frame);
    attr.test.data_size_in = length;
    attr.test.data_out = sv_ptr_to_u64(out);
    attr.test.data_size_out = sizeof out;
    attr.test.repeat = 1;
    CHECK_EQ(0, sv_bpf(BPF_PROG_TEST_RUN, &attr));
    return attr.test.retval;
}

/* Returns the program's map with values of this size. */
static int map_with_values_of(int program, uint32_t value_bytes)
{
    uint32_t ids[MAX_MAPS];
    struct bpf_prog_info info;
    union bpf_attr attr;
    memset(&info, 0, sizeof info);
    memset(&attr, 0, sizeof attr);
    info.nr_map_ids = MAX_MAPS;
    info.map_ids = sv_ptr_to_u64(ids);
    attr.info.bpf_fd = (uint32_t)program;
    attr.info.info_len = sizeof info;
    attr.info.info = sv_ptr_to_u64(&info);
    CHECK_EQ(0, sv_bpf(BPF_OBJ_GET_INFO_BY_FD, &attr));
    for (uint32_t i = 0; i < info.nr_map_ids; i++) {
        struct bpf_map_info map;
        memset(&attr, 0, sizeof attr);
        attr.map_id = ids[i];
        int fd = sv_bpf(BPF_MAP_GET_FD_BY_ID, &attr);
        CHECK(fd >= 0);
        memset(&map, 0, sizeof map);
        memset(&attr, 0, sizeof attr);
        attr.info.bpf_fd = (uint32_t)fd;
        attr.info.info_len = sizeof map;
        attr.info.info = sv_ptr_to_u64(&map);
        CHECK_EQ(0, sv_bpf(BPF_OBJ_GET_INFO_BY_FD, &attr));
        if (map.value_size == value_bytes && map.type == BPF_MAP_TYPE_PERCPU_ARRAY)
            return fd;
        close(fd);
    }
    return -1;
}

/* Returns the number of cached verdicts on ordinary frames, on all processors. */
static unsigned cached(int program)
{
    static struct sv_bpf_frame_verdict entries[MAX_PROCESSORS];
    unsigned count = 0;
    int map = map_with_values_of(program, sizeof(struct sv_bpf_frame_verdict));
    CHECK(map >= 0);
    for (uint32_t i = 0; i < SV_BPF_VERDICT_ENTRIES; i++) {
        memset(entries, 0, sizeof entries);
        CHECK(sv_map_lookup(map, &i, entries));
        for (unsigned p = 0; p < MAX_PROCESSORS; p++)
            count += entries[p].generation != 0;
    }
    close(map);
    return count;
}

/* Returns a socket with a receive ring, as the map requires. */
static int socket_with_ring(void)
{
    const uint32_t entries = 64;
    int fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0);
    CHECK_EQ(0, setsockopt(fd, SOL_XDP, XDP_RX_RING, &entries, sizeof entries));
    return fd;
}

static uint32_t build_plain(uint8_t *frame, uint8_t protocol, uint16_t port)
{
    struct frame_spec spec = default_frame();
    spec.protocol = protocol;
    spec.dst_port = port;
    spec.payload = 64;
    return build_frame(&spec, frame);
}

/* Builds UDP to the VXLAN port, which contains a frame to `port`. */
static uint32_t build_tunnelled(uint8_t *frame, uint16_t port)
{
    uint8_t inner[256];
    uint32_t length = build_plain(inner, IPPROTO_UDP, port);
    struct frame_spec outer = default_frame();
    outer.dst_port = SV_VXLAN_PORT;
    outer.payload = (uint16_t)(SV_VXLAN_HLEN + length);
    uint32_t total = build_frame(&outer, frame);
    uint8_t *vxlan = frame + total - outer.payload;
    memset(vxlan, 0, SV_VXLAN_HLEN);
    vxlan[0] = SV_VXLAN_HAS_VNI;
    memcpy(vxlan + SV_VXLAN_HLEN, inner, length);
    return total;
}

static struct sv_rule_spec inner_rule(void)
{
    struct sv_rule_spec rule = {.type = IBV_FLOW_ATTR_NORMAL};
    rule.mask.outer.layers = rule.value.outer.layers = SV_LAYER_VXLAN;
    rule.mask.inner.layers = rule.value.inner.layers = SV_LAYER_UDP;
    rule.mask.inner.dst_port = 0xffff;
    rule.value.inner.dst_port = htons(INNER_PORT);
    return rule;
}

static void check_verdicts(int program)
{
    uint8_t frame[512];
    for (int i = 0; i < 2; i++) {
        uint32_t length = build_plain(frame, IPPROTO_TCP, SSH_PORT);
        CHECK_EQ(XDP_PASS, verdict_of(program, frame, length));
        CHECK(cached(program) > 0);
        length = build_plain(frame, IPPROTO_TCP, SV_VXLAN_PORT);
        CHECK_EQ(XDP_PASS, verdict_of(program, frame, length));
        length = build_tunnelled(frame, INNER_PORT + 1);
        CHECK_EQ(XDP_PASS, verdict_of(program, frame, length));
        length = build_tunnelled(frame, INNER_PORT);
        CHECK_EQ(XDP_REDIRECT, verdict_of(program, frame, length));
    }
}

static void verdicts_are_cached_beside_inner_rules(void)
{
    static const uint8_t mac[6] = {2, 0, 0, 0, 0, 1};
    const struct sv_rule_spec rule = inner_rule();
    struct sv_kernel_steering *steering;
    if (!have_namespace())
        return;
    CHECK_EQ(0, sv_kernel_steering_open(&steering, mac, true));
    int program = sv_kernel_steering_load(steering, SV_PROGRAM_XDP_REDIRECT);
    int main = socket_with_ring(), syns = socket_with_ring();
    CHECK(program >= 0);
    CHECK_EQ(0, sv_kernel_steering_set_sockets(steering, 0, main, syns));
    CHECK_EQ(0, sv_kernel_steering_add(steering, &rule));
    check_verdicts(program);
    close(program), close(main), close(syns);
    sv_kernel_steering_close(steering);
}

const struct test verdict_cache_tests[] = {
    {"steering: xdp verdicts are cached beside rules on inner headers", verdicts_are_cached_beside_inner_rules},
    {NULL, NULL},
};
