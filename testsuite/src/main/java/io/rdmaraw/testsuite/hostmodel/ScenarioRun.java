package io.rdmaraw.testsuite.hostmodel;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;

/** Runs one scenario on a pair of hosts. */
final class ScenarioRun {
    private static final long PAUSE_NANOS = 20_000;
    private static final long FENCE_LIMIT_NANOS = 150_000_000L;
    private static final long ADVERTISEMENT_LIMIT_NANOS = 500_000_000L;
    /** So long an answer may be behind that of the twin: it can pass a further thread, or wait for a neighbour. */
    private static final long GRACE_NANOS = 500_000_000L;
    private static final long ACCEPTED_GRACE_NANOS = 100_000_000L;
    private static final int FENCES = 3;
    private static final int REPEATS = 2;

    private final Lab lab;
    private final Predicate<Difference> accepted;
    private final String twinCommand;
    private final Map<Integer, Pair> live = new HashMap<>();
    private final Map<Integer, Exchange> oursById = new HashMap<>();
    private final Map<Integer, Exchange> twinById = new HashMap<>();
    private final List<Difference> acceptedOnes = new ArrayList<>();
    private final List<String> applied = new ArrayList<>();
    private final int patience;
    private int probes;

    /** A probe on both hosts. */
    private final class Pair {
        private final Probe probe;
        private final Exchange ours;
        private final Exchange twin;
        private Integer twinLink;

        Pair(Probe probe, Exchange ours, Exchange twin) {
            this.probe = probe;
            this.ours = ours;
            this.twin = twin;
        }

        Difference difference(int step, boolean hasSameRoutes, List<String> changes) {
            return new Difference(step, probe, ours.answer(), twin.answer(), hasSameRoutes, changes, this::twinLink);
        }

        private int twinLink() {
            if (twinLink == null) {
                twinLink = lab.twin().linkOfRoute(Frame.ofText(probe.destination()), Frame.ofText(probe.source()));
            }
            return twinLink;
        }
    }

    /**
     * Creates the run.
     *
     * @param accepted    selects differences that are accepted
     * @param twinCommand command that only the twin executes, or an empty string
     * @param patience    factor of all time limits
     */
    ScenarioRun(Lab lab, Predicate<Difference> accepted, String twinCommand, int patience) {
        this.patience = patience;
        this.twinCommand = twinCommand;
        this.lab = lab;
        this.accepted = accepted;
    }

    /** Returns the differences that were accepted. */
    List<Difference> acceptedOnes() {
        return acceptedOnes;
    }

    /** Returns the number of probes so far. */
    int probes() {
        return probes;
    }

    /** Runs the steps and returns the differences of the first step that has any. */
    List<Difference> run(Scenario scenario) throws Exception {
        if (!twinCommand.isEmpty()) {
            lab.twin().change(List.of(twinCommand));
        }
        List<String> changes = new ArrayList<>();
        try {
            for (int i = 0; i < scenario.steps().size(); i++) {
                switch (scenario.steps().get(i)) {
                    case Step.Change change -> changes.add(change.command());
                    case Step.Probes met -> {
                        apply(changes);
                        changes.clear();
                        List<Difference> differences = meet(i, met.probes());
                        if (!differences.isEmpty()) {
                            return differences;
                        }
                    }
                }
            }
            return List.of();
        } finally {
            live.values().forEach(this::end);
        }
    }

    private void apply(List<String> changes) {
        applied.addAll(changes);
        List<String> lines = new ArrayList<>();
        for (String change : changes) {
            if (change.startsWith("ra ")) {
                flush(lines);
                advertise(change.split(" "));
            } else if (change.startsWith("rp_filter ")) {
                lab.setReversePathFilter(change.split(" ")[1]);
            } else {
                lines.add(change);
                if (change.matches("link set up\\d up")) {
                    // Restore the fence: when a link goes down, the kernel removes the neighbour entry and the IPv4
                    // routes.
                    lines.addAll(Lab.fence(change.charAt("link set up".length()) - '0'));
                }
            }
        }
        flush(lines);
    }

    private void flush(List<String> lines) {
        if (!lines.isEmpty()) {
            lab.apply(lines);
            lines.clear();
        }
    }

    /** Sends a router advertisement: {@code ra LINK ROUTER LIFETIME PREFERENCE}. */
    private void advertise(String[] words) {
        int link = words[1].charAt(2) - '0';
        byte[] frame = Frame.routerAdvertisement(Macs.ofHost(link), Macs.of(link, Frame.ofText(words[2])),
                Frame.ofText(words[2]), Integer.parseInt(words[3]), Integer.parseInt(words[4]));
        long before = advertisements(link);
        lab.ours().inject(link, frame);
        lab.twin().inject(link, frame);
        int expected = lab.isDown(link) ? 0 : 2;
        await(ADVERTISEMENT_LIMIT_NANOS, () -> advertisements(link) >= before + expected);
        fence();
        lab.apply(List.of());
    }

    private long advertisements(int link) {
        return lab.ours().routerAdvertisements(link) + lab.twin().routerAdvertisements(link);
    }

