/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settings in the environment. CONNECTX_EMULATOR_ABI=write omits the ioctl ABI, as a kernel before 4.20 does.
 * CONNECTX_EMULATOR_SETUP describes hosts and cards in words separated by +. sysfs-tree.sh creates the files for the
 * same words:
 *   roce-off          the port has no GIDs
 *   bond, dual-port   other interfaces beside the port's own
 *   split-bond        a bond of all devices' interfaces, which RoCE LAG has not made one device
 *   switchdev         three ports: those of the function itself, without a representor, of a virtual function, and of
 *                     the wire
 *   bluefield         the same on a DPU's own processor, where the first port is that of the host's function
 *   other-namespace   the port's interface is in another network namespace than the program
 *   no-netlink        the kernel has no RDMA netlink
 *   vf                a virtual function: it receives only frames for the addresses of its interface's lists
 *   sriov             a physical function with virtual functions, which also receives only these
 *   no-tags           rules have no tags, like those of mlx4
 *   kernel-interface  the port has an interface of the kernel, which receives the frames that no rule takes (root)
 *   connectx-4-lx     requests contain the first 18 bytes of their frame; there are no multi-packet requests, and
 *                     striding receive queues have at least 512 strides per request
 *   no-raw-packets    there are no queue pairs for raw packets, as with irdma
 */
#include "base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool uses_ioctl = true;
static const char *setup = "";

void cx_exit_with(const char *what, const char *detail)
{
    fprintf(stderr, "connectx-emulator: %s: %s\n", what, detail);
    _exit(2);
}

static void choose_setup(void)
{
    static const char *const known[] = {"roce-off", "bond", "switchdev", "dual-port", "other-namespace", "no-netlink",
                                        "vf", "no-tags", "no-raw-packets", "kernel-interface", "connectx-4-lx",
                                        "bluefield", "split-bond", "sriov"};
    const char *words = getenv("CONNECTX_EMULATOR_SETUP");
    if (words == NULL || *words == '\0')
        return;
    setup = words;
    size_t named = 0;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (cx_has_setup(known[i]))
            named += strlen(known[i]) + 1;
    if (named != strlen(words) + 1)
        cx_exit_with("CONNECTX_EMULATOR_SETUP has an unknown word", words);
}

void cx_setup_read(void)
{
    const char *abi = getenv("CONNECTX_EMULATOR_ABI");
    choose_setup();
    if (abi != NULL && strcmp(abi, "write") == 0)
        uses_ioctl = false;
    else if (abi != NULL && strcmp(abi, "ioctl") != 0)
        cx_exit_with("CONNECTX_EMULATOR_ABI is neither write nor ioctl", abi);
}

bool cx_is_switchdev(void)
{
    return cx_has_setup("switchdev") || cx_has_setup("bluefield");
}

bool cx_uses_ioctl(void)
{
    return uses_ioctl;
}

bool cx_has_setup(const char *word)
{
    size_t length = strlen(word);
    for (const char *at = strstr(setup, word); at != NULL; at = strstr(at + 1, word))
        if ((at == setup || at[-1] == '+') && (at[length] == '\0' || at[length] == '+'))
            return true;
    return false;
}
