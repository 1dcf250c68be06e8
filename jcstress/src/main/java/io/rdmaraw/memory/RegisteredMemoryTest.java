package io.rdmaraw.memory;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.L_Result;

/** Tests a loop that looks up the key of an address while another loop registers memory. */
@JCStressTest
@Outcome(id = {"-1", "7"}, expect = Expect.ACCEPTABLE, desc = "Not registered yet, or its key.")
@Outcome(expect = Expect.FORBIDDEN, desc = "A key that no memory has.")
@State
public class RegisteredMemoryTest {
    private static final int LENGTH_BYTES = 64;

    private final RegisteredRanges ranges = new RegisteredRanges();

    @Actor
    public void register() {
        ranges.add(LENGTH_BYTES, LENGTH_BYTES, 7);
    }

    @Actor
    public void lookUp(L_Result result) {
        result.r1 = ranges.lkeyOf(LENGTH_BYTES, LENGTH_BYTES);
    }
}
