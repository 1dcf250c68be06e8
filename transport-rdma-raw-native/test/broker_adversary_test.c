/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hostile clients (broker_adversary.h), one after the other. Meanwhile the kernel answers pings on their interface, a
 * service of the kernel receives its datagrams there, and a server on another interface changes rules.
 *
 * SOFTVERBS_FUZZ_SECONDS and SOFTVERBS_FUZZ_SEED in the environment set the duration and select the clients. The test
 * prints how the others fare. With SOFTVERBS_FUZZ_BOUNDS it also fails beyond the bounds below, which needs a machine
 * without other work.
 */
#define _GNU_SOURCE
#include "broker_adversary.h"

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * Bounds: the longest answer to another client, the rate of others and the part of their frames that pass, and the
 * kernel's memory. The longest answer is not judged if this process itself had to wait for a processor. Two devices and
 * the descriptors that a client keeps of closed ones hold memory (docs/reference/security.md).
 */
enum { MAX_ANSWER_MICROS = 200000, MAX_LATE_MILLIS = 50, MIN_PERCENT = 95, MAX_KERNEL_MIB = 1024 };

enum { DEFAULT_SECONDS = 3, CALM_MILLIS = 1000, ROUND_NANOS = 5000000, MAX_ANSWERS = 1 << 18, SERVICE_PORT = 3000,
       STEP_MILLIS = 100, FRAME_BYTES = 96, REPLY_WAIT_MILLIS = 20 };

/* How others fare, with hostile clients or without. */
struct figures {
    struct timespec next;           /* time of the next round */
    unsigned rounds;                /* each has a ping, a datagram and a rule of a bystander */
    double seconds;
    unsigned sent;                  /* frames to the host */
    unsigned passed;                /* of these, frames that were answered or received */
    unsigned starved;               /* pings and datagrams that no frame got through */
    unsigned answers;               /* of the broker */
    uint32_t micros[MAX_ANSWERS];   /* their times */
    long kernel_kib;                /* most memory that the kernel had for itself */
    double late_seconds;            /* longest delay of this thread after its timer: the machine is starved */
};

struct stage {
    struct figures *figures;        /* of the current phase */
    struct wire attacked;           /* the adversary is granted name[0] */
    struct wire other;              /* the bystander's link */
    struct scene scene;
    struct adversary_report *report;
    int peer;                       /* a packet socket at the other end */
    int service;                    /* a socket of the kernel's stack */
    int bystander;                  /* a connection to the broker, with a device */
    uint8_t mac[6];
    uint16_t number;                /* number of the last frame */
};

/* ---- the kernel's traffic ---- */

static uint16_t checksum(const uint8_t *bytes, size_t length)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < length; i += 2)
        sum += (uint32_t)bytes[i] << 8 | bytes[i + 1];
    while (sum > 0xffff)
        sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)~sum;
}

static void put_short(uint8_t *at, uint16_t value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
}

/* Builds a frame from 198.18.1.2 to 198.18.1.1, with the secret after 8 bytes of ICMP or UDP. */
static void make_frame(const struct stage *stage, uint8_t protocol, uint8_t *frame)
{
    static const uint8_t addresses[8] = {198, 18, 1, 2, 198, 18, 1, 1};
    uint8_t *ip = frame + ETH_HLEN, *rest = ip + 20;
    const uint16_t length = FRAME_BYTES - ETH_HLEN;
    memset(frame, 0, FRAME_BYTES);
    memcpy(frame, stage->mac, 6);
    memcpy(frame + 6, (uint8_t[]){2, 0, 0, 0, 0, 2}, 6);
    put_short(frame + 12, ETHERTYPE_IP);
    ip[0] = 0x45;
    put_short(ip + 2, length);
    ip[8] = 64;
    ip[9] = protocol;
    memcpy(ip + 12, addresses, sizeof addresses);
    put_short(ip + 10, checksum(ip, 20));
    strcpy((char *)rest + 8, ADVERSARY_SECRET);
    if (protocol == IPPROTO_UDP) {
        put_short(rest, 40000);
        put_short(rest + 2, SERVICE_PORT);
        put_short(rest + 4, length - 20);
        return;
    }
    rest[0] = 8;        /* echo request */
    put_short(rest + 6, stage->number);
    put_short(rest + 2, checksum(rest, length - 20u));
}

