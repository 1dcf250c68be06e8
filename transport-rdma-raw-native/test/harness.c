/* SPDX-License-Identifier: Apache-2.0 */
#include "harness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <time.h>

static jmp_buf failure;
static const char *current_test = "";
static unsigned device_number;

void (*after_failure)(void);

const uint8_t mac_a[6] = {2, 0, 0, 0, 0, 0xa};
const uint8_t mac_b[6] = {2, 0, 0, 0, 0, 0xb};
const uint8_t mac_broadcast[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
const uint8_t mac_multicast[6] = {1, 0, 0x5e, 0, 0, 5};

void test_failed(const char *file, int line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    printf("FAILED %s\n    %s:%d: ", current_test, file, line);
    vprintf(format, arguments);
    printf("\n");
    fflush(stdout);
    va_end(arguments);
    longjmp(failure, 1);
}

/* Reports slow tests, because all tests run before a change is accepted. */
static const double REPORTED_SECONDS = 5;

static bool run_one(const struct test *test)
{
    struct timespec begun, ended;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    current_test = test->name;
    after_failure = NULL;
    if (setjmp(failure) != 0) {
        if (after_failure != NULL)
            after_failure();
        return false;
    }
    test->run();
    clock_gettime(CLOCK_MONOTONIC, &ended);
    double seconds = (double)(ended.tv_sec - begun.tv_sec) + (double)(ended.tv_nsec - begun.tv_nsec) / 1e9;
    if (seconds > REPORTED_SECONDS)
        printf("%s: %.0f s\n", test->name, seconds);
    return true;
}

/* Returns whether the name contains one of the texts. A NULL ends the texts. Without a text all names match. */
static bool is_wanted(const char *name, char *const *texts)
{
    if (*texts == NULL)
        return true;
    for (; *texts != NULL; texts++)
        if (strstr(name, *texts) != NULL)
            return true;
    return false;
}

static void run_group(const struct test *tests, char *const *texts, unsigned *passed, unsigned *failed)
{
    for (; tests->name != NULL; tests++)
        if (is_wanted(tests->name, texts))
            ++*(run_one(tests) ? passed : failed);
}

int main(int argc, char **argv)
{
    const struct test *const groups[] = {
        object_tests, queue_tests, queue_error_tests, completion_tests, flow_tests, flow_search_tests, rss_tests,
        event_tests, fault_tests, offload_tests, thread_tests, wire_tests, wire_port_tests, guard_tests, link_tests,
        netlink_tests, event_source_tests, event_source_threads_tests,
        large_send_tests, xdp_mode_tests, xdp_virtio_tests, busy_poll_tests, xdp_open_tests,
        xdp_spread_tests, xdp_pause_tests, xdp_frames_tests, xdp_bind_tests, xdp_drain_tests, xdp_send_tests,
        xdp_counters_tests,
        xdp_threads_tests, other_program_tests, syn_flood_tests, segment_flood_tests, gso_frame_tests,
        gso_frame_fuzz_tests,
        packet_offload_tests, packet_stall_tests, broker_policy_tests, broker_tests, broker_answers_tests,
        broker_rules_tests, broker_resume_tests, broker_passed_tests, broker_device_tests, broker_session_tests,
        broker_confinement_tests, broker_client_tests, broker_storm_tests, broker_late_tests, broker_reasons_tests,
        broker_adversary_tests, refusal_tests, verifier_tests, verdict_cache_tests, gso_receive_tests, vlan_tests,
        bond_tests, bond_legs_tests};
    unsigned passed = 0, failed = 0;
    setvbuf(stdout, NULL, _IOLBF, 0);      /* a process of a test that ends by exit() has nothing to write */
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++)
        run_group(groups[i], argv + (argc > 0), &passed, &failed);
    printf("%u passed, %u failed\n", passed, failed);
    return failed != 0 || passed == 0;
}

uint32_t random_number(void)
{
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 16);
}

/* ---- devices ---- */

struct ibv_device *find_device(const char *name)
{
    struct ibv_device *found = NULL;
    struct ibv_device **list = ibv_get_device_list(NULL);
    CHECK(list != NULL);
    for (unsigned i = 0; list[i] != NULL; i++)
        if (strcmp(ibv_get_device_name(list[i]), name) == 0)
            found = list[i];
    ibv_free_device_list(list);
    return found;
}

void world_open(struct world *world)
{
    snprintf(world->device_name, sizeof world->device_name, "loop:test-%u", ++device_number);
    CHECK_EQ(0, softverbs_add_device(world->device_name));
    world->context = ibv_open_device(find_device(world->device_name));
    CHECK(world->context != NULL);
    world->pd = ibv_alloc_pd(world->context);
    CHECK(world->pd != NULL);
}

