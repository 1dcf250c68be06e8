package io.rdmaraw.testsuite.sim;

import java.util.ArrayList;
import java.util.List;

/**
 * Obtains SYN cookies and misuses them: returns them altered, late, repeatedly or with additional flags and data.
 */
final class CookiePeer implements HostilePeer {
    private static final int OLD = 1 << 30;

    @Override
    public void play(AttackScenario attack) {
        HostilePlan plan = attack.plan();
        SplitMix draw = plan.random.split(32);
        attack.host().sendEach(draw.pick(0, 1, 5_000));
        if (!plan.alwaysCookies) {
            // Once the backlog is full, further SYNs are answered with cookies.
            for (int i = 0; i <= plan.backlog; i++) {
                attack.send(attack.flow(2_000 + i).syn());
            }
        }
        List<Packet> used = new ArrayList<>();
        int count = draw.between(1, 30);
        for (int i = 0; i < count; i++) {
            HostileFlow flow = attack.flow(5_000 + i);
            attack.send(flow.syn());
            attack.pass(draw.chance(0.1) ? draw.magnitude(plan.rttNanos, 200_000 * LinkPlan.MILLI) : plan.rttNanos);
            if (!flow.knowsHost) {
                continue;
            }
            Packet ack = spoiled(flow, draw);
            used.add(ack);
            attack.send(ack);
            if (draw.chance(0.3)) {
                attack.send(used.get(draw.below(used.size())));
            }
            if (draw.chance(0.3)) {
                attack.host().closeAll();
            }
        }
        attack.pass(draw.magnitude(LinkPlan.MILLI, 100_000 * LinkPlan.MILLI));
        for (Packet again : used) {
            attack.send(again);
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
                // The valid ACK.
            }
        }
        return ack;
    }
}
