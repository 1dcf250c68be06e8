package io.rdmaraw.memory;

import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.ffi.PageMemory;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;

/**
 * Tests two threads that read a buffer through its cached views. Each may find the view that the other one has just
 * created.
 */
@JCStressTest
@Outcome(id = "7, 7", expect = Expect.ACCEPTABLE, desc = "Both read the byte.")
@Outcome(expect = Expect.FORBIDDEN, desc = "One read by a view that was not complete.")
@State
public class ViewOfSharedBufferTest {
    private static final int SLOT_BYTES = 64;
    private static final int OFFSET = 16;
    private static final PageMemory MEMORY = PageMemory.map(SLOT_BYTES);

    static {
        NativeMemory.putByte(MEMORY.address() + OFFSET, (byte) 7);
    }

    private final FrameBuf buffer = received();

    private static FrameBuf received() {
        FrameBuf slot = new SlotPool(MEMORY.address(), StrideLayout.NONE, 1, SLOT_BYTES, 0, SlotPoison.OFF).acquire();
        slot.writerIndex(SLOT_BYTES);
        return slot.restrictTo(OFFSET, 1);
    }

    @Actor
    public void reader(II_Result result) {
        result.r1 = buffer.nioBuffer(0, 1).get(0);
    }

    @Actor
    public void otherReader(II_Result result) {
        result.r2 = buffer.nioBuffer(0, 1).get(0);
    }
}
