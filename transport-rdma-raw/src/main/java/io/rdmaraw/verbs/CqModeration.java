package io.rdmaraw.verbs;

import io.rdmaraw.ffi.NativeCall;
import io.rdmaraw.ffi.NativeMemory;
import java.lang.foreign.Arena;

/** {@code ibv_modify_cq} with {@code IBV_CQ_ATTR_MODERATE}. */
final class CqModeration {
    private static final int ATTR_MODERATE = 1;

    private CqModeration() {
    }

    static void apply(VerbsContext context, long cq, int count, int periodMicros) {
        try (Arena arena = Arena.ofConfined()) {
            long attr = arena.allocate(ModifyCqAttrLayout.SIZE_BYTES, Long.BYTES).address();
            NativeMemory.putInt(attr + ModifyCqAttrLayout.ATTR_MASK_OFFSET, ATTR_MODERATE);
            NativeMemory.putShort(attr + ModifyCqAttrLayout.MODERATE_CQ_COUNT_OFFSET, (short) count);
            NativeMemory.putShort(attr + ModifyCqAttrLayout.MODERATE_CQ_PERIOD_OFFSET, (short) periodMicros);
            long function = context.requiredExtension(VerbsContextLayout.MODIFY_CQ_OFFSET, "ibv_modify_cq");
            VerbsException.check("ibv_modify_cq", NativeCall.status(function, cq, attr),
                    count + " completions, " + periodMicros + " us");
        }
    }
}