void world_close(struct world *world)
{
    CHECK_EQ(0, ibv_dealloc_pd(world->pd));
    CHECK_EQ(0, ibv_close_device(world->context));
}

/* ---- queue pairs ---- */

struct ibv_qp *qp_create(struct world *world, struct ibv_cq *cq)
{
    struct ibv_qp_init_attr attr = {
        .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RAW_PACKET,
        .cap = {.max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 4, .max_recv_sge = 4, .max_inline_data = 128},
    };
    struct ibv_qp *qp = ibv_create_qp(world->pd, &attr);
    CHECK(qp != NULL);
    return qp;
}

int to_init(struct ibv_qp *qp)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1};
    return ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PORT);
}

int to_state(struct ibv_qp *qp, enum ibv_qp_state state)
{
    struct ibv_qp_attr attr = {.qp_state = state};
    return ibv_modify_qp(qp, &attr, IBV_QP_STATE);
}

void to_ready(struct ibv_qp *qp)
{
    CHECK_EQ(0, to_init(qp));
    CHECK_EQ(0, to_state(qp, IBV_QPS_RTR));
    CHECK_EQ(0, to_state(qp, IBV_QPS_RTS));
}

enum ibv_qp_state state_of(struct ibv_qp *qp)
{
    struct ibv_qp_attr attr;
    struct ibv_qp_init_attr init;
    CHECK_EQ(0, ibv_query_qp(qp, &attr, IBV_QP_STATE, &init));
    return attr.qp_state;
}

void side_open(struct world *world, struct side *side)
{
    side->world = world;
    side->memory = mmap(NULL, SLOTS * SLOT_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(side->memory != MAP_FAILED);
    side->mr = ibv_reg_mr(world->pd, side->memory, SLOTS * SLOT_BYTES, IBV_ACCESS_LOCAL_WRITE);
    CHECK(side->mr != NULL);
    side->cq = ibv_create_cq(world->context, 64, NULL, NULL, 0);
    CHECK(side->cq != NULL);
    side->qp = qp_create(world, side->cq);
    to_ready(side->qp);
}

void side_close(struct side *side)
{
    CHECK_EQ(0, ibv_destroy_qp(side->qp));
    CHECK_EQ(0, ibv_destroy_cq(side->cq));
    CHECK_EQ(0, ibv_dereg_mr(side->mr));
    munmap(side->memory, SLOTS * SLOT_BYTES);
}

uint8_t *slot_at(struct side *side, unsigned slot)
{
    return side->memory + (size_t)slot * SLOT_BYTES;
}

int post_recv_slot(struct side *side, unsigned slot, uint32_t length)
{
    struct ibv_sge sge = {.addr = (uintptr_t)slot_at(side, slot), .length = length, .lkey = side->mr->lkey};
    struct ibv_recv_wr wr = {.wr_id = slot, .sg_list = &sge, .num_sge = 1};
    struct ibv_recv_wr *bad = NULL;
    int error = ibv_post_recv(side->qp, &wr, &bad);
    CHECK(error == 0 || bad == &wr);
    return error;
}

int send_frame(struct side *side, const void *frame, uint32_t length, unsigned flags)
{
    unsigned slot = SLOTS - 1;
    memcpy(slot_at(side, slot), frame, length < SLOT_BYTES ? length : SLOT_BYTES);
    struct ibv_sge sge = {.addr = (uintptr_t)slot_at(side, slot), .length = length, .lkey = side->mr->lkey};
    struct ibv_send_wr wr = {.wr_id = slot, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = flags};
    struct ibv_send_wr *bad = NULL;
    int error = ibv_post_send(side->qp, &wr, &bad);
    CHECK(error == 0 || bad == &wr);
    return error;
}

struct ibv_wc poll_one(struct ibv_cq *cq)
{
    struct ibv_wc wc;
    CHECK_EQ(1, ibv_poll_cq(cq, 1, &wc));
    return wc;
}

void check_empty(struct ibv_cq *cq)
{
    struct ibv_wc wc;
    CHECK_EQ(0, ibv_poll_cq(cq, 1, &wc));
}

bool reaches(struct side *from, struct side *to, const void *frame, uint32_t length)
{
    struct ibv_wc wc;
    struct softverbs_queue_counters received;
    CHECK_EQ(0, post_recv_slot(to, 0, SLOT_BYTES));
    memset(slot_at(to, 0), 0x5a, SLOT_BYTES);
    CHECK_EQ(0, send_frame(from, frame, length, IBV_SEND_SIGNALED));
    bool arrived = false;
    bool sent = false;
    while (ibv_poll_cq(to->cq, 1, &wc) == 1) {
        CHECK_EQ(IBV_WC_SUCCESS, wc.status);
        if (wc.opcode & IBV_WC_RECV) {
            CHECK_EQ(length, wc.byte_len);
            CHECK(memcmp(slot_at(to, 0), frame, length) == 0);
            arrived = true;
        } else {
            sent = true;
        }
    }
    if (from != to)
        sent = poll_one(from->cq).status == IBV_WC_SUCCESS;
    CHECK(sent);
    if (!arrived) {
        /* Withdraws the receive, so that the next frame does not fill this slot. */
        CHECK_EQ(0, softverbs_query_qp_counters(to->qp, NULL, &received));
        CHECK_EQ(0, to_state(to->qp, IBV_QPS_RESET));
        to_ready(to->qp);
    }
    return arrived;
}

/* ---- frames ---- */

struct frame_spec default_frame(void)
{
    struct frame_spec spec = {.vlan = -1, .src_ip = "192.0.2.1", .dst_ip = "192.0.2.2", .protocol = 17,
                              .src_port = 1000, .dst_port = 2000, .payload = 32};
    memcpy(spec.dst, mac_b, 6);
    memcpy(spec.src, mac_a, 6);
    return spec;
}

uint16_t internet_checksum(const void *data, size_t length, uint32_t sum)
{
    const uint8_t *bytes = data;
    for (size_t i = 0; i + 1 < length; i += 2)
        sum += (uint32_t)bytes[i] << 8 | bytes[i + 1];
    if (length & 1)
        sum += (uint32_t)bytes[length - 1] << 8;
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)~sum;
}

