/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_TSO_H
#define SV_TSO_H

#include "burst.h"

/* Whether a large send may be posted: 0 or an errno. */
int sv_tso_check(const struct sv_sq *sq, const struct ibv_send_wr *wr, uint32_t payload);
/* Sends it whole where the wire cuts, else adds its segments to the burst. */
enum ibv_wc_status sv_tso_send(struct sv_burst *burst, const struct ibv_send_wr *wr, uint32_t payload);

#endif
