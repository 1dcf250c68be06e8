package io.rdmaraw.loop;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.ZZ_Result;

/**
 * Same as {@link SleepTest} for a loop that has been woken before. The waker may find the mark of that wake-up, in
 * which case it does not signal.
 */
@JCStressTest
@Outcome(id = {"false, false", "true, true"}, expect = Expect.ACCEPTABLE, desc = "Awake, or woken.")
@Outcome(id = "false, true", expect = Expect.ACCEPTABLE, desc = "It saw the task, and is signalled beside.")
@Outcome(id = "true, false", expect = Expect.FORBIDDEN, desc = "It sleeps over a task.")
@State
public class SleepOfWokenLoopTest {
    private final SleepState state = woken();
    private volatile int tasks;

    private static SleepState woken() {
        SleepState state = new SleepState();
        state.wake();
        return state;
    }

    @Actor
    public void loop(ZZ_Result blocks) {
        // The first announcement finds the mark and fails.
        for (int turn = 0; turn < 2; turn++) {
            if (state.beginBlocking(SleepState.BLOCKED)) {
                if (tasks == 0) {
                    blocks.r1 = true;
                } else {
                    state.endBlocking();
                }
                return;
            }
        }
    }

    @Actor
    public void other(ZZ_Result signalled) {
        tasks = 1;
        signalled.r2 = state.wake() == SleepState.BLOCKED;
    }
}
