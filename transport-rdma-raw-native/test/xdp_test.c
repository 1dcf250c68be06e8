/* SPDX-License-Identifier: Apache-2.0 */
/* What only devices on AF_XDP have: modes, receive queues of the interface, kernels that lack something. */
#include "wire_fixture.h"

#include <linux/capability.h>
#include <linux/ethtool.h>
#include <linux/if_packet.h>
#include <linux/sockios.h>
#include <linux/virtio_net.h>
#include <net/if.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/utsname.h>
#include <unistd.h>

#ifndef VIRTIO_NET_HDR_GSO_UDP_L4
#define VIRTIO_NET_HDR_GSO_UDP_L4 5     /* Linux 6.2 */
#endif

#ifdef __GLIBC__
typedef unsigned long ioctl_request;
#else
typedef int ioctl_request;
#endif

static bool tells_no_channels;
static const char *driver;

/* In the place of the C library's: a driver that does not tell how many queues it has, and a veth of another driver. */
int ioctl(int fd, ioctl_request request, ...)
{
    static const uint32_t none;
    va_list arguments;
    va_start(arguments, request);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    const uint32_t *question = request == SIOCETHTOOL ? (void *)((const struct ifreq *)argument)->ifr_data : &none;
    if (tells_no_channels && *question == ETHTOOL_GCHANNELS) {
        errno = EOPNOTSUPP;
        return -1;
    }
    int result = (int)syscall(SYS_ioctl, fd, request, argument);
    if (driver != NULL && result == 0 && *question == ETHTOOL_GDRVINFO) {
        struct ethtool_drvinfo *info = (struct ethtool_drvinfo *)((const struct ifreq *)argument)->ifr_data;
        struct utsname kernel;
        CHECK_EQ(0, uname(&kernel));
        strcpy(info->driver, driver);
        snprintf(info->version, sizeof info->version, "%.31s", kernel.release);     /* it came with the kernel */
    }
    return result;
}

static void check_opens(const char *interface, int error, const char *why)
{
    char name[32];
    snprintf(name, sizeof name, "xdp:%s", interface);
    int added = softverbs_add_device(name);
    CHECK(added == 0 || added == EEXIST);
    struct ibv_device *device = find_device(name);
    struct ibv_context *context = ibv_open_device(device);
    if (error == 0) {
        if (context == NULL)
            test_failed(__FILE__, __LINE__, "%s: %s", name, softverbs_open_error(device));
        CHECK_EQ(0, ibv_close_device(context));
        return;
    }
    CHECK(context == NULL);
    CHECK_EQ(error, errno);
    if (strstr(softverbs_open_error(device), why) == NULL)
        test_failed(__FILE__, __LINE__, "%s: %s", name, softverbs_open_error(device));
}

static void a_kernel_without_multi_buffer_is_named(void)
{
    struct wire wire;
    if (!have_namespace())
        return;
    link_open(&wire, 9000, 1);
    kernel_is_old = true;
    check_opens(wire.name[0], EOPNOTSUPP, "Linux 6.6");
    check_opens(wire.name[0], EOPNOTSUPP, "3822");
    run("ip link set %s mtu 3822", wire.name[0]);
    check_opens(wire.name[0], 0, "");
    kernel_is_old = false;
    run("ip link set %s mtu 3823", wire.name[0]);
    check_opens(wire.name[0], 0, "");
    run("ip link set %s mtu 9001", wire.name[0]);
    check_opens(wire.name[0], EMSGSIZE, "mtu 9000");
    link_close(&wire);
}

static void loopback_is_generic_only(void)
{
    if (!have_namespace())
        return;
    run("ip link set lo mtu 1500");
    CHECK_EQ(0, setenv("SOFTVERBS_XDP_MODE", "fast", 1));
    check_opens("lo", EINVAL, "it may be auto, generic, native, zerocopy or tap");
    CHECK_EQ(0, setenv("SOFTVERBS_XDP_MODE", "zerocopy", 1));
    check_opens("lo", EOPNOTSUPP, "SOFTVERBS_XDP_MODE=zerocopy");
    CHECK_EQ(0, setenv("SOFTVERBS_XDP_MODE", "native", 1));
    check_opens("lo", EOPNOTSUPP, "SOFTVERBS_XDP_MODE=native");
    CHECK_EQ(0, unsetenv("SOFTVERBS_XDP_MODE"));
    check_opens("lo", 0, "");
}

