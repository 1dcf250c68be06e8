package io.rdmaraw.tcp;

import static io.rdmaraw.tcp.TcpState.*;

import io.netty.buffer.ByteBuf;
import io.rdmaraw.tcp.congestion.CongestionControl;
import io.rdmaraw.tcp.congestion.CongestionControls;
import io.rdmaraw.tcp.congestion.CongestionWindow;
import io.rdmaraw.tcp.segment.SegmentOwner;
import io.rdmaraw.tcp.send.SendState;
import java.util.Objects;

/**
 * A TCP connection. Created by {@link TcpEngine#connect} or a {@link TcpListener}. Use it only on the engine's
 * thread. After {@link TcpEvents#closed}, calls have no effect, except that {@link #send} throws.
 */
public final class TcpConnection extends Tcb implements CongestionWindow, SegmentOwner {
    /** Maximum of all times that can be set per connection, in milliseconds: about 24 days. */
    public static final int MAX_MILLIS = Integer.MAX_VALUE;

    /** The listener of a connection that is not accepted yet, otherwise null. */
    TcpListener listener;

    TcpConnection(TcpEngine engine, long localHigh, long localLow, int localPort, long remoteHigh, long remoteLow,
            int remotePort) {
        super(engine, localHigh, localLow, localPort, remoteHigh, remoteLow, remotePort);
    }

    // ---- calls of the user ----

    /**
     * Queues the readable bytes of {@code data} and takes over the reference. The bytes are sent as the windows
     * allow, and the buffer is released when they are acknowledged. Without {@link #push()}, only segments for
     * segmentation offload have PSH. Limit {@link #queuedBytes()} yourself; the
     * queue accepts up to 1 GiB. The readable bytes must not change until the buffer is released. Its reader
     * index is not moved.
     *
     * @throws IllegalStateException if the output is closed or the queue is full; the buffer is released
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
        requireSendState().queue.add(data, length);
        engine.queueOutput(this);
    }

    /**
     * Marks the end of a write. The segment that contains the last queued byte gets PSH, even if more data follows it
     * (RFC 9293 section 3.9.1.2, as Linux does).
     */
    public void push() {
        if (sendState != null) {
            sendState.queue.push();
        }
    }

    /** Maximum length of the send queue. Half of the sequence space must remain free. */
    private static final int MAX_QUEUE_BYTES = 1 << 30;

    /**
     * Shuts down the input. If the output is shut down too, data from the peer is answered with RST, as on Linux.
     */
    public void shutdownInput() {
        requireExtras().inputShutdown = true;
    }

    /** Returns whether the user has shut down both directions. */
    boolean isShutDown() {
        return extras != null && extras.inputShutdown && is(FIN_QUEUED);
    }

    /** Sends a FIN after the queued data. The peer may continue to send. Repeated calls have no effect. */
    public void shutdownOutput() {
        if (is(FIN_QUEUED) || !state.maySend()) {
            return;
        }
        if (state == SYN_SENT) {
            // RFC 9293 section 3.10.4: the connection is deleted, unless data is queued.
            if (queuedBytes() == 0) {
                engine.finish(this, CloseReason.ABORTED, CLOSED);
                return;
            }
        }
        set(FIN_QUEUED);
        requireSendState();
        if (state == ESTABLISHED) {
            state = FIN_WAIT_1;
        } else if (state == CLOSE_WAIT) {
            state = LAST_ACK;
        }
        engine.queueOutput(this);
    }

    /**
     * Closes both directions as Linux does. Queued data is still sent, followed by a FIN, unless a timeout or a
     * limit of closed connections ends the connection first. If received data is unread, the connection is
     * {@linkplain #abort() aborted} instead, so that the peer learns of the loss. Data that arrives later is answered
     * with RST. The connection exists until {@link TcpEvents#closed}.
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

    /** Sends RST and removes the connection at once (SO_LINGER 0). */
    public void abort() {
        engine.abort(this, CloseReason.ABORTED);
    }

    /**
     * Reports that the user has read {@code bytes} of the delivered data, which may open the receive window.
     *
     * @throws IllegalArgumentException if fewer bytes are unread
     */
    public void reportRead(int bytes) {
        if (state == CLOSED || state == TIME_WAIT) {
            return;
        }
        if (bytes < 0 || bytes > unreadBytes) {
            throw new IllegalArgumentException(bytes + " bytes cannot have been read: " + unreadBytes
                    + " are unread; pass the lengths that data() reported, each once");
        }
        engine.receiveMemory.subtractRead(this, bytes);
        if (ReceiveWindow.needsUpdate(this)) {
            set(ACK_NOW);
            engine.queueOutput(this);
        }
    }

