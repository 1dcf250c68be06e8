package io.rdmaraw.testsuite.hostmodel;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/** Runs the scenarios of seeds. Repeats and shrinks those with differences. Used by one thread. */
public final class HostModel implements AutoCloseable {
    private static final int MAX_SHRINK_RUNS = 80;
    /** Runs on new hosts in which a difference must come again. */
    private static final int CONFIRMATIONS = 2;
    /** Factor of the time limits in these runs: a reply that is only late is no difference. */
    private static final int PATIENCE = 4;
    /** Maximum number of earlier scenarios that are replayed before a scenario whose difference may depend on them. */
    private static final int MAX_EARLIER = 8;

    private final Predicate<AcceptedDifferences.Entry> acceptable;
    private final Map<Flavor, Lab> labs = new EnumMap<>(Flavor.class);
    /** The last scenarios that each pair of hosts has played. */
    private final Map<Flavor, Deque<Scenario>> played = new EnumMap<>(Flavor.class);
    /** The first seed and the number of differences of each entry that occurred. */
    private final Map<String, Long> firstSeeds = new TreeMap<>();
    private final Map<String, Integer> counts = new TreeMap<>();
    private String twinCommand = "";
    private long seed;
    private int probes;
    private int notRepeated;

    /**
     * A difference that is not accepted.
     *
     * @param difference difference of the scenario
     * @param scenario   the scenario, shrunk if it needs no earlier ones
     * @param earlier    scenarios that the hosts must play before; they are not shrunk
     */
    record Failure(Difference difference, Scenario scenario, List<Scenario> earlier) {
        @Override
        public String toString() {
            String how = earlier.isEmpty() ? ", shrunk" : ", after seeds "
                    + earlier.stream().map(each -> "" + each.seed()).collect(Collectors.joining(", "))
                    + " on the same hosts";
            return "seed " + scenario.seed() + how + ":\n" + scenario + "\ndifference:\n" + difference;
        }
    }

    /**
     * Creates the model.
     *
     * @param acceptable selects the entries that are accepted
     */
    HostModel(Predicate<AcceptedDifferences.Entry> acceptable) {
        this.acceptable = acceptable;
    }

    /** Returns the number of packets and connections so far. */
    public int probes() {
        return probes;
    }

    /** Returns the number of seeds with a difference that did not occur again. */
    public int notRepeated() {
        return notRepeated;
    }

    /** Returns the entries of accepted differences that occurred, with their first seed and their number. */
    Map<String, String> met() {
        Map<String, String> met = new TreeMap<>();
        counts.forEach((id, count) -> met.put(id, count + " from seed " + firstSeeds.get(id)));
        return met;
    }

    /** Runs the scenario of a seed. Returns a report with the shrunk scenario and its difference, or null. */
    public String run(long wantedSeed) throws Exception {
        Failure failure = failure(wantedSeed);
        return failure == null ? null : failure.toString();
    }

    private Failure failure(long wantedSeed) throws Exception {
        seed = wantedSeed;
        return failure(HostGenerator.scenario(seed));
    }

    /**
     * Runs a scenario. Returns the scenario and its difference, or null. The scenario is shrunk unless the difference
     * depends on earlier scenarios of the same hosts.
     */
    Failure failure(Scenario scenario) throws Exception {
        List<Difference> first = play(scenario, this::isAccepted, 1);
        if (first.isEmpty()) {
            return null;
        }
        List<Scenario> earlier = new ArrayList<>(played.get(scenario.flavor()));
        earlier.removeLast();
        List<Difference> left = first;
        for (int i = 0; i < CONFIRMATIONS && !left.isEmpty(); i++) {
            left = playOnNewHosts(List.of(), scenario, left);
        }
        if (!left.isEmpty()) {
            return shrink(new Failure(left.getFirst(), scenario, List.of()));
        }
        left = earlier.isEmpty() ? List.of() : playOnNewHosts(earlier, scenario, first);
        if (!left.isEmpty()) {
            close();
            return new Failure(left.getFirst(), scenario, earlier);
        }
        notRepeated++;
        first.forEach(difference -> System.err.println("seed " + seed + ", not repeated: " + difference));
        return null;
    }

    /** Runs earlier scenarios and a scenario on new hosts. Returns the differences of the classes of others. */
    private List<Difference> playOnNewHosts(List<Scenario> earlier, Scenario scenario, List<Difference> others)
            throws Exception {
        close();
        for (Scenario each : earlier) {
            play(each, this::isAccepted, 1);
        }
        List<String> keys = others.stream().map(Difference::key).toList();
        return play(scenario, this::isAccepted, PATIENCE).stream()
                .filter(difference -> keys.contains(difference.key())).toList();
    }

    /** Sets a command that only the twin executes at the start of each scenario. This provokes differences in tests. */
    void tamperWithTwin(String command) {
        twinCommand = command;
    }

