package io.rdmaraw.testsuite.sim;

import java.util.Arrays;

/**
 * One connection of the {@link ReferencePeer}: RFC 9293 section 3.10 with go-back-N (RFC 6298), fast retransmit and Reno's
 * window (RFC 5681). Sequence numbers are 64-bit and count on over the wrap; the wire has their low half.
 */
final class ReferenceConnection implements SimSocket {
    private enum State {
        CLOSED, SYN_SENT, SYN_RECEIVED, ESTABLISHED, FIN_WAIT_1, FIN_WAIT_2, CLOSE_WAIT, CLOSING, LAST_ACK, TIME_WAIT
    }

    private static final long NEVER = Long.MAX_VALUE;
    private static final long TIME_WAIT_NANOS = 60_000 * LinkPlan.MILLI;
    /** Fits any path of the scenarios. */
    private static final int BLACK_HOLE_MSS = 1200;
    private static final long MAXIMUM_RTO_NANOS = 60_000 * LinkPlan.MILLI;

    final int localPort;
    final int remotePort;
    private final ReferencePeer host;
    private final PeerPlan plan;
    private final SplitMix random;
    private final ReferenceReceiver receiver;
    private SimSocket.Events events;
    private State state = State.CLOSED;

    private final long iss;
    private long una;
    private long nxt;
    private long maxSent;
    private long window;
    private long largestWindow;
    private long wl1;
    private long wl2;
    private int sendShift;
    private int sendMss = 536;
    /** Not yet acknowledged bytes; the first one has number {@link #bufferSeq}. */
    private byte[] buffer = new byte[0];
    private long bufferSeq;
    private boolean finQueued;
    private boolean passive;
    private boolean timestampsOn;
    private boolean sackOn;

    private long cwnd;
    private long ssthresh = Long.MAX_VALUE;
    private int duplicateAcks;
    private long recoverSeq;
    private long rtoNanos = 1_000 * LinkPlan.MILLI;
    private long rtoDeadline = NEVER;
    private long persistDeadline = NEVER;
    private long persistNanos;
    private long timeWaitDeadline = NEVER;
    private boolean fastRetransmit;
    private int timeouts;

    ReferenceConnection(ReferencePeer host, int localPort, int remotePort, SplitMix random) {
        this.host = host;
        this.plan = host.plan;
        this.localPort = localPort;
        this.remotePort = remotePort;
        this.random = random;
        // Often just before the numbers wrap, or before their highest bit changes.
        long edge = random.chance(0.5) ? 0xffff_ffffL : 0x7fff_ffffL;
        iss = (1L << 32) + (random.chance(0.6) ? edge - random.below(50_000) : random.nextLong() >>> 32);
        una = iss;
        nxt = iss;
        maxSent = iss;
        bufferSeq = iss + 1;
        receiver = new ReferenceReceiver(plan, random.split(3));
    }

    void events(SimSocket.Events told) {
        events = told;
    }

    boolean isClosed() {
        return state == State.CLOSED;
    }

    // ---- opening ----

    void connect(long nowNanos) {
        state = State.SYN_SENT;
        nxt = iss + 1;
        maxSent = nxt;
        sendSyn(nowNanos);
        rtoDeadline = nowNanos + rtoNanos;
    }

    void acceptSyn(Packet syn, long nowNanos) {
        passive = true;
        takeSyn(syn);
        state = State.SYN_RECEIVED;
        nxt = iss + 1;
        maxSent = nxt;
        sendSyn(nowNanos);
        rtoDeadline = nowNanos + rtoNanos;
    }

    private void takeSyn(Packet syn) {
        boolean answered = syn.has(Packet.ACK);
        receiver.begin(syn.seq, plan.windowScaling && syn.windowScale >= 0);
        sendShift = plan.windowScaling && syn.windowScale >= 0 ? Math.min(syn.windowScale, 14) : 0;
        timestampsOn = plan.timestamps && syn.timestamps;
        sackOn = plan.sack && syn.sackPermitted;
        receiver.timestamp(syn);
        sendMss = Math.min(syn.mss == 0 ? host.isIpv6() ? 1220 : 536 : syn.mss, host.isIpv6() ? 1440 : 1460);
        window = syn.window;
        largestWindow = window;
        wl1 = receiver.unwrap(syn.seq);
        wl2 = answered ? unwrapAck(syn.ack) : una;
        cwnd = 4L * sendMss;
    }

