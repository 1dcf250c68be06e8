package io.rdmaraw.testsuite.sim;

import static io.rdmaraw.testsuite.sim.SimulationFailure.check;

import io.netty.buffer.ByteBuf;
import io.rdmaraw.tcp.CloseReason;
import io.rdmaraw.tcp.TcpConnection;
import io.rdmaraw.tcp.TcpEngine;
import io.rdmaraw.tcp.TcpEvents;
import io.rdmaraw.tcp.TcpListener;
import io.rdmaraw.tcp.TcpState;
import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.wire.IcmpErrorKind;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The core under test as one end of the path. {@link WireChecks} checks its packets, {@link StateChecks} its
 * connections.
 */
class EngineHost implements SimHost, TcpEvents {
    private static final int BACKLOG = 64;

    private final String name;
    private final CorePlan plan;
    private final EngineLoops loops;
    private final long addressHigh;
    private final long addressLow;
    private final long peerHigh;
    private final long peerLow;
    private final SegmentCodec codec = new SegmentCodec();
    private final Segment in = new Segment();
    private final Segment out = new Segment();
    private final Buffers buffers;
    private final Map<Integer, EngineSocket> sockets = new LinkedHashMap<>();
    private final List<EngineSocket> live = new ArrayList<>();
    /** The packets into which the last polled segment was cut and that have not been sent yet. */
    private final ArrayDeque<byte[]> segments = new ArrayDeque<>();
    private TcpListener listener;
    private Acceptor acceptor;
    /** Time of the current call. */
    private long nowNanos;

    EngineHost(Scenario scenario, boolean isClient) {
        name = isClient ? "client" : "server";
        plan = isClient ? scenario.client : scenario.server;
        SplitMix random = plan.random.split(2);
        SplitMix secrets = random.split(1);
        loops = new EngineLoops(plan, () -> new TcpEngine(CoreConfigs.of(plan), this, secrets::nextLong, 0));
        buffers = new Buffers(random.split(2));
        addressHigh = Simulation.addressHigh(scenario);
        addressLow = Simulation.addressLow(scenario, isClient);
        peerHigh = addressHigh;
        peerLow = Simulation.addressLow(scenario, !isClient);
    }

    private static int key(int localPort, int remotePort) {
        return localPort << 16 | remotePort;
    }

    private EngineSocket socketOf(int localPort, int remotePort) {
        return sockets.computeIfAbsent(key(localPort, remotePort), k -> new EngineSocket(buffers));
    }

    private WireChecks newChecks(int localPort, Packet syn, long nowNanos) {
        WireChecks checks = new WireChecks(name + " " + localPort, plan, -1);
        checks.received(syn, nowNanos);
        return checks;
    }

    private WireChecks checksOf(EngineSocket socket, int localPort) {
        if (socket.checks == null) {
            socket.checks = new WireChecks(name + " " + localPort, plan, -1);
        }
        return socket.checks;
    }

    // ---- the network's side ----

    @Override
    public void receive(byte[] bytes, long nowNanos) {
        Packet packet = Packet.decode(bytes);
        boolean sound = codec.decode(bytes, in);
        check(sound == (packet != null), "the parser agrees on damage", String.valueOf(packet));
        if (!sound) {
            return;
        }
        EngineSocket socket = socketOf(packet.destinationPort, packet.sourcePort);
        // After the end of a connection, the port pair may be in TIME-WAIT or belong to a connection half-opened
        // by an old SYN.
        if (!socket.closed) {
            checksOf(socket, packet.destinationPort).received(packet, nowNanos);
        }
        socket.received = packet.has(Packet.SYN) ? packet : socket.received;
        ByteBuf payload = null;
        if (packet.payload.length > 0) {
            payload = buffers.of(packet.payload);
            in.payload(payload, payload.readerIndex(), packet.payload.length);
        }
        loops.mayMove(live, nowNanos);
        this.nowNanos = nowNanos;
        TcpEngine engine = loops.of(socket);
        long drops = engine.counters().receiveMemoryDrops;
        engine.onSegment(in, nowNanos);
        if (engine.counters().receiveMemoryDrops > drops && !socket.closed && socket.checks != null) {
            socket.checks.droppedForMemory(packet);
        }
        in.detachPayload();
        if (payload != null) {
            payload.release();
        }
    }

