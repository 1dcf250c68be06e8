/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BROKER_FILE_PROCESS_H
#define BROKER_FILE_PROCESS_H

#include "policy.h"

/*
 * The process that accesses files for the broker while it serves. It reads the policy again, for which the C library
 * may query other services for user names, and finally removes the socket. It has no capability. The broker waits for
 * it only at the end.
 */
struct file_process {
    pid_t pid;
    int socket;                     /* readable when there is an answer */
    bool is_busy;                   /* the policy is being read */
    struct file_process_answer *answer;
};

/* Starts the process. `socket_path` is the socket to remove, or NULL. */
bool file_process_start(struct file_process *process, const char *policy_path, const char *socket_path);
/* Requests the policy to be read. Returns false if it is being read already. */
bool file_process_read_policy(struct file_process *process);
/*
 * Takes the policy if it has been read, and logs the result. A refused policy leaves `policy` unchanged. Returns false
 * if the process has ended.
 */
bool file_process_take_policy(struct file_process *process, struct policy *policy);
/* Makes the process remove the socket and end. */
void file_process_end(struct file_process *process);

#endif
