package io.rdmaraw.loop;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.ZZ_Result;

/** A task comes while the loop falls asleep, as {@link LoopSleeper} does it: a loop that blocks is signalled. */
@JCStressTest
@Outcome(id = {"false, false", "true, true"}, expect = Expect.ACCEPTABLE, desc = "Awake, or woken.")
@Outcome(id = "false, true", expect = Expect.ACCEPTABLE, desc = "It saw the task, and is signalled beside.")
@Outcome(id = "true, false", expect = Expect.FORBIDDEN, desc = "It sleeps over a task.")
@State
public class SleepTest {
    private final SleepState state = new SleepState();
    /** As the producer's index of Netty's task queues. */
    private volatile int tasks;

    @Actor
    public void loop(ZZ_Result blocks) {
        if (state.announce(SleepState.BLOCKED)) {
            if (tasks == 0) {
                blocks.r1 = true;
            } else {
                state.awake();
            }
        }
    }

    @Actor
    public void other(ZZ_Result signalled) {
        tasks = 1;
        signalled.r2 = state.wake() == SleepState.BLOCKED;
    }
}