static bool is_answer(const struct stage *stage, const uint8_t *frame, ssize_t length)
{
    const uint8_t *icmp = frame + ETH_HLEN + 20;
    return length >= ETH_HLEN + 28 && frame[ETH_HLEN + 9] == IPPROTO_ICMP && icmp[0] == 0 &&
           (icmp[6] << 8 | icmp[7]) == stage->number;
}

static void send_to_host(struct stage *stage, const uint8_t *frame)
{
    stage->figures->sent++;
    (void)!send(stage->peer, frame, FRAME_BYTES, 0);
}

/* Reports that the host's traffic has waited for longer than anything takes. */
static bool starves(struct stage *stage, struct timespec since)
{
    bool late = overdue(since);
    stage->figures->starved += late;
    return late;
}

/* Sends several requests, because attaching or detaching a program may lose a frame. */
static void check_ping(struct stage *stage)
{
    uint8_t frame[FRAME_BYTES], received[2048];
    bool answered = false;
    stage->number++;
    make_frame(stage, IPPROTO_ICMP, frame);
    for (struct timespec since = now(); !answered;) {
        if (starves(stage, since))
            return;
        send_to_host(stage, frame);
        for (ssize_t got; !answered && (got = recv(stage->peer, received, sizeof received, 0)) > 0;)
            answered = is_answer(stage, received, got);
    }
    stage->figures->passed++;
}

static void check_service(struct stage *stage)
{
    uint8_t frame[FRAME_BYTES];
    char received[128];
    make_frame(stage, IPPROTO_UDP, frame);
    for (struct timespec since = now();;) {
        if (starves(stage, since))
            return;
        send_to_host(stage, frame);
        if (recv(stage->service, received, sizeof received, 0) > 0)
            break;
    }
    CHECK_EQ(0, memcmp(received, ADVERSARY_SECRET, strlen(ADVERSARY_SECRET)));
    stage->figures->passed++;
}

/* ---- the bystander ---- */

static double seconds_since(struct timespec since)
{
    struct timespec until = now();
    return (double)(until.tv_sec - since.tv_sec) + (double)(until.tv_nsec - since.tv_nsec) / 1e9;
}

static void ask_for_bystander(struct stage *stage, const struct sv_broker_request *request)
{
    struct figures *figures = stage->figures;
    struct timespec since = now();
    CHECK_EQ(0, broker_transact(stage->bystander, request));
    if (figures->answers < MAX_ANSWERS)
        figures->micros[figures->answers++] = (uint32_t)(seconds_since(since) * 1e6);
}

static void check_bystander(struct stage *stage)
{
    struct sv_broker_request request = request_of(SV_BROKER_ADD_RULE);
    request.rule.mask.outer.layers = SV_LAYER_TCP | SV_LAYER_UDP;
    request.rule.value.outer.layers = SV_LAYER_UDP;
    request.rule.mask.outer.dst_port = 0xffff;
    request.rule.value.outer.dst_port = htons(ADVERSARY_PORT);
    ask_for_bystander(stage, &request);
    request.call = SV_BROKER_REMOVE_RULE;
    ask_for_bystander(stage, &request);
}

static void check_report(const struct adversary_report *report)
{
    CHECK(!report->has_made_ring);
    CHECK(!report->has_registered_memory);
    CHECK(!report->has_bound);
    CHECK(!report->has_resized_memory);
    CHECK(!report->has_left_interface);
    CHECK(!report->has_seen_secret);
}

/* ---- the stage ---- */

static int open_peer(const char *netdev)
{
    const struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_IP),
                                        .sll_ifindex = (int)if_nametoindex(netdev)};
    const struct timeval limit = {.tv_usec = REPLY_WAIT_MILLIS * 1000};
    int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    CHECK_EQ(0, bind(fd, (const struct sockaddr *)&address, sizeof address));
    CHECK_EQ(0, setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit));
    return fd;
}

static int open_service(void)
{
    const struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(SERVICE_PORT)};
    const struct timeval limit = {.tv_usec = REPLY_WAIT_MILLIS * 1000};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    CHECK_EQ(0, bind(fd, (const struct sockaddr *)&address, sizeof address));
    CHECK_EQ(0, setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit));
    return fd;
}

