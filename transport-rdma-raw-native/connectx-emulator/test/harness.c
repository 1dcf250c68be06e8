/* SPDX-License-Identifier: Apache-2.0 */
#include "harness.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

/* Time limit for anything expected to happen. Tests of broken devices wait less, because it never happens. */
static int patience_seconds = 20;

static const char *current_test = "";

const uint8_t mac_a[6] = {2, 0, 0, 0, 0, 0xa};
const uint8_t mac_b[6] = {2, 0, 0, 0, 0, 0xb};

struct controls emulator;
uint8_t wire_port;

void test_failed(const char *file, int line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    printf("FAILED %s\n    %s:%d: ", current_test, file, line);
    vprintf(format, arguments);
    printf("\n");
    va_end(arguments);
    exit(1);
}

static void *control(const char *name)
{
    void *function = dlsym(RTLD_DEFAULT, name);
    if (function == NULL) {
        fprintf(stderr, "%s is not there: run this under emulate.sh\n", name);
        exit(2);
    }
    return function;
}

static void find_controls(void)
{
    *(void **)&emulator.query_counters = control("cxemu_query_counters");
    *(void **)&emulator.trace = control("cxemu_trace");
    *(void **)&emulator.set_stepping = control("cxemu_set_stepping");
    *(void **)&emulator.set_min_inline = control("cxemu_set_min_inline");
    *(void **)&emulator.step = control("cxemu_step");
    *(void **)&emulator.fail_next_completion = control("cxemu_fail_next_completion");
    *(void **)&emulator.fail_qp = control("cxemu_fail_qp");
    *(void **)&emulator.overrun_cq = control("cxemu_overrun_cq");
    *(void **)&emulator.drop_frames = control("cxemu_drop_frames");
    *(void **)&emulator.duplicate_frames = control("cxemu_duplicate_frames");
    *(void **)&emulator.set_port_up = control("cxemu_set_port_up");
    *(void **)&emulator.remove_device = control("cxemu_remove_device");
    *(void **)&emulator.restore_device = control("cxemu_restore_device");
    *(void **)&emulator.fail_commands = control("cxemu_fail_commands");
    *(void **)&emulator.inject = control("cxemu_inject");
}

static bool has_wire(const char *kind)
{
    const char *wires = getenv("CONNECTX_EMULATOR_WIRES");
    return wires != NULL && strstr(wires, kind) != NULL;
}

/* Most tests receive the frames that they send, through a loopback connector. Other wires have separate tests. */
static bool fits_wire(const struct test *group)
{
    if (has_wire("cable"))
        return group == wire_tests;
    if (has_wire("loop"))
        return group == own_tests;
    if (has_tap())
        return group == tap_tests;
    return group != wire_tests && group != own_tests && group != tap_tests;
}

int main(int argc, char **argv)
{
    const struct test *const groups[] = {ring_tests, offload_tests, event_tests, error_tests, rss_tests,
                                         compression_tests, striding_tests, multi_packet_tests, flow_tests, wire_tests,
                                         tap_tests,
                                         own_tests};
    unsigned passed = 0;
    const char *patience = getenv("EMULATOR_TEST_PATIENCE_SECONDS");
    if (patience != NULL)
        patience_seconds = atoi(patience);
    setvbuf(stdout, NULL, _IOLBF, 0);
    find_controls();
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
        if (!fits_wire(groups[i]))
            continue;
        for (const struct test *test = groups[i]; test->name != NULL; test++) {
            if (argc > 1 && strstr(test->name, argv[1]) == NULL)
                continue;
            current_test = test->name;
            test->run();
            passed++;
        }
    }
    printf("%u passed\n", passed);
    return passed == 0;
}

/* ---- queues ---- */

void world_open(struct world *world, const char *device)
{
    struct ibv_device **list = ibv_get_device_list(NULL);
    CHECK(list != NULL);
    world->context = NULL;
    for (unsigned i = 0; list[i] != NULL; i++)
        if (strcmp(ibv_get_device_name(list[i]), device) == 0)
            world->context = ibv_open_device(list[i]);
    ibv_free_device_list(list);
    CHECK(world->context != NULL);
    CHECK(mlx5dv_is_supported(world->context->device));
    struct ibv_device_attr attr;
    CHECK_EQ(0, ibv_query_device(world->context, &attr));
    wire_port = attr.phys_port_cnt;
    world->pd = ibv_alloc_pd(world->context);
    CHECK(world->pd != NULL);
}

