/* SPDX-License-Identifier: Apache-2.0 */
/*
 * eBPF programs of other software on the interface: an XDP program like those of libxdp's dispatcher, Suricata and
 * firewalls, and tc programs in Cilium's order.
 */
#define _GNU_SOURCE
#include "wire_fixture.h"

#include "af_xdp.h"
#include "bpf.h"

#include <linux/capability.h>
#include <linux/if_link.h>
#include <linux/if_packet.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PASS_TO_KERNEL = 0, TCX_INGRESS = 46, CAPABILITY_BPF = 39 };

/* ---- their programs ---- */

/* Loads a program that returns the same value for each frame. */
static int load(enum bpf_prog_type type, const char *name, int answer)
{
    struct bpf_insn code[] = {{.code = BPF_ALU64 | BPF_MOV | BPF_K, .imm = answer}, {.code = BPF_JMP | BPF_EXIT}};
    union bpf_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.prog_type = type;
    attr.insns = sv_ptr_to_u64(code);
    attr.insn_cnt = sizeof code / sizeof code[0];
    attr.license = sv_ptr_to_u64("Apache-2.0");
    snprintf(attr.prog_name, sizeof attr.prog_name, "%s", name);
    int program = sv_bpf(BPF_PROG_LOAD, &attr);
    CHECK(program >= 0);
    return program;
}

static int link_to(int program, const char *netdev, uint32_t type, uint32_t flags)
{
    union bpf_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.link_create.prog_fd = (uint32_t)program;
    attr.link_create.target_ifindex = if_nametoindex(netdev);
    attr.link_create.attach_type = type;
    attr.link_create.flags = flags;
    int link = sv_bpf(BPF_LINK_CREATE, &attr);
    CHECK(link >= 0);
    close(program);
    return link;
}

/* Attaches with netlink, as libxdp attaches its dispatcher. `program` -1 removes it. */
static void set_by_netlink(int program, const char *netdev)
{
    struct {
        struct nlmsghdr header;
        struct ifinfomsg link;
        struct rtattr xdp, fd_header;
        int32_t fd;
        struct rtattr flags_header;
        uint32_t flags;
    } request = {
        .header = {.nlmsg_len = sizeof request, .nlmsg_type = RTM_SETLINK, .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK},
        .link = {.ifi_index = (int)if_nametoindex(netdev)},
        .xdp = {.rta_len = 20, .rta_type = NLA_F_NESTED | IFLA_XDP},
        .fd_header = {.rta_len = 8, .rta_type = IFLA_XDP_FD}, .fd = program,
        .flags_header = {.rta_len = 8, .rta_type = IFLA_XDP_FLAGS}, .flags = XDP_FLAGS_SKB_MODE,
    };
    struct {
        struct nlmsghdr header;
        struct nlmsgerr error;
        uint8_t rest[1024];
    } answer;
    int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
    CHECK(fd >= 0);
    CHECK_EQ(sizeof request, send(fd, &request, sizeof request, 0));
    CHECK(recv(fd, &answer, sizeof answer, 0) >= (ssize_t)NLMSG_LENGTH(sizeof answer.error));
    CHECK_EQ(0, answer.error.error);
    close(fd);
}

static int attach_by_netlink(const char *netdev)
{
    int program = load(BPF_PROG_TYPE_XDP, "xdp_dispatcher", XDP_PASS);
    set_by_netlink(program, netdev);
    return program;
}

static int attach_in_generic_mode(const char *netdev)
{
    return link_to(load(BPF_PROG_TYPE_XDP, "firewall", XDP_PASS), netdev, BPF_XDP, XDP_FLAGS_SKB_MODE);
}

static int attach_in_the_driver(const char *netdev)
{
    return link_to(load(BPF_PROG_TYPE_XDP, "cil_xdp_entry", XDP_PASS), netdev, BPF_XDP, XDP_FLAGS_DRV_MODE);
}