static int open_bystander(const struct stage *stage)
{
    struct sv_broker_request request = request_of(SV_BROKER_OPEN);
    int fd = scene_connect(&stage->scene);
    strcpy(request.open.netdev, stage->other.name[0]);
    request.open.mtu = 1500;
    CHECK_EQ(0, broker_transact(fd, &request));
    return fd;
}

static void stage_open(struct stage *stage)
{
    char policy[256];
    memset(stage, 0, sizeof *stage);
    link_open(&stage->attacked, 1500, 2);
    link_open(&stage->other, 1500, 1);
    const char *name = stage->attacked.name[0];
    static const uint8_t mac[6] = {2, 0, 0, 0, 0, 1};
    memcpy(stage->mac, mac, sizeof mac);
    run("ip link set %s address 02:00:00:00:00:01", name);
    run("ip addr add 198.18.1.1/24 dev %s", name);
    run("ip neigh replace 198.18.1.2 lladdr 02:00:00:00:00:02 dev %s nud permanent", name);
    snprintf(policy, sizeof policy, "user=%d interface=%s modes=generic,native ports=udp:%d,tcp:%d devices=2\n"
             "user=me interface=%s modes=generic ports=any", ADVERSARY_UID, name, ADVERSARY_PORT, ADVERSARY_PORT,
             stage->other.name[0]);
    scene_open(&stage->scene, policy);
    stage->report = mmap(NULL, sizeof *stage->report, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(stage->report != MAP_FAILED);
    stage->peer = open_peer(stage->attacked.name[1]);
    stage->service = open_service();
    stage->bystander = open_bystander(stage);
}

static void stage_close(struct stage *stage)
{
    close(stage->peer), close(stage->service), close(stage->bystander);
    scene_settle(&stage->scene);
    CHECK_EQ(0, server_device_count(stage->scene.server));
    scene_close(&stage->scene);
    munmap(stage->report, sizeof *stage->report);
    link_close(&stage->attacked);
    link_close(&stage->other);
}

/* ---- figures ---- */

/* Returns the memory of the kernel's rings, maps and other structures, and of memfds. */
static long kernel_kib(void)
{
    static const char *const names[] = {"Slab:", "VmallocUsed:", "Percpu:", "Shmem:"};
    char line[128];
    long sum = 0;
    FILE *file = fopen("/proc/meminfo", "re");
    CHECK(file != NULL);
    while (fgets(line, sizeof line, file) != NULL)
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
            if (strncmp(line, names[i], strlen(names[i])) == 0)
                sum += atol(line + strlen(names[i]));
    fclose(file);
    return sum;
}

/* Others have a rate of their own. A round that is late does not delay the next one. */
static void await_round(struct figures *figures)
{
    if (figures->rounds == 0)
        figures->next = now();
    bool sleeps = seconds_since(figures->next) < 0;
    (void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &figures->next, NULL);
    double late = seconds_since(figures->next);
    if (sleeps && late > figures->late_seconds)
        figures->late_seconds = late;
    figures->next.tv_nsec += ROUND_NANOS;
    figures->next.tv_sec += figures->next.tv_nsec / 1000000000;
    figures->next.tv_nsec %= 1000000000;
}

static void check_others(struct stage *stage)
{
    struct figures *figures = stage->figures;
    await_round(figures);
    check_ping(stage);
    check_service(stage);
    check_bystander(stage);
    figures->rounds++;
    long kib = kernel_kib();
    if (kib > figures->kernel_kib)
        figures->kernel_kib = kib;
}

static void run_calm(struct stage *stage)
{
    struct timespec since = now();
    while (seconds_since(since) * 1000 < CALM_MILLIS)
        check_others(stage);
    stage->figures->seconds = seconds_since(since);
}

static int compare(const void *a, const void *b)
{
    uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;
    return (one > other) - (one < other);
}

static uint32_t answer_at(const struct figures *figures, double part)
{
    return figures->micros[(unsigned)((figures->answers - 1) * part)];
}

static void report(const char *phase, struct figures *figures)
{
    qsort(figures->micros, figures->answers, sizeof figures->micros[0], compare);
    printf("%s: %.0f rounds/s, %.2f%% of the frames of others passed, answers of the broker: p50 %.1f ms, p99 %.1f "
           "ms, longest %.1f ms\n", phase, figures->rounds / figures->seconds,
           100.0 * figures->passed / figures->sent, answer_at(figures, 0.5) / 1e3, answer_at(figures, 0.99) / 1e3,
           answer_at(figures, 1) / 1e3);
}

static void report_all(struct figures *calm, struct figures *beside)
{
    long mib = (beside->kernel_kib - calm->kernel_kib) / 1024;
    double rate = beside->rounds / beside->seconds / (calm->rounds / calm->seconds);
    report("calm", calm);
    report("beside hostile clients", beside);
    printf("rate beside calm: %.3f; memory of the kernel at most %ld MiB above calm\n", rate, mib);
    if (getenv("SOFTVERBS_FUZZ_BOUNDS") == NULL)
        return;
    if (beside->late_seconds * 1000 > MAX_LATE_MILLIS)
        printf("the machine had other work: a timer was %.0f ms late, and the longest answer is not judged\n",
               beside->late_seconds * 1000);
    else
        CHECK(answer_at(beside, 1) <= MAX_ANSWER_MICROS);
    CHECK(rate * 100 >= MIN_PERCENT);
    CHECK(beside->passed * 100.0 >= MIN_PERCENT * (double)beside->sent);
    CHECK(mib <= MAX_KERNEL_MIB);
}

static void run_one(struct stage *stage, uint32_t seed)
{
    int status;
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0)
        adversary_run(&stage->scene, &stage->attacked, stage->report, seed);
    for (uint32_t rounds = 0; waitpid(pid, &status, WNOHANG) == 0; rounds++) {
        check_others(stage);
        check_report(stage->report);
        broker_clock_add(STEP_MILLIS);
        if (seed % 4 == 0 && rounds == seed % 256)      /* killed while it runs */
            (void)kill(pid, SIGKILL);
    }
    CHECK((WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS) ||
          (WIFSIGNALED(status) && (WTERMSIG(status) == SIGKILL || WTERMSIG(status) == SIGBUS)));
    check_report(stage->report);
}

