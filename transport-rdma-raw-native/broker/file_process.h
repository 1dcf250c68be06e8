/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BROKER_FILE_PROCESS_H
#define BROKER_FILE_PROCESS_H

#include "policy.h"

/*
 * The process that does what the broker wants of files once it serves: it reads the policy again, for which the C
 * library may ask other services for users' names, and removes the socket in the end. It has no capability, and the
 * broker waits for it in the end alone.
 */
struct file_process {
    pid_t pid;
    int socket;                     /* can be read when there is an answer */
    bool is_busy;                   /* the policy is being read */
    struct file_process_answer *answer;
};

/* `socket_path`: NULL for none to remove. */
bool file_process_start(struct file_process *process, const char *policy_path, const char *socket_path);
/* Asks for the policy to be read. False: it is being read already. */
bool file_process_read_policy(struct file_process *process);
/*
 * Takes the policy if it has been read: one that is refused leaves `policy` as it is. The journal has either. False: the
 * process has ended.
 */
bool file_process_take_policy(struct file_process *process, struct policy *policy);
/* Removes the socket, and ends. */
void file_process_end(struct file_process *process);

#endif
