/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random messages for the broker, and random policies for its parser, with sanitizers:
 *   broker-fuzz [--seconds S] [--seed N]
 *
 * The same seed produces the same input. As root it creates a network namespace with a veth pair, so that devices are
 * opened too. It checks that no sanitizer complains, that each message has one sound reply, and that no descriptor and
 * no client remains.
 */
#define _GNU_SOURCE
#include "journal.h"
#include "server.h"
#include "session.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { CLIENTS = 8, ROUND = 512, OPEN_EACH = 64, MAX_LINES = 12 };

#define MUST(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "broker-fuzz: %s:%d: %s\n", __FILE__, __LINE__, #condition); \
            abort(); \
        } \
    } while (0)

void journal(const char *format, ...)
{
    (void)format;
}

static uint64_t state;

/* xorshift64* */
static uint32_t draw(uint32_t below)
{
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return (uint32_t)((state * UINT64_C(0x2545f4914f6cdd1d)) >> 32) % below;
}

static void spoil(uint8_t *bytes, size_t length)
{
    for (uint32_t i = draw(4); i > 0 && length > 0; i--)
        bytes[draw((uint32_t)length)] ^= (uint8_t)(1u << draw(8));
}

static unsigned descriptors(void)
{
    unsigned count = 0;
    DIR *directory = opendir("/proc/self/fd");
    MUST(directory != NULL);
    while (readdir(directory) != NULL)
        count++;
    closedir(directory);
    return count;
}

/* The time in milliseconds, one per step, so that the speed of the machine does not matter. */
static int64_t steps;

static int64_t step_clock(void)
{
    return steps;
}

/* ---- messages ---- */

struct scene {
    struct server *server;
    struct policy policy;
    int listener;
    struct sockaddr_un address;
    socklen_t address_bytes;
    int client[CLIENTS];            /* or -1 */
    bool is_ending[CLIENTS];        /* its message was refused as invalid, which ends the connection */
    unsigned long opened;
    unsigned long resumed;
    unsigned long agreed;           /* number of granted requests */
    int passed[3];
    int device[SV_BROKER_MAX_FDS];  /* descriptors of the last device */
    unsigned device_count;
    bool confined;                  /* sessions run under their filters of system calls */
};

static size_t make_request(uint8_t *bytes)
{
    struct sv_broker_request *request = (struct sv_broker_request *)bytes;
    size_t length = sizeof *request;
    memset(bytes, 0, sizeof *request);
    request->version = SV_BROKER_VERSION;
    request->call = draw(OPEN_EACH) == 0 ? SV_BROKER_OPEN : SV_BROKER_ADD_RULE + draw(SV_BROKER_CALL_COUNT);
    if (request->call == SV_BROKER_OPEN) {
        strcpy(request->open.netdev, "fuzz0");
        request->open.mode = draw(3);
        request->open.mtu = 1500;
        request->open.multi_buffer = draw(2);
    } else if (request->call == SV_BROKER_ADD_RULE || request->call == SV_BROKER_REMOVE_RULE) {
        request->rule.priority = draw(3);
        request->rule.mask.outer.dst_port = 0xffff;
        request->rule.value.outer.dst_port = htons((uint16_t)(2000 + draw(4)));
        request->rule.mask.outer.layers = request->rule.value.outer.layers = draw(2) ? SV_LAYER_UDP : SV_LAYER_TCP;
    } else if (request->call == SV_BROKER_ATTACH_FILTER) {
        struct sock_filter *code = (struct sock_filter *)(bytes + sizeof *request);
        request->filter.instruction_count = 1 + draw(8);
        for (uint32_t i = 0; i < request->filter.instruction_count; i++)
            code[i] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, draw(2) ? 0 : UINT32_MAX);
        length += request->filter.instruction_count * sizeof *code;
    } else if (request->call == SV_BROKER_RESUME) {
        strcpy(request->resume.open.netdev, "fuzz0");
        request->resume.open.mode = draw(2);
        request->resume.open.mtu = 1500;
        request->resume.queue_count = 1;
    } else if (request->call == SV_BROKER_SOLICIT) {
        request->solicit.ifindex = draw(4);
        request->solicit.family = draw(2) ? AF_INET : AF_INET6;
        request->solicit.address[0] = (uint8_t)draw(256);
    }
    if (draw(3) == 0)
        spoil(bytes, length);
    return draw(16) == 0 ? draw(SESSION_MAX_MESSAGE_BYTES + 1) : length;
}

