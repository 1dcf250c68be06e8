package io.rdmaraw.tcp;

import io.netty.buffer.ByteBuf;
import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.wire.IcmpErrorKind;

/**
 * Where an engine reports what happened. One sink serves all connections of an engine; it finds its own object through
 * {@link TcpConnection#attachment()}.
 *
 * <p>All methods are called on the engine's thread, from within {@link TcpEngine#onSegment}, {@link TcpEngine#advance},
 * {@link TcpEngine#onIcmp} or a call of the user. They may call any method of {@link TcpConnection} and
 * {@link TcpEngine} except {@code onSegment}, {@code onIcmp}, {@code advance} and {@code pollSegment}. They must not
 * throw: an exception passes through to the engine's caller and what followed in that call is not done.
 *
 * <p>Order for one connection: {@code connected} or {@code accepted}; then any number of {@code data}, {@code acked};
 * {@code peerFinished} at most once and after the last {@code data}; {@code closed} exactly once and last. A connection
 * that was never reported {@code accepted} is never reported at all.
 */
public interface TcpEvents {
    /** An active open has reached ESTABLISHED. */
    void connected(TcpConnection connection);

    /**
     * A passive open has reached ESTABLISHED. The sink sets the {@link TcpConnection#attachment(Object) attachment}
     * here; it may abort to refuse.
     */
    void accepted(TcpListener listener, TcpConnection connection);

    /**
     * Bytes in order. They count against the receive window until {@link TcpConnection#readWindowOpened} is called for
     * them.
     *
     * @param buffer the buffer they lie in; the reference is the engine's and good for the length of this call:
     *               retain it to keep it. The indices of the buffer have no meaning.
     * @param index  where they begin in {@code buffer}
     * @param length how many they are, 1 or more
     */
    void data(TcpConnection connection, ByteBuf buffer, int index, int length);

    /** The peer has closed its direction; no more {@code data} comes. */
    void peerFinished(TcpConnection connection);

    /**
     * The peer has acknowledged bytes of ours.
     *
     * @param bytes how many left the send queue, 1 or more
     */
    void acked(TcpConnection connection, int bytes);

    /**
     * Less than half of what {@link TcpConnection#notSentLowWater} allows is unsent, after
     * {@link TcpConnection#notSentRoom} had found no room. Called from within {@link TcpEngine#pollSegment} too.
     */
    default void notSentLow(TcpConnection connection) {
    }

    /** The connection is over: the last event. It may be in TIME_WAIT, which concerns the engine alone. */
    void closed(TcpConnection connection, CloseReason reason);

    /**
     * A hint from the network that does not end the connection (RFC 5461, RFC 5927 section 5.2), worth a log line.
     */
    default void softError(TcpConnection connection, IcmpErrorKind error) {
    }

    /**
     * Whether the memory that segments are received in is short: what has to be held out of order is then copied.
     */
    default boolean isReceiveMemoryLow() {
        return false;
    }

    /**
     * The peer has acknowledged nothing through R1 timeouts in a row (RFC 9293 section 3.8.3, MUST-20): the next hop
     * may have gone, or the path may lead nowhere. The attachment is null while a passive open is not reported.
     */
    default void pathSuspect(TcpConnection connection) {
    }

    /**
     * A segment has come that belongs to no connection: it opens one, if a listener is there, or is answered by a
     * reset, unless another engine that serves the same addresses knows more, or it is not for this host at all.
     *
     * @return whether the segment is taken care of; false, the default, to have it answered
     */
    default boolean unmatched(Segment segment) {
        return false;
    }

    /**
     * Whether a segment that belongs to no connection, or that opens none though a listener is there, is answered by a
     * reset: it may be of a connection of another process that has the same port.
     */
    default boolean mayReset(Segment segment) {
        return true;
    }
}