    private void sendSyn(long nowNanos) {
        Packet syn = host.packetTo(localPort, remotePort);
        boolean answer = state == State.SYN_RECEIVED;
        syn.seq = (int) iss;
        syn.flags = answer ? Packet.SYN | Packet.ACK : Packet.SYN;
        syn.ack = answer ? receiver.ackNumber() : 0;
        syn.window = Math.min(plan.bufferBytes, 65535);
        syn.mss = plan.mss;
        boolean scaling = answer ? receiver.isScaling() : plan.windowScaling;
        syn.windowScale = scaling ? receiver.shift() : -1;
        syn.sackPermitted = answer ? sackOn : plan.sack;
        syn.timestamps = answer ? timestampsOn : plan.timestamps;
        stamp(syn, nowNanos);
        receiver.offered(syn.window);
        host.send(syn);
    }

    private void stamp(Packet packet, long nowNanos) {
        if (packet.timestamps) {
            packet.tsValue = (int) (nowNanos / LinkPlan.MILLI) + (int) iss;
            packet.tsEcho = receiver.recentTimestamp();
        }
    }

    // ---- segments arriving ----

    void receive(Packet packet, long nowNanos) {
        if (state == State.SYN_SENT) {
            receiveInSynSent(packet, nowNanos);
            return;
        }
        boolean crossed = state == State.SYN_RECEIVED && !passive && packet.has(Packet.SYN) && packet.has(Packet.ACK);
        if (crossed && packet.seq + 1 == receiver.ackNumber()) {
            // Simultaneous open (RFC 9293 figure 8): the SYN is old, its acknowledgment is what we wait for.
            packet.flags &= ~Packet.SYN;
            packet.seq++;
        }
        boolean acceptable = receiver.isAcceptable(packet);
        if (timestampsOn && packet.timestamps && !packet.has(Packet.RST) && receiver.isOlder(packet)
                || !acceptable) {
            if (!packet.has(Packet.RST)) {
                answerUnacceptable(packet, nowNanos);
            }
            return;
        }
        if (packet.has(Packet.RST)) {
            // RFC 5961 section 3.2; RFC 1337 in TIME-WAIT
            if (state == State.TIME_WAIT) {
                return;
            }
            if (packet.seq == receiver.ackNumber()) {
                finish(false, "reset by peer");
            } else {
                sendAck(nowNanos);
            }
            return;
        }
        if (packet.has(Packet.SYN)) {
            if (state == State.SYN_RECEIVED && passive) {
                sendSyn(nowNanos);
            } else {
                sendAck(nowNanos);
            }
            return;
        }
        if (!packet.has(Packet.ACK) || !takeAck(packet, nowNanos)) {
            return;
        }
        if (state == State.CLOSED) {
            return;
        }
        receiver.timestamp(packet);
        takeText(packet, nowNanos);
    }

    private void answerUnacceptable(Packet packet, long nowNanos) {
        if (state == State.SYN_RECEIVED && packet.has(Packet.SYN)) {
            // The peer has sent its SYN once more, or ours crossed it.
            sendSyn(nowNanos);
            return;
        }
        if (state == State.TIME_WAIT) {
            timeWaitDeadline = nowNanos + TIME_WAIT_NANOS;
        }
        receiver.sawDuplicate(packet);
        sendAck(nowNanos);
    }

    /** RFC 9293 section 3.10.7.3. */
    private void receiveInSynSent(Packet packet, long nowNanos) {
        boolean acked = packet.has(Packet.ACK);
        if (acked && packet.ack != (int) (iss + 1)) {
            if (!packet.has(Packet.RST)) {
                Packet reset = host.packetTo(localPort, remotePort);
                reset.seq = packet.ack;
                reset.flags = Packet.RST;
                host.send(reset);
            }
            return;
        }
        if (packet.has(Packet.RST)) {
            if (acked) {
                finish(false, "refused");
            }
            return;
        }
        if (!packet.has(Packet.SYN)) {
            return;
        }
        takeSyn(packet);
        if (acked) {
            una = iss + 1;
            wl2 = una;
            rtoDeadline = NEVER;
            establish();
            sendAck(nowNanos);
        } else {
            state = State.SYN_RECEIVED;
            sendSyn(nowNanos);
        }
    }

