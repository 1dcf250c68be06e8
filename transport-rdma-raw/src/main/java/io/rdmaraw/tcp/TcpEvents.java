package io.rdmaraw.tcp;

import io.netty.buffer.ByteBuf;
import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.wire.IcmpErrorKind;

/**
 * Receives the events of an engine. One instance serves all connections; it finds its own state by
 * {@link TcpConnection#attachment()}.
 *
 * <p>All methods are called on the engine's thread, within {@link TcpEngine#onSegment},
 * {@link TcpEngine#advance}, {@link TcpEngine#onIcmp}, {@link TcpEngine#pollSegment} or a call of the user. For
 * example, a call of {@link TcpConnection#abort} reports {@code closed} before it returns. The methods may call every
 * method of {@link TcpConnection} and {@link TcpEngine} except {@code onSegment}, {@code onIcmp}, {@code advance} and
 * {@code pollSegment}. They must not throw: an exception propagates to the engine's caller, and the rest of that
 * call is not performed.
 *
 * <p>The events of a connection come in this order:
 * <ol>
 * <li>{@code connected} or {@code accepted}, once.
 * <li>Any number of {@code data} and {@code acked}. {@code peerFinished} comes at most once, after the last
 *     {@code data}; {@code acked} may follow it.
 * <li>{@code closed}, exactly once. Nothing follows it.
 * </ol>
 *
 * <p>Exceptions:
 * <ul>
 * <li>A failed connect reports {@code closed} without {@code connected}.
 * <li>{@code softError}, {@code pathSuspect} and {@code notSentLow} may come at any time before {@code closed}, also
 *     before {@code connected} or {@code accepted}.
 * <li>A passive open that ends before {@code accepted} reports no {@code closed}. Until {@code accepted} its
 *     attachment is null.
 * </ul>
 */
public interface TcpEvents {
    /**
     * Reports that an active open has completed its handshake. The state is ESTABLISHED, or FIN-WAIT-1 if the user has
     * shut down the output before.
     */
    void connected(TcpConnection connection);

    /**
     * Reports that a passive open has completed its handshake and is in ESTABLISHED. A connection of Fast Open is
     * reported earlier, in SYN-RECEIVED, when its SYN with data and a valid cookie has arrived. Set the
     * {@link TcpConnection#attachment(Object) attachment} here. Abort the connection to refuse it.
     */
    void accepted(TcpListener listener, TcpConnection connection);

    /**
     * Returns whether a new connection may be accepted now. The engine asks when a SYN arrives, and again when an ACK
     * completes a handshake, unless Fast Open has reported the connection already. If the answer is false, the SYN or
     * ACK is dropped, as Linux does when its accept queue is full. The peer's retransmission, or its answer to the
     * next SYN-ACK, is a new attempt.
     */
    default boolean mayAccept(TcpListener listener) {
        return true;
    }

    /**
     * Delivers bytes in order. They occupy the receive window until {@link TcpConnection#reportRead} is
     * called for them.
     *
     * @param buffer buffer that holds the bytes. The engine owns the reference, which is valid during this call;
     *     retain the buffer to keep it. Its indices have no meaning.
     * @param index  index of the first byte in {@code buffer}
     * @param length number of bytes, at least 1
     */
    void data(TcpConnection connection, ByteBuf buffer, int index, int length);

    /**
     * Delivers bytes of the segment that the engine is processing, like
     * {@link #data(TcpConnection, ByteBuf, int, int)}. The callee may take over the received frame, see
     * {@link Segment#frames}.
     *
     * @param slice slice of the segment that holds the bytes
     * @param index index of the first byte in the slice's buffer
     */
    default void data(TcpConnection connection, Segment segment, int slice, int index, int length) {
        data(connection, segment.buffers[slice], index, length);
    }

    /** Reports the peer's FIN. No more {@code data} follows. */
    void peerFinished(TcpConnection connection);

    /**
     * Reports that the peer has acknowledged bytes.
     *
     * @param bytes number of bytes removed from the send queue, at least 1
     */
    void acked(TcpConnection connection, int bytes);

    /**
     * Reports that fewer than half of the bytes allowed by {@link TcpConnection#notSentLowWaterBytes} are unsent, or
     * that the limit was removed, after {@link TcpConnection#notSentRoom} had returned 0.
     */
    default void notSentLow(TcpConnection connection) {
    }

    /** Reports the end of the connection, the last event. The engine may still keep it in TIME_WAIT. */
    void closed(TcpConnection connection, CloseReason reason);

    /**
     * Reports an ICMP error that does not end the connection (RFC 5461, RFC 5927 section 5.2), for logging. The
     * attachment is null if a passive open was not reported yet.
     */
    default void softError(TcpConnection connection, IcmpErrorKind error) {
    }

    /** Returns whether the memory for received frames is short. Out-of-order data is then copied. */
    default boolean isReceiveMemoryLow() {
        return false;
    }

    /**
     * Reports R1 consecutive timeouts without an answer (RFC 9293 section 3.8.3, MUST-20). The next hop may be
     * gone or the route wrong. The attachment is null if a passive open was not reported yet.
     */
    default void pathSuspect(TcpConnection connection) {
    }

    /**
     * Handles a segment that belongs to no connection of this engine, not even to one in TIME-WAIT. By default the
     * engine passes it to a listener or answers it with RST. Implementations may find the connection in another engine
     * with the same addresses, or recognize that the segment is not for this host.
     *
     * @return true if the segment was handled; false to let the engine answer it
     */
    default boolean handleUnmatched(Segment segment) {
        return false;
    }

    /**
     * Returns whether a segment that belongs to no connection, or that a listener rejects, may be answered with
     * RST. It must not if another process may own a connection on the same port.
     */
    default boolean mayReset(Segment segment) {
        return true;
    }
}