static uint32_t call_of(const uint8_t *bytes)
{
    return ((const struct sv_broker_request *)(const void *)bytes)->call;
}

/* Stores descriptors for a message. Those of a device may be the wrong ones, and too few. */
static unsigned choose_passed(const struct scene *scene, uint32_t call, int passed[SV_BROKER_RESUME_MAX_FDS])
{
    const unsigned sockets = scene->device_count - SV_BROKER_FD_SOCKETS;
    if (call != SV_BROKER_RESUME || scene->device_count == 0) {
        memcpy(passed, scene->passed, sizeof scene->passed);
        return draw(call == SV_BROKER_ATTACH_FILTER ? 2 : 8) == 0 ? 1 + draw(3) : 0;
    }
    passed[SV_BROKER_RESUME_LINK] = scene->device[SV_BROKER_FD_XDP_LINK];
    for (int i = 0; i < SV_TRAFFIC_MAP_COUNT; i++)
        passed[SV_BROKER_RESUME_MAPS + i] = scene->device[SV_BROKER_FD_MAPS + i];
    for (unsigned i = 0; i < sockets; i++)
        passed[SV_BROKER_RESUME_SOCKETS + i] = scene->device[SV_BROKER_FD_SOCKETS + i];
    if (draw(4) == 0)
        passed[draw(SV_BROKER_RESUME_SOCKETS + sockets)] = scene->device[draw(scene->device_count)];
    return draw(8) == 0 ? draw(SV_BROKER_RESUME_SOCKETS + sockets) : SV_BROKER_RESUME_SOCKETS + sockets;
}

/* Returns the number of bytes sent, or a negative errno. */
static ssize_t send_some(const struct scene *scene, int fd)
{
    static alignas(8) uint8_t bytes[SESSION_MAX_MESSAGE_BYTES + 64];
    int passed[SV_BROKER_RESUME_MAX_FDS];
    size_t length = make_request(bytes);
    unsigned fds = choose_passed(scene, call_of(bytes), passed);
    return send_with_fds(fd, bytes, length, passed, fds, MSG_DONTWAIT) ? (ssize_t)length : -errno;
}

static void close_device(struct scene *scene)
{
    for (unsigned i = 0; i < scene->device_count; i++)
        close(scene->device[i]);
    scene->device_count = 0;
}

/* Keeps the descriptors of a device, in place of those of the last one. The reply for a resumed device has only one. */
static void take_received(struct scene *scene, struct msghdr *message)
{
    struct cmsghdr *part = CMSG_FIRSTHDR(message);
    if (part == NULL)
        return;
    size_t bytes = part->cmsg_len - CMSG_LEN(0);
    int fds[SV_BROKER_MAX_FDS];
    MUST(bytes <= sizeof fds);
    memcpy(fds, CMSG_DATA(part), bytes);
    if (bytes == sizeof(int)) {
        close(fds[0]);
        scene->resumed++;
        return;
    }
    close_device(scene);
    scene->device_count = (unsigned)(bytes / sizeof(int));
    memcpy(scene->device, fds, bytes);
}

static void end_client(struct scene *scene, unsigned which)
{
    close(scene->client[which]);
    scene->client[which] = -1;
    scene->is_ending[which] = false;
}