    private void establish() {
        state = State.ESTABLISHED;
        rtoNanos = Math.max(plan.minimumRtoNanos, rtoNanos / 2);
        if (passive && events == null) {
            host.accepted(this, remotePort);
        }
        events.connected(this);
    }

    private long unwrapAck(int ack) {
        return una + (ack - (int) una);
    }

    /** RFC 9293 section 3.10.7.4, fifth; returns whether to go on with the segment. */
    private boolean takeAck(Packet packet, long nowNanos) {
        long ack = unwrapAck(packet.ack);
        if (state == State.SYN_RECEIVED) {
            if (ack <= una || ack > maxSent) {
                Packet reset = host.packetTo(localPort, remotePort);
                reset.seq = packet.ack;
                reset.flags = Packet.RST;
                host.send(reset);
                return false;
            }
            window = (long) packet.window << sendShift;
            largestWindow = Math.max(largestWindow, window);
            wl1 = receiver.unwrap(packet.seq);
            wl2 = ack;
            una = iss + 1;
            rtoDeadline = NEVER;
            establish();
        }
        if (ack > maxSent || ack < una - largestWindow) {
            // RFC 5961 section 5.2
            sendAck(nowNanos);
            return false;
        }
        long seq = receiver.unwrap(packet.seq);
        if (ack >= una && (wl1 < seq || wl1 == seq && wl2 <= ack)) {
            updateWindow(packet, seq, ack);
        }
        if (ack > una) {
            takeNewAck(ack, nowNanos);
        } else if (ack == una && packet.sequenceLength() == 0 && una < maxSent) {
            countDuplicate();
        }
        return true;
    }

    private void updateWindow(Packet packet, long seq, long ack) {
        window = (long) packet.window << sendShift;
        largestWindow = Math.max(largestWindow, window);
        wl1 = seq;
        wl2 = ack;
        if (window > 0) {
            persistDeadline = NEVER;
            persistNanos = 0;
        }
    }

    private void takeNewAck(long ack, long nowNanos) {
        long acked = ack - una;
        una = ack;
        timeouts = 0;
        nxt = Math.max(nxt, una);
        rtoNanos = Math.max(plan.minimumRtoNanos, Math.min(rtoNanos, 1_000 * LinkPlan.MILLI));
        rtoDeadline = una < maxSent ? nowNanos + rtoNanos : NEVER;
        int gone = Math.clamp(una - bufferSeq, 0, buffer.length);
        buffer = Arrays.copyOfRange(buffer, gone, buffer.length);
        bufferSeq += gone;
        if (duplicateAcks >= 3 && una < recoverSeq) {
            // RFC 6582: a partial acknowledgment shows the next hole.
            fastRetransmit = true;
        } else {
            duplicateAcks = 0;
            cwnd += cwnd < ssthresh ? Math.min(acked, sendMss) : Math.max(1, (long) sendMss * sendMss / cwnd);
        }
        boolean finAcked = finQueued && una > finSeq();
        if (finAcked) {
            switch (state) {
                case FIN_WAIT_1 -> state = State.FIN_WAIT_2;
                case CLOSING -> enterTimeWait(nowNanos);
                case LAST_ACK -> finish(true, "finished");
                default -> {
                    // Nothing waits for it.
                }
            }
        }
    }

    private void countDuplicate() {
        if (++duplicateAcks == 3) {
            ssthresh = Math.max((maxSent - una) / 2, 2L * sendMss);
            cwnd = ssthresh + 3L * sendMss;
            recoverSeq = maxSent;
            fastRetransmit = true;
        }
    }

