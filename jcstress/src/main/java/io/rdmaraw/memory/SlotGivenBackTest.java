package io.rdmaraw.memory;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;

/**
 * Tests a handler's thread that reads a slot and releases it, after which the loop uses the slot for the next frame.
 * The handler must not read the next frame, and the loop must see the handler's writes.
 */
@JCStressTest
@Outcome(id = {"0, -1", "0, 1"}, expect = Expect.ACCEPTABLE, desc = "Not back yet, or back with all that was done.")
@Outcome(expect = Expect.FORBIDDEN, desc = "The slot had two users at a time.")
@State
public class SlotGivenBackTest {
    private final SlotPool pool = Slots.pool(1);
    private final FrameBuf slot = pool.acquire();
    private int received;
    private int leftBehind;

    @Actor
    public void handler(II_Result result) {
        result.r1 = received;
        leftBehind = 1;
        slot.release();
    }

    @Actor
    public void loop(II_Result result) {
        if (pool.acquire() == null) {
            result.r2 = -1;
        } else {
            result.r2 = leftBehind;
            received = 1;
        }
    }
}