static void check_mode(const char *interface, const char *text)
{
    char name[32];
    snprintf(name, sizeof name, "xdp:%s", interface);
    struct ibv_device *device = find_device(name);
    struct ibv_context *context = ibv_open_device(device);
    if (context == NULL)
        test_failed(__FILE__, __LINE__, "%s: %s", name, softverbs_open_error(device));
    if (strstr(softverbs_mode(context), text) == NULL)
        test_failed(__FILE__, __LINE__, "%s: %s", name, softverbs_mode(context));
    /* What was chosen is not the user's to unset. */
    if (getenv("SOFTVERBS_XDP_MODE") == NULL && strstr(softverbs_mode(context), "SOFTVERBS_XDP_MODE") != NULL)
        test_failed(__FILE__, __LINE__, "%s: %s", name, softverbs_mode(context));
    CHECK_EQ(0, strcmp("", softverbs_open_error(device)));
    CHECK_EQ(0, ibv_close_device(context));
}

/* A veth has native mode and no zero copy, whatever it says that its driver is. */
static void the_mode_is_that_of_the_driver(void)
{
    struct wire wire;
    if (!have_namespace())
        return;
    link_open(&wire, 1500, 1);
    check_opens(wire.name[0], 0, "");
    check_mode(wire.name[0], "mode generic: native mode is no faster on veth");
    run("ethtool -K %s rxvlan off", wire.name[0]);      /* it means nothing on a veth, and much on others */
    driver = "mlx5_core";
    check_mode(wire.name[0], "mode native, as zerocopy cannot be had: the interface's driver has no zero copy");
    CHECK_EQ(0, setenv("SOFTVERBS_XDP_MODE", "generic", 1));
    check_mode(wire.name[0], "mode generic: SOFTVERBS_XDP_MODE names it");
    CHECK_EQ(0, setenv("SOFTVERBS_XDP_MODE", "zerocopy", 1));
    check_opens(wire.name[0], EOPNOTSUPP, "no zero copy");
    CHECK_EQ(0, setenv("SOFTVERBS_XDP_MODE", "auto", 1));
    driver = "ice";
    check_mode(wire.name[0], "mode generic: zero copy has corrupted memory with ice");
    CHECK_EQ(0, unsetenv("SOFTVERBS_XDP_MODE"));
    driver = NULL;
    link_close(&wire);
}

/* Neither a veth nor what it lacks can be polled. */
static void busy_polling_is_refused_where_nothing_can_be_polled(void)
{
    struct wire wire;
    if (!have_namespace())
        return;
    link_open(&wire, 1500, 2);
    CHECK_EQ(0, setenv("SOFTVERBS_XDP_BUSY_POLL", "often", 1));
    check_opens(wire.name[0], EINVAL, "it may be on or off");
    CHECK_EQ(0, setenv("SOFTVERBS_XDP_BUSY_POLL", "on", 1));
    if (is_linux_6_17())
        check_opens(wire.name[0], EOPNOTSUPP, "has no NAPI instance");
    if (is_linux_6_6()) {
        CHECK_EQ(0, setenv("SOFTVERBS_XDP_MODE", "tap", 1));
        check_opens(wire.name[0], EOPNOTSUPP, "in mode tap");
        CHECK_EQ(0, unsetenv("SOFTVERBS_XDP_MODE"));
    }
    CHECK_EQ(0, setenv("SOFTVERBS_XDP_BUSY_POLL", "off", 1));
    check_opens(wire.name[0], 0, "");
    CHECK_EQ(0, unsetenv("SOFTVERBS_XDP_BUSY_POLL"));
    link_close(&wire);
}

/* The kernel refuses it while a queue has an AF_XDP socket, and it frees those of a closed port a moment later. */
static void set_channels(const char *interface, const char *channels)
{
    char command[128];
    struct timespec start = now();
    snprintf(command, sizeof command, "ethtool -L %s %s 2>/dev/null", interface, channels);
    while (system(command) != 0) {
        if (overdue(start))
            run("ethtool -L %s %s", interface, channels);       /* it says why not */
        poll(NULL, 0, 10);
    }
}

/* A port that served some of an interface's queues would lose the flows of the others. */
static void an_interface_with_too_many_queues_is_refused(void)
{
    struct wire wire;
    if (!have_namespace())
        return;
    link_open(&wire, 1500, 96);
    check_opens(wire.name[0], EOPNOTSUPP, "ethtool -L");
    check_opens(wire.name[0], EOPNOTSUPP, "64");
    set_channels(wire.name[0], "rx 64");
    tells_no_channels = true;       /* so binding has to tell, which takes those that send for others */
    check_opens(wire.name[0], EOPNOTSUPP, "ethtool -L");
    set_channels(wire.name[0], "tx 64");
    check_opens(wire.name[0], 0, "");
    tells_no_channels = false;
    link_close(&wire);
}