static void put16(uint8_t *to, unsigned value)
{
    to[0] = (uint8_t)(value >> 8);
    to[1] = (uint8_t)value;
}

static unsigned put_ip(const struct frame_spec *spec, uint8_t *ip, unsigned l4_bytes, uint32_t *pseudo)
{
    bool v6 = strchr(spec->dst_ip, ':') != NULL;
    unsigned addresses = v6 ? 32 : 8;
    uint8_t *at = ip + (v6 ? 8 : 12);
    memset(ip, 0, v6 ? 40 : 20);
    CHECK_EQ(1, inet_pton(v6 ? AF_INET6 : AF_INET, spec->src_ip, at));
    CHECK_EQ(1, inet_pton(v6 ? AF_INET6 : AF_INET, spec->dst_ip, at + addresses / 2));
    *pseudo = (uint16_t)~internet_checksum(at, addresses, spec->protocol + l4_bytes);
    if (v6) {
        ip[0] = 0x60;
        put16(ip + 4, l4_bytes);
        ip[6] = spec->protocol;
        ip[7] = 64;
        return 40;
    }
    ip[0] = 0x45;
    put16(ip + 2, 20 + l4_bytes);
    put16(ip + 6, spec->fragment);
    ip[8] = 64;
    ip[9] = spec->protocol;
    put16(ip + 10, internet_checksum(ip, 20, 0));
    return 20;
}

uint32_t build_frame(const struct frame_spec *spec, uint8_t *frame)
{
    uint8_t *at = frame + 12;
    uint32_t pseudo;
    memcpy(frame, spec->dst, 6);
    memcpy(frame + 6, spec->src, 6);
    if (spec->vlan >= 0) {
        put16(at, 0x8100);
        put16(at + 2, (unsigned)spec->vlan);
        at += 4;
    }
    put16(at, strchr(spec->dst_ip, ':') != NULL ? 0x86dd : 0x0800);
    at += 2;
    unsigned header = spec->protocol == 6 ? 20 : 8;
    at += put_ip(spec, at, header + spec->payload, &pseudo);
    memset(at, 0, header);
    put16(at, spec->src_port);
    put16(at + 2, spec->dst_port);
    if (spec->protocol == 6) {
        at[12] = 0x50;
        at[13] = 0x18;
    } else {
        put16(at + 4, header + spec->payload);
    }
    for (unsigned i = 0; i < spec->payload; i++)
        at[header + i] = (uint8_t)(i * 7 + 1);
    put16(at + (spec->protocol == 6 ? 16 : 6), internet_checksum(at, header + spec->payload, pseudo));
    return (uint32_t)(at + header + spec->payload - frame);
}

/* ---- rules ---- */

void rule_init(struct rule *rule, uint16_t priority)
{
    memset(rule, 0, sizeof *rule);
    rule->attr.type = IBV_FLOW_ATTR_NORMAL;
    rule->attr.size = sizeof rule->attr;
    rule->attr.priority = priority;
    rule->attr.port = 1;
}

