package io.rdmaraw.testsuite.sim;

/** Lets much get into flight, then reports it again and again in other blocks, or says nothing new at all. */
final class SackPeer implements HostilePeer {
    private static final int MOST_ENTRIES = 6_000;
    private static final int ROUNDS_TO_GROW = 40;

    @Override
    public void play(Siege siege) {
        SplitMix draw = siege.plan().random.split(34);
        HostileFlow flow = grown(siege, draw);
        int mss = Math.max(1, flow.last == null ? 1 : flow.last.payload.length);
        if (siege.host().connections().isEmpty()) {
            return;
        }
        int una = siege.host().connections().getFirst().sendUnacknowledged();
        int end = flow.highest;
        int kind = draw.below(4);
        int count = draw.between(200, 1_500);
        for (int i = 0; i < count && flow.highest - una >= 3 * mss; i++) {
            end = flow.highest;
            Packet ack = switch (kind) {
                case 0 -> flow.ack(una + mss, (i & 1) == 0 ? end : una + mss + 1);
                case 1 -> flow.ack(end - mss, end);
                case 2 -> flow.ack(una + mss * draw.between(1, (end - una) / mss - 1), end);
                default -> {
                    int from = una + mss * draw.between(1, (end - una) / mss - 1);
                    yield flow.ack(from, from + mss, una + mss, una + 2 * mss);
                }
            };
            ack.ack = una;
            siege.send(ack);
            siege.pass(draw.magnitude(500, 20_000));
        }
    }

    /** Opens, and acknowledges in time until much is in flight. */
    static HostileFlow grown(Siege siege, SplitMix draw) {
        HostilePlan plan = siege.plan();
        int entries = (int) draw.magnitude(100, MOST_ENTRIES);
        int target = (int) Math.min((long) entries * plan.mss, Siege.MOST_IN_FLIGHT / 2);
        siege.host().sendEach(8 * target);
        HostileFlow flow = siege.flow(5_000).open();
        for (int round = 0; round < ROUNDS_TO_GROW; round++) {
            siege.pass(plan.rttNanos);
            if (siege.host().connections().isEmpty() || siege.host().connections().getFirst().inFlightBytes()
                    >= target) {
                break;
            }
            // An acknowledgment for each two segments: a window grows by what each says (RFC 3465).
            int newest = flow.rcvNxt;
            for (int at = siege.host().connections().getFirst().sendUnacknowledged(); newest - at > 0;) {
                at += Math.min(newest - at, 2 * plan.mss);
                Packet ack = flow.ack();
                ack.ack = at;
                siege.send(ack);
            }
        }
        return flow;
    }
}
