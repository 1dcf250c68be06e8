/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel refuses to bind an AF_XDP socket to a queue, for a while or for ever. */
#include "wire_fixture.h"

#include "af_xdp.h"

#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

bool kernel_is_old;

/*
 * Applies to the thread that opens a device; others bind and sleep as usual. After a refusal the thread does not sleep
 * but counts how long it would. So the tests take no time, and find the same on a busy machine.
 */
static _Thread_local int refusal;
static _Thread_local unsigned refused_millis;
static _Thread_local unsigned refusals;
static _Thread_local bool is_refused;
static _Thread_local uint64_t slept_nanos;

static uint64_t slept_millis(void)
{
    return slept_nanos / 1000000;
}

static int answer(const struct sockaddr_xdp *address)
{
    if (kernel_is_old && (address->sxdp_flags & XDP_USE_SG))
        return EINVAL;      /* before Linux 6.6, for sockets with frames in several chunks */
    is_refused = slept_millis() < refused_millis;
    refusals += is_refused;
    return is_refused ? refusal : 0;
}

int (*_Atomic error_of_xdp_bind)(int ifindex);

/* Replaces the C library's function. */
int bind(int fd, const struct sockaddr *address, socklen_t bytes)
{
    const struct sockaddr_xdp *xdp = (const struct sockaddr_xdp *)address;
    int error = address->sa_family == AF_XDP ? answer(xdp) : 0;
    int (*error_of)(int ifindex) = error_of_xdp_bind;
    if (error == 0 && address->sa_family == AF_XDP && error_of != NULL)
        error = error_of((int)xdp->sxdp_ifindex);
    if (error == 0)
        return (int)syscall(SYS_bind, fd, address, bytes);
    errno = error;
    return -1;
}

_Thread_local void (*instead_of_pauses)(void);

int nanosleep(const struct timespec *pause, struct timespec *left)
{
    if (instead_of_pauses != NULL) {
        instead_of_pauses();
        return 0;
    }
    if (!is_refused)
        return (int)syscall(SYS_nanosleep, pause, left);
    slept_nanos += (uint64_t)pause->tv_sec * 1000000000 + (uint64_t)pause->tv_nsec;
    return 0;
}

static void refuse_no_more(void)
{
    refused_millis = 0;
    is_refused = false;
}

/* Refuses until the thread has waited for this time. */
static void refuse(int error, unsigned millis)
{
    after_failure = refuse_no_more;
    refusal = error;
    refused_millis = millis;
    refusals = 0;
    slept_nanos = 0;
}

static struct ibv_device *device_on(const struct wire *wire)
{
    char name[32];
    snprintf(name, sizeof name, "xdp:%s", wire->name[0]);
    CHECK_EQ(0, softverbs_add_device(name));
    return find_device(name);
}

/* A restarted process needs the queues of the previous one, which the kernel frees later. */
static void a_busy_queue_is_waited_for(void)
{
    struct wire wire;
    if (!have_namespace())
        return;
    link_open(&wire, 1500, 1);
    struct ibv_device *device = device_on(&wire);
    refuse(EBUSY, 2900);
    struct ibv_context *context = ibv_open_device(device);
    if (context == NULL)
        test_failed(__FILE__, __LINE__, "after %u refusals: %s", refusals, softverbs_open_error(device));
    CHECK(slept_millis() >= 2900);
    refuse_no_more();
    CHECK_EQ(0, ibv_close_device(context));
    link_close(&wire);
}

/* A program that keeps the queue is not waited for, and the error names the reason. */
static void a_queue_of_another_program_is_not_waited_for_forever(void)
{
    struct wire wire;
    char sentence[128];
    if (!have_namespace())
        return;
    link_open(&wire, 1500, 1);
    struct ibv_device *device = device_on(&wire);
    refuse(EBUSY, 3500);
    CHECK_FAILS(EBUSY, ibv_open_device(device));
    snprintf(sentence, sizeof sentence, "receive queue 0 of '%s' has an AF_XDP socket already: another program uses it",
             wire.name[0]);
    CHECK_EQ(0, strcmp(sentence, softverbs_open_error(device)));
    refuse_no_more();
    link_close(&wire);
}

/* Waiting does not help with other errors, such as an interface that is down. */
static void another_refusal_is_not_waited_out(void)
{
    struct wire wire;
    if (!have_namespace())
        return;
    link_open(&wire, 1500, 1);
    struct ibv_device *device = device_on(&wire);
    refuse(ENETDOWN, 3500);
    CHECK_FAILS(ENETDOWN, ibv_open_device(device));
    CHECK_EQ(1, refusals);
    CHECK_EQ(0, slept_millis());
    refuse_no_more();
    link_close(&wire);
}

const struct test xdp_bind_tests[] = {
    {"xdp: a busy queue is waited for", a_busy_queue_is_waited_for},
    {"xdp: a queue of another program is not waited for forever", a_queue_of_another_program_is_not_waited_for_forever},
    {"xdp: a queue that is refused for another reason is not waited for", another_refusal_is_not_waited_out},
    {NULL, NULL},
};