/* Without another way than this limit. */
static bool opens_with_locked(const char *device_name, rlim_t bytes)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct capabilities[2];
    struct rlimit limit = {bytes, bytes};
    if (syscall(SYS_capget, &header, capabilities) != 0)
        return false;
    capabilities[0].effective &= ~(1u << CAP_IPC_LOCK);
    return syscall(SYS_capset, &header, capabilities) == 0 && setrlimit(RLIMIT_MEMLOCK, &limit) == 0 &&
           ibv_open_device(find_device(device_name)) != NULL;
}

/* In a process of its own, whose queue the kernel may free some time after its end. */
static void check_opens_with_locked(const char *interface, rlim_t bytes)
{
    char name[32];
    int status;
    snprintf(name, sizeof name, "xdp:%s", interface);
    int added = softverbs_add_device(name);
    CHECK(added == 0 || added == EEXIST);
    fflush(stdout);
    struct timespec start = now();
    do {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0)
            _exit(opens_with_locked(name, bytes) ? 0 : 1);
        CHECK(waitpid(child, &status, 0) == child);
        CHECK(WIFEXITED(status));
    } while (WEXITSTATUS(status) != 0 && !overdue(start));
    CHECK_EQ(0, WEXITSTATUS(status));
}

/* Each queue takes what it can have, down to 1.6 MB: then there may be nothing left to look for another one with. */
static void memory_is_wanted_for_the_queues_that_are_there(void)
{
    struct wire wire;
    if (!have_namespace())
        return;
    link_open(&wire, 1500, 1);
    check_opens_with_locked(wire.name[0], 2 << 20);
    check_opens_with_locked(wire.name[0], 7 << 20);
    link_close(&wire);
}

enum { MANY_QUEUES = 60, MORE_QUEUES = 130, MANY_FLOWS = 500 };

static int packet_socket(const char *interface)
{
    struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_ifindex = (int)if_nametoindex(interface)};
    int fd = socket(AF_PACKET, SOCK_RAW, 0);
    CHECK(fd >= 0);
    CHECK_EQ(0, bind(fd, (struct sockaddr *)&address, sizeof address));
    return fd;
}

static uint64_t seen_by(const struct wire *wire, uint64_t *unserved)
{
    struct softverbs_counters counters;
    CHECK_EQ(0, softverbs_query_counters(wire->world[1].context, &counters));
    *unserved = counters.received.unserved;
    return counters.received.copied + counters.received.unserved;
}

/* SYNs of many flows, which the kernel spreads over all queues; returns how many the other end's kernel got. */
static uint64_t send_syns(struct wire *wire)
{
    uint8_t frame[2048];
    uint64_t unserved;
    int sender = packet_socket(wire->name[0]);
    uint64_t before = seen_by(wire, &unserved);
    uint64_t unserved_before = unserved;
    for (unsigned i = 0; i < MANY_FLOWS; i++) {
        struct frame_spec spec = default_frame();
        spec.protocol = 6;
        spec.src_port = (uint16_t)(10000 + i);
        uint32_t length = build_frame(&spec, frame);
        frame[47] = 2;
        CHECK_EQ(length, send(sender, frame, length, 0));
    }
    CHECK_EQ(0, close(sender));
    struct timespec start = now();
    while (seen_by(wire, &unserved) - before < MANY_FLOWS && !overdue(start))
        check_empty(wire->side[1].cq);
    CHECK_EQ(MANY_FLOWS, seen_by(wire, &unserved) - before);
    return unserved - unserved_before;
}

/* Frames of a queue without sockets are the kernel's, and counted: also those of which another queue has the socket. */
static void each_frame_of_many_queues_is_seen(const char *kind)
{
    struct wire wire;
    link_open(&wire, 1500, MORE_QUEUES);
    for (int end = 0; end < 2; end++)
        run("ethtool -L %s rx %d tx %d", wire.name[end], MANY_QUEUES, MANY_QUEUES);
    wire_open_on(&wire, kind);
    struct ibv_flow *flow = steer_mac(&wire.side[1], mac_b);
    CHECK_EQ(0, send_syns(&wire));
    /* More of them while it runs. */
    run("ethtool -L %s rx %d", wire.name[1], MORE_QUEUES);
    run("ethtool -L %s tx %d", wire.name[0], MORE_QUEUES);
    CHECK(send_syns(&wire) > 0);
    CHECK_EQ(0, ibv_destroy_flow(flow));
    wire_close(&wire);
}

