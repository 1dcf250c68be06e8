package io.rdmaraw.udp;

import io.netty.channel.socket.DatagramPacket;

import java.io.IOException;

/**
 * The channel's queue of received datagrams. While the user reads, datagrams are fired immediately. Otherwise they are
 * queued. Used on the loop's thread only.
 */
public interface DatagramSink {
    /** Returns whether the datagrams of a burst can be fired without a check per datagram (fast path). */
    boolean allowsUncheckedReads();

    /** Returns whether a datagram received now is fired immediately. */
    boolean firesImmediately();

    /** Begins a burst; {@link #endBurst} fires its {@code channelReadComplete}. Has no effect within a burst. */
    void beginBurst();

    /** Adds datagrams that the caller has fired itself to the burst's counters. */
    void countInBurst(int datagrams, int bytes);

    /**
     * Fires, queues or drops a datagram. Takes over its reference.
     *
     * @return true for the first datagram of a burst; the caller must then call {@link #endBurst}
     */
    boolean receive(DatagramPacket packet);

    /** Returns whether a burst is open. */
    boolean isInBurst();

    /** Ends the burst and fires {@code channelReadComplete}. Has no effect outside of a burst. */
    void endBurst();

    /** Stores an error for the next read or write, whichever comes first. A later error does not replace it. */
    void storeError(IOException error);

    /** Returns and removes the stored error; null if there is none. */
    IOException pollError();
}
