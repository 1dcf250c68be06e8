package io.rdmaraw.testsuite.sim;

/**
 * One connection of the {@link ReferencePeer}: the state machine of RFC 9293 section 3.10.
 * {@link ReferenceSender} and {@link ReferenceReceiver} are its halves.
 */
final class ReferenceConnection implements SimSocket {
    private enum State {
        CLOSED, SYN_SENT, SYN_RECEIVED, ESTABLISHED, FIN_WAIT_1, FIN_WAIT_2, CLOSE_WAIT, CLOSING, LAST_ACK, TIME_WAIT
    }

    private static final long NEVER = Long.MAX_VALUE;
    private static final long TIME_WAIT_NANOS = 60_000 * LinkPlan.MILLI;

    final int localPort;
    final int remotePort;
    private final ReferencePeer host;
    private final PeerPlan plan;
    private final SplitMix random;
    private final ReferenceReceiver receiver;
    private final ReferenceSender sender;
    private SimSocket.Events events;
    private State state = State.CLOSED;
    private boolean passive;
    private boolean timestampsOn;
    private boolean sackOn;
    private long timeWaitDeadline = NEVER;

    ReferenceConnection(ReferencePeer host, int localPort, int remotePort, SplitMix random) {
        this.host = host;
        this.plan = host.plan;
        this.localPort = localPort;
        this.remotePort = remotePort;
        this.random = random;
        sender = new ReferenceSender(this, plan, random.split(4));
        receiver = new ReferenceReceiver(plan, random.split(3));
    }

    void events(SimSocket.Events listener) {
        events = listener;
    }

    boolean isClosed() {
        return state == State.CLOSED;
    }

    // ---- opening ----

    void connect(long nowNanos) {
        state = State.SYN_SENT;
        sendSyn(nowNanos);
        sender.synSent(nowNanos);
    }

    void acceptSyn(Packet syn, long nowNanos) {
        passive = true;
        takeSyn(syn);
        state = State.SYN_RECEIVED;
        sendSyn(nowNanos);
        sender.synSent(nowNanos);
    }

    private void takeSyn(Packet syn) {
        boolean scaling = plan.windowScaling && syn.windowScale >= 0;
        receiver.begin(syn.seq, scaling);
        timestampsOn = plan.timestamps && syn.timestamps;
        sackOn = plan.sack && syn.sackPermitted;
        receiver.timestamp(syn);
        sender.open(syn, receiver.unwrap(syn.seq), scaling, host.isIpv6());
    }

