/* SPDX-License-Identifier: Apache-2.0 */
/* Opening xdp:<interface> comes with the AF_XDP sockets; until then the name is known and the device can't be opened. */
#include "wire.h"

#include <errno.h>

static int open_device(struct sv_device *device)
{
    return sv_explain(EOPNOTSUPP, "%s is not carried by this build", device->ibv.name);
}

const struct sv_port_ops sv_xdp_ops = {.open = open_device};