static void test_each_frame_of_many_queues_is_seen(void)
{
    if (!have_namespace())
        return;
    each_frame_of_many_queues_is_seen("xdp");
}

static void check_opens_by_tap(const char *interface)
{
    if (is_linux_6_6())
        check_opens(interface, 0, "");
}

/* A veth has the feature too, where it means nothing, and is not asked. */
static void an_interface_that_hides_tags_is_refused(void)
{
    struct wire wire;
    if (!have_namespace())
        return;
    link_open(&wire, 1500, 1);
    check_opens(wire.name[0], 0, "");
    driver = "card";
    check_opens(wire.name[0], EOPNOTSUPP, "rxvlan off");
    CHECK_EQ(0, setenv("SOFTVERBS_XDP_RXVLAN", "allow", 1));
    check_opens(wire.name[0], 0, "");
    CHECK_EQ(0, unsetenv("SOFTVERBS_XDP_RXVLAN"));
    CHECK_EQ(0, setenv("SOFTVERBS_XDP_MODE", "tap", 1));
    check_opens_by_tap(wire.name[0]);
    CHECK_EQ(0, setenv("SOFTVERBS_XDP_MODE", "native", 1));
    check_opens(wire.name[0], EOPNOTSUPP, "rxvlan off");
    CHECK_EQ(0, unsetenv("SOFTVERBS_XDP_MODE"));
    run("ethtool -K %s rxvlan off", wire.name[0]);
    check_opens(wire.name[0], 0, "");
    driver = NULL;
    link_close(&wire);
}

static void check_hides_tags(const char *interface)
{
    check_opens(interface, EOPNOTSUPP, "from another interface");
    CHECK_EQ(0, setenv("SOFTVERBS_XDP_RXVLAN", "allow", 1));
    check_opens(interface, 0, "");
    CHECK_EQ(0, unsetenv("SOFTVERBS_XDP_RXVLAN"));
    CHECK_EQ(0, setenv("SOFTVERBS_XDP_MODE", "tap", 1));
    check_opens_by_tap(interface);
    CHECK_EQ(0, unsetenv("SOFTVERBS_XDP_MODE"));
}

/* There no tag is in the frame any more, whatever any driver does. */
static void an_interface_above_another_is_refused(void)
{
    struct wire wire;
    if (!have_namespace())
        return;
    link_open(&wire, 1500, 1);
    run("ip link add link %s name svtabove type macvlan && ip link set svtabove up", wire.name[0]);
    check_hides_tags("svtabove");
    run("ip link del svtabove");
    run("ip link add svtbridge type bridge && ip link set %s master svtbridge && ip link set svtbridge up", wire.name[0]);
    check_opens(wire.name[0], 0, "");
    check_hides_tags("svtbridge");
    run("ip link del svtbridge");
    link_close(&wire);
}

static void a_driver_without_zero_copy_is_named(void)
{
    struct wire wire;
    if (!have_namespace())
        return;
    link_open(&wire, 1500, 1);
    CHECK_EQ(0, setenv("SOFTVERBS_XDP_MODE", "zerocopy", 1));
    check_opens(wire.name[0], EOPNOTSUPP, "no zero copy");
    CHECK_EQ(0, unsetenv("SOFTVERBS_XDP_MODE"));
    link_close(&wire);
}

/* ---- several queues of the interface, several loops ---- */

enum { LOOPS = 2, INTERFACE_QUEUES = 4, RECEIVES = 512, FLOWS = 64, PER_FLOW = 8, FIRST_PORT = 5000 };

static uint8_t key[40] = {
    0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb,
    0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
};

/* One of the work queues that share a rule, polled by a thread of its own. */
struct loop {
    struct ibv_cq *cq;
    struct ibv_wq *wq;
    uint8_t *memory;
    struct ibv_mr *mr;
    _Atomic unsigned *received;     /* by all loops */
    struct timespec start;
    unsigned of_flow[FLOWS];
    bool bad;
};

/* The definition: for each bit of the input that is set, the 32 bits of the key from there on. */
static uint32_t toeplitz(const uint8_t *input, unsigned bytes)
{
    uint32_t hash = 0;
    for (unsigned bit = 0; bit < bytes * 8; bit++)
        for (unsigned i = 0; (input[bit / 8] & (0x80 >> bit % 8)) && i < 32; i++)
            hash ^= (uint32_t)(key[(bit + i) / 8] >> (7 - (bit + i) % 8) & 1) << (31 - i);
    return hash;
}