    private void sendSyn(long nowNanos) {
        Packet syn = host.packetTo(localPort, remotePort);
        boolean answer = state == State.SYN_RECEIVED;
        syn.seq = (int) sender.iss;
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
            packet.tsValue = (int) (nowNanos / LinkPlan.MILLI) + (int) sender.iss;
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
            // Simultaneous open (RFC 9293 figure 8): the SYN is a duplicate, but its ACK completes the handshake.
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
            // The peer has retransmitted its SYN, or the two SYNs have crossed.
            sendSyn(nowNanos);
            return;
        }
        if (state == State.TIME_WAIT) {
            timeWaitDeadline = nowNanos + TIME_WAIT_NANOS;
        }
        receiver.sawDuplicate(packet);
        sendAck(nowNanos);
    }

    /** Handles a packet in SYN-SENT (RFC 9293 section 3.10.7.3). */
    private void receiveInSynSent(Packet packet, long nowNanos) {
        boolean acked = packet.has(Packet.ACK);
        if (acked && packet.ack != (int) (sender.iss + 1)) {
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
            establish();
            sendAck(nowNanos);
        } else {
            state = State.SYN_RECEIVED;
            sendSyn(nowNanos);
        }
    }

    private void establish() {
        state = State.ESTABLISHED;
        sender.synAcknowledged();
        if (passive && events == null) {
            host.accepted(this, remotePort);
        }
        events.connected(this);
    }

    /** Processes the ACK field (RFC 9293 section 3.10.7.4, fifth). Returns whether to continue with the segment. */
    private boolean takeAck(Packet packet, long nowNanos) {
        long ack = sender.unwrap(packet.ack);
        if (state == State.SYN_RECEIVED) {
            if (ack <= sender.una || ack > sender.maxSent) {
                Packet reset = host.packetTo(localPort, remotePort);
                reset.seq = packet.ack;
                reset.flags = Packet.RST;
                host.send(reset);
                return false;
            }
            sender.takeWindow(packet, receiver.unwrap(packet.seq));
            establish();
        }
        if (!sender.isAckAcceptable(ack)) {
            sendAck(nowNanos);
            return false;
        }
        sender.takeAck(packet, receiver.unwrap(packet.seq), nowNanos);
        if (sender.isFinAcknowledged()) {
            finAcknowledged(nowNanos);
        }
        return true;
    }

    private void finAcknowledged(long nowNanos) {
        switch (state) {
            case FIN_WAIT_1 -> state = State.FIN_WAIT_2;
            case CLOSING -> enterTimeWait(nowNanos);
            case LAST_ACK -> finish(true, "finished");
            default -> {
                // Other states do not wait for the acknowledgment of a FIN.
            }
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
        sender.stopTimers();
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
        Packet packet = segment(sender.nxt, nowNanos);
        packet.sack = sackOn ? receiver.sackBlocks(packet.timestamps ? 3 : 4) : packet.sack;
        host.send(packet);
    }

    private Packet segment(long seq, long nowNanos) {
        Packet packet = host.packetTo(localPort, remotePort);
        packet.seq = (int) seq;
        packet.flags = Packet.ACK;
        packet.ack = receiver.ackNumber();
        packet.window = receiver.windowField();
        packet.timestamps = timestampsOn && !random.chance(plan.omitTimestamps);
        stamp(packet, nowNanos);
        receiver.acked();
        return packet;
    }

    /** Sends a segment of the {@link ReferenceSender}. */
    void emit(long seq, byte[] text, boolean fin, long nowNanos) {
        Packet packet = segment(seq, nowNanos);
        packet.payload = text;
        packet.flags |= (text.length > 0 ? Packet.PSH : 0) | (fin ? Packet.FIN : 0);
        host.send(packet);
    }

    private boolean mayCarryData() {
        return switch (state) {
            case ESTABLISHED, CLOSE_WAIT, FIN_WAIT_1, CLOSING, LAST_ACK -> true;
            default -> false;
        };
    }

    /** Sends everything that the windows allow. */
    void output(long nowNanos) {
        if (mayCarryData()) {
            sender.output(timestampsOn, nowNanos);
        }
        if (state != State.CLOSED && state != State.SYN_SENT && state != State.SYN_RECEIVED
                && receiver.wantsWindowUpdate()) {
            sendAck(nowNanos);
        }
    }

    // ---- time ----

    long deadlineNanos() {
        if (isClosed()) {
            return NEVER;
        }
        return Math.min(Math.min(sender.deadlineNanos(), timeWaitDeadline), receiver.deadlineNanos());
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
        if (sender.timeout(nowNanos)) {
            if (state == State.SYN_SENT || state == State.SYN_RECEIVED) {
                sendSyn(nowNanos);
            } else {
                sender.goBack(mayCarryData(), timestampsOn, nowNanos);
            }
        }
        sender.probe(nowNanos);
    }

    void packetTooBig(int mtuBytes) {
        sender.packetTooBig(mtuBytes, host.isIpv6());
    }

    // ---- the application ----

    @Override
    public void send(byte[] data) {
        sender.queue(data);
    }

    @Override
    public int queuedBytes() {
        return sender.queuedBytes();
    }

    @Override
    public void consumed(int bytes) {
        receiver.consumed(bytes, sender.mss());
    }

    @Override
    public void shutdownOutput() {
        sender.queueFin();
        state = switch (state) {
            case ESTABLISHED -> State.FIN_WAIT_1;
            case CLOSE_WAIT -> State.LAST_ACK;
            default -> state;
        };
    }

    @Override
    public void close() {
        if (!sender.isFinQueued()) {
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
            reset.seq = (int) sender.maxSent;
            reset.flags = Packet.RST | Packet.ACK;
            reset.ack = receiver.ackNumber();
            host.send(reset);
        }
        finish(false, "aborted");
    }
}