/* Suricata also binds a socket to each queue. The descriptor stands for program and socket. */
static int attach_with_a_socket(const char *netdev)
{
    const struct sockaddr_xdp address = {.sxdp_family = AF_XDP, .sxdp_flags = XDP_COPY,
                                         .sxdp_ifindex = if_nametoindex(netdev)};
    const uint32_t entries = 64;
    struct xdp_umem_reg umem = {.len = 64 * 4096, .chunk_size = 4096};
    void *memory = mmap(NULL, umem.len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    umem.addr = (uintptr_t)memory;
    int fd = socket(AF_XDP, SOCK_RAW, 0);
    CHECK(fd >= 0);
    CHECK_EQ(0, setsockopt(fd, SOL_XDP, XDP_UMEM_REG, &umem, sizeof umem));
    CHECK_EQ(0, setsockopt(fd, SOL_XDP, XDP_UMEM_FILL_RING, &entries, sizeof entries));
    CHECK_EQ(0, setsockopt(fd, SOL_XDP, XDP_UMEM_COMPLETION_RING, &entries, sizeof entries));
    CHECK_EQ(0, setsockopt(fd, SOL_XDP, XDP_RX_RING, &entries, sizeof entries));
    CHECK_EQ(0, bind(fd, (const struct sockaddr *)&address, sizeof address));
    int program = load(BPF_PROG_TYPE_XDP, "xsk_def_prog", XDP_PASS);
    set_by_netlink(program, netdev);
    close(program);
    return fd;
}

/* Attaches as Cilium does: at the end of the list, with a verdict that ends the list. */
static int attach_cilium(const char *netdev)
{
    return link_to(load(BPF_PROG_TYPE_SCHED_CLS, "cil_from_netdev", PASS_TO_KERNEL), netdev, TCX_INGRESS, 0);
}

/* ---- listing programs ---- */

struct programs {
    struct softverbs_program program[8];
    int count;
};

static struct programs programs_of(const char *netdev)
{
    struct programs programs;
    programs.count = softverbs_query_programs(netdev, programs.program, 8);
    CHECK(programs.count >= 0);
    return programs;
}

static void check_program(const struct programs *programs, int number, uint32_t place, const char *name)
{
    CHECK(number < programs->count);
    CHECK_EQ(place, programs->program[number].attach_point);
    CHECK(programs->program[number].id != 0);
    CHECK_EQ(0, strcmp(name, programs->program[number].name));
}

/* ---- XDP ---- */

static struct ibv_device *device_on(const struct wire *wire, int end)
{
    char name[32];
    snprintf(name, sizeof name, "xdp:%s", wire->name[end]);
    int added = softverbs_add_device(name);
    CHECK(added == 0 || added == EEXIST);
    return find_device(name);
}

static void check_refused(const struct wire *wire, const char *why)
{
    struct ibv_device *device = device_on(wire, 1);
    CHECK_FAILS(EBUSY, ibv_open_device(device));
    if (strstr(softverbs_open_error(device), why) == NULL)
        test_failed(__FILE__, __LINE__, "not '%s': %s", why, softverbs_open_error(device));
}

static void pass_one(struct wire *wire, int from)
{
    struct side *receiver = &wire->side[1 - from];
    struct ibv_flow *flow = udp_rule(receiver, 2000);
    struct frame_spec spec = default_frame();
    uint8_t frame[2048];
    uint32_t length = build_frame(&spec, frame);
    CHECK_EQ(0, post_recv_slot(receiver, 0, SLOT_BYTES));
    CHECK_EQ(0, send_frame(&wire->side[from], frame, length, IBV_SEND_SIGNALED));
    CHECK_EQ(IBV_WC_SUCCESS, wait_one(wire->side[from].cq).status);
    struct ibv_wc wc = wait_one(receiver->cq);
    CHECK_EQ(IBV_WC_SUCCESS, wc.status);
    CHECK_EQ(length, wc.byte_len);
    CHECK_EQ(0, ibv_destroy_flow(flow));
}

static void works_beside(int (*put)(const char *netdev), const char *name, uint32_t place)
{
    struct wire wire;
    char sentence[96];
    link_open(&wire, 1500, 1);
    int other = put(wire.name[1]);
    struct programs programs = programs_of(wire.name[1]);
    CHECK_EQ(1, programs.count);
    check_program(&programs, 0, place, name);
    wire_open_on(&wire, "xdp");
    snprintf(sentence, sizeof sentence, "mode tap, because generic is not available: '%s' has the XDP program '%s' "
             "(id %u)", wire.name[1], name, programs.program[0].id);
    if (strstr(softverbs_mode(wire.world[1].context), sentence) == NULL)
        test_failed(__FILE__, __LINE__, "not '%s': %s", sentence, softverbs_mode(wire.world[1].context));
    CHECK(strstr(softverbs_mode(wire.world[0].context), "mode generic") != NULL);
    pass_one(&wire, 0);
    pass_one(&wire, 1);
    wire_close(&wire);
    close(other);
}

static void test_xdp_programs(void)
{
    if (!have_namespace() || !is_linux_6_6())
        return;
    works_beside(attach_in_generic_mode, "firewall", SOFTVERBS_PROGRAM_XDP_GENERIC);
    works_beside(attach_in_the_driver, "cil_xdp_entry", SOFTVERBS_PROGRAM_XDP_DRIVER);
    works_beside(attach_by_netlink, "xdp_dispatcher", SOFTVERBS_PROGRAM_XDP_GENERIC);
    works_beside(attach_with_a_socket, "xsk_def_prog", SOFTVERBS_PROGRAM_XDP_GENERIC);
}

/* A named mode is used or fails. The error names the program and both reasons. */
static void test_refusals(void)
{
    struct wire wire;
    char sentence[96];
    if (!have_namespace() || !is_linux_6_6())
        return;
    link_open(&wire, 1500, 1);
    int other = attach_in_generic_mode(wire.name[1]);
    struct programs programs = programs_of(wire.name[1]);
    snprintf(sentence, sizeof sentence, "'%s' has the XDP program 'firewall' (id %u): SOFTVERBS_XDP_MODE=tap",
             wire.name[1], programs.program[0].id);
    CHECK_EQ(0, setenv("SOFTVERBS_XDP_MODE", "generic", 1));
    check_refused(&wire, sentence);
    CHECK_EQ(0, setenv("SOFTVERBS_XDP_MODE", "native", 1));
    check_refused(&wire, sentence);
    CHECK_EQ(0, unsetenv("SOFTVERBS_XDP_MODE"));
    CHECK_EQ(0, setenv("SOFTVERBS_XDP_BUSY_POLL", "on", 1));
    snprintf(sentence, sizeof sentence, "'firewall' (id %u), and mode tap is not available beside it: ",
             programs.program[0].id);
    check_refused(&wire, sentence);
    CHECK_EQ(0, unsetenv("SOFTVERBS_XDP_BUSY_POLL"));
    close(other);
    link_close(&wire);
}

static int of_ended_process;
static unsigned pauses;

static void end_process(void)
{
    if (++pauses == 3)
        close(of_ended_process);
}

static void check_waits(const struct wire *wire)
{
    struct ibv_device *device = device_on(wire, 1);
    instead_of_pauses = end_process;
    pauses = 0;
    struct ibv_context *context = ibv_open_device(device);
    instead_of_pauses = NULL;
    if (context == NULL)
        test_failed(__FILE__, __LINE__, "%s", softverbs_open_error(device));
    CHECK_EQ(3, pauses);
    CHECK(strstr(softverbs_mode(context), "mode generic") != NULL);
    CHECK_EQ(0, ibv_close_device(context));
}

static void pause_no_longer(void)
{
}

/*
 * The program belongs to a process of this project that has just ended. It does not make the next one choose mode tap.
 */
static void test_the_program_of_a_process_that_has_just_ended_is_waited_for(void)
{
    struct wire wire;
    if (!have_namespace())
        return;
    link_open(&wire, 1500, 1);
    of_ended_process = link_to(load(BPF_PROG_TYPE_XDP, "rdma_raw_xdp", XDP_PASS), wire.name[1], BPF_XDP,
                               XDP_FLAGS_SKB_MODE);
    instead_of_pauses = pause_no_longer;
    check_refused(&wire, "end the process that holds it");
    check_waits(&wire);
    link_close(&wire);
}

static bool opens_without_sys_admin(const struct wire *wire)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
    struct softverbs_program program;
    memset(data, 0, sizeof data);
    data[0].effective = data[0].permitted = 1u << CAP_NET_RAW | 1u << CAP_NET_ADMIN | 1u << CAP_IPC_LOCK;
    data[1].effective = data[1].permitted = 1u << (CAPABILITY_BPF - 32);
    if (syscall(SYS_capset, &header, data) != 0 || softverbs_query_programs(wire->name[1], &program, 1) != 1 ||
        program.name[0] != '\0' || program.id == 0)
        return false;
    instead_of_pauses = pause_no_longer;
    struct ibv_context *context = ibv_open_device(device_on(wire, 1));
    return context != NULL && strstr(softverbs_mode(context), "has the XDP program id ") != NULL &&
           strstr(softverbs_mode(context), "mode tap") != NULL;
}