static void loop_open(struct loop *loop, struct world *world, _Atomic unsigned *received)
{
    *loop = (struct loop){.received = received, .start = now()};
    struct ibv_wq_attr ready = {.attr_mask = IBV_WQ_ATTR_STATE, .wq_state = IBV_WQS_RDY};
    loop->memory = aligned_alloc(4096, RECEIVES * SLOT_BYTES);
    loop->mr = ibv_reg_mr(world->pd, loop->memory, RECEIVES * SLOT_BYTES, IBV_ACCESS_LOCAL_WRITE);
    loop->cq = ibv_create_cq(world->context, RECEIVES, NULL, NULL, 0);
    CHECK(loop->mr != NULL && loop->cq != NULL);
    struct ibv_wq_init_attr init = {.wq_type = IBV_WQT_RQ, .max_wr = RECEIVES, .max_sge = 1, .pd = world->pd,
                                    .cq = loop->cq};
    loop->wq = ibv_create_wq(world->context, &init);
    CHECK(loop->wq != NULL);
    CHECK_EQ(0, ibv_modify_wq(loop->wq, &ready));
    for (unsigned i = 0; i < RECEIVES; i++) {
        struct ibv_sge sge = {(uintptr_t)loop->memory + i * SLOT_BYTES, SLOT_BYTES, loop->mr->lkey};
        struct ibv_recv_wr wr = {.wr_id = i, .sg_list = &sge, .num_sge = 1};
        struct ibv_recv_wr *bad;
        CHECK_EQ(0, ibv_post_wq_recv(loop->wq, &wr, &bad));
    }
}

static void loop_close(struct loop *loop)
{
    CHECK_EQ(0, ibv_destroy_wq(loop->wq));
    CHECK_EQ(0, ibv_destroy_cq(loop->cq));
    CHECK_EQ(0, ibv_dereg_mr(loop->mr));
    free(loop->memory);
}

static void *run_loop(void *argument)
{
    struct loop *loop = argument;
    struct ibv_wc wc[16];
    while (*loop->received < FLOWS * PER_FLOW && !overdue(loop->start)) {
        int count = ibv_poll_cq(loop->cq, 16, wc);
        for (int i = 0; i < count; i++) {
            const uint8_t *frame = loop->memory + wc[i].wr_id * SLOT_BYTES;
            unsigned flow = ((unsigned)frame[34] << 8 | frame[35]) - FIRST_PORT;
            if (wc[i].status != IBV_WC_SUCCESS || flow >= FLOWS)
                loop->bad = true;
            else
                loop->of_flow[flow]++;
            ++*loop->received;
        }
    }
    return NULL;
}

/* From one queue pair for each queue of the interface. */
static void send_all(struct wire *wire)
{
    struct side *from = &wire->side[0];
    struct ibv_qp *first = from->qp;
    struct ibv_qp *senders[INTERFACE_QUEUES];
    for (unsigned i = 0; i < INTERFACE_QUEUES; i++) {
        senders[i] = qp_create(&wire->world[0], from->cq);
        to_ready(senders[i]);
    }
    for (unsigned i = 0; i < FLOWS * PER_FLOW; i++) {
        uint8_t frame[2048];
        struct frame_spec spec = default_frame();
        spec.src_port = (uint16_t)(FIRST_PORT + i % FLOWS);
        uint32_t length = build_frame(&spec, frame);
        from->qp = senders[i / FLOWS % INTERFACE_QUEUES];
        CHECK_EQ(0, send_frame(from, frame, length, IBV_SEND_SIGNALED));
        CHECK_EQ(IBV_WC_SUCCESS, wait_one(from->cq).status);
    }
    for (unsigned i = 0; i < INTERFACE_QUEUES; i++)
        CHECK_EQ(0, ibv_destroy_qp(senders[i]));
    from->qp = first;
}

static void check_spread(const struct loop *loops)
{
    for (unsigned flow = 0; flow < FLOWS; flow++) {
        unsigned port = FIRST_PORT + flow;
        const uint8_t input[12] = {192, 0, 2, 1, 192, 0, 2, 2, (uint8_t)(port >> 8), (uint8_t)port, 2000 >> 8, 2000 & 255};
        unsigned expected = toeplitz(input, sizeof input) % LOOPS;
        CHECK_EQ(PER_FLOW, loops[expected].of_flow[flow]);
    }
}