void world_close(struct world *world)
{
    CHECK_EQ(0, ibv_dealloc_pd(world->pd));
    CHECK_EQ(0, ibv_close_device(world->context));
}

int to_state(struct ibv_qp *qp, enum ibv_qp_state state)
{
    struct ibv_qp_attr attr = {.qp_state = state, .port_num = wire_port};
    return ibv_modify_qp(qp, &attr, IBV_QP_STATE | (state == IBV_QPS_INIT ? IBV_QP_PORT : 0));
}

void to_ready(struct ibv_qp *qp)
{
    CHECK_EQ(0, to_state(qp, IBV_QPS_INIT));
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

void side_open(struct world *world, struct side *side, int entries, bool with_channel)
{
    memset(side, 0, sizeof *side);
    side->world = world;
    side->memory = mmap(NULL, SLOTS * SLOT_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(side->memory != MAP_FAILED);
    side->mr = ibv_reg_mr(world->pd, side->memory, SLOTS * SLOT_BYTES, IBV_ACCESS_LOCAL_WRITE);
    CHECK(side->mr != NULL);
    if (with_channel) {
        side->channel = ibv_create_comp_channel(world->context);
        CHECK(side->channel != NULL);
    }
    side->cq = ibv_create_cq(world->context, entries == 0 ? SENDS + RECEIVES : entries, side, side->channel, 0);
    CHECK(side->cq != NULL);
    struct ibv_qp_init_attr_ex attr = {
        .send_cq = side->cq, .recv_cq = side->cq, .qp_type = IBV_QPT_RAW_PACKET, .pd = world->pd,
        .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_MAX_TSO_HEADER, .max_tso_header = TSO_HEADER,
        .cap = {.max_send_wr = SENDS, .max_recv_wr = RECEIVES, .max_send_sge = 4, .max_recv_sge = 4,
                .max_inline_data = MAX_INLINE},
    };
    side->qp = ibv_create_qp_ex(world->context, &attr);
    CHECK(side->qp != NULL);
    to_ready(side->qp);
}

void side_close(struct side *side)
{
    CHECK_EQ(0, ibv_destroy_qp(side->qp));
    CHECK_EQ(0, ibv_destroy_cq(side->cq));
    if (side->channel != NULL)
        CHECK_EQ(0, ibv_destroy_comp_channel(side->channel));
    CHECK_EQ(0, ibv_dereg_mr(side->mr));
    munmap(side->memory, SLOTS * SLOT_BYTES);
}

uint8_t *slot_at(const struct side *side, unsigned slot)
{
    return side->memory + (size_t)slot * SLOT_BYTES;
}

void post_receive(struct side *side, unsigned slot, uint32_t bytes)
{
    struct ibv_sge sge = {.addr = (uintptr_t)slot_at(side, slot), .length = bytes, .lkey = side->mr->lkey};
    struct ibv_recv_wr wr = {.wr_id = slot, .sg_list = &sge, .num_sge = 1};
    struct ibv_recv_wr *bad;
    CHECK_EQ(0, ibv_post_recv(side->qp, &wr, &bad));
}

void post_send(struct side *side, unsigned slot, const void *frame, uint32_t length, unsigned flags)
{
    memcpy(slot_at(side, slot), frame, length);
    struct ibv_sge sge = {.addr = (uintptr_t)slot_at(side, slot), .length = length, .lkey = side->mr->lkey};
    struct ibv_send_wr wr = {.wr_id = slot, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = flags};
    struct ibv_send_wr *bad;
    CHECK_EQ(0, ibv_post_send(side->qp, &wr, &bad));
}

/* ---- waiting ---- */

static bool patience_is_left(const struct timespec *start)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec - start->tv_sec < patience_seconds;
}

struct ibv_wc next_completion(struct ibv_cq *cq)
{
    struct ibv_wc wc;
    struct timespec start;
    clock_gettime(CLOCK_MONOTONIC, &start);
    do {
        for (unsigned i = 0; i < 1000; i++) {
            int polled = ibv_poll_cq(cq, 1, &wc);
            if (polled < 0)
                test_failed(__FILE__, __LINE__, "ibv_poll_cq: %d: an entry that names no queue", polled);
            if (polled == 1)
                return wc;
        }
        poll(NULL, 0, 0);
    } while (patience_is_left(&start));
    struct cxemu_counters counters = {0};
    emulator.query_counters("mlx5_0", &counters);
    test_failed(__FILE__, __LINE__, "no completion came; the device rang %llu bells, sent %llu and received %llu "
                "frames, found no rule for %llu and no receive for %llu", (unsigned long long)counters.doorbells,
                (unsigned long long)counters.sent_frames, (unsigned long long)counters.received_frames,
                (unsigned long long)counters.no_match, (unsigned long long)counters.no_receive);
}

struct ibv_wc next_success(struct ibv_cq *cq)
{
    struct ibv_wc wc = next_completion(cq);
    if (wc.status != IBV_WC_SUCCESS)
        test_failed(__FILE__, __LINE__, "completion of %llu: %s", (unsigned long long)wc.wr_id,
                    ibv_wc_status_str(wc.status));
    return wc;
}

/* The engine handles doorbells and frames in order, so a separate step finds nothing left. */
void check_quiet(struct side *side)
{
    const char *device = ibv_get_device_name(side->world->context->device);
    struct ibv_wc wc;
    uint32_t done = 1;
    while (done > 0)
        CHECK_EQ(0, emulator.step(device, 1000, &done));
    CHECK_EQ(0, ibv_poll_cq(side->cq, 1, &wc));
}

void await_readable(int fd, const char *what)
{
    struct pollfd readable = {.fd = fd, .events = POLLIN};
    if (poll(&readable, 1, patience_seconds * 1000) != 1)
        test_failed(__FILE__, __LINE__, "no %s came", what);
}

struct ibv_async_event next_event(struct ibv_context *context)
{
    struct ibv_async_event event;
    await_readable(context->async_fd, "asynchronous event");
    CHECK_EQ(0, ibv_get_async_event(context, &event));
    return event;
}

/* ---- frames and rules ---- */

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

uint32_t build_frame(uint8_t *frame, uint8_t protocol, uint16_t source_port, uint32_t payload, uint32_t seed)
{
    unsigned header = protocol == 6 ? 20 : 8;
    uint8_t *ip = frame + 14;
    uint8_t *l4 = ip + 20;
    memcpy(frame, mac_b, 6);
    memcpy(frame + 6, mac_a, 6);
    put16(frame + 12, 0x0800);
    const uint8_t fixed[20] = {0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, protocol, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2};
    memcpy(ip, fixed, sizeof fixed);
    put16(ip + 2, 20 + header + payload);
    put16(ip + 10, internet_checksum(ip, 20, 0));
    memset(l4, 0, header);
    put16(l4, source_port);
    put16(l4 + 2, 2000);
    if (protocol == 6) {
        l4[12] = 0x50;
        l4[13] = 0x18;
    } else {
        put16(l4 + 4, header + payload);
    }
    for (uint32_t i = 0; i < payload; i++)
        l4[header + i] = (uint8_t)(seed * 31 + i * 7 + (i >> 8));
    uint32_t pseudo = (uint16_t)~internet_checksum(ip + 12, 8, protocol + header + payload);
    put16(l4 + (protocol == 6 ? 16 : 6), internet_checksum(l4, header + payload, pseudo));
    return 14 + 20 + header + payload;
}

static struct ibv_flow *steer(struct ibv_qp *qp, const uint8_t *destination, const uint8_t *sender, uint32_t tag,
                              uint16_t priority)
{
    struct {
        struct ibv_flow_attr attr;
        struct ibv_flow_spec_eth eth;
        struct ibv_flow_spec_action_tag tag;
    } rule = {
        .attr = {.type = IBV_FLOW_ATTR_NORMAL, .size = sizeof rule, .num_of_specs = 2, .port = wire_port,
                 .priority = priority},
        .eth = {.type = IBV_FLOW_SPEC_ETH, .size = sizeof rule.eth},
        .tag = {.type = IBV_FLOW_SPEC_ACTION_TAG, .size = sizeof rule.tag, .tag_id = tag},
    };
    const bool by_sender = destination == NULL;
    memcpy(by_sender ? rule.eth.val.src_mac : rule.eth.val.dst_mac, by_sender ? sender : destination, 6);
    memset(by_sender ? rule.eth.mask.src_mac : rule.eth.mask.dst_mac, 0xff, 6);
    struct ibv_flow *flow = ibv_create_flow(qp, &rule.attr);
    if (flow == NULL)
        test_failed(__FILE__, __LINE__, "ibv_create_flow: %s", strerror(errno));
    return flow;
}

struct ibv_flow *steer_mac(struct ibv_qp *qp, const uint8_t *mac, uint32_t tag)
{
    return steer(qp, mac, NULL, tag, 0);
}

struct ibv_flow *steer_sender(struct ibv_qp *qp, const uint8_t *mac, uint32_t tag, uint16_t priority)
{
    return steer(qp, NULL, mac, tag, priority);
}
