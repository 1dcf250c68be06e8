package io.rdmaraw.microbench.tcpcore;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.rdmaraw.tcp.TcpConfig;
import io.rdmaraw.tcp.TcpConnection;
import io.rdmaraw.tcp.segment.Segment;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;

/**
 * A client and a server on one thread, which exchange packets in native memory. They exchange bursts as two event loops
 * would: one end polls and writes up to 64 segments, then the other end parses and processes them.
 */
final class TcpPair implements AutoCloseable {
    private static final int BURST_PACKETS = 64;
    private static final int SLOT_BYTES = 2048;
    private static final int PORTS_PER_ADDRESS = 50_000;
    private static final int FIRST_PORT = 10_000;
    private static final int CLIENT_NETWORK = 0x0A00_0001;
    private static final long SERVER = TcpPackets.mapped(0x0A80_0001);
    /** Resolution of the timers of the engine. More frequent checks would find nothing. */
    private static final long TICK_NANOS = 1 << 20;
    /** Seed of the shuffling, constant so that every run has the same order. */
    private static final long SEED = 1;

    private final TcpEnd client;
    private final TcpEnd server;
    private final List<TcpConnection> connections = new ArrayList<>();
    private final ByteBuf memory = Unpooled.directBuffer(BURST_PACKETS * SLOT_BYTES);
    private final long memoryAddress;
    private final int[] lengths = new int[BURST_PACKETS];
    private final TcpPackets packets = new TcpPackets();
    private final Segment output = new Segment();
    private final Segment input = new Segment();
    private long lastTickNanos;

    TcpPair(int connectionCount) {
        if (!memory.hasMemoryAddress()) {
            throw new IllegalStateException("Netty gives no address of direct memory; run with "
                    + "--enable-native-access=ALL-UNNAMED, as ./rdma-raw does");
        }
        memoryAddress = memory.memoryAddress();
        lastTickNanos = System.nanoTime();
        client = new TcpEnd(TcpConfig.DEFAULT, lastTickNanos, 1);
        server = new TcpEnd(TcpConfig.DEFAULT, lastTickNanos, 2);
        server.engine.listen(0, 0, TcpEnd.PORT, BURST_PACKETS, null);
        connect(connectionCount);
    }

    private void connect(int count) {
        for (int i = 0; i < count; i++) {
            connections.add(client.engine.connect(System.nanoTime(), 0, clientAddress(i), clientPort(i), 0, SERVER,
                    TcpEnd.PORT, null, 0, null));
            if (i % BURST_PACKETS == BURST_PACKETS - 1 || i == count - 1) {
                settle();
            }
        }
        if (client.open != count || server.open != count) {
            throw new IllegalStateException("of " + count + " connections the client has " + client.open
                    + " and the server " + server.open);
        }
    }

    /** Returns the address of the n-th connection. One address does not have enough ports for all connections. */
    static long clientAddress(int n) {
        return TcpPackets.mapped(CLIENT_NETWORK + n / PORTS_PER_ADDRESS);
    }

    static int clientPort(int n) {
        return FIRST_PORT + n % PORTS_PER_ADDRESS;
    }

    /** Shuffles the order in which the connections are served. Must be called before {@link #begin}. */
    void shuffle() {
        Collections.shuffle(connections, new Random(SEED));
    }

    /** Sends the first request of every client. */
    void begin() {
        connections.forEach(client::begin);
    }

    /** Runs turns until nothing is left to send. */
    void settle() {
        while (turn() > 0) {
            // The condition does all the work.
        }
    }

    /** Returns the number of requests that were answered. */
    long completed() {
        return client.messagesIn;
    }

    long segments() {
        return client.engine.counters().segmentsOut + server.engine.counters().segmentsOut;
    }

    long retransmittedSegments() {
        return client.engine.counters().retransmittedSegments + server.engine.counters().retransmittedSegments;
    }

    /** Runs one turn of both ends with the same timestamp, and returns the number of packets exchanged. */
    int turn() {
        long now = System.nanoTime();
        if (now - lastTickNanos >= TICK_NANOS) {
            lastTickNanos = now;
            client.engine.advance(now);
            server.engine.advance(now);
        }
        return carry(client, server, now) + carry(server, client, now);
    }

    private int carry(TcpEnd from, TcpEnd to, long now) {
        int count = 0;
        while (count < BURST_PACKETS && from.engine.pollSegment(now, output)) {
            lengths[count] = TcpPackets.write(output, memoryAddress + (long) count * SLOT_BYTES);
            output.releasePayload();
            count++;
        }
        for (int i = 0; i < count; i++) {
            packets.read(memory, memoryAddress, i * SLOT_BYTES, lengths[i], input);
            to.engine.onSegment(input, now);
        }
        return count;
    }

    /** Stops the dialogues and closes the connections. */
    @Override
    public void close() {
        client.stopAnswering();
        settle();
        client.close();
        server.close();
        memory.release();
    }
}
