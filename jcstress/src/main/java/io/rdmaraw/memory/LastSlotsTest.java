package io.rdmaraw.memory;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.I_Result;

import java.util.concurrent.atomic.AtomicInteger;

/** Tests two threads that release the last slots of a loop that has ended: the memory is unmapped exactly once. */
@JCStressTest
@Outcome(id = "1", expect = Expect.ACCEPTABLE, desc = "Unmapped when all were back.")
@Outcome(id = "0", expect = Expect.FORBIDDEN, desc = "Each left it to the other: the memory is lost.")
@Outcome(expect = Expect.FORBIDDEN, desc = "Unmapped twice.")
@State
public class LastSlotsTest {
    private final SlotPool pool = Slots.pool(2);
    private final FrameBuf first = pool.acquire();
    private final FrameBuf second = pool.acquire();
    private final AtomicInteger unmapped = new AtomicInteger();

    public LastSlotsTest() {
        pool.retireWhenReturned(unmapped::incrementAndGet);
    }

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
        result.r1 = unmapped.get();
    }
}
