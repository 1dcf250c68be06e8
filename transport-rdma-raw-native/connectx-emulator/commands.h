/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CX_COMMANDS_H
#define CX_COMMANDS_H

/*
 * The user verbs interface of the kernel: rdma/ib_user_verbs.h for write(2), rdma/ib_user_ioctl_cmds.h for ioctl(2),
 * both as of Linux 6.1 (IB_USER_VERBS_ABI_VERSION 6). Both become a cx_command, for which there is one set of
 * functions.
 */

#include "engine.h"

#include <string.h>

struct cx_buffer {
    const uint8_t *in;
    uint32_t in_bytes;
    uint8_t *out;
    uint32_t out_bytes;
};

struct cx_command {
    struct cx_context *context;
    struct cx_buffer core;          /* without headers; in the old ABI a request starts with the response's address */
    struct cx_buffer driver;        /* rdma/mlx5-abi.h */
};

/* commands.c: executes the command with this number of the old ABI (with the flag for extended commands). */
int cx_command_execute(uint32_t number, struct cx_command *command);
/* Returns the sizes of a command's core parts in the old ABI, in bytes; false for an unknown command. */
bool cx_command_sizes(uint32_t number, uint32_t *in_bytes, uint32_t *out_bytes);

/* requests.c */

/*
 * Copies a request of `bytes` bytes. A shorter request of an older program is filled with zeros. A longer one of a
 * newer program is refused unless its excess is zero.
 */
int cx_read_request(const struct cx_buffer *buffer, void *to, size_t bytes);
/* Copies the part of a response that fits the program's buffer. */
void cx_respond(struct cx_buffer *buffer, const void *from, size_t bytes);

#define CX_READ_CORE_REQUEST(command, request) cx_read_request(&(command)->core, (request), sizeof *(request))
#define CX_READ_DRIVER_REQUEST(command, request) cx_read_request(&(command)->driver, (request), sizeof *(request))
#define CX_CORE_RESPOND(command, response) cx_respond(&(command)->core, (response), sizeof *(response))
#define CX_DRIVER_RESPOND(command, response) cx_respond(&(command)->driver, (response), sizeof *(response))

/* The commands. The caller holds the device's mutex. */
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

/* Destroy objects, by command or with their context. The caller holds the device's mutex. */
void cx_pd_destroy(struct cx_object *object);
void cx_mr_destroy(struct cx_object *object);
void cx_cq_destroy(struct cx_object *object);
void cx_qp_destroy(struct cx_object *object);
void cx_wq_destroy(struct cx_object *object);
void cx_ind_table_destroy(struct cx_object *object);
void cx_flow_destroy(struct cx_object *object);
void cx_counters_destroy(struct cx_object *object);

/* Used by several commands: return the GUID of the device in network byte order, and the number of GIDs of its port. */
uint64_t cx_guid(const struct cx_device *device);
uint32_t cx_gid_count(void);
int cx_async_open(struct cx_context *context, int *fd);

/* counters.c */
int cx_counters_create(struct cx_context *context, uint32_t *handle);
/* Sets the positions of counters, from the command that creates a rule. */
int cx_counters_describe(struct cx_command *command, struct cx_counters *counters);
int cx_counters_read(struct cx_context *context, uint32_t handle, uint64_t *values, uint32_t count);

/* qp_commands.c, qp_state.c: the rings of queue pairs and work queues */

/*
 * Checks that the ring and its doorbell record are the program's memory, and empties the ring. Returns 0 or an errno.
 */
int cx_ring_init(struct cx_ring *ring, struct cx_object *owner, uint64_t memory, uint32_t units, uint32_t unit_shift,
                 uint64_t record);
/* Resets the ring as RESET does: the driver also starts at 0 and clears the record. */
void cx_ring_reset(struct cx_ring *ring);

#endif
