/* SPDX-License-Identifier: Apache-2.0 */
/* See broker_adversary.h. */
#define _GNU_SOURCE
#include "broker_adversary.h"

#include "af_xdp.h"

#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CONNECTIONS = 4, MAX_KEPT = 512, STEPS = 400, RING_BYTES = 4096, ANSWER_MILLIS = 500 };

struct adversary {
    const struct scene *scene;
    const struct wire *wire;
    struct adversary_report *report;
    uint64_t state;
    int connection[CONNECTIONS];        /* or -1 */
    bool is_asked[CONNECTIONS];         /* a reply may be in flight */
    int kept[MAX_KEPT];                 /* descriptors of any kind */
    unsigned kept_count;
    int device[SV_BROKER_MAX_FDS];      /* copies of the descriptors of the last device */
    unsigned device_count;
    uint32_t asked_mode;                /* mode of the last request for a device */
    uint32_t device_mode;
    uint8_t *memory;                    /* memory of the last device */
    size_t memory_bytes;
};

static uint32_t draw(struct adversary *adversary, uint32_t below)
{
    adversary->state ^= adversary->state >> 12;
    adversary->state ^= adversary->state << 25;
    adversary->state ^= adversary->state >> 27;
    return (uint32_t)((adversary->state * UINT64_C(0x2545f4914f6cdd1d)) >> 32) % below;
}

static uint64_t draw_long(struct adversary *adversary)
{
    uint64_t high = draw(adversary, UINT32_MAX);
    return high << draw(adversary, 32) ^ draw(adversary, UINT32_MAX);
}

/* ---- requests ---- */

static void make_rule(struct adversary *adversary, struct sv_broker_rule *rule)
{
    rule->type = draw(adversary, 16) == 0 ? draw(adversary, 5) : IBV_FLOW_ATTR_NORMAL;
    rule->priority = draw(adversary, 24);
    rule->mask.outer.dst_port = draw(adversary, 8) == 0 ? (uint16_t)draw(adversary, 65536) : 0xffff;
    rule->value.outer.dst_port = htons((uint16_t)(ADVERSARY_PORT + draw(adversary, 2)));
    rule->mask.outer.layers = SV_LAYER_TCP | SV_LAYER_UDP;
    rule->value.outer.layers = draw(adversary, 2) ? SV_LAYER_UDP : SV_LAYER_TCP;
    if (draw(adversary, 3) == 0)
        rule->mask.words[draw(adversary, SV_KEY_WORDS)] |= draw_long(adversary);
    if (draw(adversary, 3) == 0)
        rule->value.words[draw(adversary, SV_KEY_WORDS)] ^= draw_long(adversary);
}

static size_t make_request(struct adversary *adversary, uint8_t *bytes)
{
    struct sv_broker_request *request = (struct sv_broker_request *)(void *)bytes;
    memset(request, 0, sizeof *request);
    request->version = SV_BROKER_VERSION;
    const uint32_t resume_each = adversary->device_count > 0 ? 2 : 16;
    request->call = draw(adversary, SV_BROKER_CALL_COUNT + 1);
    if (draw(adversary, 4) == 0)
        request->call = SV_BROKER_OPEN;
    else if (draw(adversary, resume_each) == 0)
        request->call = SV_BROKER_RESUME;
    request->sequence = draw(adversary, 4);
    if (request->call == SV_BROKER_OPEN) {
        strcpy(request->open.netdev, draw(adversary, 8) == 0 ? "lo" : adversary->wire->name[0]);
        request->open.mode = draw(adversary, SV_BROKER_MODE_COUNT);
        request->open.mtu = draw(adversary, 2) ? 1500 : draw(adversary, 20000);
        request->open.multi_buffer = draw(adversary, 2);
        adversary->asked_mode = request->open.mode;
    } else if (request->call == SV_BROKER_ADD_RULE || request->call == SV_BROKER_REMOVE_RULE) {
        make_rule(adversary, &request->rule);
    } else if (request->call == SV_BROKER_SOLICIT) {
        request->solicit.ifindex = if_nametoindex(adversary->wire->name[draw(adversary, 2)]);
        request->solicit.family = draw(adversary, 2) ? AF_INET : AF_INET6;
        memcpy(request->solicit.address, (uint8_t[]){198, 18, 1, (uint8_t)draw(adversary, 256)}, 4);
    } else if (request->call == SV_BROKER_ATTACH_FILTER) {
        request->filter.instruction_count = draw(adversary, 3);
    } else if (request->call == SV_BROKER_RESUME) {
        strcpy(request->resume.open.netdev, adversary->wire->name[draw(adversary, 8) == 0]);
        request->resume.open.mode = draw(adversary, 8) ? adversary->device_mode : draw(adversary, SV_BROKER_MODE_COUNT);
        request->resume.open.mtu = 1500;
        request->resume.queue_count = draw(adversary, 8) == 0 ? draw(adversary, 100) : 2;
    }
    if (draw(adversary, 16) == 0)
        bytes[draw(adversary, sizeof *request)] ^= (uint8_t)(1u << draw(adversary, 8));
    return draw(adversary, 16) == 0 ? draw(adversary, sizeof *request + 64) : sizeof *request;
}