    private void takeText(Packet packet, long nowNanos) {
        boolean mayReceive = state == State.ESTABLISHED || state == State.FIN_WAIT_1 || state == State.FIN_WAIT_2;
        if (packet.sequenceLength() == 0) {
            return;
        }
        if (!mayReceive) {
            sendAck(nowNanos);
            return;
        }
        byte[] inOrder = receiver.take(packet, nowNanos);
        if (inOrder.length > 0) {
            events.data(inOrder);
        }
        if (receiver.isFinished()) {
            takeFin(nowNanos);
        } else if (receiver.wantsAckNow()) {
            sendAck(nowNanos);
        }
    }

    private void takeFin(long nowNanos) {
        switch (state) {
            case ESTABLISHED -> state = State.CLOSE_WAIT;
            case FIN_WAIT_1 -> state = State.CLOSING;
            case FIN_WAIT_2 -> enterTimeWait(nowNanos);
            default -> {
                return;
            }
        }
        sendAck(nowNanos);
        events.peerFinished();
    }

    private void enterTimeWait(long nowNanos) {
        state = State.TIME_WAIT;
        rtoDeadline = NEVER;
        persistDeadline = NEVER;
        timeWaitDeadline = nowNanos + TIME_WAIT_NANOS;
    }

    private void finish(boolean orderly, String reason) {
        state = State.CLOSED;
        if (events != null) {
            events.closed(orderly, reason);
        }
    }

    // ---- sending ----

    private void sendAck(long nowNanos) {
        Packet packet = segment(nxt, 0, nowNanos);
        packet.sack = sackOn ? receiver.sackBlocks(packet.timestamps ? 3 : 4) : packet.sack;
        host.send(packet);
    }

    private long finSeq() {
        return bufferSeq + buffer.length;
    }

    private Packet segment(long seq, int length, long nowNanos) {
        Packet packet = host.packetTo(localPort, remotePort);
        packet.seq = (int) seq;
        packet.flags = Packet.ACK;
        packet.ack = receiver.ackNumber();
        packet.window = receiver.windowField();
        packet.timestamps = timestampsOn && !random.chance(plan.omitTimestamps);
        stamp(packet, nowNanos);
        if (length > 0) {
            int from = (int) (seq - bufferSeq);
            packet.payload = Arrays.copyOfRange(buffer, from, from + length);
            packet.flags |= Packet.PSH;
        }
        if (finQueued && seq + length == finSeq() && una <= finSeq() && (length > 0 || seq <= nxt) && sendsFin) {
            packet.flags |= Packet.FIN;
        }
        receiver.acked();
        return packet;
    }

    private boolean sendsFin;

    private int maximumPayload() {
        int mss = Math.max(1, sendMss - (timestampsOn ? 12 : 0));
        return plan.ragged ? random.between(1, mss) : mss;
    }

    private boolean mayCarryData() {
        return switch (state) {
            case ESTABLISHED, CLOSE_WAIT, FIN_WAIT_1, CLOSING, LAST_ACK -> true;
            default -> false;
        };
    }

    /** Sends all that windows allow. */
    void output(long nowNanos) {
        if (mayCarryData()) {
            if (fastRetransmit) {
                fastRetransmit = false;
                sendFrom(una, nowNanos);
            }
            sendNew(nowNanos);
        }
        if (state != State.CLOSED && state != State.SYN_SENT && state != State.SYN_RECEIVED
                && receiver.wantsWindowUpdate()) {
            sendAck(nowNanos);
        }
    }

    private void sendNew(long nowNanos) {
        long end = finSeq();
        while (nxt < end || nxt == end && finQueued) {
            long room = Math.min(una + Math.min(window, cwnd), end) - nxt;
            boolean finOnly = nxt == end;
            if (!finOnly && room <= 0 || finOnly && una + cwnd <= nxt) {
                if (window == 0 && una == nxt && persistDeadline == NEVER) {
                    persistNanos = persistNanos == 0 ? rtoNanos : Math.min(2 * persistNanos, MAXIMUM_RTO_NANOS);
                    persistDeadline = nowNanos + persistNanos;
                }
                return;
            }
            nxt = sendFrom(nxt, nowNanos);
        }
    }