    private boolean isAccepted(Difference difference) {
        List<AcceptedDifferences.Entry> entries = AcceptedDifferences.of(difference);
        return !entries.isEmpty() && entries.stream().allMatch(acceptable);
    }

    private void count(Difference difference) {
        for (AcceptedDifferences.Entry entry : AcceptedDifferences.of(difference)) {
            firstSeeds.putIfAbsent(entry.id(), seed);
            counts.merge(entry.id(), 1, Integer::sum);
        }
    }

    /** Returns a pair of hosts in the initial state: the pair of the previous scenario, or a new one. */
    private Lab lab(Flavor flavor) throws Exception {
        Lab lab = labs.get(flavor);
        if (lab != null && lab.reset()) {
            return lab;
        }
        if (lab != null) {
            lab.close();
        }
        labs.put(flavor, new Lab(flavor));
        played.put(flavor, new ArrayDeque<>());
        if (!labs.get(flavor).reset()) {
            throw new IllegalStateException("a new pair of hosts is not reset: " + labs.get(flavor).routes());
        }
        return labs.get(flavor);
    }

    private List<Difference> play(Scenario scenario, Predicate<Difference> accepted, int patience) throws Exception {
        Lab lab = lab(scenario.flavor());
        Deque<Scenario> scenarios = played.get(scenario.flavor());
        scenarios.addLast(scenario);
        if (scenarios.size() > MAX_EARLIER + 1) {
            scenarios.removeFirst();
        }
        ScenarioRun run = new ScenarioRun(lab, accepted, twinCommand, patience);
        try {
            List<Difference> differences = run.run(scenario);
            probes += run.probes();
            run.acceptedOnes().forEach(this::count);
            return differences;
        } catch (IllegalStateException | AssertionError e) {
            labs.remove(scenario.flavor());
            lab.close();
            throw new IllegalStateException("seed " + scenario.seed() + " has broken the hosts:\n" + scenario, e);
        }
    }

    /** Removes steps and packets as long as a difference of the same class remains. */
    private Failure shrink(Failure found) throws Exception {
        Failure smallest = found;
        int runs = 0;
        smallest = attempt(firstCut(found), smallest);
        boolean shorter = true;
        while (shorter && runs < MAX_SHRINK_RUNS) {
            shorter = false;
            for (int i = smallest.scenario().steps().size() - 1; i >= 0 && runs < MAX_SHRINK_RUNS; i--) {
                for (Scenario candidate : without(smallest.scenario(), i)) {
                    Failure next = attempt(candidate, smallest);
                    runs++;
                    if (next != smallest) {
                        smallest = next;
                        shorter = true;
                        break;
                    }
                }
                i = Math.min(i, smallest.scenario().steps().size());
            }
        }
        return smallest;
    }

    /** Returns a scenario with all changes up to the step that differs, followed by the packet that differs. */
    private static Scenario firstCut(Failure found) {
        List<Step> steps = new ArrayList<>();
        for (int i = 0; i <= found.difference().step(); i++) {
            Step step = found.scenario().steps().get(i);
            if (step instanceof Step.Change) {
                steps.add(step);
            }
        }
        steps.add(new Step.Probes(List.of(found.difference().probe())));
        return new Scenario(found.scenario().seed(), found.scenario().flavor(), steps);
    }

    /** Returns the scenario without a step, and, if the step has several packets, the scenarios without one of them. */
    private static List<Scenario> without(Scenario scenario, int at) {
        List<Scenario> candidates = new ArrayList<>();
        List<Step> rest = new ArrayList<>(scenario.steps());
        Step removed = rest.remove(at);
        candidates.add(new Scenario(scenario.seed(), scenario.flavor(), rest));
        if (removed instanceof Step.Probes(List<Probe> all) && all.size() > 1) {
            for (int i = 0; i < all.size(); i++) {
                List<Probe> fewer = new ArrayList<>(all);
                fewer.remove(i);
                List<Step> steps = new ArrayList<>(scenario.steps());
                steps.set(at, new Step.Probes(fewer));
                candidates.add(new Scenario(scenario.seed(), scenario.flavor(), steps));
            }
        }
        return candidates;
    }

    private Failure attempt(Scenario candidate, Failure smallest) throws Exception {
        String key = smallest.difference().key();
        Predicate<Difference> isOther = difference -> isAccepted(difference) || !difference.key().equals(key);
        // On a busy machine, a late reply looks like the difference. Only a patient run shows that it remains.
        List<Difference> left = play(candidate, isOther, 1);
        if (!left.isEmpty()) {
            left = play(candidate, isOther, PATIENCE);
        }
        return left.stream().findFirst().map(difference -> new Failure(difference, candidate, List.of()))
                .orElse(smallest);
    }

    @Override
    public void close() {
        labs.values().forEach(Lab::close);
        labs.clear();
    }
}