    /**
     * Reports that the user has merged the last delivered piece into the one before. The number of unread pieces
     * is limited; a merged piece no longer counts. May be called within {@link TcpEvents#data}.
     */
    public void reportPieceMerged() {
        if (state != CLOSED && state != TIME_WAIT) {
            engine.receiveMemory.onPiecesMerged(this);
        }
    }

    /**
     * Sets TCP_NODELAY. If set, small segments are sent at once. Setting it also sends the data held back by
     * {@link #cork}, as on Linux.
     */
    public void noDelay(boolean on) {
        assign(NO_DELAY, on);
        if (on) {
            assign(OVERRIDE_SWS, is(OVERRIDE_SWS) || isCorked() && unsentBytes() > 0);
            engine.queueOutput(this);
        }
    }

    /**
     * Sets TCP_CORK. If set, only full-sized segments are sent, even with {@link #noDelay}. The rest is sent when
     * the option is cleared, at a call of {@code noDelay(true)}, with the FIN, or 200 ms after all data in flight was
     * acknowledged.
     */
    public void cork(boolean on) {
        if (on != isCorked()) {
            requireExtras().corked = on;
            engine.queueOutput(this);
        }
    }

    /**
     * Sets TCP_QUICKACK. True sends ACKs without delay, also for data received before; it is permanent. False
     * delays ACKs (RFC 9293 section 3.8.6.3) until the peer has been idle for an RTO. Then a few ACKs are again
     * sent without delay, as at the start of a connection. On Linux neither value is permanent.
     */
    public void quickAck(boolean on) {
        AckPolicy.quickAck(this, on);
    }

    /**
     * Sets TCP_MAXSEG: the maximum payload of a segment in both directions, 88 to 32,767 bytes including options,
     * as on Linux. It is announced to the peer in the SYN, so it has no effect after the SYN was sent.
     */
    public void maxSegmentBytes(int bytes) {
        checkMaxSegment(bytes);
        if (sndNxt == iss) {
            requireExtras().maxSegmentBytes = (char) bytes;
        }
    }

    /**
     * Sets SO_MARK, the mark for policy routing of this connection's segments; 0 for none. The core only passes
     * it on with each segment, including those sent from TIME-WAIT.
     */
    public void soMark(int value) {
        if (value != 0 || extras != null) {
            requireExtras().soMark = value;
        }
    }

    /** Returns SO_MARK; 0 for none. */
    public int soMark() {
        return extras == null ? 0 : extras.soMark;
    }

    static int checkMaxSegment(int bytes) {
        return (int) TcpConfig.inRange("A largest segment (TCP_MAXSEG), in bytes,", bytes, 88, 32_767);
    }

    /**
     * Sets TCP_LINGER2: how long a connection that the user has closed waits in FIN-WAIT-2 for the peer's FIN, 1
     * to {@value #MAX_MILLIS} ms. 0 selects the configured time. A negative value sends RST instead of waiting.
     */
    public void finWait2Millis(int millis) {
        if (millis != 0 || extras != null) {
            requireExtras().finWait2Millis = Math.max(ConnectionExtras.NO_FIN_WAIT_2, millis);
        }
    }

    /**
     * Sets TCP_NOTSENT_LOWAT: the number of unsent bytes up to which {@link #notSentRoom} is positive; 0 for no
     * limit.
     */
    public void notSentLowWaterBytes(int bytes) {
        if (bytes < 0) {
            throw new IllegalArgumentException("TCP_NOTSENT_LOWAT is " + bytes + " bytes; it must not be negative");
        }
        if (bytes != 0 || extras != null) {
            requireExtras().notSentLowWaterBytes = bytes;
            notifyIfNotSentLow();
        }
    }

    /**
     * Returns how many bytes may be queued before the limit of {@link #notSentLowWaterBytes} is reached;
     * {@link Integer#MAX_VALUE} without a limit. If there is no room, {@link TcpEvents#notSentLow} is called when
     * fewer than half of the limit are unsent.
     */
    public int notSentRoom() {
        if (extras == null || extras.notSentLowWaterBytes == 0) {
            return Integer.MAX_VALUE;
        }
        int room = extras.notSentLowWaterBytes - unsentBytes();
        extras.awaitsNotSentLow = room <= 0;
        // Linux accepts a whole buffer if there is any room. A limit of one byte therefore means one segment.
        return room <= 0 ? 0 : Math.max(room, sndMss);
    }