    private List<Difference> meet(int step, List<Probe> wanted) throws Exception {
        List<Pair> pairs = new ArrayList<>();
        for (Probe probe : wanted) {
            Pair pair = begin(probe);
            if (pair != null) {
                pairs.add(pair);
            }
        }
        List<Pair> differing = settle(step, pairs);
        for (int i = 0; i < REPEATS && !differing.isEmpty(); i++) {
            List<Pair> again = new ArrayList<>();
            for (Pair pair : differing) {
                Pair next = begin(pair.probe.kind() == Probe.Kind.OPEN_LIVE ? reopened(pair) : pair.probe);
                if (next != null) {
                    again.add(next);
                }
            }
            differing = settle(step, again);
        }
        boolean hasSameRoutes = differing.isEmpty() || lab.hasSameRoutes();
        List<Difference> differences = differing.stream()
                .map(pair -> pair.difference(step, hasSameRoutes, List.copyOf(applied)))
                .filter(this::isNotAccepted).toList();
        oursById.clear();
        twinById.clear();
        return differences;
    }

    private boolean isNotAccepted(Difference difference) {
        boolean isAccepted = accepted.test(difference);
        if (isAccepted) {
            acceptedOnes.add(difference);
        }
        return !isAccepted;
    }

    private Probe reopened(Pair pair) {
        Pair before = live.remove(pair.probe.detail());
        if (before != null) {
            end(before);
        }
        return pair.probe;
    }

    private Pair begin(Probe probe) {
        if (probe.kind().isIncoming() && lab.isDown(probe.link())) {
            return null;
        }
        probes++;
        Pair pair;
        if (probe.kind() == Probe.Kind.LIVE_DATA) {
            Pair open = live.get(probe.detail());
            if (open == null) {
                return null;
            }
            pair = new Pair(of(open.probe, probe), open.ours, open.twin);
            pair.ours.continueWith(pair.probe);
            pair.twin.continueWith(pair.probe);
        } else {
            int id = lab.newId();
            pair = new Pair(probe, new Exchange(lab.ours(), id, probe), new Exchange(lab.twin(), id, probe));
            if (probe.kind() == Probe.Kind.OPEN_LIVE) {
                live.put(probe.detail(), pair);
            }
        }
        oursById.put(pair.ours.id(), pair.ours);
        twinById.put(pair.twin.id(), pair.twin);
        pair.ours.begin();
        pair.twin.begin();
        return pair;
    }

    private static Probe of(Probe open, Probe data) {
        return new Probe(data.kind(), open.link(), open.via(), open.source(), open.destination(), data.detail());
    }

    private void end(Pair pair) {
        pair.ours.end();
        pair.twin.end();
    }

    /** Waits for all replies and returns the pairs that differ. */
    private List<Pair> settle(int step, List<Pair> pairs) {
        for (int i = 0; i < FENCES; i++) {
            fence();
        }
        // Wait for late replies of the twin first. Otherwise they would count as accepted differences.
        await(ACCEPTED_GRACE_NANOS,
                () -> pairs.stream().allMatch(pair -> pair.difference(step, true, applied).isNone()));
        await(GRACE_NANOS, () -> pairs.stream().allMatch(pair -> isSame(pair, step)));
        List<Pair> differing = pairs.stream().filter(pair -> !isSame(pair, step)).toList();
        pairs.stream().filter(pair -> !differing.contains(pair)).map(pair -> pair.difference(step, true, applied))
                .filter(difference -> !difference.isNone()).forEach(acceptedOnes::add);
        // A connection that exists on only one of the hosts is of no further use.
        live.values().removeIf(pair -> !pair.ours.isOpen() || !pair.twin.isOpen());
        pairs.stream().filter(pair -> !live.containsValue(pair) && pair.probe.kind() != Probe.Kind.LIVE_DATA)
                .forEach(this::end);
        return differing;
    }

    private boolean isSame(Pair pair, int step) {
        Difference difference = pair.difference(step, true, applied);
        return difference.isNone() || accepted.test(difference);
    }

    /** Sends a datagram on each link that is up, and waits until both hosts have answered all of them. */
    private void fence() {
        List<Exchange> all = new ArrayList<>();
        for (int link = 0; link < Side.LINKS; link++) {
            if (!lab.isDown(link)) {
                Probe probe = new Probe(Probe.Kind.DATAGRAM, link, Lab.fencePeer(link), Lab.fencePeer(link),
                        Lab.fenceHost(link), 8);
                int id = lab.newId();
                Exchange ours = new Exchange(lab.ours(), id, probe);
                Exchange twin = new Exchange(lab.twin(), id, probe);
                oursById.put(id, ours);
                twinById.put(id, twin);
                all.add(ours);
                all.add(twin);
            }
        }
        all.forEach(Exchange::begin);
        await(FENCE_LIMIT_NANOS, () -> all.stream().allMatch(exchange -> exchange.answer().isAnswered()));
    }

    private void await(long limitNanos, BooleanSupplier condition) {
        long deadline = System.nanoTime() + patience * limitNanos;
        while (true) {
            boolean any = lab.ours().read((frame, link) -> dispatch(oursById, frame, link));
            any |= lab.twin().read((frame, link) -> dispatch(twinById, frame, link));
            if (condition.getAsBoolean() || System.nanoTime() - deadline > 0) {
                return;
            }
            if (!any) {
                LockSupport.parkNanos(PAUSE_NANOS);
            }
        }
    }

    private static void dispatch(Map<Integer, Exchange> exchanges, Frame frame, int link) {
        int id = frame.protocol() == Frame.UDP ? NettyHost.probeOf(frame.payload()) : frame.destinationPort();
        Exchange exchange = exchanges.get(id);
        if (exchange != null) {
            exchange.take(frame, link);
        }
    }
}
