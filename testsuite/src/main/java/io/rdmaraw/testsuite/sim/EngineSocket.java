package io.rdmaraw.testsuite.sim;

import io.rdmaraw.tcp.TcpConnection;

/** A connection of the core in the form that an {@link Application} uses. */
final class EngineSocket implements SimSocket {
    private final Buffers buffers;
    TcpConnection connection;
    /** Index of the connection's engine in {@link EngineLoops}. */
    int loop;
    SimSocket.Events events;
    Application application;
    WireChecks checks;
    /**
     * The last SYN received, and the sequence number of the last SYN sent while the connection was not accepted
     * yet.
     */
    Packet received;
    int synSeq;
    boolean closed;
    boolean early;
    boolean outputShut;
    /** For Nagle's algorithm: whether a small segment is unacknowledged, and its end. */
    boolean smallOutstanding;
    int smallEnd;
    boolean smallTwice;
    int smallTwiceAtUna;
    boolean sentBeyondWindow;
    int beyondAtUna;
    /** Null if the user has not set a pacing rate. */
    PaceChecks pace;
    long sentBytes;
    long ackedBytes;
    /** Set when the core has reported that too much data is unsent, until it reports that writing may continue. */
    boolean awaitsNotSentLow;

    EngineSocket(Buffers buffers) {
        this.buffers = buffers;
    }

    @Override
    public void send(byte[] data) {
        sentBytes += data.length;
        connection.send(buffers.of(data));
        connection.push();
    }

    @Override
    public boolean sendsEarly() {
        return early;
    }

    @Override
    public int queuedBytes() {
        return connection.queuedBytes();
    }

    @Override
    public int notSentRoom() {
        int room = awaitsNotSentLow ? 0 : connection.notSentRoom();
        awaitsNotSentLow = room == 0;
        return room;
    }

    @Override
    public void consumed(int bytes) {
        connection.reportRead(bytes);
    }

    @Override
    public void shutdownOutput() {
        outputShut = true;
        connection.shutdownOutput();
    }

    @Override
    public void close() {
        outputShut = true;
        connection.close();
    }

    @Override
    public void abort() {
        connection.abort();
    }
}
