package io.rdmaraw.testsuite.sim;

import static io.rdmaraw.testsuite.sim.SimulationFailure.check;

import io.rdmaraw.tcp.TcpSecrets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** A run with a {@link HostilePeer} in virtual time: one host, or two loops of one, and the path to the peer. */
final class Siege {
    static final int PORT = 80;
    static final int MOST_IN_FLIGHT = 1 << 20;
    /** A closed connection is gone by then, whatever its peer says: 15 retries take 924 s. */
    private static final long PATIENCE_NANOS = 1_800_000 * LinkPlan.MILLI;
    private static final int TURNS_AT_ONE_TIME_LIMIT = 1_000;
    private static final int PACKETS_AT_ONE_TIME_LIMIT = 200_000;
    private static final long HOST_IPV4 = 0xffff_0a00_0002L;
    private static final long PEER_IPV4 = 0xffff_0a00_0003L;
    private static final long IPV6_PREFIX = 0x2001_0db8_0000_0000L;

    private final HostilePlan plan;
    private final Simulation.Tap tap;
    /** One for all loops of the host. */
    private final TcpSecrets secrets;
    private final List<BesiegedHost> hosts = new ArrayList<>();
    private final Map<Integer, HostileFlow> flows = new LinkedHashMap<>();
    private long nowNanos = 1_000 * LinkPlan.MILLI;
    private int packets;
    private int turnsNow;
    private boolean silent;

    Siege(HostilePlan plan, Simulation.Tap tap) {
        this.plan = plan;
        this.tap = tap;
        secrets = new TcpSecrets(plan.random.split(2)::nextLong);
        addLoop();
    }

    void run() {
        HostilePeer peer = plan.tactic.newPeer();
        peer.play(this);
        silent = !peer.goesOn();
        hosts.forEach(BesiegedHost::closeAll);
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

    BesiegedHost host() {
        return hosts.getFirst();
    }

    /** Another event loop of the host, with connections of its own. */
    BesiegedHost addLoop() {
        BesiegedHost host = new BesiegedHost(this, plan.random.split(20 + hosts.size()), nowNanos);
        hosts.add(host);
        return host;
    }

    /** Packets of the peer go to this loop from now on. */
    void lead(BesiegedHost to) {
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

    /** Sends from within a reaction: what the host answers is polled later. */
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

    /** Polls until there is nothing to send, and lets the peer see each packet. */
    void settle() {
        int before = packets;
        boolean busy = true;
        while (busy) {
            busy = false;
            for (BesiegedHost host : List.copyOf(hosts)) {
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
        hosts.forEach(BesiegedHost::checkRest);
    }

    /** Time passes: timers run, and the peer reacts. */
    void pass(long nanos) {
        long until = nowNanos + nanos;
        settle();
        while (true) {
            long next = Long.MAX_VALUE;
            for (BesiegedHost host : hosts) {
                next = Math.min(next, host.nextDeadlineNanos());
            }
            if (next > until) {
                break;
            }
            turnsNow = next > nowNanos ? 0 : turnsNow + 1;
            check(turnsNow < TURNS_AT_ONE_TIME_LIMIT, "a deadline is dealt with", "at " + nowNanos);
            nowNanos = Math.max(nowNanos, next);
            for (BesiegedHost host : List.copyOf(hosts)) {
                if (host.nextDeadlineNanos() <= nowNanos) {
                    host.advance(nowNanos);
                }
            }
            settle();
        }
        nowNanos = until;
    }
}
