package io.rdmaraw.testsuite.contract;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.regex.Pattern;

/** Runs a program on NIO, on epoll and on this transport, and compares the observations. */
final class Comparison implements AutoCloseable {
    private static final int REPETITIONS = 5;
    private static final long QUIET_NANOS = 10_000_000;
    private static final long QUIET_NANOS_WHEN_REPEATED = 200_000_000;
    private static final long PATIENT_QUIET_NANOS = 1_000_000_000;
    /** The value of an observation that a run has not made. */
    static final String ABSENT = "-";
    /** The observations that remain comparable after a loop has ended. */
    private static final Pattern AFTER_END = Pattern.compile("nesting.*|thread|.*received|.*ended|step.*");
    /** The observations that do not depend on the order of steps and events. */
    private static final Pattern CERTAIN = Pattern.compile("loops|thread|nesting.*|.*references|.*received|.*AtEnd"
            + "|.*views|.*lengths|.*bind");

    private final Groups nio = new Groups(Transport.nio());
    private final Groups epoll = new Groups(Transport.epoll());
    private final Groups ours;
    private final long firstQuietNanos;
    private final long repeatedQuietNanos;

    Comparison() {
        this(Transport.rdmaRaw());
    }

    /** Compares a transport other than this project's. */
    Comparison(Transport compared) {
        this(compared, QUIET_NANOS, QUIET_NANOS_WHEN_REPEATED);
    }

    private Comparison(Transport compared, long firstQuietNanos, long repeatedQuietNanos) {
        ours = new Groups(compared);
        this.firstQuietNanos = firstQuietNanos;
        this.repeatedQuietNanos = repeatedQuietNanos;
    }

    /** Returns a comparison for a program that must differ. It waits so long that a busy machine hides nothing. */
    static Comparison patient(Transport compared) {
        return new Comparison(compared, PATIENT_QUIET_NANOS, PATIENT_QUIET_NANOS);
    }

    /**
     * Returns the differences that occur in each repetition, or an empty list.
     *
     * @param ignored differences that do not justify a repetition
     */
    List<Difference> compare(Program program, Predicate<Difference> ignored) {
        Outcomes first = new Outcomes();
        runAll(program, firstQuietNanos, first);
        List<Difference> differences = first.differences(program, ignored);
        // The first run uses short waits and is sensitive to load. It only selects the programs to repeat.
        Outcomes outcomes = new Outcomes();
        for (int i = 0; i < REPETITIONS && !differences.isEmpty(); i++) {
            runAll(program, repeatedQuietNanos, outcomes);
            differences = outcomes.differences(program, ignored);
        }
        return differences;
    }

    /** Returns all observations of one run of a program on each transport. */
    String explain(Program program) {
        // The first run loads classes.
        runAll(program, QUIET_NANOS_WHEN_REPEATED, new Outcomes());
        Outcomes outcomes = new Outcomes();
        runAll(program, QUIET_NANOS_WHEN_REPEATED, outcomes);
        Set<String> keys = new TreeSet<>(outcomes.nio.getFirst().keySet());
        keys.addAll(outcomes.epoll.getFirst().keySet());
        keys.addAll(outcomes.ours.getFirst().keySet());
        StringBuilder text = new StringBuilder(program.source());
        keys.forEach(key -> text.append(outcomes.difference(program, key)).append('\n'));
        return text.toString();
    }

    private void runAll(Program program, long quietNanos, Outcomes outcomes) {
        outcomes.nio.add(run(program, nio, quietNanos));
        outcomes.epoll.add(run(program, epoll, quietNanos));
        outcomes.ours.add(run(program, ours, quietNanos));
    }

    private static SortedMap<String, String> run(Program program, Groups groups, long quietNanos) {
        ProgramRun run = new ProgramRun(program, groups, quietNanos);
        SortedMap<String, String> seen = run.run();
        if ("dead".equals(seen.get("loops")) || seen.containsKey("program")) {
            groups.discard();
        }
        return seen;
    }

    @Override
    public void close() {
        nio.close();
        epoll.close();
        ours.close();
    }

    /** The observations of all runs of a program. */
    private static final class Outcomes {
        private final List<SortedMap<String, String>> nio = new ArrayList<>();
        private final List<SortedMap<String, String>> epoll = new ArrayList<>();
        private final List<SortedMap<String, String>> ours = new ArrayList<>();

        /** Returns the keys with stable values on each rival and a different value on this transport. */
        private Set<String> differing(boolean concurrent, boolean ends) {
            Set<String> keys = new TreeSet<>();
            nio.forEach(each -> keys.addAll(each.keySet()));
            epoll.forEach(each -> keys.addAll(each.keySet()));
            ours.forEach(each -> keys.addAll(each.keySet()));
            keys.removeIf(key -> {
                Set<String> byNio = values(nio, key);
                Set<String> byEpoll = values(epoll, key);
                return concurrent && !CERTAIN.matcher(key).matches()
                        || ends && !AFTER_END.matcher(key).matches() || byNio.size() > 1 || byEpoll.size() > 1
                        || values(ours, key).stream().anyMatch(each -> byNio.contains(each) || byEpoll.contains(each))
                        && values(ours, key).stream().noneMatch(each -> isDecisive(key, each)
                                && !(byNio.contains(each) && byEpoll.contains(each)));
            });
            return keys;
        }

        /**
         * Returns whether a single occurrence of a value is sufficient, because no correct transport ever produces it.
         * If NIO and epoll produce it too, the program itself is at fault.
         */
        private static boolean isDecisive(String key, String value) {
            return key.endsWith(".received") && value.contains("changed")
                    || key.endsWith(".views") && value.contains("Exception")
                    || key.startsWith("nesting") && !value.equals(ABSENT);
        }

        private List<Difference> differences(Program program, Predicate<Difference> ignored) {
            List<Difference> all = differing(program.is(Choice.CONCURRENT), program.has(LoopSteps.EndGroup.class))
                    .stream().map(key -> difference(program, key)).toList();
            boolean spoilt = KnownFaults.spoils(all);
            return all.stream().filter(each -> !spoilt || !KnownFaults.of(each).isEmpty()).filter(ignored.negate())
                    .toList();
        }

        private static Set<String> values(List<SortedMap<String, String>> runs, String key) {
            Set<String> values = new TreeSet<>();
            runs.forEach(each -> values.add(each.getOrDefault(key, ABSENT)));
            return values;
        }

        private Difference difference(Program program, String key) {
            // NIO does not read while reads are paused. epoll reads nevertheless when the peer closes.
            boolean rivalsThrew = nio.stream().allMatch(Outcomes::hasThrown)
                    || epoll.stream().allMatch(Outcomes::hasThrown);
            boolean rivalsEnded = nio.stream().allMatch(Outcomes::hasEnded)
                    && epoll.stream().allMatch(Outcomes::hasEnded);
            return new Difference(program, key, values(ours, key), values(nio, key), values(epoll, key), rivalsThrew,
                    rivalsEnded);
        }

        /** Returns whether a loop has ended before its channels were closed. */
        private static boolean hasEnded(SortedMap<String, String> run) {
            return "dead".equals(run.get("loops")) || run.entrySet().stream().anyMatch(each -> each.getKey()
                    .matches("accepted[0-9]+\\.stateAtEnd") && each.getValue().contains("open"));
        }

        private static boolean hasThrown(SortedMap<String, String> run) {
            return run.entrySet().stream().anyMatch(each -> each.getKey().startsWith("accepted")
                    && EventLog.hasAllocatorException(each.getValue()));
        }
    }
}