static int some_kept(struct adversary *adversary)
{
    return adversary->kept_count == 0 ? -1 : adversary->kept[draw(adversary, adversary->kept_count)];
}

/* The descriptors of the last device, or a mixture with others, perhaps too many, too few or the same one again. */
static unsigned choose_passed(struct adversary *adversary, int passed[SV_BROKER_RESUME_MAX_FDS])
{
    enum { QUEUES = 2 };
    unsigned count = SV_BROKER_RESUME_SOCKETS + SV_BPF_SOCKETS_PER_QUEUE * QUEUES;
    if (draw(adversary, 4) == 0)
        count = draw(adversary, SV_BROKER_RESUME_MAX_FDS + 1);
    for (unsigned i = 0; i < count; i++)
        passed[i] = some_kept(adversary);
    if (adversary->device_count > 0)
        (void)passed_to_resume(adversary->device, adversary->device_count, passed);
    bool is_mixed = draw(adversary, 2);
    for (unsigned i = 0; is_mixed && i < count; i++)
        if (draw(adversary, 4) == 0)
            passed[i] = some_kept(adversary);
    return count;
}

/* A descriptor that is closed by now makes the call fail. */
static void send_resuming(struct adversary *adversary, int fd, const uint8_t *bytes, size_t length)
{
    int passed[SV_BROKER_RESUME_MAX_FDS];
    unsigned count = choose_passed(adversary, passed);
    if (count > 0)
        (void)send_passing_all(fd, bytes, length, passed, count);
}

static void send_something(struct adversary *adversary, int fd)
{
    static alignas(8) uint8_t bytes[sizeof(struct sv_broker_request) + 64];
    size_t length = make_request(adversary, bytes);
    if (((const struct sv_broker_request *)(const void *)bytes)->call == SV_BROKER_RESUME) {
        send_resuming(adversary, fd, bytes, length);
        return;
    }
    int passed = draw(adversary, 8) == 0 ? some_kept(adversary) : -1;
    if (passed >= 0)
        (void)send_passing(fd, bytes, length, passed);
    else
        (void)!send(fd, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* ---- replies ---- */

static void keep(struct adversary *adversary, int fd)
{
    if (adversary->kept_count == MAX_KEPT) {
        unsigned at = draw(adversary, MAX_KEPT);
        close(adversary->kept[at]);
        adversary->kept[at] = fd;
    } else {
        adversary->kept[adversary->kept_count++] = fd;
    }
}

static void map_memory(struct adversary *adversary, int fd)
{
    off_t bytes = lseek(fd, 0, SEEK_END);
    if (bytes <= 0)
        return;
    void *memory = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED)
        return;
    if (adversary->memory != NULL)
        munmap(adversary->memory, adversary->memory_bytes);
    adversary->memory = memory;
    adversary->memory_bytes = (size_t)bytes;
}

/* While it has the link, the interface has a program, and no other device can be opened. */
static void drop_device(struct adversary *adversary)
{
    close_fds(adversary->device, adversary->device_count);
    adversary->device_count = 0;
}

/* Keeps copies, because the adversary closes descriptors at random. */
static void keep_device(struct adversary *adversary, unsigned count)
{
    drop_device(adversary);
    for (unsigned i = 0; i < count; i++)
        adversary->device[i] = dup(adversary->kept[adversary->kept_count - count + i]);
    adversary->device_count = count;
    adversary->device_mode = adversary->asked_mode;
}

static void receive(struct adversary *adversary, unsigned which, int flags)
{
    alignas(struct cmsghdr) char control[CMSG_SPACE(SV_BROKER_MAX_FDS * sizeof(int))];
    struct sv_broker_reply reply;
    struct iovec part = {&reply, sizeof reply};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control,
                             .msg_controllen = sizeof control};
    int fd = adversary->connection[which];
    struct pollfd wanted = {.fd = fd, .events = POLLIN};
    memset(&reply, 0, sizeof reply);
    (void)poll(&wanted, 1, adversary->is_asked[which] && draw(adversary, 8) > 0 ? ANSWER_MILLIS : 0);
    adversary->is_asked[which] = false;
    if (recvmsg(fd, &message, flags | MSG_DONTWAIT | MSG_CMSG_CLOEXEC) <= 0)
        return;
    adversary->report->rules += reply.error == 0;
    struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
    if (rights == NULL)
        return;
    unsigned count = (unsigned)((rights->cmsg_len - CMSG_LEN(0)) / sizeof(int));
    for (unsigned i = 0; i < count; i++) {
        int received;
        memcpy(&received, CMSG_DATA(rights) + i * sizeof received, sizeof received);
        if (i == SV_BROKER_FD_MEMORY)
            map_memory(adversary, received);
        keep(adversary, received);
    }
    if (count <= SV_BROKER_FD_SOCKETS)
        adversary->report->resumed++;
    else if (adversary->kept_count < MAX_KEPT)
        keep_device(adversary, count);
    adversary->report->devices++;
}