    @Override
    public void packetTooBig(byte[] quoted, int mtuBytes, long nowNanos) {
        Packet packet = Packet.decode(quoted);
        EngineSocket socket = socketOf(packet.sourcePort, packet.destinationPort);
        checksOf(socket, packet.sourcePort).heardIcmp();
        this.nowNanos = nowNanos;
        loops.of(socket).onIcmp(IcmpErrorKind.PACKET_TOO_BIG, packet.sourceHigh, packet.sourceLow, packet.sourcePort,
                packet.destinationHigh, packet.destinationLow, packet.destinationPort, packet.seq, mtuBytes, nowNanos);
    }

    @Override
    public byte[] poll(long nowNanos) {
        if (!segments.isEmpty()) {
            return segments.poll();
        }
        EngineSocket[] sockets = live.toArray(EngineSocket[]::new);
        int[] next = new int[sockets.length];
        for (int i = 0; i < sockets.length; i++) {
            next[i] = sockets[i].connection.sndNxt();
        }
        this.nowNanos = nowNanos;
        if (!loops.pollSegment(nowNanos, out)) {
            return null;
        }
        byte[] bytes = codec.encode(out);
        boolean slicesFull = out.sliceCount() == Segment.MAX_SLICES;
        Packet packet = Packet.decode(bytes);
        check(packet != null, "sends sound packets", name);
        if (out.segmentSizeBytes() > 0) {
            check(plan.segmentationBytes >= out.payloadLength() && !packet.has(Packet.CWR), "offloads as configured",
                    name);
            List<Packet> pieces = Segmentation.segment(bytes, out.segmentSizeBytes());
            check(pieces.size() == out.segmentCount(), "knows how many segments it sends", name);
            for (Packet piece : pieces) {
                checkSent(piece, sockets, next, slicesFull, nowNanos);
                segments.add(piece.encode());
            }
        } else {
            checkSent(packet, sockets, next, slicesFull, nowNanos);
            segments.add(bytes);
        }
        buffers.transmit(out);
        return segments.poll();
    }

    private void checkSent(Packet packet, EngineSocket[] sockets, int[] next, boolean slicesFull, long nowNanos) {
        EngineSocket socket = socketOf(packet.sourcePort, packet.destinationPort);
        boolean alive = socket.connection != null && !socket.closed;
        boolean resetAllowed = !alive || socket.application != null && socket.application.mayBeReset();
        boolean anotherAttempt = socket.connection == null && packet.has(Packet.SYN) && socket.synSeq != packet.seq;
        if (anotherAttempt) {
            // The listener gave up a half-open connection and starts again with the peer's next SYN.
            socket.checks = socket.received == null ? null : newChecks(packet.sourcePort, socket.received, nowNanos);
            socket.synSeq = packet.seq;
        }
        if (!socket.closed) {
            checksOf(socket, packet.sourcePort).sent(packet, nowNanos, resetAllowed);
        }
        for (int i = 0; i < sockets.length; i++) {
            if (sockets[i] == socket && !socket.closed) {
                StateChecks.afterSending(name, socket, packet, next[i]);
                if (socket.pace != null) {
                    socket.pace.sent(name, packet, plan.mtuBytes, nowNanos);
                }
                StateChecks.nagle(name, plan, socket, packet, next[i], slicesFull);
            }
        }
    }

    @Override
    public long nextDeadlineNanos() {
        return segments.isEmpty() ? loops.nextDeadlineNanos() : 0;
    }

    @Override
    public void advance(long nowNanos) {
        this.nowNanos = nowNanos;
        loops.advance(nowNanos);
        // Connections move only after the timers have run: each move delays a due timer by one tick, and here
        // each event may cause a move.
        loops.mayMove(live, nowNanos);
    }

    @Override
    public void checkInvariants(long nowNanos) {
        List<String> broken = loops.invariantViolations();
        check(broken.isEmpty(), "every connection has a deadline or a reason", broken.toString());
        for (EngineSocket socket : live) {
            StateChecks.atRest(name, socket.connection, loops.of(socket).nextDeadlineNanos());
            if (socket.checks != null) {
                socket.checks.settled(nowNanos, StateChecks.receives(socket.connection));
            }
        }
    }

    @Override
    public void checkEmpty() {
        // Half-open connections do not count: duplicates of old SYNs created them.
        int kept = loops.connectionCount() - (listener == null ? 0 : listener.halfOpenCount());
        check(kept == 0, "keeps no connection", name + " keeps " + kept);
        buffers.checkReleased(name);
    }

    /** Returns the states in which connections have been moved between loops so far. */
    Set<TcpState> movedIn() {
        return loops.movedIn();
    }

    // ---- the application's side ----

    @Override
    public void listen(int port) {
        listener = loops.first().listen(addressHigh, addressLow, port, BACKLOG, null);
        listener.maxFastOpens(plan.fastOpen ? BACKLOG : 0);
    }

