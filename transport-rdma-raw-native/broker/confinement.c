/* SPDX-License-Identifier: Apache-2.0 */
/* See confinement.h. The filters are programs of classic BPF: <linux/seccomp.h>, seccomp(2). */
#define _GNU_SOURCE
#include "confinement.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/membarrier.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#error "the number of this architecture: <linux/audit.h>"
#endif

enum {
    X32_CALLS = 0x40000000,         /* x86-64: calls with 32-bit pointers, which no list contains */
    MAX_INSTRUCTIONS = 512,
    /* The flags of the C library's fork(3): neither a thread nor a namespace. */
#ifdef __GLIBC__
    FORK_FLAGS = CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | SIGCHLD,
#else
    FORK_FLAGS = SIGCHLD,
#endif
};

struct call {
    int number;
    bool refused;                   /* fails with EACCES instead of killing the process */
    bool has_check;                 /* the masked lower half of the argument must equal the value */
    uint8_t argument;
    uint32_t mask;
    uint32_t value;
};

#define CALL(NAME) {.number = SYS_##NAME}
#define REFUSED(NAME) {.number = SYS_##NAME, .refused = true}
#define CHECKED(NAME, ARGUMENT, MASK, VALUE) \
    {.number = SYS_##NAME, .has_check = true, .argument = ARGUMENT, .mask = MASK, .value = VALUE}

/*
 * On processors with fork(2), musl implements fork(3) by it. Newer versions read the child's number with another call.
 */
#if defined(SYS_fork) && !defined(__GLIBC__)
#define FORK CALL(fork), CALL(set_tid_address)
#elif !defined(__GLIBC__)
#define FORK CHECKED(clone, 0, UINT32_MAX, FORK_FLAGS), CALL(set_tid_address)
#else
#define FORK CHECKED(clone, 0, UINT32_MAX, FORK_FLAGS)
#endif
/* Calls of all processes: messages, time, exit. */
#ifdef SYS_poll
#define POLL CALL(poll), CALL(ppoll)
#else
#define POLL CALL(ppoll)
#endif
#define COMMON \
    POLL, CALL(recvmsg), CALL(sendmsg), CALL(recvfrom), CALL(sendto), CALL(getsockopt), CALL(setsockopt), CALL(close), \
    CALL(exit), CALL(exit_group), CALL(rt_sigreturn), CALL(restart_syscall), CALL(clock_gettime), CALL(write)
/* Queries whether a client has read its messages. */
#define WAS_READ CHECKED(ioctl, 1, UINT32_MAX, SIOCOUTQ)
/* Queries the properties of an eBPF object. */
#define READ_INFO CHECKED(bpf, 0, UINT32_MAX, BPF_OBJ_GET_INFO_BY_FD)
/* Memory that is not executable. */
#define MEMORY \
    CALL(brk), CALL(munmap), CALL(mremap), CALL(madvise), CHECKED(mmap, 2, PROT_EXEC, 0), \
    CHECKED(mprotect, 2, PROT_EXEC, 0)

static const struct call broker_calls[] = {
    COMMON, MEMORY, CALL(bpf), CALL(socket), CALL(bind), CALL(ioctl), CALL(getrandom), CALL(pidfd_send_signal),
    CALL(wait4), CHECKED(membarrier, 0, UINT32_MAX, MEMBARRIER_CMD_GLOBAL),
    /* Memory for sockets. */
    CALL(memfd_create), CALL(ftruncate), CALL(fallocate), CHECKED(fcntl, 1, UINT32_MAX, F_ADD_SEALS),
    /* Explanations of errors read the capabilities. They would also open /proc, and work without it. */
    CALL(capget), REFUSED(openat),
};

/* Includes the calls of sessions before their own filter. */
static const struct call acceptor_calls[] = {
    COMMON, MEMORY, FORK, CALL(accept4), CALL(socketpair), CALL(pipe2), CALL(read),
    CALL(getpid), CALL(pidfd_open), CALL(prctl), CALL(capget), CALL(capset), CALL(getsockname), CALL(set_robust_list),
    CALL(gettid), CALL(rt_sigprocmask), CALL(rt_sigaction), CALL(sigaltstack),
    /* For sessions, in which both filters are in force. */
    WAS_READ, READ_INFO,
};

static const struct call session_calls[] = {COMMON, MEMORY, CALL(getsockname), WAS_READ, READ_INFO};

/* ---- the program ---- */

struct program {
    unsigned short length;
    struct sock_filter code[MAX_INSTRUCTIONS];
};

static void put(struct program *program, uint16_t code, uint32_t k, uint8_t if_true, uint8_t if_false)
{
    program->code[program->length++] = (struct sock_filter){code, if_true, if_false, k};
}

static void load(struct program *program, size_t offset)
{
    put(program, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static void end_with(struct program *program, uint32_t verdict)
{
    put(program, BPF_RET | BPF_K, verdict, 0, 0);
}

/* Returns the offset of the lower half of an argument. */
static size_t argument_at(unsigned argument)
{
    size_t at = offsetof(struct seccomp_data, args) + argument * sizeof(uint64_t);
    return at + (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? sizeof(uint32_t) : 0);
}

/* Appends the checks of one call. The number of the call is loaded; other calls continue after them. */
static void put_call(struct program *program, const struct call *call)
{
    put(program, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call->number, 0, call->has_check ? 5 : 1);
    if (call->has_check) {
        load(program, argument_at(call->argument));
        put(program, BPF_ALU | BPF_AND | BPF_K, call->mask, 0, 0);
        put(program, BPF_JMP | BPF_JEQ | BPF_K, call->value, 1, 0);
        end_with(program, SECCOMP_RET_KILL_PROCESS);
    }
    end_with(program, call->refused ? SECCOMP_RET_ERRNO | EACCES : SECCOMP_RET_ALLOW);
}

static bool confine(const struct call *calls, size_t count)
{
    struct program program = {.length = 0};
    load(&program, offsetof(struct seccomp_data, arch));
    put(&program, BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0);
    end_with(&program, SECCOMP_RET_KILL_PROCESS);
    load(&program, offsetof(struct seccomp_data, nr));
    put(&program, BPF_JMP | BPF_JGE | BPF_K, X32_CALLS, 0, 1);
    end_with(&program, SECCOMP_RET_KILL_PROCESS);
    for (size_t i = 0; i < count; i++)
        put_call(&program, &calls[i]);
    end_with(&program, SECCOMP_RET_KILL_PROCESS);
    const struct sock_fprog filter = {program.length, program.code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

bool confine_broker(void)
{
    return confine(broker_calls, sizeof broker_calls / sizeof broker_calls[0]);
}

bool confine_acceptor(void)
{
    return confine(acceptor_calls, sizeof acceptor_calls / sizeof acceptor_calls[0]);
}

bool confine_session(void)
{
    return confine(session_calls, sizeof session_calls / sizeof session_calls[0]);
}
