package io.rdmaraw.memory;

import io.netty.util.internal.SystemPropertyUtil;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import io.rdmaraw.ffi.NativeMemory;

import java.util.concurrent.atomic.LongAdder;

/**
 * A debugging aid against use after release. Netty's leak detector does not see a stale holder of a slot that has a new
 * user; with {@code -Dio.rdmaraw.poison=true} a free slot is filled with a pattern, so that a stale reader reads
 * nonsense at once and a stale writer is found when the slot is taken again.
 */
public final class SlotPoison {
    private static final InternalLogger LOGGER = InternalLoggerFactory.getInstance(SlotPoison.class);
    private static final long PATTERN = 0xDEADF00DDEADF00DL;
    /** No poison: the default, and free of cost. */
    static final SlotPoison OFF = new SlotPoison(false);

    private final boolean on;
    private final LongAdder violations = new LongAdder();

    SlotPoison(boolean on) {
        this.on = on;
    }

    static SlotPoison fromSystemProperty() {
        return SystemPropertyUtil.getBoolean("io.rdmaraw.poison", false) ? new SlotPoison(true) : OFF;
    }

    /** Returns how many slots were found written to while they were free. */
    long violationCount() {
        return violations.sum();
    }

    boolean isOn() {
        return on;
    }

    void onFree(FrameBuf buf) {
        if (on) {
            for (int i = 0; i < buf.slotBytes(); i += Long.BYTES) {
                NativeMemory.putLong(buf.slotAddress() + i, PATTERN);
            }
        }
    }

    void onTake(FrameBuf buf) {
        if (on) {
            for (int i = 0; i < buf.slotBytes(); i += Long.BYTES) {
                if (NativeMemory.getLong(buf.slotAddress() + i) != PATTERN) {
                    violations.increment();
                    LOGGER.error("slot {} was written to at offset {} after its last release; a handler keeps a frame "
                            + "that it does not own any more", buf.slotIndex(), i);
                    return;
                }
            }
        }
    }
}
