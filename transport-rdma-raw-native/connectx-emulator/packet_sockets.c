/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of addresses of the emulated ports' interfaces. Sources: packet_mc_add(), packet_dev_mc() and
 * packet_flush_mclist() of net/packet/af_packet.c; __dev_uc_add() and __dev_mc_add() of net/core/dev_addr_lists.c, which
 * count the users of an address. mlx5e_vport_context_update_addr_list() of en_fs.c passes the lists to the e-switch.
 */
#include "kernel.h"

#include <errno.h>
#include <linux/if_packet.h>
#include <stdlib.h>
#include <string.h>

struct cx_memberships {
    struct membership {
        struct membership *next;
        struct cx_device *device;
        uint8_t mac[6];
    } *first;
};

static struct cx_listed_mac *find(struct cx_device *device, const uint8_t *mac)
{
    for (unsigned i = 0; i < CX_MAX_LISTED_MACS; i++)
        if (device->listed_macs[i].users > 0 && memcmp(device->listed_macs[i].mac, mac, 6) == 0)
            return &device->listed_macs[i];
    return NULL;
}

/* The driver omits addresses for which the function has no room; the kernel only logs this. */
static void list(struct cx_device *device, const uint8_t *mac)
{
    struct cx_listed_mac *listed = find(device, mac);
    for (unsigned i = 0; i < CX_MAX_LISTED_MACS && listed == NULL; i++)
        if (device->listed_macs[i].users == 0)
            listed = &device->listed_macs[i];
    if (listed == NULL)
        return;
    memcpy(listed->mac, mac, 6);
    listed->users++;
}

static void unlist(struct cx_device *device, const uint8_t *mac)
{
    struct cx_listed_mac *listed = find(device, mac);
    if (listed != NULL)
        listed->users--;
}

static void close_memberships(struct cx_file *file)
{
    for (struct membership *at = file->memberships->first, *next; at != NULL; at = next) {
        next = at->next;
        cx_lock(at->device);
        unlist(at->device, at->mac);
        cx_unlock(at->device);
        free(at);
    }
    free(file->memberships);
}

static int remember(int fd, struct membership *membership)
{
    struct cx_file *file = cx_file_get(fd);
    if (file == NULL) {
        const struct cx_file made = {.memberships = calloc(1, sizeof *made.memberships), .close = close_memberships};
        int error = made.memberships == NULL ? ENOMEM : cx_file_add(fd, &made);
        if (error != 0) {
            free(made.memberships);
            return error;
        }
        file = cx_file_get(fd);
    }
    membership->next = file->memberships->first;
    file->memberships->first = membership;
    cx_file_put(file);
    return 0;
}

static struct cx_device *device_of(int index)
{
    for (unsigned i = 0; i < cx_device_count(); i++) {
        struct cx_device *device = cx_device_by_index(i);
        if (index > 0 && cx_interface_index(device, device->own_port) == (unsigned)index)
            return device;
    }
    return NULL;
}

bool cx_membership_add(int fd, const void *value, size_t bytes, int *error)
{
    struct packet_mreq request;
    if (bytes < sizeof request)
        return false;
    memcpy(&request, value, sizeof request);
    struct cx_device *device = device_of(request.mr_ifindex);
    if (device == NULL)
        return false;
    *error = 0;
    if (request.mr_type != PACKET_MR_UNICAST && request.mr_type != PACKET_MR_MULTICAST)
        return true;
    if (request.mr_alen != 6) {
        *error = EINVAL;
        return true;
    }
    /* esw_update_vport_addr_list() skips an address in the wrong list. */
    if ((request.mr_address[0] & 1) != (request.mr_type == PACKET_MR_MULTICAST))
        return true;
    struct membership *membership = calloc(1, sizeof *membership);
    if (membership == NULL) {
        *error = ENOMEM;
        return true;
    }
    membership->device = device;
    memcpy(membership->mac, request.mr_address, sizeof membership->mac);
    *error = remember(fd, membership);
    if (*error != 0) {
        free(membership);
        return true;
    }
    cx_lock(device);
    list(device, membership->mac);
    cx_unlock(device);
    return true;
}