/* ---- calls on descriptors ---- */

static bool is_xdp(int fd)
{
    int domain = 0;
    socklen_t size = sizeof domain;
    return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_XDP;
}

static void change_socket(struct adversary *adversary, int fd)
{
    const uint32_t entries = 1u << draw(adversary, 27);
    static const int rings[] = {XDP_RX_RING, XDP_TX_RING, XDP_UMEM_FILL_RING, XDP_UMEM_COMPLETION_RING};
    const struct xdp_umem_reg umem = {.addr = (uintptr_t)adversary->memory, .len = adversary->memory_bytes,
                                      .chunk_size = draw(adversary, 2) ? 2048 : 4096};
    const struct sockaddr_xdp address = {.sxdp_family = AF_XDP, .sxdp_flags = (uint16_t)draw(adversary, 32),
                                         .sxdp_ifindex = if_nametoindex(adversary->wire->name[draw(adversary, 2)]),
                                         .sxdp_queue_id = draw(adversary, 3),
                                         .sxdp_shared_umem_fd = (uint32_t)some_kept(adversary)};
    if (!is_xdp(fd))
        return;
    if (setsockopt(fd, SOL_XDP, rings[draw(adversary, 4)], &entries, sizeof entries) == 0)
        adversary->report->has_made_ring = true;
    if (setsockopt(fd, SOL_XDP, XDP_UMEM_REG, &umem, sizeof umem) == 0)
        adversary->report->has_registered_memory = true;
    if (bind(fd, (const struct sockaddr *)&address, sizeof address) == 0)
        adversary->report->has_bound = true;
    if (setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, "", 0) == 0)
        adversary->report->has_left_interface = true;
}

static void change_memory(struct adversary *adversary, int fd)
{
    if (fcntl(fd, F_GET_SEALS) <= 0)
        return;
    if (ftruncate(fd, (off_t)draw(adversary, 1u << 30)) == 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE) == 0)
        adversary->report->has_resized_memory = true;
    if (draw(adversary, 4) == 0)
        (void)fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, draw(adversary, 1u << 24));
}

/* Writes random indexes and descriptors to a ring. */
static void scribble(struct adversary *adversary, int fd)
{
    static const uint64_t pages[] = {XDP_PGOFF_RX_RING, XDP_PGOFF_TX_RING, XDP_UMEM_PGOFF_FILL_RING,
                                     XDP_UMEM_PGOFF_COMPLETION_RING, 0};
    uint64_t page = pages[draw(adversary, 5)];
    uint32_t *ring = mmap(NULL, RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)page);
    if (ring == MAP_FAILED)
        return;
    for (uint32_t i = draw(adversary, 64); i > 0; i--)
        ring[draw(adversary, RING_BYTES / sizeof *ring)] = draw(adversary, draw(adversary, 2) ? 4096 : UINT32_MAX);
    munmap(ring, RING_BYTES);
}

