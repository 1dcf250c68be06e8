package io.rdmaraw.memory;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.I_Result;

/** Tests two threads that release slots concurrently: no slot is lost or duplicated. */
@JCStressTest
@Outcome(id = "2", expect = Expect.ACCEPTABLE, desc = "Both are back.")
@Outcome(expect = Expect.FORBIDDEN, desc = "A slot was lost, or is there twice.")
@State
public class SlotsOfTwoThreadsTest {
    private final SlotPool pool = Slots.pool(2);
    private final FrameBuf first = pool.acquire();
    private final FrameBuf second = pool.acquire();

    @Actor
    public void handler() {
        first.release();
    }

    @Actor
    public void otherHandler() {
        second.release();
    }

    @Arbiter
    public void count(I_Result result) {
        result.r1 = pool.available();
    }
}
