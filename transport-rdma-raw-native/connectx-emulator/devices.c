/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The devices of the process. CONNECTX_EMULATOR_WIRES lists what each is connected to, separated by commas; see wire.c.
 * CONNECTX_EMULATOR_ABI=write leaves out the ioctl ABI, as a kernel before 4.20 does. CONNECTX_EMULATOR_SETUP names ways
 * in which hosts and cards are set up, with a + between them; sysfs-tree.sh shows the same ones:
 *   roce-off          the port has no GIDs
 *   bond, switchdev, dual-port    other interfaces beside the port's own
 *   other-namespace   the port's interface is not in the network namespace of the program
 *   no-netlink        the kernel knows no RDMA netlink
 *   vf                a virtual function: it receives what is for an address of its interface's list, nothing else
 *   no-tags           rules have no tags, as those of mlx4
 *   kernel-interface  the port's interface is one of the kernel's, to which goes what no rule takes (root)
 *   connectx-4-lx     requests hold the first 18 bytes of their frame, and there are no multi-packet requests
 *   no-raw-packets    there are no queue pairs for raw packets, as with irdma
 */
#include "emulator.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct cx_device *devices[CX_MAX_DEVICES];
static unsigned device_count;
static bool uses_ioctl = true;
static const char *setup = "";
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void exit_with(const char *what, const char *detail)
{
    fprintf(stderr, "connectx-emulator: %s: %s\n", what, detail);
    _exit(2);
}

static struct cx_device *new_device(unsigned index, const char *wire)
{
    struct cx_device *device = sv_alloc_zeroed(sizeof *device);
    if (device == NULL)
        exit_with("no memory for a device", wire);
    device->index = index;
    snprintf(device->name, sizeof device->name, "mlx5_%u", index);
    snprintf(device->interface, sizeof device->interface, "emulated%u", index);
    const uint8_t mac[6] = {0x02, 0xc5, 0x00, 0x00, 0x00, (uint8_t)(index + 1)};
    memcpy(device->mac, mac, sizeof mac);
    device->mtu = 1500;
    device->min_inline_bytes = cx_setup("connectx-4-lx") ? CX_L2_INLINE_BYTES : 0;
    device->port_up = true;
    device->next_number = 0x100;
    device->next_cqn = 0x400;
    device->next_pdn = 1;
    pthread_mutex_init(&device->turnstile, NULL);
    pthread_mutex_init(&device->mutex, NULL);
    pthread_cond_init(&device->opened, NULL);
    device->scratch = malloc(CX_MAX_TSO_BYTES + CX_MAX_SQ_DESC_BYTES);
    device->segment = malloc(CX_MAX_FRAME);
    if (device->scratch == NULL || device->segment == NULL || sv_flow_table_init(&device->flows, NULL) != 0)
        exit_with("no memory for a device", wire);
    int error = cx_wire_open(device, wire);
    if (error != 0) {
        fprintf(stderr, "connectx-emulator: the wire '%s' of %s: %s\n", wire, device->name, strerror(error));
        _exit(2);
    }
    return device;
}

static void choose_setup(void)
{
    static const char *const known[] = {"roce-off", "bond", "switchdev", "dual-port", "other-namespace", "no-netlink",
                                        "vf", "no-tags", "no-raw-packets", "kernel-interface", "connectx-4-lx"};
    const char *words = getenv("CONNECTX_EMULATOR_SETUP");
    if (words == NULL || *words == '\0')
        return;
    setup = words;
    size_t named = 0;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (cx_setup(known[i]))
            named += strlen(known[i]) + 1;
    if (named != strlen(words) + 1)
        exit_with("CONNECTX_EMULATOR_SETUP has an unknown word", words);
}

static void initialise(void)
{
    const char *wires = getenv("CONNECTX_EMULATOR_WIRES");
    const char *abi = getenv("CONNECTX_EMULATOR_ABI");
    if (wires == NULL || *wires == '\0')
        return;
    cx_mutant_choose();
    choose_setup();
    if (abi != NULL && strcmp(abi, "write") == 0)
        uses_ioctl = false;
    else if (abi != NULL && strcmp(abi, "ioctl") != 0)
        exit_with("CONNECTX_EMULATOR_ABI is neither write nor ioctl", abi);
    char *list = strdup(wires);
    if (list == NULL)
        exit_with("no memory for the list of devices", wires);
    char *rest = NULL;
    for (char *wire = strtok_r(list, ",", &rest); wire != NULL; wire = strtok_r(NULL, ",", &rest)) {
        if (device_count == CX_MAX_DEVICES)
            exit_with("too many devices in CONNECTX_EMULATOR_WIRES", wires);
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

bool cx_uses_ioctl(void)
{
    return uses_ioctl;
}

bool cx_setup(const char *word)
{
    size_t length = strlen(word);
    for (const char *at = strstr(setup, word); at != NULL; at = strstr(at + 1, word))
        if ((at == setup || at[-1] == '+') && (at[length] == '\0' || at[length] == '+'))
            return true;
    return false;
}

/*
 * The engine and programs take the mutex repeatedly, and the last holder would nearly always get it again. A thread
 * that waits for the mutex holds the turnstile and so keeps later threads out.
 */
void cx_lock(struct cx_device *device)
{
    pthread_mutex_lock(&device->turnstile);
    pthread_mutex_lock(&device->mutex);
    pthread_mutex_unlock(&device->turnstile);
}

void cx_unlock(struct cx_device *device)
{
    pthread_mutex_unlock(&device->mutex);
}