static void frames_are_spread_over_loops(const char *kind)
{
    struct wire wire;
    struct loop loops[LOOPS];
    pthread_t threads[LOOPS];
    _Atomic unsigned received = 0;
    wire_open(&wire, kind, 1500, INTERFACE_QUEUES);
    struct world *world = &wire.world[1];
    for (int i = 0; i < LOOPS; i++)
        loop_open(&loops[i], world, &received);
    struct ibv_wq *queues[LOOPS] = {loops[0].wq, loops[1].wq};
    struct ibv_rwq_ind_table_init_attr entries = {.log_ind_tbl_size = 1, .ind_tbl = queues};
    struct ibv_rwq_ind_table *table = ibv_create_rwq_ind_table(world->context, &entries);
    CHECK(table != NULL);
    struct ibv_qp_init_attr_ex attr = {
        .qp_type = IBV_QPT_RAW_PACKET, .pd = world->pd, .rwq_ind_tbl = table,
        .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH,
        .rx_hash_conf = {.rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ, .rx_hash_key_len = sizeof key,
                         .rx_hash_key = key, .rx_hash_fields_mask = IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4 |
                                                                    IBV_RX_HASH_SRC_PORT_UDP | IBV_RX_HASH_DST_PORT_UDP},
    };
    struct side spread = {.qp = ibv_create_qp_ex(world->context, &attr)};
    CHECK(spread.qp != NULL);
    struct ibv_flow *flow = udp_rule(&spread, 2000);
    for (int i = 0; i < LOOPS; i++)
        CHECK_EQ(0, pthread_create(&threads[i], NULL, run_loop, &loops[i]));
    send_all(&wire);
    for (int i = 0; i < LOOPS; i++)
        CHECK_EQ(0, pthread_join(threads[i], NULL));
    CHECK_EQ(FLOWS * PER_FLOW, received);
    CHECK(!loops[0].bad && !loops[1].bad);
    check_spread(loops);
    CHECK_EQ(0, ibv_destroy_flow(flow));
    CHECK_EQ(0, ibv_destroy_qp(spread.qp));
    CHECK_EQ(0, ibv_destroy_rwq_ind_table(table));
    for (int i = 0; i < LOOPS; i++)
        loop_close(&loops[i]);
    wire_close(&wire);
}

/* In native mode the frames come by all the queues of a veth. */
static void test_spread(void)
{
    if (!have_namespace())
        return;
    frames_are_spread_over_loops("xdp");
    with_xdp_mode("native", frames_are_spread_over_loops);
    with_xdp_mode("tap", frames_are_spread_over_loops);
}

/* ---- verdicts that the program keeps ---- */

static void send_spec(struct side *from, const struct frame_spec *spec)
{
    uint8_t frame[2048];
    uint32_t length = build_frame(spec, frame);
    CHECK_EQ(0, send_frame(from, frame, length, IBV_SEND_SIGNALED));
    CHECK_EQ(IBV_WC_SUCCESS, wait_one(from->cq).status);
}

/* The kernel's frames come first, so a verdict on them that were taken for ours would lose the next of ours. */
static void look_alikes_do_not_share_a_verdict(const char *kind)
{
    struct wire wire;
    struct frame_spec good = default_frame();
    struct frame_spec bad[6] = {good, good, good, good, good, good};
    struct rule rule;
    if (!have_namespace())
        return;
    wire_open(&wire, kind, 1500, 1);
    bad[0].src_ip = "192.0.2.9";
    bad[1].dst_ip = "192.0.2.9";
    bad[2].src_port++;
    bad[3].dst_port++;
    bad[4].protocol = 6;
    bad[5].fragment = 0x2000;
    rule_init(&rule, 0);
    rule_ipv4(&rule, "192.0.2.1", "192.0.2.2");
    rule_ports(&rule, IBV_FLOW_SPEC_UDP, 1000, 2000);
    for (int i = 0; i < 6; i++) {
        struct ibv_flow *flow = must_create(&wire.side[1], &rule);      /* what was known is void */
        CHECK_EQ(0, post_recv_slot(&wire.side[1], 0, SLOT_BYTES));
        send_spec(&wire.side[0], &bad[i]);
        send_spec(&wire.side[0], &good);
        CHECK_EQ(IBV_WC_SUCCESS, wait_one(wire.side[1].cq).status);
        CHECK_EQ(0, ibv_destroy_flow(flow));
    }
    wire_close(&wire);
}

/* ---- VLAN tags ---- */

enum { VLAN = 5, PRIORITY = 3 << 13 };

/* Puts another tag, of a provider's network (IEEE 802.1ad), before what follows the addresses. */
static uint32_t add_outer_tag(uint8_t *frame, uint32_t length)
{
    static const uint8_t outer[] = {0x88, 0xa8, 0x00, 0x07};
    memmove(frame + 12 + sizeof outer, frame + 12, length - 12);
    memcpy(frame + 12, outer, sizeof outer);
    return length + sizeof outer;
}

