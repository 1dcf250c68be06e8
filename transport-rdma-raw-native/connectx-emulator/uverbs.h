/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CX_UVERBS_H
#define CX_UVERBS_H

/*
 * The user verbs interface of the kernel: rdma/ib_user_verbs.h for write(2), rdma/ib_user_ioctl_cmds.h for ioctl(2),
 * both as of Linux 6.1 (IB_USER_VERBS_ABI_VERSION 6). Both become a cx_command, for which there is one set of
 * functions.
 */

#include "emulator.h"

#include <string.h>

struct cx_buffer {
    const uint8_t *in;
    uint32_t in_bytes;
    uint8_t *out;
    uint32_t out_bytes;
};

struct cx_command {
    struct cx_context *context;
    struct cx_buffer core;          /* without headers; a request of the old ABI starts with the response's address */
    struct cx_buffer driver;        /* rdma/mlx5-abi.h */
};

/* Both return 0 or an errno. */
int cx_uverbs_write(struct cx_context *context, const void *from, size_t bytes);
int cx_uverbs_ioctl(struct cx_context *context, void *request);

/* commands.c: executes the command with this number of the old ABI (with the flag of extended ones). */
int cx_command_execute(uint32_t number, struct cx_command *command);
/* Sizes of a command's core parts in the old ABI, in bytes; false for an unknown command. */
bool cx_command_sizes(uint32_t number, uint32_t *in_bytes, uint32_t *out_bytes);

/* Copies a request. An older program's may be shorter: the rest is zero. The excess of a newer one must be zero. */
int cx_request(const struct cx_buffer *buffer, void *to, size_t bytes);
/* Copies as much of a response as fits into the program's buffer. */
void cx_respond(struct cx_buffer *buffer, const void *from, size_t bytes);

#define CX_CORE_REQUEST(command, request) cx_request(&(command)->core, (request), sizeof *(request))
#define CX_DRIVER_REQUEST(command, request) cx_request(&(command)->driver, (request), sizeof *(request))
#define CX_RESPOND(command, response) cx_respond(&(command)->core, (response), sizeof *(response))
#define CX_DRIVER_RESPOND(command, response) cx_respond(&(command)->driver, (response), sizeof *(response))

/* The commands; the device's mutex is held. */
int cx_get_context(struct cx_command *command);
int cx_query_device(struct cx_command *command);
int cx_ex_query_device(struct cx_command *command);
int cx_query_port(struct cx_command *command);
int cx_alloc_pd(struct cx_command *command);
int cx_dealloc_pd(struct cx_command *command);
int cx_reg_mr(struct cx_command *command);
int cx_dereg_mr(struct cx_command *command);
int cx_create_comp_channel(struct cx_command *command);
int cx_create_cq(struct cx_command *command);
int cx_ex_create_cq(struct cx_command *command);
int cx_resize_cq(struct cx_command *command);
int cx_destroy_cq(struct cx_command *command);
int cx_create_qp(struct cx_command *command);
int cx_ex_create_qp(struct cx_command *command);
int cx_query_qp(struct cx_command *command);
int cx_modify_qp(struct cx_command *command);
int cx_ex_modify_qp(struct cx_command *command);
int cx_destroy_qp(struct cx_command *command);
int cx_ex_create_wq(struct cx_command *command);
int cx_ex_modify_wq(struct cx_command *command);
int cx_ex_destroy_wq(struct cx_command *command);
int cx_ex_create_ind_table(struct cx_command *command);
int cx_ex_destroy_ind_table(struct cx_command *command);
int cx_ex_create_flow(struct cx_command *command);
int cx_ex_destroy_flow(struct cx_command *command);

/* Destroys objects, by command or with their context. The caller holds the device's mutex. */
void cx_pd_destroy(struct cx_object *object);
void cx_mr_destroy(struct cx_object *object);
void cx_cq_destroy(struct cx_object *object);
void cx_qp_destroy(struct cx_object *object);
void cx_wq_destroy(struct cx_object *object);
void cx_ind_table_destroy(struct cx_object *object);
void cx_flow_destroy(struct cx_object *object);
void cx_counters_destroy(struct cx_object *object);
void cx_uar_destroy(struct cx_object *object);

/* Shared by commands. */
int cx_object_destroy(struct cx_context *context, enum cx_kind kind, uint32_t handle,
                      void (*destroy)(struct cx_object *object));
int cx_async_open(struct cx_context *context, int *fd);

/* counters.c */
int cx_counters_create(struct cx_context *context, uint32_t *handle);
/* The positions of counters, as given by the command that creates a rule. */
int cx_counters_describe(struct cx_command *command, struct cx_counters *counters);
int cx_counters_read(struct cx_context *context, uint32_t handle, uint64_t *values, uint32_t count);

#endif
