/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BROKER_FAKE_H
#define BROKER_FAKE_H

/* A broker that a thread of a test plays, request by request, and the client's device at it. */

#include "broker_client.h"
#include "broker_scene.h"

enum { AGAIN_PRIORITY = 1, NEW_PRIORITY = 2 };

struct fake {
    struct scene scene;
    pthread_t thread;
    size_t reply_bytes;
    uint32_t version;
    unsigned descriptors;
    uid_t uid;
    _Atomic unsigned attempts;  /* to resume the device */
};

/* The device of a fake broker. */
struct fake_device {
    struct fake fake;
    struct sv_broker *broker;
    int fds[SV_BROKER_MAX_FDS];
};

/* ---- the broker ---- */

int fake_accept(const struct fake *fake);
/* Answers a request with this reply and these descriptors. */
void fake_send_reply(int fd, const void *reply, size_t length, const int *fds, unsigned count);
void fake_answer(int fd, const struct sv_broker_request *request, int error);
/* Receives a request, which must be this call. */
void fake_next_request(int fd, struct sv_broker_request *request, enum sv_broker_call call);
/* Answers the request to open a device with one queue. */
void fake_open(const struct fake *fake, int fd);
/* Accepts a connection, answers the request to resume the device, and receives the device's rule. */
int fake_resume(const struct fake *fake);
/* Accepts a connection, and closes it after this request. */
void fake_end_at(const struct fake *fake, enum sv_broker_call call);

/* ---- the client ---- */

/* Opens a device at a broker that `serve` plays. */
void fake_device_open(struct fake_device *device, void *(*serve)(void *fake));
void fake_device_close(struct fake_device *device);
/* For sv_broker_set_rules(): adds the device's rule, and counts in the context. */
int fake_add_rule_again(struct sv_broker *broker, void *context);
/* Fails unless the last explanation contains the text. */
void check_explains(const char *text);

#endif
