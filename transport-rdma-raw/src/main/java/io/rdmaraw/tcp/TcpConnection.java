package io.rdmaraw.tcp;

import static io.rdmaraw.tcp.TcpState.*;

import io.netty.buffer.ByteBuf;
import io.rdmaraw.tcp.congestion.CongestionControl;
import io.rdmaraw.tcp.congestion.CongestionControls;
import io.rdmaraw.tcp.congestion.CongestionWindow;
import io.rdmaraw.tcp.segment.SegmentOwner;
import io.rdmaraw.tcp.send.Flight;
import java.util.Objects;

/**
 * One connection. Made by {@link TcpEngine#connect} or a {@link TcpListener}. On the engine's thread only. After
 * {@link TcpEvents#closed} all calls are without effect, except that {@link #send} throws.
 */
public final class TcpConnection extends Tcb implements CongestionWindow, SegmentOwner {
    /** The longest time that can be set for a connection: 24 days. */
    public static final int MAX_MILLIS = Integer.MAX_VALUE;

    /** Of a connection that is not accepted yet. */
    TcpListener listener;

    TcpConnection(TcpEngine engine, long localHigh, long localLow, int localPort, long remoteHigh, long remoteLow,
            int remotePort) {
        super(engine, localHigh, localLow, localPort, remoteHigh, remoteLow, remotePort);
    }

    // ---- calls of the user ----

    /**
     * Queues the readable bytes of {@code data} and takes over the reference. They are sent as windows allow and
     * released once acknowledged. The queue has no bound: look at {@link #queuedBytes()}. The readable bytes must not
     * change until the buffer is released; its reader index is not moved.
     *
     * @throws IllegalStateException if this direction is closed; the buffer is released
     */
    public void send(ByteBuf data) {
        Objects.requireNonNull(data, "data");
        if (!state.maySend() || is(FIN_QUEUED)) {
            data.release();
            throw new IllegalStateException("The connection is " + state
                    + (is(FIN_QUEUED) ? " and its output is shut down" : "") + "; nothing can be sent any more");
        }
        int length = data.readableBytes();
        if (length == 0) {
            data.release();
            return;
        }
        if (length > MAX_QUEUE_BYTES - queuedBytes()) {
            data.release();
            throw new IllegalStateException("The send queue holds " + queuedBytes() + " bytes and " + length
                    + " more would pass its limit of 1 GiB; wait for acked() before sending more");
        }
        requireFlight().queue.add(data, length);
        engine.ready(this);
    }

    /** Half of the sequence space must stay free of the queue. */
    private static final int MAX_QUEUE_BYTES = 1 << 30;

    /** Sends FIN after what is queued. The peer may go on sending. Without effect when called again. */
    public void shutdownOutput() {
        if (is(FIN_QUEUED) || !state.maySend()) {
            return;
        }
        if (state == SYN_SENT) {
            // RFC 9293 section 3.10.4: there is nothing to close yet, unless data waits for the peer.
            if (queuedBytes() == 0) {
                engine.finish(this, CloseReason.ABORTED, CLOSED);
                return;
            }
        }
        set(FIN_QUEUED);
        requireFlight();
        if (state == ESTABLISHED) {
            state = FIN_WAIT_1;
        } else if (state == CLOSE_WAIT) {
            state = LAST_ACK;
        }
        engine.ready(this);
    }

    /**
     * Closes both directions as Linux does: what is queued is still sent, followed by FIN; but with received data
     * unread the connection is {@linkplain #abort() aborted}, since the peer must learn that it was lost. Data that
     * arrives later is answered with RST. The connection lives on until {@link TcpEvents#closed}.
     */
    public void close() {
        if (state == CLOSED || state == TIME_WAIT || is(CLOSE_CALLED)) {
            return;
        }
        if (unreadBytes > 0) {
            abort();
            return;
        }
        set(CLOSE_CALLED);
        shutdownOutput();
        if (state == FIN_WAIT_2) {
            ConnectionTimers.startFinWait2(this);
        }
        if (state != CLOSED) {
            engine.orphans.add(this);
        }
    }

    /** Sends RST and forgets the connection at once (SO_LINGER 0). */
    public void abort() {
        engine.abort(this, CloseReason.ABORTED);
    }

