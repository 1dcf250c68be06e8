package io.rdmaraw.testsuite.sim;

import static io.rdmaraw.testsuite.sim.SimulationFailure.check;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;

/** One run of one {@link Scenario} in virtual time. */
final class Simulation {
    static final int SERVER_PORT = 80;
    /** Maximum duration of a run. It has room for many blackouts and for timers backed off to two minutes. */
    private static final long TIME_LIMIT_NANOS = 7_200_000 * LinkPlan.MILLI;
    private static final int PACKET_LIMIT = 400_000;
    private static final int ADVANCES_AT_ONE_TIME_LIMIT = 1_000;
    private static final int PACKETS_AT_ONE_TIME_LIMIT = 20_000;
    /**
     * Time that a run continues after all applications are done, so that TIME-WAIT ends and stale packets arrive.
     */
    private static final long DRAIN_NANOS = 900_000 * LinkPlan.MILLI;
    private static final long CLIENT_IPV4 = 0xffff_0a00_0001L;
    private static final long SERVER_IPV4 = 0xffff_0a00_0002L;
    private static final long IPV6_PREFIX = 0x2001_0db8_0000_0000L;

    /** Receives the packets for a capture. */
    interface Tap {
        void packet(long nowNanos, byte[] packet);
    }

    private final Scenario scenario;
    private final Tap tap;
    private final EventQueue queue = new EventQueue();
    private final SimHost client;
    private final SimHost server;
    private final Link forward;
    private final Link backward;
    private final List<Application> applications = new ArrayList<>();
    private long nowNanos;
    private int packets;
    private int packetsNow;
    private int advancesNow;

    /** Creates an end with the core under test; the second argument is true for the client. */
    interface CoreFactory extends BiFunction<Scenario, Boolean, SimHost> {
    }

    Simulation(Scenario scenario, CoreFactory cores, Tap tap) {
        this.scenario = scenario;
        this.tap = tap;
        boolean coreClient = scenario.ends != Scenario.Ends.REFERENCE_TO_CORE;
        boolean coreServer = scenario.ends != Scenario.Ends.CORE_TO_REFERENCE;
        client = coreClient && cores != null ? cores.apply(scenario, true) : reference(true);
        server = coreServer && cores != null ? cores.apply(scenario, false) : reference(false);
        forward = new Link(scenario.forward, queue, new LinkEnds(client, server));
        backward = new Link(scenario.backward, queue, new LinkEnds(server, client));
        server.listen(SERVER_PORT);
        openAll();
    }

    static long addressHigh(Scenario scenario) {
        return scenario.ipv6 ? IPV6_PREFIX : 0;
    }

    static long addressLow(Scenario scenario, boolean ofClient) {
        return scenario.ipv6 ? ofClient ? 1 : 2 : ofClient ? CLIENT_IPV4 : SERVER_IPV4;
    }

    private SimHost reference(boolean ofClient) {
        long high = addressHigh(scenario);
        return new ReferencePeer(scenario.peer, high, addressLow(scenario, ofClient), high,
                addressLow(scenario, !ofClient));
    }

    private final class LinkEnds implements Link.Ends {
        private final SimHost from;
        private final SimHost to;

        LinkEnds(SimHost from, SimHost to) {
            this.from = from;
            this.to = to;
        }

        @Override
        public void arrive(byte[] packet) {
            if (tap != null) {
                tap.packet(nowNanos, packet);
            }
            to.receive(packet, nowNanos);
        }

        @Override
        public void tooBig(byte[] packet, int mtuBytes) {
            from.packetTooBig(packet, mtuBytes, nowNanos);
        }
    }

    private void openAll() {
        Map<Integer, Application> waiting = new HashMap<>();
        int stream = 0;
        for (Scenario.Conversation conversation : scenario.conversations) {
            SplitMix random = scenario.random.split(100 + conversation.clientPort());
            Application first = new Application("client " + conversation.clientPort(), conversation.client(), stream++,
                    random.split(1));
            Application second = new Application("server " + conversation.clientPort(), conversation.server(), stream++,
                    random.split(2));
            first.peer(second);
            second.peer(first);
            applications.add(first);
            applications.add(second);
            waiting.put(conversation.clientPort(), second);
            queue.at(conversation.startNanos(), () -> open(conversation, first, second));
        }
        server.acceptor((socket, remotePort) -> {
            Application application = waiting.get(remotePort);
            check(application != null, "accepts only what was opened", "port " + remotePort);
            application.start(socket, nowNanos);
            return application;
        });
    }

