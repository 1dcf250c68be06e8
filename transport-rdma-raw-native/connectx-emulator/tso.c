/* SPDX-License-Identifier: Apache-2.0 */
/* TSO sends: cuts the payload into segments, each with a copy of the header, by softverbs' rules. */
#include "engine.h"
#include "frame.h"

#include <string.h>

uint8_t cx_tso_send(struct cx_qp *qp, const uint8_t *header, uint32_t header_bytes, const uint8_t *payload,
                    uint32_t payload_bytes, uint32_t mss)
{
    struct cx_device *device = qp->object.context->device;
    struct sv_layout layout;
    if (mss == 0 || payload_bytes == 0)
        return MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR;
    if (!sv_segment_parse(header, header_bytes, &layout))
        return MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR;
    if (!sv_frame_fits(device->mtu, header, header_bytes + mss))
        return MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR;
    uint32_t number = 0;
    for (uint32_t offset = 0; offset < payload_bytes; offset += mss, number++) {
        uint32_t part = payload_bytes - offset < mss ? payload_bytes - offset : mss;
        uint32_t length = header_bytes + part;
        memcpy(device->segment, header, header_bytes);
        memcpy(device->segment + header_bytes, payload + offset, part);
        sv_segment_patch(device->segment, layout, length, number, cx_is_mutant(CX_MUTANT_SEGMENTS_ALIKE) ? 0 : offset,
                         offset + part == payload_bytes);
        struct sv_frame frame = {.data = device->segment, .length = length};
        cx_wire_send(device, qp, &frame, 1);
    }
    return 0;
}
