package io.rdmaraw.memory;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.III_Result;

/**
 * Tests two threads that release a buffer to which both have a reference. Exactly one of them releases the last
 * reference and returns the slot. That thread sees everything that the other one did with the buffer before.
 */
@JCStressTest
@Outcome(id = {"-1, 1, 1", "1, -1, 1"}, expect = Expect.ACCEPTABLE, desc = "One released the last reference.")
@Outcome(expect = Expect.FORBIDDEN, desc = "None did, or both, or one that had not seen what the other did.")
@State
public class LastReferenceTest {
    private final SlotPool pool = Slots.pool(1);
    private final FrameBuf buffer = twice(pool.acquire());
    private int firstDid;
    private int secondDid;

    private static FrameBuf twice(FrameBuf buffer) {
        buffer.retain();
        return buffer;
    }

    @Actor
    public void first(III_Result result) {
        firstDid = 1;
        result.r1 = buffer.release() ? secondDid : -1;
    }

    @Actor
    public void second(III_Result result) {
        secondDid = 1;
        result.r2 = buffer.release() ? firstDid : -1;
    }

    @Arbiter
    public void count(III_Result result) {
        result.r3 = pool.available();
    }
}