/* Returns the number of replies. */
static unsigned read_replies(struct scene *scene, unsigned which)
{
    alignas(struct cmsghdr) char control[CMSG_SPACE(SV_BROKER_MAX_FDS * sizeof(int))];
    struct sv_broker_reply reply;
    for (unsigned count = 0;; count++) {
        struct iovec part = {&reply, sizeof reply};
        struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control,
                                 .msg_controllen = sizeof control};
        ssize_t got = recvmsg(scene->client[which], &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        if (got < 0 && errno == EAGAIN)
            return count;
        if (got <= 0) {
            MUST(count > 0 || scene->is_ending[which]);
            end_client(scene, which);
            return count;
        }
        scene->is_ending[which] = strstr(reply.text, "not a valid request of version") != NULL ||
                                  reply.version != SV_BROKER_VERSION;
        MUST(got == sizeof reply || (got == SV_BROKER_COMMON_REPLY_BYTES && reply.error != 0));
        MUST((reply.version == SV_BROKER_VERSION) == (got == sizeof reply) && !(message.msg_flags & MSG_CTRUNC));
        MUST(memchr(reply.text, '\0', sizeof reply.text) != NULL && (reply.error != 0) == (reply.text[0] != '\0'));
        MUST(reply.error != 0 || message.msg_controllen <= CMSG_SPACE(sizeof(int)) || reply.layout.queue_count > 0);
        scene->opened += message.msg_controllen > 0;
        scene->agreed += reply.error == 0;
        take_received(scene, &message);
    }
}

/* Returns when the session has answered or ended. */
static void turn_until_readable(const struct scene *scene, int fd)
{
    struct pollfd wanted = {.fd = fd, .events = POLLIN};
    server_set_wake_fd(scene->server, fd);
    while (poll(&wanted, 1, 0) != 1)
        MUST(server_run_once(scene->server));
    server_set_wake_fd(scene->server, -1);
}

static void step(struct scene *scene)
{
    unsigned which = draw(CLIENTS);
    int *fd = &scene->client[which];
    steps++;
    if (draw(OPEN_EACH) == 0)
        close_device(scene);                /* otherwise the interface stays in use */
    if (*fd < 0) {
        *fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        MUST(*fd >= 0 && connect(*fd, (struct sockaddr *)&scene->address, scene->address_bytes) == 0);
    }
    ssize_t sent = send_some(scene, *fd);
    if (sent == -EPERM)
        return;                             /* this connection accepts no descriptors: SO_PASSRIGHTS */
    if (sent <= 0 || draw(64) == 0) {
        MUST(sent >= 0 || scene->is_ending[which]);
        end_client(scene, which);           /* closed before the answer arrives */
        return;
    }
    turn_until_readable(scene, *fd);
    MUST(read_replies(scene, which) <= 1);
}

/* ---- policies ---- */

static bool lookup(bool is_group, const char *name, uint32_t *id)
{
    *id = is_group;
    return *name == 'a';
}

/* Checks that a parsed line grants something meaningful. */
static void check_line(const struct policy_line *line)
{
    size_t length = strnlen(line->netdev, sizeof line->netdev);
    MUST(length > 0 && length < sizeof line->netdev && strpbrk(line->netdev, " \t\n\r/:*") == NULL);
    MUST(line->modes != 0 && line->modes < 1u << SV_BROKER_MODE_COUNT);
    MUST(line->devices > 0 && line->devices <= POLICY_MAX_DEVICES && line->range_count <= POLICY_MAX_RANGES);
    MUST(line->any_port == (line->range_count == 0));
    for (uint32_t i = 0; i < line->range_count; i++) {
        const struct policy_range *range = &line->range[i];
        MUST(range->protocol == IPPROTO_TCP || range->protocol == IPPROTO_UDP);
        MUST(range->first > 0 && range->first <= range->last);
    }
}

static void parse_one(void)
{
    static const char *const words[] = {
        "user=", "group=", "interface=", "modes=", "ports=", "devices=", "generic", "native", "zerocopy", "any",
        "tcp:", "udp:",
        ",", "-", "=", ":", " ", "\n", "\t", "#", "a", "0", "1", "80", "65535", "65536", "4294967296", "eth0", "\r",
        "user=1 interface=e modes=generic ports=", "user=a interface=fuzz0 modes=native,generic ports=any devices=2\n",
    };
    static struct policy policy;
    char text[4096], error_text[64];
    size_t length = 0;
    for (uint32_t i = draw(MAX_LINES * 12); i > 0; i--) {
        const char *word = words[draw(sizeof words / sizeof words[0])];
        size_t bytes = strlen(word);
        if (length + bytes > sizeof text)
            break;
        memcpy(text + length, word, bytes);
        length += bytes;
    }
    if (draw(4) == 0)
        spoil((uint8_t *)text, length);
    memset(error_text, 'x', sizeof error_text);
    char *exact = malloc(length + 1);       /* of exact size, so that the sanitizer detects a read beyond it */
    MUST(exact != NULL);
    memcpy(exact, text, length);
    bool good = policy_parse(&policy, exact, length, lookup, error_text, sizeof error_text);
    free(exact);
    for (uint32_t i = 0; good && i < policy.line_count; i++)
        check_line(&policy.line[i]);
    MUST(good || (policy.line_count == 0 && strncmp(error_text, "line ", 5) == 0 &&
                  memchr(error_text, '\0', sizeof error_text) != NULL));
}

