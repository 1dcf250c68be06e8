/* SPDX-License-Identifier: Apache-2.0 */
/* Reserving an interface: one process in exclusive modes, whatever other users do; any number in other modes. */
#define _GNU_SOURCE
#include "wire_fixture.h"

#include <net/if.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOBODY = 65534, NAMES = 8 };

/* ---- processes ---- */

/* Forks. The child reports that it is ready by returning from here, and waits for its end in end_of(). */
struct process {
    pid_t pid;
    int ready;
};

static struct process start(bool (*work)(const void *), const void *argument)
{
    int ends[2];
    struct process process;
    char byte = 0;
    CHECK_EQ(0, pipe(ends));
    fflush(stdout);
    process.pid = fork();
    CHECK(process.pid >= 0);
    if (process.pid == 0) {
        close(ends[0]);
        byte = work(argument) ? 'y' : 'n';
        /* Kills the child if the test fails. A change of users would undo this. */
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && write(ends[1], &byte, 1) == 1 && byte == 'y')
            pause();
        _exit(1);
    }
    close(ends[1]);
    process.ready = ends[0];
    CHECK_EQ(1, read(ends[0], &byte, 1));
    CHECK_EQ('y', byte);
    return process;
}

static void end_of(struct process process)
{
    CHECK_EQ(0, kill(process.pid, SIGKILL));
    CHECK(waitpid(process.pid, NULL, 0) == process.pid);
    close(process.ready);
}

static bool opens(const void *device_name)
{
    return ibv_open_device(find_device(device_name)) != NULL;
}

/* ---- somebody with names ---- */

struct squat {
    char family[64];
    unsigned names;
    int type;
    bool listens;
    bool full;      /* its queue of connections is full */
};

static bool squat_one(const struct squat *squat, unsigned number)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int length = number == 0 ? snprintf(address.sun_path + 1, 100, "%s", squat->family)
                             : snprintf(address.sun_path + 1, 100, "%s/%u", squat->family, number);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
    int fd = socket(AF_UNIX, squat->type, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) != 0 || (squat->listens && listen(fd, 0) != 0))
        return false;
    while (squat->full) {
        int client = socket(AF_UNIX, squat->type | SOCK_NONBLOCK, 0);
        if (client < 0)
            return false;
        if (connect(client, (struct sockaddr *)&address, size) != 0)
            return errno == EAGAIN;
    }
    return true;
}

static bool squats(const void *argument)
{
    const struct squat *squat = argument;
    bool done = setresgid(NOBODY, NOBODY, NOBODY) == 0 && setresuid(NOBODY, NOBODY, NOBODY) == 0;
    for (unsigned i = 0; i < squat->names && done; i++)
        done = squat_one(squat, i);
    return done;
}

/* ---- tests ---- */

struct scene {
    struct wire wire;
    char device_name[32];
    char family[64];
};

static void scene_open(struct scene *scene, const char *kind)
{
    link_open(&scene->wire, 1500, 1);
    snprintf(scene->device_name, sizeof scene->device_name, "%s:%s", kind, scene->wire.name[1]);
    snprintf(scene->family, sizeof scene->family, "rdma-raw/%s/%u", kind, if_nametoindex(scene->wire.name[1]));
    CHECK_EQ(0, softverbs_add_device(scene->device_name));
}

static void check_opens(const struct scene *scene)
{
    struct ibv_device *device = find_device(scene->device_name);
    struct ibv_context *context = ibv_open_device(device);
    if (context == NULL)
        test_failed(__FILE__, __LINE__, "%s: %s", scene->device_name, softverbs_open_error(device));
    CHECK_EQ(0, ibv_close_device(context));
}

static void check_busy(const struct scene *scene, pid_t pid)
{
    char who[64];
    struct ibv_device *device = find_device(scene->device_name);
    CHECK_FAILS(EBUSY, ibv_open_device(device));
    snprintf(who, sizeof who, "(process %d of user %u)", (int)pid, geteuid());
    if (strstr(softverbs_open_error(device), who) == NULL)
        test_failed(__FILE__, __LINE__, "not %s: %s", who, softverbs_open_error(device));
    CHECK(strstr(softverbs_open_error(device), "SOFTVERBS_XDP_MODE=tap") != NULL);
    CHECK(strstr(softverbs_open_error(device), "soft:packet:") != NULL);
}