static long setting(const char *name, long otherwise)
{
    const char *value = getenv(name);
    return value == NULL ? otherwise : atol(value);
}

static void test_hostile_clients_do_not_disturb_the_host_and_other_clients(void)
{
    static struct figures calm, beside;
    struct stage stage;
    if (!have_namespace())
        return;
    long seconds = setting("SOFTVERBS_FUZZ_SECONDS", DEFAULT_SECONDS);
    uint32_t seed = (uint32_t)setting("SOFTVERBS_FUZZ_SEED", 1), first = seed;
    unsigned before = open_descriptors();
    stage_open(&stage);
    memset(&calm, 0, sizeof calm);
    memset(&beside, 0, sizeof beside);
    stage.figures = &calm;
    run_calm(&stage);
    stage.figures = &beside;
    struct timespec since = now();
    while (now().tv_sec - since.tv_sec < seconds || stage.report->devices == 0 ||
           (stage.report->resumed == 0 && !overdue(since))) {
        run_one(&stage, seed++);
        CHECK(stage.report->devices > 0 || !overdue(since));
    }
    beside.seconds = seconds_since(since);
    unsigned devices = stage.report->devices, agreed = stage.report->rules, resumed = stage.report->resumed;
    unsigned foreign = stage.report->has_seen_secret;
    stage_close(&stage);
    int leaked = (int)open_descriptors() - (int)before;
    printf("%u clients, %u devices (%u resumed) and %u requests granted\n", seed - first, devices, resumed, agreed);
    printf("hostile clients: %u with %u devices: %u starved, %u foreign, %d left open\n", seed - first, devices,
           calm.starved + beside.starved, foreign, leaked);
    report_all(&calm, &beside);
    CHECK_EQ(0, leaked);
    CHECK_EQ(0, calm.starved + beside.starved);
}

const struct test broker_adversary_tests[] = {
    {"broker adversary: hostile clients do not disturb the host and other clients",
     test_hostile_clients_do_not_disturb_the_host_and_other_clients},
    {NULL, NULL},
};
