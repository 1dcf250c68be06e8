package io.rdmaraw.testsuite.sim;

/** Keeps connections that the host has closed: a window of 0 for ever, or an old acknowledgment, or no FIN. */
final class NeverEndingPeer implements HostilePeer {
    @Override
    public void play(Siege siege) {
        SplitMix draw = siege.plan().random.split(31);
        int bytes = (int) draw.magnitude(1, 300_000);
        siege.host().sendEach(draw.chance(0.2) ? 0 : bytes);
        int count = draw.between(1, 3);
        for (int i = 0; i < count; i++) {
            HostileFlow flow = siege.flow(5_000 + i);
            boolean closedAtOnce = draw.chance(0.5);
            flow.window = closedAtOnce ? 0 : draw.pick(1, 50, 65_535);
            flow.open();
            siege.pass(draw.magnitude(LinkPlan.MILLI, 1_000 * LinkPlan.MILLI));
            flow.window = 0;
            int frozen = flow.last == null ? flow.rcvNxt : draw.chance(0.5) ? flow.rcvNxt : flow.last.seq;
            boolean takesAll = draw.chance(0.2);
            boolean ends = draw.chance(0.3);
            if (ends) {
                siege.send(flow.packet(Packet.FIN | Packet.ACK));
                flow.sndNxt++;
            }
            // One answer to each probe, whatever it is. Were all taken, the connection could end in order.
            flow.reacts(packet -> {
                Packet answer = flow.ack();
                answer.window = 0;
                answer.ack = takesAll && !ends ? flow.rcvNxt : frozen;
                if (!packet.has(Packet.RST) && !packet.has(Packet.SYN)) {
                    siege.answer(answer);
                }
            });
            siege.send(flow.ack());
        }
        siege.pass(draw.magnitude(LinkPlan.MILLI, 400_000 * LinkPlan.MILLI));
    }

    @Override
    public boolean goesOn() {
        return true;
    }
}
