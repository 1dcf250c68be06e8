package io.rdmaraw.testsuite.sim;

import io.rdmaraw.tcp.TcpConnection;
import io.rdmaraw.tcp.TcpEngine;
import io.rdmaraw.tcp.TcpState;
import io.rdmaraw.tcp.segment.Segment;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Stream;

/**
 * The engines of one end, one per event loop. Connections start on the first loop. With some seeds they move
 * between loops, as a channel does that is registered with another loop. The peer must not notice a move, and a
 * move is always complete. Segments without a connection, and those of connections in TIME-WAIT, are handled by
 * the first engine, because the flow rules stay in place.
 */
final class EngineLoops {
    private static final int LOOPS = 2;

    private final List<TcpEngine> engines;
    private final SplitMix random;
    private final double moveChance;
    private final Set<TcpState> movedIn = EnumSet.noneOf(TcpState.class);

    EngineLoops(CorePlan plan, Supplier<TcpEngine> engine) {
        engines = Stream.generate(engine).limit(plan.moveChance > 0 ? LOOPS : 1).toList();
        random = plan.random.split(7);
        moveChance = plan.moveChance;
    }

    TcpEngine first() {
        return engines.getFirst();
    }

    /** Returns the engine that handles the connection's segments. */
    TcpEngine of(EngineSocket socket) {
        return socket.connection == null || socket.closed ? first() : engines.get(socket.loop);
    }

    /**
     * Randomly moves one of the connections. While an engine is at work, call this only from one of its
     * callbacks.
     */
    void mayMove(List<EngineSocket> live, long nowNanos) {
        if (moveChance == 0 || live.isEmpty() || !random.chance(moveChance)) {
            return;
        }
        EngineSocket socket = live.get(random.below(live.size()));
        movedIn.add(socket.connection.state());
        engines.get(socket.loop).release(socket.connection);
        socket.loop = (socket.loop + 1) % engines.size();
        engines.get(socket.loop).adopt(socket.connection, nowNanos);
    }

    /** Handles the end of a connection that belonged to the engine with index {@code loop}. */
    void ended(TcpConnection connection, int loop, long nowNanos) {
        if (connection.state() == TcpState.TIME_WAIT && loop != 0) {
            first().adoptTimeWait(connection, nowNanos);
        }
    }

    boolean pollSegment(long nowNanos, Segment out) {
        for (TcpEngine engine : engines) {
            if (engine.pollSegment(nowNanos, out)) {
                return true;
            }
        }
        return false;
    }

    long nextDeadlineNanos() {
        return engines.stream().mapToLong(TcpEngine::nextDeadlineNanos).min().orElseThrow();
    }

    void advance(long nowNanos) {
        engines.forEach(engine -> engine.advance(nowNanos));
    }

    List<String> invariantViolations() {
        return engines.stream().flatMap(engine -> engine.invariantViolations().stream()).toList();
    }

    int connectionCount() {
        return engines.stream().mapToInt(TcpEngine::connectionCount).sum();
    }

    /** Returns the states in which connections have been moved so far. */
    Set<TcpState> movedIn() {
        return movedIn;
    }
}