static void use_bpf(struct adversary *adversary, int fd)
{
    static const int commands[] = {BPF_MAP_UPDATE_ELEM, BPF_MAP_DELETE_ELEM, BPF_MAP_FREEZE, BPF_LINK_DETACH,
                                   BPF_LINK_UPDATE, BPF_MAP_LOOKUP_ELEM};
    static uint64_t buffer[4096];
    union bpf_attr attr;
    int command = commands[draw(adversary, 6)];
    memset(&attr, 0, sizeof attr);
    attr.map_fd = (uint32_t)fd;         /* the first field for links too */
    if (command != BPF_LINK_DETACH && command != BPF_MAP_FREEZE) {
        attr.key = (uintptr_t)&buffer[0];
        attr.value = (uintptr_t)&buffer[1];
    }
    (void)syscall(SYS_bpf, command, &attr, sizeof attr);
}

static void look_for_secret(struct adversary *adversary)
{
    if (adversary->memory != NULL && memmem(adversary->memory, adversary->memory_bytes, ADVERSARY_SECRET,
                                            strlen(ADVERSARY_SECRET)) != NULL)
        adversary->report->has_seen_secret = true;
}

static void use_descriptor(struct adversary *adversary)
{
    if (adversary->kept_count == 0)
        return;
    unsigned at = draw(adversary, adversary->kept_count);
    int fd = adversary->kept[at];
    switch (draw(adversary, 7)) {
    case 0:
        change_socket(adversary, fd);
        break;
    case 1:
        change_memory(adversary, fd);
        break;
    case 2:
        scribble(adversary, fd);
        (void)!sendto(fd, NULL, 0, MSG_DONTWAIT | MSG_NOSIGNAL, NULL, 0);
        break;
    case 3:
        use_bpf(adversary, fd);
        break;
    case 4:
        (void)!recvfrom(fd, NULL, 0, MSG_DONTWAIT, NULL, NULL);
        break;
    case 5:
        look_for_secret(adversary);
        break;
    default:
        close(fd);
        adversary->kept[at] = adversary->kept[--adversary->kept_count];
    }
}

/* ---- life ---- */

static int connect_once(const struct scene *scene)
{
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&scene->address, sizeof scene->address) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static void step(struct adversary *adversary)
{
    unsigned which = draw(adversary, CONNECTIONS);
    if (draw(adversary, 64) == 0)
        drop_device(adversary);
    int *fd = &adversary->connection[which];
    if (*fd < 0) {
        *fd = connect_once(adversary->scene);
        return;
    }
    switch (draw(adversary, 32)) {
    case 0:
        close(*fd);
        *fd = -1;
        break;
    case 1:
        (void)shutdown(*fd, draw(adversary, 2) ? SHUT_WR : SHUT_RDWR);
        break;
    case 2:
        keep(adversary, *fd);       /* half open, perhaps with a message that nobody reads */
        *fd = -1;
        break;
    case 3:
        receive(adversary, which, MSG_PEEK);
        break;
    case 4:
        sched_yield();
        break;
    default:
        if (draw(adversary, 2)) {
            send_something(adversary, *fd);
            adversary->is_asked[which] = true;
        }
        if (draw(adversary, 2))
            receive(adversary, which, 0);
        for (uint32_t i = draw(adversary, 8); i > 0; i--)
            use_descriptor(adversary);
    }
}

/* Closes the descriptors of the broker, which runs in the process that forked this one. */
static void give_up_rights(void)
{
    (void)syscall(SYS_close_range, STDERR_FILENO + 1, ~0u, 0);
    CHECK_EQ(0, prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0));
    CHECK_EQ(0, syscall(SYS_setgroups, 0, NULL));
    CHECK_EQ(0, syscall(SYS_setresgid, ADVERSARY_UID, ADVERSARY_UID, ADVERSARY_UID));
    CHECK_EQ(0, syscall(SYS_setresuid, ADVERSARY_UID, ADVERSARY_UID, ADVERSARY_UID));
    CHECK_EQ(0, prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0));
}

void adversary_run(const struct scene *scene, const struct wire *wire, struct adversary_report *report, uint32_t seed)
{
    static struct adversary adversary;
    adversary.scene = scene;
    adversary.wire = wire;
    adversary.report = report;
    adversary.state = (uint64_t)seed * 2 + 1;
    for (int i = 0; i < CONNECTIONS; i++)
        adversary.connection[i] = -1;
    give_up_rights();
    (void)signal(SIGBUS, SIG_DFL);      /* also with sanitizers: mapped files may lack pages */
    for (int i = 0; i < STEPS; i++)
        step(&adversary);
    look_for_secret(&adversary);
    _exit(EXIT_SUCCESS);
}
