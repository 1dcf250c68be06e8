package io.rdmaraw.testsuite.sim;

/**
 * Lets the host's flight size grow, then reports it repeatedly in changing SACK blocks or in blocks without news.
 */
final class SackPeer implements HostilePeer {
    private static final int MAX_ENTRIES = 6_000;
    private static final int ROUNDS_TO_GROW = 40;

    @Override
    public void play(AttackScenario attack) {
        SplitMix draw = attack.plan().random.split(34);
        HostileFlow flow = grown(attack, draw);
        int mss = Math.max(1, flow.last == null ? 1 : flow.last.payload.length);
        if (attack.host().connections().isEmpty()) {
            return;
        }
        int una = attack.host().connections().getFirst().sndUna();
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
            attack.send(ack);
            attack.pass(draw.magnitude(500, 20_000));
        }
    }

    /** Opens a connection and acknowledges promptly until the flight size has grown to a random target. */
    static HostileFlow grown(AttackScenario attack, SplitMix draw) {
        HostilePlan plan = attack.plan();
        int entries = (int) draw.magnitude(100, MAX_ENTRIES);
        int target = (int) Math.min((long) entries * plan.mss, AttackScenario.MAX_IN_FLIGHT / 2);
        attack.host().sendEach(8 * target);
        HostileFlow flow = attack.flow(5_000).open();
        for (int round = 0; round < ROUNDS_TO_GROW; round++) {
            attack.pass(plan.rttNanos);
            if (attack.host().connections().isEmpty() || attack.host().connections().getFirst().inFlightBytes()
                    >= target) {
                break;
            }
            // One ACK per two segments: each ACK grows the window by a limited amount (RFC 3465).
            int newest = flow.rcvNxt;
            for (int at = attack.host().connections().getFirst().sndUna(); newest - at > 0;) {
                at += Math.min(newest - at, 2 * plan.mss);
                Packet ack = flow.ack();
                ack.ack = at;
                attack.send(ack);
            }
        }
        return flow;
    }
}