    private void open(Scenario.Conversation conversation, Application first, Application second) {
        first.start(client.connect(conversation.clientPort(), serverPort(conversation), first, nowNanos), nowNanos);
        if (scenario.simultaneousOpen) {
            second.start(server.connect(serverPort(conversation), conversation.clientPort(), second, nowNanos),
                    nowNanos);
        }
    }

    private int serverPort(Scenario.Conversation conversation) {
        return scenario.simultaneousOpen ? 8080 : SERVER_PORT;
    }

    /** Runs to the end. Throws {@link SimulationFailure} if an invariant is violated. */
    void run() {
        long overNanos = Long.MAX_VALUE;
        while (true) {
            long wake = settle();
            if (overNanos == Long.MAX_VALUE && isOver()) {
                overNanos = nowNanos;
            }
            long next = Math.min(Math.min(queue.nextNanos(), wake),
                    Math.min(client.nextDeadlineNanos(), server.nextDeadlineNanos()));
            if (next == Long.MAX_VALUE || overNanos != Long.MAX_VALUE && next > overNanos + DRAIN_NANOS) {
                break;
            }
            check(next <= TIME_LIMIT_NANOS, "liveness", "not over after two hours: " + applications);
            if (next > nowNanos) {
                nowNanos = next;
                packetsNow = 0;
                advancesNow = 0;
            }
            step();
        }
        for (Application application : applications) {
            application.checkEnd();
            application.giveUp();
        }
        settle();
        client.checkEmpty();
        server.checkEmpty();
    }

    /** Executes one event: the first of the queue, or the expired timers of the ends. */
    private void step() {
        if (queue.runOne(nowNanos)) {
            return;
        }
        if (client.nextDeadlineNanos() <= nowNanos) {
            client.advance(nowNanos);
            idle(client);
        }
        if (server.nextDeadlineNanos() <= nowNanos) {
            server.advance(nowNanos);
            idle(server);
        }
    }

    /**
     * Checks that timers make progress. A deadline may remain due until its output has been polled, but not for
     * ever.
     */
    private void idle(SimHost host) {
        check(host.nextDeadlineNanos() > nowNanos || ++advancesNow < ADVANCES_AT_ONE_TIME_LIMIT,
                "a deadline is dealt with", "at " + nowNanos + ": " + applications);
    }

    /**
     * Lets the applications and ends act at this time until all are idle. Returns when an application acts next.
     */
    private long settle() {
        long wake = Long.MAX_VALUE;
        boolean busy = true;
        while (busy) {
            wake = Long.MAX_VALUE;
            for (Application application : applications) {
                wake = Math.min(wake, application.run(nowNanos));
            }
            busy = drain(client, forward, backward) | drain(server, backward, forward);
        }
        client.checkInvariants(nowNanos);
        server.checkInvariants(nowNanos);
        return wake;
    }

    private boolean drain(SimHost host, Link out, Link in) {
        boolean any = false;
        for (byte[] packet = host.poll(nowNanos); packet != null; packet = host.poll(nowNanos)) {
            any = true;
            packets++;
            packetsNow++;
            check(packets <= PACKET_LIMIT && packetsNow <= PACKETS_AT_ONE_TIME_LIMIT, "no endless exchange", packets
                    + " packets, " + packetsNow + " of them at " + nowNanos + ": " + applications);
            if (tap != null) {
                tap.packet(nowNanos, packet);
            }
            in.attacker().sawBackward(packet);
            out.send(packet, nowNanos);
        }
        return any;
    }

    private boolean isOver() {
        for (Application application : applications) {
            if (!application.isOver()) {
                return false;
            }
        }
        return true;
    }

    long nowNanos() {
        return nowNanos;
    }

    int packets() {
        return packets;
    }
}