/* CAP_SYS_ADMIN, which nothing else needs, allows reading the names. */
static void test_without_names(void)
{
    struct wire wire;
    int status;
    if (!have_namespace() || !is_linux_6_17())
        return;
    link_open(&wire, 1500, 1);
    int other = attach_in_generic_mode(wire.name[1]);
    fflush(stdout);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0)
        _exit(opens_without_sys_admin(&wire) ? 0 : 1);
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
    CHECK_EQ(0, WEXITSTATUS(status));
    close(other);
    link_close(&wire);
}

/* ---- tc ---- */

/* Cilium's program may be attached before or after ours. */
static void frames_come_before_cilium(const char *kind)
{
    for (int early = 0; early < 2; early++) {
        struct wire wire;
        link_open(&wire, 1500, 1);
        int cilium = early ? attach_cilium(wire.name[1]) : -1;
        wire_open_on(&wire, kind);
        if (!early)
            cilium = attach_cilium(wire.name[1]);
        struct programs programs = programs_of(wire.name[1]);
        CHECK_EQ(2, programs.count);
        CHECK_EQ(0, strncmp(programs.program[0].name, "rdma_raw_", 9));
        check_program(&programs, 1, SOFTVERBS_PROGRAM_TC, "cil_from_netdev");
        pass_one(&wire, 0);
        pass_one(&wire, 1);
        wire_close(&wire);
        close(cilium);
    }
}

