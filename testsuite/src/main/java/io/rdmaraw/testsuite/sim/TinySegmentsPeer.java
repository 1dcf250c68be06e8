package io.rdmaraw.testsuite.sim;

/** Sends small pieces with holes between them, in an order that makes inserting them as dear as it gets. */
final class TinySegmentsPeer implements HostilePeer {
    @Override
    public void play(Siege siege) {
        SplitMix draw = siege.plan().random.split(35);
        HostileFlow flow = siege.flow(5_000).open();
        int length = draw.pick(1, 1, 1, 10, 100, 500, 1_000);
        int room = siege.plan().receiveBufferBytes;
        int count = Math.min(room / (2 * length) - 2, draw.between(500, 5_000));
        int order = draw.below(3);
        for (int i = 1; i <= count; i++) {
            int place = order == 0 ? i : order == 1 ? count + 1 - i : draw.between(1, count);
            siege.send(flow.data(place * 2 * length, length));
        }
        siege.pass(draw.magnitude(LinkPlan.MILLI, 100_000 * LinkPlan.MILLI));
        if (draw.chance(0.5)) {
            // The hole at the front is filled: all that is in order goes to the user.
            for (int i = 0; i <= count; i++) {
                siege.send(flow.data(i * 2 * length, 2 * length));
            }
        }
    }
}
