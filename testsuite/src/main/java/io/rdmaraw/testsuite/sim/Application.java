package io.rdmaraw.testsuite.sim;

import static io.rdmaraw.testsuite.sim.SimulationFailure.check;

/**
 * The application at one end. It sends its stream as planned and compares the data it receives with the peer's
 * stream.
 */
final class Application implements SimSocket.Events {
    private static final long NEVER = Long.MAX_VALUE;

    private final String name;
    private final AppPlan plan;
    private final int stream;
    private final SplitMix random;
    private Application peer;
    private SimSocket socket;
    private boolean connected;
    private boolean shutDown;
    private boolean peerFinished;
    private boolean closeCalled;
    private boolean closed;
    private boolean orderly;
    private boolean aborted;
    private String closeReason = "";
    private long sentBytes;
    private long receivedBytes;
    private int unreadBytes;
    private long ranNanos;
    private long nextSendNanos;
    private long nextReadNanos;
    private boolean stalled;
    private long abortAtNanos = NEVER;

    Application(String name, AppPlan plan, int stream, SplitMix random) {
        this.name = name;
        this.plan = plan;
        this.stream = stream;
        this.random = random;
    }

    void peer(Application other) {
        peer = other;
    }

    void start(SimSocket opened, long nowNanos) {
        socket = opened;
        abortAtNanos = plan.end == AppPlan.End.ABORT ? nowNanos + plan.abortNanos : NEVER;
        if (opened.sendsEarly() && plan.totalBytes > 0) {
            sendChunk(nowNanos);
        }
    }

    @Override
    public void connected(SimSocket opened) {
        check(!connected, "connected once", name);
        socket = opened;
        connected = true;
    }

    @Override
    public void data(byte[] bytes) {
        check(!closed && !peerFinished, "no data after the end", name);
        int wrong = Pattern.mismatch(peer.stream, receivedBytes, bytes);
        check(wrong < 0, "delivered is a prefix of sent", name + ": byte " + (receivedBytes + wrong) + " differs");
        receivedBytes += bytes.length;
        check(receivedBytes <= peer.sentBytes, "delivered is a prefix of sent", name + ": " + receivedBytes
                + " bytes delivered, " + peer.sentBytes + " sent");
        unreadBytes += bytes.length;
    }

    @Override
    public void peerFinished() {
        check(!peerFinished, "FIN is told once", name);
        check(peer.shutDown, "FIN only when sent", name);
        check(receivedBytes == peer.sentBytes, "FIN comes behind all data", name + ": " + receivedBytes + " of "
                + peer.sentBytes + " bytes before the end");
        peerFinished = true;
    }

    /** Sends immediately, because the core is in the middle of sending when it reports this. */
    @Override
    public void notSentLow() {
        if (connected && !shutDown && !closed && !closeCalled) {
            write(ranNanos);
        }
    }

    @Override
    public void closed(boolean wasOrderly, String reason) {
        check(!closed, "closed once", name);
        closed = true;
        orderly = wasOrderly;
        closeReason = reason;
    }

    /** Performs the actions that are due and returns the time of the next one. */
    long run(long nowNanos) {
        if (socket == null || closed) {
            return NEVER;
        }
        ranNanos = nowNanos;
        if (nowNanos >= abortAtNanos) {
            abortAtNanos = NEVER;
            aborted = true;
            closeCalled = true;
            socket.abort();
            return NEVER;
        }
        long wake = abortAtNanos;
        wake = Math.min(wake, read(nowNanos));
        if (connected && !shutDown) {
            wake = Math.min(wake, write(nowNanos));
        }
        closeWhenDone();
        return wake;
    }

    private long read(long nowNanos) {
        if (unreadBytes == 0) {
            return NEVER;
        }
        if (nowNanos < nextReadNanos) {
            return nextReadNanos;
        }
        if (!stalled && receivedBytes >= plan.stallFromByte) {
            stalled = true;
            nextReadNanos = nowNanos + plan.stallNanos;
            return nextReadNanos;
        }
        int amount = plan.readBytes == 0 ? unreadBytes : Math.min(unreadBytes, plan.readBytes);
        unreadBytes -= amount;
        nextReadNanos = nowNanos + plan.readPauseNanos;
        socket.consumed(amount);
        return unreadBytes > 0 ? nextReadNanos : NEVER;
    }

    private long write(long nowNanos) {
        while (sentBytes < plan.totalBytes && socket.queuedBytes() < plan.sendBufferBytes
                && socket.notSentRoom() > 0) {
            if (nowNanos < nextSendNanos) {
                return nextSendNanos;
            }
            sendChunk(nowNanos);
            if (closed) {
                return NEVER;
            }
        }
        boolean waits = plan.end == AppPlan.End.CLOSE_LAST && !peerFinished;
        if (sentBytes == plan.totalBytes && !waits) {
            shutDown = true;
            socket.shutdownOutput();
        }
        return NEVER;
    }

    private void sendChunk(long nowNanos) {
        int chunk = (int) Math.min(Math.min(random.between(plan.chunkLow, plan.chunkHigh), plan.totalBytes - sentBytes),
                socket.notSentRoom());
        byte[] bytes = Pattern.bytes(stream, sentBytes, chunk);
        sentBytes += chunk;
        nextSendNanos = nowNanos + plan.thinkNanos;
        socket.send(bytes);
    }

    private void closeWhenDone() {
        // As on Linux, closing a connection with unread data would reset it.
        if (shutDown && peerFinished && unreadBytes == 0 && !closeCalled && !closed) {
            closeCalled = true;
            socket.close();
        }
    }

    /** Checks the conditions that must hold at the end of the run. */
    void checkEnd() {
        check(isOver(), "liveness", name + " is still open: " + this);
        if (aborted || peer.aborted || socket == null) {
            return;
        }
        // If the last ACKs are lost until the peer has left TIME-WAIT, this end's FIN reaches a closed port.
        boolean outlivedPeer = closeCalled && peerFinished && peer.orderly;
        check(orderly || outlivedPeer, "ends in order", name + " ended with " + closeReason + ": " + this);
        check(receivedBytes == peer.plan.totalBytes, "everything arrives", this.toString());
    }

    /**
     * Returns whether nothing more can happen on this connection. If the peer's RST was lost, an idle end waits
     * for ever, in any TCP. If the peer gave up at once, this end may never learn of the connection.
     */
    boolean isOver() {
        boolean idle = socket == null || sentBytes == plan.totalBytes && socket.queuedBytes() == 0;
        boolean unaware = peer.aborted && idle;
        return closed || unaware;
    }

    /** Aborts a connection that {@link #isOver} accepts as still open. */
    void giveUp() {
        if (!closed && socket != null) {
            aborted = true;
            socket.abort();
        }
    }

    /** Returns whether either application has aborted the connection, so that an RST is expected. */
    boolean mayBeReset() {
        return aborted || peer.aborted;
    }

    int stream() {
        return stream;
    }

    long sentBytes() {
        return sentBytes;
    }

    @Override
    public String toString() {
        return name + " sent " + sentBytes + "/" + plan.totalBytes + " received " + receivedBytes + "/"
                + (peer == null ? 0 : peer.plan.totalBytes) + (shutDown ? " shut" : "")
                + (peerFinished ? " peer-fin" : "")
                + (closeCalled ? " close" : "") + (closed ? " closed " + closeReason : "") + " unread " + unreadBytes;
    }
}
