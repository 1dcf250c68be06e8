package io.rdmaraw.testsuite.sim;

/** Half-opens connections and never completes their handshakes. */
final class HalfOpenPeer implements HostilePeer {
    @Override
    public void play(AttackScenario attack) {
        SplitMix draw = attack.plan().random.split(33);
        int count = draw.between(1, 3 * attack.plan().backlog);
        for (int i = 0; i < count; i++) {
            HostileFlow flow = attack.flow(5_000 + i);
            attack.send(flow.syn());
            attack.pass(attack.plan().rttNanos + draw.magnitude(1_000, 100 * LinkPlan.MILLI));
            Packet next = flow.ack();
            switch (draw.below(8)) {
                case 0 -> {
                    next = flow.syn();
                    next.seq += draw.between(-100_000, 100_000);
                }
                case 1 -> next.ack += draw.between(1, 1_000);
                case 2 -> {
                    next.flags = Packet.RST;
                    next.seq += draw.between(1, 1_000);
                }
                case 3 -> next.tsEcho -= 1 << 30;
                case 4 -> next.flags = Packet.FIN | Packet.ACK;
                case 5 -> {
                    next.payload = new byte[100];
                    next.seq += 5;
                    next.ack--;
                }
                default -> next = null;
            }
            if (next != null) {
                attack.send(next);
            }
        }
    }
}