/* If Cilium's program passed the frames first, the kernel would answer frames that a packet socket also gives to us. */
static void the_kernel_stays_quiet(const char *kind)
{
    struct wire wire;
    const struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(2000)};
    char byte;
    link_open(&wire, 1500, 1);
    run("ip link set %s address 02:00:00:00:00:0b", wire.name[1]);
    run("ip addr add 192.0.2.2/24 dev %s", wire.name[1]);
    int cilium = attach_cilium(wire.name[1]);
    int kernel = socket(AF_INET, SOCK_DGRAM, 0);
    CHECK(kernel >= 0);
    CHECK_EQ(0, bind(kernel, (const struct sockaddr *)&address, sizeof address));
    wire_open_on(&wire, kind);
    pass_one(&wire, 0);
    CHECK_EQ(-1, recv(kernel, &byte, 1, MSG_DONTWAIT));
    close(kernel);
    wire_close(&wire);
    close(cilium);
}

static void test_our_tc_program_runs_before_ciliums(void)
{
    if (!have_namespace() || !is_linux_6_6())
        return;
    with_xdp_mode("tap", frames_come_before_cilium);
    frames_come_before_cilium("packet");
    the_kernel_stays_quiet("packet");
}

static pid_t open_in_a_process(const struct wire *wire)
{
    int ready[2];
    char byte = 0;
    CHECK_EQ(0, pipe(ready));
    fflush(stdout);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);     /* ends the child if the test fails */
        byte = ibv_open_device(device_on(wire, 1)) != NULL ? 'y' : 'n';
        (void)!write(ready[1], &byte, 1);
        for (;;)
            pause();
    }
    close(ready[1]);        /* so that reading ends with the child */
    CHECK_EQ(1, read(ready[0], &byte, 1));
    CHECK_EQ('y', byte);
    close(ready[0]);
    return child;
}

static void end_of(pid_t child)
{
    CHECK_EQ(0, kill(child, SIGKILL));
    CHECK(waitpid(child, NULL, 0) == child);
}

/* Among processes of this project, the first one keeps its frames, as it passes them on in a rolling restart. */
static void the_first_process_stays_first(const char *kind)
{
    struct wire wire;
    (void)kind;
    link_open(&wire, 1500, 1);
    int cilium = attach_cilium(wire.name[1]);
    pid_t first = open_in_a_process(&wire);
    struct programs one = programs_of(wire.name[1]);
    CHECK_EQ(2, one.count);
    pid_t second = open_in_a_process(&wire);
    struct programs two = programs_of(wire.name[1]);
    CHECK_EQ(3, two.count);
    CHECK_EQ(one.program[0].id, two.program[0].id);
    check_program(&two, 2, SOFTVERBS_PROGRAM_TC, "cil_from_netdev");
    end_of(first);
    end_of(second);
    close(cilium);
    link_close(&wire);
}

static void test_order(void)
{
    if (have_namespace() && is_linux_6_6())
        with_xdp_mode("tap", the_first_process_stays_first);
}

const struct test other_program_tests[] = {
    {"other programs: frames pass in mode tap beside an XDP program", test_xdp_programs},
    {"other programs: a refusal names the program", test_refusals},
    {"other programs: the program of a process that has just ended is waited for",
     test_the_program_of_a_process_that_has_just_ended_is_waited_for},
    {"other programs: their names need CAP_SYS_ADMIN, and nothing else does", test_without_names},
    {"other programs: our tc program runs before Cilium's", test_our_tc_program_runs_before_ciliums},
    {"other programs: the first process stays first", test_order},
    {NULL, NULL},
};
