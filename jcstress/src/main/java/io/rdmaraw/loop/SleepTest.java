package io.rdmaraw.loop;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.ZZ_Result;

/**
 * Tests a task that is added while the loop goes to sleep in the way of {@link LoopSleeper}. A blocked loop must be
 * signalled.
 */
@JCStressTest
@Outcome(id = {"false, false", "true, true"}, expect = Expect.ACCEPTABLE, desc = "Awake, or woken.")
@Outcome(id = "false, true", expect = Expect.ACCEPTABLE, desc = "It saw the task, and is signalled beside.")
@Outcome(id = "true, false", expect = Expect.FORBIDDEN, desc = "It sleeps over a task.")
@State
public class SleepTest {
    private final SleepState state = new SleepState();
    /** Stands for the producer index of Netty's task queues. */
    private volatile int tasks;

    @Actor
    public void loop(ZZ_Result blocks) {
        if (state.beginBlocking(SleepState.BLOCKED)) {
            if (tasks == 0) {
                blocks.r1 = true;
            } else {
                state.endBlocking();
            }
        }
    }

    @Actor
    public void other(ZZ_Result signalled) {
        tasks = 1;
        signalled.r2 = state.wake() == SleepState.BLOCKED;
    }
}
