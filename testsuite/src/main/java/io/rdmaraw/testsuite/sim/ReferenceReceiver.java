package io.rdmaraw.testsuite.sim;

import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** The receiving half of a {@link ReferenceConnection}: window, reassembly, SACK, timestamps and ACK timing. */
final class ReferenceReceiver {
    private static final long NEVER = Long.MAX_VALUE;

    private final PeerPlan plan;
    private final SplitMix random;
    private boolean scaling;
    private long irs;
    private long next;
    /** The highest right edge ever offered. Data before it is accepted even if the window has shrunk since. */
    private long edge;
    private long lastOfferedEdge;
    private int unreadBytes;
    private final TreeMap<Long, byte[]> outOfOrder = new TreeMap<>();
    private long finAt = NEVER;
    private boolean finished;
    private int recentTimestamp;
    private boolean hasTimestamp;
    private long lastAckSent;
    private long ackDeadline = NEVER;
    private int unackedSegments;
    private boolean ackNow;
    private boolean updateNow;
    private long latestBlock = NEVER;
    private long duplicateFrom = NEVER;
    private long duplicateTo;

    ReferenceReceiver(PeerPlan plan, SplitMix random) {
        this.plan = plan;
        this.random = random;
    }

    void begin(int seq, boolean scaled) {
        irs = (1L << 32) + (seq & 0xffff_ffffL);
        next = irs + 1;
        edge = next;
        scaling = scaled;
    }

    int shift() {
        int shift = 0;
        while (plan.bufferBytes >> shift > 65535) {
            shift++;
        }
        return shift;
    }

    boolean isScaling() {
        return scaling;
    }

    long unwrap(int seq) {
        return next + (seq - (int) next);
    }

    int ackNumber() {
        return (int) next;
    }

    // ---- window ----

    void offered(int synWindow) {
        edge = Math.max(edge, next + synWindow);
        lastOfferedEdge = edge;
    }

    int windowField() {
        int shift = scaling ? shift() : 0;
        long free = Math.max(0, plan.bufferBytes - unreadBytes);
        long offer = Math.max(free, lastOfferedEdge - next);
        if (plan.shrinkProbability > 0 && random.chance(plan.shrinkProbability)) {
            offer = random.below((int) Math.min(offer, 1 << 20) + 1);
            // A receiver that shrinks its window must reopen it: the next update restores it.
            updateLater = true;
        }
        int field = Math.clamp(offer >> shift, 0, 65535);
        lastOfferedEdge = next + ((long) field << shift);
        edge = Math.max(edge, lastOfferedEdge);
        return field;
    }

    private boolean updateLater;

    void consumed(int bytes, int mss) {
        unreadBytes -= bytes;
        long growth = next + Math.max(0, plan.bufferBytes - unreadBytes) - lastOfferedEdge;
        boolean worthwhile = growth >= Math.min(mss, Math.max(1, plan.bufferBytes / 2));
        updateNow |= plan.sillyWindows && growth > 0 || worthwhile;
    }

    boolean wantsWindowUpdate() {
        // After the peer's FIN, no window update is needed.
        return updateNow && !finished;
    }

    /** Returns whether a segment is acceptable (RFC 9293 section 3.10.7.4, first). */
    boolean isAcceptable(Packet packet) {
        long seq = unwrap(packet.seq);
        long length = packet.sequenceLength();
        long windowEdge = Math.max(edge, next);
        boolean startInside = seq >= next && seq < windowEdge || seq == next;
        if (length == 0) {
            return startInside;
        }
        long last = seq + length - 1;
        return windowEdge > next && (startInside || last >= next && last < windowEdge)
                || seq <= next && last >= next && windowEdge > next;
    }

    // ---- timestamps (RFC 7323) ----

    boolean isOlder(Packet packet) {
        return hasTimestamp && packet.tsValue - recentTimestamp < 0;
    }

    void timestamp(Packet packet) {
        long seq = packet.has(Packet.SYN) ? irs : unwrap(packet.seq);
        if (packet.timestamps && (!hasTimestamp || packet.tsValue - recentTimestamp >= 0 && seq <= lastAckSent)) {
            recentTimestamp = packet.tsValue;
            hasTimestamp = true;
        }
    }

    int recentTimestamp() {
        return recentTimestamp;
    }

    // ---- text ----

