package io.rdmaraw.loop;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.ZZZ_Result;

/**
 * Tests that only one of two loops reserves the last place in the queue of a third one. Places that were refused or
 * released are free again.
 */
@JCStressTest
@Outcome(id = {"true, false, true", "false, true, true"}, expect = Expect.ACCEPTABLE, desc = "One got it.")
@Outcome(id = "false, false, true", expect = Expect.FORBIDDEN, desc = "Nobody got the place that was free.")
@Outcome(expect = Expect.FORBIDDEN, desc = "Both got it, or it is lost.")
@State
public class CrossLoopRoomTest {
    private final CrossLoopQueueLimit limit = nearlyFull();

    private static CrossLoopQueueLimit nearlyFull() {
        CrossLoopQueueLimit limit = new CrossLoopQueueLimit();
        limit.tryAcquire(CrossLoopQueueLimit.MAX_FRAMES - 1);
        return limit;
    }

    @Actor
    public void loop(ZZZ_Result result) {
        result.r1 = limit.tryAcquire(1);
    }

    @Actor
    public void otherLoop(ZZZ_Result result) {
        result.r2 = limit.tryAcquire(1);
    }

    @Arbiter
    public void full(ZZZ_Result result) {
        limit.release(CrossLoopQueueLimit.MAX_FRAMES);
        result.r3 = limit.tryAcquire(CrossLoopQueueLimit.MAX_FRAMES) && !limit.tryAcquire(1);
    }
}
