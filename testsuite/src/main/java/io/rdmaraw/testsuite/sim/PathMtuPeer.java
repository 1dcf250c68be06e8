package io.rdmaraw.testsuite.sim;

import static io.rdmaraw.testsuite.sim.SimulationFailure.check;

import io.rdmaraw.tcp.TcpConnection;

/** Grows the host's flight size, then forges ICMP "packet too big" messages with changing MTUs. */
final class PathMtuPeer implements HostilePeer {
    @Override
    public void play(AttackScenario attack) {
        SplitMix draw = attack.plan().random.split(36);
        HostileFlow flow = SackPeer.grown(attack, draw);
        int count = draw.between(20, 300);
        for (int i = 0; i < count && !attack.host().connections().isEmpty(); i++) {
            TcpConnection c = attack.host().connections().getFirst();
            Packet quoted = new Packet().route(attack.high(), attack.hostLow(), flow.hostPort(), attack.high(),
                    attack.peerLow(), flow.port());
            int flight = c.sndNxt() - c.sndUna();
            quoted.seq = c.sndUna() + (draw.chance(0.9) ? draw.below(Math.max(1, flight)) : -1_000);
            int before = c.pathMtuBytes();
            attack.tooBig(quoted, draw.pick(0, 1, 68, 296, 552, 576, 600, 1_000, 1_279, 1_280, 1_400, 1_500, 65_535));
            check(c.pathMtuBytes() <= before, "a router makes no path wider", before + " to " + c.pathMtuBytes());
            attack.pass(draw.magnitude(1_000, 100 * LinkPlan.MILLI));
            if (draw.chance(0.5)) {
                Packet ack = flow.ack();
                ack.ack = c.sndUna() + Math.min(flight, draw.between(0, 3 * attack.plan().mss));
                attack.send(ack);
            }
        }
    }
}
