/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BROKER_SCENE_H
#define BROKER_SCENE_H

/* The broker and a process that it serves, both in this process; the broker runs in a separate thread. */

#include "broker.h"
#include "server.h"
#include "wire_fixture.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/un.h>

enum { IDLE_MILLIS = SERVER_IDLE_MILLIS + 1 };

struct scene {
    struct policy policy;
    struct server *server;
    int listener;
    struct sockaddr_un address;
    pthread_t thread;
    _Atomic bool ends;
    bool confined;
};

/* Returns the number of lines that all brokers of this process have logged. */
unsigned scene_journal_lines(void);
/* Advances the broker's clock, which stands still otherwise. */
void broker_clock_add(int64_t millis);

void scene_open(struct scene *scene, const char *policy);
/* Opens a scene with confined sessions. */
void scene_open_confined(struct scene *scene, const char *policy);
/* Opens a scene with this rest of a policy line for both interfaces. */
void scene_open_for(struct scene *scene, const struct wire *wire, const char *rest);
int scene_connect(const struct scene *scene);
/* Ends the thread, so that the server can be inspected. */
void scene_stop(struct scene *scene);
/* Also waits until the server has forgotten clients that have closed. */
void scene_settle(struct scene *scene);
/* Closes the broker's descriptors, as the end of its process does. */
void scene_end_broker(struct scene *scene);
/* Starts another broker at the same path, after the end of the first one. */
void scene_restart_broker(struct scene *scene, const char *policy);
/* The same without the broker, and the end of that. */
void scene_listen_again(struct scene *scene, const char *policy);
void scene_unlisten(struct scene *scene);
void scene_close(struct scene *scene);

/* Writes a policy with this rest of its lines for both interfaces. */
enum { POLICY_TEXT_BYTES = 512 };
const char *policy_for(char text[POLICY_TEXT_BYTES], const struct wire *wire, const char *rest);

/* Listens at a new path, to which it sets SOFTVERBS_BROKER. */
void scene_listen(struct scene *scene);
void scene_read_policy(struct scene *scene, const char *policy);

/* ---- plain messages ---- */

struct sv_broker_request request_of(enum sv_broker_call call);
struct sv_broker_reply reply_of(int fd);
/* Returns the error of the reply. */
int broker_transact(int fd, const struct sv_broker_request *request);
/* Sends bytes with any number of descriptors, also more than the broker sends. Returns 0 or an errno. */
int send_passing_all(int fd, const void *bytes, size_t length, const int *passed, unsigned count);
int send_passing(int fd, const void *bytes, size_t length, int passed);
/* Receives a reply with descriptors. Returns their number. */
unsigned receive_passed(int fd, struct sv_broker_reply *reply, int fds[SV_BROKER_MAX_FDS], int flags);
/* Opens a device with plain messages. Returns its connection. */
int open_plainly(const struct scene *scene, const char *netdev, enum sv_broker_mode mode,
                 struct sv_broker_reply *reply, int *fds, unsigned *count);
void close_fds(const int *fds, unsigned count);
/* Stores what SV_BROKER_RESUME passes for the descriptors of an open device. Returns the number. */
unsigned passed_to_resume(const int *fds, unsigned count, int passed[SV_BROKER_RESUME_MAX_FDS]);
struct sv_broker_request resume_request(const char *netdev, uint32_t queue_count);
void check_ended(int fd);
unsigned open_descriptors(void);

/* Opens and closes the device of an interface. Returns 0 or an errno. */
int open_error(const char *netdev);
/*
 * Opens and closes a device in the place of one that was closed. The closed one counts until the broker knows, for
 * which its client waits SV_BROKER_CLOSE_MILLIS at most.
 */
void check_opens_again(const char *netdev);
/* Fails unless opening the device fails with this error and an explanation that contains the text. */
void check_explained(const char *netdev, int error, const char *text);

#endif