    /**
     * Returns whether {@link #notSentRoom} has returned 0 and {@link TcpEvents#notSentLow} was not called since.
     */
    public boolean awaitsNotSentLow() {
        return extras != null && extras.awaitsNotSentLow;
    }

    /**
     * Sets whether the user holds back more data until earlier bytes are acknowledged. Time in which all queued
     * data is sent then counts as {@linkplain TcpConnectionInfo#sendBufferLimitedNanos limited by the send
     * buffer}.
     */
    public void setAwaitingSendRoom(boolean awaiting) {
        if (sendState != null && sendState.awaitingSendRoom != awaiting) {
            sendState.awaitingSendRoom = awaiting;
            engine.queueOutput(this);
        }
    }

    /** Returns the number of queued bytes that have never been sent. */
    public int unsentBytes() {
        // Data may be sent before the handshake is complete (RFC 7413 section 4.2.2), so the state is not
        // sufficient.
        boolean beforeSyn = !state.isSynchronized() && sndNxt == iss;
        return sendState == null ? 0 : beforeSyn ? queuedBytes() : Math.max(0, sendState.queue.endSeq() - sndNxt);
    }

    /**
     * Returns whether {@link TcpEvents#notSentLow} is due. As on Linux (tcp_stream_memory_free), the user is
     * notified when twice the unsent bytes are below the limit.
     */
    boolean isNotSentLow() {
        return extras.awaitsNotSentLow
                && (extras.notSentLowWaterBytes == 0 || unsentBytes() * 2L < extras.notSentLowWaterBytes);
    }

    void notifyIfNotSentLow() {
        if (isNotSentLow()) {
            extras.awaitsNotSentLow = false;
            engine.events.notSentLow(this);
        }
    }

    /**
     * Enables Fast Open (TCP_FASTOPEN_CONNECT, RFC 7413). If the server's cookie is known, queued data is sent
     * with the SYN; otherwise a cookie is requested. Call it after {@link TcpEngine#connect} and {@link #send},
     * before the engine is polled. The server's application may receive the data twice. Data that the SYN-ACK
     * does not acknowledge is sent again.
     *
     * @return whether the cookie is known, so that queued data is sent with the SYN
     * @throws IllegalStateException if the SYN was already sent
     */
    public boolean enableFastOpen() {
        if (state != SYN_SENT || sndNxt != iss) {
            throw new IllegalStateException("The connection is " + state
                    + "; call enableFastOpen() between connect() and the next poll of the engine");
        }
        set(FAST_OPEN);
        return engine.fastOpen.hasUsableCookie(this);
    }

    /** Sets SO_KEEPALIVE. The times of the configuration apply unless others are set for this connection. */
    public void keepAlive(boolean on) {
        assign(KEEP_ALIVE, on);
        ConnectionTimers.startKeepAlive(this);
        engine.queueOutput(this);
    }

    /**
     * Sets the idle time before the first keepalive probe (TCP_KEEPIDLE), 1 to {@value #MAX_MILLIS} ms; 0 selects
     * the configured time.
     */
    public void keepAliveIdleMillis(int millis) {
        requireExtras().keepAliveIdleMillis = checkMillis("The silence before keepalive probes", millis);
        keepAlive(is(KEEP_ALIVE));
    }

    /**
     * Sets the interval between keepalive probes (TCP_KEEPINTVL), 1 to {@value #MAX_MILLIS} ms; 0 selects the
     * configured time.
     */
    public void keepAliveIntervalMillis(int millis) {
        requireExtras().keepAliveIntervalMillis = checkMillis("The time between keepalive probes", millis);
        keepAlive(is(KEEP_ALIVE));
    }

    /**
     * Sets the number of unanswered keepalive probes after which the connection fails (TCP_KEEPCNT), 1 to 127; 0
     * selects the configured number.
     */
    public void keepAliveProbes(int count) {
        if (count < 0 || count > Byte.MAX_VALUE) {
            throw new IllegalArgumentException("TCP_KEEPCNT is " + count + "; it must lie in 1..127, or be 0 for the"
                    + " default");
        }
        requireExtras().keepAliveProbes = (byte) count;
    }

