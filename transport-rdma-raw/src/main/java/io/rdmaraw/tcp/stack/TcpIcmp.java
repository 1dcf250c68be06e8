package io.rdmaraw.tcp.stack;

import io.rdmaraw.host.TcpNetwork;
import io.rdmaraw.net.IcmpError;
import io.rdmaraw.tcp.TcpEngine;
import io.rdmaraw.wire.IcmpErrorKind;
import io.rdmaraw.wire.IpProtocol;

import java.util.concurrent.atomic.AtomicInteger;

/** Hands what ICMP says of a stack's connections to its core. A flood of it does not keep the loop from its work. */
final class TcpIcmp {
    /** Errors that the loop has not taken yet: a limit on their number, not on their rate. */
    private static final int MAX_WAITING = 64;

    private final TcpStack stack;
    private final TcpEngine engine;
    private final TcpNetwork network;
    private final AtomicInteger waiting = new AtomicInteger();

    TcpIcmp(TcpStack stack, TcpEngine engine, TcpNetwork network) {
        this.stack = stack;
        this.engine = engine;
        this.network = network;
    }

    /** Takes an error, on any thread. Beyond what the loop has taken it is dropped: routers say it again. */
    void receive(IcmpError error) {
        if (error.protocol() != IpProtocol.TCP) {
            return;
        }
        if (waiting.incrementAndGet() > MAX_WAITING) {
            waiting.decrementAndGet();
            stack.counters().countDroppedIcmp();
            return;
        }
        stack.executeOrElse(() -> {
            waiting.decrementAndGet();
            apply(error);
        }, waiting::decrementAndGet);
    }

    private void apply(IcmpError error) {
        if (error.kind() == IcmpErrorKind.PARAMETER_PROBLEM || !engine.hasConnection(error.source().high(),
                error.source().low(), error.sourcePort(), error.destination().high(), error.destination().low(),
                error.destinationPort())) {
            return;
        }
        long reductions = engine.counters().pathMtuReductions;
        engine.onIcmp(error.kind(), error.source().high(), error.source().low(), error.sourcePort(),
                error.destination().high(), error.destination().low(), error.destinationPort(),
                error.transportWord(), error.nextHopMtuBytes(), System.nanoTime());
        if (engine.counters().pathMtuReductions > reductions && error.nextHopMtuBytes() > 0) {
            // The core believed it: connections to come begin with it.
            network.tooBig(error.destination(), error.nextHopMtuBytes());
        }
    }
}
