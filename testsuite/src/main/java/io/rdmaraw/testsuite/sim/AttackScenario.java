package io.rdmaraw.testsuite.sim;

import static io.rdmaraw.testsuite.sim.SimulationFailure.check;

import io.rdmaraw.tcp.TcpSecrets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A run with a {@link HostilePeer} in virtual time: one host with one or two event loops, and the path to the
 * peer.
 */
final class AttackScenario {
    static final int PORT = 80;
    static final int MAX_IN_FLIGHT = 1 << 20;
    /** Time after which every closed connection has ended, whatever its peer does. 15 retries take 924 s. */
    private static final long PATIENCE_NANOS = 1_800_000 * LinkPlan.MILLI;
    private static final int TURNS_AT_ONE_TIME_LIMIT = 1_000;
    private static final int PACKETS_AT_ONE_TIME_LIMIT = 200_000;
    private static final long HOST_IPV4 = 0xffff_0a00_0002L;
    private static final long PEER_IPV4 = 0xffff_0a00_0003L;
    private static final long IPV6_PREFIX = 0x2001_0db8_0000_0000L;

    private final HostilePlan plan;
    private final Simulation.Tap tap;
    /** Shared by all loops of the host. */
    private final TcpSecrets secrets;
    private final List<AttackedHost> hosts = new ArrayList<>();
    private final Map<Integer, HostileFlow> flows = new LinkedHashMap<>();
    private long nowNanos = 1_000 * LinkPlan.MILLI;
    private int packets;
    private int turnsNow;
    private boolean silent;

    AttackScenario(HostilePlan plan, Simulation.Tap tap) {
        this.plan = plan;
        this.tap = tap;
        secrets = new TcpSecrets(plan.random.split(2)::nextLong);
        addLoop();
    }

    void run() {
        HostilePeer peer = plan.attack.newPeer();
        peer.play(this);
        silent = !peer.isEndless();
        hosts.forEach(AttackedHost::closeAll);
        pass(PATIENCE_NANOS);
        String after = PATIENCE_NANOS / 60_000 / LinkPlan.MILLI + " minutes after the last close";
        hosts.forEach(host -> host.checkEmpty(after));
    }

    TcpSecrets secrets() {
        return secrets;
    }

    HostilePlan plan() {
        return plan;
    }

    AttackedHost host() {
        return hosts.getFirst();
    }

    /** Adds another event loop to the host, with its own connections. */
    AttackedHost addLoop() {
        AttackedHost host = new AttackedHost(this, plan.random.split(20 + hosts.size()), nowNanos);
        hosts.add(host);
        return host;
    }

    /** Directs the peer's packets to this loop from now on. */
    void lead(AttackedHost to) {
        hosts.remove(to);
        hosts.addFirst(to);
    }

    long high() {
        return plan.ipv6 ? IPV6_PREFIX : 0;
    }

    long hostLow() {
        return plan.ipv6 ? 2 : HOST_IPV4;
    }

    long peerLow() {
        return plan.ipv6 ? 3 : PEER_IPV4;
    }

    long now() {
        return nowNanos;
    }

    int packets() {
        return packets;
    }

    HostileFlow flow(int port) {
        return flow(port, PORT);
    }

    HostileFlow flow(int port, int hostPort) {
        HostileFlow flow = new HostileFlow(this, port, hostPort);
        flows.put(port << 16 | hostPort, flow);
        return flow;
    }

    void send(Packet packet) {
        if (silent) {
            return;
        }
        count(packet);
        host().receive(packet, nowNanos);
        settle();
    }

    /** Sends a packet from within a reaction. The host's answer is polled later. */
    void answer(Packet packet) {
        if (!silent) {
            count(packet);
            host().receive(packet, nowNanos);
        }
    }

    void tooBig(Packet quoted, int mtuBytes) {
        host().icmp(quoted, mtuBytes, nowNanos);
        settle();
    }

    private void count(Packet packet) {
        packets++;
        if (tap != null) {
            tap.packet(nowNanos, packet.encode());
        }
    }

    /** Polls the host until it has nothing to send, and passes each packet to the peer. */
    void settle() {
        int before = packets;
        boolean busy = true;
        while (busy) {
            busy = false;
            for (AttackedHost host : List.copyOf(hosts)) {
                Packet packet = host.poll(nowNanos);
                while (packet != null) {
                    busy = true;
                    count(packet);
                    check(packets - before < PACKETS_AT_ONE_TIME_LIMIT, "no endless exchange", packet.toString());
                    HostileFlow flow = flows.get(packet.destinationPort << 16 | packet.sourcePort);
                    if (flow != null) {
                        flow.sees(packet);
                    }
                    packet = host.poll(nowNanos);
                }
            }
        }
        hosts.forEach(AttackedHost::checkRest);
    }

    /** Lets time pass: timers expire and the peer reacts. */
    void pass(long nanos) {
        long until = nowNanos + nanos;
        settle();
        while (true) {
            long next = Long.MAX_VALUE;
            for (AttackedHost host : hosts) {
                next = Math.min(next, host.nextDeadlineNanos());
            }
            if (next > until) {
                break;
            }
            turnsNow = next > nowNanos ? 0 : turnsNow + 1;
            check(turnsNow < TURNS_AT_ONE_TIME_LIMIT, "a deadline is dealt with", "at " + nowNanos);
            nowNanos = Math.max(nowNanos, next);
            for (AttackedHost host : List.copyOf(hosts)) {
                if (host.nextDeadlineNanos() <= nowNanos) {
                    host.advance(nowNanos);
                }
            }
            settle();
        }
        nowNanos = until;
    }
}
