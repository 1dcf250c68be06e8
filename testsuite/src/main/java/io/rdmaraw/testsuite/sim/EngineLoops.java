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
 * The engines of an end, one for each of its event loops. Connections begin with the first and, in some seeds, move to
 * another one, as a channel does that is registered with another loop: what its peer sees is the same. A move is whole.
 * Segments of no connection are the first's, and those of TIME-WAIT, as with flow rules that stay where they are.
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

    /** Returns where segments of a connection are handled. */
    TcpEngine of(EngineSocket socket) {
        return socket.connection == null || socket.closed ? first() : engines.get(socket.loop);
    }

    /** Moves perhaps one of the connections. Of an engine at work only from within what it tells. */
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

    /** A connection is over, which was with the engine of this number. */
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

    List<String> brokenInvariants() {
        return engines.stream().flatMap(engine -> engine.brokenInvariants().stream()).toList();
    }

    int connectionCount() {
        return engines.stream().mapToInt(TcpEngine::connectionCount).sum();
    }

    /** Returns in which states connections have moved so far. */
    Set<TcpState> movedIn() {
        return movedIn;
    }
}
