/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CX_BASE_H
#define CX_BASE_H

/*
 * The emulator consists of layers. A file includes the header of its layer, which includes the headers of the layers
 * below, and nothing of a layer above. test/layers.sh checks this table against the files.
 *
 * Layers, lowest first:
 *   base.h      the program's C library, settings, event files, descriptors: real setup mutants events files
 *   objects.h   devices, and the objects that programs create: objects memory
 *   engine.h    the card: devices engine doorbells wire send_queue send_request multi_packet tso receive_queue striding
 *               completions compression errors
 *   commands.h  the commands of the kernel driver: requests commands device_commands memory_commands cq_commands
 *               qp_commands qp_state wq_commands flow_commands counters
 *   kernel.h    the files of the kernel: contexts uverbs_write uverbs_ioctl rdma_netlink
 *               packet_sockets
 *   program.h   the functions that programs call: hooks control
 */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>

struct cx_context;
struct cx_netlink;
struct cx_memberships;

/* ---- real.c ---- */

/* The C library's functions behind those that hooks.c interposes. */

struct cx_real {
    int (*open)(const char *path, int flags, ...);
    int (*open64)(const char *path, int flags, ...);
    int (*stat)(const char *path, struct stat *to);
    int (*stat64)(const char *path, struct stat64 *to);
    int (*close)(int fd);
    ssize_t (*read)(int fd, void *to, size_t bytes);
    ssize_t (*write)(int fd, const void *from, size_t bytes);
    int (*ioctl)(int fd, unsigned long request, ...);
    void *(*mmap)(void *address, size_t length, int protection, int flags, int fd, off_t offset);
    int (*socket)(int domain, int type, int protocol);
    ssize_t (*sendto)(int fd, const void *from, size_t bytes, int flags, const struct sockaddr *to, socklen_t to_bytes);
    ssize_t (*sendmsg)(int fd, const struct msghdr *message, int flags);
    int (*setsockopt)(int fd, int level, int name, const void *value, socklen_t bytes);
};

const struct cx_real *cx_real(void);

/* ---- setup.c ---- */

/* Reads the settings of the environment, except for the devices. Prints an error and exits if one is invalid. */
void cx_setup_read(void);
bool cx_uses_ioctl(void);
/* Returns true if CONNECTX_EMULATOR_SETUP contains this word, which describes a host or card; see setup.c. */
bool cx_has_setup(const char *word);
/* Returns true if the card forwards frames between its functions, each of which is a port of the device. */
bool cx_is_switchdev(void);
/* Prints an error in the settings and ends the program. */
void cx_exit_with(const char *what, const char *detail) __attribute__((noreturn));

/* ---- mutants.c ---- */

/*
 * Deliberate errors of the device. CONNECTX_EMULATOR_MUTANT selects one, and a test must detect it. An error that no
 * test detects is untested.
 */

enum cx_mutant {
    CX_MUTANT_NONE,
    CX_MUTANT_OWNER_NEVER_FLIPS,        /* the owner bit keeps the value of the first lap */
    CX_MUTANT_STALE_CQE,                /* the owner bit is written before the rest of the entry */
    CX_MUTANT_BLUEFLAME_HALF_IGNORED,   /* doorbells in the second half of a register are ignored */
    CX_MUTANT_RECORD_IGNORED,           /* a doorbell sends one request, whatever the record says */
    CX_MUTANT_RECEIVE_RECORD_SWAPPED,   /* the receive record is read in the wrong byte order */
    CX_MUTANT_BYTE_COUNT_SWAPPED,       /* the byte count of a CQE is written in the wrong byte order */
    CX_MUTANT_LOST_EVENT,               /* arming after a completion was added raises no event */
    CX_MUTANT_WRONG_COUNTER,            /* the CQE names the request after the one it completes */
    CX_MUTANT_LENGTH_OFF,               /* the byte count is one short */
    CX_MUTANT_FLUSH_FORGOTTEN,          /* a queue in error does not flush */
    CX_MUTANT_CHECKSUM_ALWAYS_OK,       /* received checksums are always reported as correct */
    CX_MUTANT_CONSUMER_IGNORED,         /* completions overwrite unread entries */
    CX_MUTANT_MINI_ENTRIES_MISPLACED,   /* the second miniature entries of a session are one place too far */
    CX_MUTANT_STRIDE_COUNT_OFF,         /* a CQE reports one stride more than was consumed */
    CX_MUTANT_STRIDE_INDEX_STALE,       /* every CQE of a request names its first stride */
    CX_MUTANT_FILLER_UNMARKED,          /* the rest of a request looks like a frame */
    CX_MUTANT_STRIDES_OVERLAP,          /* a frame begins one stride too early */
    CX_MUTANT_OVERRUN_STOPS_NOTHING,    /* queues continue although their completion queue has overrun */
    CX_MUTANT_FIRST_OF_SEVERAL_ALONE,   /* only the first frame of a multi-packet request is sent */
    CX_MUTANT_SEGMENTS_ALIKE,           /* the segments of a large send have the same sequence number */
    CX_MUTANT_ONE_QUEUE_OF_SEVERAL,     /* RSS chooses the first queue for every frame */
    CX_MUTANT_COUNT,
};