static void names_of_other_users_are_passed_over(const char *kind)
{
    static const struct squat squats_of[] = {
        {.names = 1, .type = SOCK_DGRAM},
        {.names = 1, .type = SOCK_SEQPACKET, .listens = true},
        {.names = 1, .type = SOCK_SEQPACKET, .listens = true, .full = true},
        {.names = NAMES, .type = SOCK_SEQPACKET, .listens = true},
    };
    struct scene scene;
    scene_open(&scene, kind);
    for (size_t i = 0; i < sizeof squats_of / sizeof squats_of[0]; i++) {
        struct squat squat = squats_of[i];
        memcpy(squat.family, scene.family, sizeof squat.family);
        struct process other = start(squats, &squat);
        check_opens(&scene);
        end_of(other);
    }
    link_close(&scene.wire);
}

static void an_interface_has_one_user(const char *kind)
{
    struct scene scene;
    scene_open(&scene, kind);
    struct process owner = start(opens, scene.device_name);
    check_busy(&scene, owner.pid);
    end_of(owner);
    check_opens(&scene);
    /*
     * A guard that had to use another name is found, also by the process that gets the first name, and if others hold
     * all predictable names.
     */
    for (unsigned names = 1; names <= NAMES; names += NAMES - 1) {
        struct squat squat = {.names = names, .type = SOCK_SEQPACKET, .listens = true};
        memcpy(squat.family, scene.family, sizeof squat.family);
        struct process other = start(squats, &squat);
        owner = start(opens, scene.device_name);
        check_busy(&scene, owner.pid);
        end_of(other);
        check_busy(&scene, owner.pid);
        end_of(owner);
        check_opens(&scene);
    }
    link_close(&scene.wire);
}

static void several_processes_share_an_interface(const char *kind)
{
    struct scene scene;
    scene_open(&scene, kind);
    struct process first = start(opens, scene.device_name);
    struct process second = start(opens, scene.device_name);
    check_opens(&scene);
    end_of(first);
    check_opens(&scene);
    end_of(second);
    check_opens(&scene);
    link_close(&scene.wire);
}

/* A process with exclusive use does not exclude those that share, nor do they exclude it. */
static void test_exclusive_and_shared_use_do_not_exclude_each_other(void)
{
    if (!have_namespace() || !is_linux_6_6())
        return;
    struct scene scene;
    scene_open(&scene, "xdp");
    struct process owner = start(opens, scene.device_name);
    CHECK_EQ(0, setenv("SOFTVERBS_XDP_MODE", "tap", 1));
    check_opens(&scene);
    end_of(owner);
    owner = start(opens, scene.device_name);
    CHECK_EQ(0, unsetenv("SOFTVERBS_XDP_MODE"));
    check_opens(&scene);
    end_of(owner);
    link_close(&scene.wire);
}

static void test_names_held_by_other_users_are_skipped(void)
{
    if (have_namespace())
        names_of_other_users_are_passed_over("xdp");
}

static void test_an_interface_has_one_user_named_in_the_error(void)
{
    if (have_namespace())
        an_interface_has_one_user("xdp");
}

static void test_several_users(void)
{
    if (!have_namespace())
        return;
    several_processes_share_an_interface("packet");
    with_xdp_mode("tap", several_processes_share_an_interface);
}

const struct test guard_tests[] = {
    {"guard: names held by other users are skipped", test_names_held_by_other_users_are_skipped},
    {"guard: an interface has one user, named in the error", test_an_interface_has_one_user_named_in_the_error},
    {"guard: several processes share an interface by packet sockets and in tap mode", test_several_users},
    {"guard: exclusive and shared use do not exclude each other",
     test_exclusive_and_shared_use_do_not_exclude_each_other},
    {NULL, NULL},
};
