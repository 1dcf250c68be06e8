package io.rdmaraw.testsuite.sim;

import io.rdmaraw.tcp.TcpConnection;

/** A connection of the core as an {@link Application} sees it. */
final class EngineSocket implements SimSocket {
    private final Buffers buffers;
    TcpConnection connection;
    /** The number of its engine: see {@link EngineLoops}. */
    int loop;
    SimSocket.Events events;
    Application application;
    WireChecks checks;
    /** The last SYN that came, and the sequence number of the last one sent while nobody had accepted yet. */
    Packet received;
    int synSeq;
    boolean closed;
    boolean early;
    boolean outputShut;
    /** Nagle's algorithm: whether a small segment has been sent, and where it ends. */
    boolean smallOutstanding;
    int smallEnd;
    boolean smallTwice;
    int smallTwiceAtUna;
    boolean sentBeyondWindow;
    int beyondAtUna;
    /** Null when the user has set no pacing rate. */
    PaceChecks pace;
    long sentBytes;
    long ackedBytes;
    /** The user has been told that too much is unsent, and not yet that it may go on. */
    boolean awaitsNotSentLow;

    EngineSocket(Buffers buffers) {
        this.buffers = buffers;
    }

    @Override
    public void send(byte[] data) {
        sentBytes += data.length;
        connection.send(buffers.of(data));
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
        connection.readWindowOpened(bytes);
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
