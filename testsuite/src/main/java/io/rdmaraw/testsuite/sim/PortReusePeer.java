package io.rdmaraw.testsuite.sim;

import static io.rdmaraw.testsuite.sim.SimulationFailure.check;

import io.rdmaraw.tcp.TcpConnection;

/**
 * Keeps a connection in TIME-WAIT while the host opens another one from the same port on another loop. If the
 * host's ISN or timestamp clock went backwards, the peer would refuse the connection (RFC 6191, RFC 7323 appendix
 * B.2).
 */
final class PortReusePeer implements HostilePeer {
    private static final int HOST_PORT = 40_000;

    @Override
    public void play(AttackScenario attack) {
        SplitMix draw = attack.plan().random.split(37);
        AttackedHost other = attack.addLoop();
        HostileFlow first = attack.flow(AttackScenario.PORT, HOST_PORT);
        opened(attack, attack.host(), first);
        TcpConnection c = attack.host().connections().getFirst();
        attack.send(first.packet(Packet.FIN | Packet.ACK));
        first.sndNxt++;
        c.close();
        attack.settle();
        attack.pass(attack.plan().rttNanos);
        attack.send(first.ack());
        int lastSeq = first.highest;
        int lastTimestamp = first.tsEcho;
        attack.pass(draw.magnitude(LinkPlan.MILLI, 30_000 * LinkPlan.MILLI));
        attack.lead(other);
        HostileFlow second = attack.flow(AttackScenario.PORT, HOST_PORT);
        Packet syn = opened(attack, other, second);
        check(syn.seq - lastSeq > 0, "the ISN goes on from loop to loop", lastSeq + " then " + syn.seq);
        check(syn.tsValue - lastTimestamp >= 0, "timestamps go on from loop to loop", lastTimestamp + " then "
                + syn.tsValue);
        attack.send(second.packet(Packet.RST | Packet.ACK));
    }

    /** Opens a connection and returns its SYN. */
    private static Packet opened(AttackScenario attack, AttackedHost host, HostileFlow flow) {
        host.connect(HOST_PORT, attack.now());
        attack.settle();
        Packet syn = flow.last;
        check(syn != null && syn.has(Packet.SYN), "a SYN goes out", String.valueOf(syn));
        attack.pass(attack.plan().rttNanos);
        attack.send(flow.synAck());
        return syn;
    }
}
