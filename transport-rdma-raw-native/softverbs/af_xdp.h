/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_AF_XDP_H
#define SV_AF_XDP_H

/* AF_XDP as the library, the broker and the tests use it. */

#include <linux/if_xdp.h>
#include <sys/socket.h>

/* Newer than the oldest C library this builds with. */
#ifndef AF_XDP
#define AF_XDP 44
#endif
#ifndef SOL_XDP
#define SOL_XDP 283
#endif
/* Newer than the oldest <linux/if_xdp.h> this builds with: Linux 6.6. */
#ifndef XDP_USE_SG
#define XDP_USE_SG (1 << 4)
#endif
#ifndef XDP_PKT_CONTD
#define XDP_PKT_CONTD (1 << 0)
#endif

#endif