    /**
     * The user has read {@code bytes} of what was delivered: the receive window may open by them.
     *
     * @throws IllegalArgumentException if that is more than is unread
     */
    public void readWindowOpened(int bytes) {
        if (state == CLOSED || state == TIME_WAIT) {
            return;
        }
        if (bytes < 0 || bytes > unreadBytes) {
            throw new IllegalArgumentException(bytes + " bytes cannot have been read: " + unreadBytes
                    + " are unread; pass the lengths that data() reported, each once");
        }
        engine.receiveMemory.read(this, bytes);
        if (ReceiveWindow.wantsUpdate(this)) {
            set(ACK_NOW);
            engine.ready(this);
        }
    }

    /**
     * The user has appended a piece to the one before, in the same memory: unread pieces are bounded
     * besides their bytes, and this one counts no more. May be called from within {@link TcpEvents#data}.
     */
    public void unreadPieceJoined() {
        if (state != CLOSED && state != TIME_WAIT) {
            engine.receiveMemory.join(this);
        }
    }

    /** TCP_NODELAY: whether small segments go out at once; what a {@link #cork} holds back then goes, as on Linux. */
    public void noDelay(boolean on) {
        assign(NO_DELAY, on);
        if (on) {
            assign(OVERRIDE_SWS, is(OVERRIDE_SWS) || isCorked() && unsentBytes() > 0);
            engine.ready(this);
        }
    }

    /**
     * TCP_CORK: whether only full segments go out, whatever {@link #noDelay} says. What is held back goes when this
     * ends, with the FIN, or after 200 ms.
     */
    public void cork(boolean on) {
        if (on != isCorked()) {
            requireExtras().corked = on;
            engine.ready(this);
        }
    }

    /**
     * TCP_QUICKACK: true acknowledges each segment at once, from what is owed now on; false delays acknowledgements
     * (RFC 9293 section 3.8.6.3) until the peer has been silent for a timeout, when as at the beginning of a connection
     * some are sent at once again. On Linux neither lasts.
     */
    public void quickAck(boolean on) {
        AckPolicy.quickAck(this, on);
    }

    /**
     * TCP_MAXSEG: most payload of a segment, which the peer is told in the SYN and we keep to; 88 to 32,767 bytes as on
     * Linux, options included. It has an effect only before the SYN goes out.
     */
    public void maxSegment(int bytes) {
        checkMaxSegment(bytes);
        if (sndNxt == iss) {
            requireExtras().maxSegmentBytes = (char) bytes;
        }
    }

    /**
     * SO_MARK: a number that who finds the way of the connection's segments may ask for; 0 for none. The core hands it
     * on, also to what TIME-WAIT answers.
     */
    public void mark(int value) {
        if (value != 0 || extras != null) {
            requireExtras().mark = value;
        }
    }

    /** Returns the mark, 0 for none. */
    public int mark() {
        return extras == null ? 0 : extras.mark;
    }

    static int checkMaxSegment(int bytes) {
        return (int) TcpConfig.inRange("A largest segment (TCP_MAXSEG), in bytes,", bytes, 88, 32_767);
    }

    /**
     * TCP_LINGER2: how long the connection waits for the peer's FIN once the user has closed it and the peer has
     * acknowledged that, 1 to {@value #MAX_MILLIS} ms; 0 for the configuration's; below 0 it does not wait, and the
     * peer gets a reset.
     */
    public void finWait2Millis(int millis) {
        if (millis != 0 || extras != null) {
            requireExtras().finWait2Millis = Math.max(ConnectionExtras.NO_FIN_WAIT_2, millis);
        }
    }

    /**
     * TCP_NOTSENT_LOWAT: how much of what is queued may be unsent for {@link #notSentRoom} to be positive; 0 for no
     * bound.
     */
    public void notSentLowWater(int bytes) {
        if (bytes < 0) {
            throw new IllegalArgumentException("TCP_NOTSENT_LOWAT is " + bytes + " bytes; it must not be negative");
        }
        if (bytes != 0 || extras != null) {
            requireExtras().notSentLowWaterBytes = bytes;
            tellWhenNotSentIsLow();
        }
    }

    /**
     * How many bytes may be queued until as many are unsent as {@link #notSentLowWater} says; {@link Integer#MAX_VALUE}
     * when it says nothing. If there is no room, {@link TcpEvents#notSentLow} tells when less than half is unsent.
     */
    public int notSentRoom() {
        if (extras == null || extras.notSentLowWaterBytes == 0) {
            return Integer.MAX_VALUE;
        }
        int room = extras.notSentLowWaterBytes - unsentBytes();
        extras.awaitsNotSentLow = room <= 0;
        // Linux takes a whole buffer when it takes anything: a mark of one byte is meant as one of a segment.
        return room <= 0 ? 0 : Math.max(room, sndMss);
    }

