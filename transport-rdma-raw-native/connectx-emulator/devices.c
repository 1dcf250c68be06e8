/* SPDX-License-Identifier: Apache-2.0 */
/* The devices of the process. CONNECTX_EMULATOR_WIRES lists their wires, separated by commas; see wire.c. */
#include "engine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct cx_device *devices[CX_MAX_DEVICES];
static unsigned device_count;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* esw_offloads_enable() loads the first function's representor only on a DPU. The host uses that function. */
static void add_ports(struct cx_device *device)
{
    device->own_port = cx_is_switchdev() ? 1 + CX_MAX_REPRESENTORS : 1;
    if (cx_has_setup("bluefield"))
        snprintf(device->representors[0], sizeof device->representors[0], "emu%upf0hpf", device->index);
    if (cx_is_switchdev())
        snprintf(device->representors[1], sizeof device->representors[1], "emu%upf0vf0", device->index);
}

static struct cx_device *new_device(unsigned index, const char *wire)
{
    struct cx_device *device = sv_alloc_zeroed(sizeof *device);
    if (device == NULL)
        cx_exit_with("no memory for a device", wire);
    device->index = index;
    snprintf(device->name, sizeof device->name, "mlx5_%u", index);
    snprintf(device->interface, sizeof device->interface, "emulated%u", index);
    add_ports(device);
    const uint8_t mac[6] = {0x02, 0xc5, 0x00, 0x00, 0x00, (uint8_t)(index + 1)};
    memcpy(device->mac, mac, sizeof mac);
    device->mtu = 1500;
    device->min_strides_shift = cx_has_setup("connectx-4-lx") ? CX_OLD_MIN_STRIDES_SHIFT : CX_MIN_STRIDES_SHIFT;
    device->min_inline_bytes = cx_has_setup("connectx-4-lx") ? CX_L2_INLINE_BYTES : 0;
    device->port_up = true;
    device->next_queue_number = 0x100;
    device->next_cqn = 0x400;
    device->next_pdn = 1;
    pthread_mutex_init(&device->turnstile, NULL);
    pthread_mutex_init(&device->mutex, NULL);
    pthread_cond_init(&device->opened, NULL);
    device->scratch = malloc(CX_MAX_TSO_BYTES + CX_MAX_SQ_DESC_BYTES);
    device->segment = malloc(CX_MAX_FRAME_BYTES);
    if (device->scratch == NULL || device->segment == NULL || sv_flow_table_init(&device->flows, NULL) != 0)
        cx_exit_with("no memory for a device", wire);
    device->flows.capacity = CX_MAX_RULES;
    int error = cx_wire_open(device, wire);
    if (error != 0) {
        fprintf(stderr, "connectx-emulator: the wire '%s' of %s: %s\n", wire, device->name, strerror(error));
        _exit(2);
    }
    return device;
}

static void initialise(void)
{
    const char *wires = getenv("CONNECTX_EMULATOR_WIRES");
    if (wires == NULL || *wires == '\0')
        return;
    cx_mutant_choose();
    cx_setup_read();
    char *list = strdup(wires);
    if (list == NULL)
        cx_exit_with("no memory for the list of devices", wires);
    char *rest = NULL;
    for (char *wire = strtok_r(list, ",", &rest); wire != NULL; wire = strtok_r(NULL, ",", &rest)) {
        if (device_count == CX_MAX_DEVICES)
            cx_exit_with("too many devices in CONNECTX_EMULATOR_WIRES", wires);
        devices[device_count] = new_device(device_count, wire);
        device_count++;
    }
    free(list);
}

unsigned cx_device_count(void)
{
    pthread_once(&once, initialise);
    return device_count;
}

struct cx_device *cx_device_by_index(unsigned index)
{
    return index < cx_device_count() ? devices[index] : NULL;
}

struct cx_device *cx_device_by_name(const char *name)
{
    for (unsigned i = 0; i < cx_device_count(); i++)
        if (strcmp(devices[i]->name, name) == 0)
            return devices[i];
    return NULL;
}