    @Override
    public SimSocket connect(int localPort, int remotePort, SimSocket.Events events, long nowNanos) {
        EngineSocket socket = socketOf(localPort, remotePort);
        bind(socket, events, localPort);
        this.nowNanos = nowNanos;
        socket.connection = loops.first().connect(nowNanos, addressHigh, addressLow, localPort, peerHigh, peerLow,
                remotePort, null, 0, socket);
        limit(socket);
        if (plan.fastOpen) {
            socket.connection.enableFastOpen();
            socket.early = true;
        }
        live.add(socket);
        return socket;
    }

    private void limit(EngineSocket socket) {
        socket.connection.notSentLowWaterBytes(plan.notSentLowWaterBytes);
        if (plan.maxPacingRate > 0) {
            socket.connection.maxPacingRate(plan.maxPacingRate);
            // Data sent with fast open before the end of the handshake is not paced.
            socket.pace = plan.fastOpen ? null : new PaceChecks(plan.maxPacingRate);
        }
    }

    private void bind(EngineSocket socket, SimSocket.Events events, int localPort) {
        socket.events = events;
        socket.application = (Application) events;
        int stream = socket.application.stream();
        if (socket.checks == null) {
            socket.checks = new WireChecks(name + " " + localPort, plan, stream);
        } else {
            socket.checks.stream(stream);
        }
    }

    @Override
    public void acceptor(Acceptor listener) {
        acceptor = listener;
    }

    @Override
    public void connected(TcpConnection connection) {
        socketOf(connection).events.connected(socketOf(connection));
    }

    private static EngineSocket socketOf(TcpConnection connection) {
        return (EngineSocket) connection.attachment();
    }

    @Override
    public void accepted(TcpListener listener, TcpConnection connection) {
        EngineSocket socket = socketOf(connection.localPort(), connection.remotePort());
        if (socket.closed) {
            // A late duplicate of the SYN was answered, and the peer's last ACK happens to match the new ISN. No
            // TCP can detect this.
            connection.attachment(phantom());
            connection.abort();
            return;
        }
        check(socket.connection == null, "accepts a connection once", name);
        connection.attachment(socket);
        socket.connection = connection;
        limit(socket);
        live.add(socket);
        bind(socket, acceptor.accepted(socket, connection.remotePort()), connection.localPort());
        socket.events.connected(socket);
    }

    private EngineSocket phantom() {
        EngineSocket socket = new EngineSocket(buffers);
        socket.events = new SimSocket.Events() {
            @Override
            public void connected(SimSocket opened) {
                // No application uses this connection.
            }

            @Override
            public void data(byte[] bytes) {
                throw new SimulationFailure("no data after the end", name);
            }

            @Override
            public void peerFinished() {
                // No application uses this connection.
            }

            @Override
            public void closed(boolean orderly, String reason) {
                // The connection is expected to close.
            }
        };
        return socket;
    }

    @Override
    public void data(TcpConnection connection, ByteBuf buffer, int index, int length) {
        byte[] bytes = new byte[length];
        buffer.getBytes(index, bytes);
        // The simulated users store unread data in one piece.
        connection.reportPieceMerged();
        socketOf(connection).events.data(bytes);
    }

    @Override
    public void peerFinished(TcpConnection connection) {
        socketOf(connection).events.peerFinished();
    }

    @Override
    public void acked(TcpConnection connection, int bytes) {
        check(bytes > 0, "tells of progress only", name);
        EngineSocket socket = socketOf(connection);
        socket.ackedBytes += bytes;
        check(socket.ackedBytes <= socket.sentBytes, "acknowledged is a part of sent", name);
    }

    @Override
    public void notSentLow(TcpConnection connection) {
        EngineSocket socket = socketOf(connection);
        check(socket.awaitsNotSentLow, "tells that little is unsent if it is waited for", name);
        check(2L * connection.unsentBytes() < plan.notSentLowWaterBytes, "tells that little is unsent when it is",
                name + ": " + connection.unsentBytes());
        socket.awaitsNotSentLow = false;
        socket.events.notSentLow();
        // A user may move its connection from within this callback, while the engine is at work.
        loops.mayMove(live, nowNanos);
    }

    @Override
    public void closed(TcpConnection connection, CloseReason reason) {
        EngineSocket socket = socketOf(connection);
        loops.ended(connection, socket.loop, nowNanos);
        socket.closed = true;
        live.remove(socket);
        socket.events.closed(reason == CloseReason.FINISHED, reason.toString());
    }
}