/* ---- life ---- */

static void open_scene(struct scene *scene)
{
    char text[160], error_text[256];
    bool rooted = unshare(CLONE_NEWNET) == 0 && system("ip link set lo up && ip link add fuzz0 type veth peer name "
                                                       "fuzz1 && ip link set fuzz0 up && ip link set fuzz1 up") == 0;
    snprintf(text, sizeof text, "user=%u interface=fuzz0 modes=generic,native ports=udp:2000-2002,tcp:2000 devices=4",
             (unsigned)geteuid());
    memset(scene, 0, sizeof *scene);
    MUST(policy_parse(&scene->policy, text, strlen(text), lookup, error_text, sizeof error_text));
    scene->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    scene->address.sun_family = AF_UNIX;
    scene->address_bytes = sizeof scene->address;
    /* Without a name the kernel chooses an abstract one. */
    MUST(bind(scene->listener, (struct sockaddr *)&scene->address, sizeof scene->address.sun_family) == 0);
    MUST(listen(scene->listener, CLIENTS) == 0);
    MUST(getsockname(scene->listener, (struct sockaddr *)&scene->address, &scene->address_bytes) == 0);
    struct sockaddr_in local = {.sin_family = AF_INET, .sin_port = htons(2000)};
    scene->passed[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)!bind(scene->passed[0], (struct sockaddr *)&local, sizeof local);
    scene->passed[1] = open("/dev/null", O_RDWR | O_CLOEXEC);
    scene->passed[2] = scene->listener;
    for (int i = 0; i < CLIENTS; i++)
        scene->client[i] = -1;
    printf("%s\n", rooted ? "devices are opened on a veth pair" : "no device can be opened: not root");
}

static long argument(int count, char **arguments, const char *name, long otherwise)
{
    for (int i = 1; i + 1 < count; i += 2)
        if (strcmp(arguments[i], name) == 0)
            return atol(arguments[i + 1]);
    return otherwise;
}

static void run_round(struct scene *scene)
{
    unsigned before = descriptors();
    scene->server = server_create(scene->listener, &scene->policy, scene->confined);
    MUST(scene->server != NULL);
    server_set_clock(scene->server, step_clock);
    for (int i = 0; i < ROUND; i++) {
        step(scene);
        parse_one();
    }
    for (int i = 0; i < CLIENTS; i++)
        if (scene->client[i] >= 0)
            end_client(scene, (unsigned)i);
    close_device(scene);
    while (server_client_count(scene->server) > 0)
        MUST(server_run_once(scene->server));
    MUST(server_device_count(scene->server) == 0);
    server_destroy(scene->server);
    MUST(descriptors() == before);
}

int main(int count, char **arguments)
{
    static struct scene scene;
    struct timespec start, now;
    long seconds = argument(count, arguments, "--seconds", 3);
    state = (uint64_t)argument(count, arguments, "--seed", 1) * 2 + 1;
    open_scene(&scene);
    scene.confined = true;
    clock_gettime(CLOCK_MONOTONIC, &start);
    unsigned long rounds = 0;
    do {
        run_round(&scene);
        rounds++;
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (now.tv_sec - start.tv_sec < seconds);
    printf("%lu messages and policies, %lu requests granted, %lu devices opened, %lu of them resumed\n",
           rounds * ROUND, scene.agreed, scene.opened, scene.resumed);
    return 0;
}
