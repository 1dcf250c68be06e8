package io.rdmaraw.memory;

import io.netty.util.internal.SystemPropertyUtil;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import io.rdmaraw.ffi.NativeMemory;

import java.util.concurrent.atomic.LongAdder;

/**
 * A debugging aid that detects use after release. Netty's leak detector cannot notice that a former holder uses
 * a slot that has a new user. With {@code -Dio.rdmaraw.poison=true} free slots are filled with a pattern. A
 * stale reader then reads garbage at once, and a stale writer is detected when the slot is taken again.
 */
public final class SlotPoison {
    private static final InternalLogger LOGGER = InternalLoggerFactory.getInstance(SlotPoison.class);
    private static final long PATTERN = 0xDEADF00DDEADF00DL;
    /** Disabled, which is the default and has no cost. */
    static final SlotPoison OFF = new SlotPoison(false);

    private final boolean on;
    private final LongAdder violations = new LongAdder();

    SlotPoison(boolean on) {
        this.on = on;
    }

    static SlotPoison fromSystemProperty() {
        return SystemPropertyUtil.getBoolean("io.rdmaraw.poison", false) ? new SlotPoison(true) : OFF;
    }

    /** Returns the number of slots that were modified while free. */
    long violationCount() {
        return violations.sum();
    }

    boolean isOn() {
        return on;
    }

    void onFree(FrameBuf buf) {
        if (on) {
            for (int i = 0; i < buf.slotCapacityBytes(); i += Long.BYTES) {
                NativeMemory.putLong(buf.slotAddress() + i, PATTERN);
            }
        }
    }

    void onAcquire(FrameBuf buf) {
        if (on) {
            for (int i = 0; i < buf.slotCapacityBytes(); i += Long.BYTES) {
                if (NativeMemory.getLong(buf.slotAddress() + i) != PATTERN) {
                    violations.increment();
                    LOGGER.error("slot {} was written to at offset {} after its last release; a handler uses a frame "
                            + "that it no longer owns", buf.slotIndex(), i);
                    return;
                }
            }
        }
    }
}
