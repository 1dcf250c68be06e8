/* SPDX-License-Identifier: Apache-2.0 */
/* softverbs_query_interface() and softverbs_query_programs(): query an interface that need not be open. */
#include "bpf.h"
#include "busy_poll.h"
#include "objects.h"
#include "xdp_mode.h"

#include <errno.h>
#include <string.h>

/* More than any interface has. */
enum { MAX_QUEUES = 4096 };

static void count_queues(const struct sv_netdev_family *family, int ifindex, struct softverbs_interface *interface)
{
    struct sv_napi_settings settings;
    uint32_t napi_id;
    while (interface->receive_queues < MAX_QUEUES &&
           sv_netdev_get_queue_napi(family, ifindex, interface->receive_queues, &napi_id) == 0) {
        interface->receive_queues++;
        interface->queues_with_napi += napi_id != 0;
        interface->napi_left_deferring += napi_id != 0 && sv_netdev_get_napi(family, napi_id, &settings) == 0 &&
                                     sv_busy_poll_is_leftover(&settings);
    }
}

/* Returns the interface that native mode and zero copy open. For a VLAN it is the one below, if that can be used. */
static int driven_ifindex(const char *netdev, int ifindex)
{
    struct sv_vlan vlan;
    int error = sv_vlan_find(netdev, ifindex, &vlan);
    if (error != 0)
        (void)sv_explain(0, "%s", "");
    return error == 0 && vlan.ifindex != 0 ? vlan.parent_ifindex : ifindex;
}

SV_EXPORT int softverbs_query_interface(const char *netdev, struct softverbs_interface *interface)
{
    struct sv_netdev_family family;
    struct sv_netdev_info info;
    char version[SV_XDP_DRIVER_BYTES];
    memset(interface, 0, sizeof *interface);
    int ifindex = (int)if_nametoindex(netdev);
    if (ifindex == 0)
        return ENODEV;
    sv_xdp_read_driver(netdev, interface->driver, version);
    if (sv_netdev_family_open(&family) != 0)
        return 0;
    if (sv_netdev_get_info(&family, driven_ifindex(netdev, ifindex), &info) == 0) {
        interface->features_reported = 1;
        interface->xdp_features = info.xdp_features;
        interface->xdp_rx_metadata = info.xdp_rx_metadata;
        interface->xsk_features = info.xsk_features;
        interface->zero_copy_segments = info.zero_copy_segments;
        interface->napi_from_first_frame = !sv_netdev_has_napi_settings(&family);
        count_queues(&family, ifindex, interface);
    }
    sv_netdev_family_close(&family);
    return 0;
}

static void add_program(struct softverbs_program *out, const struct sv_attached_program *program, uint32_t attach_point)
{
    memset(out, 0, sizeof *out);
    out->id = program->id;
    out->attach_point = attach_point;
    memcpy(out->name, program->name, sizeof out->name);
}

SV_EXPORT int softverbs_query_programs(const char *netdev, struct softverbs_program *programs, uint32_t room)
{
    struct sv_attached_program program;
    struct sv_attached_list list;
    uint32_t count = 0;
    int ifindex = (int)if_nametoindex(netdev);
    if (ifindex == 0)
        return -ENODEV;
    if (room > 0 && sv_attached_find_xdp(ifindex, &program))
        add_program(&programs[count++], &program,
                    program.in_driver_mode ? SOFTVERBS_PROGRAM_XDP_DRIVER : SOFTVERBS_PROGRAM_XDP_GENERIC);
    if (sv_attached_list_tc(ifindex, &list) != 0)
        list.count = 0;
    for (uint32_t i = 0; i < list.count && count < room; i++) {
        program.id = list.id[i];
        sv_attached_read_name(program.id, program.name);
        add_program(&programs[count++], &program, SOFTVERBS_PROGRAM_TC);
    }
    return (int)count;
}
