package io.rdmaraw.tcp.stack;

import io.rdmaraw.net.IpAddress;
import io.rdmaraw.tcp.segment.Segment;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.ZZ_Result;

import java.util.List;

/**
 * Tests that a loop that sees the role of a handover also sees the shared ports. Otherwise it would reset the
 * connections of the other process.
 */
@JCStressTest
@Outcome(id = {"false, false", "false, true", "true, true"}, expect = Expect.ACCEPTABLE, desc = "Begun or not.")
@Outcome(id = "true, false", expect = Expect.FORBIDDEN, desc = "A role without its ports.")
@State
public class HandoverRoleTest {
    private static final int PORT = 80;
    private static final List<PortHandover.HandoverPort> SHARED =
            List.of(new PortHandover.HandoverPort(IpAddress.ANY_IPV4, PORT));
    private static final Segment SEGMENT = new Segment().destination(0, 1, PORT);

    private final PortHandover handover = new PortHandover();

    @Actor
    public void begin() {
        handover.begin(SHARED, PortHandover.Role.WAITING);
    }

    @Actor
    public void loop(ZZ_Result result) {
        result.r1 = handover.role() != PortHandover.Role.ALONE;
        result.r2 = handover.isOnHandoverPort(SEGMENT);
    }
}