    /** Whether {@link #notSentRoom} has found none, and {@link TcpEvents#notSentLow} has not come since. */
    public boolean awaitsNotSentLow() {
        return extras != null && extras.awaitsNotSentLow;
    }

    /**
     * The user has more to send than it hands over before earlier bytes are acknowledged, or does not any more: what
     * passes meanwhile, with all sent, counts as {@linkplain TcpConnectionInfo#sendBufferLimitedNanos limited by the
     * send buffer}.
     */
    public void awaitsSendRoom(boolean waits) {
        if (flight != null && flight.userWaits != waits) {
            flight.userWaits = waits;
            engine.ready(this);
        }
    }

    /** Bytes handed to {@link #send} that were not sent for the first time. */
    public int unsentBytes() {
        // Before its handshake is complete a server may send (RFC 7413 section 4.2.2), so the state does not tell.
        boolean beforeSyn = !state.synchronizedState() && sndNxt == iss;
        return flight == null ? 0 : beforeSyn ? queuedBytes() : Math.max(0, flight.queue.endSeq() - sndNxt);
    }

    /**
     * Whether the user is to be told that little is unsent. As Linux does (tcp_stream_memory_free): a writer is woken
     * when twice what is unsent is below the mark.
     */
    boolean isNotSentLow() {
        return extras.awaitsNotSentLow
                && (extras.notSentLowWaterBytes == 0 || unsentBytes() * 2L < extras.notSentLowWaterBytes);
    }

    void tellWhenNotSentIsLow() {
        if (isNotSentLow()) {
            extras.awaitsNotSentLow = false;
            engine.events.notSentLow(this);
        }
    }

    /**
     * Sends what is queued with the SYN if the server's cookie is known, and asks for one otherwise
     * (TCP_FASTOPEN_CONNECT, RFC 7413). To be called after {@link TcpEngine#connect}, and {@link #send} too, before the
     * engine is polled. The data may reach the server's user twice; what the SYN-ACK does not acknowledge is sent
     * again.
     *
     * @return whether there is a cookie, so that what is queued goes with the SYN
     * @throws IllegalStateException if the SYN has been sent
     */
    public boolean fastOpen() {
        if (state != SYN_SENT || sndNxt != iss) {
            throw new IllegalStateException("The connection is " + state
                    + "; fast open must be asked for between connect() and the next poll of the engine");
        }
        set(FAST_OPEN);
        return engine.fastOpen.hasCookie(this);
    }

    /** SO_KEEPALIVE, with the times of the configuration unless others were set here. */
    public void keepAlive(boolean on) {
        assign(KEEP_ALIVE, on);
        ConnectionTimers.startKeepAlive(this);
        engine.ready(this);
    }

    /**
     * Silence before the first keepalive probe (TCP_KEEPIDLE), 1 to {@value #MAX_MILLIS} ms; 0 for the configuration's.
     */
    public void keepAliveIdleMillis(int millis) {
        requireExtras().keepAliveIdleMillis = checkMillis("The silence before keepalive probes", millis);
        keepAlive(is(KEEP_ALIVE));
    }

    /** Time between keepalive probes (TCP_KEEPINTVL), 1 to {@value #MAX_MILLIS} ms; 0 for the configuration's. */
    public void keepAliveIntervalMillis(int millis) {
        requireExtras().keepAliveIntervalMillis = checkMillis("The time between keepalive probes", millis);
        keepAlive(is(KEEP_ALIVE));
    }

    /** Unanswered keepalive probes before the connection fails (TCP_KEEPCNT), 1 to 127; 0 for the configuration's. */
    public void keepAliveProbes(int count) {
        if (count < 0 || count > Byte.MAX_VALUE) {
            throw new IllegalArgumentException(count + " keepalive probes must lie in 1..127, or be 0 for the default");
        }
        requireExtras().keepAliveProbes = (byte) count;
    }

    /**
     * How long what was sent may stay unacknowledged, or what is queued unsent because the peer's window is closed,
     * before the connection fails with {@link CloseReason#TIMED_OUT}: TCP_USER_TIMEOUT of Linux. It takes the place of
     * the number of retries and of keepalive probes, also while the connection opens, unless {@link #synRetries} sets
     * how long that may take. Local: the option of RFC 5482 is not sent. 0 for none, else 1 to {@value #MAX_MILLIS} ms.
     */
    public void userTimeoutMillis(int millis) {
        userTimeoutMillis = checkMillis("The user timeout", millis);
        engine.ready(this);
    }