static void check_arrives(struct wire *wire, const uint8_t *frame, uint32_t length)
{
    CHECK_EQ(0, post_recv_slot(&wire->side[1], 0, SLOT_BYTES));
    CHECK_EQ(0, send_frame(&wire->side[0], frame, length, IBV_SEND_SIGNALED));
    CHECK_EQ(IBV_WC_SUCCESS, wait_one(wire->side[0].cq).status);
    struct ibv_wc wc = wait_one(wire->side[1].cq);
    CHECK_EQ(IBV_WC_SUCCESS, wc.status);
    CHECK_EQ(length, wc.byte_len);
    CHECK_EQ(0, memcmp(frame, wire->side[1].memory, length));
}

/* At tc ingress the kernel has taken the outer one out. */
static void tags_stay_in_frames(const char *kind)
{
    struct wire wire;
    struct rule rule;
    uint8_t frame[2048];
    struct frame_spec spec = default_frame();
    wire_open(&wire, kind, 1500, 1);
    spec.vlan = VLAN | PRIORITY;
    uint32_t length = build_frame(&spec, frame);
    rule_init(&rule, 0);
    rule_eth(&rule, mac_b, NULL, 0, VLAN);
    struct ibv_flow *flow = must_create(&wire.side[1], &rule);
    for (int i = 0; i < 3; i++)
        check_arrives(&wire, frame, length);
    CHECK_EQ(0, ibv_destroy_flow(flow));
    flow = steer_mac(&wire.side[1], mac_b);
    check_arrives(&wire, frame, length);
    check_arrives(&wire, frame, add_outer_tag(frame, length));
    CHECK_EQ(0, ibv_destroy_flow(flow));
    wire_close(&wire);
}

/* ---- frames that the kernel has merged ---- */

/*
 * As GRO leaves two segments that together fit the MTU: the field has the sum of the pseudo header. The sender gives it
 * out as a frame that is complete.
 */
static void check_merged(const char *receiver, bool partial)
{
    struct wire wire;
    uint8_t frame[2048];
    struct softverbs_counters counters;
    struct frame_spec spec = default_frame();
    spec.protocol = 6;
    spec.payload = 900;
    uint32_t length = build_frame(&spec, frame);
    uint16_t pseudo = (uint16_t)~internet_checksum(frame + 26, 8, 6 + length - 34);
    const uint8_t complete[2] = {frame[50], frame[51]};
    frame[50] = (uint8_t)(pseudo >> 8);
    frame[51] = (uint8_t)pseudo;
    link_open(&wire, 1500, 1);
    driver = receiver;
    wire_open_between(&wire, "packet", "xdp");
    struct ibv_flow *flow = steer_mac(&wire.side[1], mac_b);
    CHECK_EQ(0, post_recv_slot(&wire.side[1], 0, SLOT_BYTES));
    CHECK_EQ(0, send_frame(&wire.side[0], frame, length, IBV_SEND_SIGNALED));
    CHECK_EQ(IBV_WC_SUCCESS, wait_one(wire.side[0].cq).status);
    struct ibv_wc wc = wait_one(wire.side[1].cq);
    CHECK_EQ(length, wc.byte_len);
    CHECK_EQ(partial ? IBV_WC_IP_CSUM_OK : 0, wc.wc_flags & IBV_WC_IP_CSUM_OK);
    CHECK_EQ(0, memcmp(slot_at(&wire.side[1], 0) + 50, partial ? complete : frame + 50, 2));
    CHECK_EQ(0, softverbs_query_counters(wire.world[1].context, &counters));
    CHECK_EQ(partial, counters.received.partial_checksums);
    CHECK_EQ(0, ibv_destroy_flow(flow));
    wire_close(&wire);
    driver = NULL;
}

/* A card's own frames come before GRO in generic mode; those by the tc program, and from an interface below, after it. */
static void what_gro_has_merged_is_completed(void)
{
    if (!have_namespace())
        return;
    CHECK_EQ(0, setenv("SOFTVERBS_XDP_RXVLAN", "allow", 1));
    check_merged("card", false);
    check_merged("802.1Q VLAN Support", true);
    check_merged("bonding", true);
    check_merged("vxlan", true);
    CHECK_EQ(0, setenv("SOFTVERBS_XDP_MODE", "native", 1));
    check_merged("bonding", false);
    if (is_linux_6_6()) {
        CHECK_EQ(0, setenv("SOFTVERBS_XDP_MODE", "tap", 1));
        check_merged("card", true);
        CHECK_EQ(0, setenv("SOFTVERBS_PARTIAL_CHECKSUMS", "off", 1));
        check_merged("card", false);
        CHECK_EQ(0, unsetenv("SOFTVERBS_PARTIAL_CHECKSUMS"));
    }
    CHECK_EQ(0, unsetenv("SOFTVERBS_XDP_MODE"));
    CHECK_EQ(0, unsetenv("SOFTVERBS_XDP_RXVLAN"));
}