    /** Processes an acceptable segment. Returns the data that is now in order. */
    byte[] take(Packet packet, long nowNanos) {
        long seq = unwrap(packet.seq);
        byte[] text = packet.payload;
        if (packet.has(Packet.FIN) && seq + text.length <= edge) {
            finAt = seq + text.length;
        }
        if (seq + text.length <= next && text.length > 0) {
            sawDuplicate(packet);
            ackNow = true;
        }
        if (seq < next) {
            int skip = (int) Math.min(next - seq, text.length);
            text = Arrays.copyOfRange(text, skip, text.length);
            seq += skip;
        }
        long room = Math.max(edge, next) - seq;
        if (text.length > room) {
            text = Arrays.copyOf(text, (int) Math.max(0, room));
        }
        return seq == next ? takeInOrder(text, nowNanos) : takeOutOfOrder(seq, text);
    }

    private byte[] takeOutOfOrder(long seq, byte[] text) {
        ackNow = true;
        if (text.length > 0) {
            byte[] old = outOfOrder.get(seq);
            if (old == null || old.length < text.length) {
                outOfOrder.put(seq, text);
            }
            latestBlock = seq;
        }
        if (plan.renegeProbability > 0 && random.chance(plan.renegeProbability)) {
            outOfOrder.clear();
            latestBlock = NEVER;
        }
        return new byte[0];
    }

    private byte[] takeInOrder(byte[] text, long nowNanos) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        out.writeBytes(text);
        next += text.length;
        ackNow |= !outOfOrder.isEmpty();
        while (!outOfOrder.isEmpty() && outOfOrder.firstKey() <= next) {
            Map.Entry<Long, byte[]> first = outOfOrder.pollFirstEntry();
            int skip = (int) (next - first.getKey());
            if (skip < first.getValue().length) {
                out.write(first.getValue(), skip, first.getValue().length - skip);
                next += first.getValue().length - skip;
            }
        }
        unreadBytes += out.size();
        if (finAt == next && !finished) {
            finished = true;
            next++;
            ackNow = true;
        }
        unackedSegments++;
        ackNow |= plan.acksEverySegment || unackedSegments >= 2;
        if (!ackNow && ackDeadline == NEVER) {
            ackDeadline = nowNanos + plan.delayedAckNanos;
        }
        return out.toByteArray();
    }

    boolean isFinished() {
        return finished;
    }

    // ---- acknowledging ----

    boolean wantsAckNow() {
        return ackNow;
    }

    long deadlineNanos() {
        return ackDeadline;
    }

    /** Records that an ACK is sent. */
    void acked() {
        ackNow = false;
        updateNow = updateLater;
        updateLater = false;
        unackedSegments = 0;
        ackDeadline = NEVER;
        lastAckSent = next;
    }

    void sawDuplicate(Packet packet) {
        long seq = unwrap(packet.seq);
        if (plan.dsack && packet.payload.length > 0 && seq >= irs && seq + packet.payload.length <= next) {
            duplicateFrom = seq;
            duplicateTo = seq + packet.payload.length;
        }
    }

    /**
     * Returns the SACK blocks in the order of RFC 2018 section 4 and RFC 2883: the duplicate, the latest block,
     * then the others.
     */
    int[] sackBlocks(int limit) {
        List<long[]> blocks = new ArrayList<>();
        for (Map.Entry<Long, byte[]> entry : outOfOrder.entrySet()) {
            long from = entry.getKey();
            long to = from + entry.getValue().length;
            long[] last = blocks.isEmpty() ? null : blocks.getLast();
            if (last != null && from <= last[1]) {
                last[1] = Math.max(last[1], to);
            } else {
                blocks.add(new long[] {from, to});
            }
        }
        blocks.sort((a, b) -> Boolean.compare(contains(b, latestBlock), contains(a, latestBlock)));
        if (duplicateFrom != NEVER) {
            blocks.addFirst(new long[] {duplicateFrom, duplicateTo});
            duplicateFrom = NEVER;
        }
        int count = Math.min(limit, blocks.size());
        int[] edges = new int[2 * count];
        for (int i = 0; i < count; i++) {
            edges[2 * i] = (int) blocks.get(i)[0];
            edges[2 * i + 1] = (int) blocks.get(i)[1];
        }
        return edges;
    }

    private static boolean contains(long[] block, long seq) {
        return seq >= block[0] && seq < block[1];
    }
}