    /**
     * Retransmissions of a SYN before the attempt to connect fails with {@link CloseReason#TIMED_OUT} (TCP_SYNCNT), 1
     * to 127; 0 for the configuration's. Unlike the configuration's it holds beside a user timeout, as on Linux.
     */
    public void synRetries(int count) {
        if (count < 0 || count > Byte.MAX_VALUE) {
            throw new IllegalArgumentException(count + " retransmissions of a SYN must lie in 1..127, or be 0 for the "
                    + "default");
        }
        requireExtras().synRetries = (byte) count;
    }

    private static int checkMillis(String what, int millis) {
        if (millis < 0) {
            throw new IllegalArgumentException(what + " of " + millis + " ms must not be negative");
        }
        return millis;
    }

    /**
     * Chooses the congestion control by its name (TCP_CONGESTION of tcp(7)); the window stays as it is. One that counts
     * marks has ECN offered with a SYN that is still to come.
     *
     * @throws IllegalArgumentException if there is none of that name
     */
    public void congestionControl(String name) {
        CongestionControl.Factory factory = CongestionControls.named(name);
        if (!congestion.name().equals(name)) {
            DeliveryRate.use(this, factory.create());
            // What waited for the pacer of the one before has none to wake it any more.
            engine.ready(this);
        }
    }

    /**
     * Sets how fast data is sent at most (SO_MAX_PACING_RATE of Linux), in bytes of payload per second; 0 for as fast
     * as windows allow. Below it a congestion control may pace at a rate of its own.
     *
     * @throws IllegalArgumentException if it is negative
     */
    public void maxPacingRate(long bytesPerSecond) {
        if (bytesPerSecond < 0) {
            throw new IllegalArgumentException("A pacing rate of " + bytesPerSecond
                    + " bytes a second must not be negative; 0 stands for no limit");
        }
        Pacer.limit(this, bytesPerSecond);
        engine.ready(this);
    }

    /**
     * Sets the differentiated services codepoint of segments to come (IP_TOS without the ECN bits).
     *
     * @throws IllegalArgumentException if it lies outside of 0 to 63
     */
    public void dscp(int codepoint) {
        if (codepoint < 0 || codepoint > 63) {
            throw new IllegalArgumentException("The codepoint " + codepoint + " must lie in 0..63");
        }
        dscp = (byte) codepoint;
    }

    /**
     * Sets the time to live or hop limit of what is sent from now on (IP_TTL).
     *
     * @throws IllegalArgumentException if it lies outside of 1 to 255
     */
    public void hopLimit(int hops) {
        if (hops < 1 || hops > 255) {
            throw new IllegalArgumentException("The hop limit " + hops + " must lie in 1..255");
        }
        hopLimit = (byte) hops;
    }

    /**
     * Sets how much the peer may send ahead of the reader (SO_RCVBUF). Beyond 64 KiB it takes effect in full only when
     * called before the SYN goes out, since that fixes the scale of the window. What was offered is never taken back.
     * The buffer does not grow by itself any more.
     *
     * @throws IllegalArgumentException if it lies outside of 2048 to 2^30
     */
    public void receiveBuffer(int bytes) {
        if (bytes < 2048 || bytes > 1 << 30) {
            throw new IllegalArgumentException("A receive buffer of " + bytes + " bytes must lie in 2048..2^30");
        }
        receiveBufferBytes = bytes;
        maxReceiveBufferBytes = bytes;
        if (ReceiveWindow.wantsUpdate(this)) {
            set(ACK_NOW);
            engine.ready(this);
        }
    }

    /**
     * The route to the peer begins with a link that carries packets of so many bytes at most; more than is known now
     * changes nothing.
     */
    public void limitMtu(int mtuBytes) {
        if (mtuBytes < linkMtu) {
            linkMtu = (char) Math.max(mtuBytes, PathMtu.least(this));
            mtu = (char) Math.min(mtu, linkMtu);
            if (state != SYN_SENT) {
                Handshake.updateSendMss(this);
            }
        }
    }

    /**
     * Routers have said of the path to the peer, to other connections perhaps, that it carries so many bytes at most.
     * It bounds what is sent, and for a while; the peer may still send what the link carries (RFC 9293 section 3.7.1,
     * MUST-67).
     */
    public void limitPathMtu(int mtuBytes) {
        int bound = Math.max(mtuBytes, PathMtu.least(this));
        if (bound < mtu) {
            PathMtu.reduce(this, bound, engine.now());
        }
    }

    // ---- what it is ----

    public TcpState state() {
        return state;
    }

    @Override
    public Object attachment() {
        return attachment;
    }

    public void attachment(Object value) {
        attachment = value;
    }

