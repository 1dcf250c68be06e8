package io.rdmaraw.testsuite.sim;

/**
 * Prevents connections that the host has closed from ending: keeps the window at 0, repeats an old ACK or sends
 * no FIN.
 */
final class NeverEndingPeer implements HostilePeer {
    @Override
    public void play(AttackScenario attack) {
        SplitMix draw = attack.plan().random.split(31);
        int bytes = (int) draw.magnitude(1, 300_000);
        attack.host().sendEach(draw.chance(0.2) ? 0 : bytes);
        int count = draw.between(1, 3);
        for (int i = 0; i < count; i++) {
            HostileFlow flow = attack.flow(5_000 + i);
            boolean closedAtOnce = draw.chance(0.5);
            flow.window = closedAtOnce ? 0 : draw.pick(1, 50, 65_535);
            flow.open();
            attack.pass(draw.magnitude(LinkPlan.MILLI, 1_000 * LinkPlan.MILLI));
            flow.window = 0;
            int frozen = flow.last == null ? flow.rcvNxt : draw.chance(0.5) ? flow.rcvNxt : flow.last.seq;
            boolean takesAll = draw.chance(0.2);
            boolean ends = draw.chance(0.3);
            if (ends) {
                attack.send(flow.packet(Packet.FIN | Packet.ACK));
                flow.sndNxt++;
            }
            // One answer to each probe. If the peer acknowledged everything and sent a FIN, the connection would
            // end normally.
            flow.reacts(packet -> {
                Packet answer = flow.ack();
                answer.window = 0;
                answer.ack = takesAll && !ends ? flow.rcvNxt : frozen;
                if (!packet.has(Packet.RST) && !packet.has(Packet.SYN)) {
                    attack.answer(answer);
                }
            });
            attack.send(flow.ack());
        }
        attack.pass(draw.magnitude(LinkPlan.MILLI, 400_000 * LinkPlan.MILLI));
    }

    @Override
    public boolean isEndless() {
        return true;
    }
}
