package io.rdmaraw.testsuite.sim;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * One direction of the path. It takes packets and inserts them into the event queue: late, damaged, duplicated or
 * not at all.
 */
final class Link {
    /** Receives the packets that reach the link's end, and those that are too big for it. */
    interface Ends {
        void arrive(byte[] packet);

        void tooBig(byte[] packet, int mtuBytes);
    }

    private static final int MAX_ACKS_THINNED_IN_A_ROW = 4;
    /** ACK thinning drops an ACK only if another one was sent shortly before. */
    private static final long THINNED_WITHIN_NANOS = 100_000_000;
    private static final int REMEMBERED_PACKETS = 64;

    private final LinkPlan plan;
    private final EventQueue queue;
    private final Ends ends;
    private final OffPathAttacker attacker;
    private final SplitMix lossRandom;
    private final SplitMix burstRandom;
    private final SplitMix jitterRandom;
    private final SplitMix reorderRandom;
    private final SplitMix duplicateRandom;
    private final SplitMix corruptRandom;
    private final SplitMix thinningRandom;
    private final SplitMix staleRandom;
    private final List<byte[]> remembered = new ArrayList<>();
    /** Time at which an ACK of each flow was last exempted from thinning. ACKs shortly after it may be dropped. */
    private final Map<Integer, Long> acknowledgedNanos = new HashMap<>();
    private int thinnedInARow;
    private boolean bad;
    private long lineFreeNanos;
    private long lastArrivalNanos;

    Link(LinkPlan plan, EventQueue queue, Ends ends) {
        this.plan = plan;
        this.queue = queue;
        this.ends = ends;
        lossRandom = plan.random.split(11);
        burstRandom = plan.random.split(12);
        jitterRandom = plan.random.split(13);
        reorderRandom = plan.random.split(14);
        duplicateRandom = plan.random.split(15);
        corruptRandom = plan.random.split(16);
        thinningRandom = plan.random.split(17);
        staleRandom = plan.random.split(18);
        attacker = new OffPathAttacker(plan.random.split(19));
    }

    /** Returns the off-path attacker, which sees the packets of this direction. */
    OffPathAttacker attacker() {
        return attacker;
    }

    void send(byte[] packet, long nowNanos) {
        int mtu = plan.mtuAt(nowNanos);
        if (packet.length > mtu) {
            if (plan.icmp) {
                queue.at(nowNanos + plan.delayNanos, () -> ends.tooBig(packet, mtu));
            }
            return;
        }
        byte[] passed = Middlebox.pass(packet, plan);
        if (isLost(passed, nowNanos)) {
            return;
        }
        byte[] marked = occupyLine(passed, nowNanos);
        if (marked == null) {
            return;
        }
        deliver(marked, arrivalNanos());
        if (duplicateRandom.chance(plan.duplicateProbability)) {
            deliver(marked, lineFreeNanos + plan.delayNanos + duplicateRandom.below(5_000_000));
        }
        inject(marked, nowNanos);
    }

    private boolean isLost(byte[] packet, long nowNanos) {
        if (nowNanos >= plan.blackoutFromNanos && nowNanos < plan.blackoutToNanos) {
            return true;
        }
        bad = bad ? !burstRandom.chance(plan.turnGood) : burstRandom.chance(plan.turnBad);
        boolean lost = lossRandom.chance(plan.lossProbability);
        boolean thinned = plan.ackThinning > 0 && isRedundantAck(packet, nowNanos)
                && thinningRandom.chance(plan.ackThinning) && thinnedInARow < MAX_ACKS_THINNED_IN_A_ROW;
        thinnedInARow = thinned ? thinnedInARow + 1 : 0;
        return lost || bad && plan.turnBad > 0 || thinned;
    }

    /**
     * Returns whether an ACK may be thinned. The first ACK of a flow completes its handshake and is never
     * redundant; an ACK shortly after another one is, because later ACKs replace it.
     */
    private boolean isRedundantAck(byte[] packet, long nowNanos) {
        Packet decoded = Packet.decode(packet);
        if (decoded == null || !isAckAlone(decoded.flags) || decoded.payload.length != 0) {
            return false;
        }
        int flow = decoded.sourcePort << 16 | decoded.destinationPort;
        Long before = acknowledgedNanos.get(flow);
        if (before != null && nowNanos - before < THINNED_WITHIN_NANOS) {
            return true;
        }
        acknowledgedNanos.put(flow, nowNanos);
        return false;
    }

    /**
     * Returns whether ACK is the only flag. AccECN counters (RFC 9768) are ignored; ECE alone is a signal of RFC
     * 3168.
     */
    private static boolean isAckAlone(int flags) {
        boolean counts = (flags & (Packet.AE | Packet.CWR)) != 0;
        return (counts ? flags & ~(Packet.AE | Packet.CWR | Packet.ECE) : flags) == Packet.ACK;
    }

    /**
     * Puts the packet on the line behind the earlier ones. Returns it, marked if the queue is long, or null if
     * the queue is full.
     */
    private byte[] occupyLine(byte[] packet, long nowNanos) {
        if (plan.rateBitsPerSecond == 0) {
            lineFreeNanos = nowNanos;
            return packet;
        }
        long start = Math.max(lineFreeNanos, nowNanos);
        long queuedBytes = (start - nowNanos) * plan.rateBitsPerSecond / 8_000_000_000L;
        if (queuedBytes + packet.length > plan.queueBytes) {
            return null;
        }
        lineFreeNanos = start + packet.length * 8_000_000_000L / plan.rateBitsPerSecond;
        return plan.markBytes > 0 && queuedBytes > plan.markBytes ? Middlebox.mark(packet) : packet;
    }

    private long arrivalNanos() {
        long arrival = lineFreeNanos + plan.delayNanos;
        if (plan.jitterNanos > 0) {
            // Jitter keeps the order; reordering is a separate fault.
            arrival = Math.max(arrival + (long) (jitterRandom.unit() * plan.jitterNanos), lastArrivalNanos);
        }
        lastArrivalNanos = Math.max(arrival, lastArrivalNanos);
        if (reorderRandom.chance(plan.reorderProbability)) {
            arrival += 1 + (long) (reorderRandom.unit() * plan.reorderNanos);
        }
        return arrival;
    }

    private void deliver(byte[] packet, long timeNanos) {
        byte[] arriving = packet;
        if (corruptRandom.chance(plan.corruptProbability)) {
            arriving = Middlebox.corrupt(packet, corruptRandom);
        }
        byte[] finalPacket = arriving;
        queue.at(timeNanos, () -> ends.arrive(finalPacket));
    }

    private void inject(byte[] packet, long nowNanos) {
        attacker.sawForward(packet);
        if (plan.staleProbability > 0) {
            if (remembered.size() < REMEMBERED_PACKETS) {
                remembered.add(packet);
            } else if (staleRandom.chance(0.1)) {
                remembered.set(staleRandom.below(REMEMBERED_PACKETS), packet);
            }
            if (staleRandom.chance(plan.staleProbability)) {
                byte[] stale = remembered.get(staleRandom.below(remembered.size()));
                queue.at(nowNanos + plan.delayNanos + staleRandom.magnitude(1_000, 20_000_000_000L),
                        () -> ends.arrive(stale));
            }
        }
        if (plan.forgeryProbability > 0 && attacker.chance(plan.forgeryProbability)) {
            queue.at(arrivalNanos(), () -> {
                byte[] forged = attacker.forge();
                if (forged != null) {
                    ends.arrive(forged);
                }
            });
        }
    }
}