    public long localHigh() {
        return localHigh;
    }

    public long localLow() {
        return localLow;
    }

    public int localPort() {
        return localPort;
    }

    public long remoteHigh() {
        return remoteHigh;
    }

    public long remoteLow() {
        return remoteLow;
    }

    public int remotePort() {
        return remotePort;
    }

    /** Bytes handed to {@link #send} and not acknowledged yet. */
    public int queuedBytes() {
        return flight == null ? 0 : flight.queue.lengthBytes();
    }

    /** Bytes delivered and not yet reported by {@link #readWindowOpened}. */
    public int unreadBytes() {
        return unreadBytes;
    }

    /** In how many pieces the unread bytes were delivered, about. */
    public int unreadPieces() {
        return unreadPieces;
    }

    /** Payload bytes held out of order. */
    public int outOfOrderBytes() {
        return reassembly == null ? 0 : reassembly.payloadBytes();
    }

    /** SND.UNA. */
    public int sendUnacknowledged() {
        return sndUna;
    }

    /** SND.NXT. */
    public int sendNext() {
        return sndNxt;
    }

    /** RCV.NXT. */
    public int receiveNext() {
        return rcvNxt;
    }

    /** The right edge of the window that was offered last: RCV.NXT + RCV.WND. */
    public int receiveEdge() {
        return rcvAdv;
    }

    /** The window the peer offers, in bytes. */
    public int sendWindowBytes() {
        return sndWnd;
    }

    /** Bytes that are in the network as far as is known (pipe, RFC 6675). */
    public int inFlightBytes() {
        return flight == null ? 0 : flight.pipeBytes();
    }

    /** Retransmission timeout without backoff. */
    public long retransmissionTimeoutNanos() {
        return rtoNanos;
    }

    /** When this connection next needs {@link TcpEngine#advance}; {@link Long#MAX_VALUE} if nothing is pending. */
    public long deadlineNanos() {
        long deadline = ConnectionTimers.earliest(this);
        return pacer != null && pacer.waits() ? Math.min(deadline, pacer.openNanos()) : deadline;
    }

    /**
     * Bytes of payload per second that data is paced at now; 0 for not at all. A driver of a device that paces by
     * itself may tell it this rate.
     */
    public long pacingRate() {
        return pacer == null ? 0 : pacer.rate();
    }

    /** A picture of where the connection stands, for statistics and logs. */
    public TcpConnectionInfo info() {
        return TcpConnectionInfo.of(this);
    }

    /** The path MTU in use. */
    public int pathMtuBytes() {
        return mtu;
    }

    @Override
    public int congestionWindowBytes() {
        return cwnd;
    }

    /**
     * What the path carries without a queue on the way: of the congestion window as much as the shortest round trip is
     * of the usual one. More in flight only waits somewhere.
     */
    public int pathBytes() {
        return srttNanos == 0 || minRttNanos >= srttNanos ? cwnd : (int) ((double) cwnd * minRttNanos / srttNanos);
    }

    @Override
    public int slowStartThresholdBytes() {
        return ssthresh;
    }

    @Override
    public int segmentBytes() {
        return sndMss;
    }

    @Override
    public long smoothedRttNanos() {
        return srttNanos;
    }

    @Override
    public boolean alternativeBackoff() {
        return engine.config.alternativeBackoff;
    }

    @Override
    public void endSlowStart() {
        ssthresh = cwnd;
    }

    /** Whether anything is queued or in flight. */
    boolean isSending() {
        return flight != null && !flight.isIdle();
    }

    Flight requireFlight() {
        if (flight == null) {
            flight = engine.pools.takeFlight();
            // Before the SYN is acknowledged the data begins behind it.
            flight.reset(sndUna == iss && !state.synchronizedState() ? iss + 1 : sndNxt);
            if (state.synchronizedState()) {
                stalledSinceNanos = FROM_NOW;
            }
            if (rate != null) {
                flight.scoreboard.keepRecords();
            }
            SendTimes.begin(this, flight);
        } else if (flight.isIdle()) {
            flight.resume();
            stalledSinceNanos = FROM_NOW;
            SendTimes.begin(this, flight);
        }
        return flight;
    }

    @Override
    public String toString() {
        return "TcpConnection[" + (int) localPort + ">" + (int) remotePort + " " + state + " una "
                + Integer.toUnsignedString(sndUna) + " nxt " + Integer.toUnsignedString(sndNxt) + " rcv "
                + Integer.toUnsignedString(rcvNxt) + " cwnd " + cwnd + "]";
    }
}
