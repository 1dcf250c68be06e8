package io.rdmaraw.testsuite.sim;

import java.util.ArrayList;
import java.util.List;

/** Gets SYN cookies and does with them what it should not. */
final class CookiePeer implements HostilePeer {
    private static final int OLD = 1 << 30;

    @Override
    public void play(Siege siege) {
        HostilePlan plan = siege.plan();
        SplitMix draw = plan.random.split(32);
        siege.host().sendEach(draw.pick(0, 1, 5_000));
        if (!plan.alwaysCookies) {
            // Who comes behind a full backlog gets a cookie.
            for (int i = 0; i <= plan.backlog; i++) {
                siege.send(siege.flow(2_000 + i).syn());
            }
        }
        List<Packet> used = new ArrayList<>();
        int count = draw.between(1, 30);
        for (int i = 0; i < count; i++) {
            HostileFlow flow = siege.flow(5_000 + i);
            siege.send(flow.syn());
            siege.pass(draw.chance(0.1) ? draw.magnitude(plan.rttNanos, 200_000 * LinkPlan.MILLI) : plan.rttNanos);
            if (!flow.knowsHost) {
                continue;
            }
            Packet ack = spoiled(flow, draw);
            used.add(ack);
            siege.send(ack);
            if (draw.chance(0.3)) {
                siege.send(used.get(draw.below(used.size())));
            }
            if (draw.chance(0.3)) {
                siege.host().closeAll();
            }
        }
        siege.pass(draw.magnitude(LinkPlan.MILLI, 100_000 * LinkPlan.MILLI));
        for (Packet again : used) {
            siege.send(again);
        }
    }

    private static Packet spoiled(HostileFlow flow, SplitMix draw) {
        Packet ack = flow.ack();
        switch (draw.below(9)) {
            case 0 -> ack.tsEcho -= OLD;
            case 1 -> ack.tsEcho += OLD;
            case 2 -> ack.timestamps = false;
            case 3 -> ack.tsEcho = 0;
            case 4 -> ack.ack += draw.between(-2, 2);
            case 5 -> ack.payload = new byte[draw.between(1, 1_000)];
            case 6 -> ack.flags |= Packet.FIN;
            case 7 -> ack.flags |= Packet.URG | Packet.PSH;
            default -> {
                // As it should be.
            }
        }
        return ack;
    }
}
