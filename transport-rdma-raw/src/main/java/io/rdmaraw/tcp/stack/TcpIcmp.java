package io.rdmaraw.tcp.stack;

import io.rdmaraw.host.TcpNetwork;
import io.rdmaraw.net.IcmpError;
import io.rdmaraw.tcp.TcpEngine;
import io.rdmaraw.wire.IcmpErrorKind;
import io.rdmaraw.wire.IpProtocol;

import java.util.concurrent.atomic.AtomicInteger;

/**
 * Passes ICMP errors about a stack's connections to its engine. Limits the number of queued errors, so that a flood
 * does not block the loop.
 */
final class TcpIcmp {
    /** Maximum number of errors waiting for the loop. This limits their number, not their rate. */
    private static final int MAX_QUEUED = 64;

    private final TcpStack stack;
    private final TcpEngine engine;
    private final TcpNetwork network;
    private final AtomicInteger queued = new AtomicInteger();

    TcpIcmp(TcpStack stack, TcpEngine engine, TcpNetwork network) {
        this.stack = stack;
        this.engine = engine;
        this.network = network;
    }

    /**
     * Enqueues an error for the loop. If too many are queued, it is dropped; routers repeat their errors. May be called
     * on any thread.
     */
    void receive(IcmpError error) {
        if (error.protocol() != IpProtocol.TCP) {
            return;
        }
        if (queued.incrementAndGet() > MAX_QUEUED) {
            queued.decrementAndGet();
            stack.statistics().countDroppedIcmp();
            return;
        }
        stack.executeOrElse(() -> {
            queued.decrementAndGet();
            apply(error);
        }, queued::decrementAndGet);
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
            // The engine has accepted the error, so new connections should start with this MTU.
            network.recordPathMtu(error.destination(), error.nextHopMtuBytes());
        }
    }
}