    /**
     * Sets TCP_USER_TIMEOUT: how long sent data may stay unacknowledged, or queued data unsent because of a
     * closed window, before the connection fails with {@link CloseReason#TIMED_OUT}. 1 to {@value #MAX_MILLIS}
     * ms; 0 for none. The timeout replaces the number of retries and of keepalive probes. It also applies during
     * the handshake, unless {@link #synRetries} is set. The option of RFC 5482 is not sent to the peer.
     */
    public void userTimeoutMillis(int millis) {
        userTimeoutMillis = checkMillis("The user timeout", millis);
        engine.queueOutput(this);
    }

    /**
     * Sets how often a SYN is retransmitted before the attempt fails with {@link CloseReason#TIMED_OUT}
     * (TCP_SYNCNT), 1 to 127; 0 selects the configured number. Unlike the configured number, it also applies
     * together with a user timeout, as on Linux.
     */
    public void synRetries(int count) {
        if (count < 0 || count > Byte.MAX_VALUE) {
            throw new IllegalArgumentException("TCP_SYNCNT is " + count + "; it must lie in 1..127, or be 0 for the"
                    + " default");
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
     * Selects the congestion control by name (TCP_CONGESTION of tcp(7)). The congestion window is kept. A control
     * that counts marks offers ECN if the SYN was not sent yet.
     *
     * @throws IllegalArgumentException if the name is unknown
     */
    public void congestionControl(String name) {
        CongestionControl.Factory factory = CongestionControls.named(name);
        if (!congestion.name().equals(name)) {
            DeliveryRate.setCongestionControl(this, factory.create());
            // Data may have been waiting for the previous control's pacer, which no longer wakes the connection.
            engine.queueOutput(this);
        }
    }

    /**
     * Sets the maximum pacing rate (Linux's SO_MAX_PACING_RATE) in payload bytes per second; 0 for no limit. The
     * congestion control may pace at a lower rate.
     *
     * @throws IllegalArgumentException if the rate is negative
     */
    public void maxPacingRate(long bytesPerSecond) {
        if (bytesPerSecond < 0) {
            throw new IllegalArgumentException("A pacing rate of " + bytesPerSecond
                    + " bytes a second must not be negative; 0 stands for no limit");
        }
        Pacer.setMaxRate(this, bytesPerSecond);
        engine.queueOutput(this);
    }

    /**
     * Sets the DSCP of all segments sent from now on (IP_TOS without the ECN bits).
     *
     * @throws IllegalArgumentException if it is not in 0 to 63
     */
    public void dscp(int codepoint) {
        if (codepoint < 0 || codepoint > 63) {
            throw new IllegalArgumentException("The codepoint " + codepoint + " must lie in 0..63");
        }
        dscp = (byte) codepoint;
    }

    /**
     * Sets the TTL or hop limit of all segments sent from now on (IP_TTL).
     *
     * @throws IllegalArgumentException if it is not in 1 to 255
     */
    public void hopLimit(int hops) {
        if (hops < 1 || hops > 255) {
            throw new IllegalArgumentException("The hop limit " + hops + " must lie in 1..255");
        }
        hopLimit = (byte) hops;
    }

    /**
     * Sets the receive buffer (SO_RCVBUF): the number of bytes that the peer may send ahead of the reader. It
     * disables the automatic growth. Sizes above 64 KiB take full effect only before the SYN is sent, which fixes
     * the window scale. A window that was already advertised is not retracted.
     *
     * @throws IllegalArgumentException if it is not in 2048 to 2^30
     */
    public void receiveBufferBytes(int bytes) {
        receiveBufferBytes = checkReceiveBuffer(bytes);
        maxReceiveBufferBytes = bytes;
        if (ReceiveWindow.needsUpdate(this)) {
            set(ACK_NOW);
            engine.queueOutput(this);
        }
    }

    static int checkReceiveBuffer(int bytes) {
        if (bytes < 2048 || bytes > 1 << 30) {
            throw new IllegalArgumentException("A receive buffer of " + bytes + " bytes must lie in 2048..2^30");
        }
        return bytes;
    }

    /**
     * Reduces the MTU of the first link on the route to the peer, and the path MTU with it. A larger value than the
     * present one has no effect.
     */
    public void limitMtu(int mtuBytes) {
        if (mtuBytes < linkMtu) {
            linkMtu = (char) Math.max(mtuBytes, PathMtu.minMtuBytes(this));
            mtu = (char) Math.min(mtu, linkMtu);
            if (state != SYN_SENT) {
                Handshake.updateSendMss(this);
            }
        }
    }

    /**
     * Reduces the path MTU after an ICMP message, possibly one for another connection. The limit expires and
     * affects only sent segments. The peer may still send segments of the link MTU (RFC 9293 section 3.7.1,
     * MUST-67).
     */
    public void limitPathMtu(int mtuBytes) {
        int bound = Math.max(mtuBytes, PathMtu.minMtuBytes(this));
        if (bound < mtu) {
            PathMtu.reduce(this, bound, engine.now());
        }
    }

    // ---- state ----

    public TcpState state() {
        return state;
    }

    /** Returns the source MAC address of the peer's last acceptable segment; 0 if unknown. */
    public long peerMac() {
        return peerMac;
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

    /** Returns the number of bytes passed to {@link #send} and not acknowledged yet. */
    public int queuedBytes() {
        return sendState == null ? 0 : sendState.queue.lengthBytes();
    }

    /** Returns the number of bytes delivered but not reported to {@link #reportRead} yet. */
    public int unreadBytes() {
        return unreadBytes;
    }

    /** Returns the estimated number of pieces that the unread bytes consist of. */
    public int unreadPieces() {
        return unreadPieces;
    }

    /** Returns the payload bytes held out of order. */
    public int outOfOrderBytes() {
        return reassembly == null ? 0 : reassembly.payloadBytes();
    }

    /** Returns SND.UNA. */
    public int sndUna() {
        return sndUna;
    }

    /** Returns SND.NXT. */
    public int sndNxt() {
        return sndNxt;
    }

    /** Returns RCV.NXT. */
    public int rcvNxt() {
        return rcvNxt;
    }

    /** Returns the right edge of the advertised window: RCV.NXT + RCV.WND. */
    public int rcvAdv() {
        return rcvAdv;
    }

    /** Returns the window advertised by the peer in bytes. */
    public int sendWindowBytes() {
        return sndWnd;
    }

    /** Returns the estimated number of bytes in the network (pipe of RFC 6675). */
    public int inFlightBytes() {
        return sendState == null ? 0 : sendState.pipeBytes();
    }

    /** Returns the retransmission timeout without backoff. */
    public long retransmissionTimeoutNanos() {
        return rtoNanos;
    }

    /**
     * Returns the time at which this connection next needs {@link TcpEngine#advance}; {@link Long#MAX_VALUE} if
     * no timer is running.
     */
    public long deadlineNanos() {
        long deadline = ConnectionTimers.earliestDeadline(this);
        return pacer != null && pacer.isWaiting() ? Math.min(deadline, pacer.resumeNanos()) : deadline;
    }

    /**
     * Returns the pacing rate in payload bytes per second; 0 if data is not paced. Use it to configure a device
     * that paces by itself.
     */
    public long pacingRate() {
        return pacer == null ? 0 : pacer.rate();
    }

    /** Returns a snapshot of the connection's state for statistics and logs. */
    public TcpConnectionInfo info() {
        return TcpConnectionInfo.of(this);
    }

    /** Returns the path MTU in use. */
    public int pathMtuBytes() {
        return mtu;
    }

    @Override
    public int congestionWindowBytes() {
        return cwnd;
    }

    /**
     * Returns an estimate of the bandwidth-delay product in bytes: the congestion window times the ratio of the
     * minimum RTT to the smoothed RTT. More data in flight only waits in queues on the path.
     */
    public int bandwidthDelayBytes() {
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

    /** Returns whether data is queued or in flight. */
    boolean isSending() {
        return sendState != null && !sendState.isIdle();
    }

    SendState requireSendState() {
        if (sendState == null) {
            sendState = engine.pools.acquireSendState();
            // Before the SYN is acknowledged, data starts after it.
            sendState.reset(sndUna == iss && !state.isSynchronized() ? iss + 1 : sndNxt);
            if (state.isSynchronized()) {
                lastProgressNanos = FROM_NOW;
            }
            if (rate != null) {
                sendState.scoreboard.startRecording();
            }
            SendTimeStatistics.begin(this, sendState);
        } else if (sendState.isIdle()) {
            sendState.resume();
            lastProgressNanos = FROM_NOW;
            SendTimeStatistics.begin(this, sendState);
        }
        return sendState;
    }

    @Override
    public String toString() {
        return "TcpConnection[" + (int) localPort + ">" + (int) remotePort + " " + state + " una "
                + Integer.toUnsignedString(sndUna) + " nxt " + Integer.toUnsignedString(sndNxt) + " rcv "
                + Integer.toUnsignedString(rcvNxt) + " cwnd " + cwnd + "]";
    }
}
