package io.rdmaraw.testsuite.sim;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * A small TCP implementation, written from RFC 9293 for these tests only. It shares no code with the transport.
 * It is correct, slow, and as unusual as its {@link PeerPlan} requires.
 */
final class ReferencePeer implements SimHost {
    final PeerPlan plan;
    final SplitMix random;
    private final long addressHigh;
    private final long addressLow;
    private final long peerHigh;
    private final long peerLow;
    private final Map<Integer, ReferenceConnection> connections = new HashMap<>();
    private final List<ReferenceConnection> order = new ArrayList<>();
    private final ArrayDeque<byte[]> output = new ArrayDeque<>();
    private Acceptor acceptor;
    private int listeningPort = -1;

    ReferencePeer(PeerPlan plan, long addressHigh, long addressLow, long peerHigh, long peerLow) {
        this.plan = plan;
        this.random = plan.random.split(2);
        this.addressHigh = addressHigh;
        this.addressLow = addressLow;
        this.peerHigh = peerHigh;
        this.peerLow = peerLow;
    }

    private static int key(int localPort, int remotePort) {
        return localPort << 16 | remotePort;
    }

    @Override
    public void receive(byte[] bytes, long nowNanos) {
        Packet packet = Packet.decode(bytes);
        if (packet == null || packet.destinationLow != addressLow) {
            return;
        }
        ReferenceConnection connection = connections.get(key(packet.destinationPort, packet.sourcePort));
        if (connection != null && connection.isClosed()) {
            forget(connection);
            connection = null;
        }
        if (connection == null && packet.flags == Packet.SYN && packet.destinationPort == listeningPort
                || connection == null && (packet.flags & ~(Packet.ECE | Packet.CWR | Packet.AE)) == Packet.SYN
                && packet.destinationPort == listeningPort) {
            connection = add(listeningPort, packet.sourcePort, nowNanos);
            connection.acceptSyn(packet, nowNanos);
            return;
        }
        if (connection != null) {
            connection.receive(packet, nowNanos);
        } else if (!packet.has(Packet.RST)) {
            refuse(packet);
        }
    }

    /** Answers a packet to a closed port (RFC 9293 section 3.10.7.1). */
    private void refuse(Packet to) {
        Packet reset = packetTo(to.destinationPort, to.sourcePort);
        if (to.has(Packet.ACK)) {
            reset.seq = to.ack;
            reset.flags = Packet.RST;
        } else {
            reset.ack = to.end();
            reset.flags = Packet.RST | Packet.ACK;
        }
        send(reset);
    }

    Packet packetTo(int localPort, int remotePort) {
        return new Packet().route(addressHigh, addressLow, localPort, peerHigh, peerLow, remotePort);
    }

    boolean isIpv6() {
        return addressHigh != 0 || addressLow >>> 32 != 0xffff;
    }

    void send(Packet packet) {
        output.add(packet.encode());
    }

    void accepted(ReferenceConnection connection, int remotePort) {
        connection.events(acceptor.accepted(connection, remotePort));
    }

    private ReferenceConnection add(int localPort, int remotePort, long nowNanos) {
        ReferenceConnection connection = new ReferenceConnection(this, localPort, remotePort, random.split(nowNanos
                + localPort * 65536L + remotePort));
        connections.put(key(localPort, remotePort), connection);
        order.add(connection);
        return connection;
    }

    private void forget(ReferenceConnection connection) {
        connections.remove(key(connection.localPort, connection.remotePort), connection);
        order.remove(connection);
    }

    @Override
    public void packetTooBig(byte[] quoted, int mtuBytes, long nowNanos) {
        Packet packet = Packet.decode(quoted);
        ReferenceConnection connection = connections.get(key(packet.sourcePort, packet.destinationPort));
        if (connection != null) {
            connection.packetTooBig(mtuBytes);
        }
    }

    @Override
    public byte[] poll(long nowNanos) {
        if (output.isEmpty()) {
            for (ReferenceConnection connection : order) {
                connection.output(nowNanos);
            }
        }
        return output.poll();
    }

    @Override
    public long nextDeadlineNanos() {
        long next = Long.MAX_VALUE;
        for (ReferenceConnection connection : order) {
            next = Math.min(next, connection.deadlineNanos());
        }
        return next;
    }

    @Override
    public void advance(long nowNanos) {
        for (ReferenceConnection connection : List.copyOf(order)) {
            connection.advance(nowNanos);
        }
        for (ReferenceConnection connection : List.copyOf(order)) {
            if (connection.isClosed()) {
                forget(connection);
            }
        }
    }

    @Override
    public void listen(int port) {
        listeningPort = port;
    }

    @Override
    public SimSocket connect(int localPort, int remotePort, SimSocket.Events events, long nowNanos) {
        ReferenceConnection connection = add(localPort, remotePort, nowNanos);
        connection.events(events);
        connection.connect(nowNanos);
        return connection;
    }

    @Override
    public void acceptor(Acceptor listener) {
        acceptor = listener;
    }

    @Override
    public void checkInvariants(long nowNanos) {
        // Errors of the peer are detected at the other end.
    }

    @Override
    public void checkEmpty() {
        // The peer holds no reference-counted buffers.
    }
}