extern enum cx_mutant cx_mutant_chosen;

static inline bool cx_is_mutant(enum cx_mutant mutant)
{
    return __builtin_expect(cx_mutant_chosen == mutant, 0);
}

/* Reads the environment. If the value is unknown, prints the valid ones and exits. */
void cx_mutant_choose(void);

/* ---- events.c ---- */

/*
 * Event files: completion channels and asynchronous events. The descriptor is an eventfd that counts the queued events,
 * so that poll, epoll and O_NONBLOCK work. The events are in a list.
 *
 * When a program destroys an object, uverbs reports how many of its events were read, and libibverbs waits until as
 * many were acknowledged. So events count when they are read, and unread ones are withdrawn.
 */

struct cx_event;

/* The events of an object; guarded by the file's mutex. */
struct cx_event_source {
    uint32_t comp_events_reported;
    uint32_t async_events_reported;
};

enum cx_event_type { CX_COMPLETION_EVENTS, CX_ASYNC_EVENTS };

struct cx_events {
    int fd;
    enum cx_event_type type;
    pthread_mutex_t mutex;
    struct cx_event *first;
    struct cx_event *last;
    bool closed;                    /* the device was removed */
    uint32_t references;            /* of the descriptor and of objects; guarded by the mutex */
};

/* Creates the file and its descriptor, which has the first reference. Returns NULL with errno on failure. */
struct cx_events *cx_events_open(enum cx_event_type type);
struct cx_events *cx_events_get(struct cx_events *events);
void cx_events_put(struct cx_events *events);

/*
 * Queues an event. `element` is the program's name of the object, `type` an enum ib_event_type for asynchronous events.
 */
void cx_events_push(struct cx_events *events, struct cx_event_source *source, uint64_t element, uint32_t type);
/* Withdraws the unread events of `source`. */
void cx_events_withdraw(struct cx_events *events, struct cx_event_source *source);
/*
 * Drops the events of a removed device's completion channel (uverbs_completion_event_file_destroy_uobj()). From now on
 * the descriptor is ready, and reading it fails with EIO (ib_uverbs_event_read()). epoll reports EPOLLIN where the
 * kernel reports EPOLLERR.
 */
void cx_events_close(struct cx_events *events);
/* Implements read(2) on the descriptor. */
ssize_t cx_events_read(struct cx_events *events, void *to, size_t bytes);

/* ---- files.c ---- */

/* The emulator's descriptors: opened devices, event files, netlink and packet sockets. */

struct cx_file {
    struct cx_context *context;     /* an opened device, or */
    struct cx_events *events;       /* an event file, or */
    struct cx_netlink *netlink;     /* a socket of RDMA netlink, or */
    struct cx_memberships *memberships;     /* a packet socket with addresses of an emulated port's interface */
    void (*close)(struct cx_file *file);    /* releases it when the last reference is gone */
    uint32_t references;
};

/* Returns true if a descriptor may be the emulator's. Fast, takes no lock. */
bool cx_file_is_ours(int fd);
/* Returns 0 or an errno. The file owns its context, events, netlink socket or memberships. */
int cx_file_add(int fd, const struct cx_file *wanted);
int cx_file_add_events(int fd, struct cx_events *events);
/* Returns NULL for other descriptors. The caller releases the file with cx_file_put(). */
struct cx_file *cx_file_get(int fd);
void cx_file_put(struct cx_file *file);
/* Removes the descriptor before it is closed. The file is freed with its last reference. */
void cx_file_remove(int fd);

#endif
