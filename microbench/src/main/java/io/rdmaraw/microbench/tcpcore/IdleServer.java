package io.rdmaraw.microbench.tcpcore;

import io.rdmaraw.tcp.TcpConfig;
import io.rdmaraw.tcp.TcpConnection;
import io.rdmaraw.tcp.TcpListener;
import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.segment.TcpFlags;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;

/**
 * A server with established idle connections, in virtual time. The simulated peers have no state, because each answer
 * can be derived from the segment. All additional memory therefore belongs to the server.
 */
final class IdleServer implements AutoCloseable {
    private static final long SERVER = TcpPackets.mapped(0x0A80_0001);
    private static final int WINDOW = 0xFFFF;
    /** First sequence number of the data of every peer. The SYN has the preceding number. */
    private static final int PEER_SEQ = 1;
    private static final int GC_ROUNDS = 4;

    private final ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    private final TcpEnd server;
    private final Segment output = new Segment();
    private final Segment input = new Segment();
    private long nowNanos;

    /**
     * Accepts the connections, evenly distributed over a period.
     *
     * @param connections        number of connections
     * @param keepAliveIdleNanos idle time before a keepalive probe, or 0 for no probes
     * @param spreadNanos        virtual time between the first and the last accept
     */
    IdleServer(int connections, long keepAliveIdleNanos, long spreadNanos) {
        TcpConfig.Builder config = TcpConfig.builder();
        if (keepAliveIdleNanos != 0) {
            // After a probe, the next one is due after the interval. An answer does not change that, so the interval
            // must not exceed the idle time.
            config.keepAliveIdleNanos(keepAliveIdleNanos)
                    .keepAliveIntervalNanos(Math.min(keepAliveIdleNanos, TimeUnit.SECONDS.toNanos(75)));
        }
        server = new TcpEnd(config.build(), nowNanos, 0) {
            @Override
            public void accepted(TcpListener listener, TcpConnection connection) {
                super.accepted(listener, connection);
                connection.keepAlive(keepAliveIdleNanos != 0);
            }
        };
        server.engine.listen(0, 0, TcpEnd.PORT, 1, null);
        SplittableRandom random = new SplittableRandom(1);
        for (int i = 0; i < connections; i++) {
            advanceTo((long) ((double) spreadNanos * i / connections) + random.nextInt(1000));
            accept(i);
        }
        if (server.open != connections) {
            throw new IllegalStateException("of " + connections + " connections " + server.open + " were accepted");
        }
    }

    private void accept(int n) {
        input.clear().source(0, TcpPair.clientAddress(n), TcpPair.clientPort(n))
                .destination(0, SERVER, TcpEnd.PORT).seq(PEER_SEQ - 1).flags(TcpFlags.SYN).window(WINDOW).mss(1460)
                .windowScale(7).sackPermitted(true).timestamps(1, 0);
        server.engine.onSegment(input, nowNanos);
        answerAll();
    }

    /**
     * Transmits the segments of the server, answers each SYN-ACK and each probe with an ACK, and returns the number of
     * segments.
     */
    private int answerAll() {
        int count = 0;
        while (server.engine.pollSegment(nowNanos, output)) {
            boolean syn = output.has(TcpFlags.SYN);
            input.clear().source(0, output.destinationLow, output.destinationPort)
                    .destination(0, SERVER, TcpEnd.PORT).seq(PEER_SEQ).flags(TcpFlags.ACK).window(WINDOW)
                    // The sequence number of a keepalive probe is one less than the next one (RFC 9293 section 3.8.4).
                    .ack(output.seq + 1).timestamps((int) (nowNanos / 1_000_000) + 1, output.tsValue);
            if (!syn && output.payloadLength() > 0) {
                throw new IllegalStateException("an idle connection sent data: " + output);
            }
            output.releasePayload();
            server.engine.onSegment(input, nowNanos);
            count++;
        }
        return count;
    }

    /**
     * Advances virtual time from deadline to deadline, like an event loop that sleeps until the next deadline. Returns
     * the number of answered segments.
     */
    private long advanceTo(long targetNanos) {
        long answered = 0;
        long deadline;
        while ((deadline = server.engine.nextDeadlineNanos()) <= targetNanos) {
            nowNanos = Math.max(nowNanos, deadline);
            server.engine.advance(nowNanos);
            answered += answerAll();
        }
        nowNanos = Math.max(nowNanos, targetNanos);
        return answered;
    }

    /**
     * Returns the processor time of the connections as a share of a core, from 0 to 1: processor time of this thread
     * divided by virtual time. It includes the generation of the peers' answers, but not the system calls of an event
     * loop that wakes up.
     *
     * @param probes minimum number of keepalive probes that must have been sent
     */
    double coreShare(long virtualNanos, long probes) {
        long start = threads.getCurrentThreadCpuTime();
        long answered = advanceTo(nowNanos + virtualNanos);
        long spent = threads.getCurrentThreadCpuTime() - start;
        if (answered < probes) {
            throw new IllegalStateException(answered + " keepalive probes were sent instead of " + probes);
        }
        return (double) spent / virtualNanos;
    }

    /** Returns the size of all live objects in the heap, in bytes. */
    static long liveHeapBytes() {
        for (int i = 0; i < GC_ROUNDS; i++) {
            System.gc();
        }
        return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
    }

    int connections() {
        return server.open;
    }

    @Override
    public void close() {
        server.close();
    }
}
