package io.rdmaraw.host;

import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.PortSharing;
import io.rdmaraw.wire.IpProtocol;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.ZZ_Result;

import java.net.BindException;
import java.util.Random;

/**
 * Tests a loop that has seen a generation of the port table: it also finds the ports of that generation, so it may
 * cache the result.
 */
@JCStressTest
@Outcome(id = {"false, false", "false, true", "true, true"}, expect = Expect.ACCEPTABLE, desc = "Bound or not.")
@Outcome(id = "true, false", expect = Expect.FORBIDDEN, desc = "The loop keeps an answer that was never true.")
@State
public class PortFoundTest {
    private static final int PORT = 80;
    private static final Random RANDOM = new Random(1);

    private final PortTable ports = new PortTable(address -> true, RANDOM);
    private final long generation = ports.generation();

    @Actor
    public void bind() {
        try {
            ports.bind(IpProtocol.UDP, 1, IpAddress.LOOPBACK_IPV4, false, PORT, PortSharing.NONE, null);
        } catch (BindException e) {
            throw new IllegalStateException(e);
        }
    }

    @Actor
    public void find(ZZ_Result result) {
        result.r1 = ports.generation() != generation;
        result.r2 = ports.find(IpProtocol.UDP, IpAddress.LOOPBACK_IPV4, PORT, IpAddress.LOOPBACK_IPV4, PORT) != null;
    }
}