/* A frame as a kernel gives it out that leaves cutting, at every `segment` bytes of UDP payload, to the interface. */
static void send_with_segments(const char *interface, const uint8_t *frame, uint32_t length, uint16_t segment)
{
    struct {
        struct virtio_net_hdr offload;
        uint8_t frame[2048];
    } packet = {.offload = {.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM, .gso_type = VIRTIO_NET_HDR_GSO_UDP_L4, .hdr_len = 42,
                            .gso_size = segment, .csum_start = 34, .csum_offset = 6}};
    struct sockaddr_ll to = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_IP), .sll_halen = 6,
                             .sll_ifindex = (int)if_nametoindex(interface)};
    const int on = 1;
    int fd = socket(AF_PACKET, SOCK_RAW, 0);
    CHECK(fd >= 0);
    CHECK_EQ(0, setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &on, sizeof on));
    memcpy(packet.frame, frame, length);
    length += sizeof packet.offload;
    CHECK_EQ(length, sendto(fd, &packet, length, 0, (struct sockaddr *)&to, sizeof to));
    close(fd);
}

/* Ten datagrams of 100 bytes as one packet below the MTU: as one datagram they would be something nobody sent. */
static void datagrams_in_one_packet_are_left_to_the_kernel(const char *kind)
{
    struct wire wire;
    uint8_t frame[2048];
    struct softverbs_counters counters;
    struct frame_spec spec = default_frame();
    wire_open(&wire, kind, 1500, 1);
    run("ethtool -K %s tx-udp-segmentation on", wire.name[0]);
    struct ibv_flow *flow = udp_rule(&wire.side[1], spec.dst_port);
    spec.payload = 1000;
    uint32_t length = build_frame(&spec, frame);
    uint16_t pseudo = (uint16_t)~internet_checksum(frame + 26, 8, 17 + length - 34);
    frame[40] = (uint8_t)(pseudo >> 8);
    frame[41] = (uint8_t)pseudo;
    send_with_segments(wire.name[0], frame, length, 100);
    spec.payload = 33;
    check_arrives(&wire, frame, build_frame(&spec, frame));
    check_empty(wire.side[1].cq);
    CHECK_EQ(0, softverbs_query_counters(wire.world[1].context, &counters));
    CHECK_EQ(1, counters.received.super_datagrams);
    CHECK_EQ(0, ibv_destroy_flow(flow));
    wire_close(&wire);
}

/* Only the tc program is told that it is several. */
static void test_datagrams_in_one_packet(void)
{
    if (have_namespace())
        with_xdp_mode("tap", datagrams_in_one_packet_are_left_to_the_kernel);
}

IN_BOTH_MODES(look_alikes_do_not_share_a_verdict)
IN_BOTH_MODES(tags_stay_in_frames)

const struct test xdp_tests[] = {
    {"xdp: look-alikes do not share a verdict", test_look_alikes_do_not_share_a_verdict},
    {"xdp: VLAN tags stay in frames", test_tags_stay_in_frames},
    {"xdp: what GRO has merged is completed", what_gro_has_merged_is_completed},
    {"xdp: datagrams in one packet are left to the kernel", test_datagrams_in_one_packet},
    {"xdp: a kernel without multi-buffer is named", a_kernel_without_multi_buffer_is_named},
    {"xdp: the mode is that of the driver and kernel", the_mode_is_that_of_the_driver},
    {"xdp: busy polling is refused where nothing can be polled", busy_polling_is_refused_where_nothing_can_be_polled},
    {"xdp: the loopback interface has no native mode", loopback_is_generic_only},
    {"xdp: an interface that hides VLAN tags is refused", an_interface_that_hides_tags_is_refused},
    {"xdp: an interface above another is refused", an_interface_above_another_is_refused},
    {"xdp: a driver without zero copy is named", a_driver_without_zero_copy_is_named},
    {"xdp: an interface with too many queues is refused", an_interface_with_too_many_queues_is_refused},
    {"xdp: memory is wanted for the queues that are there", memory_is_wanted_for_the_queues_that_are_there},
    {"xdp: each frame of many queues is seen", test_each_frame_of_many_queues_is_seen},
    {"xdp: frames of all queues are spread over loops by the hash", test_spread},
    {NULL, NULL},
};
