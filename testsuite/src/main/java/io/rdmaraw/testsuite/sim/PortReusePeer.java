package io.rdmaraw.testsuite.sim;

import static io.rdmaraw.testsuite.sim.SimulationFailure.check;

import io.rdmaraw.tcp.TcpConnection;

/**
 * Remembers the connection that it had (TIME-WAIT) while the host opens another one from the same port, by another of
 * its loops: a clock of a host that goes back makes the peer refuse it (RFC 6191, RFC 7323 appendix B.2).
 */
final class PortReusePeer implements HostilePeer {
    private static final int HOST_PORT = 40_000;

    @Override
    public void play(Siege siege) {
        SplitMix draw = siege.plan().random.split(37);
        BesiegedHost other = siege.addLoop();
        HostileFlow first = siege.flow(Siege.PORT, HOST_PORT);
        opened(siege, siege.host(), first);
        TcpConnection c = siege.host().connections().getFirst();
        siege.send(first.packet(Packet.FIN | Packet.ACK));
        first.sndNxt++;
        c.close();
        siege.settle();
        siege.pass(siege.plan().rttNanos);
        siege.send(first.ack());
        int lastSeq = first.highest;
        int lastTimestamp = first.tsEcho;
        siege.pass(draw.magnitude(LinkPlan.MILLI, 30_000 * LinkPlan.MILLI));
        siege.lead(other);
        HostileFlow second = siege.flow(Siege.PORT, HOST_PORT);
        Packet syn = opened(siege, other, second);
        check(syn.seq - lastSeq > 0, "the ISN goes on from loop to loop", lastSeq + " then " + syn.seq);
        check(syn.tsValue - lastTimestamp >= 0, "timestamps go on from loop to loop", lastTimestamp + " then "
                + syn.tsValue);
        siege.send(second.packet(Packet.RST | Packet.ACK));
    }

    /** Returns the SYN. */
    private static Packet opened(Siege siege, BesiegedHost host, HostileFlow flow) {
        host.connect(HOST_PORT, siege.now());
        siege.settle();
        Packet syn = flow.last;
        check(syn != null && syn.has(Packet.SYN), "a SYN goes out", String.valueOf(syn));
        siege.pass(siege.plan().rttNanos);
        siege.send(flow.synAck());
        return syn;
    }
}
