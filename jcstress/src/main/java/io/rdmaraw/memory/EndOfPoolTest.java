package io.rdmaraw.memory;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.I_Result;

import java.util.concurrent.atomic.AtomicInteger;

/** Tests a loop that ends while another thread releases the last slot: the memory is unmapped exactly once. */
@JCStressTest
@Outcome(id = "1", expect = Expect.ACCEPTABLE, desc = "Unmapped when all were back.")
@Outcome(id = "0", expect = Expect.FORBIDDEN, desc = "Each left it to the other: the memory is lost.")
@Outcome(expect = Expect.FORBIDDEN, desc = "Unmapped twice.")
@State
public class EndOfPoolTest {
    private final SlotPool pool = Slots.pool(1);
    private final FrameBuf slot = pool.acquire();
    private final AtomicInteger unmapped = new AtomicInteger();

    @Actor
    public void loop() {
        pool.retireWhenReturned(unmapped::incrementAndGet);
    }

    @Actor
    public void handler() {
        slot.release();
    }

    @Arbiter
    public void count(I_Result result) {
        result.r1 = unmapped.get();
    }
}
