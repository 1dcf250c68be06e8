package io.rdmaraw.testsuite.sim;

/** Sends small pieces with holes between them, in an order that makes their insertion as expensive as possible. */
final class TinySegmentsPeer implements HostilePeer {
    @Override
    public void play(AttackScenario attack) {
        SplitMix draw = attack.plan().random.split(35);
        HostileFlow flow = attack.flow(5_000).open();
        int length = draw.pick(1, 1, 1, 10, 100, 500, 1_000);
        int room = attack.plan().receiveBufferBytes;
        int count = Math.min(room / (2 * length) - 2, draw.between(500, 5_000));
        int order = draw.below(3);
        for (int i = 1; i <= count; i++) {
            int place = order == 0 ? i : order == 1 ? count + 1 - i : draw.between(1, count);
            attack.send(flow.data(place * 2 * length, length));
        }
        attack.pass(draw.magnitude(LinkPlan.MILLI, 100_000 * LinkPlan.MILLI));
        if (draw.chance(0.5)) {
            // Fills the hole at the front, so that all data in order is delivered to the user.
            for (int i = 0; i <= count; i++) {
                attack.send(flow.data(i * 2 * length, 2 * length));
            }
        }
    }
}
