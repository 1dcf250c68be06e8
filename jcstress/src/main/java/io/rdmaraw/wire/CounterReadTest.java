package io.rdmaraw.wire;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.JJ_Result;

/** Tests a thread that reads a counter while a loop increments it: the value never decreases. */
@JCStressTest
@Outcome(id = {"0, 0", "0, 1", "0, 2", "1, 1", "1, 2", "2, 2"}, expect = Expect.ACCEPTABLE, desc = "It grows.")
@Outcome(expect = Expect.FORBIDDEN, desc = "It went back.")
@State
public class CounterReadTest {
    private final ParseCounters counters = new ParseCounters();

    @Actor
    public void loop() {
        counters.count(ParseVerdict.MARTIAN);
        counters.count(ParseVerdict.MARTIAN);
    }

    @Actor
    public void reader(JJ_Result result) {
        result.r1 = counters.get(ParseVerdict.MARTIAN);
        result.r2 = counters.get(ParseVerdict.MARTIAN);
    }
}
