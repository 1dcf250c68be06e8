/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the sentence for users when bpf(2) is refused: see bpf.h. */
#define _GNU_SOURCE
#include "bpf.h"

#include "objects.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { TEXT_BYTES = 8192 };

static void read_text(const char *path, char text[TEXT_BYTES])
{
    size_t length = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        ssize_t bytes;
        while (length < TEXT_BYTES - 1 && ((bytes = read(fd, text + length, TEXT_BYTES - 1 - length)) > 0
                                           || (bytes < 0 && errno == EINTR)))
            length += bytes > 0 ? (size_t)bytes : 0;
        close(fd);
    }
    text[length] = '\0';
}

int sv_explain_bpf(int error, const char *what)
{
    static const char *const remedies[] = {
        [SV_REFUSED_CAPABILITIES] = "the process needs CAP_BPF and CAP_NET_ADMIN (or CAP_SYS_ADMIN)",
        [SV_REFUSED_NAMESPACE] = "CAP_BPF is of a user namespace, as in a rootless container, and the kernel wants it "
            "of the host's: run the container with the host's users, or use soft:packet:",
        [SV_REFUSED_SECCOMP] = "a seccomp profile refuses bpf(2): use one that allows it, such as "
            "examples/containers/seccomp.json (--security-opt seccomp=FILE)",
        [SV_REFUSED_KERNEL] = "the kernel refuses bpf(2) though the process has the capabilities: is it locked down?"
    };
    char status[TEXT_BYTES], uid_map[TEXT_BYTES];
    read_text("/proc/self/status", status);
    read_text("/proc/self/uid_map", uid_map);
    enum sv_refusal refusal = sv_refusal_of(status, uid_map);
    /* Seccomp profiles return ENOSYS for calls that they do not know. */
    if (error == EPERM || (error == ENOSYS && refusal == SV_REFUSED_SECCOMP))
        return sv_explain(error, "%s: %s", what, remedies[refusal]);
    return sv_explain(error, "%s: the kernel must be built with CONFIG_BPF_SYSCALL and CONFIG_XDP_SOCKETS", what);
}

bool sv_explain_missing_perfmon(int error)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
    /* Not through /proc, which the broker cannot reach. */
    if (syscall(SYS_capget, &header, data) != 0 ||
        !sv_is_perfmon_refusal((uint64_t)data[1].effective << 32 | data[0].effective, error))
        return false;
    sv_explain(error, "before Linux 6.17 the kernel's verifier lets the programs pass only with CAP_PERFMON, beside "
               "CAP_BPF and CAP_NET_ADMIN");
    return true;
}