void *rule_add(struct rule *rule, uint32_t type, uint16_t size)
{
    uint8_t *spec = rule->specs + (rule->attr.size - sizeof rule->attr);
    memcpy(spec, &type, 4);
    memcpy(spec + 4, &size, 2);
    rule->attr.size = (uint16_t)(rule->attr.size + size);
    rule->attr.num_of_specs++;
    return spec;
}

void rule_eth(struct rule *rule, const uint8_t *dst, const uint8_t *src, uint16_t ether_type, int vlan)
{
    struct ibv_flow_spec_eth *eth = rule_add(rule, IBV_FLOW_SPEC_ETH, sizeof *eth);
    if (dst != NULL) {
        memcpy(eth->val.dst_mac, dst, 6);
        memset(eth->mask.dst_mac, 0xff, 6);
    }
    if (src != NULL) {
        memcpy(eth->val.src_mac, src, 6);
        memset(eth->mask.src_mac, 0xff, 6);
    }
    if (ether_type != 0) {
        eth->val.ether_type = htons(ether_type);
        eth->mask.ether_type = 0xffff;
    }
    if (vlan >= 0) {
        eth->val.vlan_tag = htons((uint16_t)vlan);
        eth->mask.vlan_tag = htons(0x0fff);
    }
}

static uint32_t ipv4(const char *text)
{
    uint32_t address;
    CHECK_EQ(1, inet_pton(AF_INET, text, &address));
    return address;
}

void rule_ipv4(struct rule *rule, const char *src, const char *dst)
{
    struct ibv_flow_spec_ipv4 *ip = rule_add(rule, IBV_FLOW_SPEC_IPV4, sizeof *ip);
    if (src != NULL) {
        ip->val.src_ip = ipv4(src);
        ip->mask.src_ip = 0xffffffff;
    }
    if (dst != NULL) {
        ip->val.dst_ip = ipv4(dst);
        ip->mask.dst_ip = 0xffffffff;
    }
}

void rule_ipv6(struct rule *rule, const char *src, const char *dst)
{
    struct ibv_flow_spec_ipv6 *ip = rule_add(rule, IBV_FLOW_SPEC_IPV6, sizeof *ip);
    if (src != NULL) {
        CHECK_EQ(1, inet_pton(AF_INET6, src, ip->val.src_ip));
        memset(ip->mask.src_ip, 0xff, 16);
    }
    if (dst != NULL) {
        CHECK_EQ(1, inet_pton(AF_INET6, dst, ip->val.dst_ip));
        memset(ip->mask.dst_ip, 0xff, 16);
    }
}

void rule_ports(struct rule *rule, enum ibv_flow_spec_type type, uint16_t src, uint16_t dst)
{
    struct ibv_flow_spec_tcp_udp *ports = rule_add(rule, type, sizeof *ports);
    if (src != 0) {
        ports->val.src_port = htons(src);
        ports->mask.src_port = 0xffff;
    }
    if (dst != 0) {
        ports->val.dst_port = htons(dst);
        ports->mask.dst_port = 0xffff;
    }
}

void rule_tag(struct rule *rule, uint32_t tag)
{
    struct ibv_flow_spec_action_tag *action = rule_add(rule, IBV_FLOW_SPEC_ACTION_TAG, sizeof *action);
    action->tag_id = tag;
}

struct ibv_flow *must_create(struct side *side, struct rule *rule)
{
    struct ibv_flow *flow = ibv_create_flow(side->qp, &rule->attr);
    if (flow == NULL)
        test_failed(__FILE__, __LINE__, "ibv_create_flow: %s", strerror(errno));
    return flow;
}

struct ibv_flow *steer_mac(struct side *side, const uint8_t *mac)
{
    struct rule rule;
    rule_init(&rule, 4);
    rule_eth(&rule, mac, NULL, 0, -1);
    return must_create(side, &rule);
}

/* ---- two queue pairs of a device ---- */

void pair_open(struct pair *pair)
{
    struct frame_spec spec = default_frame();
    world_open(&pair->world);
    side_open(&pair->world, &pair->a);
    side_open(&pair->world, &pair->b);
    pair->to_b = steer_mac(&pair->b, mac_b);
    pair->length = build_frame(&spec, pair->frame);
}

void pair_close(struct pair *pair)
{
    CHECK_EQ(0, ibv_destroy_flow(pair->to_b));
    side_close(&pair->a);
    side_close(&pair->b);
    world_close(&pair->world);
}