    /** Sends one segment; returns the number behind it. */
    private long sendFrom(long seq, long nowNanos) {
        long start = Math.max(seq, bufferSeq);
        long room = Math.max(una + window - start, start < maxSent ? 1 : 0);
        int length = Math.clamp(Math.min(finSeq() - start, room), 0, maximumPayload());
        sendsFin = finQueued && start + length == finSeq();
        if (length == 0 && !sendsFin) {
            return seq;
        }
        Packet packet = segment(start, length, nowNanos);
        host.send(packet);
        sendsFin = false;
        long behind = start + packet.sequenceLength();
        maxSent = Math.max(maxSent, behind);
        if (rtoDeadline == NEVER) {
            rtoDeadline = nowNanos + rtoNanos;
        }
        return behind;
    }

    // ---- time ----

    long deadlineNanos() {
        long retransmit = Math.min(rtoDeadline, persistDeadline);
        return Math.min(Math.min(retransmit, timeWaitDeadline), isClosed() ? NEVER : receiver.deadlineNanos());
    }

    void advance(long nowNanos) {
        if (isClosed()) {
            return;
        }
        if (nowNanos >= timeWaitDeadline) {
            finish(true, "finished");
            timeWaitDeadline = NEVER;
            return;
        }
        if (nowNanos >= receiver.deadlineNanos()) {
            sendAck(nowNanos);
        }
        if (nowNanos >= rtoDeadline) {
            retransmitTimeout(nowNanos);
        }
        if (nowNanos >= persistDeadline) {
            probe(nowNanos);
        }
    }

    private void retransmitTimeout(long nowNanos) {
        rtoNanos = Math.min(2 * rtoNanos, MAXIMUM_RTO_NANOS);
        rtoDeadline = nowNanos + rtoNanos;
        if (state == State.SYN_SENT || state == State.SYN_RECEIVED) {
            sendSyn(nowNanos);
            return;
        }
        ssthresh = Math.max((maxSent - una) / 2, 2L * sendMss);
        cwnd = sendMss;
        duplicateAcks = 0;
        nxt = una;
        if (++timeouts >= 3) {
            // RFC 8899 section 4.3, coarsely: perhaps nobody tells that the packets are too big.
            sendMss = Math.min(sendMss, BLACK_HOLE_MSS);
        }
        if (mayCarryData()) {
            nxt = sendFrom(una, nowNanos);
        }
    }

    private void probe(long nowNanos) {
        persistNanos = Math.min(2 * persistNanos, MAXIMUM_RTO_NANOS);
        persistDeadline = nowNanos + persistNanos;
        if (plan.probesWithData && nxt < finSeq()) {
            host.send(segment(nxt, 1, nowNanos));
            maxSent = Math.max(maxSent, nxt + 1);
        } else {
            host.send(segment(una - 1, 0, nowNanos));
        }
    }

    void packetTooBig(int mtuBytes, long nowNanos) {
        int fits = mtuBytes - (host.isIpv6() ? 60 : 40);
        if (fits < sendMss) {
            sendMss = fits;
            nxt = una;
        }
    }

    // ---- the application ----

    @Override
    public void send(byte[] data) {
        byte[] longer = Arrays.copyOf(buffer, buffer.length + data.length);
        System.arraycopy(data, 0, longer, buffer.length, data.length);
        buffer = longer;
    }

    @Override
    public int queuedBytes() {
        return buffer.length;
    }

    @Override
    public void consumed(int bytes) {
        receiver.consumed(bytes, sendMss);
    }

    @Override
    public void shutdownOutput() {
        finQueued = true;
        state = switch (state) {
            case ESTABLISHED -> State.FIN_WAIT_1;
            case CLOSE_WAIT -> State.LAST_ACK;
            default -> state;
        };
    }

    @Override
    public void close() {
        if (!finQueued) {
            shutdownOutput();
        }
    }

    @Override
    public void abort() {
        if (isClosed()) {
            return;
        }
        if (state != State.SYN_SENT && state != State.TIME_WAIT) {
            Packet reset = host.packetTo(localPort, remotePort);
            reset.seq = (int) maxSent;
            reset.flags = Packet.RST | Packet.ACK;
            reset.ack = receiver.ackNumber();
            host.send(reset);
        }
        finish(false, "aborted");
    }
}
